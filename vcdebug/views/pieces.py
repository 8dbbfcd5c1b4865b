"""Pieces of styled text, lines of them, and the signs that every view shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from vcdebug.amount_text import format_number, short_resource_text
from vcdebug.model.resource import Resource

Style = Literal["", "title", "strong", "muted", "good", "bad", "warn", "accent", "here"]
"""A meaning; the front end chooses what it looks like. Every meaning also has words or a symbol."""


YES, NO, SOME, BEST, HERE, SKIPPED = "✓", "✗", "◐", "★", "●", "·"


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
