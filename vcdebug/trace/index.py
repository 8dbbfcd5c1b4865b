"""Where in a recording something is spoken of: event numbers by job, task, node, queue, plugin, hook and event type."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from vcdebug.framework.record import (
    BestEvent,
    Event,
    HookEvent,
    Level,
    OpEvent,
    PopEvent,
    PredicateEvent,
    Record,
    ScoreEvent,
    Span,
    StatementEvent,
)
from vcdebug.framework.session import Session
from vcdebug.model.names import JobId, QueueName, Seq, SubJobId, TaskKey

Seqs = Sequence[Seq]
"""Ascending event numbers."""
EMPTY: Seqs = array("I")

TASK, JOB, NODE, QUEUE, PLUGIN = "task", "job", "node", "queue", "plugin"


class Owners(NamedTuple):
    """What belongs to what; none of it changes during a cycle."""

    jobs: Mapping[TaskKey, JobId]
    sub_jobs: Mapping[SubJobId, JobId]
    queues: Mapping[JobId, QueueName]

    @classmethod
    def of(cls, session: Session) -> Owners:
        """From the jobs of a session."""
        jobs = session.jobs.values()
        return cls(
            {task.key: job.uid for job in jobs for task in job.tasks.values()},
            {uid: job.uid for job in jobs for uid in job.sub_jobs},
            {job.uid: job.queue for job in jobs},
        )


class Index:
    """Event numbers by subject, built in one pass when they are first asked for."""

    def __init__(self, record: Record, owners: Owners) -> None:
        self._record = record
        self._owners = owners

    def of_type(self, kind: type[Event]) -> Seqs:
        """Events of one type."""
        return self._types.get(kind, EMPTY)

    def at_point(self, point: str) -> Seqs:
        """Calls of one hook, by upstream's name."""
        return self._points.get(point, EMPTY)

    def about(self, kind: str, name: str) -> Seqs:
        """Events that concern one task, job, node, queue or plugin."""
        return self._subjects.get((kind, name), EMPTY)

    def names(self, kind: str) -> list[str]:
        """Everything of one kind that some event concerns, in order of appearance."""
        return [name for known, name in self._subjects if known == kind]

    def spans_of(self, level: Level, name: str) -> Sequence[Span]:
        """The spans of one action, queue, job, task or node, in order."""
        return self._spans.get((level, name), ())

    @cached_property
    def _types(self) -> dict[type[Event], array[int]]:
        found: dict[type[Event], array[int]] = {}
        for seq, event in enumerate(self._record.events, start=1):
            kind = type(event)
            if kind not in found:
                found[kind] = array("I")
            found[kind].append(seq)
        return found

    @cached_property
    def _points(self) -> dict[str, array[int]]:
        found: dict[str, array[int]] = {}
        events = self._record.events
        for seq in self.of_type(HookEvent):
            event = events[seq - 1]
            assert isinstance(event, HookEvent)
            if event.point not in found:
                found[event.point] = array("I")
            found[event.point].append(seq)
        return found

    @cached_property
    def _subjects(self) -> dict[tuple[str, str], array[int]]:
        found: dict[tuple[str, str], array[int]] = {}
        for seq, event in enumerate(self._record.events, start=1):
            for key in subjects(event, self._owners):
                entries = found.get(key)
                if entries is None:
                    entries = found[key] = array("I")
                if not entries or entries[-1] != seq:
                    entries.append(seq)
        return found

    @cached_property
    def _spans(self) -> dict[tuple[Level, str], list[Span]]:
        found: dict[tuple[Level, str], list[Span]] = {}
        for span in self._record.spans:
            found.setdefault((span.level, span.name), []).append(span)
        return found


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
    """A pass over nodes concerns its task; which nodes it visited, the event's rows say."""
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
    """(kind, name) of everything that an event concerns."""
    yields = _SUBJECTS.get(type(event))
    return iter(()) if yields is None else yields(event, owners)


def after(seqs: Seqs, seq: Seq) -> Seq | None:
    """The first of ascending numbers beyond `seq`."""
    position = bisect_right(seqs, seq)
    return seqs[position] if position < len(seqs) else None


def before(seqs: Seqs, seq: Seq) -> Seq | None:
    """The last of ascending numbers below `seq`."""
    position = bisect_left(seqs, seq)
    return seqs[position - 1] if position else None
