"""The tree of spans over a recording: which action, queue, job, task and node an event belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vcdebug.framework.columns import SpanLog
from vcdebug.framework.record import Level, Span
from vcdebug.model.names import BoolArray, IntArray, Seq


class SpanTree:
    """Spans below the cycle. A span's first event is its head: there, one stands before the whole span."""

    def __init__(self, spans: Sequence[Span], events: int) -> None:
        self.spans = spans
        self.events = events
        columns = _span_columns(spans)
        cycles = np.flatnonzero(columns.levels == Level.CYCLE)
        self.root = spans[int(cycles[0])] if len(cycles) else None
        shown = (columns.levels != Level.CYCLE) & (columns.lasts >= columns.firsts)
        self._parents = _parents_below_cycle(columns)
        self._innermost = _paint_innermost(columns, self._parents, shown, events)
        self._heads = np.full(events + 2, -1, dtype=np.int32)
        backward = np.flatnonzero(shown)[::-1]
        self._heads[columns.firsts[backward]] = backward
        self._children = _SpanChildren(self._parents, np.flatnonzero(shown))

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
        """The name of that span; empty where there is none."""
        span = self.span_around(seq, level)
        return "" if span is None else span.name

    def span_starting_at(self, seq: Seq) -> Span | None:
        """The largest span below the cycle that begins with this event."""
        return self._span_at(int(self._heads[seq]))

    def enclosing_span(self, seq: Seq) -> Span | None:
        """The span in which one stands at an event: at a head, the one around the span that begins there."""
        head = self.span_starting_at(seq)
        return self.parent_of(head) if head is not None else self.innermost_span(seq)

    def element_bounds(self, seq: Seq) -> tuple[Seq, Seq]:
        """(first, last) of what one stands before: the whole span at a head, else the event alone."""
        head = self.span_starting_at(seq)
        return (seq, seq) if head is None else (head.first, head.last)

    def landing_seq(self, seq: Seq, owner: Span | None) -> Seq:
        """Where the part of `owner` that holds an event begins; of a wider span if `owner` does not hold it."""
        while owner is not None and not owner.first <= seq <= owner.last:
            owner = self.parent_of(owner)
        landing, span = seq, self.innermost_span(seq)
        while span is not None and span is not owner:
            landing, span = span.first, self.parent_of(span)
        return landing


class _SpanColumns(NamedTuple):
    levels: IntArray
    firsts: IntArray
    lasts: IntArray
    parents: IntArray


def _span_columns(spans: Sequence[Span]) -> _SpanColumns:
    """The figures of all spans, without making a span of them where they are kept in columns."""
    if isinstance(spans, SpanLog):
        parts = (spans.levels, spans.firsts, spans.lasts, spans.parents)
        return _SpanColumns(*(np.array(part, dtype=np.int64) for part in parts))
    rows = [(span.level, span.first, span.last, span.parent) for span in spans]
    return _SpanColumns(*np.array(rows, dtype=np.int64).reshape(-1, len(_SpanColumns._fields)).T)


def _parents_below_cycle(columns: _SpanColumns) -> IntArray:
    """The span around each; -1 directly below the cycle."""
    parents = columns.parents.copy()
    inside = np.flatnonzero(parents >= 0)
    parents[inside[columns.levels[parents[inside]] == Level.CYCLE]] = -1
    return parents


def _paint_innermost(columns: _SpanColumns, parents: IntArray, shown: BoolArray, events: int) -> IntArray:
    """The deepest span at each event: outer ones are painted first, and those of one depth never meet."""
    painted: IntArray = np.full(events + 2, -1, dtype=np.int64)
    depth = np.zeros(len(parents), dtype=np.int64)
    above = parents.copy()
    while (inside := above >= 0).any():
        depth += inside
        above = np.where(inside, parents[above], -1)
    for level in range(int(depth.max(initial=0)) + 1):
        chosen = np.flatnonzero(shown & (depth == level))
        lengths = columns.lasts[chosen] - columns.firsts[chosen] + 1
        starts = np.repeat(columns.firsts[chosen] - (np.cumsum(lengths) - lengths), lengths)  # exact: ints
        painted[starts + np.arange(len(starts))] = np.repeat(chosen, lengths)
    return painted


class _SpanChildren:
    """Spans by the span around them."""

    def __init__(self, parents: IntArray, shown: IntArray) -> None:
        order = np.argsort(parents[shown], kind="stable")
        self._spans = shown[order]
        self._starts = np.searchsorted(parents[self._spans], np.arange(-1, len(parents) + 1))

    def indexes_inside(self, index: int) -> list[int]:
        """Spans directly inside one; -1 is the cycle."""
        found: list[int] = self._spans[self._starts[index + 1] : self._starts[index + 2]].tolist()
        return found
