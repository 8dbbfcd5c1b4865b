"""Who has the room that a task lacks: tasks that this cycle placed there first, and tasks that run there."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE, PREEMPT
from vcdebug.amount_text import count_noun, join_first_names, join_names, verb_for
from vcdebug.explain.answer import Advice, Evidence
from vcdebug.explain.fit_table import fit_table, room_by_node
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits, tasks_by_node
from vcdebug.framework.record import PLACING_OPS, OpEvent, StateEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, QueueName, Seq, TaskKey
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import CAPACITY, PRIORITY
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_resources
from vcdebug.recording.visits import JobVisit, TaskTry
from vcdebug.snapshot.manifest import HOSTNAME_KEY

if TYPE_CHECKING:
    from vcdebug.explain.orders import OrderComparison

MAX_TAKERS = 3
HYPER_NODE_ROOMS: Final = "vcdebug.explain.plugins.network_topology_aware:hyper_node_rooms"


class RoomTaker(Struct, frozen=True):
    """A task of another job that this cycle placed where the blocked task would have fitted."""

    task: TaskInfo
    node: NodeName
    seq: Seq


class RoomTakers(Struct, frozen=True):
    """The room takers, their nodes, and the names of each job's pods among them."""

    tasks: Sequence[RoomTaker] = ()
    nodes: Sequence[NodeName] = ()
    pods: Mapping[JobId, Sequence[str]] = {}


def room_takers(fits: NodeFits) -> RoomTakers:
    """Tasks of other jobs that this cycle placed where the task would have fitted at the opening."""
    recording = fits.view.recording
    opened, _ = next(recording.events_of_type(StateEvent), (0, None))
    if not opened:
        return RoomTakers()
    at_opening = fit_table(recording, opened, tuple(fits.task.init_resreq.items()))
    lost_rows = np.intersect1d(fits.of_kind("short").rows, at_opening.of_kind("free").rows, assume_unique=True)
    names = recording.node_names
    lost_nodes = tuple([names[row] for row in lost_rows.tolist()])
    placed = placements_before(recording, fits.earliest_seq)
    # Jobs without placed pods share one cached answer, whose key names no job.
    own_job = fits.view.job.uid if any(key in placed for key in fits.view.tasks) else ""
    return _takers_on(recording, opened, fits.earliest_seq, lost_nodes, own_job) if lost_nodes else RoomTakers()


@per_recording(most=8)
def _takers_on(recording: Recording, opened: Seq, seq: Seq, nodes: tuple[NodeName, ...], job: JobId) -> RoomTakers:
    """The tasks of jobs other than `job` that this cycle placed on these nodes."""
    arrived = arrivals_by_node(recording, opened, seq)
    takers = [taker for node in nodes for taker in arrived.get(node, ()) if taker.task.job != job]
    pods = group_by_key((taker.task.job, taker.task.name) for taker in takers)
    return RoomTakers(takers, [*dict.fromkeys(taker.node for taker in takers)], pods)


@per_recording(most=8)
def arrivals_by_node(recording: Recording, opened: Seq, seq: Seq) -> Mapping[NodeName, Sequence[RoomTaker]]:
    """The tasks on each node after an event that the cycle placed and that were elsewhere when the session opened."""
    opening, placed = recording.timeline.state_at(opened).tasks, placements_before(recording, seq)
    return {
        node: [
            RoomTaker(task, node, placed[task.key])
            for task in tasks
            if task.key in placed and opening[task.key].node != node
        ]
        for node, tasks in tasks_by_node(recording, seq).items()
    }


@per_recording(most=8)
def placements_before(recording: Recording, seq: Seq) -> Mapping[TaskKey, Seq]:
    """Task → the last operation up to an event that placed the task."""
    operations = ((op_seq, event) for op_seq, event in recording.events_of_type(OpEvent) if op_seq <= seq)
    return {event.task: op_seq for op_seq, event in operations if event.op in PLACING_OPS}


