"""Event numbers of a recording by job, task, node, queue, plugin, hook and type, and its changes by figure."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, compress
from operator import attrgetter, itemgetter
from typing import Any, Generic, TypeVar

import numpy as np
from msgspec import Struct

from vcdebug.framework.columns import OPERATION
from vcdebug.framework.hooks import VICTIM_TASKS
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
from vcdebug.framework.subject import CANDIDATES, OTHER, SUB_JOB, CallResult
from vcdebug.framework.subject import JOB as JOB
from vcdebug.framework.subject import NODE as NODE
from vcdebug.framework.subject import QUEUE as QUEUE
from vcdebug.framework.subject import TASK as TASK
from vcdebug.grouping import group_by_key
from vcdebug.model.names import BoolArray, IntArray, JobId, NodeName, QueueName, Seq, SubJobId, TaskKey


class EventIndex:
    """Event numbers by subject; each part is built over whole columns when it is first asked for."""

    def __init__(self, record: Record, owners: Owners) -> None:
        self._record = record
        self._owners = owners
        self._postings: dict[str, Postings] = {}

    def seqs_of_type(self, kind: type[object]) -> Seqs:
        return self._seqs_by_type.get(kind, EMPTY_SEQS)

    def seqs_at_point(self, point: str) -> Seqs:
        """Calls of one hook, by upstream's name."""
        return self._postings_of(POINT).seqs_of(point)

    def seqs_about(self, kind: str, name: str) -> Seqs:
        """Events that concern one task, job, node, queue or plugin."""
        return self._postings_of(kind).seqs_of(name)

    def spans_of(self, level: Level, name: str) -> Sequence[Span]:
        """The spans of one action, queue, job, task or node, in order."""
        spans = self._record.spans
        return [spans[index] for index in self._spans.get((level, name), ())]

    def build_all(self, step: Callable[[], object] = lambda: None) -> None:
        """Build all parts now; `step` is called between them, and may raise to stop."""
        for kind in (TASK, JOB, NODE, QUEUE, PLUGIN, POINT):
            self._postings_of(kind)
            step()
        _ = self._seqs_by_type, self._spans

    def _postings_of(self, kind: str) -> Postings:
        if kind not in self._postings:
            of_hooks = kind in (PLUGIN, POINT)
            mentions = hook_mentions(self._event_columns, kind) if of_hooks else self._mentions.get(kind, Mentions())
            self._postings[kind] = mentions.build_postings()
        return self._postings[kind]

    @cached_property
    def _event_columns(self) -> EventColumns:
        return EventColumns(self._record.events)

    @cached_property
    def _mentions(self) -> Mapping[str, Mentions]:
        return gather_mentions(self._event_columns, self._owners)

    @cached_property
    def _seqs_by_type(self) -> Mapping[type[object], Seqs]:
        return {kind: as_seqs(seqs) for kind, seqs in self._event_columns.seqs.items()}

    @cached_property
    def _spans(self) -> Mapping[tuple[Level, str], list[int]]:
        spans = self._record.spans
        keys = zip(spans.levels, spans.names, strict=True)
        return group_by_key((key, index) for index, key in enumerate(keys))


def seqs_after(seqs: Seqs, seq: Seq) -> Iterator[Seq]:
    """Those greater than `seq`, of ascending ones."""
    return (seqs[place] for place in range(bisect_right(seqs, seq), len(seqs)))


def seq_after(seqs: Seqs, seq: Seq) -> Seq | None:
    """The first of ascending numbers beyond `seq`."""
    return next(seqs_after(seqs, seq), None)


def seq_before(seqs: Seqs, seq: Seq) -> Seq | None:
    """The last of ascending numbers below `seq`."""
    position = bisect_left(seqs, seq)
    return seqs[position - 1] if position else None


def seqs_before(seqs: Seqs, seq: Seq) -> Iterator[Seq]:
    """The ascending numbers below `seq`, the last one first."""
    return reversed(seqs[: bisect_left(seqs, seq)])


def seqs_during(seqs: Seqs, span: Span) -> Seqs:
    """The ascending numbers that lie in a span."""
    return seqs[bisect_left(seqs, span.first) : bisect_right(seqs, span.last)]


# Columns of names with the events that mention them, and the event numbers by name made from them.

Seqs = Sequence[Seq]
"""Ascending event numbers."""
EMPTY_SEQS: Seqs = array("I")
_SEQ_BITS = 32
_SEQ_MASK = (1 << _SEQ_BITS) - 1
_EMPTY_COLUMN: IntArray = np.empty(0, dtype=np.int64)


Thing = TypeVar("Thing")


