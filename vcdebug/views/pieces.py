"""Pieces of styled text, lines of them, and the signs that every view shares."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from vcdebug.amount_text import format_number, short_resource_text
from vcdebug.model.resource import Resource

Style = Literal["", "title", "strong", "muted", "good", "bad", "warn", "accent", "here"]
"""A meaning, which the front end renders as a colour or style; the text also shows it by a word or sign."""


YES, NO, SOME, SKIPPED, BEST = "✓", "✗", "◐", "–", "★"
HERE, CURSOR, OPEN, CLOSED, PATH = "●", "▌", "▾", "▸", "›"
COMMIT, DISCARD, EVICT, RESERVED, ALLOCATED, ACTION = "○", "◆", "▲", "□", "■", "┿"
BREAK, BOOKMARK, PROBLEM = "◉", "▼", "!"
USED, RELEASING, BOTH, IDLE, TO_DESERVED, BEYOND = "█", "▒", "▣", "·", "░", "▓"
BAR_SIGNS: Final = (USED, RELEASING, BOTH, RESERVED, IDLE)
QUEUE_SIGNS: Final = (USED, TO_DESERVED, BEYOND, IDLE)
"""Signs of a queue's bar: allocated up to deserved, unused deserved, allocated beyond it, rest up to the limit."""
GANG_SIGNS: Final = (ALLOCATED, RESERVED, NO)
"""Signs of a gang's bar: placed, pipelined and missing pods."""
SIGNS: Final = {
    HERE: "here",
    CURSOR: "cursor",
    CLOSED: "closed",
    OPEN: "open",
    PATH: "path",
    YES: "yes: allows, fits, ready",
    NO: "no: refuses, protects, lacks",
    SOME: "partly",
    SKIPPED: "not asked, no value",
    BEST: "best node",
    COMMIT: "commit",
    DISCARD: "discard",
    EVICT: "evict",
    RESERVED: "reserved (pipelined)",
    ALLOCATED: "allocated, bound",
    ACTION: "action",
    BREAK: "break",
    BOOKMARK: "mark",
    PROBLEM: "quirk or problem",
    USED: "used",
    RELEASING: "releasing",
    BOTH: "releasing and reserved",
    IDLE: "idle",
    TO_DESERVED: "up to deserved",
    BEYOND: "above deserved",
}
"""Sign of trees, tables, bars and the timeline -> its meaning, the same everywhere."""


def sign_legend(*signs: str) -> str:
    """`● here  ○ commit`: the signs with their meanings."""
    return "  ".join(f"{sign} {SIGNS[sign]}" for sign in signs)


class Piece(NamedTuple):
    """Text in one style."""

    text: str
    style: Style = ""


Line = tuple[Piece, ...]


def make_line(*pieces: Piece | str) -> Line:
    """A line of pieces; a str is a piece without style."""
    return tuple(Piece(piece) if isinstance(piece, str) else piece for piece in pieces)


def text_of(pieces: Sequence[Piece]) -> str:
    """The pieces' text without styles."""
    return "".join(piece.text for piece in pieces)


def muted_piece(text: str) -> Piece:
    """A piece in the style of less important text."""
    return Piece(text, "muted")


def muted_lines(*texts: str) -> tuple[Line, ...]:
    """A line of less important text for each of the texts."""
    return tuple(make_line(muted_piece(text)) for text in texts)


def labelled_line(**facts: str) -> Line:
    """`queue q1  phase Inqueue`: each fact with its label, the labels muted."""
    parts = ((f"{'  ' if number else ''}{label} ", text) for number, (label, text) in enumerate(facts.items()))
    return tuple(piece for label, text in parts for piece in (muted_piece(label), Piece(text)))


def value_text(value: object) -> str:
    """The text of a plugin's figure of any type."""
    if isinstance(value, Resource):
        return short_resource_text(value)
    # bool before the numbers: True is an int in Python.
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return format_number(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {value_text(entry)}" for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(value_text, value))
    return "" if value is None else str(value)
