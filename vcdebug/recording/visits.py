"""A job's visits: each time that an action tried the job, with the tasks and nodes that it tried."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from vcdebug.framework import hooks, record
from vcdebug.model.names import JobId, NodeName, Seq, TaskKey
from vcdebug.recording.recording import Recording

NumberedEvent = tuple[Seq, record.Event]
VICTIM_POINTS = (hooks.PREEMPTABLE.upstream, hooks.RECLAIMABLE.upstream)
"""Hooks that choose victims."""
POST_VICTIM_POINTS = (
    hooks.ALLOCATABLE.upstream,
    hooks.SIMULATE_ALLOCATABLE.upstream,
    hooks.PREDICATE.upstream,
    hooks.SIMULATE_PREDICATE.upstream,
)
"""Hooks that are called once the victims of a node are known."""


def says_no(event: record.HookEvent) -> bool:
    """Whether the answer to one of POST_VICTIM_POINTS is against the task; a predicate's None is an acceptance."""
    return event.result is not None if event.point.endswith(hooks.PREDICATE.upstream) else not event.result


@dataclass(frozen=True, slots=True)
class NodeTry:
    """One node that an evicting action tries for one task."""

    node: NodeName
    first: Seq
    """The first event about the node."""
    events: tuple[NumberedEvent, ...]

    def node_calls(self, *points: str) -> list[tuple[Seq, record.HookEvent]]:
        """Calls of these hooks, in order."""
        return list(_calls_of(self.events, points))

    @property
    def victim_votes(self) -> list[tuple[Seq, record.HookEvent]]:
        """The calls that chose victims here."""
        return self.node_calls(*VICTIM_POINTS)

    @property
    def candidates(self) -> tuple[TaskKey, ...]:
        """The candidate victims that the action's filter left."""
        return next((event.candidates for _, event in _calls_of(self.events, VICTIM_POINTS)), ())

    @property
    def task_placed(self) -> bool:
        """Whether the task was placed here."""
        return any(isinstance(event, record.OpEvent) and event.op in record.PLACING_OPS for _, event in self.events)

    @property
    def evicted_tasks(self) -> dict[TaskKey, Seq]:
        """Task evicted here → event."""
        return {
            event.task: seq for seq, event in self.events if isinstance(event, record.OpEvent) and event.op == "evict"
        }


@dataclass(frozen=True, slots=True)
class TaskTry:
    """An action tries one task."""

    action: str
    task: TaskKey
    first: Seq
    events: tuple[NumberedEvent, ...]
    nodes: tuple[NodeTry, ...]

    @property
    def task_name(self) -> str:
        """The task's name without its namespace."""
        return self.task.rpartition("/")[2]

    def task_calls(self, *points: str) -> list[tuple[Seq, record.HookEvent]]:
        """Calls of these hooks about the task, those for one node left out."""
        inner = {seq for node in self.nodes for seq, _ in node.events}
        return [(seq, event) for seq, event in _calls_of(self.events, points) if seq not in inner]

    @property
    def predicate_passes(self) -> list[tuple[Seq, record.PredicateEvent]]:
        """Passes of predicates over nodes."""
        return [(seq, event) for seq, event in self.events if isinstance(event, record.PredicateEvent)]

    @property
    def last_placement(self) -> tuple[Seq, record.OpEvent] | None:
        """The operation that gave the task a node, even if it was undone later."""
        found = [
            (seq, e)
            for seq, e in self.events
            if isinstance(e, record.OpEvent) and e.op in record.PLACING_OPS and e.task == self.task
        ]
        return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class JobVisit:
    """One visit of an action to the job."""

    action: str
    first: Seq
    events: tuple[NumberedEvent, ...]
    tries: tuple[TaskTry, ...]
    end: tuple[Seq, record.StatementEvent] | None
    """The commit or discard of all tasks together; None where each task had its own statement."""

    def visit_calls(self, *points: str) -> list[tuple[Seq, record.HookEvent]]:
        """Calls of these hooks in the visit."""
        return list(_calls_of(self.events, points))

    @property
    def was_committed(self) -> bool:
        """Whether the statement was committed."""
        return self.end is not None and self.end[1].what == "commit"

    @property
    def has_no_statement(self) -> bool:
        """Whether the action worked without a statement."""
        return not any(isinstance(event, record.StatementEvent) for _, event in self.events)

    @property
    def planned_tasks(self) -> list[TaskKey]:
        """Tasks that the statement placed, or that were placed without one."""
        if self.end:
            return [task for kind, task, _ in self.end[1].ops if kind in record.PLACING_OPS]
        return [attempt.task for attempt in self.tries if attempt.last_placement] if self.has_no_statement else []


