"""The inside of a node's score: every part with what the plugin that gave it made it of."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import NamedTuple

from vcdebug.explain.asked import Asked, asked_at
from vcdebug.explain.equation import Equation
from vcdebug.explain.equations_scores import row_of
from vcdebug.explain.plugins import words
from vcdebug.framework.record import ScoreEvent
from vcdebug.model.names import NodeName, Seq
from vcdebug.trace.recording import Recording


class ScorePart(NamedTuple):
    """One part of a node's score."""

    name: str
    recorded: float
    """NaN where the node has no entry."""
    inside: Equation | None
    """What it was made of; None where there is nothing more to say."""

    @property
    def agrees(self) -> bool:
        """Whether the equation comes to what was recorded."""
        return self.inside is None or self.inside.verdict == self.recorded


def score_parts(recording: Recording, seq: Seq, node: NodeName) -> tuple[ScorePart, ...]:
    """Every part of a node's score, in the order in which they were asked."""
    event = recording.event(seq)
    place = row_of(recording, event, node) if isinstance(event, ScoreEvent) else None
    asked = asked_at(recording, seq, node)
    if not isinstance(event, ScoreEvent) or place is None or asked is None:
        return ()
    return tuple(parts_in(asked, event, place))


def parts_in(asked: Asked, event: ScoreEvent, place: int) -> Iterator[ScorePart]:
    """As score_parts, of a node in a session that one has."""
    asked.session.record.silent += 1
    for name, values in event.parts:
        recorded = float(values[place])
        derive = words(name.partition("/")[0]).scores
        inside = None if derive is None or isnan(recorded) else derive(asked, name)
        yield ScorePart(name, recorded, inside)
    asked.session.record.silent -= 1
