"""Indexes of queues and their jobs, built once per recording: scanning all queues for every answer is quadratic."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cmp_to_key
from itertools import chain, combinations
from math import fsum
from typing import Final, NamedTuple

from msgspec import Struct

from vcdebug.actions import ENQUEUE
from vcdebug.amount_text import (
    count_noun,
    format_amount,
    format_amounts_apart,
    format_named_amount,
    format_resource,
    join_first_names,
    join_names,
    join_ranked_amounts,
    rank_by_amount,
    verb_for,
)
from vcdebug.explain.answer import Advice, Cause, Number, amount_numbers
from vcdebug.explain.equation import QueueCheck
from vcdebug.explain.job_view import JobView, action_seqs
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins import VetoReason
from vcdebug.framework import hooks
from vcdebug.framework.record import PopEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName, Seq, TaskKey
from vcdebug.model.pod_group import WAITING_PHASES
from vcdebug.model.queue import ROOT_QUEUE, QueueInfo
from vcdebug.model.resource import CPU, MEMORY, PODS, Resource
from vcdebug.model.task import TaskInfo, TaskStatus, is_allocated_status
from vcdebug.recording.effects import evict_operations
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_resources
from vcdebug.releases.queues import CAPACITY_ROOT_ALWAYS_CLUSTER


class _Holding(NamedTuple):
    """The resources that the pods of one job hold."""

    job_index: int
    """The job's index in the session."""
    holder: str
    """The job's name, or that of its only pod that holds resources."""
    amount: Resource
    rolled_back: bool
    """Whether this cycle placed the pods and took the placements back later."""


@per_recording()
def _children_by_queue(recording: Recording) -> Mapping[QueueName, Sequence[QueueName]]:
    return group_by_key((queue.parent, queue.name) for queue in recording.session.queues.values())


def children_of(recording: Recording, queue: QueueName) -> Sequence[QueueName]:
    """The direct children of a queue."""
    return _children_by_queue(recording).get(queue, ())


@per_recording(most=64)
def queues_below(recording: Recording, queue: QueueName) -> Sequence[QueueName]:
    """The queue and its descendants; every queue for the root."""
    if queue == ROOT_QUEUE:
        return list(recording.session.queues)
    below, visited = [queue], {queue}
    for name in below:
        # Parents may form a circle.
        lower = [child for child in children_of(recording, name) if child not in visited]
        below += lower
        visited.update(lower)
    return below


@per_recording()
def guaranteed_amounts(recording: Recording) -> Sequence[tuple[QueueName, Resource]]:
    """(queue, guarantee) of each queue with a guarantee."""
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


@per_recording(most=8)
def _kept_shares(recording: Recording, plugin: str, name: str) -> Sequence[tuple[QueueName, str]]:
    """Queues with Pending pods that hold less than they deserve of a resource, the largest rest first, each with what
    the plugin keeps for it.
    """
    state, waiting, ranked = recording.timeline.state_at(len(recording)), waiting_by_queue(recording), []
    largest = max((node.allocatable.get(name) for node in recording.session.nodes.values()), default=0.0)
    for queue, uids in waiting.items():
        held, due = (state.plugin_amount(plugin, queue, figure).get(name) for figure in ("allocated", "deserved"))
        pending = [
            (max(task.init_resreq.get(name) for task in tasks.values()), uid)
            for uid in uids
            if (tasks := recording.session.jobs[uid].task_status_index.get(TaskStatus.PENDING))
        ]
        asked, uid = max(pending, default=(0.0, ""))
        if due > held and asked:
            rest, held_text, due_text = format_amounts_apart(name, due - held, held, due)
            size = f", more than any node has ({format_amount(name, largest)})" if asked > largest else ""
            words = f"{rest} {name} for queue {queue}, which holds {held_text} of its deserved {due_text}"
            ranked.append((due - held, queue, f"{words}; its {uid} asks {format_amount(name, asked)} per pod{size}"))
    return [(queue, words) for _, queue, words in sorted(ranked, reverse=True)]