def taker_facts(fits: NodeFits, takers: RoomTakers) -> list[str]:
    """Sentences about the tasks that were placed in the room, and why they came first."""
    jobs, own = fits.view.session.jobs, fits.view.queue.name
    # A generator, since only the names that are shown are made: half of thousands of jobs may be takers for each job
    # of the other half. One pod is named, the queue unless it is the job's own.
    queues = ((job, pods, jobs[job].queue) for job, pods in takers.pods.items())
    words = (
        f"{pods[0] if len(pods) == 1 else count_noun(len(pods), 'pod')} of {job}{'' if q == own else f' (queue {q})'}"
        for job, pods, q in queues
    )
    taker_names = join_first_names(words, len(takers.pods))
    first = takers.tasks[0]
    were = verb_for(len(takers.tasks), "was")
    reason = order_words(fits.view.recording, first.seq, jobs[first.task.job], fits.view.job)
    had = f"{join_names(takers.nodes)} had room at the start of this cycle; {taker_names} {were} placed there first"
    return [f"{had}, since {reason}." if reason else f"{had}.", *_return_facts(fits.view, takers.tasks)]


def taker_advice(fits: NodeFits, takers: RoomTakers) -> tuple[Advice, ...]:
    """Advice to serve the queue before the one that was first; empty where priorities of queues do not decide that."""
    from vcdebug.explain import plugins

    own = fits.view.queue
    other = fits.view.session.queues[fits.view.session.jobs[takers.tasks[0].task.job].queue] if takers.tasks else own
    if other.name == own.name:
        return ()
    order = _queue_order(fits.view.recording, takers.tasks[0].seq, other.name, own.name)
    if not any(step.difference.label == plugins.QUEUE_PRIORITY for step in order.steps):
        return ()
    words = f"Queue {own.name}: spec.priority {own.priority} -> {other.priority + 1} (served before {other.name})."
    return (Advice.queue_admin(words, f"Queue/{own.name}:spec.priority={other.priority + 1}"),)


def _return_facts(view: JobView, takers: Sequence[RoomTaker]) -> Iterator[str]:
    """Yields a sentence if the first taker is larger than what its queue deserves, so that reclaim evicts it again."""
    task = takers[0].task
    job = view.session.jobs[task.job]
    deserved = Resource.from_list(view.session.queues[job.queue].deserved)
    reclaims = any(view.facts_of(action).evicts and view.facts_of(action).across_queues for action in view.actions)
    if job.queue == view.queue.name or CAPACITY not in view.recording.conf.plugin_names() or not reclaims:
        return
    for name, amount in task.init_resreq.items():
        if name != PODS and 0 < deserved.get(name) < amount:
            texts = amount_text.format_amounts_apart(name, amount, deserved.get(name))
            asks = f"{task.name} alone asks {texts[0]} {name}, more than the {texts[1]} that queue {job.queue} deserves"
            yield f"{asks}: it may be reclaimed once it runs, and come back."
            return


def fits_when_tried(fits: NodeFits) -> NodeFits:
    """The fit when allocate had last tried the job, where later placements took room that it lacked then as well."""
    visits = fits.view.visits_of(ALLOCATE)[-1:]
    seq = visits[0].events[-1][0] if visits and visits[0].tries else fits.seq
    node = fits.nearest_node
    if (
        seq >= fits.seq
        or node is None
        or not node.short
        or not placements_before(fits.view.recording, fits.earliest_seq)
    ):
        return fits
    tried = NodeFits(fits.view, fits.task, seq)
    nearest = tried.nearest_node
    same = nearest is not None and nearest.short and (nearest.name, nearest.kind) == (node.name, node.kind)
    return tried if same and not tried.free_nodes and passing_facts(fits, tried) else fits


