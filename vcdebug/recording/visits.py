"""A job's visits: each time that an action tried the job, with the tasks and nodes that it tried."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from operator import attrgetter

from msgspec import Struct

from vcdebug.framework import hooks, record
from vcdebug.framework.columns import SpanLog
from vcdebug.model.names import JobId, NodeName, Seq, TaskKey
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import bare_name

NumberedEvent = tuple[Seq, record.Event]
NumberedStatement = tuple[Seq, record.StatementEvent]
NumberedCall = tuple[Seq, record.HookEvent]
NODE_VICTIM_POINTS = (hooks.PREEMPTABLE.upstream, hooks.RECLAIMABLE.upstream)
"""Hooks that choose the victims of a node."""
VICTIM_POINTS = (*NODE_VICTIM_POINTS, hooks.UNIFIED_EVICTABLE.upstream)
"""Hooks that choose victims, of a node or for a gang."""
QUEUE_LIMIT_POINTS = (hooks.ALLOCATABLE.upstream, hooks.SIMULATE_ALLOCATABLE.upstream)
"""Hooks that ask whether the queue has room for a task."""
POST_VICTIM_POINTS = (*QUEUE_LIMIT_POINTS, hooks.PREDICATE.upstream, hooks.SIMULATE_PREDICATE.upstream)
"""Hooks that are called once the victims of a node are known."""


def refusals_in(calls: Iterable[NumberedCall]) -> list[NumberedCall]:
    """The calls that answer no."""
    return [call for call in calls if not call[1].result]


def is_rejection(event: record.HookEvent) -> bool:
    """Whether a call of one of POST_VICTIM_POINTS rejects the task; for predicates, the result None accepts it."""
    return event.result is not None if event.point.endswith(hooks.PREDICATE.upstream) else not event.result


class NodeTry(Struct, frozen=True):
    """One node that an evicting action tries for one task."""

    node: NodeName
    first: Seq
    """The first event about the node."""
    last: Seq
    calls: tuple[NumberedCall, ...]
    operations: tuple[tuple[Seq, record.OpEvent], ...]

    def node_calls(self, *points: str) -> list[NumberedCall]:
        """Calls of these hooks, in order."""
        return [call for call in self.calls if call[1].point in points]

    @property
    def victim_votes(self) -> list[NumberedCall]:
        """Calls of NODE_VICTIM_POINTS on this node."""
        return self.node_calls(*NODE_VICTIM_POINTS)

    @property
    def later_calls(self) -> list[NumberedCall]:
        """Calls of POST_VICTIM_POINTS on this node."""
        return self.node_calls(*POST_VICTIM_POINTS)

    @property
    def candidates(self) -> tuple[TaskKey, ...]:
        """The candidate victims that the action's filter left."""
        for _, event in self.calls:  # a loop: each answer asks each node several times
            if event.point in NODE_VICTIM_POINTS:
                return event.candidates
        return ()

    @property
    def task_placed(self) -> bool:
        """Whether an operation placed the task on this node."""
        return any(event.op in record.PLACING_OPS for _, event in self.operations)

    @property
    def evicted_tasks(self) -> dict[TaskKey, Seq]:
        """Task evicted on this node → its evict event."""
        return {event.task: seq for seq, event in self.operations if event.op == "evict"}


