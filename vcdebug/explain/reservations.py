"""What queues keep for pods behind Volcano's own scheduling gate: the plugin's own books, kept again up to an event."""

from __future__ import annotations

from vcdebug.framework.record import HookEvent, OpEvent
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.resource import Resource
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.capacity import Capacity
from vcdebug.plugins.capacity.reservation import Reservations
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

TAKES, GIVES = ("allocate", "pipeline", "unevict"), ("evict", "unpipeline", "unallocate")


def reserved_beside(recording: Recording, seq: Seq, queue: QueueName, task: TaskInfo) -> Resource | None:
    """What the queue keeps for other tasks before an event; None where nothing is kept for anybody."""
    plugin = recording.session.plugins.get(Capacity.name)
    if not isinstance(plugin, Capacity) or plugin.limits.reservations is None:
        return None
    return _kept(recording, seq).beside(queue, task)


@per_recording(most=16)
def _kept(recording: Recording, seq: Seq) -> Reservations:
    timeline, owners = recording.timeline, recording.owners
    tasks = ((job.queue, task) for job in recording.session.jobs.values() for task in job.tasks.values())
    opening = (entry for entry in tasks if timeline.opening_tasks[entry[1].key].status is TaskStatus.PENDING)
    kept = Reservations(opening)
    for number in range(1, seq):
        event = recording.event(number)
        if isinstance(event, HookEvent) and (event.plugin, event.point) == (Capacity.name, "Allocatable"):
            if event.result:
                kept.add(event.queue, timeline.tasks[event.task])
        elif isinstance(event, OpEvent) and event.op in TAKES:
            kept.remove(timeline.tasks[event.task].uid)
        elif isinstance(event, OpEvent) and event.op in GIVES and event.task in owners.jobs:
            kept.add(owners.queues[owners.jobs[event.task]], timeline.tasks[event.task])
    return kept
