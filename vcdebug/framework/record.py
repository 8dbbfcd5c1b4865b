"""The record of a cycle: events as in the trace, spans for stepping, and changes to restore the state at any event.

Upstream: none; the recorder wraps every call that the framework makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol

from vcdebug.framework import subject
from vcdebug.framework.columns import OPERATION, ChangeLog, HeapLog, LineLog, NoteLog, SpanLog
from vcdebug.framework.columns import Level as Level
from vcdebug.framework.columns import LogPoint as LogPoint
from vcdebug.framework.columns import Note as Note
from vcdebug.framework.columns import Span as Span
from vcdebug.framework.figures import Books as Books
from vcdebug.framework.figures import FigureLog, RowPlace
from vcdebug.framework.subject import CallResult, CallSubject, candidates_in, name_in, vote_in
from vcdebug.grouping import split_names
from vcdebug.model.fit_errors import ReasonTable
from vcdebug.model.names import (
    Codes,
    FloatArray,
    IntArray,
    JobId,
    KeptScores,
    NodeName,
    QueueName,
    Seq,
    SubJobId,
    TaskKey,
)
from vcdebug.model.node import NodeAmounts as NodeAmounts
from vcdebug.model.pod_group import Condition
from vcdebug.model.task import TaskStatus

EVICT_OP: Final = "evict"
PIPELINE_OP: Final = "pipeline"
ALLOCATE_OP: Final = "allocate"
BIND_OP: Final = "bind"
UNEVICT_OP: Final = "unevict"
UNPIPELINE_OP: Final = "unpipeline"
UNALLOCATE_OP: Final = "unallocate"
PLACING_OPS: Final = (ALLOCATE_OP, PIPELINE_OP)
"""Operations that give a task a node."""
CHARGING_OPS: Final = (*PLACING_OPS, UNEVICT_OP)
"""Operations after which plugins count the task for its queue and node; upstream's handlers call these allocations."""
RELEASING_OPS: Final = (EVICT_OP, UNPIPELINE_OP, UNALLOCATE_OP)
"""Operations after which plugins no longer count the task."""
PLANNED_OPS: Final = (EVICT_OP, PIPELINE_OP, ALLOCATE_OP)
"""Operations that a statement holds until it is committed or discarded."""
fast_tuple = tuple.__new__
"""Make a named tuple from its fields, `fast_tuple(HookEvent, (...))`, in a third of the time of a normal call."""


class RecordBound(Protocol):
    """A limit on the size of a record."""

    next_look: int

    def check_size(self, events: Sequence[object]) -> None:
        """Called from `next_look` events on: raises to stop the cycle, or sets the next `next_look`."""
        ...


class HookEvent(NamedTuple):
    """A call of a plugin's function that has returned."""

    point: str
    plugin: str
    subject: CallSubject
    """What the call is about; the properties below return its parts, empty if the call has no such part."""
    result: CallResult

    @property
    def task(self) -> TaskKey:
        """The task of the question: to be placed, or to evict victims for."""
        return name_in(self.subject, subject.TASK)

    @property
    def other(self) -> TaskKey:
        """The second task of a simulation, which is added to the node or removed."""
        return name_in(self.subject, subject.OTHER)

    @property
    def job(self) -> JobId:
        return name_in(self.subject, subject.JOB)

    @property
    def sub_job(self) -> SubJobId:
        return name_in(self.subject, subject.SUB_JOB)

    @property
    def queue(self) -> QueueName:
        return name_in(self.subject, subject.QUEUE)

    @property
    def node(self) -> NodeName:
        """The single node of the question."""
        return name_in(self.subject, subject.NODE)

    @property
    def hyper_node(self) -> str:
        """The hypernode of the question, in which a place is sought."""
        return name_in(self.subject, subject.HYPER_NODE)

    @property
    def candidates(self) -> tuple[TaskKey, ...]:
        """The candidate victims, or the tasks to reclaim for."""
        return candidates_in(self.subject)

    @property
    def offers(self) -> bool:
        """Whether the call has a list of candidates, even an empty one."""
        return any(field == subject.CANDIDATES for field, _ in self.subject)

    @property
    def vote(self) -> int | None:
        """The vote that came with the victims, 0 to abstain; None for calls without a vote."""
        return vote_in(self.subject)

    @property
    def victims(self) -> tuple[TaskKey, ...]:
        """The tasks that the plugin allows to be evicted; empty for other calls."""
        return self.result if isinstance(self.result, tuple) else ()


