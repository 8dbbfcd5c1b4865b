"""Why is this job Pending: the last gate that could still have admitted or placed it, and did not."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from vcdebug.amount_text import count_noun, format_amounts_apart, join_names
from vcdebug.errors import VcdebugError
from vcdebug.explain import queue_index
from vcdebug.explain.answer import (
    AdviceHarm,
    CauseHeadline,
    Evidence,
    Explanation,
    Finding,
    cluster_admin_advice,
    outside_advice,
    owner_advice,
    seconds_since,
    sort_by_harm,
)
from vcdebug.explain.job_view import (
    ExplainSubject,
    JobView,
    NotFoundError,
    condition_facts,
    event_facts,
    find_subject,
)
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending import checklist
from vcdebug.explain.pending.gates import (
    ALREADY_PLACED,
    EVICTION_GATES,
    NOT_IN_SESSION,
    OVERRIDES,
    PRECONDITIONS,
    resolve_gates,
)
from vcdebug.explain.pending.gates.admission import NOT_CONFIGURED_CAUSE
from vcdebug.explain.pending.gates.eviction import Gate, GateChance
from vcdebug.explain.pending.gates.eviction.entitlement import NOT_STARVING
from vcdebug.explain.pending.gates.not_in_session import PLACES_CAUSE, capture_incomplete, incomplete
from vcdebug.explain.pending.gates.placed import ADMITTED_CAUSE, HAS_CAUSES, PHANTOM_CAUSE, stopping_findings
from vcdebug.explain.pending.gates.queue_limits import NOT_ALLOCATABLE, allocatable_refusals
from vcdebug.explain.pending.gates.validity import add_other_groups
from vcdebug.explain.pending.no_node import MIXED_CAUSE, POD_COUNT, hopeless_finding
from vcdebug.explain.plugins.gang import DISCARD_CAUSE
from vcdebug.explain.plugins.overcommit import CAUSE as OVERCOMMIT_CAUSE
from vcdebug.explain.queue_findings import CAPABILITY_CAUSE, QUOTA_CAUSE
from vcdebug.framework.record import CutEvent, PanicEvent
from vcdebug.framework.registry import resolve_reference
from vcdebug.garbage_collection import collector_paused
from vcdebug.model.devices import DeviceLedger
from vcdebug.model.names import QueueName
from vcdebug.model.resource import PODS
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import OVERCOMMIT, SLA
from vcdebug.recording.cluster_overview import WaitingSummary, waiting_summary
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.session_closing import crash_change, crash_lines
from vcdebug.releases.release import NEWEST, Release
from vcdebug.snapshot.manifest import (
    key_of,
    metadata_of,
)

PANIC_CAUSE = "panic"
CUT_OFF_CAUSE = "cut-off"


ROOM_CAUSES = (MIXED_CAUSE, POD_COUNT, NOT_ALLOCATABLE, NOT_CONFIGURED_CAUSE)
"""Causes with which room that becomes free goes to the job that is tried first."""


def explain_by_name(recording: Recording, word: str) -> Explanation:
    """The answer for a job or a pod; raises NotFoundError for a name that nothing has."""
    return explain_subject(recording, find_subject(recording.snapshot, word))


def explain_subject(recording: Recording, subject: ExplainSubject) -> Explanation:
    """The explanation of a job or pod of the snapshot, with the doubt about the input."""
    doubts = filter(None, (doubt_of_input(recording), _doubt_of_process(recording, subject)))
    answer = _build_explanation(recording, subject)
    found = answer.dominant
    facts = (*_rejected_conf_facts(recording), *found.facts, *event_facts(recording, subject))
    found = replace(found, facts=facts) if facts != found.facts else found
    return replace(answer, dominant=found, doubt="; ".join(doubts), release=recording.snapshot.release)


def _rejected_conf_facts(recording: Recording) -> tuple[str, ...]:
    """That the configuration is not the one in force, with which every other reason would mislead."""
    conf = recording.conf
    if not conf.built_in or recording.snapshot.scheduler_conf is None:
        return ()
    what = conf.problems[0].what.replace("rejected: ", "")
    return (f"The configuration is rejected ({what}); the built-in one is in force: {', '.join(conf.actions)}.",)


def _doubt_of_process(recording: Recording, subject: ExplainSubject) -> str:
    """What is assumed of the scheduler's process, where cards that its earlier cycles know decide about the job."""
    if not recording.snapshot.process.assumed or subject.job not in recording.session.jobs:
        return ""
    ledgers = _ledgers_by_device(recording).values()
    tasks = JobView(recording, subject.job, subject.pod).pending_at_open if ledgers else ()
    if not any(ledger.has_device_request(task.pod) for task in tasks for ledger in ledgers):
        return ""
    return "nothing says when the scheduler started, and a running process is assumed (meta.json: scheduler.started)"


