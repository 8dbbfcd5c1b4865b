"""Why is this job Pending: the last gate that could still have let it in, and did not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vcdebug.amount_text import count_noun
from vcdebug.causes.allocation import allocate_findings, failed_search_seq, findings_of_gates, not_tried_finding
from vcdebug.causes.gates import ALREADY_PLACED, EVICTION_GATES, NOT_IN_SESSION, OVERRIDES, PRECONDITIONS, resolve_gates
from vcdebug.causes.gates.eviction import Gate, GateChance
from vcdebug.causes.gates.eviction.entitlement import NOT_STARVING
from vcdebug.causes.gates.gang import DISCARD_CAUSE
from vcdebug.causes.gates.not_in_session import PLACES_CAUSE
from vcdebug.causes.gates.phantom import PHANTOM_CAUSE, stopping_findings
from vcdebug.causes.gates.placed import HAS_CAUSES
from vcdebug.causes.no_node import hopeless_finding
from vcdebug.causes.steps import checklist_steps, steps_outside_session
from vcdebug.causes.subject import ExplainSubject, find_subject
from vcdebug.explain.answer import Evidence, Explanation, Finding, cluster_admin_advice, owner_advice, sort_by_harm
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.framework.record import CutEvent, PanicEvent
from vcdebug.framework.registry import resolve_reference
from vcdebug.model.task import TaskInfo
from vcdebug.trace.crash import crash_change, crash_lines
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

PANIC_CAUSE = "panic"
CUT_OFF_CAUSE = "cut-off"


def explain_by_name(recording: Recording, word: str) -> Explanation:
    """The answer for a job or a pod; raises NotFoundError for a name that nothing has."""
    return explain_subject(recording, find_subject(recording.snapshot, word))


def explain_subject(recording: Recording, subject: ExplainSubject) -> Explanation:
    """The answer for a job or pod that is there, and whether the input is to be trusted."""
    return replace(_build_explanation(recording, subject), doubt=doubt_of_input(recording))


def doubt_of_input(recording: Recording) -> str:
    """Why every answer about it may be wrong; empty where the input shows one moment."""
    provenance = recording.snapshot.provenance
    return "" if provenance is None else provenance.inconsistency_text()


@per_recording()
def _build_explanation(recording: Recording, subject: ExplainSubject) -> Explanation:
    if subject.job not in recording.session.jobs:
        finding: Finding = resolve_reference(NOT_IN_SESSION)(recording, subject)
        name, way = subject.job or subject.pod or "", steps_outside_session(recording, finding)
        return Explanation(
            name, subject.pod, finding.cause == PLACES_CAUSE, finding, (), sort_by_harm(finding.advice), way
        )
    view = JobView(recording, subject.job, subject.pod)
    found = next(findings_of_gates(view, ALREADY_PLACED), None)
    once: dict[str, Finding] = {}
    for finding in judge_job(view) if found is None else [found, *_contributing_findings(view, found)]:
        once.setdefault(finding.cause, finding)
    first, *others = once.values()
    dominant, way = _beyond_minimum(view, first), checklist_steps(view)
    advice = sort_by_harm(line for finding in once.values() for line in finding.advice)
    return Explanation(view.job.uid, subject.pod, dominant.cause in HAS_CAUSES, dominant, tuple(others), advice, way)


def _beyond_minimum(view: JobView, finding: Finding) -> Finding:
    """Says of pods that wait although the gang is complete that they wait for themselves alone."""
    ready = view.job.ready_task_num()
    if (
        not view.left_over
        or ready < view.job.min_available
        or finding.cause in (*HAS_CAUSES, PHANTOM_CAUSE, NOT_STARVING)
    ):
        return finding
    met = f"minMember {view.job.min_available} is met by {count_noun(ready, 'ready pod')}"
    line = f"{met}: the gang does not hold {count_noun(len(view.left_over), 'pending pod')} back"
    return replace(finding, lines=(*finding.lines, line))


def _contributing_findings(view: JobView, found: Finding) -> list[Finding]:
    """What keeps the job's other pods waiting once the job has what it needs; of a phantom, what stops allocate."""
    if found.cause == PHANTOM_CAUSE:
        return stopping_findings(view)
    return judge_job(view) if view.left_over and view.pod is None else []


def judge_job(view: JobView) -> list[Finding]:
    """The dominant finding first, then what else stands in the way."""
    last = view.recording.event_at(len(view.recording))
    if isinstance(last, CutEvent):
        return [_cut_off_finding(view, last)]
    opened = bool(view.session.plugin_calls)
    shut = list(findings_of_gates(view, PRECONDITIONS)) if opened else []
    task = view.blocked_task
    if shut:
        return [*shut, *_hopeless_findings(view, task)]
    if isinstance(last, PanicEvent):
        return [_panic_finding(view, last)]
    if task is None:
        return [not_tried_finding(view)]
    return _placement_findings(view, task)


def _hopeless_findings(view: JobView, task: TaskInfo | None) -> list[Finding]:
    """What would stop the job behind a shut door."""
    if task is None:
        return []
    finding = hopeless_finding(task, NodeFits(view, task, len(view.recording)))
    return [finding] if finding is not None else []


def _placement_findings(view: JobView, task: TaskInfo) -> list[Finding]:
    """allocate, then whatever evicts: the last one with a chance decides."""
    room = NodeFits(view, task, failed_search_seq(view, task))
    met: list[Gate] = [gate for asked in resolve_gates(EVICTION_GATES) for gate in asked(view, task, room)]
    ordered = _order_findings(met, allocate_findings(view, task, room), room)
    told: Iterator[list[Finding] | None] = (last(view, task, room, met, ordered) for last in resolve_gates(OVERRIDES))
    return next((found for found in told if found is not None), ordered)


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
    sentence = f"The real scheduler panics before {view.job.uid} is placed: {event.message}"
    evidence = (Evidence(len(view.recording), "the scheduler's process ends here"),)
    advice = cluster_admin_advice(crash_change(event))
    return Finding(PANIC_CAUSE, sentence, {}, evidence, (advice,), crash_lines(view.recording, event))


def _cut_off_finding(view: JobView, event: CutEvent) -> Finding:
    sentence = f"{view.job.uid} was not placed before the replay was cut off at its bound of {event.bound}."
    evidence = (Evidence(len(view.recording), "the recording ends here, the cycle does not"),)
    return Finding(
        CUT_OFF_CAUSE, sentence, {}, evidence, (owner_advice("give more room with --max-events and --max-memory"),)
    )
