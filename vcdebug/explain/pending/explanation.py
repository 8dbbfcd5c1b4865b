"""Why is this job Pending: the last gate that could still have admitted or placed it, and did not."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.actions import ENQUEUE
from vcdebug.amount_text import count_noun, join_names
from vcdebug.errors import VcdebugError
from vcdebug.explain import queue_index
from vcdebug.explain.answer import (
    Advice,
    AdviceHarm,
    CauseHeadline,
    Evidence,
    Explanation,
    ExplanationStep,
    Finding,
    cluster_admin_advice,
    outside_advice,
    owner_advice,
    seconds_since,
    sort_by_harm,
)
from vcdebug.explain.component_reports import event_facts
from vcdebug.explain.job_view import (
    ExplainSubject,
    JobView,
    NotFoundError,
    condition_facts,
    find_subject,
    karpenter_facts,
    view_of,
)
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending import checklist
from vcdebug.explain.pending.contradictions import add_contradictions
from vcdebug.explain.pending.doubts import (
    cluster_excess,
    doubt_of_input,
    doubts_about,
    qualify_headline,
    rejected_conf,
)
from vcdebug.explain.pending.gates import (
    ALREADY_PLACED,
    EVICTION_GATES,
    NOT_IN_SESSION,
    OVERRIDES,
    PRECONDITIONS,
    resolve_gates,
)
from vcdebug.explain.pending.gates.admission import ADMITTED_CAUSE, NOT_CONFIGURED_CAUSE, later_rejections
from vcdebug.explain.pending.gates.eviction import Gate, GateChance
from vcdebug.explain.pending.gates.eviction.entitlement import NOT_STARVING, POLICY_NEVER
from vcdebug.explain.pending.gates.not_in_session import (
    CAPTURE_INCOMPLETE,
    PLACES_CAUSE,
    capture_incomplete,
    incomplete,
)
from vcdebug.explain.pending.gates.other_groups import add_other_groups
from vcdebug.explain.pending.gates.placed import EVICTED_CAUSE, HAS_CAUSES, PHANTOM_CAUSE, stopping_findings
from vcdebug.explain.pending.gates.queue_limits import NOT_ALLOCATABLE, allocatable_refusals
from vcdebug.explain.pending.gates.validity import SKIP_FACT
from vcdebug.explain.pending.no_node import MIXED_CAUSE, POD_COUNT, hopeless_finding
from vcdebug.explain.pending.room_takers import deadlocked_gangs, room_takers, taker_advice, taker_facts
from vcdebug.explain.pending.scheduler_fault import with_scheduler_fault
from vcdebug.explain.plugins.gang import DISCARD_CAUSE
from vcdebug.explain.plugins.overcommit import CAUSE as OVERCOMMIT_CAUSE
from vcdebug.explain.queue_findings import CAPABILITY_CAUSE, QUOTA_CAUSE
from vcdebug.framework.record import CutEvent, PanicEvent
from vcdebug.framework.registry import resolve_reference
from vcdebug.garbage_collection import collector_paused
from vcdebug.model.names import QueueName
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import OVERCOMMIT, SLA
from vcdebug.recording.cluster_overview import waiting_summary
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.session_closing import crash_change, crash_lines, crash_report
from vcdebug.releases.release import NEWEST, Release
from vcdebug.snapshot.manifest import key_of, metadata_of, owner_names

PANIC_CAUSE = "panic"
CUT_OFF_CAUSE = "cut-off"


ROOM_CAUSES = (MIXED_CAUSE, POD_COUNT, NOT_ALLOCATABLE, NOT_CONFIGURED_CAUSE, POLICY_NEVER)
"""Causes for which the order of the queue's jobs decides who gets room that becomes free."""


def explain_by_name(recording: Recording, word: str, *, detailed: bool = True) -> Explanation:
    """The explanation of a job or pod by name; raises NotFoundError if none has this name.

    What only a reader needs, such as facts that compare scores, is left out unless `detailed`.
    """
    subject = find_subject(recording, word)
    return explain_subject(recording, subject if detailed else ExplainSubject(subject.job, subject.pod, detailed=False))


