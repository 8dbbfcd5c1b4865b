"""The tree of spans over a recording: which action, queue, job, task and node an event belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vcdebug.framework.record import Level, Span
from vcdebug.model.names import IntArray, Seq


class SpanTree:
    """Spans below the cycle. A span's first event is its head: there, one stands before the whole span."""

    def __init__(self, spans: Sequence[Span], events: int) -> None:
        self.spans = spans
        self.events = events
        self.root = next((span for span in spans if span.level == Level.CYCLE), None)
        self._innermost: IntArray = np.full(events + 2, -1, dtype=np.int64)
        self._heads: dict[Seq, Span] = {}
        self._children: dict[int, list[Span]] = {}
        for span in spans:
            if span.level == Level.CYCLE or span.last < span.first:
                continue
            self._innermost[span.first : span.last + 1] = span.index
            self._heads.setdefault(span.first, span)
            self._children.setdefault(self._parent_index(span), []).append(span)

    def _parent_index(self, span: Span) -> int:
        parent = span.parent
        return -1 if parent < 0 or self.spans[parent].level == Level.CYCLE else parent

    def innermost(self, seq: Seq) -> Span | None:
        """The deepest span around an event; None directly below the cycle."""
        index = int(self._innermost[seq])
        return None if index < 0 else self.spans[index]

    def parent(self, span: Span) -> Span | None:
        """The span around a span; None directly below the cycle."""
        index = self._parent_index(span)
        return None if index < 0 else self.spans[index]

    def children(self, span: Span | None) -> Sequence[Span]:
        """The spans directly inside one, or the topmost ones, in order; empty ones are left out."""
        return self._children.get(-1 if span is None else span.index, ())

    def path(self, seq: Seq) -> tuple[Span, ...]:
        """All spans around an event, the cycle first."""
        inner: list[Span] = []
        span = self.innermost(seq)
        while span is not None:
            inner.append(span)
            span = self.parent(span)
        around = [self.root] if self.root is not None else []
        return (*around, *reversed(inner))

    def around(self, seq: Seq, level: Level) -> Span | None:
        """The deepest span of one level around an event."""
        span = self.innermost(seq)
        while span is not None and span.level != level:
            span = self.parent(span)
        return span

    def head(self, seq: Seq) -> Span | None:
        """The largest span below the cycle that begins with this event."""
        return self._heads.get(seq)

    def owner(self, seq: Seq) -> Span | None:
        """The span in which one stands at an event: at a head, the one around the span that begins there."""
        head = self.head(seq)
        return self.parent(head) if head is not None else self.innermost(seq)

    def element(self, seq: Seq) -> tuple[Seq, Seq]:
        """(first, last) of what one stands before: the whole span at a head, else the event alone."""
        head = self.head(seq)
        return (seq, seq) if head is None else (head.first, head.last)

    def landing(self, seq: Seq, owner: Span | None) -> Seq:
        """Where the part of `owner` that holds an event begins; of a wider span if `owner` does not hold it."""
        while owner is not None and not owner.first <= seq <= owner.last:
            owner = self.parent(owner)
        landing, span = seq, self.innermost(seq)
        while span is not None and span is not owner:
            landing, span = span.first, self.parent(span)
        return landing
