"""Patterns match as in Go's regexp, in time linear in the length of the text."""

from itertools import product

import pytest

from tests.effort import at_most
from vcdebug.linear_pattern import PatternError, TextSearch, compile_pattern

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


SEARCHED = [
    "",
    "a",
    "^",
    "$",
    "^$",
    "a$|^b",
    "b*",
    "a.b",
    "[ab]{2}",
    "[^a]",
    "a[^b]a",
    r"a\sb",
    r"\Aa",
    r"b\z",
    r"\bb",
    "(?s)a.b",
]
SEARCHED += ["(?-m)^a", "a\tb", "[\t-a]", "é", "[[:^alpha:]]", "(a|b)a", "^[^b]*$"]


@pytest.mark.parametrize("pattern", SEARCHED)
@pytest.mark.parametrize("signs", ["ab ", "aB\té", "a\n"])
@pytest.mark.parametrize("cased", [True, False])
def test_texts_that_are_searched_together_are_those_that_match_alone(pattern: str, signs: str, cased: bool) -> None:
    texts = ["".join(chosen) for size in range(4) for chosen in product(signs, repeat=size)]
    matches = compile_pattern(pattern, cased=cased)
    alone = [index for index, text in enumerate(texts) if matches(text)]
    assert alone == [*TextSearch(pattern, cased=cased).find(texts)]
    assert [] == [*TextSearch(pattern, cased=cased).find([])]
