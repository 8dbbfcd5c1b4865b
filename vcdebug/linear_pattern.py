"""Regular expressions as Go's regexp reads them, matched in linear time by RE2.

Upstream: regexp (MustCompile, MatchString).
"""

import re
from collections.abc import Callable
from typing import Final

_QUOTED_OR_ESCAPED: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(.)", re.DOTALL)
_ANY_BYTE: Final = "C"
"""`\\C` matches one byte in RE2; Go refuses it."""

TextTest = Callable[[str], bool]
"""Whether a text contains a match of a pattern."""


class PatternError(ValueError):
    """A pattern that Go's regexp refuses; the text says why."""


def compile_pattern(pattern: str, *, cased: bool = True) -> TextTest:
    """A test whether a text contains a match; raises PatternError for a pattern that Go refuses."""
    # Not Python's `re` for patterns of users: it backtracks, so that `^(a+)+$` takes hours on 40 letters.
    import re2  # loaded only by snapshots with patterns

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
    text = error.args[0] if error.args else ""
    return text.decode("utf-8", errors="replace") if isinstance(text, bytes) else str(text)
