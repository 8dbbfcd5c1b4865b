"""The printable form of external text: visible substitutes for control characters and invisible characters."""

import re
from typing import Final

_HARMFUL: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and newline, DEL, C1
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u3164\ufeff\uffa0"  # no width, or blank letters
    "\u2028-\u202e\u2060-\u206f"  # line separators, overrides and isolates of the writing direction
    "\ud800-\udfff\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
)
"""Marks that modify the letter before them (category Mn, variation selectors) are allowed: names need them."""
_PICTURES: Final = 0x2400
"""The first Unicode picture of a control character; the pictures are in the order of the characters."""
_DELETE: Final = "\x7f"
_DELETE_PICTURE: Final = "␡"
_SUBSTITUTE: Final = "\ufffd"


def make_printable(text: str) -> str:
    """Replace control and invisible characters by visible ones, except tab and newline."""
    # Nearly all texts are plain ASCII: these two tests are much faster than the pattern.
    if text.isascii() and text.isprintable():
        return text
    return _HARMFUL.sub(_substitute, text)


def make_line_printable(text: str) -> str:
    """As make_printable, for a text that must stay on one line: tab and newline are replaced too."""
    if text.isascii() and text.isprintable():
        return text
    return make_printable(text).replace("\t", "␉").replace("\n", "␊")


def escape_json(text: str) -> str:
    """Equivalent JSON with control and invisible characters escaped; line ends between tokens stay."""
    return text if text.isascii() and "\x7f" not in text else _HARMFUL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i] << 8 | units[i + 1]:04x}" for i in range(0, len(units), 2))


def _substitute(match: re.Match[str]) -> str:
    character = match.group()
    if character < " ":
        return chr(_PICTURES + ord(character))
    return _DELETE_PICTURE if character == _DELETE else _SUBSTITUTE
