"""Where two recordings part: the first event that differs in more than figures, with the votes on both sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

import numpy as np

from vcdebug.explain.votes import HookCallGroup, hook_calls_at
from vcdebug.framework.record import (
    CloseEvent,
    Event,
    HookEvent,
    OpEvent,
    PopEvent,
    PredicateEvent,
    ScoreEvent,
    Span,
    StateEvent,
    StatementEvent,
)
from vcdebug.model.names import Seq
from vcdebug.snapshot.json_values import JsonDict
from vcdebug.trace.codec import EventEncoder
from vcdebug.trace.index import Seqs
from vcdebug.trace.recording import Recording

FIGURE_FIELDS: Final = ("plugins", "after", "left")
"""Fields of operations and pops that tell amounts, not what was decided."""
MAX_DIFFERENCES = 12


@dataclass(frozen=True, slots=True)
class DivergenceSide:
    """One recording's part of it."""

    seq: Seq
    path: tuple[Span, ...]
    """The spans around the event, the cycle first."""
    event: Event
    question: HookCallGroup | None
    """All votes on what was asked here, or just before if the other side still asks it; None for other events."""


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """One value that differs, by its way into the event as the trace writes it; None where it is missing."""

    field: str
    before: object
    after: object


@dataclass(frozen=True, slots=True)
class Divergence:
    """Events of the same rank at which two recordings say or do something else."""

    before: DivergenceSide | None
    """None where the recording has nothing left to lay beside the other."""
    after: DivergenceSide | None
    differences: tuple[ValueDifference, ...]
    """For events of one type about one subject: what differs; at most `MOST_DIFFERENCES`."""


def find_divergence(before: Recording, after: Recording) -> Divergence | None:
    """The first events that differ in an answer, an order, a node, a score or an operation."""
    return _first_divergence(before, after, range(1, len(before) + 1), range(1, len(after) + 1))


def find_decision_divergence(before: Recording, after: Recording) -> Divergence | None:
    """The first operations and statements that differ: where other answers first had consequences."""
    return _first_divergence(before, after, _decision_seqs(before), _decision_seqs(after))


def _decision_seqs(recording: Recording) -> Seqs:
    index = recording.index
    return sorted([*index.seqs_of_type(OpEvent), *index.seqs_of_type(StatementEvent)])


def _first_divergence(before: Recording, after: Recording, left: Seqs, right: Seqs) -> Divergence | None:
    judge = _EventComparison(before, after)
    for one, other in zip_longest(left, right):
        events = None if one is None else before.event_at(one), None if other is None else after.event_at(other)
        if events[0] is None or events[1] is None or not judge.is_same(events[0], events[1]):
            left_side, right_side = _build_side(before, one), _build_side(after, other)
            left_side = _with_open_question(before, left_side, right_side)
            return Divergence(
                left_side, _with_open_question(after, right_side, left_side), judge.list_differences(*events)
            )
    return None


def _build_side(recording: Recording, seq: Seq | None) -> DivergenceSide | None:
    if seq is None:
        return None
    return DivergenceSide(seq, recording.span_tree.path_to(seq), recording.event_at(seq), hook_calls_at(recording, seq))


def _with_open_question(
    recording: Recording, side: DivergenceSide | None, other: DivergenceSide | None
) -> DivergenceSide | None:
    """With the question that the other side is still asking, where this one has just finished it."""
    if side is None or other is None or other.question is None or _same_question(side.question, other.question):
        return side
    finished = hook_calls_at(recording, side.seq - 1) if side.seq > 1 else None
    return replace(side, question=finished) if _same_question(finished, other.question) else side


def _same_question(one: HookCallGroup | None, other: HookCallGroup | None) -> bool:
    return one is not None and other is not None and (one.point, one.subject) == (other.point, other.subject)


class _EventComparison:
    """Compares events of two recordings, whose rows and reason codes need not mean the same."""

    def __init__(self, before: Recording, after: Recording) -> None:
        self._encoders = EventEncoder(before), EventEncoder(after)
        self._same_rows = list(before.node_names) == list(after.node_names)
        self._reasons = before.reason_table, after.reason_table
        self._codes: dict[tuple[int, int], bool] = {}

    def is_same(self, left: Event, right: Event) -> bool:
        """Whether two events decide the same; figures do not count."""
        if type(left) is not type(right):
            return False
        if isinstance(left, StateEvent | CloseEvent):
            return True
        if isinstance(left, PredicateEvent) and isinstance(right, PredicateEvent) and self._same_rows:
            return self._same_search(left, right)
        if isinstance(left, ScoreEvent) and isinstance(right, ScoreEvent) and self._same_rows:
            return _same_scores(left, right)
        if isinstance(left, OpEvent | PopEvent | PredicateEvent | ScoreEvent):
            return self._decided_fields(0, left) == self._decided_fields(1, right)
        return left == right or self._decided_fields(0, left) == self._decided_fields(1, right)

    def list_differences(self, left: Event | None, right: Event | None) -> tuple[ValueDifference, ...]:
        """What differs, where the two can be laid side by side."""
        if left is None or right is None or _event_subject(left) != _event_subject(right):
            return ()
        found = _iter_differences("", self._decided_fields(0, left), self._decided_fields(1, right))
        return tuple(difference for difference, _ in zip(found, range(MAX_DIFFERENCES), strict=False))

    def _same_search(self, left: PredicateEvent, right: PredicateEvent) -> bool:
        if left[:3] != right[:3]:
            return False
        if not (np.array_equal(left.feasible, right.feasible) and np.array_equal(left.failed, right.failed)):
            return False
        pairs = dict.fromkeys(zip(left.codes.tolist(), right.codes.tolist(), strict=True))
        return all(self._same_code(pair) for pair in pairs)

    def _same_code(self, pair: tuple[int, int]) -> bool:
        if pair not in self._codes:
            one, other = (table.statuses_of(code) for table, code in zip(self._reasons, pair, strict=True))
            self._codes[pair] = one == other
        return self._codes[pair]

    def _decided_fields(self, side: int, event: Event) -> JsonDict:
        body = self._encoders[side].encode_event(event)
        return {
            field: value for field, value in body.items() if field not in FIGURE_FIELDS or isinstance(event, ScoreEvent)
        }


def _same_scores(left: ScoreEvent, right: ScoreEvent) -> bool:
    if left.task != right.task or not np.array_equal(left.rows, right.rows):
        return False
    if not np.array_equal(left.total, right.total, equal_nan=True) or len(left.parts) != len(right.parts):
        return False
    return all(
        one[0] == other[0] and np.array_equal(one[1], other[1], equal_nan=True)
        for one, other in zip(left.parts, right.parts, strict=True)
    )


def _event_subject(event: Event) -> tuple[object, ...]:
    """What an event is about, without what came of it."""
    if isinstance(event, HookEvent):
        named = tuple((field, str(value)) for field, value in event.subject if field not in ("vote", "candidates"))
        return (type(event), event.point, event.plugin, named)
    return (type(event), getattr(event, "task", None), getattr(event, "kind", None))


def _iter_differences(path: str, left: object, right: object) -> Iterator[ValueDifference]:
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in dict.fromkeys([*left, *right]):
            yield from _iter_differences(f"{path} / {key}" if path else str(key), left.get(key), right.get(key))
    elif left != right:
        yield ValueDifference(path, left, right)
