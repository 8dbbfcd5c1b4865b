"""The forms of answers: explanations with findings, proof and advice, and replies to the questions of `ask`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum, IntEnum
from typing import Final, Literal, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from vcdebug import amount_text
from vcdebug.errors import VcdebugError
from vcdebug.gotime import parse_time
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.resource import CPU, MEMORY, PODS, Resource
from vcdebug.recording.recording import Recording
from vcdebug.releases.release import NEWEST, Release
from vcdebug.snapshot.job_names import JobNames
from vcdebug.snapshot.problems import Problem


class Cause:
    """The codes of the causes, as in JSON, but for those that are a plugin's name; docs/causes.md explains each."""

    PLACES = "places"
    ADMITTED = "admitted"
    PIPELINED = "pipelined"
    PHANTOM = "phantom-pipelined"
    BOUND_ELSEWHERE = "bound-elsewhere"
    EVICTED = "evicted"
    OTHER_SCHEDULER = "other-scheduler"
    NO_POD_GROUP = "podgroup-missing"
    QUEUE_MISSING = "queue-missing"
    NOT_ENOUGH = "not-enough-pods"
    GATED = "scheduling-gate"
    SCHEDULER_DOWN = "scheduler-down"
    CAPTURE_INCOMPLETE = "capture-incomplete"
    NOT_IN_SESSION = "not-in-session"
    OVERCOMMIT = "enqueue-overcommit"
    HELD_BY_INQUEUE = "enqueue-held-by-inqueue"
    QUEUE_QUOTA = "enqueue-queue-quota"
    CAPABILITY = "queue-capability"
    RESOURCE_QUOTA = "enqueue-resourcequota"
    QUEUE_CLOSED = "queue-closed"
    TOO_LATE = "enqueued-too-late"
    NOT_ALLOCATABLE = "queue-not-allocatable"
    OVERUSED = "overused"
    PREEMPTIVE = "preemptive"
    UNRESOLVABLE = "predicates-unresolvable"
    MIXED = "predicates-mixed"
    LARGER = "larger-than-any-node"
    POD_COUNT = "pod-count"
    NO_HYPER_NODE = "no-hypernode"
    NODE_ORDER = "node-order"
    NOT_TRIED = "not-tried"
    GANG_DISCARD = "gang-discard"
    PLAN_LOST = "plan-lost"
    NOT_CONFIGURED = "action-not-configured"
    NOT_STARVING = "not-starving"
    POLICY_NEVER = "preemption-policy-never"
    NOT_ELIGIBLE = "not-eligible-to-preempt"
    NETWORK_TOPOLOGY = "network-topology"
    TURNS_ENDED = "queue-turns-ended"
    NOT_PREEMPTABLE = "victims-not-preemptable"
    NOT_RECLAIMABLE = "queue-not-reclaimable"
    NOT_ABOVE_DESERVED = "victims-not-above-deserved"
    FREED_TOO_LITTLE = "freed-too-little"
    PANIC = "panic"
    CUT_OFF = "cut-off"
    FAULT = "fault"


def age_since(recording: Recording, created: str) -> str:
    """The age of an object by its creationTimestamp, as of the snapshot's clock."""
    return age_text(seconds_since(recording, created))


def seconds_since(recording: Recording, created: str | None) -> float | None:
    """The age in seconds, as of the snapshot's clock; None if the time is missing or cannot be read."""
    moment = parse_time(created)
    return None if moment is None else (recording.snapshot.now - moment).total_seconds()


def age_text(seconds: float | None) -> str:
    """An age in words, a dash where it is unknown."""
    return "–" if seconds is None else amount_text.format_age(seconds)


class AdviceHarm(IntEnum):
    """Which role has to agree to a change, in rising order of harm."""

    JOB = 0
    QUEUE = 1
    CLUSTER = 2


ADVICE_OWNER: Final = {
    AdviceHarm.JOB: "job owner",
    AdviceHarm.QUEUE: "queue admin",
    AdviceHarm.CLUSTER: "cluster admin",
}
"""The role that can carry out the advice, as answers print it."""


MAX_SHORT_FIXES: Final = 3
"""Tested fixes that a plain answer shows."""