def kept_share_facts(view: JobView, plugin: str, name: str) -> Iterator[str]:
    """Yields a sentence: the share that the plugin keeps for another queue, although it does not use it."""
    kept = [(queue, words) for queue, words in _kept_shares(view.recording, plugin, name) if queue != view.queue.name]
    for _, words in kept[:1]:
        more = f" (and for {count_noun(len(kept) - 1, 'more queue')})" if len(kept) > 1 else ""
        yield f"It keeps {words}{more}."


_MAX_COMPARED_JOBS: Final = 30
"""The maximum number of Pending jobs of a queue with which a job's order is compared; more would be slow."""


def turn_facts(view: JobView, cause: str) -> tuple[str | Advice, ...]:
    """Which Pending jobs of the queue are tried before this one, why the nearest comes first, and whether to wait."""
    pending, uid = waiting_by_queue(view.recording).get(view.job.queue, ()), view.job.uid
    jobs = (*pending, *(() if uid in pending else (uid,))) if len(pending) <= _MAX_COMPARED_JOBS + 1 else ()
    if not 1 < len(jobs) <= _MAX_COMPARED_JOBS + 1:
        return ()
    is_first, facts = _turns_at_end(view.recording, view.job.queue, jobs)[uid]
    task, needed = view.blocked_task, view.job.min_available - view.job.ready_task_num()
    if not is_first or task is None or needed != 1 or cause == Cause.NOT_ALLOCATABLE:
        return facts
    nearest = NodeFits(view, task, len(view.recording)).nearest_node
    # A node that is too small gets no room when its pods end.
    if nearest is None or nearest.kind != "short":
        return facts
    room = join_names(format_named_amount(name, task.init_resreq.get(name)) for name, _ in nearest.short)
    turn = f"{uid} is the first of its queue to be tried when {room} is free on {nearest.name}"
    wait = f"Nothing has to change: {turn} (forecast: vcdebug ask when)."
    return (*facts, Advice.from_outside(wait).as_first_step("no change to replay"))


@per_recording()
def _turns_at_end(
    recording: Recording, queue: QueueName, jobs: tuple[JobId, ...]
) -> Mapping[JobId, tuple[bool, tuple[str, ...]]]:
    """Job → (whether it is first, sentences about its place in the order); together, since comparisons are shared."""
    from vcdebug.explain.orders import order_of  # slow to import, and needed only for several Pending jobs

    orders: dict[tuple[JobId, JobId], tuple[int, str, str]] = {}
    for left, right in combinations(jobs, 2):
        order = order_of(recording, len(recording), "job", left, right)
        step, words = order.deciding_step, order.deciding_words
        remark = "" if step is None else step.difference.remark
        # Shares differ from pair to pair, and jobs with one reason are named together.
        words = words if step is None or isinstance(step.difference.left, int) else f" ({step.difference.label})"
        orders[left, right] = order.order_sign, words, remark
        orders[right, left] = -order.order_sign, words, remark

    def compare(left: JobId, right: JobId) -> int:
        return orders[left, right][0] if left != right else 0

    turns: dict[JobId, tuple[bool, tuple[str, ...]]] = {}
    ordered = sorted(jobs, key=cmp_to_key(compare))
    for uid in jobs:
        others = [other for other in ordered if other != uid]
        earlier = group_by_key((orders[uid, other][1], other) for other in others if orders[uid, other][0] > 0)
        names = " and ".join(f"{join_names(some)}{reason}" for reason, some in earlier.items())
        verb = verb_for(sum(len(some) for some in earlier.values()), "is")
        _, reason, remark = orders[uid, others[0]]
        first_words = f"It is tried before {join_names(others, 3)} of the same queue{reason}."
        before = f"Before it, {names} of the same queue {verb} tried."
        turns[uid] = not earlier, (before,) if earlier else (first_words, remark) if remark else (first_words,)
    return turns


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
def largest_holders(
    recording: Recording, seq: Seq, queue: QueueName, name: str, *, rolled_back: bool = False
) -> Sequence[tuple[str, float]]:
    """(job or pod, amount) of a dimension held in a queue and its descendants after an event, largest first; or of the
    placements that this cycle took back later.
    """
    holdings = _holdings_by_queue(recording, seq)
    every = chain.from_iterable(holdings.get(descendant, ()) for descendant in queues_below(recording, queue))
    below = (one for one in every if one.rolled_back is rolled_back)
    return rank_by_amount({one.holder: value for one in sorted(below) if (value := one.amount.get(name)) > 0})


