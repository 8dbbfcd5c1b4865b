"""Recording: one executed cycle, immutable once it ran."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache, update_wrapper
from types import MethodType
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import numpy as np

from vcdebug.amount_text import format_count
from vcdebug.errors import VcdebugError
from vcdebug.framework.columns import SpanLog
from vcdebug.framework.conf import SchedulerConf
from vcdebug.framework.record import CutEvent, Event, HookEvent, Level, Note, Record, Span
from vcdebug.framework.session import Session
from vcdebug.grouping import group_by_key
from vcdebug.model.fit_errors import ReasonTable
from vcdebug.model.names import BoolArray, IntArray, NodeName, Seq
from vcdebug.recording.event_index import EventIndex, Owners
from vcdebug.recording.timeline import StateTimeline
from vcdebug.snapshot.job_names import JobNames, job_names
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.snapshot import Snapshot

EventType = TypeVar("EventType")


class Recording:
    """Events, spans and changes of a cycle, with the snapshot and configuration that it ran on.

    `session` is the session after the cycle: read what never changes from it, never amounts at an event.
    """

    def __init__(
        self, snapshot: Snapshot, conf: SchedulerConf, session: Session, seconds: Mapping[str, float] | None = None
    ) -> None:
        self.snapshot = snapshot
        self.conf = conf
        self.session = session
        self.record: Record = session.record
        self.seconds: Mapping[str, float] = seconds or {}
        """Duration of each stage in seconds, where a clock was given."""
        self.memo: dict[Callable[..., Any], Callable[..., Any]] = {}  # Any: each question has its own form
        """Function → its cache of answers about this recording (`per_recording`)."""
        self.answered: dict[str, object] = {}
        """Name → an answer that took long: plain values, stored with the recording once computed."""

    def __len__(self) -> int:
        return len(self.record.events)

    @property
    def size(self) -> int:
        """The number of events and pods: what a question about everything reads."""
        return len(self) + len(self.snapshot.objects_of("Pod"))

    @property
    def events(self) -> Sequence[Event]:
        """All events; the one numbered `seq` is at seq - 1."""
        return self.record.events

    def event_at(self, seq: Seq) -> Event:
        """The event numbered `seq`, from 1."""
        return self.record.events[seq - 1]

    def filter_events(self, kind: type[EventType], seqs: Iterable[Seq]) -> Iterator[tuple[Seq, EventType]]:
        """(number, event) of the events of one type among `seqs`."""
        events = self.record.events
        for seq in seqs:
            event = events[seq - 1]
            if isinstance(event, kind):
                yield seq, event

    def events_before(self, kind: type[EventType], seq: Seq, first: Seq = 1) -> Iterator[tuple[Seq, EventType]]:
        """The same among the events from `first` to the one before `seq`, the latest first."""
        return self.filter_events(kind, range(seq - 1, first - 1, -1))

    def events_of_type(self, kind: type[EventType]) -> Iterator[tuple[Seq, EventType]]:
        """All events of one type, numbered, in order."""
        return self.filter_events(kind, self.index.seqs_of_type(kind))

    def hook_calls(self, point: str) -> Iterator[tuple[Seq, HookEvent]]:
        """All calls of one hook, by upstream's name, numbered, in order."""
        return self.filter_events(HookEvent, self.index.seqs_at_point(point))

    @property
    def spans(self) -> Sequence[Span]:
        """Actions, queues, jobs, tasks and nodes, in order of their beginning."""
        return self.record.spans

    @property
    def notes(self) -> Sequence[Note]:
        """Quirks of upstream that took effect."""
        return self.record.notes

    @cached_property
    def own_problems(self) -> tuple[Problem, ...]:
        """What is wrong or missing in the input: snapshot, configuration, restored tasks, plugins."""
        plugins = self.session.plugins.values()
        of_plugins = (problem for plugin in plugins for problem in plugin.problems)
        restored = self.session.persistence.problems
        return (*self.snapshot.problems, *self.conf.problems, *restored, *of_plugins)

    @property
    def last_event(self) -> Event | None:
        """The event with which the recording ends; None for an empty one."""
        return self.record.events[-1] if self.record.events else None

    @property
    def cut_event(self) -> CutEvent | None:
        """The last event if the recording was cut off at its bound; None for a complete recording."""
        return self.last_event if isinstance(self.last_event, CutEvent) else None

    @property
    def node_names(self) -> Sequence[NodeName]:
        """Node names by row."""
        return self.record.node_names

    @property
    def reason_table(self) -> ReasonTable:
        """The reasons for which predicates reject nodes, by the codes in predicate events."""
        return self.record.reasons

    @cached_property
    def _notes_by_seq(self) -> Mapping[Seq, Sequence[Note]]:
        return group_by_key((note.seq, note) for note in self.record.notes)

    def notes_at(self, seq: Seq) -> Sequence[Note]:
        """Quirks that took effect at one event."""
        return self._notes_by_seq.get(seq, ())

    @cached_property
    def owners(self) -> Owners:
        """The job of each task and sub job, and the queue of each job."""
        return Owners.from_session(self.session)

    @cached_property
    def job_names(self) -> JobNames:
        """What texts for people call the jobs."""
        return job_names(self.snapshot)

    @cached_property
    def span_tree(self) -> SpanTree:
        return SpanTree(self.record.spans, len(self.record.events))

    @cached_property
    def index(self) -> EventIndex:
        """The index of event numbers by job, task, node, queue, plugin, hook and type."""
        return EventIndex(self.record, self.owners)

    @cached_property
    def timeline(self) -> StateTimeline:
        """The timeline, which looks up the state after any event."""
        return StateTimeline(self.record, self.session, self.owners)

    def build_indexes(self, step: Callable[[], object] = lambda: None) -> None:
        """Build the index, the span tree and the opening states before a user waits for them.

        `step` is called between the parts, and may raise to stop.
        """
        _ = self.timeline.tasks, self.timeline.opening_counts, self.timeline.opening_on_node, self.span_tree
        step()
        self.index.build_all(step)