class Advice(NamedTuple):
    """One line of advice."""

    text: str
    harm: AdviceHarm
    edits: tuple[str, ...] = ()
    """Edits in the form of --set; empty where the reader has to choose an amount or an object."""
    is_risky: bool = False
    """Whether the advice overrides a taint or a cordon of a node; risky advice is sorted last."""
    last_resort: bool = False
    """Whether the advice helps any job, so that it is shown only if no other safe advice exists."""
    repairs: bool = False
    """Whether the advice corrects a wrong manifest or setting; such advice is tried and shown first."""
    cannot_be_replayed: bool = False
    """Whether the advice changes something outside the scheduler, so that no replay can test it."""
    comes_first: bool = False
    """Whether the advice, which no replay can test, is the first step all the same."""
    why_untested: str = ""
    """Why no replay can test it, where that is not plain from the text."""

    @property
    def untested_text(self) -> str:
        """The text of advice that no replay can test, as it stands beside tested fixes."""
        reason = f" ({self.why_untested})" if self.why_untested else ""
        return f"{'First, not' if self.comes_first else 'Not'} tested{reason}: {self.text}"

    def as_repair(self) -> Advice:
        """The advice as the correction of a wrong manifest or setting."""
        return self._replace(repairs=True)

    def as_first_step(self, why_untested: str) -> Advice:
        """The advice as the first step, ahead of tested fixes."""
        return self._replace(comes_first=True, why_untested=why_untested)

    @classmethod
    def for_owner(cls, text: str, *edits: str) -> Advice:
        """Advice to the job's owner, and advice to wait, which harms no job."""
        return cls(text, AdviceHarm.JOB, edits)

    @classmethod
    def queue_admin(cls, text: str, *edits: str) -> Advice:
        """Advice that affects other jobs of the queue, or the jobs that hold the resources."""
        return cls(text, AdviceHarm.QUEUE, edits)

    @classmethod
    def cluster_admin(cls, text: str, *edits: str) -> Advice:
        """Advice that only a cluster admin can follow."""
        return cls(text, AdviceHarm.CLUSTER, edits)

    @classmethod
    def from_outside(cls, text: str, harm: AdviceHarm = AdviceHarm.JOB) -> Advice:
        """Advice about a controller, kubelet or driver, which is shown even next to fixes that replays have tested."""
        return cls(text, harm, cannot_be_replayed=True)

    @classmethod
    def add_nodes(cls, request: Resource | None = None) -> Advice:
        """Last-resort advice to add a node that has the request free."""
        size = f" with {amount_text.format_resource(request)} free" if request is not None else ""
        return cls(f"Add a node{size}.", AdviceHarm.CLUSTER, last_resort=True)


def sort_by_harm(lines: Iterable[Advice], nearest: Collection[Advice] = ()) -> tuple[Advice, ...]:
    """Distinct lines, the `nearest` first, then least harmful first, and risky ones last; last resorts only if all
    other lines are risky.
    """
    by_text, near_texts = {line.text: line for line in lines}, {line.text for line in nearest}
    advice = [line for line in by_text.values() if not line.last_resort]
    if all(line.is_risky for line in advice):
        advice = list(by_text.values())
    return tuple(sorted(advice, key=lambda line: (line.is_risky, line.text not in near_texts, line.harm)))


StepState = Literal["passed", "failed", "not reached"]


class Number(NamedTuple):
    """An amount with its unit: cores, bytes, pods, or what a device plugin counts."""

    value: float
    unit: str


class Evidence(NamedTuple):
    """An event of the recording, and what it proves."""

    seq: Seq
    text: str


def rejection_evidence(seq: Seq, plugin: str) -> tuple[Evidence, ...]:
    """The proof of a rejection."""
    return (Evidence(seq, f"{plugin} rejects the PodGroup (JobEnqueueable -1)"),)


def proof_of(seq: Seq | None, text: str) -> tuple[Evidence, ...]:
    """Evidence of one event; empty if `seq` is None."""
    return (Evidence(seq, text),) if seq is not None else ()


class Flaw(Enum):
    """What a cycle does although a change would avoid it; fixes address a flaw by its value, as they do a cause."""

    MILDER_VICTIM = "milder-victim"
    MANY_VICTIMS = "more-victims-than-needed"
    BELOW_DESERVED = "evicted-below-deserved"
    TOPOLOGY_BROKEN = "topology-broken"
    PASSED = "passed-by-later-jobs"
    REFUSED_LATER = "refused-after-evictions"
    LOSES_PODS = Cause.EVICTED


def with_flaw(flaw: Flaw, facts: Iterable[str]) -> Iterator[str | Flaw]:
    """Yields the facts, and the flaw if there are any."""
    for fact in facts:
        yield fact
        yield flaw


class AdvisedFact(NamedTuple):
    """What the snapshot shows, as a sentence or a clause, and the advice that follows from it."""

    fact: str
    advice: Advice


class CauseHeadline(NamedTuple):
    """The first line of an answer: the object, its state, and the cause with its numbers.

    "research/llm-finetune" "is Pending": "preempt found room for 1 of the 2 pods it needs at once"
    """

    subject: str
    """A job or pod as `namespace/name`."""
    state: str
    reason: str
    """The cause with its numbers, understandable on its own: at most about 120 characters, no full stop."""

    def __str__(self) -> str:
        return f"{self.subject} {self.state}: {self.reason}."