def passing_facts(fits: NodeFits, tried: NodeFits | None = None) -> list[str]:
    """A sentence about other jobs' pods that this cycle placed on the nearest node, which reserves nothing; `tried`:
    the fit before them all.
    """
    node = fits.nearest_node
    if node is None or not node.short:
        return []
    placed = placements_before(fits.view.recording, fits.earliest_seq)
    if not placed:
        return []
    tasks = [task for task in fits.tasks_on(node.name) if task.key in placed and task.job != fits.view.job.uid]
    if not tasks or (tried is not None and any(placed[task.key] <= tried.seq for task in tasks)):
        return []
    name = node.short[0][0]
    used = sum_resources(task.resreq for task in tasks).get(name)
    free = max(node.future_idle.get(name), 0.0) + used
    usage, total = (amount_text.format_amount(name, value) for value in (used, free))
    first, pods = fits.task.name, join_names(task.key for task in tasks)
    started = f"{pods} started on {node.name} in this cycle and use {usage} of the {total} {name} that were free"
    if tried is not None:
        started = (
            f"{first} was tried first; then {pods} took {usage} of the {total} {name} that were free on {node.name}"
        )
    return [f"{started}; nothing is reserved for {fits.view.job.uid} (Volcano has no strict FIFO order)."]


def jumping_facts(fits: NodeFits) -> list[str]:
    """A sentence about jobs of lower priority in the same queue that this cycle placed, mostly after this one, and that
    use what the nearest node lacks.
    """
    view, node = fits.view, fits.nearest_node
    lacking = tuple(name for name, _ in node.short) if node is not None else ()
    users = _placed_users(view.recording, view.queue.name, lacking)
    jobs = [uid for _, uid in users[: bisect_left(users, (view.job.priority, ""))]]
    if not jobs:
        return []
    are, fit = ("is", "it fits") if len(jobs) == 1 else ("are", "they fit")
    placed_now = f"of lower priority {are} placed in this cycle, since {fit}"
    return [f"{join_first_names(jobs, len(jobs))} {placed_now}; nothing is reserved for {view.job.uid}."]


@per_recording(most=64)
def _placed_users(recording: Recording, queue: QueueName, names: tuple[str, ...]) -> Sequence[tuple[int, JobId]]:
    """(priority, name) of the queue's jobs with pods placed in this cycle that use a dimension, lowest first."""
    keys, owners, jobs = placements_before(recording, len(recording)), recording.owners.jobs, recording.session.jobs
    placed = (jobs[uid] for uid in dict.fromkeys(owners[key] for key in keys if key in owners))
    own = (job for job in placed if job.queue == queue and any(job.allocated.get(name) for name in names))
    return sorted((job.priority, job.uid) for job in own)


def user_facts(fits: NodeFits) -> list[str]:
    """Sentences: the pods that use the missing dimension on the nearest node, largest first, and those of them that
    have a lower priority in another queue; else empty.
    """
    node = fits.nearest_node
    if node is None or not node.short or node.kind == "too small":
        return []
    name, recording = node.short[0][0], fits.view.recording
    # Of nodes that lack as much, one with pods of other jobs: the job's own pods are no obstacle to it.
    places = dict.fromkeys((node.name, *(each.name for each in fits.table.alike(node)[:8])))
    users = ((place, users_of_node(recording, fits.earliest_seq, place, name)) for place in places)
    shared = (one for one in users if any(key not in fits.view.tasks for key, _ in one[1]))
    place, pods = next(shared, (node.name, users_of_node(recording, fits.earliest_seq, node.name, name)))
    if not pods:
        return []
    used = f"In use on {place} ({name}): {amount_text.join_ranked_amounts(name, pods, MAX_TAKERS)}."
    jobs = _jobs_on_node(recording, fits.earliest_seq, place, name)
    return [used, *_lower_elsewhere(fits.view, jobs), *_elastic_users(fits.view, jobs)]


