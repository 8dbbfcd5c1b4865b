"""priority: victims of lower priority, and the order of jobs and tasks. Upstream: plugins/priority."""

from collections.abc import Iterator, Sequence

from vcdebug.errors import closest_name
from vcdebug.explain.answer import Advice, counts
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
from vcdebug.snapshot.manifest import group_maker, name_of
from vcdebug.snapshot.workloads import volcano_job_of

LOWER_FORMULA = "candidate's priority < preemptor's priority"
COLUMNS = ("candidate", "preemptor")
VICTIM_PRIORITY = "priority.victim"
"""The key of the number with the priority of the lowest candidate's job."""


def job_starving(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """JobStarving: whether fewer tasks are ready or waiting than the job has."""
    job = job_before(recording, event.job, seq)
    placed_count, total = job.placed_task_num(), len(job.tasks)
    term = Term("tasks", (placed_count, total), placed_count < total, format_placed(job))
    title, note = f"priority: does {job.uid} miss any task?", "failed and releasing tasks count as missing"
    columns = ("have", "tasks")
    return Equation(title, "ready + waiting < tasks", columns, "check", (term,), placed_count < total, "tasks", note)


def preemptable_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Preemptable: allows tasks of jobs with lower priority; in the preemptor's own job, tasks with lower priority."""
    preemptor, preemptor_job = task_of(recording, event.task), job_of(recording, event.task)
    title, tasks = f"priority: candidates of lower priority than {preemptor.key}", tasks_of(recording, event.candidates)
    if preemptor_job is None:
        removed_terms = [Term(task.key, (None, None), False, "the preemptor's job was removed") for task in tasks]
        return victim_equation(title, LOWER_FORMULA, COLUMNS, removed_terms)
    ranks = [(task.key, rank_candidate(recording.session.jobs, task, preemptor_job, preemptor)) for task in tasks]
    return victim_equation(title, LOWER_FORMULA, COLUMNS, [_rank_term(key, rank) for key, rank in ranks])


def evictable_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """UnifiedEvictable: allows tasks of jobs with lower priority; for reclaim between queues all candidates."""
    action, uid = recording.span_tree.span_around(seq, Level.ACTION), recording.span_tree.name_around(seq, Level.JOB)
    title, job = f"priority: candidates of lower priority than {uid}", recording.session.jobs.get(uid)
    if job is None or (action is not None and recording.conf.facts_of(action.name).across_queues):
        terms = [Term(key, (None, None), True) for key in event.candidates]
        return victim_equation(title, "every candidate: priority does not count between queues", COLUMNS, terms)
    tasks = tasks_of(recording, event.candidates)
    ranks = [(task.key, rank_candidate(recording.session.jobs, task, job)) for task in tasks]
    ranked_terms = [_rank_term(key, rank) for key, rank in ranks if rank.candidate is not None]
    return victim_equation(title, LOWER_FORMULA, COLUMNS, ranked_terms)


def _rank_term(key: TaskKey, rank: PriorityRank) -> Term:
    if rank.candidate is None:
        return Term(key, (None, None), False, JOB_NOT_IN_SESSION)
    note = "" if rank.is_lower else f"{rank.compared_kind} priority {rank.candidate} is not lower than {rank.preemptor}"
    return Term(key, (rank.candidate, rank.preemptor), rank.is_lower, note)


def explain_veto(view: JobView, task: TaskInfo, protected: Sequence[TaskKey], seq: Seq) -> VetoReason | None:
    """The reason: no candidate's job has a lower priority; None if no candidate has a job."""
    owners, job = view.recording.owners.jobs, view.job
    uids = dict.fromkeys(owners[key] for key in protected if key in owners)
    jobs = {uid: view.session.jobs[uid].priority for uid in uids}
    if not jobs:
        return None
    lowest = min(jobs, key=lambda uid: jobs[uid])
    victim, least = view.session.jobs[lowest], jobs[lowest]
    text = f"{job.uid} has priority {job.priority}, and the lowest candidate's job, {lowest}, has {least}"
    pod_priority = min(task.priority for task in victim.tasks.values())
    # Between jobs the PodGroup's class counts, which may be higher than that of its pods.
    if pod_priority < job.priority <= least and _states_priority(*victim.tasks.values()):
        name = victim.pod_group.priority_class_name
        class_words = f"priorityClassName {name} of its PodGroup" if name else "the class of its PodGroup"
        text += f" ({class_words}; its pods' own priority {pod_priority} does not count)"
    advice = Advice.for_owner(f"Give {job.uid} a PriorityClass above {least}.")
    pod = max(job.tasks.values(), key=lambda each: each.priority, default=None)
    classes = list(map(name_of, view.recording.snapshot.objects_of("PriorityClass")))
    own, name = job.pod_group.priority_class_name, "" if pod is None else pod.pod.spec.get("priorityClassName") or ""
    if pod is not None and _states_priority(pod) and pod.priority > least and (not own or name != own):
        has = f"priorityClassName {own}" if own else "no priorityClassName"
        text += f" (PodGroup {job.name} has {has}; priority {pod.priority} of {pod.name} does not count)"
        if name:
            vcjob = volcano_job_of(view.recording.snapshot, job.pod_group.manifest)
            place = f"PodGroup {job.name}" if vcjob is None else f"Job {name_of(vcjob)} (spec)"
            owner = group_maker(job.pod_group.manifest)
            place += f", and in {owner}, from which it is made" if owner and vcjob is None else ""
            words = f"Set priorityClassName {name} on {place}, as {pod.name} has it."
            edit = f"PodGroup/{job.uid}:spec.priorityClassName={name}"
            advice = Advice.for_owner(words, edit).as_repair()
    elif own and classes and own not in classes:
        similar = closest_name(own, classes)
        text += f" (PriorityClass {own} of its PodGroup does not exist{similar and f'; did you mean {similar}?'})"
    numbers = counts({"priority": job.priority, VICTIM_PRIORITY: least})
    lines = tuple(f"{uid}: priority {value}" for uid, value in jobs.items())
    return VetoReason(text, numbers, (advice,), lines)


def _states_priority(*tasks: TaskInfo) -> bool:
    """Whether all pods state a priority; Volcano counts 1 for one that does not."""
    return all(task.priority != 1 or task.pod.spec.get("priority") is not None for task in tasks)


def priority_order(
    _: OrderMoment, left: JobInfo | SubJobInfo | TaskInfo, right: JobInfo | SubJobInfo | TaskInfo
) -> Iterator[OrderDifference]:
    """Yields the comparison of priorities of two jobs, sub jobs or tasks; the higher one comes first."""
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
    explain_veto=explain_veto,
)
