"""Why is this job Pending: the last gate that could still have admitted or placed it, and did not."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from vcdebug.amount_text import capitalize_first, count_noun, join_names, verb_for
from vcdebug.explain import queue_index
from vcdebug.explain.answer import (
    Advice,
    AdviceHarm,
    Cause,
    Evidence,
    Explanation,
    ExplanationStep,
    Finding,
    Flaw,
    sort_by_harm,
    with_flaw,
)
from vcdebug.explain.component_reports import event_facts
from vcdebug.explain.job_view import ExplainSubject, JobView, view_of
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending import checklist, unread_settings
from vcdebug.explain.pending.contradictions import add_contradictions
from vcdebug.explain.pending.doubts import doubts_about, qualify_headline, rejected_conf
from vcdebug.explain.pending.gates import (
    ALREADY_PLACED,
    EVICTION_GATES,
    NOT_IN_SESSION,
    OVERRIDES,
    PRECONDITIONS,
    resolve_gates,
)
from vcdebug.explain.pending.gates.admission import later_rejections
from vcdebug.explain.pending.gates.eviction import Gate, GateChance
from vcdebug.explain.pending.gates.eviction.entitlement import NO_FREE_ROOM
from vcdebug.explain.pending.gates.not_in_session import capture_incomplete
from vcdebug.explain.pending.gates.other_groups import add_other_groups
from vcdebug.explain.pending.gates.placed import HAS_CAUSES, stopping_findings
from vcdebug.explain.pending.gates.queue_limits import allocatable_refusals
from vcdebug.explain.pending.gates.validity import SKIP_FACT
from vcdebug.explain.pending.no_node import SHORTAGES, hopeless_finding, ignored_node_facts
from vcdebug.explain.pending.room_takers import (
    HYPER_NODE_ROOMS,
    deadlocked_gangs,
    jumping_facts,
    passing_facts,
    room_takers,
    taker_advice,
    taker_facts,
)
from vcdebug.explain.pending.scheduler_fault import with_scheduler_fault
from vcdebug.explain.plugins.gang import schedulable_facts
from vcdebug.explain.subject_names import find_subject
from vcdebug.framework.quirks import SCORES_DROPPED
from vcdebug.framework.record import CutEvent, PanicEvent
from vcdebug.framework.registry import resolve_reference
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import SLA
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.session_closing import crash_change, crash_lines
from vcdebug.snapshot.manifest import name_of

ROOM_CAUSES = (Cause.MIXED, Cause.POD_COUNT, Cause.NOT_ALLOCATABLE, Cause.NOT_CONFIGURED, Cause.POLICY_NEVER)
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
    dominant = replace(dominant, facts=(*rejected, *own_facts, *reported))
    explanation = replace(explanation, advised=(*correcting, *explanation.advised))
    doubt = "; ".join(doubts_about(recording, subject))
    explanation = replace(explanation, dominant=dominant, doubt=doubt, release=recording.snapshot.release)
    if dominant.cause != Cause.CAPTURE_INCOMPLETE:
        explanation = qualify_headline(recording, subject, explanation)
    explanation = add_contradictions(recording, subject, explanation)
    if not _is_settled(explanation):
        return explanation
    is_named = recording.snapshot.release.stated_name
    check = "compare the scheduler's log: vcdebug check" if is_named else "name the cluster's release with --release"
    settled = Advice.from_outside(f"Nothing has to change; if the pods stay Pending, {check}.")
    return replace(explanation, advised=(settled,))


def _is_settled(explanation: Explanation) -> bool:
    """Whether pods are evicted for a placed job in a way that nothing is said against."""
    finding, numbers = explanation.dominant, explanation.dominant.numbers
    if finding.cause != Cause.PLACES or finding.flaws or explanation.advised or explanation.contributing:
        return False
    return all(name in numbers and numbers[name].value for name in ("pods.evicted", "pods.pipelined"))


@per_recording()
def _build_explanation(recording: Recording, subject: ExplainSubject) -> Explanation:
    if subject.job not in recording.session.jobs:
        finding: Finding = resolve_reference(NOT_IN_SESSION)(recording, subject)
        name, steps = subject.job or subject.pod or "", checklist.steps_outside_session(recording, finding)
        has_ended, advice = finding.cause == Cause.PLACES, sort_by_harm(finding.advice)
        return Explanation(name, subject.pod, has_ended, finding, advised=advice, steps=steps)
    view = view_of(recording, subject)
    early = next(checklist.findings_of_gates(view, ALREADY_PLACED), None)
    capture = capture_incomplete(recording, subject) if early is None else None
    by_cause: dict[str, Finding] = {}
    findings = [capture] if capture else [early] if early is not None else judge_job(view)
    if early is not None and early.cause == Cause.PHANTOM:
        findings += stopping_findings(recording, view)
    elif early is not None and view.unplaced_tasks and view.pod is None:
        findings += judge_job(view)
    for finding in findings:
        # Several gates can find the same cause; the first finding is the nearest to the decision.
        by_cause.setdefault(finding.cause, finding)
    first, *others = by_cause.values()
    turns = queue_index.turn_facts(view, first.cause) if first.cause in ROOM_CAUSES and view.detailed else ()
    # What has to be repaired does not pass by waiting.
    turns = tuple(turn for turn in turns if isinstance(turn, str)) if any(a.repairs for a in first.advice) else turns
    # Where an action is missing, the first line says so and a tested fix what it does; which job it helps comes next.
    dominant = first.with_additions(*_iter_additions(view, first.cause))
    ready = view.job.ready_task_num()
    if 0 < ready < view.job.min_available and view.unplaced_tasks and first.cause not in (*HAS_CAUSES, Cause.PHANTOM):
        is_short = first.cause in ROOM_CAUSES
        running = tuple(unread_settings.partial_gang_facts(view, ready, is_short=is_short))
        # With advice they say how the gang lost its pods.
        dominant = dominant.with_additions(*running, in_front=len(running) > 1 and not is_short)
    elif view.detailed and first.cause not in (Cause.EVICTED, Cause.PHANTOM):
        dominant = dominant.with_additions(*unread_settings.lost_pod_facts(view), in_front=True)
    if first.cause == Cause.NO_HYPER_NODE:
        dominant = dominant.with_additions(*unread_settings.unread_tier_names(view), in_front=True)
    dominant = dominant.with_additions(*turns, in_front=first.cause == Cause.NOT_CONFIGURED)
    if first.cause not in HAS_CAUSES:
        dominant = dominant.with_additions(*unread_settings.uncounted_roles(view), in_front=True)
    steps = tuple[ExplanationStep, ...]()
    if subject.detailed:
        dominant, steps = _add_reported(view, dominant), checklist.checklist_steps(view)
    dominant = by_cause[first.cause] = add_other_groups(view, dominant)
    # What keeps the job Pending comes before what would also have to change.
    advice = sort_by_harm((line for finding in by_cause.values() for line in finding.advice), dominant.advice)
    # Where only a change outside the scheduler repairs what is wrong, other changes would help the wrong object.
    advice = tuple(line for line in advice if line.repairs and line.cannot_be_replayed) or advice
    return Explanation(view.job.uid, subject.pod, dominant.cause in HAS_CAUSES, dominant, tuple(others), advice, steps)


def _add_reported(view: JobView, finding: Finding) -> Finding:
    """Add what conditions say, and what Karpenter adds for it, in vain where a queue refuses."""
    if allocatable_refusals(view):
        vain = _karpenter_facts(view, in_vain=True) if finding.cause == Cause.NOT_ALLOCATABLE else ()
        facts = (*finding.facts[:1], *schedulable_facts(view), *finding.facts[1:])
        return replace(finding, facts=facts).with_additions(*vain)
    if finding.cause == Cause.GANG_DISCARD:
        facts = (*finding.facts[:1], *schedulable_facts(view), *finding.facts[1:], *_condition_facts(view))
        return replace(finding, facts=facts)
    further = _karpenter_facts(view) if finding.cause == Cause.MIXED else ()
    return replace(finding, facts=(*finding.facts[:1], *further, *finding.facts[1:]))


KARPENTER_LABEL: Final = "karpenter.sh/nodepool"


def _karpenter_facts(view: JobView, *, in_vain: bool = False) -> tuple[str, ...]:
    """A sentence about nodes that Karpenter adds for the Pending pods, perhaps in vain; empty without its nodes."""
    reasons = {view.job.task_scheduling_reason(task.uid)[0] for task in view.unplaced_tasks}
    if reasons != {"Unschedulable"} or not any(KARPENTER_LABEL in node.labels for node in view.session.nodes.values()):
        return ()
    said = f'the condition of {count_noun(len(view.unplaced_tasks), "Pending pod")} says "Unschedulable"'
    if in_vain:
        return (f"New nodes do not help. Karpenter adds and keeps some all the same: {said}, not which queue refuses.",)
    selector = view.unplaced_tasks[0].pod.spec.get("nodeSelector") or {}
    labels = join_names(f"{key}={value}" for key, value in selector.items())
    offer = f" from a NodePool with {labels}, if there is one" if labels else ""
    return (f"Karpenter can add nodes{offer}: {said}.",)


def _condition_facts(view: JobView) -> tuple[str, ...]:
    """A sentence about the pods for which the cluster's autoscaler adds no node, if a gang fits in part; else empty."""
    reasons = [view.job.task_scheduling_reason(task.uid)[0] for task in view.unplaced_tasks]
    placed = reasons.count("Schedulable")
    if not 0 < placed < len(reasons) or not _has_autoscaler(view.recording):
        return ()
    unplaced = len(reasons) - placed
    pods = f"{unplaced} of the {count_noun(len(reasons), 'Pending pod')} {verb_for(unplaced, 'has')}"
    given = f'After this cycle only {pods} the condition\'s reason "Unschedulable" (the other {placed}: "Schedulable")'
    return (f"{given}, so the cluster's autoscaler adds nodes for {unplaced} only.",)