# Answers about a recording, cached in the recording itself so that both are freed together.

P = ParamSpec("P")
R = TypeVar("R")
RecordingQuestion = Callable[Concatenate[Recording, P], R]


def per_recording(most: int | None = None) -> Callable[[RecordingQuestion[P, R]], RecordingQuestion[P, R]]:
    """Decorator: an LRU cache per recording of at most `most` answers (None: all); arguments must be hashable."""

    def remember_answers(function: RecordingQuestion[P, R]) -> RecordingQuestion[P, R]:
        return _remember_per_recording(function, most)

    return remember_answers


def _remember_per_recording(function: RecordingQuestion[P, R], most: int | None) -> RecordingQuestion[P, R]:
    def ask_once(recording: Recording, /, *args: P.args, **kwargs: P.kwargs) -> R:
        get_answer: Callable[..., R] | None = recording.memo.get(function)
        if get_answer is None:
            get_answer = recording.memo[function] = _new_answer_cache(function, recording, most)
        return get_answer(*args, **kwargs)

    update_wrapper(ask_once, function)
    return ask_once


def _new_answer_cache(function: RecordingQuestion[P, R], recording: Recording, most: int | None) -> Callable[..., R]:
    return lru_cache(most)(MethodType(function, recording))


def store_answer(recording: Recording, question: Callable[[Recording], R], get_answer: Callable[[], R]) -> None:
    """Answer `question` from now on by calling `get_answer`, which returns the same answer each time."""
    recording.memo[inspect.unwrap(question)] = get_answer


# A recording that reached its bound before the cycle was over.

_LEVEL_WORDS = {Level.ACTION: "action", Level.JOB: "job"}


class CutOffError(VcdebugError):
    """The replay stopped at its bound; the events before it are complete."""


def cut_off_error(recording: Recording) -> CutOffError | None:
    """The error that says where the recording was cut off, with a hint; None for a complete recording."""
    cut = recording.cut_event
    if cut is None:
        return None
    last = max(len(recording) - 1, 1)
    path = [
        f"{_LEVEL_WORDS[span.level]} {span.name}"
        for span in recording.span_tree.path_to(last)
        if span.level in _LEVEL_WORDS
    ]
    place = f" in {', '.join(path)}" if path else ""
    return CutOffError(
        f"the replay stopped at its bound of {cut.bound}: after event {format_count(last)}{place}; the cycle goes on",
        "give more room with --max-events and --max-memory, or replay fewer pods",
    )


def require_complete(recording: Recording) -> Recording:
    """Returns the recording; raises CutOffError if it was cut off before the end of the cycle."""
    error = cut_off_error(recording)
    if error is not None:
        raise error
    return recording


@contextmanager
def disposing(recording: Recording) -> Iterator[Recording]:
    """Frees the recording's memory at the end of the block; only plain values may be used after it."""
    try:
        yield recording
    finally:
        recording.memo.clear()
        # A session and its parts refer to each other: broken up, refcounting frees them without a garbage collection.
        recording.session.break_cycles()


# The tree of spans: which action, queue, job, task and node an event belongs to.