def explain_subject(recording: Recording, subject: ExplainSubject) -> Explanation:
    """The explanation of a job or pod of the snapshot, with the doubt about the input."""
    explanation = with_scheduler_fault(recording, subject, _build_explanation(recording, subject))
    dominant = explanation.dominant
    reported = event_facts(recording, subject) if subject.detailed else ()
    own_facts = [fact for fact in dominant.facts if not reported or fact != SKIP_FACT]
    rejected, correcting = rejected_conf(recording)
    facts = (*rejected, *own_facts, *reported)
    explanation = replace(explanation, advised=(*correcting, *explanation.advised)) if correcting else explanation
    dominant = replace(dominant, facts=facts) if facts != dominant.facts else dominant
    doubt = "; ".join(doubts_about(recording, subject))
    explanation = replace(explanation, dominant=dominant, doubt=doubt, release=recording.snapshot.release)
    if dominant.cause != CAPTURE_INCOMPLETE:
        explanation = qualify_headline(recording, subject, explanation)
    return add_contradictions(recording, subject, explanation)


@per_recording()
def _build_explanation(recording: Recording, subject: ExplainSubject) -> Explanation:
    if subject.job not in recording.session.jobs:
        finding: Finding = resolve_reference(NOT_IN_SESSION)(recording, subject)
        name, steps = subject.job or subject.pod or "", checklist.steps_outside_session(recording, finding)
        return Explanation(
            name, subject.pod, finding.cause == PLACES_CAUSE, finding, (), sort_by_harm(finding.advice), steps
        )
    view = view_of(recording, subject)
    early = next(checklist.findings_of_gates(view, ALREADY_PLACED), None)
    capture = capture_incomplete(recording, subject) if early is None else None
    by_cause: dict[str, Finding] = {}
    findings = (
        [capture] if capture else judge_job(view) if early is None else [early, *_contributing_findings(view, early)]
    )
    for finding in findings:
        # Several gates can find the same cause; the first finding is the nearest to the decision.
        by_cause.setdefault(finding.cause, finding)
    first, *others = by_cause.values()
    dominant, steps = _with_minimum_fact(view, _add_admitted(view, first)), tuple[ExplanationStep, ...]()
    if subject.detailed:
        dominant, steps = _add_reported(view, _add_turn(view, dominant)), checklist.checklist_steps(view)
    if dominant.cause not in HAS_CAUSES:
        dominant = add_other_groups(view, dominant)
        by_cause[dominant.cause] = dominant
    advice = sort_by_harm(line for finding in by_cause.values() for line in finding.advice)
    # Where only a change outside the scheduler repairs what is wrong, other changes would help the wrong object.
    advice = tuple(line for line in advice if line.repairs and line.cannot_be_replayed) or advice
    return Explanation(view.job.uid, subject.pod, dominant.cause in HAS_CAUSES, dominant, tuple(others), advice, steps)


def _add_reported(view: JobView, finding: Finding) -> Finding:
    """Add what conditions say, and what Karpenter adds for it, in vain where a queue refuses."""
    if allocatable_refusals(view):
        vain = karpenter_facts(view, in_vain=True) if finding.cause == NOT_ALLOCATABLE else ()
        return replace(finding, facts=(*finding.facts, *vain)) if vain else finding
    if finding.cause == DISCARD_CAUSE:
        return replace(finding, facts=(*finding.facts, *condition_facts(view)))
    further = karpenter_facts(view) if finding.cause == MIXED_CAUSE else ()
    return replace(finding, facts=(*finding.facts[:1], *further, *finding.facts[1:])) if further else finding


def _with_minimum_fact(view: JobView, finding: Finding) -> Finding:
    """Add the fact that minMember is met, so gang does not block the Pending pods, or how many pods of it run."""
    ready, minimum = view.job.ready_task_num(), view.job.min_available
    if (
        not view.unplaced_tasks
        or not (ready or minimum <= 0)
        or finding.cause in (*HAS_CAUSES, PHANTOM_CAUSE, NOT_STARVING)
    ):
        return finding
    if ready < minimum:
        # A gang that lost pods: what is short is only a part of it.
        fact = f"{ready} of the {count_noun(minimum, 'pod')} that minMember requires already run."
        return replace(finding, facts=(*finding.facts, fact)) if finding.cause in ROOM_CAUSES else finding
    met = f"minMember {view.job.min_available} is met by {count_noun(ready, 'ready pod')}"
    fact = f"{met}, so gang does not block the other {len(view.unplaced_tasks)}."
    excess = cluster_excess(view)
    if excess and ENQUEUE in view.actions:
        admitted = f"The PodGroup was admitted with minResources of {excess.asked}; the cluster has {excess.total}."
        lower = f"Set overcommit-factor to 1: jobs with more {excess.name} than the cluster has are then not admitted."
        also = (outside_advice(lower, AdviceHarm.CLUSTER),) if OVERCOMMIT in view.recording.conf.plugin_names() else ()
        return replace(finding, facts=(*finding.facts, fact, admitted), advice=(*finding.advice, *also))
    return replace(finding, facts=(*finding.facts, fact), advice=(*finding.advice, *_minimum_of_spark(view)))