class PopEvent(NamedTuple):
    """A pop from a priority queue."""

    kind: str
    """Kind of the element: queue, job, task, subjob or hypernode."""
    name: str
    left: int


class PredicateEvent(NamedTuple):
    """One search for feasible nodes for one task; rows index the node table."""

    task: TaskKey
    considered: int
    processed: int
    feasible: IntArray
    failed: IntArray
    codes: Codes
    """A code per failed row, an index in the session's ReasonTable."""


class ScoreEvent(NamedTuple):
    """The scores of nodes for one task: each part is aligned with `rows`, NaN if a node has no entry."""

    task: TaskKey
    rows: IntArray
    parts: tuple[tuple[str, KeptScores], ...]
    total: FloatArray
    everywhere: tuple[str, ...] = ()
    """Names of the parts that give 0 to every node of the session, candidate or not."""


class BestEvent(NamedTuple):
    """The choice of the best node or hypernode."""

    kind: str
    name: str
    score: float
    tied: tuple[str, ...]


class RandomEvent(NamedTuple):
    """A random number below `n` was drawn; in recordings the number is 0."""

    n: int


class OpEvent(NamedTuple):
    """An operation of a statement or session, recorded after the change and its event handlers."""

    op: str
    task: TaskKey
    node: NodeName
    figures: FigureLog
    place: RowPlace
    """Place of the operation's figures in the log."""
    reason: str | None = None
    eviction: bool | None = None
    via: str | None = None

    @property
    def state(self) -> tuple[TaskStatus, NodeName]:
        """(status, node name) of the task after the operation."""
        return self.figures.task_state(self.place)

    @property
    def after(self) -> NodeAmounts | None:
        """The node's amounts after the operation; None if the session has no such node."""
        return self.figures.node_amounts(self.place)

    @property
    def books(self) -> Books:
        """(plugin, figures) of the accounts that the operation changed."""
        return self.figures.plugin_books(self.place)

    def __repr__(self) -> str:
        row = (self.op, self.task, self.node, self.state, self.after, self.books, self.reason, self.eviction, self.via)
        return f"OpEvent{row}"


class StatementEvent(NamedTuple):
    """A statement is about to be committed, discarded, merged, saved or recovered."""

    what: str
    ops: tuple[tuple[str, TaskKey, NodeName], ...]


class ActionEvent(NamedTuple):
    """An action starts or ends."""

    what: str
    action: str


class JobState(NamedTuple):
    """The summary of a job in a state event."""

    queue: str
    priority: int
    min_available: int
    phase: str
    status: Mapping[str, int]


class StateEvent(NamedTuple):
    """The whole state, after the session opened or after an action."""

    when: str
    nodes: tuple[NodeAmounts, ...]
    """The amounts of each node, in the order of the recording's node names."""
    jobs: Mapping[JobId, JobState]
    books: Books


class TaskClose(NamedTuple):
    """A task at session close; reason, message and nominated node are set for Pending and Pipelined tasks only."""

    status: TaskStatus
    node: NodeName
    reason: str | None = None
    message: str | None = None
    nominated: str | None = None


class JobClose(NamedTuple):
    """A job at session close."""

    phase: str
    conditions: tuple[Condition, ...]
    fit_error: str
    job_fit_errors: str
    tasks: Mapping[TaskKey, TaskClose]


class CloseEvent(NamedTuple):
    """The session closed and the job updater ran."""

    jobs: Mapping[JobId, JobClose]
    queues: Mapping[str, Mapping[str, str]]
    nodes: tuple[NodeAmounts, ...]


class PanicEvent(NamedTuple):
    """A panic of the real scheduler's process."""

    message: str
    calls: tuple[str, ...] = ()
    """Upstream's functions on the way to the panic, innermost first."""
    objects: tuple[tuple[str, str], ...] = ()
    """(kind, name) of the objects involved, e.g. `("Queue", "a")`."""
    change: str = ""
    """A suggested change, if the replay knows more than the objects say."""


class CutEvent(NamedTuple):
    """The record is full and the replay stops here; the real scheduler would go on."""

    bound: str
    """The limit that was reached, e.g. `5,000,000 events`."""