def pending_headline(subject: str, reason: str) -> CauseHeadline:
    """The first line about a job or a pod that is Pending."""
    return CauseHeadline(subject, "is Pending", reason)


MAX_LINE_LENGTH: Final = 160
"""Characters of a first line; what does not fit is a fact below it."""


def required_pods(minimum: int) -> str:
    """`4 pods that minMember requires`."""
    return f"{amount_text.count_noun(minimum, 'pod')} that minMember requires"


def first_that_fits(headlines: Sequence[CauseHeadline]) -> CauseHeadline:
    """The first headline that fits a line, else the last one."""
    return next((one for one in headlines if len(str(one)) <= MAX_LINE_LENGTH), headlines[-1])


_NOT_ADMITTED = (Cause.OVERCOMMIT, Cause.HELD_BY_INQUEUE, Cause.QUEUE_QUOTA, Cause.CAPABILITY, Cause.RESOURCE_QUOTA)
PROTECTS_EVERY: Final = "protects every candidate victim"
"""What an answer says of the plugin that leaves an action no victim."""
DECIDED_LAST = (*_NOT_ADMITTED, Cause.NOT_PREEMPTABLE, Cause.PLAN_LOST)
"""Causes whose last event of the evidence decides; the first of any other one does."""


class Finding(Struct, frozen=True):
    """One obstacle that keeps a job Pending, with its proof and the advice that would remove it."""

    cause: str
    headline: CauseHeadline
    numbers: Mapping[str, Number] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    advice: tuple[Advice, ...] = ()
    lines: tuple[str, ...] = ()
    """The equation, histogram or table behind the headline, line by line."""
    facts: tuple[str, ...] = ()
    """Sentences that prove the headline: the objects that hold the room, the rule that rejects. The strongest first."""
    stated_problems: tuple[Problem, ...] = ()
    """Problems of the input that the facts state, so that they are not listed once more."""
    flaws: tuple[Flaw, ...] = ()
    """What the facts say that the cycle does, although a change would avoid it."""

    def with_additions(self, *additions: str | Advice | Flaw, in_front: bool = False) -> Finding:
        """The finding with further facts, advice and flaws, behind its own or in front of them."""
        facts, advice = ([one for one in additions if isinstance(one, kind)] for kind in (str, Advice))
        flaws = tuple(dict.fromkeys((*self.flaws, *(one for one in additions if isinstance(one, Flaw)))))
        if in_front:
            return replace(self, facts=(*facts, *self.facts), advice=(*advice, *self.advice), flaws=flaws)
        return replace(self, facts=(*self.facts, *facts), advice=(*self.advice, *advice), flaws=flaws)

    def sentence_about(self, names: JobNames) -> str:
        """The headline with workloads in place of PodGroups, its subject with the workload's kind if that fits."""
        subjects = (names.title_of(self.headline.subject), self.headline.subject)
        titled, named = (names.in_text(str(self.headline._replace(subject=one))) for one in subjects)
        return titled if len(titled) <= MAX_LINE_LENGTH else named

    @property
    def sentence(self) -> str:
        return str(self.headline)

    @property
    def reason(self) -> str:
        """The cause alone, for lists below the name of the job; it may begin with a name, so its case stays."""
        return self.headline.reason

    @property
    def full_text(self) -> str:
        """The headline and the facts as one paragraph."""
        return " ".join((self.sentence, *self.facts))


class ExplanationStep(Struct, frozen=True):
    """One step of the cycle for the job: whether the job passed it, and the events that show it."""

    name: str
    state: StepState
    text: str = ""
    seqs: tuple[Seq, ...] = ()


class Explanation(Struct, frozen=True):
    """Why a job is Pending, or where its pods were placed."""

    job: JobId
    pod: TaskKey | None
    """The pod that the question named; None for a question about the job."""
    scheduled: bool
    dominant: Finding
    contributing: tuple[Finding, ...] = ()
    advised: tuple[Advice, ...] = ()
    """Advice, the least harmful first."""
    steps: tuple[ExplanationStep, ...] = ()
    doubt: str = ""
    """Why the answer may be wrong: objects were read at different times, or the process state is assumed."""
    release: Release = NEWEST
    """The release that was replayed."""
    is_refused: bool = False
    """Whether the running scheduler has long refused what this cycle does, so that the job may well stay Pending."""

    @property
    def subject_name(self) -> str:
        """The pod that the question named, else the job."""
        return self.pod or self.job

    @property
    def wants_fixes(self) -> bool:
        """Whether changes are worth a trial: the job is Pending, or was placed in a way that a change would avoid."""
        return not self.scheduled or bool(self.dominant.flaws)

    @property
    def cause_code(self) -> str:
        """The code of the dominant cause."""
        return self.dominant.cause

    @property
    def sentence(self) -> str:
        return self.dominant.sentence

    @property
    def first_lines(self) -> tuple[str, ...]:
        """The answer in one sentence, and the strongest fact that proves it."""
        return self.sentence, *self.dominant.facts[:1]

    @property
    def full_text(self) -> str:
        """The first line and the facts that prove it."""
        return self.dominant.full_text

    def outside_advice(self, *, first: bool) -> list[Advice]:
        """Advice about what is outside the scheduler: the steps that come first, or the others."""
        return [line for line in self.advised if line.cannot_be_replayed and line.comes_first is first]

    @property
    def advice_texts(self) -> tuple[str, ...]:
        """The texts of the advice, one per line."""
        return tuple(line.text for line in self.advised)