def _lower_elsewhere(view: JobView, others: Sequence[JobInfo]) -> Iterator[str]:
    """Yields a sentence about those of the jobs that have a lower priority than the job, in other queues."""
    lower = [one for one in others if one.queue != view.queue.name and one.priority < view.job.priority]
    if lower:
        names = join_names((f"{one.uid} ({one.priority}, queue {one.queue})" for one in lower), MAX_TAKERS)
        own = f"priority {view.job.priority} counts only within queue {view.queue.name}"
        one_queue = "In one queue it would order them, and preempt could evict by it"
        yield f"Of lower priority there: {names}; {own}. {one_queue}."


def _elastic_users(view: JobView, others: Sequence[JobInfo]) -> Iterator[str]:
    """Yields a sentence about a job of the queue with pods above its gang's minimum, which preempt would not take."""
    conf, own = view.recording.conf, view.job
    peers = (one for one in others if one.uid != own.uid and one.queue == own.queue and own.priority <= one.priority)
    for job in peers if PRIORITY in conf.plugin_names() and PREEMPT not in conf.actions else ():
        extra = job.ready_task_num() - job.min_available
        if extra > 0 and job.min_available > 1:
            runs = f"{job.uid} runs {count_noun(extra, 'pod')} more than its minMember {job.min_available}"
            needs = f"action preempt and a PriorityClass above {job.priority} (it has {own.priority})"
            yield f"{runs}; taking those back needs {needs}."
            return


_MAX_MOVED = 4
"""Pods of the same job on the nearest node whose other nodes are looked up; each costs a call of the predicates."""


def own_users(fits: NodeFits) -> Iterator[str | Advice]:
    """Yields a sentence and advice about a pod of the same job on the nearest node that also fits another one."""
    node = fits.nearest_node
    if not fits.view.detailed or node is None or not node.short or node.kind == "too small":
        return
    opening = fits.view.recording.timeline.opening_tasks
    own = [task for task in fits.tasks_on(node.name) if task.key in fits.view.tasks and opening[task.key].node]
    for task in sorted(own, key=lambda task: task.key)[:_MAX_MOVED]:
        room = node.future_idle.clone().add(task.resreq)
        free_nodes = fits.for_task(task).free_nodes if fits.task.init_resreq.less_equal(room) else ()
        others = [other for other in free_nodes if other.name != node.name]
        if others:
            also = join_names(other.name for other in others)
            here = f"{task.name} of the same job runs on {node.name}"
            yield f"{here} and also fits {also}, which {fits.task.name} does not."
            how = "delete it, and require such a node in its template (node affinity)"
            yield Advice.for_owner(
                f"Move {task.name} to {others[0].name}: {how}.", f"Pod/{task.key}:spec.nodeName={others[0].name}"
            )
            return


@per_recording(most=64)
def users_of_node(recording: Recording, seq: Seq, node: NodeName, name: str) -> Sequence[tuple[TaskKey, float]]:
    """The pods on a node after an event and what each uses of a dimension, the largest first."""
    tasks = tasks_by_node(recording, seq).get(node, ())
    return amount_text.rank_by_amount({t.key: value for t in tasks if (value := t.resreq.get(name)) > 0})


@per_recording(most=64)
def _jobs_on_node(recording: Recording, seq: Seq, node: NodeName, name: str) -> Sequence[JobInfo]:
    """The jobs of the pods that use a dimension on a node, in the order of users_of_node."""
    owners, jobs = recording.owners.jobs, recording.session.jobs
    users = dict.fromkeys(owners.get(key, "") for key, _ in users_of_node(recording, seq, node, name))
    return [jobs[uid] for uid in users if uid in jobs]


# All jobs of a queue that lost their room to the same pod ask for it.
@per_recording(most=10_000)
def _queue_order(recording: Recording, seq: Seq, first: QueueName, second: QueueName) -> OrderComparison:
    from vcdebug.explain.orders import order_of

    return order_of(recording, seq, "queue", first, second)


