"""Who may be evicted: what each plugin offered, what was left after it, which tier decided, and who saved whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vcdebug.explain.equation import Equation
from vcdebug.explain.equations import equation, room_on
from vcdebug.explain.votes import Question, Seat, question
from vcdebug.framework.hooks import PREEMPTABLE, RECLAIMABLE, UNIFIED_EVICTABLE
from vcdebug.framework.record import HookEvent, Level
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.trace.recording import Recording

POINTS = (PREEMPTABLE.upstream, RECLAIMABLE.upstream, UNIFIED_EVICTABLE.upstream)


@dataclass(frozen=True, slots=True)
class Offer:
    """One plugin's answer and what its tier was left with."""

    seat: Seat
    offered: tuple[TaskKey, ...]
    left: tuple[TaskKey, ...]
    """The tier's victims after this answer."""


@dataclass(frozen=True, slots=True)
class VictimTier:
    """A tier's offers and what they came to."""

    number: int
    offers: tuple[Offer, ...]
    """In configuration order; plugins not asked are among them, with nothing offered."""
    victims: tuple[TaskKey, ...]
    decides: bool


@dataclass(frozen=True, slots=True)
class Objection:
    """A plugin does not offer a candidate."""

    tier: int
    plugin: str
    why: str
    seq: Seq


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one candidate."""

    task: TaskKey
    is_victim: bool
    objections: tuple[Objection, ...]
    """From all tiers that were asked, in order."""

    @property
    def saved_by(self) -> Objection | None:
        """The first objection, where the candidate is no victim."""
        return None if self.is_victim or not self.objections else self.objections[0]


@dataclass(frozen=True, slots=True)
class VictimChoice:
    """A question for victims from the candidates to the result."""

    question: Question
    preemptor: TaskKey | None
    node: NodeName | None
    candidates: tuple[TaskKey, ...]
    tiers: tuple[VictimTier, ...]
    victims: tuple[TaskKey, ...]
    """As the action got them; a candidate may stand there twice."""
    deciding_tier: int | None
    fates: tuple[Fate, ...]
    """One per candidate, in the order asked."""
    room: Equation | None
    """Whether the node would hold the preemptor with all victims gone."""


def victim_choice(recording: Recording, seq: Seq) -> VictimChoice | None:
    """The question for victims that an event belongs to; None for other events."""
    asked = _victim_question(recording, seq)
    return None if asked is None else _choice(recording, seq, asked)


def next_choice(recording: Recording, seq: Seq) -> VictimChoice | None:
    """The question that an event belongs to, or the one that led to it: the latest before it for the same task."""
    found = _next(recording, seq)
    return None if found is None else _choice(recording, *found)


def next_question(recording: Recording, seq: Seq) -> Question | None:
    """The same without what was offered: the question, its outcome and the tier that decided."""
    found = _next(recording, seq)
    return None if found is None else found[1]


def _victim_question(recording: Recording, seq: Seq) -> Question | None:
    asked = question(recording, seq)
    return None if asked is None or asked.point not in POINTS else asked


def _next(recording: Recording, seq: Seq) -> tuple[Seq, Question] | None:
    """A question, and the event by which it was found."""
    here = _victim_question(recording, seq)
    if here is not None:
        return seq, here
    span = recording.tree.around(seq, Level.NODE) or recording.tree.around(seq, Level.TASK)
    first = 1 if span is None else span.first
    for earlier in range(seq - 1, first - 1, -1):
        event = recording.event(earlier)
        if isinstance(event, HookEvent) and event.point in POINTS:
            asked = _victim_question(recording, earlier)
            return None if asked is None else (earlier, asked)
    return None


def _choice(recording: Recording, seq: Seq, asked: Question) -> VictimChoice:
    preemptor = asked.task or None
    victims = tuple(asked.outcome or ())
    tiers = tuple(_tier(asked, number) for number in asked.tiers)
    span = recording.tree.around(seq, Level.NODE)
    node = None if span is None else span.name
    fates = tuple(_fates(recording, asked, victims))
    room = None
    if preemptor is not None and node is not None:
        room = room_on(recording, asked.first, preemptor, node, victims)
    decided = asked.deciding_tier
    return VictimChoice(asked, preemptor, node, asked.candidates, tiers, victims, decided, fates, room)


def _tier(asked: Question, number: int) -> VictimTier:
    offers = tuple(_offers(asked.tier(number)))
    left = offers[-1].left if offers else ()
    return VictimTier(number, offers, left, number == asked.deciding_tier)


def _offers(seats: Sequence[Seat]) -> Iterator[Offer]:
    """The running intersection: an empty one lets the next answer start over, an empty answer ends it."""
    left: tuple[TaskKey, ...] = ()
    for seat in seats:
        if seat.state != "answered":
            yield Offer(seat, (), left)
            continue
        offered: tuple[TaskKey, ...] = seat.result
        left = offered if not left else tuple(task for task in left for other in offered if task == other)
        yield Offer(seat, offered, left)


def _fates(recording: Recording, asked: Question, victims: tuple[TaskKey, ...]) -> Iterator[Fate]:
    answered = [seat for seat in asked.seats if seat.state == "answered" and seat.seq is not None]
    reasons = {seat.seq: _reasons(recording, seat.seq) for seat in answered if seat.seq is not None}
    for task in asked.candidates:
        objections = tuple(
            Objection(seat.tier, seat.plugin, reasons[seat.seq].get(task, ""), seat.seq)
            for seat in answered
            if seat.seq is not None and task not in seat.result
        )
        yield Fate(task, task in victims, objections)


def _reasons(recording: Recording, seq: Seq) -> dict[TaskKey, str]:
    """Why a plugin does not offer a candidate, where its arithmetic is known."""
    found = equation(recording, seq)
    return {} if found is None else {term.name: term.note for term in found.terms if not term.holds}
