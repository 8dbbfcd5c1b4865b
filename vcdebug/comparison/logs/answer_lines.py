"""Lines that plugins print while they answer: what they judged is read from the equation of the answer.

Upstream: plugins gang, priority, drf, proportion; api/job_info (CheckTaskValid).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from vcdebug.comparison.logs.message import LogCall, LogContext
from vcdebug.explain.decisions.equations import equation_at
from vcdebug.explain.equation import Term
from vcdebug.framework.hooks import (
    ALLOCATABLE,
    JOB_VALID,
    OVERUSED,
    PREEMPTABLE,
    PREEMPTIVE,
    RECLAIMABLE,
    UNIFIED_EVICTABLE,
)
from vcdebug.framework.record import HookEvent
from vcdebug.framework.subject import CallResult
from vcdebug.model.names import JobId, Seq
from vcdebug.model.queue import OPEN
from vcdebug.model.resource import Resource
from vcdebug.plugins import DRF, GANG, PRIORITY, PROPORTION
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import job_before
from vcdebug.snapshot.manifest import JsonObject

CallSubject = JsonObject


def lines_of_answer(at: LogContext, event: HookEvent) -> Iterator[LogCall]:
    """What the plugin says about one answer, where it says anything."""
    lines = LINES_BY_CALL.get((event.plugin, event.point))
    return iter(()) if lines is None else lines(at, dict(event.subject), event.result)


def _protected_terms(at: LogContext) -> list[Term]:
    """Candidates of known jobs that the plugin does not let go."""
    found = equation_at(at.recording, at.seq)
    terms = found.terms if found is not None else ()
    return [term for term in terms if term.holds is False and term.figures[0] is not None]


def gang_valid(at: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """Roles are counted unless their minima exceed the job's."""
    if subject["job"] not in at.recording.session.jobs:
        return
    job = at.recording.session.jobs[subject["job"]]
    if not job.are_roles_unchecked():
        usable = partial(_usable_by_role, at.recording, job.uid, at.seq)
        yield "job.valid", job.name, job.namespace, usable, job.task_min_available


def _usable_by_role(recording: Recording, job: JobId, seq: Seq) -> Mapping[str, int]:
    return job_before(recording, job, seq).usable_by_role()


def gang_victims(at: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """Who would break its gang, then the others."""
    for term in _protected_terms(at):
        job = at.recording.session.jobs[at.task_of(term.name).job]
        yield "gang.kept", term.name, job.name, *term.figures
    yield "gang.victims", list(result), partial(at.now.task_text, subject["task"])


def priority_victims(at: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """Who is not lower, then the others."""
    preemptor = at.task_of(subject["task"])
    if preemptor.job not in at.recording.session.jobs:
        return
    for term in _protected_terms(at):
        own = at.task_of(term.name).job == preemptor.job
        yield "priority.task" if own else "priority.job", term.name, *term.figures
    yield "priority.victims", list(result)


def drf_victims(at: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """Nothing where the preemptor's job is gone."""
    if at.task_of(subject["task"]).job in at.recording.session.jobs:
        yield "drf.victims", list(result)


def proportion_victims(at: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """Who may be reclaimed."""
    yield "proportion.victims", list(result)


def proportion_overused(at: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """The queue's figures where it is overused."""
    if result:
        figures = (
            at.current_state.plugin_figure(PROPORTION, subject["queue"], name)
            for name in ("deserved", "allocated", "share")
        )
        yield "proportion.overused", subject["queue"], *figures


def proportion_refused(at: LogContext, subject: CallSubject, result: CallResult) -> Iterator[LogCall]:
    """The queue's figures and all that is asked for, where an open queue refuses it."""
    queue = subject["queue"]
    if result or at.recording.session.queues[queue].state != OPEN:
        return
    request = Resource()
    candidates = [at.task_of(key) for key in ([subject["task"]] if "task" in subject else subject["candidates"])]
    for task in candidates:
        request.add(task.resreq)
    figures = (at.current_state.plugin_figure(PROPORTION, queue, name) for name in ("deserved", "allocated"))
    yield "proportion.refused", queue, *figures, request, candidates[0].name


LINES_BY_CALL: Mapping[tuple[str, str], Callable[[LogContext, CallSubject, CallResult], Iterator[LogCall]]] = {
    (GANG, JOB_VALID.upstream): gang_valid,
    (GANG, PREEMPTABLE.upstream): gang_victims,
    (GANG, RECLAIMABLE.upstream): gang_victims,
    (PRIORITY, PREEMPTABLE.upstream): priority_victims,
    (PRIORITY, UNIFIED_EVICTABLE.upstream): lambda _, __, result: iter([("priority.unified", list(result))]),
    (DRF, PREEMPTABLE.upstream): drf_victims,
    (PROPORTION, RECLAIMABLE.upstream): proportion_victims,
    (PROPORTION, OVERUSED.upstream): proportion_overused,
    (PROPORTION, ALLOCATABLE.upstream): proportion_refused,
    (PROPORTION, PREEMPTIVE.upstream): proportion_refused,
}
"""(plugin, point) → what it prints."""