def order_words(recording: Recording, seq: Seq, other: JobInfo, job: JobInfo) -> str:
    """Which comparison of queues or jobs put the other job first at an event, and its figures; empty if none did."""
    from vcdebug.explain.orders import order_of

    if other.queue != job.queue:
        comparison = _queue_order(recording, seq, other.queue, job.queue)
        if comparison.order_sign >= 0:
            return ""
        hint = "; priority orders jobs only within a queue" if job.priority > other.priority else ""
        return f"queue {other.queue} is served before {job.queue}{comparison.deciding_words}{hint}"
    comparison = order_of(recording, seq, "job", other.uid, job.uid)
    return f"{other.uid} is tried before {job.uid}{comparison.deciding_words}" if comparison.order_sign < 0 else ""


def taker_evidence(takers: RoomTakers) -> tuple[Evidence, ...]:
    """One evidence line per placement, at most MAX_TAKERS."""
    return tuple(Evidence(one.seq, f"{one.task.key} is placed on {one.node}") for one in takers.tasks[:MAX_TAKERS])


# Gangs that lack a part of their pods, and hold room that another such gang needs


def deadlocked_gangs(fits: NodeFits) -> Iterator[str | Advice]:
    """Yields a sentence and advice if the job runs a part of its gang and another such gang holds room."""
    view, job = fits.view, fits.view.job
    if not 0 < job.ready_task_num() < job.min_available:
        return
    nodes = [node.name for node in fits.of_kind("short", "pods")]
    held = group_by_key((task.job, node) for node in nodes for task in fits.tasks_on(node) if task.job != job.uid)
    jobs = ((view.session.jobs[uid], places) for uid, places in held.items() if uid in view.session.jobs)
    halves = ((other, places) for other, places in jobs if 0 < other.ready_task_num() < other.min_available)
    own = [(node, [task for task in fits.tasks_on(node.name) if task.job == job.uid]) for node in fits.node_fits]
    rooms = [node.future_idle.clone().add(sum_resources(task.resreq for task in tasks)) for node, tasks in own if tasks]
    # Those with a Pending pod that would have room on a node without the pods of this job.
    stuck = [
        (other, places)
        for other, places in halves
        for task in other.tasks.values()
        if task.status is TaskStatus.PENDING and any(task.init_resreq.less_equal(room) for room in rooms)
    ]
    if not stuck:
        return
    other, places = stuck[0]
    lacks = f"runs {other.ready_task_num()} of the {count_noun(other.min_available, 'pod')} of its minMember as well"
    where = f"holds room on {join_names(dict.fromkeys(places), 3)}"
    yield f"{other.uid} {lacks} and {where}: the gangs wait for each other, and neither starts."
    edits = (f"Pod/{task.key}:-" for task in other.tasks.values())
    words = (
        f"Suspend or delete {other.uid}, which cannot start either (ends {count_noun(other.ready_task_num(), 'pod')})."
    )
    yield Advice.queue_admin(words, *edits, f"PodGroup/{other.uid}:-").as_repair()


# Pods of one gang that take each other's room


def nearest_node_words(view: JobView, attempt: TaskTry, visit: JobVisit) -> str:
    """`; it asks 8 cpu, and n1 has the most left, 6`: of the nodes that lack one dimension only the one with most of it
    after earlier placements, and whether no node has more; empty without one.
    """
    seq = next((seq for seq, _ in attempt.empty_passes), visit.first)
    request, since = view.tasks[attempt.task].init_resreq, view.recording.timeline.earliest_same_seq(seq)
    rooms = [(node, room.future_idle) for node, room in room_by_node(view.recording, since).items()]
    shortages = [(node, free, request.less_equal_with_resources_name(free)[1]) for node, free in rooms]
    near = [(free.get(short[0]), node, short[0]) for node, free, short in shortages if len(short) == 1]
    if not near:
        return ""
    free, node, name = max(near, key=lambda shortage: shortage[0])
    asked, spare = amount_text.format_amounts_apart(name, request.get(name), max(free, 0.0))
    is_most = all(other.get(name) <= free for _, other in rooms)
    return f"; it asks {asked} {name}, and {node} has {f'the most left, {spare}' if is_most else f'{spare} left'}"


