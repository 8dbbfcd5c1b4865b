import pytest

from tests.effort import at_most
from vcdebug.debugger.expression import (
    AnyOf,
    ExpressionError,
    KnownFields,
    Value,
    parse_expression,
    required_equalities,
)

FIELDS: dict[str, Value] = {
    "plugin": "gang",
    "job": "ml/train",
    "result": -1,
    "score": 2.5,
    "victims": ("ml/a-0", "ml/b-0"),
    "node": AnyOf(("n1", "n2")),
    "op": None,
    "eviction": True,
}
KNOWN: KnownFields = dict.fromkeys(FIELDS, "any")


def value(text: str) -> Value:
    return parse_expression(text, KNOWN).evaluate(FIELDS.__getitem__)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('plugin == "gang"', True),
        ("plugin == 'gang'", True),
        ('plugin != "gang"', False),
        ('plugin == "gang" and job == "ml/train"', True),
        ('plugin == "drf" or job == "ml/train"', True),
        ('not plugin == "drf"', True),
        ("result == -1", True),
        ("result == reject", True),
        ("result < 0 and result >= -1", True),
        ("score > 2 and score <= 2.5", True),
        ('job matches "^ml/"', True),
        ('job matches "^prod/"', False),
        ('"ml/a-0" in victims', True),
        ('"ml/c-0" not in victims', True),
        ("count(victims) == 2", True),
        ('plugin in ["gang", "drf"]', True),
        ('plugin in ["priority"]', False),
        ('"train" in job', True),
        ("op == null", True),
        ("eviction", True),
        ("eviction == true", True),
        ("(result == 1 or result == -1) and not op", True),
    ],
)
def test_a_condition_compares_named_fields(text: str, expected: bool) -> None:
    assert expected == value(text)


def test_and_binds_closer_than_or() -> None:
    assert value('plugin == "gang" or plugin == "drf" and result == 1') is True
    assert value('(plugin == "gang" or plugin == "drf") and result == 1') is False


def test_a_field_with_several_names_equals_each_of_them() -> None:
    assert [True, True, False] == [value(f'node == "{name}"') for name in ("n1", "n2", "n3")]
    assert value('node != "n3"') is True
    assert value('node != "n1"') is False
    assert value('node matches "2$"') is True
    assert value('node in ["n2"]') is True


def test_values_of_different_kinds_are_unequal_and_neither_is_smaller() -> None:
    assert [False] * 4 == [value(text) for text in ('result == "x"', 'result < "x"', "op < 1", "eviction == 1")]
    assert value('result != "x"') is True


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ('plugin = "gang"', 7, "unexpected '='"),
        ("plugin == ", 10, "found the end"),
        ('plug == "gang"', 0, "no field 'plug'"),
        ('plugin == "gang" job', 17, "unexpected 'job'"),
        ('job matches "("', 12, "not a pattern"),
        ("job matches job", 12, "needs a pattern in quotes"),
        ('(plugin == "gang"', 17, "expected ')'"),
        ("count victims", 6, "expected '('"),
        ("__import__ == 1", 0, "no field"),
        ("plugin.x == 1", 0, "no field 'plugin.x'"),
        ("plugin ; 1", 7, "unexpected ';'"),
        ("score < 4Gx", 8, "'4Gx' is no amount"),
        ('plugin == "gang', 10, "unexpected"),
        ("not " * 60 + "op", 200, "nested too deeply"),
    ],
)
def test_a_fault_names_the_character(text: str, position: int, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        value(text)
    assert position == caught.value.position
    assert message in caught.value.message
    assert text.strip() in caught.value.format_line()


def test_a_side_that_does_not_matter_is_not_looked_at() -> None:
    asked: list[str] = []

    def fields(name: str) -> Value:
        asked.append(name)
        return FIELDS[name]

    parse_expression('plugin == "drf" and job == "x"', KNOWN).evaluate(fields)
    parse_expression('plugin == "gang" or job == "x"', KNOWN).evaluate(fields)
    assert ["plugin", "plugin"] == asked


def test_texts_that_a_condition_needs_are_known_to_an_index() -> None:
    known = KNOWN
    assert {"plugin": "gang", "job": "a"} == required_equalities(
        parse_expression('plugin == "gang" and "a" == job', known)
    )
    assert {"job": "a"} == required_equalities(parse_expression('job == "a" and (plugin == "x" or op == null)', known))
    assert {} == required_equalities(parse_expression('plugin == "gang" or job == "a"', known))
    assert {} == required_equalities(parse_expression('not plugin == "gang"', known))


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(.*)(.*)(.*)(.*)(.*)c$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_no_pattern_takes_longer_than_its_text_is_long(pattern: str) -> None:
    condition = parse_expression(f'job matches "{pattern}"', KNOWN)
    with at_most(seconds=1):
        assert condition.evaluate({**FIELDS, "job": "a" * 5000 + "!"}.__getitem__) is False
