"""Regular expressions with Go's syntax, matched in linear time by RE2. Upstream: regexp (MustCompile, MatchString)."""

import re
from collections.abc import Callable
from typing import Final

_QUOTED_OR_ESCAPED: Final = re.compile(r"\\Q.*?(?:\\E|\Z)|\\(.)", re.DOTALL)
_ANY_BYTE: Final = "C"
"""`\\C` matches one byte in RE2; Go rejects it."""

TextTest = Callable[[str], bool]
"""Function that says whether a text contains a match of the pattern."""


class PatternError(ValueError):
    """Raised for a pattern that Go's regexp rejects; the text says why."""


def compile_pattern(pattern: str, *, cased: bool = True) -> TextTest:
    """Compile a pattern to a function that tests texts for a match; raises PatternError if Go rejects the pattern."""
    # Python's `re` is unsuitable for users' patterns: it backtracks, so `^(a+)+$` takes hours on 40 letters.
    import re2  # loaded only for snapshots with patterns

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
    """The text in UTF-8; a lone surrogate, which no manifest contains, becomes a question mark."""
    return text.encode("utf-8", errors="replace")


def _explain_error(error: Exception) -> str:
    text = error.args[0] if error.args else ""
    return text.decode("utf-8", errors="replace") if isinstance(text, bytes) else str(text)