def template_key(task: TaskInfo) -> str:
    """A text that is equal for pods with equal request, selectors, affinity, tolerations and volumes."""
    constraints = [task.pod.spec.get(key) for key in ("nodeSelector", "affinity", "tolerations", "volumes")]
    return repr((task.init_resreq, constraints))


def gang_takers(view: JobView, attempt: TaskTry, visit: JobVisit) -> tuple[list[str], tuple[Advice, ...]]:
    """(sentence, advice) about a pod of the same gang that was placed where this one would have fitted, although other
    nodes could have taken it; empty without one.
    """
    end = next((seq for seq, _ in attempt.empty_passes), None)
    if end is None or visit.first <= 1:
        return [], ()
    task, timeline = view.tasks[attempt.task], view.recording.timeline
    before, after = (room_by_node(view.recording, timeline.earliest_same_seq(seq)) for seq in (visit.first - 1, end))
    for earlier in visit.tries:
        placed, searches = earlier.last_placement, earlier.predicate_passes
        if placed is None or not searches or earlier.task not in view.tasks:
            continue
        node, rows = placed[1].node, searches[-1][1].feasible.tolist()
        others = [name for name in (view.recording.node_names[row] for row in rows) if name != node]
        if not others or not task.init_resreq.less_equal(before[node].future_idle):
            continue
        taker = view.tasks[earlier.task]
        # Of equal pods one is left over in whatever order they are placed.
        if template_key(taker) == template_key(task):
            continue
        if task.init_resreq.less_equal(after[node].future_idle.clone().add(taker.init_resreq)):
            left = after[node].future_idle
            lacking = task.init_resreq.less_equal_with_resources_name(left)[1]
            fact = f"{node} had room for {task.name} until {taker.name}, which also fits {join_names(others)}, took it"
            rest = join_names(amount_text.format_named_amount(name, max(left.get(name), 0.0)) for name in lacking[:1])
            fact += f" ({rest} left)" if rest else ""
            first = f"Place {task.name} before {taker.name}: a higher priorityClassName of its pods."
            moved = f"{taker.name}: nodeSelector {HOSTNAME_KEY} {others[0]} (leaves {node} to {task.name})."
            rooms = [room.future_idle for room in before.values()]
            return [f"{fact}.", *_total_facts(view, rooms, lacking)], (
                Advice.for_owner(first, f"Pod/{task.key}:spec.priority={taker.priority + 1}"),
                Advice.for_owner(moved, f"Pod/{taker.key}:spec.nodeSelector[{HOSTNAME_KEY}]={others[0]}"),
                *_largest_first(view, lacking),
            )
    return [], ()


def _total_facts(view: JobView, rooms: Sequence[Resource], lacking: Sequence[str]) -> Iterator[str]:
    """A sentence if all nodes together have what the pods of a gang lack on single nodes."""
    for name in lacking[:1]:
        asked = sum(task.init_resreq.get(name) for task in view.unplaced_tasks)
        free = sum(max(room.get(name), 0.0) for room in rooms)
        if asked <= free:
            request, available = amount_text.format_amounts_apart(name, asked, free)
            pods = count_noun(len(view.unplaced_tasks), "pod")
            yield f"The total is not short: its {pods} ask {request} {name}, and {available} is free on all nodes."


def _largest_first(view: JobView, lacking: Sequence[str]) -> Iterator[Advice]:
    """Advice to place the pods of a gang by their requests, if more than two sizes make this an order of its own."""
    requests = {task.key: task.init_resreq.get(name) for name in lacking[:1] for task in view.unplaced_tasks}
    sizes = sorted({*requests.values()})
    if len(sizes) > 2:
        words = f"Place its pods by {lacking[0]}, the largest first: a higher priorityClassName for a larger request."
        start = max(task.priority for task in view.unplaced_tasks)
        ranks = ((key, start + sizes.index(request)) for key, request in requests.items())
        yield Advice.for_owner(words, *(f"Pod/{key}:spec.priority={rank}" for key, rank in ranks))