@per_recording()
def _has_autoscaler(recording: Recording) -> bool:
    """Whether the snapshot shows an autoscaler of nodes: a node that Karpenter made, or a pod of cluster-autoscaler."""
    made = any(KARPENTER_LABEL in node.labels for node in recording.session.nodes.values())
    return made or any("cluster-autoscaler" in name_of(pod) for pod in recording.snapshot.objects_of("Pod"))


def _iter_additions(view: JobView, cause: str) -> Iterator[str | Advice]:
    """Yields facts and advice that go with a cause: jobs admitted instead, minMember."""
    if cause in (Cause.OVERCOMMIT, Cause.QUEUE_QUOTA, Cause.CAPABILITY):
        yield from _admitted_instead(view)
    if cause in (*ROOM_CAUSES, Cause.OVERCOMMIT, Cause.GANG_DISCARD, Cause.UNRESOLVABLE, Cause.LARGER):
        yield from ignored_node_facts(view.recording)
    ready, minimum = view.job.ready_task_num(), view.job.min_available
    if view.unplaced_tasks and ready >= minimum and cause not in (*HAS_CAUSES, Cause.PHANTOM, Cause.NOT_STARVING):
        yield from unread_settings.met_minimum_facts(view, ready)


def _admitted_instead(view: JobView) -> Iterator[str | Advice]:
    """Yields which jobs that come after this one were admitted in its place, where enqueue rejected it."""
    later = queue_index.admitted_after(view.recording, view.job)
    if not later:
        return
    less = "of lower priority" if later[0].priority < view.job.priority else "created later"
    were = f"{verb_for(len(later), 'is')} admitted in this cycle, since enqueue goes on with jobs that fit"
    yield f"{join_names((job.uid for job in later), 2)} ({less}) {were}."
    tier = "in a tier before the plugin that rejects, admits jobs that waited long enough; they then reserve room"
    if SLA not in view.recording.conf.plugin_names():
        yield Advice.from_outside(f"Plugin {SLA}, {tier}.", AdviceHarm.CLUSTER)