def _minimum_of_spark(view: JobView) -> tuple[Advice, ...]:
    """How a SparkApplication starts as a whole: its driver creates the executors, so minMember has to be 1."""
    is_spark = any(name.startswith("SparkApplication ") for name in owner_names(view.job.pod_group.manifest))
    if not is_spark or view.job.pod_group.min_resources is not None:
        return ()
    where = "SparkApplication: spec.batchSchedulerOptions.resources"
    effect = "enqueue then admits an application only where all of it fits"
    return (outside_advice(f"State minResources of the driver and its executors ({where}): {effect}."),)


def _add_turn(view: JobView, finding: Finding) -> Finding:
    """If room decides, add the fact which jobs of the queue come first."""
    turns = _turn_facts(view) if finding.cause in ROOM_CAUSES else ()
    if any("first (sla deadline" in fact for fact in turns):
        turns = (*turns, f"Plugin {SLA} only admits it and tries it first; it reserves no room that becomes free.")
    return replace(finding, facts=(*finding.facts, *turns)) if turns else finding


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
"""The maximum number of Pending jobs of a queue with which a job's order is compared; more would be slow."""


def _turn_facts(view: JobView) -> tuple[str, ...]:
    """Sentences: which Pending jobs of the queue are tried before this one, and why the nearest comes first."""
    pending, uid = queue_index.waiting_by_queue(view.recording).get(view.job.queue, ()), view.job.uid
    jobs = (*pending, *(() if uid in pending else (uid,))) if len(pending) <= _MAX_COMPARED_JOBS + 1 else ()
    if not 1 < len(jobs) <= _MAX_COMPARED_JOBS + 1:
        return ()
    return queue_index.turns_at_end(view.recording, view.job.queue, jobs)[uid]


def _contributing_findings(view: JobView, finding: Finding) -> list[Finding]:
    """Why other pods are Pending although minMember is met; for a phantom pipeline, why allocate does not bind."""
    if finding.cause == PHANTOM_CAUSE:
        return list(stopping_findings(view.recording, view))
    return judge_job(view) if view.unplaced_tasks and view.pod is None else []


def judge_job(view: JobView) -> list[Finding]:
    """The dominant finding first, then the contributing ones."""
    last_event = view.recording.last_event
    if isinstance(last_event, CutEvent):
        return [_cut_off_finding(view, last_event)]
    opened = bool(view.session.plugin_calls)
    precondition_findings = list(checklist.findings_of_gates(view, PRECONDITIONS)) if opened else []
    task = view.blocked_task
    if precondition_findings:
        return [*precondition_findings, *later_rejections(view), *_hopeless_findings(view, task)]
    if isinstance(last_event, PanicEvent):
        return [_panic_finding(view, last_event)]
    if task is None:
        return [checklist.not_tried_finding(view)]
    return _placement_findings(view, task)


def _hopeless_findings(view: JobView, task: TaskInfo | None) -> list[Finding]:
    """The finding that no node could ever fit the task, besides the failed precondition; empty if one could."""
    if task is None:
        return []
    finding = hopeless_finding(task, NodeFits(view, task, len(view.recording)))
    return [finding] if finding is not None else []


def _placement_findings(view: JobView, task: TaskInfo) -> list[Finding]:
    """The findings about allocate and the evicting actions; the last gate with a real chance comes first."""
    fits = NodeFits(view, task, checklist.failed_search_seq(view, task))
    gates: list[Gate] = [gate for find_gates in resolve_gates(EVICTION_GATES) for gate in find_gates(view, task, fits)]
    ordered = _order_findings(gates, checklist.allocate_findings(view, task, fits), fits)
    overrides: Iterator[list[Finding] | None] = (
        override(view, task, fits, gates, ordered) for override in resolve_gates(OVERRIDES)
    )
    first, *others = next((findings for findings in overrides if findings is not None), ordered)
    return [_with_holders(first, fits), *others]


