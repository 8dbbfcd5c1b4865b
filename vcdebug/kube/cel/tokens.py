"""The words of an expression.

Upstream: cel-go parser.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from vcdebug.gomath import MAX_INT64
from vcdebug.kube.undecided import Undecided

NUMBER, TEXT, WORD, MARK = "number", "text", "word", "mark"
_TOKEN: Final = re.compile(
    r"""\s+|//[^\n]*
    |(?P<number>0x[0-9a-fA-F]+|[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)(?P<unsigned>[uU]?)
    |(?P<raw>[rR]?)(?P<text>"{3}(?:\\.|[^\\])*?"{3}|'{3}(?:\\.|[^\\])*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    |(?P<word>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<mark>&&|\|\||[=!<>]=|[-+*/%!<>?:.,()\[\]{}])""",
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPE: Final = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL | re.IGNORECASE
)
_ESCAPED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"} | {
    mark: mark for mark in "\\\"'`?"
}


class CelToken(NamedTuple):
    """A word and, of a number or a text, its value."""

    kind: str
    text: str
    value: object = None


def split_tokens(expression: str) -> list[CelToken]:
    """All words, and an empty mark that ends them; raises Undecided."""
    found: list[CelToken] = []
    at = 0
    while at < len(expression):
        match = _TOKEN.match(expression, at)
        if match is None or match["unsigned"]:
            raise Undecided(f"the expression is not understood from {expression[at : at + 20]!r} on")
        at = match.end()
        if match.lastgroup is not None:
            found.append(_make_token(match))
    return [*found, CelToken(MARK, "")]


def _make_token(match: re.Match[str]) -> CelToken:
    if match["number"] is not None:
        return CelToken(NUMBER, match["number"], _parse_number(match["number"]))
    if match["text"] is not None:
        width = 3 if match["text"][:3] in ('"""', "'''") and len(match["text"]) >= 6 else 1
        inside = match["text"][width:-width]
        return CelToken(TEXT, match["text"], inside if match["raw"] else _ESCAPE.sub(_unescape_match, inside))
    return CelToken(WORD, match["word"]) if match["word"] else CelToken(MARK, match["mark"])


def _parse_number(text: str) -> int | float:
    if text[:2] != "0x" and any(mark in text for mark in ".eE"):
        return float(text)
    number = int(text, 0 if text[:2] == "0x" else 10)
    if number > MAX_INT64:
        raise Undecided(f"{text} is beyond int64")
    return number


def _unescape_match(match: re.Match[str]) -> str:
    code = next((digits for digits in match.groups()[:3] if digits), None)
    if code is not None or match[4]:
        return chr(int(code, 16) if code is not None else int(match[4], 8))
    if match[5] not in _ESCAPED:
        raise Undecided(f"`\\{match[5]}` is not known")
    return _ESCAPED[match[5]]
