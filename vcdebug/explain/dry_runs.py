"""What queues hold while a plugin's simulation of evictions goes on for one task and node."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from vcdebug.explain.state_before import before, task_of
from vcdebug.framework.record import HookEvent, Level
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.trace.index import TASK
from vcdebug.trace.index import before as before_seq
from vcdebug.trace.recording import Recording

EXCHANGES = {"SimulateAddTask": True, "SimulateRemoveTask": False}


def dry_run_start(recording: Recording, seq: Seq, plugin: str, task: TaskKey) -> Seq | None:
    """The PrePredicate that a plugin's simulations for the task start from."""
    about = recording.index.about(TASK, task)
    earlier = before_seq(about, seq)
    while earlier is not None:
        event = recording.event(earlier)
        if isinstance(event, HookEvent) and (event.plugin, event.point) == (plugin, "PrePredicate"):
            return earlier
        earlier = before_seq(about, earlier)
    return None


def simulated(
    recording: Recording, start: Seq, seq: Seq, plugin: str, queue: QueueName, family: Collection[QueueName]
) -> Resource:
    """What a queue holds with the dry run's additions and removals; `family` are the queues whose tasks count."""
    held = before(recording, start).amount(plugin, queue, "allocated").clone()
    span = recording.tree.around(seq, Level.NODE)
    for number in range(seq if span is None else span.first, seq):
        event = recording.event(number)
        if not isinstance(event, HookEvent) or event.plugin != plugin or event.result is not None:
            continue
        if event.point in EXCHANGES:
            task = task_of(recording, event.other)
            if recording.owners.queues.get(task.job) in family:
                held = held.add(task.resreq) if EXCHANGES[event.point] else held.sub(task.resreq)
    return held


def requested(recording: Recording, tasks: Iterable[TaskKey]) -> Resource:
    """What several tasks ask for together."""
    request = Resource()
    for task in tasks:
        request.add(task_of(recording, task).resreq)
    return request
