"""Movement over events and the rows of the tree: one rule per verb, mirrored backward."""

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from vcdebug.framework.record import PopEvent, ScoreEvent
from vcdebug.model.names import Seq
from vcdebug.recording.flow_rows import next_row, path_to_row, previous_row, row_after_opening
from vcdebug.recording.recording import Recording

Step = Literal[1, -1]
"""Forward or backward."""
FORWARD: Final[Step] = 1
BACKWARD: Final[Step] = -1
OVERVIEW: Final[Seq] = 0
"""The position of the overview, a row before all events that shows the result of the whole cycle."""
MoveVerb = Literal["into", "over", "out"]


class Position(NamedTuple):
    """An event, or a step inside it."""

    seq: Seq
    inside: int = 0
    """The number of the comparison or part of a score within the event; 0 for the event itself."""


def step_direction(*, back: bool) -> Step:
    """BACKWARD or FORWARD."""
    return BACKWARD if back else FORWARD


def step_into(recording: Recording, seq: Seq, step: Step) -> Seq | None:
    """The neighbouring event, however deep; None beyond the ends."""
    target = seq + step
    return target if 1 <= target <= len(recording) else None


def step_over(recording: Recording, seq: Seq, step: Step) -> Seq | None:
    """First event of the next row outside this one; backward, of the sibling before it, else of the parent row."""
    if seq == OVERVIEW:
        # The opening of the session, like the overview, lies before the cycle: one step passes both.
        return row_after_opening(recording) if step == FORWARD else None
    path = path_to_row(recording, seq)
    return next_row(path) if step == FORWARD else previous_row(path)


def step_out(recording: Recording, seq: Seq, step: Step) -> Seq | None:
    """First event after the parent row; backward, of the parent row. At depth 0: as `step_over`; backward, None."""
    if seq == OVERVIEW:
        return step_over(recording, seq, step)
    path = path_to_row(recording, seq)
    if step == FORWARD:
        return next_row(path[:-1] or path)
    return path[-2].part.first if len(path) > 1 else None


MOVES: Final[Mapping[MoveVerb, Callable[[Recording, Seq, Step], Seq | None]]] = {
    "into": step_into,
    "over": step_over,
    "out": step_out,
}


class InnerSteps(NamedTuple):
    """Kind and number of the steps inside an event: the comparisons of a pop, or the parts of a scoring pass."""

    step_noun: str
    total: int


def steps_inside(recording: Recording, seq: Seq) -> InnerSteps:
    """The steps inside an event."""
    event = recording.event_at(seq) if seq != OVERVIEW else None
    if isinstance(event, PopEvent):
        # With the explainers of all plugins: not before the first frame.
        from vcdebug.explain.orders import comparisons_at

        return InnerSteps("comparison", len(comparisons_at(recording, seq)))
    # With a webhook parts have no arithmetic: in a second run it may answer differently.
    if isinstance(event, ScoreEvent) and recording.session.ask_extender is None:
        return InnerSteps("part", len(event.parts))
    return InnerSteps("", 0)