Event = (
    HookEvent
    | PopEvent
    | PredicateEvent
    | ScoreEvent
    | BestEvent
    | RandomEvent
    | OpEvent
    | StatementEvent
    | ActionEvent
    | StateEvent
    | CloseEvent
    | PanicEvent
    | CutEvent
)


class PodGroupEvent(NamedTuple):
    """A Kubernetes event that the scheduler writes about a PodGroup."""

    seq: Seq
    job: JobId
    type: str
    reason: str
    message: str


class SearchHelper(NamedTuple):
    """A new search helper: the searches up to the next one share its error cache."""

    seq: Seq
    """The last event before the helper was made."""
    cache_on: bool


class Record:
    """The append-only record of one cycle."""

    __slots__ = split_names(
        "bound changes events figures heap_log lines log_comparison node_names notes pod_group_events reasons "
        "search_helpers running_call_count spans"
    )

    def __init__(self, bound: RecordBound | None = None, *, keeps_comparisons: bool = False) -> None:
        self.bound = bound
        self.log_comparison = self.log_line if keeps_comparisons else _ignore_line
        """As log_line, for lines about plugins' comparisons.

        A cycle can have millions of them, which only a log shows: they are kept in a run of their own.
        """
        self.events: list[Event] = []
        self.changes = ChangeLog()
        self.spans = SpanLog()
        self.notes = NoteLog()
        self.lines = LineLog()
        self.figures = FigureLog()
        self.heap_log = HeapLog()
        self.pod_group_events: list[PodGroupEvent] = []
        self.node_names: list[NodeName] = []
        self.reasons = ReasonTable()
        self.search_helpers: list[SearchHelper] = []
        self.running_call_count = 0
        """Above 0 while a recorded call runs: events inside the call are not recorded."""

    @property
    def next_seq(self) -> Seq:
        return len(self.events) + 1

    def append(self, event: Event) -> None:
        """Append an event, unless a recorded call is running."""
        if not self.running_call_count:
            self.events.append(event)

    @contextmanager
    def silence_recording(self) -> Iterator[None]:
        """Record no events inside the block."""
        self.running_call_count += 1
        try:
            yield
        finally:
            self.running_call_count -= 1

    def add_change(self, kind: str, key: object, value: object, seq: Seq | None = None) -> None:
        """Add a figure's new value, which holds from event `seq` on, by default the next event."""
        self.changes.append(self.next_seq if seq is None else seq, kind, key, value)

    def calls_since(self, first: Seq) -> dict[str, Seq]:
        """Plugin → seq of its last call from event `first` on."""
        calls = enumerate(self.events[first - 1 :], first)
        return {event.plugin: seq for seq, event in calls if isinstance(event, HookEvent)}

    def add_operation(self, event: OpEvent) -> None:
        """Append an operation's event, and a change that makes its figures hold from there on."""
        self.events.append(event)
        self.changes.append(len(self.events), OPERATION, None, None)

    def add_note(self, code: str, text: str, *values: object, at_last: bool = False) -> None:
        """Note a quirk at the next event, or at the last one with `at_last`; `values` fill the text's placeholders."""
        self.notes.append(len(self.events) if at_last else len(self.events) + 1, code, text, values)

    def add_last_note(self, code: str, text: str, *values: object) -> None:
        """Note a quirk at the last event, unless a recorded call is running."""
        if not self.running_call_count:
            self.notes.append(len(self.events), code, text, values)

    def log_line(self, key: str, *values: object) -> None:
        """Log a line that upstream prints here; `values` fill its placeholders and must not be changed later."""
        self.lines.append((len(self.events), key, values))

    def open_span(self, level: Level, name: str) -> SpanScope:
        """Open a span: the events inside the `with` block belong to it."""
        return SpanScope(self, level, name)


def _ignore_line(_key: str, *_values: object) -> None:
    """Discard a line."""


class SpanScope:
    """A context manager whose events form one span."""

    __slots__ = ("_level", "_name", "_record")

    def __init__(self, record: Record, level: Level, name: str) -> None:
        self._record = record
        self._level = level
        self._name = name

    def __enter__(self) -> None:
        record = self._record
        count = len(record.events)
        if record.bound is not None and count >= record.bound.next_look:
            record.bound.check_size(record.events)
        record.spans.open_span(self._level, self._name, count + 1)

    def __exit__(self, *_: object) -> None:
        record = self._record
        record.spans.close_span(len(record.events))
