"""What a cycle leaves behind: events as spec'd for the trace, spans for movement, changes for time travel.

Upstream: none; the recorder wraps every call that the framework makes.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

from vcdebug.model.fiterror import ReasonTable
from vcdebug.model.names import Codes, FloatArray, IntArray, JobId, NodeName, Row, Seq, TaskKey
from vcdebug.model.nodeamounts import NodeAmounts as NodeAmounts
from vcdebug.model.podgroup import Condition
from vcdebug.model.status import TaskStatus

Books = tuple[tuple[str, Mapping[str, Any]], ...]
"""(plugin, its figures) in plugin name order."""


class HookEvent(NamedTuple):
    """A plugin's function returned."""

    point: str
    plugin: str
    subject: tuple[tuple[str, Any], ...]
    """(field, value) pairs: job, task, queue, node, candidates, vote ... as names."""
    result: Any


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
    parts: tuple[tuple[str, FloatArray], ...]
    total: FloatArray


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
    after: NodeAmounts | None
    books: Books
    reason: str | None = None
    eviction: bool | None = None
    via: str | None = None


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
)


class Level(IntEnum):
    """How deep a span lies; movement steps over, into and out of spans."""

    CYCLE = 0
    ACTION = 1
    QUEUE = 2
    JOB = 3
    TASK = 4
    NODE = 5


class Span:
    """A stretch of events that belong together: [first, last] by seq, and the span it lies in."""

    __slots__ = ("first", "index", "last", "level", "name", "parent")

    def __init__(self, index: int, level: Level, name: str, first: Seq, parent: int) -> None:
        self.index = index
        self.level = level
        self.name = name
        self.first = first
        self.last = first - 1
        self.parent = parent


class Change(NamedTuple):
    """One figure that changed: it holds from event `seq` on.

    kind task: key → (status, node); phase: job → phase; node: name → NodeAmounts; book: (plugin, key) → figures.
    """

    seq: Seq
    kind: str
    key: Any
    value: Any


class ChangeLog:
    """Changes in order, kept in columns: a cycle has more of them than events."""

    __slots__ = ("_keys", "_kinds", "_seqs", "_values")

    def __init__(self) -> None:
        self._seqs = array("I")
        self._kinds: list[str] = []
        self._keys: list[Any] = []
        self._values: list[Any] = []

    def append(self, seq: Seq, kind: str, key: object, value: object) -> None:
        """One more figure that holds from event `seq` on."""
        self._seqs.append(seq)
        self._kinds.append(kind)
        self._keys.append(key)
        self._values.append(value)

    def __len__(self) -> int:
        return len(self._seqs)

    def __iter__(self) -> Iterator[Change]:
        return map(Change, self._seqs, self._kinds, self._keys, self._values)


class Note(NamedTuple):
    """A known quirk of upstream that acted at an event."""

    seq: Seq
    code: str
    text: str


class PodGroupEvent(NamedTuple):
    """An event that the scheduler writes about a PodGroup."""

    seq: Seq
    job: JobId
    type: str
    reason: str
    message: str


class Record:
    """The append-only store of one cycle."""

    __slots__ = ("changes", "events", "node_names", "notes", "pod_group_events", "reasons", "silent", "spans", "_open")

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.changes = ChangeLog()
        self.spans: list[Span] = []
        self.notes: list[Note] = []
        self.pod_group_events: list[PodGroupEvent] = []
        self.node_names: list[NodeName] = []
        self.reasons = ReasonTable()
        self.silent = 0
        """Above 0 while a recorded call runs: what happens inside it is not recorded one by one."""
        self._open: list[int] = []

    @property
    def next_seq(self) -> Seq:
        """The number of the next event."""
        return len(self.events) + 1

    def append(self, event: Event) -> None:
        """Record an event, unless a recorded call is running."""
        if not self.silent:
            self.events.append(event)

    def change(self, kind: str, key: object, value: object) -> None:
        """A figure that holds from the next event on."""
        self.changes.append(len(self.events) + 1, kind, key, value)

    def note(self, code: str, text: str, *, at_last: bool = False) -> None:
        """A quirk that acts at the next event, or at the last one."""
        self.notes.append(Note(len(self.events) if at_last else self.next_seq, code, text))

    def note_last(self, code: str, text: str) -> None:
        """A quirk that acted at the last event, unless a recorded call is running."""
        if not self.silent:
            self.note(code, text, at_last=True)

    def scope(self, level: Level, name: str) -> Scope:
        """Events until the end of the block belong to one span."""
        return Scope(self, level, name)

    def begin(self, level: Level, name: str) -> Span:
        """Open a span inside the one that is open."""
        span = Span(len(self.spans), level, name, len(self.events) + 1, self._open[-1] if self._open else -1)
        self.spans.append(span)
        self._open.append(span.index)
        return span

    def end(self) -> None:
        """Close the span that was opened last."""
        self.spans[self._open.pop()].last = len(self.events)

    def row_name(self, row: Row) -> NodeName:
        """The node of a row."""
        return self.node_names[row]


class Scope:
    """A block whose events are one span."""

    __slots__ = ("_level", "_name", "_record")

    def __init__(self, record: Record, level: Level, name: str) -> None:
        self._record = record
        self._level = level
        self._name = name

    def __enter__(self) -> Span:
        return self._record.begin(self._level, self._name)

    def __exit__(self, *_: object) -> None:
        self._record.end()
