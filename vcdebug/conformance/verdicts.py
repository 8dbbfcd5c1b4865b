"""Two outcomes of one cycle beside each other, job by job.

Upstream: api/unschedule_info (WrapInsufficientResourceReason), api/resource_info (LessEqualWithResourcesName).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import numpy as np

from vcdebug.conformance.cycle_outcome import GONE, CycleOutcome, WrittenStatus
from vcdebug.conformance.scheduler_log import format_ranges
from vcdebug.explain.answer import Explanation
from vcdebug.explain.job_view import ExplainSubject
from vcdebug.explain.orders import find_order_circle
from vcdebug.explain.pending.explanation import explain_subject
from vcdebug.framework.chance_draws import parse_ranges
from vcdebug.framework.columns import Level
from vcdebug.framework.record import BestEvent, OpEvent, PredicateEvent, ScoreEvent
from vcdebug.model.names import JobId, NodeName, Row, Seq, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.resource import CPU, MEMORY
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.cycle_inputs import ChanceSettings

VerdictWord = Literal["agreed", "worded otherwise", "by chance", "differs", "overtaken"]
NOTHING_DONE = "nothing"
MAX_EXPLAINED = 20
"""Of so many jobs that differ the decision behind it is looked for."""
BOUND, EVICTED, NOMINATED, GROUP, CONDITION = "bound", "evicted", "nominated", "PodGroup", "PodScheduled"
DEVICES = "devices"
DECISIONS = (BOUND, EVICTED, NOMINATED, DEVICES)


class OutcomeDifference(NamedTuple):
    """One thing that the replay and the scheduler do not say alike."""

    job: JobId
    subject: str
    """The pod, or the job itself."""
    what: str
    """bound, evicted, nominated, devices; or PodGroup and PodScheduled, which are words about them."""
    predicted: str
    observed: str

    @property
    def is_decision(self) -> bool:
        """Whether it is a decision, not the wording of one."""
        return self.what in DECISIONS


class ReplayDecision(NamedTuple):
    """The first decision of the replay that could explain a difference."""

    seq: Seq | None
    text: str


@dataclass(frozen=True, slots=True)
class JobVerdict:
    """One job: whether what was foreseen came."""

    job: JobId
    word: VerdictWord
    differences: tuple[OutcomeDifference, ...] = ()
    decision: ReplayDecision | None = None
    changes: tuple[str, ...] = ()
    """What others changed meanwhile, which may have overtaken the cycle."""


def job_lookup(recording: Recording) -> Callable[[TaskKey], JobId]:
    """Which job a pod belongs to; the pod itself where it has none."""
    owners = {
        pod.key: pod.job_id or pod.key for pod in (Pod(manifest) for manifest in recording.snapshot.objects_of("Pod"))
    }
    return lambda pod: owners.get(pod, pod)


def find_differences(
    predicted: CycleOutcome, observed: CycleOutcome, owner: Callable[[TaskKey], JobId]
) -> list[OutcomeDifference]:
    """Everything that is not alike: decisions first, then words."""
    victims = [pod for pod, how in observed.evicted.items() if how != GONE or pod in predicted.evicted]
    return [
        *_iter_text_differences(BOUND, predicted.bound, observed.bound, owner),
        *_iter_text_differences(EVICTED, dict.fromkeys(predicted.evicted, "yes"), dict.fromkeys(victims, "yes"), owner),
        *_iter_text_differences(NOMINATED, predicted.nominated, observed.nominated, owner),
        *_iter_device_differences(predicted, observed, owner),
        *_iter_text_differences(GROUP, _group_words(predicted), _group_words(observed), lambda job: job),
        *_iter_text_differences(CONDITION, _pending_messages(predicted), _pending_messages(observed), owner),
    ]


def _iter_text_differences(
    what: str, predicted: Mapping[str, str], observed: Mapping[str, str], owner: Callable[[TaskKey], JobId]
) -> Iterator[OutcomeDifference]:
    for name in sorted({**predicted, **observed}):
        left, right = predicted.get(name, NOTHING_DONE), observed.get(name, NOTHING_DONE)
        if not is_alike(left, right):
            yield OutcomeDifference(owner(name), name, what, left, right)


def _iter_device_differences(
    predicted: CycleOutcome, observed: CycleOutcome, owner: Callable[[TaskKey], JobId]
) -> Iterator[OutcomeDifference]:
    """Of pods that both have bound to one node: another node has other devices, and that is said of the pod."""
    for pod, claims in sorted(predicted.devices.items()):
        seen = observed.devices.get(pod, {})
        known = {claim: words for claim, words in claims.items() if claim in seen}
        if predicted.bound.get(pod) == observed.bound.get(pod):
            ours, theirs = ("; ".join(words[claim] for claim in sorted(known)) for words in (known, seen))
            yield from _iter_text_differences(DEVICES, {pod: ours}, {pod: theirs}, owner)


def _group_words(outcome: CycleOutcome) -> dict[JobId, str]:
    return {job: _status_words(one) for job, one in outcome.groups.items()}


def _status_words(one: WrittenStatus) -> str:
    conditions = [
        f"{kind}={status} {reason}: {certain_part(message)}" for kind, status, reason, message in one.conditions
    ]
    return "; ".join([one.phase, *conditions])


def _pending_messages(outcome: CycleOutcome) -> dict[TaskKey, str]:
    return {pod: f"{reason}: {certain_part(message)}" for pod, (reason, message) in outcome.waiting.items()}


def judge_jobs(recording: Recording, found: list[OutcomeDifference]) -> tuple[JobVerdict, ...]:
    """One per job of the session, and per job or pod beyond it that differs, by name."""
    sampled = last_samples(recording, (one.subject for one in found if _is_elsewhere(one)))
    by_job: dict[JobId, list[OutcomeDifference]] = {job: [] for job in recording.session.jobs}
    for difference in found:
        by_job.setdefault(difference.job, []).append(difference)
    judged = [_judge_job(recording, job, by_job[job], sampled) for job in sorted(by_job)]
    differing = [place for place, one in enumerate(judged) if one.word == "differs"]
    for place in differing[:MAX_EXPLAINED]:
        first = next(one for one in judged[place].differences if one.is_decision)
        judged[place] = replace(judged[place], decision=find_decision(recording, first))
    return tuple(judged)


def _is_elsewhere(one: OutcomeDifference) -> bool:
    """Whether both chose a node for the pod, but not the same."""
    return one.what in (BOUND, NOMINATED) and NOTHING_DONE not in (one.predicted, one.observed)


def _judge_job(
    recording: Recording, job: JobId, found: list[OutcomeDifference], sampled: dict[TaskKey, SearchSample]
) -> JobVerdict:
    if not found:
        return JobVerdict(job, "agreed")
    decided = [one for one in found if one.is_decision]
    if not decided:
        return JobVerdict(job, "worded otherwise", tuple(found))
    chance = _sampling_decision(recording, decided, sampled) or _order_decision(recording, decided)
    return JobVerdict(job, "differs" if chance is None else "by chance", tuple(found), chance)


def _sampling_decision(
    recording: Recording, decided: list[OutcomeDifference], sampled: Mapping[TaskKey, SearchSample]
) -> ReplayDecision | None:
    """Whether only the nodes differ, and each was among those that a search may have looked at."""
    for one in decided:
        search = sampled.get(one.subject)
        if not _is_elsewhere(one) or search is None or not is_in_sample(recording, search, one.observed):
            return None
    first = decided[0]
    sample = sampled[first.subject]
    looked = f"{sample.search.processed} of {sample.search.considered} nodes"
    text = f"sampled search: {looked} were looked at for {first.subject}; {first.observed} fits too"
    return ReplayDecision(sample.seq, text)


def _order_decision(recording: Recording, decided: list[OutcomeDifference]) -> ReplayDecision | None:
    """Whether only pods differ whose order goes round."""
    way = find_order_circle(recording, (one.subject for one in decided))
    if not way:
        return None
    first = recording.index.spans_of(Level.TASK, way[0])
    text = f"the order of its pods goes round: {' before '.join(way)}; which of them come first is chance"
    return ReplayDecision(first[0].first if first else None, text)


def find_decision(recording: Recording, difference: OutcomeDifference) -> ReplayDecision:
    """Where the replay made up its mind about the pod or its job."""
    pod = difference.subject
    if difference.what == EVICTED and difference.predicted != NOTHING_DONE:
        seq = next((one.seq for one in cycle_effects(recording).evicted if one.task == pod), None)
        return ReplayDecision(seq, f"the replay evicts {pod}")
    done = cycle_effects(recording)
    placed = next((one for one in (*done.bound, *done.pipelined, *done.held) if one.task == pod), None)
    if placed is not None:
        seq, tied = _node_choice(recording, pod, placed.seq, placed.node)
        among = f", one of {tied} equally good ones" if tied > 1 else ""
        return ReplayDecision(seq, f"{pod} goes to {placed.node}{among}")
    explained = explain_subject(recording, ExplainSubject(difference.job))
    return ReplayDecision(_proof_seq(explained), explained.sentence)


def _node_choice(recording: Recording, pod: TaskKey, until: Seq, node: str) -> tuple[Seq, int]:
    """Where this node was chosen for the pod the last time before an event, and among how many.

    Where no other was left there is no choice, but only the placement.
    """
    for span in reversed(recording.index.spans_of(Level.TASK, pod)):
        for seq in range(min(span.last, until), span.first - 1, -1):
            event = recording.event_at(seq)
            if isinstance(event, BestEvent) and event.name == node:
                return seq, len(event.tied)
            if isinstance(event, OpEvent) and (event.task, event.node) == (pod, node):
                until = seq
    return until, 0


def _proof_seq(explained: Explanation) -> Seq | None:
    evidence = explained.dominant.evidence
    return evidence[0].seq if evidence else None


# What of a message can be compared: upstream fills some of its parts from maps, in any order.

EXAMPLE_MARK: Final = " Origin reason is "
INSUFFICIENT: Final = re.compile(r"(\d+) Insufficient (\S*\w)")
MESSAGE_PARTS: Final = re.compile(r"[,:;] |\.(?= |$)")


def certain_part(message: str) -> str:
    """A message without the pod that is its example: any of those that failed, by the order of a map."""
    return message.partition(EXAMPLE_MARK)[0]


def is_alike(one: str, other: str) -> bool:
    """Whether two messages say the same, but for which resource they name of a node that lacks several.

    Cpu and memory come first; of the others, whichever the map has first is named.
    """
    return one == other or (INSUFFICIENT.search(one) is not None and _count_parts(one) == _count_parts(other))


def _count_parts(message: str) -> tuple[list[str], int]:
    """The parts in order, and how many nodes lack anything but cpu and memory."""
    others, short = [], 0
    for part in MESSAGE_PARTS.split(message):
        found = INSUFFICIENT.fullmatch(part)
        if found is not None and found[2] not in (CPU, MEMORY):
            short += int(found[1])
        else:
            others.append(part)
    return others, short


# Searches that end after a part of the nodes: what a pod's last search found, and what it must have dropped.


class SearchSample(NamedTuple):
    """One search of the replay that did not look at all nodes."""

    seq: Seq
    search: PredicateEvent
    number: int
    """How many searches for the pod were before it."""
    scores: ScoreEvent | None
    """Of the nodes that it found, if they were compared."""


def has_samples(recording: Recording) -> bool:
    """Whether any search ended before it had looked at all nodes."""
    events = (recording.event_at(seq) for seq in range(1, len(recording) + 1))
    return any(isinstance(event, PredicateEvent) and event.processed < event.considered for event in events)


def last_samples(recording: Recording, pods: Iterable[TaskKey]) -> dict[TaskKey, SearchSample]:
    """Every pod's last search, where it was a sample."""
    wanted, count = dict.fromkeys(pods), dict[TaskKey, int]()
    found: dict[TaskKey, SearchSample] = {}
    for seq in range(1, len(recording) + 1) if wanted else ():
        event = recording.event_at(seq)
        if isinstance(event, PredicateEvent) and event.task in wanted:
            number = count[event.task] = count.get(event.task, -1) + 1
            found[event.task] = SearchSample(seq, event, number, None)
        elif isinstance(event, ScoreEvent) and event.task in found:
            found[event.task] = found[event.task]._replace(scores=event)
    return {pod: one for pod, one in found.items() if one.search.processed < one.search.considered}