def _with_holders(finding: Finding, fits: NodeFits) -> Finding:
    """Add which pods this cycle placed first in the room; for a gang, another incomplete one that holds room."""
    if finding.cause == MIXED_CAUSE:
        return finding
    if finding.cause == DISCARD_CAUSE:
        facts, advice = deadlocked_gangs(fits)
        return replace(finding, facts=(*facts, *finding.facts), advice=(*advice, *finding.advice)) if facts else finding
    takers = room_takers(fits)
    if not takers.tasks:
        return finding
    facts, advice = taker_facts(fits, takers), taker_advice(fits, takers)
    return replace(finding, facts=(*facts, *finding.facts), advice=(*advice, *finding.advice))


def _order_findings(gates: list[Gate], allocating: list[Finding], fits: NodeFits) -> list[Finding]:
    real = [gate.finding for gate in gates if gate.chance is GateChance.REAL]
    weak = [gate.finding for gate in gates if gate.chance is GateChance.WEAK]
    no_chance = [gate.finding for gate in gates if gate.chance is GateChance.NONE]
    if real:
        return [*reversed(real), *allocating, *reversed(weak)]
    if allocating[0].cause == DISCARD_CAUSE or fits.free_nodes:
        return [*allocating, *reversed(weak), *no_chance]
    return [*reversed(weak), *allocating, *no_chance]


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


EVICTED_PODS, PENDING_ABOVE_MINIMUM, RESERVED_PLACES = "evicted pods", "Pending pods above minMember", "reserved places"


class SurveyedJob(Struct, frozen=True):
    """One explained job of a survey, with its queue, Pending pods and age."""

    explanation: Explanation
    queue: QueueName
    """Empty for a job without a queue."""
    pending: int
    """Pods that are Pending when the cycle ends."""
    age: float | None
    """Seconds since the job or pod was created; None where the snapshot does not say."""

    @property
    def lack(self) -> str:
        """What keeps a scheduled job from running whole, as words after `with`; empty for a job that is Pending."""
        if not self.explanation.scheduled:
            return ""
        if self.pending:
            return PENDING_ABOVE_MINIMUM
        return EVICTED_PODS if self.explanation.cause_code == EVICTED_CAUSE else RESERVED_PLACES

    @property
    def shown_finding(self) -> Finding:
        """The finding to show: the dominant one, or for a job with its minimum why its other pods are Pending."""
        explanation = self.explanation
        contributing = explanation.contributing if explanation.scheduled and self.pending else ()
        return contributing[0] if contributing else explanation.dominant


class Survey(Struct, frozen=True):
    """All jobs of one recording; the Pending ones are explained."""

    jobs: int
    """Number of jobs, including those outside the session and pods without a PodGroup."""
    explained: tuple[SurveyedJob, ...]
    problems: int
    """Number of problems of the input, which may change the answers."""
    named: bool = False
    """Whether the survey is about one named job or pod, which is explained even if it was scheduled."""
    doubt: str = ""
    """Why any answer may be wrong, such as objects that were read at different times; empty for no doubt."""
    release: Release = NEWEST
    """The release that was replayed."""
    incomplete: str = ""
    """Kinds that the snapshot lacks and that jobs need."""
    lone_pods: int = 0
    """How many of the jobs are pods without a PodGroup."""
    panic: tuple[str, ...] = ()
    """The panic that ends the recording, one sentence per line."""

    @property
    def unscheduled_jobs(self) -> list[SurveyedJob]:
        """The jobs that stay unscheduled."""
        return [job for job in self.explained if not job.explanation.scheduled]

    @property
    def partly_waiting_jobs(self) -> list[SurveyedJob]:
        """The jobs that have their minimum and still have Pending pods."""
        placed = [job for job in self.explained if job.explanation.scheduled and not self.named]
        return [job for job in placed if job.explanation.cause_code != ADMITTED_CAUSE]

    def count_jobs(self) -> str:
        """The number of jobs, and how many of them are no job of the session: other texts count without those."""
        lone = f" (including {count_noun(self.lone_pods, 'pod')} without a PodGroup)" if self.lone_pods else ""
        return f"{count_noun(self.jobs, 'job')}{lone}"

    def describe_partly(self) -> str:
        """The jobs that are scheduled and still lack something: `2 with reserved places, 1 with evicted pods`."""
        lacks = Counter(job.lack for job in self.partly_waiting_jobs)
        return ", ".join(f"{count} with {lack}" for lack, count in sorted(lacks.items()))


