import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.effort import at_most
from tests.recorded import bundled
from vcdebug.debugger import figures
from vcdebug.debugger.breakpoint import find_stops
from vcdebug.debugger.commands import execute_line
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.expression import AnyOf, KnownFields, Value, parse_expression
from vcdebug.debugger.expression_tokens import ExpressionError
from vcdebug.debugger.fields import FIELD_TYPES, fields_of
from vcdebug.recording.recording import Recording

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
        ("score < 4Gx", 8, "'4Gx' is not an amount"),
        ('plugin == "gang', 10, "unexpected"),
        ("not " * 60 + "op", 200, "nested too deeply"),
        ("score < " + "9" * 5000, 8, "at most 100 characters"),
    ],
)
def test_a_fault_names_the_character(text: str, position: int, message: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        value(text)
    assert position == caught.value.position
    assert message in caught.value.message
    assert text.strip() in caught.value.format_line()


def test_and_and_or_skip_the_side_that_cannot_matter() -> None:
    asked: list[str] = []

    def fields(name: str) -> Value:
        asked.append(name)
        return FIELDS[name]

    parse_expression('plugin == "drf" and job == "x"', KNOWN).evaluate(fields)
    parse_expression('plugin == "gang" or job == "x"', KNOWN).evaluate(fields)
    assert ["plugin", "plugin"] == asked


def test_texts_that_a_condition_needs_are_known_to_an_index() -> None:
    known = KNOWN
    assert {"plugin": "gang", "job": "a"} == parse_expression('plugin == "gang" and "a" == job', known).equalities
    assert {"job": "a"} == parse_expression('job == "a" and (plugin == "x" or op == null)', known).equalities
    assert {} == parse_expression('plugin == "gang" or job == "a"', known).equalities
    assert {} == parse_expression('not plugin == "gang"', known).equalities


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(.*)(.*)(.*)(.*)(.*)c$", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_no_pattern_takes_longer_than_its_text_is_long(pattern: str) -> None:
    condition = parse_expression(f'job matches "{pattern}"', KNOWN)
    with at_most(seconds=1):
        assert condition.evaluate({**FIELDS, "job": "a" * 5000 + "!"}.__getitem__) is False


# Arithmetic and figures in expressions.

NUMBERS = {"a": 3, "b": -2.5, "c": 0, "d": 10}
SUMS = st.recursive(
    st.one_of(st.sampled_from(list(NUMBERS)), st.integers(0, 99).map(str), st.sampled_from(["0.5", "1e3"])),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(lambda it: f"({it[0]} {it[1]} {it[2]})"),
    max_leaves=12,
)
CONDITIONS = st.tuples(SUMS, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), SUMS).map(" ".join)


def read_numbers(text: str) -> Value:
    return parse_expression(text, dict.fromkeys(NUMBERS, "number")).evaluate(NUMBERS.__getitem__)


@settings(max_examples=300, deadline=None)
@given(SUMS, CONDITIONS)
def test_arithmetic_is_pythons_and_a_division_by_zero_has_no_value(sum_text: str, condition: str) -> None:
    for text in (sum_text, condition):
        try:
            expected = eval(text, {}, NUMBERS)
        except ZeroDivisionError:
            assert read_numbers(sum_text if text is sum_text else "1 / c") is None
            continue
        assert expected == read_numbers(text), text


Pair = tuple[str, str]
"""An expression, and the same in Python."""
VALUES: dict[str, Value] = {**NUMBERS, "text": "ml/a", "names": ("ml/a", "web/b", "ml/c"), "empty": ()}
WORD_TESTS = st.sampled_from(
    [
        *((same, same) for same in ('{} == "ml/a"', '"l/" in {}', "{} in names", "{} not in empty")),
        ('{} matches "^ml/.$|b$"', 'bool(search("^ml/.$|b$", {}))'),
    ]
)


def about_list(quantifier: str, names: str, test: Pair) -> Pair:
    ours, pythons = (each.format("it") for each in test)
    return f"{quantifier}({names}, {ours})", f"{quantifier}({pythons} for it in {names})"


