"""What the queues of a recording have: found once, since thousands of answers that look at all queues are quadratic."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Final, NamedTuple

from vcdebug.amount_text import count_noun, format_amounts_apart, join_names, rank_by_amount, verb_for
from vcdebug.explain.job_view import WAITING_PHASES, JobView, workloads_of
from vcdebug.explain.node_fit import NodeFits
from vcdebug.framework import hooks
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName, Seq
from vcdebug.model.pod_group import INQUEUE
from vcdebug.model.queue import ROOT_QUEUE, QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo, TaskStatus, is_allocated_status
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_resources
from vcdebug.snapshot.manifest import key_of, owner_keys, spec_of


class _Holding(NamedTuple):
    """What the pods of one job hold."""

    place: int
    """The job's place in the session."""
    who: str
    """The job, or its only pod that holds something."""
    amount: Resource


@per_recording()
def children_of(recording: Recording) -> Mapping[QueueName, Sequence[QueueName]]:
    """The queues right below each queue."""
    return group_by_key((queue.parent, queue.name) for queue in recording.session.queues.values())


@per_recording(most=64)
def queues_below(recording: Recording, queue: QueueName) -> Sequence[QueueName]:
    """The queue and its descendants; every queue for the root."""
    if queue == ROOT_QUEUE:
        return list(recording.session.queues)
    found, known, children = [queue], {queue}, children_of(recording)
    for name in found:
        # Queues may be each other's parents.
        lower = [each for each in children.get(name, ()) if each not in known]
        found += lower
        known.update(lower)
    return found


@per_recording()
def guaranteed_amounts(recording: Recording) -> Sequence[tuple[QueueName, Resource]]:
    """The queues that are guaranteed anything, and how much."""
    queues = recording.session.queues.values()
    return [(queue.name, Resource.from_list(queue.guarantee)) for queue in queues if queue.guarantee]


@per_recording()
def weight_of_used_queues(recording: Recording) -> int:
    """The sum of the weights of the queues that have jobs."""
    names = dict.fromkeys(job.queue for job in recording.session.jobs.values())
    return sum(recording.session.queues[name].weight for name in names)


@per_recording()
def waiting_by_queue(recording: Recording) -> Mapping[QueueName, Sequence[JobId]]:
    """The jobs with Pending pods at the end of the cycle."""
    jobs = recording.session.jobs.values()
    return group_by_key((job.queue, job.uid) for job in jobs if job.count_tasks(TaskStatus.PENDING))


@per_recording()
def turns_at_end(recording: Recording, queue: QueueName, jobs: tuple[JobId, ...]) -> Mapping[JobId, tuple[str, ...]]:
    """The sentence about each of these jobs. All at once: their states are made of events, and serve every pair."""
    from vcdebug.explain.orders import order_of  # slow to import, and needed only where jobs wait side by side

    orders: dict[tuple[JobId, JobId], tuple[int, str]] = {}
    for left, right in combinations(jobs, 2):
        found = order_of(recording, len(recording), "job", left, right)
        orders[left, right] = found.order_sign, found.deciding_words
        orders[right, left] = -found.order_sign, found.deciding_words
    return {uid: (_turn_sentence(queue, [other for other in jobs if other != uid], uid, orders),) for uid in jobs}


def _turn_sentence(
    queue: QueueName, others: Sequence[JobId], uid: JobId, orders: Mapping[tuple[JobId, JobId], tuple[int, str]]
) -> str:
    earlier = [other for other in others if orders[uid, other][0] > 0]
    _, by = orders[uid, (earlier or others)[0]]
    if not earlier:
        return f"Of the {len(others) + 1} jobs with Pending pods in queue {queue}, it is tried first{by}."
    return f"{join_names(earlier)} of the same queue {verb_for(len(earlier), 'is')} tried before it{by}."


@per_recording()
def rejected_jobs(recording: Recording) -> Sequence[JobInfo]:
    """The jobs whose pods their queues may not allocate, the first refused first."""
    owners, answers = recording.owners.jobs, recording.hook_calls(hooks.ALLOCATABLE.upstream)
    tasks = (event.task for _, event in answers if not event.result)
    return [recording.session.jobs[uid] for uid in dict.fromkeys(owners[task] for task in tasks if task in owners)]


@per_recording()
def rejected_by_queue(recording: Recording) -> Mapping[QueueName, Sequence[JobInfo]]:
    """The rejected jobs of each queue."""
    return group_by_key((job.queue, job) for job in rejected_jobs(recording))


@per_recording(most=64)
def started_rejected_jobs(recording: Recording, queue: QueueName) -> Sequence[JobId]:
    """The rejected jobs of a queue that have ready pods."""
    return [job.uid for job in rejected_by_queue(recording).get(queue, ()) if job.ready_task_num()]


@per_recording(most=64)
def largest_holders(recording: Recording, seq: Seq, queue: QueueName, name: str) -> Sequence[tuple[str, float]]:
    """Who holds how much of a dimension in a queue and those below it after an event, the largest first."""
    holdings = _holdings_by_queue(recording, seq)
    below = chain.from_iterable(holdings.get(each, ()) for each in queues_below(recording, queue))
    return rank_by_amount({one.who: value for one in sorted(below) if (value := one.amount.get(name)) > 0})


