"""A job's visits: each time an action turned to it, which tasks it tried, and on which nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vcdebug.framework.hooks import (
    ALLOCATABLE,
    PREDICATE,
    PREEMPTABLE,
    RECLAIMABLE,
    SIMULATE_ALLOCATABLE,
    SIMULATE_PREDICATE,
)
from vcdebug.framework.record import (
    PLACING_OPS,
    Event,
    HookEvent,
    Level,
    OpEvent,
    PopEvent,
    PredicateEvent,
    Span,
    StatementEvent,
)
from vcdebug.model.names import JobId, NodeName, Seq, TaskKey
from vcdebug.trace.recording import Recording

Numbered = tuple[Seq, Event]
VOTES = (PREEMPTABLE.upstream, RECLAIMABLE.upstream)
"""Who may be evicted."""
AFTER = (ALLOCATABLE.upstream, SIMULATE_ALLOCATABLE.upstream, PREDICATE.upstream, SIMULATE_PREDICATE.upstream)
"""What is asked once the victims of a node are known."""


def says_no(event: HookEvent) -> bool:
    """Whether the answer to one of AFTER is against the task; a predicate that objects to nothing answers nothing."""
    return event.result is not None if event.point.endswith(PREDICATE.upstream) else not event.result


@dataclass(frozen=True, slots=True)
class NodeTry:
    """An evicting action looks at one node for one task."""

    node: NodeName
    first: Seq
    """The event before which the node was looked at."""
    events: tuple[Numbered, ...]

    def hooks(self, *points: str) -> list[tuple[Seq, HookEvent]]:
        """Calls of these hooks, in order."""
        return list(_hooks(self.events, points))

    @property
    def votes(self) -> list[tuple[Seq, HookEvent]]:
        """Who was asked about victims here."""
        return self.hooks(*VOTES)

    @property
    def candidates(self) -> tuple[TaskKey, ...]:
        """Whom the action's filter offered."""
        return next((event.candidates for _, event in self.votes), ())

    @property
    def placed(self) -> bool:
        """Whether the task got a place here."""
        return any(isinstance(event, OpEvent) and event.op in PLACING_OPS for _, event in self.events)

    @property
    def evicted(self) -> dict[TaskKey, Seq]:
        """Who was evicted here, and at which event."""
        return {event.task: seq for seq, event in self.events if isinstance(event, OpEvent) and event.op == "evict"}


@dataclass(frozen=True, slots=True)
class TaskTry:
    """An action tries one task."""

    action: str
    task: TaskKey
    first: Seq
    events: tuple[Numbered, ...]
    nodes: tuple[NodeTry, ...]

    @property
    def name(self) -> str:
        """The task's name without its namespace."""
        return self.task.rpartition("/")[2]

    def hooks(self, *points: str) -> list[tuple[Seq, HookEvent]]:
        """Calls of these hooks about the task, those for one node left out."""
        inner = {seq for node in self.nodes for seq, _ in node.events}
        return [(seq, event) for seq, event in _hooks(self.events, points) if seq not in inner]

    @property
    def searches(self) -> list[tuple[Seq, PredicateEvent]]:
        """Passes of predicates over nodes."""
        return [(seq, event) for seq, event in self.events if isinstance(event, PredicateEvent)]

    @property
    def place(self) -> tuple[Seq, OpEvent] | None:
        """The operation that gave the task a node, even if it was undone later."""
        found = [
            (seq, e) for seq, e in self.events if isinstance(e, OpEvent) and e.op in PLACING_OPS and e.task == self.task
        ]
        return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class Visit:
    """An action turns to the job."""

    action: str
    first: Seq
    events: tuple[Numbered, ...]
    tries: tuple[TaskTry, ...]
    end: tuple[Seq, StatementEvent] | None
    """The statement that decided about all tasks together; None where each task had its own."""

    def hooks(self, *points: str) -> list[tuple[Seq, HookEvent]]:
        """Calls of these hooks in the visit."""
        return list(_hooks(self.events, points))

    @property
    def committed(self) -> bool:
        """Whether the statement was committed."""
        return self.end is not None and self.end[1].what == "commit"

    @property
    def at_once(self) -> bool:
        """Whether no statement held back what was done."""
        return not any(isinstance(event, StatementEvent) for _, event in self.events)

    @property
    def planned(self) -> list[TaskKey]:
        """Tasks for which the statement had a place, or that got one at once."""
        if self.end:
            return [task for kind, task, _ in self.end[1].ops if kind in PLACING_OPS]
        return [one.task for one in self.tries if one.place] if self.at_once else []


def visits(recording: Recording, job: JobId) -> list[Visit]:
    """Every visit of the cycle, in order."""
    return [_visit(recording, span) for span in recording.index.spans_of(Level.JOB, job) if span.last >= span.first]


def _parents(recording: Recording, span: Span) -> Iterator[Span]:
    while span.parent >= 0:
        span = recording.spans[span.parent]
        yield span


def _action(recording: Recording, span: Span) -> str:
    return next((parent.name for parent in _parents(recording, span) if parent.level == Level.ACTION), "")


def _visit(recording: Recording, span: Span) -> Visit:
    action = _action(recording, span)
    tasks = [inner for inner in inside(recording, span) if inner.level == Level.TASK]
    tries = tuple(_task_try(recording, inner, action) for inner in tasks)
    events = _events(recording, span)
    ends = [
        (seq, event)
        for seq, event in events
        if isinstance(event, StatementEvent)
        and event.what in ("commit", "discard")
        and not any(inner.first <= seq <= inner.last for inner in tasks)
    ]
    return Visit(action, span.first, events, tries, ends[-1] if ends else None)


def _task_try(recording: Recording, span: Span, action: str) -> TaskTry:
    nodes = tuple(
        NodeTry(inner.name, inner.first, _events(recording, inner))
        for inner in inside(recording, span)
        if inner.level == Level.NODE
    )
    return TaskTry(action, span.name, span.first, _events(recording, span), nodes)


def inside(recording: Recording, span: Span) -> Iterator[Span]:
    """Spans inside one, empty ones included: they follow it until one that is not."""
    for index in range(span.index + 1, len(recording.spans)):
        inner = recording.spans[index]
        if inner.parent < span.index:
            return
        yield inner


def _events(recording: Recording, span: Span) -> tuple[Numbered, ...]:
    return tuple(zip(range(span.first, span.last + 1), recording.events[span.first - 1 : span.last], strict=True))


def _hooks(events: Sequence[Numbered], points: tuple[str, ...]) -> Iterator[tuple[Seq, HookEvent]]:
    for seq, event in events:
        if isinstance(event, HookEvent) and event.point in points:
            yield seq, event


def between_jobs(recording: Recording, job: Span) -> bool:
    """preempt turns to each job twice; only the first time the job has just left its queue."""
    event = recording.event(job.first - 1) if job.first > 1 else None
    return isinstance(event, PopEvent) and event.kind == "job" and event.name == job.name
