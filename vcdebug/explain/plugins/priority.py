"""priority: who is of lower priority, and which job misses a task.

Upstream: plugins/priority.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vcdebug.explain.amounts import count
from vcdebug.explain.answer import owner
from vcdebug.explain.equation import NO_JOB, Equation, Term, choice
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugin import Difference, Kept, PluginWords, Then
from vcdebug.explain.plugins.gang import parts_of
from vcdebug.framework.hooks import JOB_ORDER, JOB_STARVING, PREEMPTABLE, SUB_JOB_ORDER, TASK_ORDER, UNIFIED_EVICTABLE
from vcdebug.framework.record import HookEvent, Level
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.subjob import SubJobInfo
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.priority import Rank, higher_first, rank
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import job_before, job_of, task_of, tasks_of

LOWER = "candidate's priority < preemptor's priority"
COLUMNS = ("candidate", "preemptor")


def job_starving(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Is any task without a place?"""
    job = job_before(recording, event.job, seq)
    have, total = job.placed_task_num(), len(job.tasks)
    term = Term("tasks", (have, total), have < total, parts_of(job))
    title, note = f"priority: does {job.uid} miss any task?", "failed and releasing tasks count as missing"
    columns = ("have", "tasks")
    return Equation(title, "ready + waiting < tasks", columns, "check", (term,), have < total, "tasks", note)


def preemptable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Jobs of lower priority; inside the preemptor's own job, tasks of lower priority."""
    preemptor, own = task_of(recording, event.task), job_of(recording, event.task)
    title, tasks = f"priority: who is of lower priority than {preemptor.key}?", tasks_of(recording, event.candidates)
    if own is None:
        gone = [Term(task.key, (None, None), False, "the preemptor's job is gone") for task in tasks]
        return choice(title, LOWER, COLUMNS, gone)
    ranks = [(task.key, rank(recording.session.jobs, task, own, preemptor)) for task in tasks]
    return choice(title, LOWER, COLUMNS, [_ranked(key, each) for key, each in ranks])


def evictable(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Jobs of lower priority; a reclaim between queues does not look at priority."""
    action, span = recording.tree.around(seq, Level.ACTION), recording.tree.around(seq, Level.JOB)
    uid = span.name if span is not None else ""
    title, own = f"priority: who is of lower priority than {uid}?", recording.session.jobs.get(uid)
    if own is None or (action is not None and recording.conf.facts_of(action.name).across_queues):
        terms = [Term(key, (None, None), True) for key in event.candidates]
        return choice(title, "every candidate: priority does not count between queues", COLUMNS, terms)
    tasks = tasks_of(recording, event.candidates)
    ranks = [(task.key, rank(recording.session.jobs, task, own)) for task in tasks]
    known = [_ranked(key, each) for key, each in ranks if each.candidate is not None]
    return choice(title, LOWER, COLUMNS, known)


def _ranked(key: TaskKey, each: Rank) -> Term:
    if each.candidate is None:
        return Term(key, (None, None), False, NO_JOB)
    note = "" if each.lower else f"{each.whose} priority {each.candidate} is not lower than {each.asker}"
    return Term(key, (each.candidate, each.asker), each.lower, note)


def kept(view: JobView, task: TaskInfo, refused: Sequence[TaskKey], seq: Seq) -> Kept | None:
    """No candidate's job is of lower priority; None where no candidate has a job."""
    owners = view.recording.owners.jobs
    names = dict.fromkeys(owners[key] for key in refused if key in owners)
    jobs = {uid: view.session.jobs[uid].priority for uid in names}
    if not jobs:
        return None
    lowest, own = min(jobs, key=lambda uid: jobs[uid]), view.job
    text = f"{own.uid} has priority {own.priority}, and no candidate's job is lower ({lowest} has {jobs[lowest]})"
    numbers = {"priority": count(own.priority, ""), "priority.victim": count(jobs[lowest], "")}
    lines = tuple(f"{uid}: priority {value}" for uid, value in jobs.items())
    return Kept(text, numbers, (owner(f"give {own.uid} a priority class above {jobs[lowest]}"),), lines)


def order(
    _: Then, left: JobInfo | SubJobInfo | TaskInfo, right: JobInfo | SubJobInfo | TaskInfo
) -> Iterator[Difference]:
    """Of jobs, sub jobs and tasks alike."""
    yield Difference("priority", left.priority, right.priority, higher_first(left.priority, right.priority))


WORDS = PluginWords(
    equations={
        JOB_STARVING.upstream: job_starving,
        PREEMPTABLE.upstream: preemptable,
        UNIFIED_EVICTABLE.upstream: evictable,
    },
    comparators={JOB_ORDER.method: order, SUB_JOB_ORDER.method: order, TASK_ORDER.method: order},
    kept=kept,
)