@per_recording(most=64)
def _holdings_by_queue(recording: Recording, seq: Seq) -> Mapping[QueueName, Sequence[_Holding]]:
    tasks, holdings = recording.timeline.state_at(seq).tasks, dict[QueueName, list[_Holding]]()
    for place, (uid, job) in enumerate(recording.session.jobs.items()):
        # Few jobs change in a cycle: the others hold what they hold at its end.
        is_changed, by_status = uid in recording.timeline.touched, job.task_status_index.items()
        kept = (task for status, group in by_status if is_allocated_status(status) for task in group.values())
        held = (task for task in job.tasks.values() if is_allocated_status(tasks[task.key].status))
        # A pod that is Pending again when the cycle ends was placed for a while only; such pods are named one by one.
        by_end = group_by_key((task.status is TaskStatus.PENDING, task) for task in (held if is_changed else kept))
        undone, tasks_kept = by_end.get(True, ()), by_end.get(False, ())
        own = holdings.setdefault(job.queue, [])
        own += [_Holding(place, task.key, task.resreq, True) for task in undone]
        if tasks_kept:
            holder = tasks_kept[0].key if len(tasks_kept) == 1 else uid
            amount = sum_resources(task.resreq for task in tasks_kept) if is_changed else job.allocated
            own.append(_Holding(place, holder, amount, False))
    return holdings


MAX_HOLDERS = 3
QUOTA_USED_UP = "has no quota left for"
"""Words of a fact after which the same limit is no further blocker."""


def holder_facts(view: JobView, seq: Seq, limit: QueueCheck) -> tuple[str, ...]:
    """A sentence with the largest users of the queue's exceeded dimension; a single pod is named itself."""
    # Cached by the first event of the same state, since the explanations of many jobs share it.
    name, since = limit.first_dimension, view.recording.timeline.earliest_same_seq(seq - 1)
    ranked, rolled_back = largest_holders(view.recording, since, limit.queue, name), ""
    if words := rolled_back_words(view, seq, limit):
        rolled_back = f"; {words}"
    elif not ranked:
        return ()
    holders = join_ranked_amounts(name, ranked, MAX_HOLDERS, own={view.job.uid, *view.tasks})
    return (f"In use in queue {limit.queue} ({name}): {holders or 'nothing'}{rolled_back}.",)


def rolled_back_words(view: JobView, seq: Seq, limit: QueueCheck) -> str:
    """Which placements of this cycle used the exceeded dimension and were taken back later; empty if none did."""
    name, since = limit.first_dimension, view.recording.timeline.earliest_same_seq(seq - 1)
    ranked = largest_holders(view.recording, since, limit.queue, name, rolled_back=True)
    if not ranked:
        return ""
    pods = (view.tasks[key].name if key in view.tasks else key for key, _ in ranked)
    took = format_amount(name, fsum(amount for _, amount in ranked))
    were = verb_for(len(ranked), "was")
    return f"in this cycle {join_first_names(pods, len(ranked), MAX_HOLDERS)} took {took} first and {were} rolled back"


@per_recording()
def queues_above_deserved(recording: Recording) -> Mapping[QueueName, Sequence[str]]:
    """Queue → the resources of which it holds more than it deserves at the end of the cycle."""
    state, above = recording.timeline.state_at(len(recording)), {}
    for plugin, books in state.books.items():
        for queue in books:
            used, deserved = (state.plugin_amount(plugin, queue, figure) for figure in ("allocated", "deserved"))
            names = [name for name, value in used.items() if value > deserved.get(name) > 0]
            if names:
                above[QueueName(queue)] = names
    return above


