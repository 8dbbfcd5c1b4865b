"""What queues keep for pods behind Volcano's own scheduling gate, followed through the recording.

Upstream: plugins/capacity (queueGateReservedTasks).
"""

from __future__ import annotations

from vcdebug.explain.queues import CAPACITY
from vcdebug.framework.record import HookEvent, OpEvent
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.capacity import Capacity
from vcdebug.plugins.capacity.reservation import opted_in
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

TAKES, GIVES = ("allocate", "pipeline", "unevict"), ("evict", "unpipeline", "unallocate")
Kept = dict[QueueName, dict[TaskKey, TaskInfo]]


def reserved_beside(recording: Recording, seq: Seq, queue: QueueName, task: TaskInfo) -> Resource | None:
    """What the queue keeps for other tasks before an event; None where nothing is kept for anybody."""
    plugin = recording.session.plugins.get(CAPACITY)
    if not isinstance(plugin, Capacity) or plugin.limits.reservations is None:
        return None
    total = Resource()
    for other in sorted(_kept(recording, seq).get(queue, {}).values(), key=lambda other: other.uid):
        if other.uid != task.uid:
            total.add(other.resreq)
    return total


@per_recording(most=16)
def _kept(recording: Recording, seq: Seq) -> Kept:
    kept = _at_open(recording)
    owners = recording.owners
    for number in range(1, seq):
        event = recording.event(number)
        if isinstance(event, HookEvent) and (event.plugin, event.point) == (CAPACITY, "Allocatable") and event.result:
            _keep(recording, kept, event.queue, event.task)
        elif isinstance(event, OpEvent) and event.op in TAKES:
            for tasks in kept.values():
                tasks.pop(event.task, None)
        elif isinstance(event, OpEvent) and event.op in GIVES and event.task in owners.jobs:
            _keep(recording, kept, owners.queues[owners.jobs[event.task]], event.task)
    return kept


def _at_open(recording: Recording) -> Kept:
    """Pending tasks whose gate an earlier cycle removed."""
    kept: Kept = {}
    for job in recording.session.jobs.values():
        for task in job.tasks.values():
            pending = recording.timeline.opening_tasks[task.key].status is TaskStatus.PENDING
            if pending and not task.sch_gated:
                _keep(recording, kept, job.queue, task.key)
    return kept


def _keep(recording: Recording, kept: Kept, queue: QueueName, key: TaskKey) -> None:
    task = recording.timeline.tasks[key]
    if opted_in(task):
        kept.setdefault(queue, {})[key] = task
