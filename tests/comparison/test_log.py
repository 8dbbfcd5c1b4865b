"""A real scheduler's log against the replay: agreement, and the first disagreement of altered logs."""

from collections.abc import Sequence
from functools import cache
from itertools import cycle
from pathlib import Path

import pytest

from tests.logs.log_cases import CASES, copied, lines_in, own_log, position, quieter
from tests.recorded import find_recorded, recorded, recorded_path
from vcdebug.comparison.logs.log_writer import ReplayedLine, log_lines
from vcdebug.comparison.logs.message import recognise_message
from vcdebug.comparison.scheduler_log import (
    Disagreement,
    LogComparison,
    check_log,
    compare_cycle,
    parse_log,
    split_cycles,
)
from vcdebug.errors import VcdebugError

NAMES = ("basic-0001", "preempt-0003")
PREEMPT = "preempt-0003"
BINDING = "Binding Task <default/"
OTHER_LOGS = [path for path in find_recorded("logs/*.log.gz") if not path.name.startswith(NAMES)]


def recognised_places(lines: Sequence[str]) -> list[int]:
    """The indexes of the lines that are compared."""
    parsed = [line for line in parse_log(lines) if recognise_message(line.file, line.text)]
    return [line.number - 1 for line in parsed]


@cache
def replayed(name: str) -> list[ReplayedLine]:
    """The lines that the replay would log."""
    return list(log_lines(copied(name)[1]))


def compared(lines: list[str], name: str = PREEMPT) -> LogComparison:
    """The comparison of a log's last cycle with the replay."""
    return compare_cycle(split_cycles(parse_log(lines))[-1], replayed(name))


def disagreement(lines: list[str], name: str = PREEMPT) -> Disagreement:
    """The first disagreement between a log and the replay."""
    found = check_log(lines, copied(name)[1]).best_comparison.disagreement
    assert found is not None
    return found


@pytest.mark.parametrize("level", [3, 4, 5])
@pytest.mark.parametrize("name", NAMES)
def test_a_log_agrees_at_any_level_from_3(name: str, level: int) -> None:
    lines, recording = copied(name)
    check = check_log(quieter(lines, level), recording)
    assert (True, level) == (check.has_no_disagreement, check.best_comparison.level)
    assert check.best_comparison.covered_count == check.best_comparison.agreeing_count > 20


@pytest.mark.parametrize("level", [3, 4, 5])
@pytest.mark.parametrize("path", OTHER_LOGS, ids=lambda path: path.name.removesuffix(".log.gz"))
def test_another_log_agrees_at_any_level_from_3(path: Path, level: int) -> None:
    recording = recorded(recorded_path(f"random/{path.name.removesuffix('.log.gz')}"))
    check = check_log(quieter(lines_in(path), level), recording)
    assert check.best_comparison.disagreement is None
    assert level == check.best_comparison.level


@pytest.mark.parametrize("name", ["hypernode-0005", "mixed-0000", "nominated-0001", "gang-0004", "pods-0001"])
def test_log_printed_by_the_replay_agrees(name: str) -> None:
    check = check_log(own_log(CASES / name), recorded(CASES / name))
    assert check.best_comparison.disagreement is None


def test_another_node_is_found_with_both_sides() -> None:
    lines = list(copied(PREEMPT)[0])
    at = position(lines, BINDING)
    node = lines[at].rsplit("<", 1)[1]
    lines[at] = lines[at].replace(node, "node-999>")
    found = disagreement(lines)
    assert found.logged is not None
    assert found.replayed is not None
    assert ("different", at + 1) == (found.kind, found.logged.number)
    assert found.logged.text.endswith("<node-999>")
    assert found.replayed.text == found.logged.text.replace("node-999>", node)
    event = recorded(CASES / PREEMPT).event_at(found.replayed.seq)
    assert "allocate" == event.op  # type: ignore[union-attr]  # an OpEvent, or the test fails


@pytest.mark.parametrize("level", [3, 5])
def test_a_line_that_was_removed_is_named(level: int) -> None:
    lines = quieter(copied(PREEMPT)[0], level)
    at = position(lines, BINDING)
    text = lines.pop(at).split("] ", 1)[1]
    found = disagreement(lines)
    assert found.replayed is not None
    assert found.logged is not None
    assert ("missing", text) == (found.kind, found.replayed.text)
    assert at + 1 == found.logged.number


def test_two_lines_that_were_swapped_are_found() -> None:
    lines = list(copied(PREEMPT)[0])
    at = position(lines, BINDING)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    found = disagreement(lines)
    assert found.logged is not None
    assert ("order", at + 1) == (found.kind, found.logged.number)


def test_a_line_that_the_replay_would_not_print_is_found() -> None:
    lines = list(copied(PREEMPT)[0])
    at = position(lines, "Allocating operations")
    lines.insert(at, lines[at])
    found = disagreement(lines)
    assert found.logged is not None
    assert ("extra", "Allocating operations ...") == (found.kind, found.logged.text)