def queue_and_ancestors(recording: Recording, queue: QueueInfo) -> list[QueueInfo]:
    """A queue, its parent, and so on; a circle of parents ends the list."""
    lineage = [queue]
    while (parent := recording.session.queues.get(lineage[-1].parent)) is not None and parent not in lineage:
        lineage.append(parent)
    return lineage


@per_recording()
def _enqueue_pops(recording: Recording) -> Mapping[JobId, Seq]:
    """Job → the event at which enqueue picked it; jobs that it never reached are left out."""
    first, last = (action_seqs(recording, what).get(ENQUEUE, 0) for what in ("start", "end"))
    pops = recording.events_of_type(PopEvent)
    return {event.name: seq for seq, event in pops if first < seq < last and event.kind == "job"}


@per_recording()
def _admitted_jobs(recording: Recording) -> Sequence[JobInfo]:
    """The jobs that this cycle admitted, in the order in which enqueue picked them."""
    # At the end of enqueue: the session's end sets other phases, such as Unknown for a gang that lost a running pod.
    end = action_seqs(recording, "end").get(ENQUEUE, len(recording))
    opening, phases = recording.timeline.opening_phases, recording.timeline.state_at(end).phases
    picked = sorted((seq, uid) for uid, seq in _enqueue_pops(recording).items())
    admitted = (
        uid for _, uid in picked if opening.get(uid, "") in WAITING_PHASES and phases[uid] not in WAITING_PHASES
    )
    return [recording.session.jobs[uid] for uid in admitted]


def admitted_after(recording: Recording, job: JobInfo) -> Sequence[JobInfo]:
    """Jobs of its queue that enqueue admitted after it picked this one."""
    pops = _enqueue_pops(recording)
    return [one for one in _admitted_jobs(recording) if one.queue == job.queue and pops[one.uid] > pops[job.uid]]


def admitted_before(recording: Recording, seq: Seq) -> Sequence[JobInfo]:
    """Jobs that enqueue admitted in this cycle before an event."""
    pops = _enqueue_pops(recording)
    return [one for one in _admitted_jobs(recording) if pops[one.uid] < seq]


def admission_seq(recording: Recording, job: JobInfo) -> Seq:
    """The event at which enqueue picked a job that it reached."""
    return _enqueue_pops(recording)[job.uid]


def zero_limits(queue: QueueInfo) -> list[str]:
    """The resources among cpu and memory with a stated capability of 0, which upstream takes for no limit."""
    limits = Resource.from_list(queue.capability or {})
    return [name for name in queue.capability or () if name in (CPU, MEMORY) and limits.get(name) <= 0]


@per_recording()
def amounts_above_capability(
    recording: Recording, name: QueueName, uncounted: tuple[TaskInfo, ...] = ()
) -> Sequence[tuple[str, str, str]]:
    """(resource, held amount, capability) of which the running pods of a queue hold more, with those of no queue."""
    queue, above = recording.session.queues[name], list[tuple[str, str, str]]()
    jobs = [job for job in recording.session.jobs.values() if job.queue == name] if queue.capability else []
    limits = Resource.from_list(queue.capability or {})
    # Only what the capability states is limited: a Resource has cpu and memory, stated or not.
    for resource in (name for name in queue.capability or () if name not in zero_limits(queue)):
        amounts = (*(job.allocated for job in jobs), *(task.resreq for task in uncounted))
        held, limit = fsum(amount.get(resource) for amount in amounts), limits.get(resource)
        if held > limit * (1 + _ROUNDING):
            held_text, limit_text = format_amounts_apart(resource, held, limit)
            above.append((resource, held_text, limit_text))
    return above


_ROUNDING: Final = 1e-9
"""The part of a limit by which a sum of floats may exceed it."""


