"""Patterns match as in Go's regexp, in time linear in the length of the text."""

import pytest

from tests.effort import at_most
from vcdebug.linear_pattern import PatternError, compile_pattern

MATCHES = [
    ("^node-[0-9]+$", "node-12", True),
    ("^node-[0-9]+$", "node-a", False),
    ("2", "node-12", True),
    ("[[:alpha:]]", "1a", True),
    (r"\pL", "é", True),
    ("a{,2}", "a{,2}", True),
    (r"\Q.\C\E", r".\C", True),
    (r"\\C", r"\C", True),
    ("(?i)NODE", "node", True),
    ("NODE", "node", False),
    (r"(?P<rack>r\d)-\z", "r1-", True),
    ("é", "\udcff", False),
]
REFUSED = [
    "(",
    "a**",
    "a++",
    "a{1001}",
    "(a{100}){11}",
    r"\1",
    r"(a)\1",
    "(?=a)",
    "(?<!a)",
    "(?P=name)",
    r"\Z",
    r"\C",
    r"a\\\C",
    "[a",
    "[[:nothing:]]",
    r"\pX",
    "(?x)a",
    "\\",
]
BACKTRACKING = [
    "^(a+)+$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "(a*)*b",
    "(.*)(.*)(.*)(.*)(.*)(.*)(.*)c$",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
]


@pytest.mark.parametrize(("pattern", "text", "found"), MATCHES)
def test_a_pattern_is_looked_for_at_any_place_of_a_text(pattern: str, text: str, found: bool) -> None:
    assert found is compile_pattern(pattern)(text)


def test_case_counts_unless_asked_otherwise() -> None:
    assert (False, True) == (compile_pattern("A")("a"), compile_pattern("A", cased=False)("a"))


@pytest.mark.parametrize("pattern", REFUSED)
def test_patterns_that_go_rejects_are_rejected(pattern: str) -> None:
    with pytest.raises(PatternError):
        compile_pattern(pattern)


@pytest.mark.parametrize("pattern", BACKTRACKING)
def test_no_pattern_backtracks(pattern: str) -> None:
    with at_most(seconds=1):
        assert compile_pattern(pattern)("a" * 10_000 + "!") is False
