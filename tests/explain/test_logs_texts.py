"""Single lines: how Go prints, which message a line is, where a cycle ends."""

import pytest

from tests.explain.log_cases import copied
from vcdebug.explain.logs import narrate
from vcdebug.explain.logs.klog import cycles, parse_log
from vcdebug.explain.logs.messages import BY_KEY, MESSAGES, recognise
from vcdebug.explain.logs.story import escaped, mapping, number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (0.3, "0.3"),
        (0.05434782608695652, "0.05434782608695652"),
        (474.5, "474.5"),
        (1e-05, "1e-05"),
        (0.0001, "0.0001"),
        (1234567890123.0, "1234567890123"),
        (1e20, "100000000000000000000"),
        (1.5e21, "1.5e+21"),
        (-2.5e-7, "-2.5e-07"),
        (float("inf"), "+Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_a_number_reads_as_go_prints_it(value: float, text: str) -> None:
    assert text == number(value)


def test_a_map_has_its_keys_in_order() -> None:
    assert "map[a:0.5 b:2]" == mapping({"b": 2.0, "a": 0.5})


def test_json_escapes_angle_brackets() -> None:
    assert '"\\u003ctop\\u003e"' == escaped("<top>")


def test_a_header_is_found_behind_a_prefix() -> None:
    line = next(parse_log(["2026-11-21T12:27:41Z I1121 12:27:41.189747    9354 session.go:282] Close Session x"]))
    assert ("I", "session.go", "Close Session x") == (line.severity, line.file, line.text)


def test_every_message_recognises_what_it_writes() -> None:
    for message in MESSAGES:
        text = message.template.replace("{", "<").replace("}", ">")
        found = recognise(message.file, text)
        assert found is not None
        assert found.key == message.key or found.level == message.level


def test_keys_are_unique() -> None:
    assert len(MESSAGES) == len(BY_KEY)


def test_a_cycle_without_its_end_is_incomplete() -> None:
    lines, _ = copied("preempt-0003")
    found = cycles(parse_log([*lines, *lines[:500]]))
    assert [(1, True), (2, False)] == [(cycle.number, cycle.complete) for cycle in found]


def test_a_quieter_narration_is_part_of_a_louder_one() -> None:
    _, recording = copied("preempt-0003")
    loud = list(narrate(recording))
    assert [line for line in loud if line.level <= 3] == list(narrate(recording, 3))
    assert [line.seq for line in loud] == sorted(line.seq for line in loud)