class SpanTree:
    """Spans below the cycle. A span's first event is its head: a cursor there is before the whole span."""

    def __init__(self, spans: Sequence[Span], events: int) -> None:
        self.spans = spans
        self.events = events
        columns = _span_columns(spans)
        cycles = np.flatnonzero(columns.levels == Level.CYCLE)
        self.root = spans[int(cycles[0])] if len(cycles) else None
        is_shown = (columns.levels != Level.CYCLE) & (columns.lasts >= columns.firsts)
        self._parents = _parents_below_cycle(columns)
        self._innermost = _paint_innermost(columns, self._parents, is_shown, events)
        self._heads = np.full(events + 2, -1, dtype=np.int32)
        backward = np.flatnonzero(is_shown)[::-1]
        self._heads[columns.firsts[backward]] = backward
        self._children = _SpanChildren(self._parents, np.flatnonzero(is_shown))

    def innermost_span(self, seq: Seq) -> Span | None:
        """The deepest span around an event; None directly below the cycle."""
        return self._span_at(int(self._innermost[seq]))

    def parent_of(self, span: Span) -> Span | None:
        """The span around a span; None directly below the cycle."""
        return self._span_at(int(self._parents[span.index]))

    def _span_at(self, index: int) -> Span | None:
        return None if index < 0 else self.spans[index]

    def children_of(self, span: Span | None) -> Sequence[Span]:
        """The spans directly inside one, or the topmost ones, in order; empty ones are left out."""
        return [self.spans[index] for index in self._children.indexes_inside(-1 if span is None else span.index)]

    def path_to(self, seq: Seq) -> tuple[Span, ...]:
        """All spans around an event, the cycle first."""
        inner: list[Span] = []
        span = self.innermost_span(seq)
        while span is not None:
            inner.append(span)
            span = self.parent_of(span)
        around = [self.root] if self.root is not None else []
        return (*around, *reversed(inner))

    def span_around(self, seq: Seq, level: Level) -> Span | None:
        """The deepest span of one level around an event."""
        span = self.innermost_span(seq)
        while span is not None and span.level != level:
            span = self.parent_of(span)
        return span

    def name_around(self, seq: Seq, level: Level) -> str:
        """The name of the deepest span of one level around an event; empty without one."""
        span = self.span_around(seq, level)
        return "" if span is None else span.name

    def span_starting_at(self, seq: Seq) -> Span | None:
        """The largest span below the cycle that begins with this event."""
        return self._span_at(int(self._heads[seq]))

    def enclosing_span(self, seq: Seq) -> Span | None:
        """The span around a cursor at an event: at a head, the span around the one that begins there."""
        starting_span = self.span_starting_at(seq)
        return self.parent_of(starting_span) if starting_span is not None else self.innermost_span(seq)


class _SpanColumns(NamedTuple):
    levels: IntArray
    firsts: IntArray
    lasts: IntArray
    parents: IntArray


def _span_columns(spans: Sequence[Span]) -> _SpanColumns:
    if isinstance(spans, SpanLog):
        # Read from the log's columns: a Span object for each of a million spans costs more than all that follows.
        parts = (spans.levels, spans.firsts, spans.lasts, spans.parents)
        return _SpanColumns(*(np.array(part, dtype=np.int64) for part in parts))
    rows = [(span.level, span.first, span.last, span.parent) for span in spans]
    return _SpanColumns(*np.array(rows, dtype=np.int64).reshape(-1, len(_SpanColumns._fields)).T)


def _parents_below_cycle(columns: _SpanColumns) -> IntArray:
    """Index of each span's parent; -1 for a span directly below the cycle."""
    parents = columns.parents.copy()
    inside = np.flatnonzero(parents >= 0)
    parents[inside[columns.levels[parents[inside]] == Level.CYCLE]] = -1
    return parents


def _paint_innermost(columns: _SpanColumns, parents: IntArray, is_shown: BoolArray, events: int) -> IntArray:
    """The index of the deepest span at each event; -1 outside all of them."""
    painted: IntArray = np.full(events + 2, -1, dtype=np.int64)
    depth = np.zeros(len(parents), dtype=np.int64)
    above = parents.copy()
    while (inside := above >= 0).any():
        depth += inside
        above = np.where(inside, parents[above], -1)
    # Outer spans are painted first; spans of one depth never overlap, so that one assignment paints all of them.
    for level in range(int(depth.max(initial=0)) + 1):
        chosen = np.flatnonzero(is_shown & (depth == level))
        lengths = columns.lasts[chosen] - columns.firsts[chosen] + 1
        starts = np.repeat(columns.firsts[chosen] - (np.cumsum(lengths) - lengths), lengths)  # exact: ints
        painted[starts + np.arange(len(starts))] = np.repeat(chosen, lengths)
    return painted


class _SpanChildren:
    """Spans by the span around them."""

    def __init__(self, parents: IntArray, shown_indexes: IntArray) -> None:
        order = np.argsort(parents[shown_indexes], kind="stable")
        self._spans = shown_indexes[order]
        self._starts = np.searchsorted(parents[self._spans], np.arange(-1, len(parents) + 1))

    def indexes_inside(self, index: int) -> list[int]:
        """Spans directly inside one; -1 is the cycle."""
        indexes: list[int] = self._spans[self._starts[index + 1] : self._starts[index + 2]].tolist()
        return indexes
