"""`s` on the screen steps into a pop or a scoring: one stop per comparison or part, and the same way back."""

from unittest.mock import patch

import pytest

from tests.recorded import BLOCKED, bundled
from vcdebug.debugger.commands import execute_line
from vcdebug.debugger.cursor import OVERVIEW, steps_inside
from vcdebug.debugger.debugger import Debugger
from vcdebug.debugger.driver import Driver
from vcdebug.explain.decisions.equations import equation_inside
from vcdebug.explain.orders import comparisons_at
from vcdebug.framework.record import PopEvent, ScoreEvent
from vcdebug.recording import replay
from vcdebug.recording.recording import Recording

COMPARED = "preempt-works"
"""A pop of this one has three comparisons."""


def place(debugger: Debugger) -> tuple[int, int]:
    return debugger.position.seq, debugger.position.inside


def compared_pop(recording: Recording, least: int = 2) -> int:
    """The first pop with at least this many comparisons."""
    pops = recording.index.seqs_of_type(PopEvent)
    return next(seq for seq in pops if len(comparisons_at(recording, seq)) >= least)


@pytest.mark.parametrize("name", [BLOCKED, "placed-by-score", "reclaim-across-queues"])
def test_the_way_back_through_a_cycle_has_the_same_stops(name: str) -> None:
    debugger = Debugger(bundled(name), first=OVERVIEW)
    way = [place(debugger)]
    while debugger.step_inside().reason == "step":
        way.append(place(debugger))
    back = [place(debugger)]
    while debugger.step_inside(back=True).reason == "step":
        back.append(place(debugger))
    assert way == back[::-1]
    total = sum(steps_inside(debugger.recording, seq).total for seq in range(len(debugger.recording) + 1))
    assert 1 + len(debugger.recording) + total == len(way)
    assert total


def test_each_comparison_and_each_part_is_a_stop_with_its_arithmetic() -> None:
    recording = bundled(COMPARED)
    seq = compared_pop(recording)
    for number, order in enumerate(comparisons_at(recording, seq), start=1):
        found = equation_inside(recording, seq, number)
        assert found is not None
        assert f"why {order.left} goes before {order.right}" == found.title
        assert len(order.steps) == len(found.terms)
    scores = recording.index.seqs_of_type(ScoreEvent)[0]
    event = recording.event_at(scores)
    assert isinstance(event, ScoreEvent)
    assert ("part", len(event.parts)) == steps_inside(recording, scores)
    assert any(equation_inside(recording, scores, number + 1) for number in range(len(event.parts)))


@pytest.mark.parametrize("move", ["step_over", "step_out"])
def test_over_and_out_leave_the_comparisons_and_come_back(move: str) -> None:
    recording = bundled(COMPARED)
    seq = compared_pop(recording)
    debugger = Debugger(recording, first=OVERVIEW)
    debugger.goto_event(seq)
    after = debugger.step_over().position.seq
    debugger.goto_event(seq)
    for _ in range(2):
        debugger.step_inside()
    assert (seq, 2) == place(debugger)
    getattr(debugger, move)()
    assert (after, 0) == place(debugger)
    getattr(debugger, move)(back=True)
    assert (seq, 2) == place(debugger)


def test_out_backward_of_a_comparison_is_the_pop() -> None:
    recording = bundled(COMPARED)
    debugger = Debugger(recording, first=OVERVIEW)
    debugger.goto_event(compared_pop(recording))
    debugger.step_inside()
    debugger.step_out(back=True)
    assert (compared_pop(recording), 0) == place(debugger)
    assert debugger.went_up


def test_the_comparisons_of_a_pop_need_no_second_run() -> None:
    seq = compared_pop(bundled(COMPARED))
    with patch.object(replay, "UNNOTICED_SIZE", 0), replay.refuse_long_runs():
        assert steps_inside(bundled(COMPARED), seq).total
        assert equation_inside(bundled(COMPARED), seq, 1)


def test_scripts_step_from_event_to_event() -> None:
    recording = bundled(COMPARED)
    debugger = Debugger(recording)
    debugger.goto_event(compared_pop(recording))
    debugger.step_into()
    assert (compared_pop(recording) + 1, 0) == place(debugger)


def test_the_command_goes_where_the_key_goes_and_scripts_step_from_event_to_event() -> None:
    recording = bundled(COMPARED)
    seq = compared_pop(recording)
    driver = Driver(recording)
    execute_line(driver, f"goto {seq}")
    stops = [execute_line(driver, line).state for line in ("si", "si", "Si", "step")]
    assert [(seq, 1), (seq, 2), (seq, 1), (seq + 1, 0)] == [(at.seq, at.inside) for at in stops if at is not None]
