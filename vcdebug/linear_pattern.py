"""Regular expressions with Go's syntax, matched in linear time by RE2. Upstream: regexp (MustCompile, MatchString)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    import re2

_QUOTED_OR_ESCAPED: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(.)", re.DOTALL)
_ANY_BYTE: Final = "C"
"""`\\C` matches one byte in RE2; Go rejects it."""

TextTest = Callable[[str], bool]
"""Function that says whether a text contains a match of the pattern."""


class PatternError(ValueError):
    """Raised for a pattern that Go's regexp rejects; the text says why."""


def compile_pattern(pattern: str, *, cased: bool = True) -> TextTest:
    """Compile a pattern to a function that tests texts for a match; raises PatternError if Go rejects the pattern."""
    search = _compile(pattern, cased=cased).search
    if any(match[1] == _ANY_BYTE for match in _QUOTED_OR_ESCAPED.finditer(pattern)):
        raise PatternError(r"invalid escape sequence: \C")
    return lambda text: search(_as_bytes(text)) is not None


_STAYS_IN_A_LINE: Final = re.compile(r"(?:(?!\[\^|\[:|\(\?)[^\\\x00-\x1f])*")
"""A pattern that matches no line break, and for which the ends of a line are those of a text."""


class TextSearch:
    """Finds the texts in which a pattern matches; raises PatternError as `compile_pattern` does."""

    def __init__(self, pattern: str, *, cased: bool = True) -> None:
        self._matches = compile_pattern(pattern, cased=cased)
        self._runs: re2._Regexp | None = None
        if _STAYS_IN_A_LINE.fullmatch(pattern):
            with suppress(PatternError):  # a pattern of almost the largest size becomes too large
                self._runs = _compile(f"(?m)(?:^.*(?:{pattern}).*\n)+", cased=cased)

    def find(self, texts: Sequence[str]) -> Sequence[int]:
        """The indexes of the texts with a match: a call finds many texts side by side, since each call takes long."""
        lines = _as_bytes("".join([f"{text}\n" for text in texts]))
        ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n"))
        if self._runs is None or len(ends) > len(texts):
            return [index for index, text in enumerate(texts) if self._matches(text)]
        spans = [match.span() for match in self._runs.finditer(lines)]
        first, last = (np.searchsorted(ends, [span[side] - side for span in spans]).tolist() for side in (0, 1))
        return [*chain.from_iterable(range(start, end + 1) for start, end in zip(first, last, strict=True))]


def _compile(pattern: str, *, cased: bool) -> re2._Regexp:
    # Python's `re` is unsuitable for users' patterns: it backtracks, so `^(a+)+$` takes hours on 40 letters.
    import re2  # loaded only for snapshots with patterns

    options = re2.Options()
    options.log_errors, options.never_capture, options.case_sensitive = False, True, cased
    try:
        return re2.compile(_as_bytes(pattern), options)
    except re2.error as error:
        raise PatternError(_explain_error(error)) from error


def _as_bytes(text: str) -> bytes:
    """The text in UTF-8; a lone surrogate, which no manifest contains, becomes a question mark."""
    return text.encode("utf-8", errors="replace")


def _explain_error(error: Exception) -> str:
    text = error.args[0] if error.args else ""
    return text.decode("utf-8", errors="replace") if isinstance(text, bytes) else str(text)