def joined(form: str, left: Pair, right: Pair) -> Pair:
    return form.format(left[0], right[0]), form.format(left[1], right[1])


TESTS = st.one_of(
    CONDITIONS.map(lambda text: (text, text)),
    WORD_TESTS.map(lambda test: (test[0].format("text"), test[1].format("text"))),
    st.builds(about_list, st.sampled_from(["any", "all"]), st.sampled_from(["names", "empty"]), WORD_TESTS),
    SUMS.map(lambda text: (f"count(names) > {text}", f"len(names) > {text}")),
)
LOGIC = st.recursive(
    TESTS,
    lambda each: st.builds(joined, st.sampled_from(["({}) and ({})", "({}) or ({})", "not ({})"]), each, each),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(LOGIC)
def test_logic_and_lists_are_pythons(pair: Pair) -> None:
    ours, pythons = pair
    try:
        expected = eval(pythons, {**VALUES, "search": re.search})
    except ZeroDivisionError:
        return  # a division by zero has no value here
    assert expected is parse_expression(ours, dict.fromkeys(VALUES, "any")).evaluate(VALUES.__getitem__)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + d * 2", 23),
        ("d - a - 1", 6),
        ("d -1", 9),
        ("-a + 1", -2),
        ("-(a - d)", 7),
        ("d / 4 > 2 and not a * a < 9", True),
        ("500m + 1", 1.5),
        ("d / c", None),
        ("d / c > 0 or a == 3", True),
        ("d / c != 0", True),
        ("d / c == 0", False),
        ("1e999 - 1e999 <= 1", False),
        ("1e999 - 1e999 >= 1", False),
        ("1e999 - 1e999 != 1", True),
    ],
)
def test_products_bind_before_sums_and_sums_before_comparisons(text: str, expected: Value) -> None:
    assert expected == read_numbers(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a + "x"', "[+] needs numbers, not text"),
        ("-true", "- needs a number, not yes or no"),
        ("a +", "expected a field or a value, found the end"),
        ('node("n1")', "say which figure"),
        ("node(n1).idle.cpu", "node needs a name in quotes"),
        ('node("n1").idle.cpu < "x" + 1', "[+] needs numbers"),
        ("1" + " + 1" * 101, "at most 100 signs in a row"),
        ("-(" * 60 + "1" + ")" * 60, "nested too deeply"),
    ],
)
def test_invalid_arithmetic_is_refused_with_its_position(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        read_numbers(text)


def test_figures_are_read_after_the_event_in_cores_and_bytes() -> None:
    recording = bundled("preempt-works")
    for seq in range(1, len(recording) + 1):

        def read(text: str, seq: int = seq) -> Value:
            return parse_expression(text, FIELD_TYPES).evaluate(fields_of(recording, seq))

        for name in recording.session.nodes:
            amounts = recording.timeline.state_at(seq).nodes[name]
            assert amounts.idle.get("cpu") / 1000 == read(f'node("{name}").idle.cpu')
            future = amounts.idle.get("memory") + amounts.releasing.get("memory") - amounts.pipelined.get("memory")
            parts = " {} ".join(f'node("{name}").{part}.memory' for part in ("idle", "releasing", "pipelined"))
            assert future == read(parts.format("+", "-")) == read(f'node("{name}").future-idle.memory')
        assert recording.timeline.state_at(seq).job_counts("assistants/chat-api").waiting_count == read(
            'job("assistants/chat-api").waiting'
        )
        assert read('job("no/such").ready') is None
        assert read('queue("inference").allocated.cpu >= 0 and node("gpu-l40s-01").idle.cpu < 1000') is True


def test_missing_figure_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    recording, asked, parse = bundled("preempt-works"), [], figures.parse_figure

    def note_and_parse(recording: Recording, words: tuple[str, ...]) -> figures.Figure:
        asked.append(words)
        return parse(recording, words)

    monkeypatch.setattr(figures, "parse_figure", note_and_parse)
    condition = parse_expression('node("no-such-node").idle.cpu < 0', FIELD_TYPES)
    assert not any(condition.evaluate(fields_of(recording, seq)) for seq in range(1, len(recording) + 1))
    assert [("node", "no-such-node", "idle", "cpu")] == asked


# Lists, and figures before the event.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('any(victims, it == "ml/a-0")', True),
        ('all(victims, it matches "^ml/")', True),
        ('all(victims, it == "ml/a-0")', False),
        ('any(victims, it matches "^prod/")', False),
        ('all(["a", "b"], it in ["a", "b", "c"])', True),
        ("all(op, true)", False),
        ('any(node, it == "n2") and not all(node, it == "n2")', True),
        ('any(plugin, it matches "gang")', True),
        ('all(victims, it in victims and plugin == "gang")', True),
    ],
)
def test_any_and_all_evaluate_each_name(text: str, expected: bool) -> None:
    assert expected == value(text)


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("any(seq, true)", 0, "any needs a list, not number"),
        ("any(victims)", 11, "expected ','"),
        ("any(victims, any(victims, true))", 13, "cannot be nested"),
        ('it == "a"', 0, "no field 'it'"),
        ("old(seq)", 4, "old needs a figure"),
        ('new("n1")', 4, "new needs a figure"),
        ('old(node("n1"))', 14, "say which figure"),
    ],
)
def test_errors_in_any_and_all_name_the_character(text: str, position: int, message: str) -> None:
    with pytest.raises(ExpressionError, match=message) as caught:
        parse_expression(text, FIELD_TYPES)
    assert position == caught.value.position


