from typing import Any

import pytest

from tests.golden.compare import Steps, first_difference, first_difference_of_lines, first_step_apart


@pytest.mark.parametrize(
    ("left", "right", "steps"),
    [
        (1, 1.0, None),
        (23000.0, 23000.0 * (1 + 1e-13), None),
        (23000.0, 23000.001, ()),
        (0.0, 1e-10, None),
        (True, 1, ()),
        (None, 0, ()),
        ("inf", "inf", None),
        ({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}, ("a", "b", 1)),
        ({"a": [1]}, {"a": [1, 2]}, ("a", 1)),
        ({"a": 1}, {"a": 1, "b": 2}, ("b",)),
    ],
)
def test_values_are_the_same_up_to_the_last_bits(left: Any, right: Any, steps: Steps | None) -> None:
    assert steps == first_step_apart(left, right)


def test_the_number_of_an_event_is_not_compared() -> None:
    assert first_difference([{"ev": "pop", "seq": 1}], [{"ev": "pop", "seq": 7}]) is None


def test_the_first_difference_names_the_plugin_and_the_values() -> None:
    expected = {"ev": "hook", "point": "JobReady", "plugin": "gang", "job": "ml/a", "result": True}
    found = first_difference([{"ev": "pop"}, expected], [{"ev": "pop"}, {**expected, "result": False}])
    assert str(found).splitlines()[:3] == [
        "event 2 differs at result: hook JobReady gang ml/a",
        "  expected true",
        "  actual   false",
    ]


def test_a_trace_that_ends_early_differs_at_its_end() -> None:
    found = first_difference([{"ev": "pop"}, {"ev": "close"}], [{"ev": "pop"}])
    assert found is not None
    assert (2, {"ev": "close"}, None) == (found.number, found.expected, found.actual)


def test_lines_differ_where_their_events_do_however_they_are_spelt() -> None:
    lines = ['{"ev":"pop","seq":1}', '{"ev":"hook","result":1}']
    assert first_difference_of_lines(lines, ['{"seq": 2, "ev": "pop"}', '{"ev":"hook","result":1.0}']) is None
    found = first_difference_of_lines(lines, [lines[0], '{"ev":"hook","result":true}'])
    assert found is not None
    assert (2, ("result",)) == (found.number, found.steps)
    ended = first_difference_of_lines(lines, lines[:1])
    assert ended is not None
    assert (2, {"ev": "hook", "result": 1}, None) == (ended.number, ended.expected, ended.actual)
