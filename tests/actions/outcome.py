"""Replays small clusters and reads their outcomes."""

from typing import Any

from tests.builders import cluster, conf_of
from vcdebug.framework.record import CloseEvent, HookEvent, OpEvent, PopEvent, StatementEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle

DEFAULT_TIERS = ("priority gang conformance", "overcommit drf predicates proportion nodeorder")


def ran(*objects: Any, actions: str, tiers: tuple[str, ...] = DEFAULT_TIERS, extra: str = "") -> Recording:
    """Replay these objects with the given actions."""
    return replay_cycle(cluster(*objects, conf=conf_of(*tiers, actions=actions) + extra))


def closed(recording: Recording) -> CloseEvent:
    """The last event of a cycle that did not panic."""
    event = recording.events[-1]
    assert isinstance(event, CloseEvent), event
    return event


def tasks(recording: Recording) -> dict[str, str]:
    """pod name → `Status@node`, of all jobs."""
    return {
        key.partition("/")[2]: f"{task.status.upstream_name}@{task.node}"
        for job in closed(recording).jobs.values()
        for key, task in job.tasks.items()
    }


def messages(recording: Recording) -> dict[str, str | None]:
    """pod name -> message, of Pending tasks."""
    return {
        key.partition("/")[2]: task.message
        for job in closed(recording).jobs.values()
        for key, task in job.tasks.items()
        if task.reason is not None
    }


def phases(recording: Recording) -> dict[str, str]:
    """PodGroup name → phase at close."""
    return {uid.partition("/")[2]: job.phase for uid, job in closed(recording).jobs.items()}


def ops(recording: Recording) -> list[str]:
    """`op pod@node`, in order."""
    events = (event for event in recording.events if isinstance(event, OpEvent))
    return [f"{event.op} {event.task.partition('/')[2]}@{event.node}" for event in events]


def statements(recording: Recording) -> list[str]:
    """`commit N` or `discard N` and the like for each statement, N being its number of operations."""
    return [f"{event.what} {len(event.ops)}" for event in recording.events if isinstance(event, StatementEvent)]


def pops(recording: Recording, kind: str) -> list[str]:
    """The names popped from queues of one kind."""
    return [event.name for event in recording.events if isinstance(event, PopEvent) and event.kind == kind]


def asked(recording: Recording, point: str) -> list[object]:
    """The results of one hook, in order."""
    return [event.result for event in recording.events if isinstance(event, HookEvent) and event.point == point]