class Numbering(dict[Thing, int], Generic[Thing]):
    """Things numbered in order of appearance: looking up a new one adds it."""

    def __missing__(self, item: Thing) -> int:
        number = self[item] = len(self)
        return number

    def numbers_of(self, items: Iterable[Thing], count: int) -> IntArray:
        """Numbers of `count` items, as an array; new items are added."""
        return np.fromiter(map(self.__getitem__, items), dtype=np.int64, count=count)


class Mentions:
    """(event, name) pairs about one kind of thing, gathered column by column."""

    def __init__(self) -> None:
        self._numbers = Numbering[str]()
        self._seqs: list[IntArray] = []
        self._names: list[IntArray] = []

    def add_names(self, seqs: IntArray, names: Iterable[str]) -> None:
        """Add events with the name that each mentions."""
        self._seqs.append(seqs)
        self._names.append(self._numbers.numbers_of(names, len(seqs)))

    def add_name_lists(self, seqs: IntArray, lists: Sequence[Sequence[str]]) -> None:
        """Add events with the names that each mentions."""
        lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        self.add_names(np.repeat(seqs, lengths), chain.from_iterable(lists))

    def add_owners(self, owned: Mentions, owners: Mapping[str, str]) -> None:
        """Add the owners of the names that the events in `owned` mention; some names have no owner."""
        owner_names = (owners.get(name) for name in owned._numbers)
        table = np.array([-1 if name is None else self._numbers[name] for name in owner_names], dtype=np.int64)
        for seqs, names in zip(owned._seqs, owned._names, strict=True):
            numbers = table[names]
            self._seqs.append(seqs[numbers >= 0])
            self._names.append(numbers[numbers >= 0])

    def build_postings(self) -> Postings:
        """Sorts the gathered pairs into lists of event numbers by name."""
        return Postings(self._numbers, list(zip(self._seqs, self._names, strict=True)))


class Postings:
    """Ascending event numbers by name, each once."""

    def __init__(self, numbers: Mapping[str, int], parts: Sequence[tuple[IntArray, IntArray]]) -> None:
        """`numbers`: name → number; `parts`: columns of event numbers and columns of name numbers."""
        # (name, event) packed into one integer: one sort groups by name, orders events and shows duplicates.
        pairs = np.concatenate([_EMPTY_COLUMN, *(names << _SEQ_BITS | seqs for seqs, names in parts)])
        pairs.sort()
        is_first = np.ones(len(pairs), dtype=bool)
        np.not_equal(pairs[1:], pairs[:-1], out=is_first[1:])
        pairs = pairs[is_first]
        self._numbers = numbers
        self._seqs = as_seqs(pairs & _SEQ_MASK)
        self._starts = as_seqs(np.searchsorted(pairs, np.arange(len(numbers) + 1) << _SEQ_BITS))

    def seqs_of(self, name: str) -> Seqs:
        """Events that state the name."""
        start, end = self._range_of(name)
        return self._seqs[start:end] if start < end else EMPTY_SEQS

    def last_seq(self, name: str, before: Seq) -> Seq | None:
        """The last event before event `before` that states the name; None without one."""
        start, end = self._range_of(name)
        position = bisect_left(self._seqs, before, start, end)
        return self._seqs[position - 1] if position > start else None

    def latest_seqs(self, before: Seq) -> dict[str, Seq]:
        """Name → the last event before `before` that mentions it."""
        seqs, starts = np.asarray(self._seqs, dtype=np.int64), np.asarray(self._starts, dtype=np.int64)
        below = np.concatenate([[0], np.cumsum(seqs < before)])[starts]
        positions = starts[:-1] + np.diff(below) - 1
        mentioned = np.flatnonzero(np.diff(below))
        names = list(self._numbers)
        return {names[n]: seq for n, seq in zip(mentioned.tolist(), seqs[positions[mentioned]].tolist(), strict=True)}

    def _range_of(self, name: str) -> tuple[int, int]:
        number = self._numbers.get(name, len(self._starts))
        return (0, 0) if number + 1 >= len(self._starts) else (self._starts[number], self._starts[number + 1])

    def stated_names(self) -> list[str]:
        """Every name that some event states, in order of the first one."""
        ranges = ((name, *self._range_of(name)) for name in self._numbers)
        return [name for _, name in sorted((self._seqs[start], name) for name, start, end in ranges if start < end)]


def as_seqs(numbers: IntArray) -> array[int]:
    """Converts a column to an array of 32-bit unsigned integers."""
    return array("I", numbers.astype(np.uint32).tobytes())


# The subjects of events, gathered over whole columns: a Python loop over millions of events takes seconds.