@per_recording(most=64)
def _holdings_by_queue(recording: Recording, seq: Seq) -> Mapping[QueueName, Sequence[_Holding]]:
    tasks, found = recording.timeline.state_at(seq).tasks, dict[QueueName, list[_Holding]]()
    for place, (uid, job) in enumerate(recording.session.jobs.items()):
        holding = [each for each in job.tasks.values() if is_allocated_status(tasks[each.key].status)]
        who = holding[0].key if len(holding) == 1 else uid
        amount = sum_resources(each.resreq for each in holding)
        if holding:
            found.setdefault(job.queue, []).append(_Holding(place, who, amount))
    return found


class OversizedCapability(NamedTuple):
    """A capability above that of an ancestor; the root has what the cluster has."""

    queue: QueueName
    resource: str
    stated: float
    most: float
    above: QueueName


def queue_and_ancestors(recording: Recording, queue: QueueInfo) -> list[QueueInfo]:
    """A queue, its parent, and so on; a circle of parents ends the list."""
    found = [queue]
    while (above := recording.session.queues.get(found[-1].parent)) is not None and above not in found:
        found.append(above)
    return found


def oversized_capabilities(recording: Recording) -> Iterator[OversizedCapability]:
    """Each dimension of each queue that its nearest ancestor with a limit does not allow."""
    total = recording.session.total_resource
    for queue in recording.session.queues.values():
        above = [one for one in queue_and_ancestors(recording, queue)[1:] if one.name != ROOT_QUEUE]
        limits = [(one.name, Resource.from_list(one.capability or {})) for one in above]
        stated = Resource.from_list(queue.capability or {}) if queue.name != ROOT_QUEUE else Resource()
        for resource, value in stated.items():
            named = ((name, limit.get(resource)) for name, limit in limits if limit.get(resource) > 0)
            name, most = next(named, (ROOT_QUEUE, total.get(resource)))
            if value > most > 0:
                yield OversizedCapability(queue.name, resource, value, most, name)


def _order_key(job: JobInfo) -> tuple[float, str]:
    return -job.priority, job.creation_timestamp


@per_recording()
def _admitted_jobs(recording: Recording) -> Mapping[QueueName, Sequence[JobInfo]]:
    """Each queue's jobs that this cycle admitted, by priority and age."""
    opening, phases = recording.timeline.opening_phases, recording.timeline.state_at(len(recording)).phases
    found = [
        job
        for uid, job in recording.session.jobs.items()
        if opening.get(uid, "") in WAITING_PHASES and phases[uid] == INQUEUE
    ]
    return group_by_key((job.queue, job) for job in sorted(found, key=_order_key))


def admitted_after(recording: Recording, job: JobInfo) -> Sequence[JobInfo]:
    """Jobs of its queue that this cycle admitted and that are of lower priority, or of the same and younger."""
    admitted = _admitted_jobs(recording).get(job.queue, ())
    return admitted[bisect_right(admitted, _order_key(job), key=_order_key) :]


# Inqueue jobs that are not placed

ENDED_STATUSES: Final = (TaskStatus.SUCCEEDED, TaskStatus.FAILED)


def hopeless_facts(view: JobView, stuck: Sequence[JobInfo], *, lasting: bool = True) -> tuple[str, ...]:
    """Inqueue jobs with a pod that asks more than any node has, in all or, if not `lasting`, free after the cycle."""
    most = Resource()
    for node in view.session.nodes.values():
        most.set_max_resource(node.allocatable if lasting else node.idle)
    hopeless: dict[JobId, tuple[TaskInfo, str]] = {}
    for job in stuck:
        for task in job.tasks.values():
            _, short = task.init_resreq.less_equal_with_resources_name(most)
            if short:
                hopeless.setdefault(job.uid, (task, short[0]))
    if not hopeless:
        return _refused_facts(view, stuck) if lasting else ()
    task, name = next(iter(hopeless.values()))
    asks, has = format_amounts_apart(name, task.init_resreq.get(name), most.get(name))
    cannot, most_words = (
        ("cannot be placed", "has more than") if lasting else ("has no place now", "has more free than")
    )
    return (f"{join_names(hopeless)} {cannot}: {task.key} asks {asks} {name}, and no node {most_words} {has}.",)


def _refused_facts(view: JobView, stuck: Sequence[JobInfo]) -> tuple[str, ...]:
    """The first Inqueue job, where its first pod fits no node whatever ends there."""
    job = stuck[0]
    task = next((one for one in job.tasks.values() if one.status is TaskStatus.PENDING), None)
    if task is None:
        return ()
    room = NodeFits(JobView(view.recording, job.uid), task, len(view.recording))
    if room.waiting_nodes or room.free_nodes or not room.reason_histogram:
        return ()
    reason, names = room.reason_histogram[0]
    return (f"{job.uid} cannot be placed: {task.name} fits no node ({count_noun(len(names), 'node')}: {reason}).",)


def find_left_behind(recording: Recording, jobs: Sequence[JobInfo]) -> dict[JobId, str]:
    """Jobs without pods that an update left behind, each with its ReplicaSet that wants 0 replicas."""
    wanted = {key_of(one): spec_of(one).get("replicas") for one in recording.snapshot.objects_of("ReplicaSet")}
    owned = [(job, key) for job in jobs if wanted and not job.tasks for key in owner_keys(job.pod_group.manifest)]
    return {job.uid: key for job, key in owned if wanted.get(key) == 0}


def suspended_owners(recording: Recording, jobs: Sequence[JobInfo]) -> dict[JobId, str]:
    """Jobs without pods whose owner is suspended and left its PodGroup as it was, each with the owner."""
    found = ((job.uid, workloads_of(recording, job.pod_group.manifest)) for job in jobs if not job.tasks)
    return {uid: owner for uid, owners in found for owner, facts in owners if facts.suspended}
