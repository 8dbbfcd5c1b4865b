"""Regular expressions as Go's regexp reads them, matched in linear time by RE2.

Upstream: regexp (MustCompile, MatchString).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_QUOTED_OR_ESCAPED: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(.)", re.DOTALL)
_ANY_BYTE: Final = "C"
"""`\\C` matches one byte in RE2; Go refuses it."""

TextTest = Callable[[str], bool]
"""Whether a text holds what a pattern describes, at any place."""


class PatternError(ValueError):
    """A pattern that Go's regexp would refuse; the text says why."""


def compile_pattern(pattern: str, *, cased: bool = True) -> TextTest:
    """A test that finds the pattern anywhere in a text; raises PatternError where Go refuses it.

    Python's own `re` must not see a pattern from outside: it backtracks, so `^(a+)+$` takes hours on 40 letters.
    """
    import re2  # a start without patterns does not load it

    options = re2.Options()
    options.log_errors, options.never_capture, options.case_sensitive = False, True, cased
    try:
        search = re2.compile(_as_bytes(pattern), options).search
    except re2.error as error:
        raise PatternError(_explain_error(error)) from error
    if any(match[1] == _ANY_BYTE for match in _QUOTED_OR_ESCAPED.finditer(pattern)):
        raise PatternError(r"invalid escape sequence: \C")
    return lambda text: search(_as_bytes(text)) is not None


def _as_bytes(text: str) -> bytes:
    """UTF-8; a lone surrogate, which no manifest holds, becomes a question mark."""
    return text.encode("utf-8", errors="replace")


def _explain_error(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    return said.decode("utf-8", errors="replace") if isinstance(said, bytes) else str(said)