def survey_jobs(
    recording: Recording, report_progress: Callable[[int, int], object] | None = None, *, detailed: bool = False
) -> Survey:
    """Every job with missing pods after the cycle, by name; `report_progress(done, total)` reports progress.

    Explaining hundreds of jobs takes seconds, so the recording caches the result, and what no list of jobs shows is
    left out unless `detailed`.
    """
    name = "detailed survey" if detailed else "survey"
    survey = recording.answered.get(name)
    if not isinstance(survey, Survey):
        # Explaining allocates many long-lived objects; a garbage collection in between would free nothing.
        with collector_paused():
            survey = _build_survey(recording, report_progress or (lambda *_: None), detailed=detailed)
            recording.answered[name] = survey
    return survey


def is_surveyed(recording: Recording) -> bool:
    """Whether the result of survey_jobs is cached."""
    return "survey" in recording.answered


def _build_survey(recording: Recording, report_progress: Callable[[int, int], object], *, detailed: bool) -> Survey:
    summary, session = waiting_summary(recording), recording.session.jobs
    by_pod, by_job = partial(ExplainSubject, "", detailed=detailed), partial(ExplainSubject, detailed=detailed)
    # Jobs of PodGroups, of pods whose PodGroup is missing, and Pending pods of this scheduler without a PodGroup.
    subjects = sorted([*map(by_pod, summary.pods_without_job), *map(by_job, summary.jobs)])
    unplaced = [subject for subject in subjects if subject.job in summary.incomplete_jobs or subject.job not in session]
    surveyed: list[SurveyedJob] = []
    for subject in unplaced:
        report_progress(len(surveyed), len(unplaced))
        surveyed.append(_survey_subject(recording, subject))
    missing_words = incomplete(recording.snapshot)
    return replace(
        _make_survey(recording, surveyed, named=False),
        jobs=len(subjects),
        incomplete=missing_words,
        lone_pods=len(summary.pods_without_job),
    )


def _make_survey(recording: Recording, explained: Sequence[SurveyedJob], *, named: bool) -> Survey:
    """The survey of the explained jobs, with the doubt about the input or about the first job that has one."""
    doubt = next((job.explanation.doubt for job in explained if job.explanation.doubt), doubt_of_input(recording))
    problems, release, panic = len(recording.own_problems), recording.snapshot.release, crash_report(recording)
    return Survey(len(explained), tuple(explained), problems, named=named, doubt=doubt, release=release, panic=panic)


def survey_by_name(recording: Recording, word: str) -> Survey:
    """The survey of the named job or pod, scheduled or not; empty if the name is unknown."""
    try:
        subject = find_subject(recording, word)
    except NotFoundError:
        return _make_survey(recording, (), named=True)
    return _make_survey(recording, [_survey_subject(recording, subject)], named=True)


def _survey_subject(recording: Recording, subject: ExplainSubject) -> SurveyedJob:
    explanation = _explain_or_report(recording, subject)
    info = recording.session.jobs.get(subject.job)
    name = subject.job or subject.pod or ""
    if info is None:
        created = _creations_outside_session(recording).get(name)
        pending = waiting_summary(recording).pods_without_node.get(name, 0)
        return SurveyedJob(explanation, "", pending, seconds_since(recording, created))
    tasks = [task for task in info.tasks.values() if subject.pod in (None, task.key)]
    pending = len([task for task in tasks if task.status is TaskStatus.PENDING])
    return SurveyedJob(explanation, info.queue, pending, seconds_since(recording, info.creation_timestamp))


@per_recording()
def _creations_outside_session(recording: Recording) -> dict[str, str]:
    """creationTimestamp of each PodGroup and pod that no job of the session contains, by name."""
    groups = {key_of(group): group for group in recording.snapshot.objects_of("PodGroup")}
    lone_pods = {
        key_of(pod): pod for pod in recording.snapshot.objects_of("Pod") if key_of(pod) not in recording.owners.jobs
    }
    return {name: metadata_of(each).get("creationTimestamp") or "" for name, each in {**lone_pods, **groups}.items()}


def _explain_or_report(recording: Recording, subject: ExplainSubject) -> Explanation:
    """The explanation of a subject; if vcdebug raises, one that names the error, so that other jobs are explained."""
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