@per_recording()
def _ledgers_by_device(recording: Recording) -> Mapping[str, DeviceLedger]:
    """One ledger of each kind of device that nodes have."""
    return {device: ledger for node in recording.session.nodes.values() for device, ledger in node.devices.items()}


def doubt_of_input(recording: Recording) -> str:
    """Why every answer may be wrong: objects of different moments, or an assumed configuration; empty for nothing."""
    provenance = recording.snapshot.provenance
    doubts = ["" if provenance is None else provenance.inconsistency_text()]
    if provenance is not None and provenance.namespace:
        doubts.append(
            f"only namespace {provenance.namespace} was read; pods of other namespaces use room that is not known"
        )
    if recording.snapshot.scheduler_conf is None and recording.session.jobs:
        actions = ", ".join(recording.conf.actions)
        doubts.append(f"the snapshot has no scheduler configuration; the built-in one is assumed (actions {actions})")
    return "; ".join(filter(None, doubts))


@per_recording()
def _build_explanation(recording: Recording, subject: ExplainSubject) -> Explanation:
    if subject.job not in recording.session.jobs:
        finding: Finding = resolve_reference(NOT_IN_SESSION)(recording, subject)
        name, way = subject.job or subject.pod or "", checklist.steps_outside_session(recording, finding)
        return Explanation(
            name, subject.pod, finding.cause == PLACES_CAUSE, finding, (), sort_by_harm(finding.advice), way
        )
    view = JobView(recording, subject.job, subject.pod)
    found = next(checklist.findings_of_gates(view, ALREADY_PLACED), None)
    lacking = capture_incomplete(recording, subject) if found is None else None
    once: dict[str, Finding] = {}
    judged = (
        [lacking] if lacking else judge_job(view) if found is None else [found, *_contributing_findings(view, found)]
    )
    for finding in judged:
        # Several gates can name one cause; the first is the nearest to the decision.
        once.setdefault(finding.cause, finding)
    first, *others = once.values()
    dominant, way = _add_turn(view, _beyond_minimum(view, _add_admitted(view, first))), checklist.checklist_steps(view)
    # More nodes are no help where a queue refuses.
    if dominant.cause == DISCARD_CAUSE and not allocatable_refusals(view):
        dominant = replace(dominant, facts=(*dominant.facts, *condition_facts(view)))
    if dominant.cause not in HAS_CAUSES:
        dominant = add_other_groups(view, dominant)
        once[dominant.cause] = dominant
    advice = sort_by_harm(line for finding in once.values() for line in finding.advice)
    return Explanation(view.job.uid, subject.pod, dominant.cause in HAS_CAUSES, dominant, tuple(others), advice, way)


def _beyond_minimum(view: JobView, finding: Finding) -> Finding:
    """Add the fact that minMember is met, so gang does not block the Pending pods."""
    ready = view.job.ready_task_num()
    if (
        not view.left_over
        or ready < view.job.min_available
        or finding.cause in (*HAS_CAUSES, PHANTOM_CAUSE, NOT_STARVING)
    ):
        return finding
    met = f"minMember {view.job.min_available} is met by {count_noun(ready, 'ready pod')}"
    fact = f"{met}, so gang does not block the other {len(view.left_over)}."
    beyond = _beyond_cluster(view)
    if beyond:
        lower = f"Set overcommit-factor to 1: jobs with {beyond[0]} are then not admitted."
        also = (outside_advice(lower, AdviceHarm.CLUSTER),) if OVERCOMMIT in view.recording.conf.plugin_names() else ()
        return replace(finding, facts=(*finding.facts, fact, beyond[1]), advice=(*finding.advice, *also))
    return replace(finding, facts=(*finding.facts, fact))


