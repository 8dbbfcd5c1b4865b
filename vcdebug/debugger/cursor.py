"""Movement over events and spans: one rule per verb, mirrored backward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from vcdebug.model.names import Seq
from vcdebug.recording.recording import SpanTree

Step = Literal[1, -1]
"""Forward or backward."""
FORWARD: Final[Step] = 1
BACKWARD: Final[Step] = -1
MoveVerb = Literal["into", "over", "out"]
SelectionKind = Literal["task", "job", "node", "queue", "plugin", "none"]


class CursorSelection(NamedTuple):
    """The selected object next to the current event."""

    kind: SelectionKind
    name: str

    def __str__(self) -> str:
        return "nothing" if self.kind == "none" else f"{self.kind} {self.name}"


NO_SELECTION = CursorSelection("none", "")


class Position(NamedTuple):
    """An event and a selection."""

    seq: Seq
    selection: CursorSelection = NO_SELECTION


def step_direction(*, back: bool) -> Step:
    """The sign of a movement."""
    return BACKWARD if back else FORWARD


def step_into(tree: SpanTree, seq: Seq, step: Step) -> Seq | None:
    """The neighbouring event, however deep; None beyond the ends."""
    target = seq + step
    return target if 1 <= target <= tree.events else None


def step_over(tree: SpanTree, seq: Seq, step: Step) -> Seq | None:
    """The next event or span on the same level; at the head of a span the whole span is skipped."""
    first, last = tree.element_bounds(seq)
    beyond = last + 1 if step == FORWARD else first - 1
    if not 1 <= beyond <= tree.events:
        return None
    # The neighbour can be the head of a deeper span; the landing is its first event on this level.
    return tree.landing_seq(beyond, tree.enclosing_span(seq))


def step_out(tree: SpanTree, seq: Seq, step: Step) -> Seq | None:
    """What follows the enclosing span, or backward its head; None directly below the cycle."""
    owner = tree.enclosing_span(seq)
    if owner is None:
        return None
    beyond = owner.last + 1 if step == FORWARD else owner.first
    if beyond > tree.events:
        return None
    return tree.landing_seq(beyond, tree.parent_of(owner))


MOVES: Final[Mapping[MoveVerb, Callable[[SpanTree, Seq, Step], Seq | None]]] = {
    "into": step_into,
    "over": step_over,
    "out": step_out,
}


def is_subject(selection: CursorSelection) -> bool:
    """Whether events can concern the selection."""
    return selection.kind != "none" and bool(selection.name)