def test_lines_of_parallel_workers_may_stand_in_any_order() -> None:
    lines = list(copied(PREEMPT)[0])
    at = position(lines, "Considering Task <default/")
    before = check_log(lines, copied(PREEMPT)[1]).best_comparison.reordered
    lines[at], lines[at + 2] = lines[at + 2], lines[at]
    check = check_log(lines, copied(PREEMPT)[1])
    assert (True, 2) == (check.has_no_disagreement, check.best_comparison.reordered - before)


def test_unknown_lines_and_prefixes_are_passed_over() -> None:
    lines, recording = copied(PREEMPT)
    noisy = ["started", *(f"2026-11-21T12:27:40Z [pod/scheduler-0] {line}" for line in lines), "\tgoroutine 1"]
    noisy.insert(400, "I1121 12:27:40.930318    9346 allocate.go:1] a line that no version prints")
    assert check_log(noisy, recording).has_no_disagreement


def test_the_cycle_that_matches_is_taken_from_several() -> None:
    lines, recording = copied(PREEMPT)
    check = check_log([*copied("basic-0001")[0], *lines], recording)
    assert (True, 2, 2) == (check.has_no_disagreement, check.best_comparison.cycle.number, check.cycles)


def test_a_cycle_can_be_asked_for() -> None:
    lines, recording = copied(PREEMPT)
    check = check_log([*copied("basic-0001")[0], *lines], recording, cycle=1)
    assert (False, 1) == (check.has_no_disagreement, check.best_comparison.cycle.number)
    with pytest.raises(VcdebugError, match="cycle 3 is not in this log"):
        check_log(lines, recording, cycle=3)


def test_a_log_that_is_cut_agrees_as_far_as_it_goes() -> None:
    lines, recording = copied(PREEMPT)
    check = check_log(lines[: position(lines, "Enter Backfill")], recording)
    assert (True, False) == (check.has_no_disagreement, check.best_comparison.cycle.complete)


def test_an_excerpt_agrees_wherever_it_begins_or_ends() -> None:
    lines = list(copied(PREEMPT)[0])
    places = recognised_places(lines)
    for cut in places[::2]:
        assert compared(lines[cut:]).disagreement is None, f"from line {cut + 1}"
        assert compared(lines[: cut + 1]).disagreement is None, f"to line {cut + 1}"
    part = compared(lines[places[90] :])
    assert (False, len(places) - 90) == (part.is_whole_cycle, part.agreeing_count)


def test_of_a_log_that_is_whole_no_first_line_may_be_missing() -> None:
    lines, recording = list(copied(PREEMPT)[0]), copied(PREEMPT)[1]
    assert check_log(lines, recording, is_whole=True).has_no_disagreement
    for cut in recognised_places(lines)[1:60:5]:
        found = check_log(lines[cut:], recording, is_whole=True).best_comparison.disagreement
        assert found is not None, f"from line {cut + 1}"


@pytest.mark.parametrize("name", NAMES)
def test_excerpts_from_the_middle_agree(name: str) -> None:
    lines = list(copied(name)[0])
    places = recognised_places(lines)
    for start in range(places[0], places[-30], 11):
        assert compared(lines[start : start + 30], name).disagreement is None, f"from line {start + 1}"


@pytest.mark.parametrize("name", NAMES)
def test_excerpts_with_marks_between_them_agree(name: str) -> None:
    lines = list(copied(name)[0])
    places = recognised_places(lines)
    for cut, mark in zip(range(places[20], places[-50], 41), cycle(("...", "--", "[…]", "")), strict=False):
        parts = [*lines[cut - 20 : cut], mark, *lines[cut + 10 : cut + 20], mark, *lines[cut + 35 :]]
        assert compared(parts, name).disagreement is None, f"from line {cut + 1}"
        assert compared([*lines[:cut], *lines[cut + 30 :]], name).disagreement is not None, f"no mark at line {cut + 1}"


@pytest.mark.parametrize("name", NAMES)
def test_a_line_of_an_excerpt_that_differs_is_named(name: str) -> None:
    lines = list(copied(name)[0])
    places = recognised_places(lines)
    start = places[len(places) // 3]
    for altered in (place for place in places[::3] if start <= place and "default/job" in lines[place]):
        excerpt = [*lines[start:altered], lines[altered].replace("default/job", "other/job"), *lines[altered + 1 :]]
        found = disagreement(excerpt, name)
        assert found.logged is not None
        assert altered - start + 1 == found.logged.number


def test_an_excerpt_of_another_cycle_is_not_preferred_to_a_cycle_that_agrees_longer() -> None:
    lines = list(copied(PREEMPT)[0])
    at = position(lines, BINDING)
    changed = [*lines[:at], lines[at].replace(BINDING, "Binding Task <other/"), *lines[at + 1 :]]
    best = check_log([*lines[-8:], *changed], copied(PREEMPT)[1]).best_comparison
    assert best.disagreement is not None
    assert (2, at + 9) == (best.cycle.number, best.disagreement.logged and best.disagreement.logged.number)


def test_a_log_without_a_cycle_is_an_error() -> None:
    with pytest.raises(VcdebugError, match="no scheduling cycle"):
        check_log(["hello", ""], copied(PREEMPT)[1])