def _beyond_cluster(view: JobView) -> tuple[str, str] | None:
    """What the PodGroup was admitted with and the cluster does not have, and a sentence about it."""
    minimum, total = view.job.pod_group.min_resources, view.session.total_resource
    for name, asked in minimum.items() if minimum is not None else ():
        if name != PODS and 0 < total.get(name) < asked:
            wanted, has = format_amounts_apart(name, asked, total.get(name))
            words = f"more {name} than the cluster has"
            return words, f"The PodGroup was admitted with minResources of {wanted} {name}; the cluster has {has}."
    return None


def _add_turn(view: JobView, finding: Finding) -> Finding:
    """Add the fact which jobs of the queue come first, where room decides."""
    return replace(finding, facts=(*finding.facts, *_turn_facts(view))) if finding.cause in ROOM_CAUSES else finding


def _add_admitted(view: JobView, finding: Finding) -> Finding:
    """Add which jobs that come after this one were admitted in its place, where enqueue rejected it."""
    rejected = finding.cause in (OVERCOMMIT_CAUSE, QUOTA_CAUSE, CAPABILITY_CAUSE)
    later = queue_index.admitted_after(view.recording, view.job) if rejected else []
    if not later:
        return finding
    less = "of lower priority" if later[0].priority < view.job.priority else "created later"
    were = f"{'is' if len(later) == 1 else 'are'} admitted in this cycle, since enqueue goes on with jobs that fit"
    fact = f"{join_names((job.uid for job in later), 2)} ({less}) {were}."
    tier = "in a tier before the plugin that rejects, admits jobs that waited long enough; they then reserve room"
    advice = outside_advice(f"Plugin {SLA}, {tier}.", AdviceHarm.CLUSTER)
    also = () if SLA in view.recording.conf.plugin_names() else (advice,)
    return replace(finding, facts=(*finding.facts, fact), advice=(*finding.advice, *also))


_MAX_COMPARED_JOBS: Final = 30
"""Pending jobs of a queue that are compared with one of them; more would slow down the answers about all of them."""


def _turn_facts(view: JobView) -> tuple[str, ...]:
    """Which Pending jobs of the queue are tried before this one, and what decides about the nearest of them."""
    waiting, uid = queue_index.waiting_by_queue(view.recording).get(view.job.queue, ()), view.job.uid
    jobs = (*waiting, *(() if uid in waiting else (uid,))) if len(waiting) <= _MAX_COMPARED_JOBS + 1 else ()
    if not 1 < len(jobs) <= _MAX_COMPARED_JOBS + 1:
        return ()
    return queue_index.turns_at_end(view.recording, view.job.queue, jobs)[uid]


def _contributing_findings(view: JobView, found: Finding) -> list[Finding]:
    """Why the job's other pods are Pending although minMember is met; for a phantom, what stops allocate."""
    if found.cause == PHANTOM_CAUSE:
        return stopping_findings(view)
    return judge_job(view) if view.left_over and view.pod is None else []


def judge_job(view: JobView) -> list[Finding]:
    """The dominant finding first, then the contributing ones."""
    last = view.recording.event_at(len(view.recording))
    if isinstance(last, CutEvent):
        return [_cut_off_finding(view, last)]
    opened = bool(view.session.plugin_calls)
    shut = list(checklist.findings_of_gates(view, PRECONDITIONS)) if opened else []
    task = view.blocked_task
    if shut:
        return [*shut, *_hopeless_findings(view, task)]
    if isinstance(last, PanicEvent):
        return [_panic_finding(view, last)]
    if task is None:
        return [checklist.not_tried_finding(view)]
    return _placement_findings(view, task)


def _hopeless_findings(view: JobView, task: TaskInfo | None) -> list[Finding]:
    """What would stop the job even if it passed the precondition that failed."""
    if task is None:
        return []
    finding = hopeless_finding(task, NodeFits(view, task, len(view.recording)))
    return [finding] if finding is not None else []


