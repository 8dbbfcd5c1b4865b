"""gang: how many tasks a job has against its minimum, and whom a gang can spare.

Upstream: plugins/gang.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from vcdebug.amount_text import join_names
from vcdebug.explain.amounts import count
from vcdebug.explain.equation import JOB_NOT_IN_SESSION, Equation, Term, all_hold, first_failing, victim_equation
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugin_explainer import OrderDifference, OrderMoment, PluginExplainer, VetoReason
from vcdebug.framework.hooks import (
    JOB_ORDER,
    JOB_PIPELINED,
    JOB_READY,
    JOB_STARVING,
    JOB_VALID,
    PREEMPTABLE,
    RECLAIMABLE,
    SUB_JOB_ORDER,
    SUB_JOB_PIPELINED,
    SUB_JOB_READY,
    UNIFIED_EVICTABLE,
)
from vcdebug.framework.plugin_answers import PERMIT, REJECT
from vcdebug.framework.record import HookEvent, Level
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.sub_job import MinimumCount, SubJobInfo, TaskSet
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.gang import GangMember, gang_members, unready_first
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import job_before, jobs_before, sub_job_before, tasks_of

READY_FORMULA = "ready + best-effort pending ≥ min available"
PIPELINED_FORMULA = "ready + waiting + best-effort pending ≥ min available"
STARVING_FORMULA = "ready + waiting < min available"
VALID_FORMULA = "valid tasks ≥ min available"
COUNT_COLUMNS = ("have", "min")


def job_valid(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Can the job's pods make a gang at all?"""
    job = job_before(recording, event.job, seq)
    valid = _least_term(MinimumCount("valid tasks", job.valid_task_num(), job.min_available))
    terms = (*_gang_terms(job.valid_roles(), job.valid_sub_jobs()), valid)
    return _counted_equation(f"gang: can {job.uid} make a gang?", VALID_FORMULA, terms, all_hold(terms), job)


