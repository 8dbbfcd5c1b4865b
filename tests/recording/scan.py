"""A simple implementation of the index: the objects of one event, read field by field."""

from collections.abc import Callable, Iterator

from vcdebug.framework.record import (
    BestEvent,
    Event,
    HookEvent,
    OpEvent,
    PopEvent,
    PredicateEvent,
    ScoreEvent,
    StatementEvent,
)
from vcdebug.model.names import SubJobId, TaskKey
from vcdebug.recording.event_index import JOB, NODE, PLUGIN, QUEUE, TASK, Owners

Key = tuple[str, str]


def _hook(event: HookEvent, owners: Owners) -> Iterator[Key]:
    yield PLUGIN, event.plugin
    for field, value in event.subject:
        if field in (JOB, QUEUE, NODE):
            yield field, value
        elif field in (TASK, "other"):
            yield from _task(value, owners)
        elif field == "candidates":
            for task in value:
                yield from _task(task, owners)
        elif field == "subjob":
            yield from _sub_job(value, owners)
    if event.point == "VictimTasks":
        for task in event.result:
            yield from _task(task, owners)


def _task(task: TaskKey, owners: Owners) -> Iterator[Key]:
    yield TASK, task
    job = owners.jobs.get(task)
    if job is not None:
        yield JOB, job


def _sub_job(sub_job: SubJobId, owners: Owners) -> Iterator[Key]:
    job = owners.sub_jobs.get(sub_job)
    if job is not None:
        yield JOB, job


def _pop(event: PopEvent, owners: Owners) -> Iterator[Key]:
    if event.kind == TASK:
        yield from _task(event.name, owners)
    elif event.kind == "subjob":
        yield from _sub_job(event.name, owners)
    else:
        yield event.kind, event.name


def _search(event: PredicateEvent | ScoreEvent, owners: Owners) -> Iterator[Key]:
    """Yield the task of a search; the visited nodes come from the event's rows."""
    return _task(event.task, owners)


def _best(event: BestEvent, owners: Owners) -> Iterator[Key]:
    yield event.kind, event.name


def _op(event: OpEvent, owners: Owners) -> Iterator[Key]:
    yield from _task(event.task, owners)
    yield NODE, event.node


def _statement(event: StatementEvent, owners: Owners) -> Iterator[Key]:
    for _, task, node in event.ops:
        yield from _task(task, owners)
        yield NODE, node


_SUBJECTS: dict[type, Callable[..., Iterator[Key]]] = {
    HookEvent: _hook,
    PopEvent: _pop,
    PredicateEvent: _search,
    ScoreEvent: _search,
    BestEvent: _best,
    OpEvent: _op,
    StatementEvent: _statement,
}


def subjects(event: Event, owners: Owners) -> Iterator[Key]:
    """(kind, name) of every object that an event concerns."""
    yields = _SUBJECTS.get(type(event))
    return iter(()) if yields is None else yields(event, owners)
