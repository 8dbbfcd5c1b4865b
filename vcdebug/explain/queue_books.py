"""What queues hold while evictions are simulated, and what they keep for gated pods: the plugin's books, kept again."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from vcdebug.framework.hooks import ALLOCATABLE, PRE_PREDICATE, SIMULATE_ADD_TASK, SIMULATE_REMOVE_TASK
from vcdebug.framework.record import CHARGING_OPS, RELEASING_OPS, HookEvent, Level, OpEvent
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import CAPACITY
from vcdebug.trace.index import TASK
from vcdebug.trace.index import seq_before as before_seq
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import state_before, task_of

if TYPE_CHECKING:
    from vcdebug.plugins.capacity.reservation import Reservations

SIMULATED_EXCHANGES = {SIMULATE_ADD_TASK.upstream: True, SIMULATE_REMOVE_TASK.upstream: False}


def dry_run_start(recording: Recording, seq: Seq, plugin: str, task: TaskKey) -> Seq | None:
    """The PrePredicate that a plugin's simulations for the task start from."""
    about = recording.index.seqs_about(TASK, task)
    earlier = before_seq(about, seq)
    while earlier is not None:
        event = recording.event_at(earlier)
        if isinstance(event, HookEvent) and (event.plugin, event.point) == (plugin, PRE_PREDICATE.upstream):
            return earlier
        earlier = before_seq(about, earlier)
    return None


def simulated_allocation(
    recording: Recording, start: Seq, seq: Seq, plugin: str, queue: QueueName, family: Collection[QueueName]
) -> Resource:
    """What a queue holds with the dry run's additions and removals; `family` are the queues whose tasks count."""
    held = state_before(recording, start).plugin_amount(plugin, queue, "allocated").clone()
    span = recording.span_tree.span_around(seq, Level.NODE)
    for _, event in recording.filter_events(HookEvent, range(seq if span is None else span.first, seq)):
        if event.plugin == plugin and event.result is None and event.point in SIMULATED_EXCHANGES:
            task = task_of(recording, event.other)
            if recording.owners.queues.get(task.job) in family:
                held = held.add(task.resreq) if SIMULATED_EXCHANGES[event.point] else held.sub(task.resreq)
    return held


def reserved_for_others(recording: Recording, seq: Seq, queue: QueueName, task: TaskInfo) -> Resource | None:
    """What the queue keeps for other tasks before an event; None where nothing is kept for anybody."""
    plugin = recording.session.plugins.get(CAPACITY)
    if plugin is None:
        return None
    from vcdebug.plugins.capacity import Capacity

    if not isinstance(plugin, Capacity) or plugin.limits.reservations is None:
        return None
    return _reservations_before(recording, seq).reserved_for_others(queue, task)


@per_recording(most=16)
def _reservations_before(recording: Recording, seq: Seq) -> Reservations:
    from vcdebug.plugins.capacity.reservation import Reservations

    timeline, owners = recording.timeline, recording.owners
    tasks = ((job.queue, task) for job in recording.session.jobs.values() for task in job.tasks.values())
    opening = (entry for entry in tasks if timeline.opening_tasks[entry[1].key].status is TaskStatus.PENDING)
    kept = Reservations(opening)
    for number in range(1, seq):
        event = recording.event_at(number)
        if isinstance(event, HookEvent) and (event.plugin, event.point) == (CAPACITY, ALLOCATABLE.upstream):
            if event.result:
                kept.add_task(event.queue, timeline.tasks[event.task])
        elif isinstance(event, OpEvent) and event.op in CHARGING_OPS:
            kept.remove_task(timeline.tasks[event.task].uid)
        elif isinstance(event, OpEvent) and event.op in RELEASING_OPS and event.task in owners.jobs:
            kept.add_task(owners.queues[owners.jobs[event.task]], timeline.tasks[event.task])
    return kept
