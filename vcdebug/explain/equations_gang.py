"""The arithmetic of gangs: how many tasks a job has against its minimum (gang, and priority's JobStarving)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from vcdebug.explain.equation import Equation, Term, all_hold, first_failing
from vcdebug.explain.past import job_at, sub_job_at
from vcdebug.framework.plugin import PERMIT, REJECT
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq
from vcdebug.model.status import ALLOCATED_CLASS, TaskStatus
from vcdebug.model.subjob import SubJobInfo
from vcdebug.model.taskset import TaskSet
from vcdebug.trace.recording import Recording

PLACED: Final = (*ALLOCATED_CLASS, TaskStatus.SUCCEEDED)
READY = "ready + best-effort pending ≥ min available"
PIPELINED = "ready + waiting + best-effort pending ≥ min available"
STARVING = "ready + waiting < min available"
UNFINISHED = "ready + waiting < tasks"
VALID = "valid tasks ≥ min available"
COUNTS = ("have", "min")


def job_valid(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Can the job's pods make a gang at all?"""
    job = job_at(recording, event.subject[0][1], seq)
    statuses = (*PLACED, TaskStatus.PIPELINED, TaskStatus.PENDING)
    terms = (
        *_roles(job, statuses, empty_pending=False, zero_passes=True),
        *_sub_jobs(job, lambda _: True),
        _least("valid tasks", job.valid_task_num(), job.min_available),
    )
    return _counted(f"gang: can {job.uid} make a gang?", VALID, terms, all_hold(terms), _unchecked(job))


def job_ready(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Are enough tasks placed?"""
    job = job_at(recording, event.subject[0][1], seq)
    terms = (
        *_roles(job, PLACED, empty_pending=True),
        *_sub_jobs(job, TaskSet.is_ready, zero_skipped=True),
        _least("tasks", job.ready_task_num() + job.pending_best_effort_task_num(), job.min_available, _ready(job)),
    )
    return _counted(f"gang: is {job.uid} ready?", READY, terms, all_hold(terms), _unchecked(job))


def job_pipelined(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Are enough tasks placed or promised a place?"""
    job = job_at(recording, event.subject[0][1], seq)
    have = job.waiting_task_num() + job.ready_task_num() + job.pending_best_effort_task_num()
    terms = (
        *_roles(job, (*PLACED, TaskStatus.PIPELINED), empty_pending=True),
        *_sub_jobs(job, TaskSet.is_pipelined, zero_skipped=True),
        _least("tasks", have, job.min_available, _pipelined(job)),
    )
    verdict = PERMIT if all_hold(terms) else REJECT
    return _counted(f"gang: would {job.uid} be complete?", PIPELINED, terms, verdict, _unchecked(job))


def sub_job_ready(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Are enough tasks of the sub job placed?"""
    group = sub_job_at(recording, event.subject[0][1], seq)
    have = group.ready_task_num() + group.pending_best_effort_task_num()
    terms = (_least("tasks", have, group.min_available, _ready(group)),)
    return _counted(f"gang: is {group.uid} ready?", READY, terms, all_hold(terms), "")


def sub_job_pipelined(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Are enough tasks of the sub job placed or promised a place?"""
    group = sub_job_at(recording, event.subject[0][1], seq)
    have = group.waiting_task_num() + group.ready_task_num() + group.pending_best_effort_task_num()
    terms = (_least("tasks", have, group.min_available, _pipelined(group)),)
    verdict = PERMIT if all_hold(terms) else REJECT
    return _counted(f"gang: would {group.uid} be complete?", PIPELINED, terms, verdict, "")


def job_starving(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Is the job below its minimum?"""
    job = job_at(recording, event.subject[0][1], seq)
    have = job.waiting_task_num() + job.ready_task_num()
    starving = have < job.min_available
    term = Term("tasks", (have, job.min_available), starving, _parts(job))
    note = "best-effort tasks and minimums of roles do not count here"
    return Equation(f"gang: is {job.uid} starving?", STARVING, COUNTS, "check", (term,), starving, "tasks", note)


def job_unfinished(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """priority's JobStarving: is any task without a place?"""
    job = job_at(recording, event.subject[0][1], seq)
    have, total = job.ready_task_num() + job.waiting_task_num(), len(job.tasks)
    term = Term("tasks", (have, total), have < total, _parts(job))
    title = f"priority: does {job.uid} miss any task?"
    note = "failed and releasing tasks count as missing"
    return Equation(title, UNFINISHED, ("have", "tasks"), "check", (term,), have < total, "tasks", note)


def _counted(title: str, formula: str, terms: tuple[Term, ...], verdict: bool | int, note: str) -> Equation:
    deciding = first_failing(terms) or terms[-1].name
    return Equation(title, formula, COUNTS, "check", terms, verdict, deciding, note)


def _least(name: str, have: int, least: int, parts: str = "") -> Term:
    return Term(name, (have, least), have >= least, parts)


def _parts(tasks: TaskSet) -> str:
    return f"{tasks.ready_task_num()} ready, {tasks.waiting_task_num()} waiting"


def _ready(tasks: TaskSet) -> str:
    return f"{tasks.ready_task_num()} ready, {tasks.pending_best_effort_task_num()} best-effort pending"


def _pipelined(tasks: TaskSet) -> str:
    return f"{_parts(tasks)}, {tasks.pending_best_effort_task_num()} best-effort pending"


def _unchecked(job: JobInfo) -> str:
    if job.task_min_available and job.min_available < job.task_min_available_total:
        return f"minimums of roles are skipped: they add up to {job.task_min_available_total}, more than min available"
    return ""


def _roles(
    job: JobInfo, statuses: Sequence[TaskStatus], *, empty_pending: bool, zero_passes: bool = False
) -> Iterator[Term]:
    """One line per role with a minimum, none where the minimums exceed the job's own."""
    if job.min_available < job.task_min_available_total:
        return
    for role, least in job.task_min_available.items():
        have = _role_count(job, role, statuses, empty_pending=empty_pending)
        holds = have >= least or (zero_passes and not least)
        yield Term(f"role {role}", (have, least), holds)


def _role_count(job: JobInfo, role: str, statuses: Sequence[TaskStatus], *, empty_pending: bool) -> int:
    have = [task for status in statuses for task in job.with_status(status) if task.task_role == role]
    if empty_pending:
        pending = job.with_status(TaskStatus.PENDING)
        have += [task for task in pending if task.task_role == role and task.init_resreq.is_empty()]
    return len(have)


def _sub_jobs(job: JobInfo, counts: Callable[[SubJobInfo], bool], *, zero_skipped: bool = False) -> Iterator[Term]:
    """One line per policy that asks for a number of sub jobs."""
    for gid, least in job.min_sub_jobs.items():
        if zero_skipped and not least:
            continue
        have = len([group for group in job.sub_jobs.values() if group.gid == gid and counts(group)])
        yield Term(f"sub jobs of {gid}", (have, least), have >= least)


EQUATIONS: Final[Mapping[tuple[str, str], Callable[[Recording, Seq, HookEvent], Equation]]] = {
    ("gang", "JobValid"): job_valid,
    ("gang", "JobReady"): job_ready,
    ("gang", "JobPipelined"): job_pipelined,
    ("gang", "SubJobReady"): sub_job_ready,
    ("gang", "SubJobPipelined"): sub_job_pipelined,
    ("gang", "JobStarving"): job_starving,
    ("priority", "JobStarving"): job_unfinished,
}
