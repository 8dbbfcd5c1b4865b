"""priority: victims of lower priority, and the order of jobs and tasks.

Upstream: plugins/priority.
"""

from collections.abc import Iterator, Sequence

from vcdebug.explain.answer import count, owner_advice
from vcdebug.explain.equation import JOB_NOT_IN_SESSION, Equation, Term, victim_equation
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugins import OrderDifference, OrderMoment, PluginExplainer, VetoReason
from vcdebug.explain.plugins.gang import format_placed
from vcdebug.framework.hooks import JOB_ORDER, JOB_STARVING, PREEMPTABLE, SUB_JOB_ORDER, TASK_ORDER, UNIFIED_EVICTABLE
from vcdebug.framework.record import HookEvent, Level
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.priority import PriorityRank, higher_first, rank_candidate
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import job_before, job_of, task_of, tasks_of

LOWER_FORMULA = "candidate's priority < preemptor's priority"
COLUMNS = ("candidate", "preemptor")
VICTIM_PRIORITY = "priority.victim"
"""The number of the lowest candidate's priority, which protects it."""


def job_starving(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Is any task without a place?"""
    job = job_before(recording, event.job, seq)
    have, total = job.placed_task_num(), len(job.tasks)
    term = Term("tasks", (have, total), have < total, format_placed(job))
    title, note = f"priority: does {job.uid} miss any task?", "failed and releasing tasks count as missing"
    columns = ("have", "tasks")
    return Equation(title, "ready + waiting < tasks", columns, "check", (term,), have < total, "tasks", note)


def preemptable_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Jobs of lower priority; inside the preemptor's own job, tasks of lower priority."""
    preemptor, own = task_of(recording, event.task), job_of(recording, event.task)
    title, tasks = f"priority: candidates of lower priority than {preemptor.key}", tasks_of(recording, event.candidates)
    if own is None:
        gone = [Term(task.key, (None, None), False, "the preemptor's job was removed") for task in tasks]
        return victim_equation(title, LOWER_FORMULA, COLUMNS, gone)
    ranks = [(task.key, rank_candidate(recording.session.jobs, task, own, preemptor)) for task in tasks]
    return victim_equation(title, LOWER_FORMULA, COLUMNS, [_rank_term(key, each) for key, each in ranks])


def evictable_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Jobs of lower priority; a reclaim between queues does not look at priority."""
    action, span = recording.span_tree.span_around(seq, Level.ACTION), recording.span_tree.span_around(seq, Level.JOB)
    uid = span.name if span is not None else ""
    title, own = f"priority: candidates of lower priority than {uid}", recording.session.jobs.get(uid)
    if own is None or (action is not None and recording.conf.facts_of(action.name).across_queues):
        terms = [Term(key, (None, None), True) for key in event.candidates]
        return victim_equation(title, "every candidate: priority does not count between queues", COLUMNS, terms)
    tasks = tasks_of(recording, event.candidates)
    ranks = [(task.key, rank_candidate(recording.session.jobs, task, own)) for task in tasks]
    known = [_rank_term(key, each) for key, each in ranks if each.candidate is not None]
    return victim_equation(title, LOWER_FORMULA, COLUMNS, known)


def _rank_term(key: TaskKey, each: PriorityRank) -> Term:
    if each.candidate is None:
        return Term(key, (None, None), False, JOB_NOT_IN_SESSION)
    note = "" if each.is_lower else f"{each.whose} priority {each.candidate} is not lower than {each.asker}"
    return Term(key, (each.candidate, each.asker), each.is_lower, note)


def explain_veto(view: JobView, task: TaskInfo, refused: Sequence[TaskKey], seq: Seq) -> VetoReason | None:
    """No candidate's job is of lower priority; None where no candidate has a job."""
    owners = view.recording.owners.jobs
    names = dict.fromkeys(owners[key] for key in refused if key in owners)
    jobs = {uid: view.session.jobs[uid].priority for uid in names}
    if not jobs:
        return None
    lowest, own = min(jobs, key=lambda uid: jobs[uid]), view.job
    text = f"{own.uid} has priority {own.priority}, and the lowest candidate's job, {lowest}, has {jobs[lowest]}"
    pods = min(task.priority for task in view.session.jobs[lowest].tasks.values())
    # Between jobs the PodGroup's class counts, which surprises whoever gave the pods a lower one.
    if pods < own.priority <= jobs[lowest]:
        stated = view.session.jobs[lowest].pod_group.priority_class_name
        named = f"priorityClassName {stated} of its PodGroup" if stated else "the class of its PodGroup"
        text += f" ({named}; its pods' own priority {pods} does not count)"
    numbers = {"priority": count(own.priority, ""), VICTIM_PRIORITY: count(jobs[lowest], "")}
    lines = tuple(f"{uid}: priority {value}" for uid, value in jobs.items())
    return VetoReason(text, numbers, (owner_advice(f"Give {own.uid} a PriorityClass above {jobs[lowest]}."),), lines)


def priority_order(
    _: OrderMoment, left: JobInfo | SubJobInfo | TaskInfo, right: JobInfo | SubJobInfo | TaskInfo
) -> Iterator[OrderDifference]:
    """Of jobs, sub jobs and tasks alike."""
    yield OrderDifference("priority", left.priority, right.priority, higher_first(left.priority, right.priority))


EXPLAINER = PluginExplainer(
    equations={
        JOB_STARVING.upstream: job_starving,
        PREEMPTABLE.upstream: preemptable_equation,
        UNIFIED_EVICTABLE.upstream: evictable_equation,
    },
    comparators={
        JOB_ORDER.method: priority_order,
        SUB_JOB_ORDER.method: priority_order,
        TASK_ORDER.method: priority_order,
    },
    kept=explain_veto,
)