def job_ready(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Are enough tasks placed?"""
    job = job_before(recording, event.job, seq)
    return _ready_equation(job, *_gang_terms(job.ready_roles(), job.ready_sub_jobs()))


def job_pipelined(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Are enough tasks placed or promised a place?"""
    job = job_before(recording, event.job, seq)
    return _pipelined_equation(job, *_gang_terms(job.pipelined_roles(), job.pipelined_sub_jobs()))


def sub_job_ready(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Are enough tasks of the sub job placed?"""
    return _ready_equation(sub_job_before(recording, event.sub_job, seq))


def sub_job_pipelined(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Are enough tasks of the sub job placed or promised a place?"""
    return _pipelined_equation(sub_job_before(recording, event.sub_job, seq))


def _ready_equation(group: JobInfo | SubJobInfo, *parts: Term) -> Equation:
    note = f"{group.ready_task_num()} ready, {group.pending_best_effort_task_num()} best-effort pending"
    tasks = Term("tasks", (group.settled_task_num(), group.min_available), group.is_ready(), note)
    terms = (*parts, tasks)
    return _counted_equation(f"gang: is {group.uid} ready?", READY_FORMULA, terms, all_hold(terms), group)


def _pipelined_equation(group: JobInfo | SubJobInfo, *parts: Term) -> Equation:
    note = f"{format_placed(group)}, {group.pending_best_effort_task_num()} best-effort pending"
    have = group.waiting_task_num() + group.settled_task_num()
    terms = (*parts, Term("tasks", (have, group.min_available), group.is_pipelined(), note))
    verdict = PERMIT if all_hold(terms) else REJECT
    return _counted_equation(f"gang: would {group.uid} be complete?", PIPELINED_FORMULA, terms, verdict, group)


def job_starving(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Is the job below its minimum?"""
    job = job_before(recording, event.job, seq)
    starving = job.is_starving()
    term = Term("tasks", (job.placed_task_num(), job.min_available), starving, format_placed(job))
    note = "best-effort tasks and minimums of roles do not count here"
    return Equation(
        f"gang: is {job.uid} starving?", STARVING_FORMULA, COUNT_COLUMNS, "check", (term,), starving, "tasks", note
    )


def _counted_equation(
    title: str, formula: str, terms: tuple[Term, ...], verdict: bool | int, group: JobInfo | SubJobInfo
) -> Equation:
    deciding, note = first_failing(terms) or terms[-1].name, ""
    if isinstance(group, JobInfo) and group.task_min_available and group.are_roles_unchecked():
        total = group.task_min_available_total
        note = f"minimums of roles are skipped: they add up to {total}, more than min available"
    return Equation(title, formula, COUNT_COLUMNS, "check", terms, verdict, deciding, note)


def _least_term(each: MinimumCount, name: str = "") -> Term:
    return Term(name or each.name, (each.have, each.least), each.is_reached)


def _gang_terms(roles: Iterable[MinimumCount], sub_jobs: Iterable[MinimumCount]) -> Iterator[Term]:
    """One line per role and per policy of sub jobs with a minimum."""
    for role in roles:
        yield _least_term(role, f"role {role.name}")
    for policy in sub_jobs:
        yield _least_term(policy, f"sub jobs of {policy.name}")


def format_placed(tasks: TaskSet) -> str:
    """What counts as placed."""
    return f"{tasks.ready_task_num()} ready, {tasks.waiting_task_num()} waiting"


# Victims


def surplus_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """As many as the job has beyond its minimum, first come first served."""
    judged = gang_members(jobs_before(recording, seq), tasks_of(recording, event.candidates))
    title = f"gang: who can {event.task} take without breaking a gang?"
    formula = "ready > min available, less those already taken"
    return victim_equation(title, formula, ("ready", "min"), [_member_term(each) for each in judged])


def _member_term(each: GangMember) -> Term:
    if each.job is None:
        return Term(each.task.key, (None, None), False, JOB_NOT_IN_SESSION)
    least = each.job.min_available
    note = "" if each.is_spare else f"{each.job.name} has {each.ready} ready and needs {least}: it would break the gang"
    return Term(each.task.key, (each.ready, least), each.is_spare, note)


def everybody_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """All of them: the action itself takes gangs as a whole."""
    span = recording.span_tree.span_around(seq, Level.JOB)
    terms = [Term(key, (), True) for key in event.candidates]
    return victim_equation(
        f"gang: who may go for {span.name if span is not None else ''}?", "every candidate", (), terms
    )


def explain_veto(view: JobView, task: TaskInfo, refused: Sequence[TaskKey], seq: Seq) -> VetoReason | None:
    """Gangs that have nothing to spare, None where no candidate has a job; what that costs is for the gate to say."""
    owners = view.recording.owners.jobs
    jobs = [job_before(view.recording, uid, seq) for uid in dict.fromkeys(owners[k] for k in refused if k in owners)]
    if not jobs:
        return None
    spares = {job.uid: job.ready_task_num() - job.min_available for job in jobs}
    lines = tuple(
        f"{job.uid}: {job.ready_task_num()} ready, minMember {job.min_available}, {spares[job.uid]} to spare"
        for job in jobs
    )
    told = next((job for job in jobs if spares[job.uid] <= 0), jobs[0])
    ready, spare = told.ready_task_num(), spares[told.uid]
    limit = f"only {spare} may go" if spare > 0 else "one less would break the gang"
    alike = [uid for uid, each in spares.items() if uid != told.uid and (each <= 0) == (spare <= 0)]
    more = f" (likewise {join_names(alike)})" if alike else ""
    text = f"{told.uid} has {ready} ready of minMember {told.min_available}, {limit}{more}"
    numbers = {"victim.ready": count(ready, "pods"), "victim.minAvailable": count(told.min_available, "pods")}
    return VetoReason(text, numbers, (), lines)


# Orders


def job_order(then: OrderMoment, left: JobInfo, right: JobInfo) -> Iterator[OrderDifference]:
    """A job that misses tasks of its minimum goes before one that does not."""
    yield _unready_difference(*(job_before(then.recording, job.uid, then.seq + 1) for job in (left, right)))


def sub_job_order(then: OrderMoment, left: SubJobInfo, right: SubJobInfo) -> Iterator[OrderDifference]:
    """As for jobs."""
    yield _unready_difference(*(sub_job_before(then.recording, group.uid, then.seq + 1) for group in (left, right)))


def _unready_difference(left: JobInfo | SubJobInfo, right: JobInfo | SubJobInfo) -> OrderDifference:
    mine, other = left.is_ready(), right.is_ready()
    return OrderDifference("gang ready", mine, other, unready_first(mine, other))


EXPLAINER = PluginExplainer(
    equations={
        JOB_VALID.upstream: job_valid,
        JOB_READY.upstream: job_ready,
        JOB_PIPELINED.upstream: job_pipelined,
        SUB_JOB_READY.upstream: sub_job_ready,
        SUB_JOB_PIPELINED.upstream: sub_job_pipelined,
        JOB_STARVING.upstream: job_starving,
        PREEMPTABLE.upstream: surplus_equation,
        RECLAIMABLE.upstream: surplus_equation,
        UNIFIED_EVICTABLE.upstream: everybody_equation,
    },
    comparators={JOB_ORDER.method: job_order, SUB_JOB_ORDER.method: sub_job_order},
    kept=explain_veto,
)