def amount_numbers(prefix: str, resource: Resource, names: Iterable[str] | None = None) -> dict[str, Number]:
    """`prefix.cpu` → amount in cores, bytes or pieces, for each dimension that a text about the resource lists."""
    return {
        f"{prefix}.{name}": amount_number(name, value) for name, value in amount_text.listed_dimensions(resource, names)
    }


def amount_number(name: str, value: float) -> Number:
    """An amount in cores, bytes, pods, volumes or the resource's own unit."""
    if name == MEMORY:
        unit = "bytes"
    elif amount_text.is_counted(name):
        unit = "pods" if name == PODS else "volumes"
    else:
        unit = "cores" if name == CPU else name
    return Number(amount_text.value_in_units(name, value), unit)


_COUNT_UNITS: Final = {
    **dict.fromkeys(("pods", "job", "candidates", "victims", "victim"), "pods"),
    **{name: name for name in ("nodes", "queues", "jobs")},
    "hyperNodes": "HyperNodes",
}
"""First part of a number's name → what it counts; other counts have no unit."""


def counts(values: Mapping[str, int]) -> dict[str, Number]:
    """Numbers of things as JSON numbers, with the unit that follows from their names."""
    return {name: Number(float(value), _COUNT_UNITS.get(name.partition(".")[0], "")) for name, value in values.items()}


def reason_lines(entries: Iterable[tuple[str, Sequence[str]]], noun: str = "pod") -> tuple[str, ...]:
    """One line per reason, with some of the pods or nodes: `3 nodes: Insufficient cpu  (cpu-01, cpu-02, cpu-03)`."""
    return tuple(
        f"{amount_text.count_noun(len(names), noun)}: {reason}  ({amount_text.join_names(names)})"
        for reason, names in entries
    )


class ReplySheet(Struct, frozen=True):
    """A table of an answer; a head that ends in `#` marks a column of numbers."""

    title: str
    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class QuestionReply(Struct, frozen=True):
    """The answer about one subject: the sentence first, then details."""

    sentence: str
    lines: tuple[str, ...] = ()
    sheets: tuple[ReplySheet, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    data: Mapping[str, object] = field(default_factory=dict)
    """The answer as JSON data."""


class NamedQuestion(Struct, frozen=True):
    """A question by its name: one word on the command line, one row in a menu."""

    name: str
    question_text: str
    """The question as a person would ask it."""
    subject_kinds: tuple[str, ...]
    """Kinds of subjects: pod, job, queue, node, port, claim or quota; empty for the whole cycle."""
    answer: Callable[[Recording, str], QuestionReply]
    """Answers the question about a subject by name; raises NotFoundError if no object has this name."""
    is_also_general: bool = False
    """Whether it can be asked without a subject, about the whole cycle."""

    def require_subject(self, subject: str) -> None:
        """Raise VcdebugError without a subject, where the question needs one."""
        if self.subject_kinds and not subject and not self.is_also_general:
            kinds = ", ".join(self.subject_kinds[:-1])
            words = f"{kinds} or {self.subject_kinds[-1]}" if kinds else self.subject_kinds[-1]
            raise VcdebugError(f"ask {self.name} needs a subject", f"name a {words}")


class OtherOutcomes(NamedTuple):
    """What an answer adds about outcomes that the replayed cycle does not show; empty texts for nothing to add."""

    chance: str = ""
    """In how many runs with other random choices the job has another outcome."""
    releases: str = ""
    """Under which releases it has another outcome, if the snapshot names none."""
    release_note: str = ""
    """What the line about an unknown release adds: that the newest patch of each gives the same, or how to name one."""
    fix: str = ""
    """What places the job under those releases, if it stays Pending under them only."""

    @property
    def warnings(self) -> Sequence[str]:
        """The texts that say why the job may have another outcome on the cluster."""
        return [text for text in (self.chance, self.releases, self.fix) if text]

    def build_document(self) -> dict[str, object]:
        """The warnings as members of an answer's JSON document."""
        texts = {"chance": self.chance, "otherReleases": self.releases, "otherReleasesFix": self.fix}
        return {key: text for key, text in texts.items() if text}


NO_OTHER_OUTCOMES: Final = OtherOutcomes()