def read_at(recording: Recording, seq: int, text: str) -> Value:
    return parse_expression(text, FIELD_TYPES).evaluate(fields_of(recording, seq))


def test_old_is_the_value_before_the_event() -> None:
    recording, changed = bundled("preempt-works"), 0
    figure = 'job("assistants/chat-api").waiting'
    for seq in range(1, len(recording) + 1):
        assert read_at(recording, seq, f"new({figure})") == read_at(recording, seq, figure)
        if seq > 1:
            assert read_at(recording, seq, f"old({figure})") == read_at(recording, seq - 1, figure)
        changed += read_at(recording, seq, f"old({figure}) != new({figure})") is True
    followed = figures.figure_history(
        recording, figures.parse_figure_line(recording, "job assistants/chat-api waiting")
    )
    assert 0 < changed == len(followed.changes)


def test_any_and_all_read_the_figures_of_each_name() -> None:
    recording = bundled()
    (seq, *_) = find_stops(recording, 'victim if any(candidates, task(it).status == "Running")')
    assert [] == find_stops(recording, 'victim if any(candidates, task(it).status == "Pending")')
    assert read_at(recording, seq, "all(candidates, task(it).request.cpu > 0)") is True


@pytest.mark.parametrize(
    ("figure", "place", "message"),
    [
        ('node("gpu-a100-09").idle.cpu', "node(", "no node 'gpu-a100-09'"),
        ('node("gpu-a100-01").idel.cpu', "node(", "node gpu-a100-01 has no figure 'idel'"),
        ('job("research/llm-finetune").redy', "job(", "job research/llm-finetune has no figure 'redy'"),
        ('old(queue("nobody").share)', "queue(", "no queue 'nobody'"),
    ],
)
def test_a_figure_that_the_recording_lacks_is_a_fault_with_its_place(figure: str, place: str, message: str) -> None:
    driver = Driver(bundled())
    for line in (f"break victim if {figure} == 1", f"find victim if {figure} == 1"):
        with pytest.raises(ExpressionError, match=message) as caught:
            execute_line(driver, line)
        assert place == caught.value.text[caught.value.position :][: len(place)]
    with pytest.raises(ExpressionError, match=message):
        driver.notebook.watches.add_watch(f"{figure} == 1", bundled())