def job_visits(recording: Recording, job: JobId) -> list[JobVisit]:
    """Every visit of the cycle, in order."""
    return [
        _build_visit(recording, span)
        for span in recording.index.spans_of(record.Level.JOB, job)
        if span.last >= span.first
    ]


def _iter_parents(recording: Recording, span: record.Span) -> Iterator[record.Span]:
    while span.parent >= 0:
        span = recording.spans[span.parent]
        yield span


def _build_visit(recording: Recording, span: record.Span) -> JobVisit:
    action = next((parent.name for parent in _iter_parents(recording, span) if parent.level == record.Level.ACTION), "")
    events = tuple(zip(range(span.first, span.last + 1), recording.events[span.first - 1 : span.last], strict=True))
    tasks = list(_nodes_by_task(spans_inside(recording, span)))
    tries = tuple(_build_task_try(action, task, nodes, events) for task, nodes in tasks)
    ends = [
        (seq, event)
        for seq, event in events
        if isinstance(event, record.StatementEvent)
        and event.what in ("commit", "discard")
        and not any(task.first <= seq <= task.last for task, _ in tasks)
    ]
    return JobVisit(action, span.first, events, tries, ends[-1] if ends else None)


def _nodes_by_task(spans: Iterable[record.Span]) -> Iterator[tuple[record.Span, list[record.Span]]]:
    """Each task's span with those of the nodes inside it, of the spans inside a job's in their order."""
    task, nodes = None, list[record.Span]()
    for span in spans:
        if task is not None and span.parent < task.index:
            yield task, nodes
            task = None
        if span.level == record.Level.TASK:
            task, nodes = span, []
        elif span.level == record.Level.NODE and task is not None:
            nodes.append(span)
    if task is not None:
        yield task, nodes


def _build_task_try(
    action: str, task: record.Span, nodes: Sequence[record.Span], visit: tuple[NumberedEvent, ...]
) -> TaskTry:
    """From the events of the whole visit."""
    before = visit[0][0]
    tries = tuple(NodeTry(node.name, node.first, visit[node.first - before : node.last + 1 - before]) for node in nodes)
    return TaskTry(action, task.name, task.first, visit[task.first - before : task.last + 1 - before], tries)


def spans_inside(recording: Recording, span: record.Span) -> Iterator[record.Span]:
    """Spans inside a span, empty ones included."""
    for index in range(span.index + 1, len(recording.spans)):
        # Spans are numbered as they open: the first one with an earlier parent ends the list.
        inner = recording.spans[index]
        if inner.parent < span.index:
            return
        yield inner


def next_task_turn(recording: Recording, seq: Seq, wanted: Callable[[str], bool]) -> Seq | None:
    """Where the next turn of a task begins in the actions that are wanted by name; None without one."""
    actions = recording.span_tree.children_of(recording.span_tree.path_to(seq)[0])
    return next(
        (
            span.first
            for action in actions
            if action.last > seq and wanted(action.name)
            for span in spans_inside(recording, action)
            if span.level is record.Level.TASK and span.first > seq
        ),
        None,
    )


def _calls_of(events: Sequence[NumberedEvent], points: tuple[str, ...]) -> Iterator[tuple[Seq, record.HookEvent]]:
    for seq, event in events:
        if isinstance(event, record.HookEvent) and event.point in points:
            yield seq, event


def starts_after_pop(recording: Recording, job: record.Span) -> bool:
    """Whether the job was just popped off its queue: of preempt's two visits that is the first."""
    event = recording.event_at(job.first - 1) if job.first > 1 else None
    return isinstance(event, record.PopEvent) and event.kind == "job" and event.name == job.name