def _placement_findings(view: JobView, task: TaskInfo) -> list[Finding]:
    """allocate, then whatever evicts: the last one with a chance decides."""
    room = NodeFits(view, task, checklist.failed_search_seq(view, task))
    met: list[Gate] = [gate for asked in resolve_gates(EVICTION_GATES) for gate in asked(view, task, room)]
    ordered = _order_findings(met, checklist.allocate_findings(view, task, room), room)
    overrides: Iterator[list[Finding] | None] = (
        each(view, task, room, met, ordered) for each in resolve_gates(OVERRIDES)
    )
    return next((found for found in overrides if found is not None), ordered)


def _order_findings(gates: list[Gate], base: list[Finding], room: NodeFits) -> list[Finding]:
    real = [gate.finding for gate in gates if gate.chance is GateChance.REAL]
    weak = [gate.finding for gate in gates if gate.chance is GateChance.WEAK]
    rest = [gate.finding for gate in gates if gate.chance is GateChance.NONE]
    if real:
        return [*reversed(real), *base, *reversed(weak)]
    if base[0].cause == DISCARD_CAUSE or room.free_nodes:
        return [*base, *reversed(weak), *rest]
    return [*reversed(weak), *base, *rest]


def _panic_finding(view: JobView, event: PanicEvent) -> Finding:
    headline = CauseHeadline(view.job.uid, "is not placed", "the scheduler panics before it places the job")
    evidence = (Evidence(len(view.recording), "the scheduler's process ends here"),)
    advice = cluster_admin_advice(crash_change(event))
    lines, facts = crash_lines(view.recording, event), (f'Its message: "{event.message}".',)
    return Finding(PANIC_CAUSE, headline, {}, evidence, (advice,), lines, facts)


def _cut_off_finding(view: JobView, event: CutEvent) -> Finding:
    headline = CauseHeadline(
        view.job.uid, "is not explained", f"the replay stopped at its limit of {event.bound} before placing it"
    )
    evidence = (Evidence(len(view.recording), "the recording ends here, the cycle does not"),)
    return Finding(CUT_OFF_CAUSE, headline, {}, evidence, (owner_advice("Raise --max-events and --max-memory."),))


FAULT = "fault"
"""The cause code of a job whose explanation raised an error."""


class SurveyedJob(NamedTuple):
    """One job with the number of its Pending pods."""

    explanation: Explanation
    queue: QueueName
    """Empty for a job without a queue."""
    pending: int
    """Pods that are Pending when the cycle ends."""
    age: float | None
    """Seconds since the job or pod was created; None where the snapshot does not say."""

    @property
    def shown_finding(self) -> Finding:
        """The finding to show: for a job that has its minimum, why its other pods are Pending."""
        found = self.explanation
        contributing = found.contributing if found.scheduled and self.pending else ()
        return contributing[0] if contributing else found.dominant


@dataclass(frozen=True, slots=True)
class Survey:
    """All jobs of one recording; the Pending ones are explained."""

    jobs: int
    """Number of jobs, including those outside the session."""
    explained: tuple[SurveyedJob, ...]
    problems: int
    """Number of problems of the input, which may change the answers."""
    named: bool = False
    """Whether the survey is about one named job or pod, which is explained even if it was scheduled."""
    doubt: str = ""
    """Why every answer may be wrong: the input does not show one moment."""
    release: Release = NEWEST
    """The release that was replayed."""
    incomplete: str = ""
    """Kinds that the snapshot lacks and that jobs need."""

    @property
    def unscheduled_jobs(self) -> list[SurveyedJob]:
        """The jobs that stay unscheduled."""
        return [one for one in self.explained if not one.explanation.scheduled]

    @property
    def partly_waiting_jobs(self) -> list[SurveyedJob]:
        """The jobs that have their minimum and still have Pending pods."""
        placed = [one for one in self.explained if one.explanation.scheduled and not self.named]
        return [one for one in placed if one.explanation.cause_code != ADMITTED_CAUSE]


def survey_jobs(recording: Recording, tell: Callable[[int, int], object] | None = None) -> Survey:
    """Every job with missing pods after the cycle, by name; `tell(done, total)` reports progress.

    Explaining hundreds of jobs takes seconds, so the recording caches the result.
    """
    kept = recording.answered.get("survey")
    if not isinstance(kept, Survey):
        # Explaining allocates many long-lived objects; a collection in between finds nothing to free.
        with collector_paused():
            kept = recording.answered["survey"] = _build_survey(recording, tell or (lambda *_: None))
    return kept