class TaskTry(Struct, frozen=True, dict=True):
    """An action's attempt to place one task."""

    action: str
    task: TaskKey
    first: Seq
    events: tuple[NumberedEvent, ...]
    own_events: tuple[NumberedEvent, ...]
    """Events that concern no single node."""
    nodes: tuple[NodeTry, ...]

    @property
    def task_name(self) -> str:
        """The task's name without its namespace."""
        return bare_name(self.task)

    def task_calls(self, *points: str) -> list[NumberedCall]:
        """Calls of these hooks about the task that concern no single node."""
        return list(_calls_of(self.own_events, points))

    def refusals(self, *points: str) -> list[NumberedCall]:
        """The calls of these hooks about the task that answer no."""
        return refusals_in(self.task_calls(*points))

    @cached_property
    def predicate_passes(self) -> list[tuple[Seq, record.PredicateEvent]]:
        """(event number, event) of each pass of predicates over nodes."""
        return [(seq, event) for seq, event in self.events if isinstance(event, record.PredicateEvent)]

    @property
    def empty_passes(self) -> list[tuple[Seq, record.PredicateEvent]]:
        """The passes that left no node."""
        return [(seq, event) for seq, event in self.predicate_passes if not len(event.feasible)]

    @cached_property
    def last_placement(self) -> tuple[Seq, record.OpEvent] | None:
        """The operation that gave the task a node, even if it was undone later."""
        placed = (
            (seq, event)
            for seq, event in reversed(self.events)
            if isinstance(event, record.OpEvent) and event.op in record.PLACING_OPS and event.task == self.task
        )
        return next(placed, None)

    @property
    def was_dropped(self) -> bool:
        """Whether allocate passed the task over without asking for nodes, such as after a failure in its role."""
        was_asked = self.predicate_passes or self.task_calls(hooks.PRE_PREDICATE.upstream)
        return not (was_asked or self.last_placement or self.refusals(hooks.ALLOCATABLE.upstream))


class JobVisit(Struct, frozen=True, dict=True):
    """One visit of an action to the job."""

    action: str
    first: Seq
    events: tuple[NumberedEvent, ...]
    tries: tuple[TaskTry, ...]
    end: NumberedStatement | None
    """The commit or discard of all tasks together; None where each task had its own statement."""

    def visit_calls(self, *points: str) -> list[NumberedCall]:
        """Calls of these hooks in the visit."""
        return list(_calls_of(self.events, points))

    @property
    def nodes(self) -> list[NodeTry]:
        """The nodes that were tried for any task."""
        return [node for attempt in self.tries for node in attempt.nodes]

    @property
    def unplaced(self) -> list[TaskTry]:
        """The tries of the tasks that the visit did not place."""
        return [attempt for attempt in self.tries if attempt.task not in self.planned_tasks]

    @cached_property
    def has_failure(self) -> bool:
        """Whether the visit looked for a node for a task, or asked its queue, in vain."""
        return any(attempt.last_placement is None and not attempt.was_dropped for attempt in self.tries)

    def is_explained_by(self, earlier: JobVisit) -> bool:
        """Whether the visit ends as it does since `earlier` failed: it drops pods of a role that failed there, or only
        places those that were left of a gang.
        """
        if self.has_failure or self.was_committed or not self.tries:
            return False
        return len(self.planned_tasks) < len(self.tries) or (earlier.has_failure and not earlier.was_committed)

    @property
    def was_committed(self) -> bool:
        """Whether the statement was committed."""
        return self.end is not None and self.end[1].what == "commit"

    @cached_property
    def has_no_statement(self) -> bool:
        """Whether the action worked without a statement."""
        return not any(isinstance(event, record.StatementEvent) for _, event in self.events)

    @cached_property
    def planned_tasks(self) -> list[TaskKey]:
        """Tasks that the statement placed, or that were placed without one."""
        if self.end:
            return [task for kind, task, _ in self.end[1].ops if kind in record.PLACING_OPS]
        return [attempt.task for attempt in self.tries if attempt.last_placement] if self.has_no_statement else []


def job_visits(recording: Recording, job: JobId) -> list[JobVisit]:
    """All visits to a job in the cycle, in order."""
    return [
        _build_visit(recording, span)
        for span in recording.index.spans_of(record.Level.JOB, job)
        if span.last >= span.first
    ]


def _build_visit(recording: Recording, span: record.Span) -> JobVisit:
    action = recording.span_tree.name_around(span.first, record.Level.ACTION)
    events = tuple(zip(range(span.first, span.last + 1), recording.events[span.first - 1 : span.last], strict=True))
    tries = tuple(_task_tries(recording.record.spans, span, action, events))
    tried = [task_try for task_try in tries if task_try.events]
    return JobVisit(action, span.first, events, tries, _statement_end(events, tried))