PLUGIN, POINT = "plugin", "point"
SUBJECT_FIELDS = {TASK: TASK, OTHER: TASK, JOB: JOB, NODE: NODE, QUEUE: QUEUE, SUB_JOB: SUB_JOB}
"""Field of a hook call's subject → what it names."""


class Owners(Struct, frozen=True):
    """Task → job, sub job → job, job → queue; fixed during a cycle."""

    jobs: Mapping[TaskKey, JobId]
    sub_jobs: Mapping[SubJobId, JobId]
    queues: Mapping[JobId, QueueName]

    @classmethod
    def from_session(cls, session: Session) -> Owners:
        """Reads the owners from a session's jobs."""
        jobs = session.jobs.values()
        return cls(
            {task.key: job.uid for job in jobs for task in job.tasks.values()},
            {uid: job.uid for job in jobs for uid in job.sub_jobs},
            {job.uid: job.queue for job in jobs},
        )


class EventColumns:
    """The events of a recording by type."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._events = events
        numbers = Numbering[type[Event]]()
        types = numbers.numbers_of(map(type, events), len(events))
        self.seqs: dict[type[Event], IntArray] = {
            kind: np.flatnonzero(types == number) + 1 for kind, number in numbers.items()
        }
        """Event numbers by type."""

    def events_of(self, *kinds: type[Event]) -> Iterator[tuple[IntArray, list[Any]]]:  # Any: of these types
        """Numbers and events of each of these types that occurs."""
        for kind in kinds:
            if kind in self.seqs:
                seqs = self.seqs[kind]
                yield seqs, list(map(self._events.__getitem__, (seqs - 1).tolist()))


class _MentionsByKind(dict[str, Mentions]):
    def __missing__(self, kind: str) -> Mentions:
        mentions = self[kind] = Mentions()
        return mentions


def gather_mentions(columns: EventColumns, owners: Owners) -> Mapping[str, Mentions]:
    """Kind → its mentions in all events; nodes that predicates or scores visited are left out."""
    mentions = _MentionsByKind()
    for seqs, hooks in columns.events_of(HookEvent):
        _add_hooks(mentions, seqs, hooks)
    for seqs, events in columns.events_of(PopEvent, BestEvent):
        for kind, chosen in _group_by_word(map(attrgetter("kind"), events), len(events)):
            mentions[kind].add_names(seqs[chosen], map(attrgetter("name"), compress(events, chosen.tolist())))
    for seqs, events in columns.events_of(PredicateEvent, ScoreEvent, OpEvent):
        mentions[TASK].add_names(seqs, map(attrgetter("task"), events))
    for seqs, operations in columns.events_of(OpEvent):
        mentions[NODE].add_names(seqs, map(attrgetter("node"), operations))
    for seqs, statements in columns.events_of(StatementEvent):
        operation_lists = [event.ops for event in statements]
        mentions[TASK].add_name_lists(seqs, [[task for _, task, _ in ops] for ops in operation_lists])
        mentions[NODE].add_name_lists(seqs, [[node for _, _, node in ops] for ops in operation_lists])
    mentions[JOB].add_owners(mentions[TASK], owners.jobs)
    mentions[JOB].add_owners(mentions[SUB_JOB], owners.sub_jobs)
    return mentions


def hook_mentions(columns: EventColumns, kind: str) -> Mentions:
    """Mentions of plugins (kind PLUGIN) or extension points (kind POINT) in all hook calls."""
    mentions = Mentions()
    for seqs, hooks in columns.events_of(HookEvent):
        mentions.add_names(seqs, map(attrgetter(kind), hooks))
    return mentions


def _add_hooks(mentions: _MentionsByKind, seqs: IntArray, hooks: Sequence[HookEvent]) -> None:
    subjects = list(map(attrgetter("subject"), hooks))
    lengths = np.fromiter(map(len, subjects), dtype=np.int64, count=len(subjects))
    _add_subjects(mentions, np.repeat(seqs, lengths), list(chain.from_iterable(subjects)))
    points = map(attrgetter("point"), hooks)
    victims = np.flatnonzero(np.fromiter(map(VICTIM_TASKS.upstream.__eq__, points), dtype=np.bool_, count=len(hooks)))
    mentions[TASK].add_name_lists(seqs[victims], [hooks[place].result for place in victims.tolist()])


def _add_subjects(mentions: _MentionsByKind, seqs: IntArray, pairs: Sequence[tuple[str, CallResult]]) -> None:
    """Adds the names in (field, value) pairs to the mentions; `seqs` has the event of each pair."""
    for field, chosen in _group_by_word(map(itemgetter(0), pairs), len(pairs)):
        values = map(itemgetter(1), compress(pairs, chosen.tolist()))
        if field == CANDIDATES:
            mentions[TASK].add_name_lists(seqs[chosen], list(values))
        elif field in SUBJECT_FIELDS:
            mentions[SUBJECT_FIELDS[field]].add_names(seqs[chosen], values)


def _group_by_word(words: Iterator[str], count: int) -> list[tuple[str, BoolArray]]:
    """(word, mask of its rows) for each word of a column."""
    numbers = Numbering[str]()
    column = numbers.numbers_of(words, count)
    return [(word, column == number) for word, number in numbers.items()]


# The changes that wrote each figure: ascending places in the log of changes, found over whole columns.

PHASE, BOOK = "phase", "book"
FigureKey = tuple[str, str, str]
"""(plugin, job or queue or "", figure)."""
FigureGroup = tuple[str, str, tuple[str, ...]]
"""(kind, plugin, figures that are written together); the last two are empty for tasks, nodes and phases."""


class ChangeIndex:
    """Finds the places in the log of changes at which a figure was written; kind is task, node, phase or book."""

    def __init__(self, record: Record, nodes: Collection[NodeName]) -> None:
        self._numbers = Numbering[str]()
        self._columns: dict[FigureGroup, list[tuple[IntArray, IntArray]]] = {}
        self._postings: dict[tuple[str, str, str], Postings] = {}
        kinds = record.changes.kinds
        operations = np.flatnonzero(np.fromiter(map(OPERATION.__eq__, kinds), dtype=np.bool_, count=len(kinds)))
        self._add_operations(record, operations, nodes)
        self._add_other_changes(record, np.setdiff1d(np.arange(len(kinds)), operations, assume_unique=True))

    def places_of(self, kind: str, key: str | FigureKey) -> Seqs:
        """Places of the changes that wrote a figure."""
        plugin, name, figure = ("", key, "") if isinstance(key, str) else key
        return self._postings_for(kind, plugin, figure).seqs_of(name)

    def last_place(self, kind: str, key: str | FigureKey, before: int) -> int | None:
        """The last place before place `before` at which a figure was written; None without one."""
        plugin, name, figure = ("", key, "") if isinstance(key, str) else key
        return self._postings_for(kind, plugin, figure).last_seq(name, before)

    def latest_places(self, kind: str, before: int) -> dict[str, int]:
        """Task, node or job → the last place before `before` at which it was written."""
        return self._postings_for(kind, "", "").latest_seqs(before)

    def changed_tasks(self) -> Sequence[TaskKey]:
        """The tasks that changed, in order of the first change."""
        return self._postings_for(TASK, "", "").stated_names()

    def _postings_for(self, kind: str, plugin: str, figure: str) -> Postings:
        figure_key = (kind, plugin, figure)
        if figure_key not in self._postings:
            groups = self._columns.items()
            parts = [group for (k, p, figures), group in groups if (k, p) == (kind, plugin) and figure in figures]
            self._postings[figure_key] = Postings(self._numbers, [column for group in parts for column in group])
        return self._postings[figure_key]

    def _add_column(self, group: FigureGroup, places: IntArray, names: Iterable[str]) -> None:
        column = (places, self._numbers.numbers_of(names, len(places)))
        self._columns.setdefault(group, []).append(column)

    def _add_operations(self, record: Record, places: IntArray, nodes: Collection[NodeName]) -> None:
        """Adds the changes by operations: each writes its task, its node, and the figures in its row."""
        events, seqs = record.events, record.changes.seqs
        operations = [event for place in places.tolist() if isinstance(event := events[seqs[place] - 1], OpEvent)]
        assert len(operations) == len(places)
        self._add_column((TASK, "", ("",)), places, map(attrgetter("task"), operations))
        known = np.fromiter((event.node in nodes for event in operations), dtype=np.bool_, count=len(operations))
        self._add_column((NODE, "", ("",)), places[known], (event.node for event in operations if event.node in nodes))
        rows = np.fromiter(map(attrgetter("place"), operations), dtype=np.int64, count=len(operations))
        for entry, having, owners in record.figures.rows_by_entry(rows):
            self._add_column((BOOK, entry.plugin, entry.names), places[having], owners)

    def _add_other_changes(self, record: Record, places: IntArray) -> None:
        """Adds all other changes, each of which names the figure that it writes."""
        groups: dict[FigureGroup, tuple[list[int], list[str]]] = {}
        for place in places.tolist():
            _, kind, key, value = record.changes[place]
            plugin, name = key if kind == BOOK else ("", key)
            group = (kind, plugin, tuple(value) if kind == BOOK else ("",))
            change_places, names = groups.setdefault(group, ([], []))
            change_places.append(place)
            names.append(name or "")
        for group, (change_places, names) in groups.items():
            self._add_column(group, np.array(change_places, dtype=np.int64), names)