def is_in_sample(recording: Recording, sample: SearchSample, node: NodeName) -> bool:
    """Whether a node is among those that the sample found."""
    return any(recording.node_names[row] == node for row in sample.search.feasible.tolist())


def with_drops(recording: Recording, chance: ChanceSettings, chosen: dict[TaskKey, NodeName]) -> ChanceSettings:
    """The searches of pods that went elsewhere, with the nodes last that had a higher score than the chosen one.

    What comes last is dropped, as far as the workers have found more than was wanted: a node that would have won was.
    """
    searches = dict(chance.searches)
    for pod, sample in last_samples(recording, (pod for pod in chosen if pod in searches)).items():
        texts = searches[pod].split(";")
        rows = dict.fromkeys(_iter_higher_scored(recording, sample, chosen[pod]))
        visited = parse_ranges(texts[sample.number], len(recording.node_names)) if sample.number < len(texts) else None
        if rows and visited is not None:
            kept = [row for row in visited.tolist() if row not in rows]
            texts[sample.number] = format_ranges([*kept, *rows])
            searches[pod] = ";".join(texts)
    return replace(chance, searches=searches)


def _iter_higher_scored(recording: Recording, sample: SearchSample, node: NodeName) -> Iterator[Row]:
    if sample.scores is None:
        return
    rows = sample.scores.rows
    at = [place for place, row in enumerate(rows.tolist()) if recording.node_names[row] == node]
    if at:
        yield from rows[np.flatnonzero(sample.scores.total > sample.scores.total[at[0]])].tolist()