def _statement_end(events: Sequence[NumberedEvent], tried: Sequence[TaskTry]) -> NumberedStatement | None:
    """The last commit or discard outside of tries; None without one.

    After a vote on the job, allocate discards one statement per subgroup, which together are the job's.
    """
    end: NumberedStatement | None = None
    for seq, event in reversed(events):
        if end is not None and isinstance(event, record.HookEvent):
            break
        if not isinstance(event, record.StatementEvent) or _is_inside_try(tried, seq):
            continue
        if end is None and event.what in ("commit", "discard"):
            end = seq, event
        elif end is not None and event.what == end[1].what == "discard":
            end = end[0], event._replace(ops=(*event.ops, *end[1].ops))
    return end


def _is_inside_try(tries: Sequence[TaskTry], seq: Seq) -> bool:
    """Whether an event belongs to one of the ascending tries, which all have events."""
    place = bisect_right(tries, seq, key=attrgetter("first")) - 1
    return place >= 0 and seq <= tries[place].events[-1][0]


def _task_tries(
    spans: SpanLog, visit: record.Span, action: str, events: tuple[NumberedEvent, ...]
) -> Iterator[TaskTry]:
    """The task tries of a visit, from span columns: a job may try a hundred nodes for each task."""
    for task in spans.indexes_inside(visit.index):
        if spans.levels[task] == record.Level.TASK:
            first, last = spans.firsts[task] - visit.first, spans.lasts[task] + 1 - visit.first
            nodes, own_events, own_start = list[NodeTry](), list[NumberedEvent](), first
            for index in spans.indexes_inside(task):
                if spans.levels[index] == record.Level.NODE:
                    start, end = spans.firsts[index] - visit.first, spans.lasts[index] + 1 - visit.first
                    nodes.append(_build_node_try(spans.names[index], spans.firsts[index], events[start:end]))
                    own_events += events[own_start:start]
                    own_start = end
            own_events += events[own_start:last]
            yield TaskTry(action, spans.names[task], spans.firsts[task], events[first:last], (*own_events,), (*nodes,))


def _build_node_try(node: NodeName, first: Seq, events: Sequence[NumberedEvent]) -> NodeTry:
    calls = tuple([(seq, event) for seq, event in events if isinstance(event, record.HookEvent)])
    operations = tuple([(seq, event) for seq, event in events if isinstance(event, record.OpEvent)])
    return NodeTry(node, first, first + len(events) - 1, calls, operations)


def spans_inside(recording: Recording, span: record.Span) -> Iterator[record.Span]:
    """Spans inside a span, empty ones included."""
    return map(recording.spans.__getitem__, recording.record.spans.indexes_inside(span.index))


def next_task_turn(recording: Recording, seq: Seq, is_wanted_action: Callable[[str], bool]) -> Seq | None:
    """The first event of the next task's turn in an action whose name `is_wanted_action` accepts; None without one."""
    actions = recording.span_tree.children_of(recording.span_tree.path_to(seq)[0])
    return next(
        (
            span.first
            for action in actions
            if action.last > seq and is_wanted_action(action.name)
            for span in spans_inside(recording, action)
            if span.level is record.Level.TASK and span.first > seq
        ),
        None,
    )


def _calls_of(events: Sequence[NumberedEvent], points: tuple[str, ...]) -> Iterator[NumberedCall]:
    for seq, event in events:
        if isinstance(event, record.HookEvent) and event.point in points:
            yield seq, event


def starts_after_pop(recording: Recording, job: record.Span) -> bool:
    """Whether the job was just popped off its queue: of preempt's two visits that is the first."""
    event = recording.event_at(job.first - 1) if job.first > 1 else None
    return isinstance(event, record.PopEvent) and event.kind == "job" and event.name == job.name
