"""Pieces of a condition's line: names, numbers, texts and signs, with their positions."""

import re
from typing import Final

from msgspec import Struct

from vcdebug.errors import VcdebugError

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w./-]))
    |(?P<part>(?<=\))\.\w+(?:[-./]+\w+)*)
    |(?P<name>\w+(?:[-./]+\w+)*)
    |(?P<sign>==|!=|<=|>=|&&|\|\||[!<>(),%+*/\[\]-]))""",
    re.VERBOSE | re.ASCII,
)
"""Names may contain the characters of Kubernetes' names; with a leading digit they are amounts (4Gi) or nodes."""


WORDS_BY_SIGN: Final = {"&&": "and", "||": "or", "!": "not"}
MAX_NUMBER_LENGTH: Final = 100


class ExpressionError(VcdebugError):
    """A condition that cannot be read; `position` is the character where it went wrong."""

    def __init__(self, message: str, text: str, position: int) -> None:
        super().__init__(message, hint=f"at character {position + 1} of: {text}")
        self.text = text
        self.position = position


class ExpressionToken(Struct, frozen=True):
    """A token of a line: kind is text, number, part, name, sign or end."""

    kind: str
    text: str
    position: int

    @property
    def shown_text(self) -> str:
        """The token as an error message names it."""
        return repr(self.text) if self.kind != "end" else "the end"

    @property
    def text_content(self) -> str:
        """The content of a quoted text."""
        return re.sub(r"\\(.)", r"\1", self.text[1:-1]) if self.kind == "text" else self.text


def tokens_of(line: str) -> list[ExpressionToken]:
    """The tokens of a line, then an `end` token."""
    tokens: list[ExpressionToken] = []
    position = 0
    while line[position:].strip():
        match = _TOKEN.match(line, position)
        if match is None or match.lastgroup is None:
            start = position + len(line[position:]) - len(line[position:].lstrip())
            fault = f"unexpected {line[start]!r}{' (compare with ==)' if line[start] == '=' else ''}"
            raise ExpressionError(fault, line, start)
        # Python refuses to convert long numbers, at a limit that its environment sets.
        if match.lastgroup == "number" and len(match["number"]) > MAX_NUMBER_LENGTH:
            raise ExpressionError(f"a number has at most {MAX_NUMBER_LENGTH} characters", line, match.start("number"))
        kind, text = match.lastgroup, match[match.lastgroup]
        token = ("name", WORDS_BY_SIGN[text]) if kind == "sign" and text in WORDS_BY_SIGN else (kind, text)
        tokens.append(ExpressionToken(*token, match.start(kind)))
        position = match.end()
    return [*tokens, ExpressionToken("end", "", len(line))]


class TokenReader:
    """Tokens from left to right."""

    def __init__(self, line: str) -> None:
        self.line = line
        self._tokens = tokens_of(line)
        self._next = 0

    @property
    def next_token(self) -> ExpressionToken:
        """The token that comes next."""
        return self._tokens[self._next]

    def read_token(self) -> ExpressionToken:
        """Move past the next token."""
        token = self.next_token
        if token.kind != "end":
            self._next += 1
        return token

    def accept_token(self, *texts: str) -> ExpressionToken | None:
        """Move past the next token if it is one of these words or signs."""
        return self.read_token() if self.next_token.kind in ("name", "sign") and self.next_token.text in texts else None

    def expect_token(self, text: str) -> None:
        """Move past the next token; raises ExpressionError unless it is `text`."""
        if self.accept_token(text) is None:
            raise self.error_at(f"expected {text!r}, found {self.next_token.shown_text}")

    def error_at(self, message: str, token: ExpressionToken | None = None) -> ExpressionError:
        """An error at a token, by default at the next one."""
        return ExpressionError(message, self.line, (token or self.next_token).position)