# What a scheduler did, beside the replay: the answer of every form of `verify`.


@dataclass(frozen=True, slots=True)
class LogDifference:
    """The first line at which the program's log and the replay part."""

    seq: Seq | None
    logged: str
    replayed: str


@dataclass(frozen=True, slots=True)
class Verification:
    """What a scheduler did with a snapshot, beside the replay."""

    recording: Recording
    predicted: CycleOutcome
    observed: CycleOutcome
    jobs: tuple[JobVerdict, ...]
    chance: tuple[str, ...] = ()
    """The draws of the scheduler that the replay follows, as edits."""
    tried: int = 1
    """How many runs of the replay were compared."""
    parting: LogDifference | None = None
    ended: str = ""
    """Why the scheduler did not finish; empty where it did."""
    seconds: float = 0.0
    log: Sequence[str] = ()
    cycles: int = 1
    """How many cycles of the replay were compared with what was seen."""
    notes: Sequence[str] = ()
    """What else is to be known of the comparison, in sentences."""

    def count_verdicts(self, word: str) -> int:
        """Jobs with this verdict."""
        return len([one for one in self.jobs if one.word == word])

    @property
    def is_agreed(self) -> bool:
        """Whether every decision is the same; a scheduler that panics agrees with a replay that says so."""
        decided = not any(one.word == "differs" for one in self.jobs)
        return decided and bool(self.ended) == bool(self.predicted.panic)
