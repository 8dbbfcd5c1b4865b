"""Why is this job Pending: the last gate that could still have let it in, and did not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vcdebug.amount_text import plural
from vcdebug.causes.allocation import not_tried, said, said_by_allocate, search_at
from vcdebug.causes.gates import DOORS, EVICTING, GOT, LAST, OUTSIDE, gates
from vcdebug.causes.gates.eviction import Chance, Gate
from vcdebug.causes.gates.eviction.entitlement import NOT_STARVING
from vcdebug.causes.gates.gang import DISCARD
from vcdebug.causes.gates.not_in_session import PLACES
from vcdebug.causes.gates.phantom import PHANTOM, stopped
from vcdebug.causes.gates.placed import HAS
from vcdebug.causes.no_node import hopeless
from vcdebug.causes.steps import steps, steps_outside_session
from vcdebug.causes.subject import Subject, find_subject
from vcdebug.explain.answer import Evidence, Explanation, Finding, by_harm, cluster, owner
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.framework.record import CutEvent, PanicEvent
from vcdebug.framework.registry import resolve
from vcdebug.model.task import TaskInfo
from vcdebug.trace.crash import crash_change, crash_lines
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

PANIC = "panic"
CUT = "cut-off"


def explain(recording: Recording, word: str) -> Explanation:
    """The answer for a job or a pod; raises NotFoundError for a name that nothing has."""
    return explain_subject(recording, find_subject(recording.snapshot, word))


def explain_subject(recording: Recording, subject: Subject) -> Explanation:
    """The answer for a job or pod that is there, and whether the input is to be trusted."""
    return replace(_explained(recording, subject), doubt=doubt(recording))


def doubt(recording: Recording) -> str:
    """Why every answer about it may be wrong; empty where the input shows one moment."""
    provenance = recording.snapshot.provenance
    return "" if provenance is None else provenance.torn()


@per_recording()
def _explained(recording: Recording, subject: Subject) -> Explanation:
    if subject.job not in recording.session.jobs:
        finding: Finding = resolve(OUTSIDE)(recording, subject)
        name, way = subject.job or subject.pod or "", steps_outside_session(recording, finding)
        return Explanation(name, subject.pod, finding.cause == PLACES, finding, (), by_harm(finding.advice), way)
    view = JobView(recording, subject.job, subject.pod)
    found = next(said(view, GOT), None)
    once: dict[str, Finding] = {}
    for finding in judge(view) if found is None else [found, *_beside(view, found)]:
        once.setdefault(finding.cause, finding)
    first, *others = once.values()
    dominant, way = _beyond_minimum(view, first), steps(view)
    advice = by_harm(line for finding in once.values() for line in finding.advice)
    return Explanation(view.job.uid, subject.pod, dominant.cause in HAS, dominant, tuple(others), advice, way)


def _beyond_minimum(view: JobView, finding: Finding) -> Finding:
    """Says of pods that wait although the gang is complete that they wait for themselves alone."""
    ready = view.job.ready_task_num()
    if not view.left_over or ready < view.job.min_available or finding.cause in (*HAS, PHANTOM, NOT_STARVING):
        return finding
    met = f"minMember {view.job.min_available} is met by {plural(ready, 'ready pod')}"
    line = f"{met}: the gang does not hold {plural(len(view.left_over), 'pending pod')} back"
    return replace(finding, lines=(*finding.lines, line))


def _beside(view: JobView, found: Finding) -> list[Finding]:
    """What keeps the job's other pods waiting once the job has what it needs; of a phantom, what stops allocate."""
    if found.cause == PHANTOM:
        return stopped(view)
    return judge(view) if view.left_over and view.pod is None else []


def judge(view: JobView) -> list[Finding]:
    """The dominant finding first, then what else stands in the way."""
    last = view.recording.event(len(view.recording))
    if isinstance(last, CutEvent):
        return [_cut(view, last)]
    opened = bool(view.session.plugin_calls)
    shut = list(said(view, DOORS)) if opened else []
    task = view.blocked
    if shut:
        return [*shut, *_never(view, task)]
    if isinstance(last, PanicEvent):
        return [_panic(view, last)]
    if task is None:
        return [not_tried(view)]
    return _placement(view, task)


def _never(view: JobView, task: TaskInfo | None) -> list[Finding]:
    """What would stop the job behind a shut door."""
    if task is None:
        return []
    finding = hopeless(task, NodeFits(view, task, len(view.recording)))
    return [finding] if finding is not None else []


def _placement(view: JobView, task: TaskInfo) -> list[Finding]:
    """allocate, then whatever evicts: the last one with a chance decides."""
    room = NodeFits(view, task, search_at(view, task))
    met: list[Gate] = [gate for asked in gates(EVICTING) for gate in asked(view, task, room)]
    ordered = _ordered(met, said_by_allocate(view, task, room), room)
    told: Iterator[list[Finding] | None] = (last(view, task, room, met, ordered) for last in gates(LAST))
    return next((found for found in told if found is not None), ordered)


def _ordered(gates: list[Gate], base: list[Finding], room: NodeFits) -> list[Finding]:
    real = [gate.finding for gate in gates if gate.chance is Chance.REAL]
    weak = [gate.finding for gate in gates if gate.chance is Chance.WEAK]
    rest = [gate.finding for gate in gates if gate.chance is Chance.NONE]
    if real:
        return [*reversed(real), *base, *reversed(weak)]
    if base[0].cause == DISCARD or room.free:
        return [*base, *reversed(weak), *rest]
    return [*reversed(weak), *base, *rest]


def _panic(view: JobView, event: PanicEvent) -> Finding:
    sentence = f"The real scheduler panics before {view.job.uid} is placed: {event.message}"
    evidence = (Evidence(len(view.recording), "the scheduler's process ends here"),)
    advice = cluster(crash_change(event))
    return Finding(PANIC, sentence, {}, evidence, (advice,), crash_lines(view.recording, event))


def _cut(view: JobView, event: CutEvent) -> Finding:
    sentence = f"{view.job.uid} was not placed before the replay was cut off at its bound of {event.bound}."
    evidence = (Evidence(len(view.recording), "the recording ends here, the cycle does not"),)
    return Finding(CUT, sentence, {}, evidence, (owner("give more room with --max-events and --max-memory"),))