def victim_queues(view: JobView, candidates: Sequence[TaskKey]) -> list[QueueName]:
    """The queues of the refused candidates."""
    owners = view.recording.owners.jobs
    return list(dict.fromkeys(view.session.jobs[owners[key]].queue for key in candidates if key in owners))


def _victims_before(recording: Recording, queue: QueueName, seq: Seq) -> list[TaskKey]:
    """Pods of the queue that the cycle has chosen as victims before an event, and has not taken back."""
    tasks, owners = recording.timeline.state_at(seq - 1).tasks, recording.owners
    chosen = [operation.event.task for operation in evict_operations(recording) if operation.seq < seq]
    of_queue = (key for key in dict.fromkeys(chosen) if owners.queues.get(owners.jobs.get(key, "")) == queue)
    return [key for key in of_queue if tasks[key].status is TaskStatus.RELEASING]


def not_above_share(
    view: JobView,
    plugin: str,
    protected: Sequence[TaskKey],
    seq: Seq,
    smaller: Callable[[JobView, Sequence[QueueName]], Advice],
) -> VetoReason:
    """The reason that the candidates' queues hold no more than they deserve, with figures and advice."""
    state, queues = view.recording.timeline.state_at(seq - 1), victim_queues(view, protected)
    lines, parts, numbers, satisfied = list[str](), list[str](), dict[str, Number](), True
    names = [n for n, v in view.recording.timeline.tasks[protected[0]].resreq.items() if v > 0 and n != PODS]
    for queue in queues:
        figures = ("allocated", "deserved", "request")
        allocated, deserved, request = (state.plugin_amount(plugin, queue, figure) for figure in figures)
        for n in deserved.resource_names():
            used, due = format_amounts_apart(n, allocated.get(n), deserved.get(n))
            lines.append(f"queue {queue}, {n}: allocated {used} <= deserved {due}")
        use, share = (format_resource(amounts, names) for amounts in (allocated, deserved))
        chosen = join_names(_victims_before(view.recording, queue, seq), 2)
        without = f" (without {chosen}, chosen as victim before in this cycle)" if chosen else ""
        parts.append(f"Queue {queue} uses {use}{without}, not more than it deserves ({share})")
        numbers |= amount_numbers(f"queue.{queue}.allocated", allocated)
        numbers |= amount_numbers(f"queue.{queue}.deserved", deserved)
        satisfied = satisfied and request.less_equal(deserved)
    verb = "deserves all it requests" if len(queues) == 1 else "deserve all they request"
    free = f"Free resources or add nodes; weights cannot help, since {join_names(queues)} {verb}."
    advice = Advice.queue_admin(free) if satisfied else smaller(view, queues)
    return VetoReason("; ".join(parts[:2]), numbers, (advice,), tuple(lines))


class OversizedCapability(Struct, frozen=True):
    """A capability that exceeds that of the ancestor `ancestor`; without one, what the cluster has."""

    queue: QueueName
    resource: str
    stated_amount: float
    ancestor_limit: float
    ancestor: QueueName


def oversized_capabilities(recording: Recording) -> Iterator[OversizedCapability]:
    """Yields each capability that exceeds that of the nearest ancestor with a limit."""
    total = recording.session.total_resource
    skips_root = recording.snapshot.release.has_older_form(CAPACITY_ROOT_ALWAYS_CLUSTER)
    for queue in recording.session.queues.values():
        ancestors = queue_and_ancestors(recording, queue)[1:]
        counted = [one for one in ancestors if not skips_root or one.name != ROOT_QUEUE]
        limits = [(ancestor.name, Resource.from_list(ancestor.capability or {})) for ancestor in counted]
        capability = Resource.from_list(queue.capability or {}) if queue.name != ROOT_QUEUE else Resource()
        for resource, value in capability.items():
            ancestor_limits = ((name, limit.get(resource)) for name, limit in limits if limit.get(resource) > 0)
            name, maximum = next(ancestor_limits, ("", total.get(resource)))
            if value > maximum > 0:
                yield OversizedCapability(queue.name, resource, value, maximum, name)