def judge_job(view: JobView) -> list[Finding]:
    """The dominant finding first, then the contributing ones."""
    last_event, task = view.recording.last_event, view.blocked_task
    if isinstance(last_event, CutEvent):
        return [_cut_off_finding(view, last_event)]
    preconditions = list(checklist.findings_of_gates(view, PRECONDITIONS)) if view.session.plugin_calls else []
    if preconditions:
        hopeless = hopeless_finding(task, NodeFits(view, task, len(view.recording))) if task is not None else None
        return [*preconditions, *later_rejections(view), *([hopeless] if hopeless is not None else [])]
    if isinstance(last_event, PanicEvent):
        return [_panic_finding(view, last_event)]
    return [checklist.not_tried_finding(view)] if task is None else _placement_findings(view, task)


def _placement_findings(view: JobView, task: TaskInfo) -> list[Finding]:
    """The findings about allocate and the evicting actions; the last gate with a real chance comes first."""
    fits = NodeFits(view, task, checklist.failed_search_seq(view, task))
    gates: list[Gate] = [gate for find_gates in resolve_gates(EVICTION_GATES) for gate in find_gates(view, task, fits)]
    allocating = checklist.allocate_findings(view, task, fits)
    ordered = _order_findings(gates, allocating, fits)
    overrides: Iterator[list[Finding] | None] = (
        override(view, task, fits, gates, ordered) for override in resolve_gates(OVERRIDES)
    )
    first, *others = next((findings for findings in overrides if findings is not None), ordered)
    if allocating and any(gate.finding is first and gate.chance is GateChance.REAL for gate in gates):
        first = _with_shortage(first, allocating[0])
    first = _with_holders(first, fits)
    if any(one.cause in SHORTAGES for one in allocating) and Flaw.PASSED not in first.flaws:
        first = first.with_additions(*jumping_facts(fits))
    return [first, *others]


