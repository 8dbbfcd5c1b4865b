"""Where in a recording something is spoken of: event numbers by job, task, node, queue, plugin, hook and event type."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

from vcdebug.framework.record import Level, Record, Span
from vcdebug.framework.subject import JOB as JOB
from vcdebug.framework.subject import NODE as NODE
from vcdebug.framework.subject import QUEUE as QUEUE
from vcdebug.framework.subject import TASK as TASK
from vcdebug.model.names import Seq
from vcdebug.trace.mentions import PLUGIN as PLUGIN
from vcdebug.trace.mentions import POINT, EventColumns, gather_mentions, hook_mentions
from vcdebug.trace.mentions import Owners as Owners
from vcdebug.trace.postings import EMPTY_SEQS, Mentions, Postings, as_seqs
from vcdebug.trace.postings import Seqs as Seqs


class EventIndex:
    """Event numbers by subject; each part is built over whole columns when it is first asked for."""

    def __init__(self, record: Record, owners: Owners) -> None:
        self._record = record
        self._owners = owners
        self._postings: dict[str, Postings] = {}

    def seqs_of_type(self, kind: type[object]) -> Seqs:
        """Events of one type."""
        return self._seqs_by_type.get(kind, EMPTY_SEQS)

    def seqs_at_point(self, point: str) -> Seqs:
        """Calls of one hook, by upstream's name."""
        return self._postings_of(POINT).seqs_of(point)

    def seqs_about(self, kind: str, name: str) -> Seqs:
        """Events that concern one task, job, node, queue or plugin."""
        return self._postings_of(kind).seqs_of(name)

    def names_of_kind(self, kind: str) -> list[str]:
        """Everything of one kind that some event concerns, in order of appearance."""
        return self._postings_of(kind).stated_names()

    def spans_of(self, level: Level, name: str) -> Sequence[Span]:
        """The spans of one action, queue, job, task or node, in order."""
        spans = self._record.spans
        return [spans[index] for index in self._spans.get((level, name), ())]

    def build_all(self, step: Callable[[], object] = lambda: None) -> None:
        """Build everything now, so that nobody waits for it later; between its parts `step` may end that."""
        for kind in (TASK, JOB, NODE, QUEUE, PLUGIN, POINT):
            self._postings_of(kind)
            step()
        _ = self._seqs_by_type, self._spans

    def _postings_of(self, kind: str) -> Postings:
        if kind not in self._postings:
            self._postings[kind] = self._mentions_of(kind).build_postings()
        return self._postings[kind]

    def _mentions_of(self, kind: str) -> Mentions:
        return (
            hook_mentions(self._event_columns, kind)
            if kind in (PLUGIN, POINT)
            else self._mentions.get(kind, Mentions())
        )

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
        found: dict[tuple[Level, str], list[int]] = {}
        for index, key in enumerate(zip(spans.levels, spans.names, strict=True)):
            found.setdefault(key, []).append(index)
        return found


def seq_after(seqs: Seqs, seq: Seq) -> Seq | None:
    """The first of ascending numbers beyond `seq`."""
    position = bisect_right(seqs, seq)
    return seqs[position] if position < len(seqs) else None


def seq_before(seqs: Seqs, seq: Seq) -> Seq | None:
    """The last of ascending numbers below `seq`."""
    position = bisect_left(seqs, seq)
    return seqs[position - 1] if position else None


def seqs_during(seqs: Seqs, span: Span) -> Seqs:
    """Those of ascending numbers that belong to a span."""
    return seqs[bisect_left(seqs, span.first) : bisect_right(seqs, span.last)]