def is_surveyed(recording: Recording) -> bool:
    """Whether survey_jobs has its result already."""
    return "survey" in recording.answered


def _build_survey(recording: Recording, tell: Callable[[int, int], object]) -> Survey:
    stands, session = waiting_summary(recording), recording.session.jobs
    subjects = _all_subjects(stands)
    broken = [one for one in subjects if one.job in stands.broken or one.job not in session]
    waiting: list[SurveyedJob] = []
    for one in broken:
        tell(len(waiting), len(broken))
        waiting.append(_survey_subject(recording, one, stands.homeless))
    lacking = incomplete(recording.snapshot)
    return replace(_make_survey(recording, waiting, named=False), jobs=len(subjects), incomplete=lacking)


def _make_survey(recording: Recording, explained: Sequence[SurveyedJob], *, named: bool) -> Survey:
    """The survey of the explained jobs, with the doubt about the input or about the first job that has one."""
    doubt = next((one.explanation.doubt for one in explained if one.explanation.doubt), doubt_of_input(recording))
    problems, release = len(recording.own_problems), recording.snapshot.release
    return Survey(len(explained), tuple(explained), problems, named=named, doubt=doubt, release=release)


def survey_one(recording: Recording, word: str) -> Survey:
    """The survey of the named job or pod, scheduled or not; empty if the name is unknown."""
    try:
        subject = find_subject(recording.snapshot, word)
    except NotFoundError:
        return _make_survey(recording, (), named=True)
    return _make_survey(
        recording, [_survey_subject(recording, subject, waiting_summary(recording).homeless)], named=True
    )


def _all_subjects(stands: WaitingSummary) -> list[ExplainSubject]:
    """Jobs of PodGroups, of pods whose PodGroup is missing, and Pending pods of this scheduler without a PodGroup."""
    return sorted([*(ExplainSubject("", pod) for pod in stands.lone), *map(ExplainSubject, stands.jobs)])


def _survey_subject(recording: Recording, subject: ExplainSubject, homeless: Mapping[str, int]) -> SurveyedJob:
    explanation = _explain_or_report(recording, subject)
    info = recording.session.jobs.get(subject.job)
    name = subject.job or subject.pod or ""
    if info is None:
        created = _creations_outside_session(recording).get(name)
        return SurveyedJob(explanation, "", homeless.get(name, 0), seconds_since(recording, created))
    tasks = [task for task in info.tasks.values() if subject.pod in (None, task.key)]
    pending = len([task for task in tasks if task.status is TaskStatus.PENDING])
    return SurveyedJob(explanation, info.queue, pending, seconds_since(recording, info.creation_timestamp))


@per_recording()
def _creations_outside_session(recording: Recording) -> dict[str, str]:
    """creationTimestamp of each PodGroup and pod that no job of the session contains, by name."""
    groups = {key_of(group): group for group in recording.snapshot.objects_of("PodGroup")}
    alone = {
        key_of(pod): pod for pod in recording.snapshot.objects_of("Pod") if key_of(pod) not in recording.owners.jobs
    }
    return {name: metadata_of(each).get("creationTimestamp") or "" for name, each in {**alone, **groups}.items()}


def _explain_or_report(recording: Recording, subject: ExplainSubject) -> Explanation:
    """The answer; where vcdebug fails at it, which fault to report, so that the other jobs keep their answers."""
    try:
        return explain_subject(recording, subject)
    except (VcdebugError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - boundary: a fault in one answer is an answer
        name = subject.pod or subject.job
        reason = f"{type(error).__name__}: {error}; this is a bug in vcdebug"
        advice = owner_advice(f"Run `vcdebug explain SNAPSHOT {name}` with VCDEBUG_TRACEBACK=1, and report the output.")
        finding = Finding(FAULT, CauseHeadline(name or "", "cannot be explained", reason), {}, (), (advice,))
        return Explanation(subject.job or name or "", subject.pod, False, finding, (), finding.advice, ())
