"""What is typed after /: an expression, `!` for the others, `~` for letters in order; capitals ask for capitals."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from vcdebug.linear_pattern import PatternError, compile_pattern

CELL_SEPARATOR: Final = "\t"
"""What stands between the cells of a row's text."""
PLAIN_TEXT_NOTE: Final = "taken as plain text"
_SPECIAL_SIGNS = re.compile(r"[\\^$.|?*+()\[\]{}]")
_ESCAPED = re.compile(r"\\.")


class RowFilter(NamedTuple):
    """A question to the text of a row."""

    body: str
    kind: Literal["plain", "expression", "fuzzy"]
    inverse: bool
    cased: bool
    """Whether capitals count; otherwise the question is put to the row in small letters."""
    test: Callable[[str], bool]
    note: str = ""

    def is_narrower_than(self, earlier: RowFilter) -> bool:
        """Whether every row that passes this one passes the earlier one too."""
        if self.inverse or earlier.inverse or self.kind != earlier.kind or self.cased != earlier.cased:
            return False
        if self.kind == "plain":
            return earlier.body in self.body
        return self.kind == "fuzzy" and self.body.startswith(earlier.body)


def parse_filter(text: str) -> RowFilter:
    """The filter that a line asks for; an expression that is none is plain text, and the note says so."""
    inverse = text.startswith("!")
    body = text[1:] if inverse else text
    fuzzy = body.startswith(("~", "-f "))
    if fuzzy:
        body = body.removeprefix("~").removeprefix("-f ").strip()
    cased = any(letter.isupper() for letter in _ESCAPED.sub("", body))
    if fuzzy:
        letters = body.replace(" ", "")
        return RowFilter(
            body, "fuzzy", inverse, cased, _maybe_inverted(lambda text: _holds_letters(text, letters), inverse)
        )
    if not _SPECIAL_SIGNS.search(body):
        return _plain_filter(body, inverse, cased)
    try:
        finds = compile_pattern(body.replace("\\ ", " ").replace(" ", r"\s"), cased=cased)
    except PatternError:
        return _plain_filter(body, inverse, cased, PLAIN_TEXT_NOTE)
    return RowFilter(body, "expression", inverse, cased, _maybe_inverted(finds, inverse))


def _holds_letters(text: str, letters: str) -> bool:
    """Whether the letters stand in the text in this order, with anything between them."""
    left = iter(text)
    return all(letter in left for letter in letters)


def _plain_filter(body: str, inverse: bool, cased: bool, note: str = "") -> RowFilter:
    """Without special signs nothing but the text counts; a space also stands for the gap between two cells."""
    if " " in body:
        pattern = re.compile(re.escape(body).replace("\\ ", r"\s"))
        return RowFilter(body, "plain", inverse, cased, _maybe_inverted(pattern.search, inverse), note)
    return RowFilter(body, "plain", inverse, cased, _maybe_inverted(lambda text: body in text, inverse), note)


def _maybe_inverted(finds: Callable[[str], object], inverse: bool) -> Callable[[str], bool]:
    if inverse:
        return lambda text: not finds(text)
    return lambda text: bool(finds(text))