def _with_shortage(finding: Finding, in_allocate: Finding) -> Finding:
    """Add to the finding of an evicting action what the nodes lack without evictions, in place of a vaguer fact."""
    if in_allocate.cause not in SHORTAGES:
        return finding
    facts = (fact for fact in finding.facts if not fact.startswith(NO_FREE_ROOM))
    return replace(finding, facts=(*facts, f"Without evictions, {in_allocate.reason}."))


def _with_holders(finding: Finding, fits: NodeFits) -> Finding:
    """Add which pods this cycle placed first in the room; for a gang, another incomplete one that holds room."""
    if finding.cause == Cause.GANG_DISCARD:
        rooms: list[str | Advice] = resolve_reference(HYPER_NODE_ROOMS)(fits.view)
        if rooms:
            headline = finding.headline._replace(reason=f"{finding.reason} in one HyperNode")
            finding = replace(finding, headline=headline)
        searches = [seq for attempt in fits.view.failed_tries(fits.task.key) for seq, _ in attempt.empty_passes]
        if searches:
            # Imported here, since only a task that fits no node needs this module.
            from vcdebug.explain.pending.constraint_failures import search_facts

            finding = finding.with_additions(*search_facts(NodeFits(fits.view, fits.task, searches[-1])))
        return finding.with_additions(*deadlocked_gangs(fits), *rooms, in_front=True)
    takers = room_takers(fits) if finding.cause != Cause.MIXED else None
    if takers is None or not takers.tasks:
        passing = passing_facts(fits) or jumping_facts(fits) if finding.cause == Cause.NOT_CONFIGURED else ()
        return finding.with_additions(*with_flaw(Flaw.PASSED, passing))
    sentences = taker_facts(fits, takers) if fits.view.detailed else ()
    return finding.with_additions(*sentences, *taker_advice(fits, takers), in_front=True)


def _order_findings(gates: list[Gate], allocating: list[Finding], fits: NodeFits) -> list[Finding]:
    real, weak, none = (
        [gate.finding for gate in reversed(gates) if gate.chance is chance]
        for chance in (GateChance.REAL, GateChance.WEAK, GateChance.NONE)
    )
    if real:
        # Why reclaim may not free what a queue limit lacks, even where nodes have room.
        return [*real, *allocating, *weak, *(finding for finding in none if finding.cause == Cause.PREEMPTIVE)]
    is_decided = allocating[0].cause == Cause.GANG_DISCARD or fits.free_nodes
    return [*allocating, *weak, *reversed(none)] if is_decided else [*weak, *allocating, *reversed(none)]


def _panic_finding(view: JobView, event: PanicEvent) -> Finding:
    reason = "the scheduler panics before it places the job"
    evidence = (Evidence(len(view.recording), "the scheduler's process ends here"),)
    lost = [f"{capitalize_first(note.text)}." for note in view.recording.notes if note.code == SCORES_DROPPED][-1:]
    lines, facts = crash_lines(view.recording, event), (f'Its message: "{event.message}".', *lost)
    advice = (Advice.cluster_admin(f"{capitalize_first(crash_change(event))}."),)
    return view.pending(Cause.PANIC, reason, {}, evidence, advice, lines, facts, state="is not placed")


def _cut_off_finding(view: JobView, event: CutEvent) -> Finding:
    reason = f"the replay stopped at its limit of {event.bound} before placing it"
    evidence = (Evidence(len(view.recording), "the recording ends here, the cycle does not"),)
    advice = (Advice.for_owner("Raise --max-events and --max-memory."),)
    return view.pending(Cause.CUT_OFF, reason, {}, evidence, advice, state="is not explained")
