"""The record of a cycle: events as the trace has them, spans for movement, changes for the state at any event.

Upstream: none; the recorder wraps every call that the framework makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol

from vcdebug.framework import subject
from vcdebug.framework.columns import OPERATION, ChangeLog, LineLog, NoteLog, SpanLog
from vcdebug.framework.columns import Level as Level
from vcdebug.framework.columns import LogPoint as LogPoint
from vcdebug.framework.columns import Note as Note
from vcdebug.framework.columns import Span as Span
from vcdebug.framework.figures import Books as Books
from vcdebug.framework.figures import FigureLog, RowPlace
from vcdebug.framework.subject import CallResult, CallSubject, candidates_in, name_in, vote_in
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
"""Operations after which plugins count the task for its queue and node; event handlers call them allocations."""
RELEASING_OPS: Final = (EVICT_OP, UNPIPELINE_OP, UNALLOCATE_OP)
"""Operations after which plugins no longer count the task."""
PLANNED_OPS: Final = (EVICT_OP, PIPELINE_OP, ALLOCATE_OP)
"""Operations that a statement holds until it is committed or discarded."""
fast_tuple = tuple.__new__
"""`fast_tuple(HookEvent, (...))`: a named tuple from its fields, in a third of the time of calling its class."""


class RecordBound(Protocol):
    """The size at which a record is cut off."""

    next_look: int

    def check_size(self, events: Sequence[object]) -> None:
        """Called once there are `next_look` events: stops the cycle by raising, or sets when to look again."""
        ...


class HookEvent(NamedTuple):
    """A plugin's function returned."""

    point: str
    plugin: str
    subject: CallSubject
    """What the call is about; the properties below give it by name, empty where the call names none."""
    result: CallResult

    @property
    def task(self) -> TaskKey:
        """The task that is asked about: to be placed, or for which victims are sought."""
        return name_in(self.subject, subject.TASK)

    @property
    def other(self) -> TaskKey:
        """The second task of a simulation: the one that enters or leaves the node."""
        return name_in(self.subject, subject.OTHER)

    @property
    def job(self) -> JobId:
        """The job that is asked about."""
        return name_in(self.subject, subject.JOB)

    @property
    def sub_job(self) -> SubJobId:
        """The sub job that is asked about."""
        return name_in(self.subject, subject.SUB_JOB)

    @property
    def queue(self) -> QueueName:
        """The queue that is asked about."""
        return name_in(self.subject, subject.QUEUE)

    @property
    def node(self) -> NodeName:
        """The one node that is asked about."""
        return name_in(self.subject, subject.NODE)

    @property
    def hyper_node(self) -> str:
        """The hypernode in which a place is searched."""
        return name_in(self.subject, subject.HYPER_NODE)

    @property
    def candidates(self) -> tuple[TaskKey, ...]:
        """The tasks to choose victims from, or to reclaim for."""
        return candidates_in(self.subject)

    @property
    def offers(self) -> bool:
        """Whether the call has candidates, even an empty list of them."""
        return any(field == subject.CANDIDATES for field, _ in self.subject)

    @property
    def vote(self) -> int | None:
        """The vote that came with the victims, 0 to abstain; None for calls without one."""
        return vote_in(self.subject)

    @property
    def victims(self) -> tuple[TaskKey, ...]:
        """The tasks that the plugin allows to be evicted; empty for calls about something else."""
        return self.result if isinstance(self.result, tuple) else ()


class PopEvent(NamedTuple):
    """An element left a priority queue."""

    kind: str
    """queue, job, task, subjob or hypernode."""
    name: str
    left: int


class PredicateEvent(NamedTuple):
    """One pass of predicates over nodes for one task; rows index the node table."""

    task: TaskKey
    considered: int
    processed: int
    feasible: IntArray
    failed: IntArray
    codes: Codes
    """One per failed row, in the session's ReasonTable."""


class ScoreEvent(NamedTuple):
    """Node prioritisation for one task: each part aligned with `rows`, NaN where a node has no entry."""

    task: TaskKey
    rows: IntArray
    parts: tuple[tuple[str, KeptScores], ...]
    total: FloatArray
    everywhere: tuple[str, ...] = ()
    """Parts that give 0 to every node of the session, candidate or not."""


class BestEvent(NamedTuple):
    """The best node (or hypernode) was chosen."""

    kind: str
    name: str
    score: float
    tied: tuple[str, ...]


class RandomEvent(NamedTuple):
    """A random number below `n` was drawn; by rule the answer is 0."""

    n: int


class OpEvent(NamedTuple):
    """A statement or session operation, after the change and its event handlers."""

    op: str
    task: TaskKey
    node: NodeName
    figures: FigureLog
    place: RowPlace
    """Where its figures lie in the log."""
    reason: str | None = None
    eviction: bool | None = None
    via: str | None = None

    @property
    def state(self) -> tuple[TaskStatus, NodeName]:
        """What the task has become, and the node that it names."""
        return self.figures.task_state(self.place)

    @property
    def after(self) -> NodeAmounts | None:
        """The node's amounts; None where the session has no such node."""
        return self.figures.node_amounts(self.place)

    @property
    def books(self) -> Books:
        """Each plugin's ledger of the task's job or queue."""
        return self.figures.plugin_books(self.place)

    def __repr__(self) -> str:
        row = (self.op, self.task, self.node, self.state, self.after, self.books, self.reason, self.eviction, self.via)
        return f"OpEvent{row}"


