"""Pieces of styled text, lines of them, and the signs that every view shares."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from vcdebug.amount_text import format_number, short_resource_text
from vcdebug.model.resource import Resource

Style = Literal["", "title", "strong", "muted", "good", "bad", "warn", "accent", "here"]
"""A meaning; the front end chooses what it looks like. Every meaning also has words or a symbol."""


YES, NO, SOME, SKIPPED, BEST = "✓", "✗", "◐", "–", "★"
HERE, CURSOR, OPEN, CLOSED, PATH = "●", "▌", "▾", "▸", "›"
COMMIT, DISCARD, EVICT, RESERVED, ALLOCATED, ACTION = "○", "◆", "▲", "□", "■", "┿"
BREAK, BOOKMARK, PROBLEM = "◉", "▼", "!"
USED, RELEASING, BOTH, IDLE, TO_DESERVED, BEYOND = "█", "▒", "▣", "·", "░", "▓"
BAR_SIGNS: Final = (USED, RELEASING, BOTH, RESERVED, IDLE)
QUEUE_SIGNS: Final = (USED, TO_DESERVED, BEYOND, IDLE)
"""Of what a queue has allocated up to deserved, may still get, has beyond it, and of the rest up to its limit."""
GANG_SIGNS: Final = (ALLOCATED, RESERVED, SKIPPED)
"""Of pods that are placed, that wait for resources, and that are missing."""
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
"""What each sign of trees, tables, bars and the timeline means: one sign has one meaning everywhere."""


def sign_legend(*signs: str) -> str:
    """`● here  ○ commit`: the signs with their meanings; without any, all signs."""
    return "  ".join(f"{sign} {SIGNS[sign]}" for sign in signs or SIGNS)


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
    """A piece in the style of what matters less."""
    return Piece(text, "muted")


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
