"""Who may be evicted: what each plugin offered, what was left after it, which tier decided, and who saved whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vcdebug.explain.decisions.equations import equation_at, room_equation
from vcdebug.explain.decisions.votes import HookCallGroup, PluginAnswer, hook_calls_at
from vcdebug.explain.equation import Equation
from vcdebug.framework.hooks import PREEMPTABLE, RECLAIMABLE, UNIFIED_EVICTABLE
from vcdebug.framework.record import HookEvent, Level
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.recording.recording import Recording

VICTIM_POINTS = (PREEMPTABLE.upstream, RECLAIMABLE.upstream, UNIFIED_EVICTABLE.upstream)


@dataclass(frozen=True, slots=True)
class PluginOffer:
    """One plugin's answer and what its tier was left with."""

    seat: PluginAnswer
    offered: tuple[TaskKey, ...]
    left: tuple[TaskKey, ...]
    """The tier's victims after this answer."""


@dataclass(frozen=True, slots=True)
class VictimTier:
    """A tier's offers and what they came to."""

    number: int
    offers: tuple[PluginOffer, ...]
    """In configuration order; plugins not asked are among them, with nothing offered."""
    victims: tuple[TaskKey, ...]
    decides: bool


@dataclass(frozen=True, slots=True)
class VictimObjection:
    """A plugin does not offer a candidate."""

    tier: int
    plugin: str
    why: str
    seq: Seq


@dataclass(frozen=True, slots=True)
class CandidateFate:
    """What became of one candidate."""

    task: TaskKey
    is_victim: bool
    objections: tuple[VictimObjection, ...]
    """From all tiers that were asked, in order."""

    @property
    def saved_by(self) -> VictimObjection | None:
        """The first objection, where the candidate is no victim."""
        return None if self.is_victim or not self.objections else self.objections[0]


@dataclass(frozen=True, slots=True)
class VictimDecision:
    """A question for victims from the candidates to the result."""

    question: HookCallGroup
    preemptor: TaskKey | None
    node: NodeName | None
    candidates: tuple[TaskKey, ...]
    tiers: tuple[VictimTier, ...]
    victims: tuple[TaskKey, ...]
    """As the action got them; a candidate may stand there twice."""
    deciding_tier: int | None
    fates: tuple[CandidateFate, ...]
    """One per candidate, in the order asked."""
    room: Equation | None
    """Whether the node would hold the preemptor with all victims gone."""


def victim_choice(recording: Recording, seq: Seq) -> VictimDecision | None:
    """The question for victims that an event belongs to; None for other events."""
    asked = _victim_question(recording, seq)
    return None if asked is None else _build_choice(recording, seq, asked)


def victim_choice_before(recording: Recording, seq: Seq) -> VictimDecision | None:
    """The question that an event belongs to, or the one that led to it: the latest before it for the same task."""
    found = _find_question_before(recording, seq)
    return None if found is None else _build_choice(recording, *found)


def victim_question_before(recording: Recording, seq: Seq) -> HookCallGroup | None:
    """The same without what was offered: the question, its outcome and the tier that decided."""
    found = _find_question_before(recording, seq)
    return None if found is None else found[1]


def _victim_question(recording: Recording, seq: Seq) -> HookCallGroup | None:
    asked = hook_calls_at(recording, seq)
    return None if asked is None or asked.point not in VICTIM_POINTS else asked


def _find_question_before(recording: Recording, seq: Seq) -> tuple[Seq, HookCallGroup] | None:
    """A question, and the event by which it was found."""
    here = _victim_question(recording, seq)
    if here is not None:
        return seq, here
    span = recording.span_tree.span_around(seq, Level.NODE) or recording.span_tree.span_around(seq, Level.TASK)
    first = 1 if span is None else span.first
    for earlier in range(seq - 1, first - 1, -1):
        event = recording.event_at(earlier)
        if isinstance(event, HookEvent) and event.point in VICTIM_POINTS:
            asked = _victim_question(recording, earlier)
            return None if asked is None else (earlier, asked)
    return None


def _build_choice(recording: Recording, seq: Seq, asked: HookCallGroup) -> VictimDecision:
    preemptor = asked.task or None
    victims = tuple(asked.outcome or ())
    tiers = tuple(_build_tier(asked, number) for number in asked.tiers)
    span = recording.span_tree.span_around(seq, Level.NODE)
    node = None if span is None else span.name
    fates = tuple(_iter_fates(recording, asked, victims))
    room = None
    if preemptor is not None and node is not None:
        room = room_equation(recording, asked.first, preemptor, node, victims)
    decided = asked.deciding_tier
    return VictimDecision(asked, preemptor, node, asked.candidates, tiers, victims, decided, fates, room)


def _build_tier(asked: HookCallGroup, number: int) -> VictimTier:
    offers = tuple(_iter_offers(asked.tier(number)))
    left = offers[-1].left if offers else ()
    return VictimTier(number, offers, left, number == asked.deciding_tier)


def _iter_offers(seats: Sequence[PluginAnswer]) -> Iterator[PluginOffer]:
    """The running intersection: an empty one lets the next answer start over, an empty answer ends it."""
    left: tuple[TaskKey, ...] = ()
    for seat in seats:
        if seat.state != "answered":
            yield PluginOffer(seat, (), left)
            continue
        offered: tuple[TaskKey, ...] = seat.result
        left = offered if not left else tuple(task for task in left for other in offered if task == other)
        yield PluginOffer(seat, offered, left)


def _iter_fates(recording: Recording, asked: HookCallGroup, victims: tuple[TaskKey, ...]) -> Iterator[CandidateFate]:
    answered = [seat for seat in asked.seats if seat.state == "answered" and seat.seq is not None]
    reasons = {seat.seq: _refusal_notes(recording, seat.seq) for seat in answered if seat.seq is not None}
    for task in asked.candidates:
        objections = tuple(
            VictimObjection(seat.tier, seat.plugin, reasons[seat.seq].get(task, ""), seat.seq)
            for seat in answered
            if seat.seq is not None and task not in seat.result
        )
        yield CandidateFate(task, task in victims, objections)


def _refusal_notes(recording: Recording, seq: Seq) -> dict[TaskKey, str]:
    """Why a plugin does not offer a candidate, where its arithmetic is known."""
    found = equation_at(recording, seq)
    return {} if found is None else {term.name: term.note for term in found.terms if not term.holds}