class StatementEvent(NamedTuple):
    """A statement is about to commit, discard, merge, save or recover."""

    what: str
    ops: tuple[tuple[str, TaskKey, NodeName], ...]


class ActionEvent(NamedTuple):
    """An action starts or ends."""

    what: str
    action: str


class JobState(NamedTuple):
    """A job's summary in a state event."""

    queue: str
    priority: int
    min_available: int
    phase: str
    status: Mapping[str, int]


class StateEvent(NamedTuple):
    """The whole state: session opened, or after an action."""

    when: str
    nodes: tuple[NodeAmounts, ...]
    """Aligned with the recording's node names."""
    jobs: Mapping[JobId, JobState]
    books: Books


class TaskClose(NamedTuple):
    """A task at session close; the last three only for Pending and Pipelined ones."""

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
    """The real scheduler's process panics here."""

    message: str
    calls: tuple[str, ...] = ()
    """Upstream's functions on the way to the panic, the one that panics first."""
    objects: tuple[tuple[str, str], ...] = ()
    """(kind, name) of what the panic is about, as `("Queue", "a")`."""
    change: str = ""
    """What to change, where the replay knows more than the objects say."""


class CutEvent(NamedTuple):
    """The record is full, and the replay stops here; the real scheduler would go on."""

    bound: str
    """What was reached, as `5,000,000 events`."""


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
    """An event that the scheduler writes about a PodGroup."""

    seq: Seq
    job: JobId
    type: str
    reason: str
    message: str


class SearchHelper(NamedTuple):
    """A search helper was made: the searches from here to the next one share its cache of errors."""

    seq: Seq
    """The last event before it."""
    cache_on: bool


class HeapComparison(NamedTuple):
    """Two elements of a priority queue, of which the first one goes before the second."""

    kind: str
    """As pops name it."""
    first: str
    second: str


class Record:
    """The append-only store of one cycle."""

    __slots__ = (
        "bound",
        "changes",
        "events",
        "figures",
        "lines",
        "log_comparison",
        "node_names",
        "notes",
        "pod_group_events",
        "reasons",
        "search_helpers",
        "silent",
        "spans",
        "watch_comparison",
    )

    def __init__(self, bound: RecordBound | None = None, *, keeps_comparisons: bool = False) -> None:
        self.bound = bound
        self.log_comparison = self.log_line if keeps_comparisons else _ignore_line
        """As log_line, for the lines of plugins' comparisons.

        A cycle can have millions of them, which only a log shows: they are kept in a run of their own.
        """
        self.events: list[Event] = []
        self.changes = ChangeLog()
        self.spans = SpanLog()
        self.notes = NoteLog()
        self.lines = LineLog()
        self.figures = FigureLog()
        self.pod_group_events: list[PodGroupEvent] = []
        self.node_names: list[NodeName] = []
        self.reasons = ReasonTable()
        self.search_helpers: list[SearchHelper] = []
        self.watch_comparison: Callable[[Seq, HeapComparison], None] | None = None
        """Called with each comparison of a priority queue, and the event that comes next.

        None in a cycle that is only recorded: they are many, and few are looked at.
        """
        self.silent = 0
        """Above 0 while a recorded call runs: what happens inside it is not recorded one by one."""

    @property
    def next_seq(self) -> Seq:
        """The number of the next event."""
        return len(self.events) + 1

    def append(self, event: Event) -> None:
        """Record an event, unless a recorded call is running."""
        if not self.silent:
            self.events.append(event)

    @contextmanager
    def silence_recording(self) -> Iterator[None]:
        """Nothing of what happens inside is recorded."""
        self.silent += 1
        try:
            yield
        finally:
            self.silent -= 1

    def add_change(self, kind: str, key: object, value: object, seq: Seq | None = None) -> None:
        """A figure that an event writes, by default the next one."""
        self.changes.append(self.next_seq if seq is None else seq, kind, key, value)

    def calls_since(self, first: Seq) -> dict[str, Seq]:
        """Plugin → the last event from `first` on in which it was called."""
        calls = enumerate(self.events[first - 1 :], first)
        return {event.plugin: seq for seq, event in calls if isinstance(event, HookEvent)}

    def add_operation(self, event: OpEvent) -> None:
        """An operation that happened; its figures hold from here on."""
        self.events.append(event)
        self.changes.append(len(self.events), OPERATION, None, None)

    def add_note(self, code: str, text: str, *values: object, at_last: bool = False) -> None:
        """A quirk that acts at the next event, or at the last one; `values` fill the blanks of the text."""
        self.notes.append(len(self.events) if at_last else len(self.events) + 1, code, text, values)

    def add_last_note(self, code: str, text: str, *values: object) -> None:
        """A quirk that acted at the last event, unless a recorded call is running."""
        if not self.silent:
            self.notes.append(len(self.events), code, text, values)

    def log_line(self, key: str, *values: object) -> None:
        """Add a line that upstream prints here and no event shows; `values` fill its blanks and must not change."""
        self.lines.append((len(self.events), key, values))

    def open_span(self, level: Level, name: str) -> SpanScope:
        """Events until the end of the block belong to one span."""
        return SpanScope(self, level, name)


def _ignore_line(_key: str, *_values: object) -> None:
    """Keep nothing of a line."""


class SpanScope:
    """A block whose events are one span."""

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
