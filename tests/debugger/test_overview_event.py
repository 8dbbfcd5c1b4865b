"""The overview is event 0: the keys that lead to it and from it, and scripts, which skip it."""

import pytest

from tests.recorded import BLOCKED, bundled
from vcdebug.debugger.commands import CommandError, execute_line
from vcdebug.debugger.cursor import OVERVIEW
from vcdebug.debugger.debugger import Debugger
from vcdebug.debugger.driver import Driver
from vcdebug.views.flow import flow_at
from vcdebug.whatif.cycles import append_cycles

GANG_OFF = "conf:plugins.gang.enablePreemptable=false"


def beginning() -> Debugger:
    return Debugger(bundled(BLOCKED), first=OVERVIEW)


def opened() -> Driver:
    return Driver(bundled(BLOCKED), first=OVERVIEW)


def test_a_debugger_with_an_overview_begins_there_and_shows_the_state_before_the_cycle() -> None:
    debugger = beginning()
    assert (OVERVIEW, 1, True) == (debugger.position.seq, debugger.seq, debugger.at_overview)
    assert ("start", OVERVIEW) == (debugger.step_into(back=True).reason, debugger.position.seq)


def test_into_reaches_the_first_event_and_its_opposite_comes_back() -> None:
    debugger = beginning()
    assert 1 == debugger.step_into().position.seq
    assert not debugger.at_overview
    assert OVERVIEW == debugger.step_into(back=True).position.seq


@pytest.mark.parametrize("move", ["step_over", "step_out"])
def test_one_key_reaches_the_first_action_and_its_opposite_comes_back(move: str) -> None:
    debugger = beginning()
    getattr(debugger, move)()
    assert "enqueue" == debugger.enclosing_name("action")
    getattr(debugger, move)(back=True)
    assert debugger.at_overview


@pytest.mark.parametrize("row", range(4))
def test_out_backward_of_any_row_of_the_first_depth_is_the_overview(row: int) -> None:
    debugger = beginning()
    debugger.goto_event(flow_at(debugger.recording, 1).rows[row].seq)
    debugger.step_out(back=True)
    assert debugger.at_overview


def test_over_backward_walks_up_the_rows_to_the_overview() -> None:
    debugger = beginning()
    rows = [row.seq for row in flow_at(debugger.recording, 1).rows[:4]]
    debugger.goto_event(rows[-1])
    walked = [debugger.step_over(back=True).position.seq for _ in rows]
    assert [*rows[-2::-1], OVERVIEW] == walked


def test_continue_stops_at_the_first_event_and_where_it_finds_nothing_it_stays() -> None:
    debugger = beginning()
    assert "no breakpoint after event 0" == debugger.continue_().reason
    assert debugger.at_overview
    debugger.breakpoints.add_breakpoint("vote if seq < 4")
    assert 1 == debugger.continue_().position.seq
    debugger.goto_event(OVERVIEW)
    assert debugger.at_overview
    first = debugger.recording.index.seqs_about("job", "platform/feature-etl")[0]
    assert first == debugger.next_about("job", "platform/feature-etl").position.seq


def test_another_cycle_begins_with_its_overview_and_the_last_position_comes_back() -> None:
    driver = opened()
    driver.goto_event(40)
    driver.show_recordings(append_cycles(driver.open_recordings), "cycle 2")
    assert driver.current_state().at_overview
    driver.take_step("into", back=False)
    execute_line(driver, "previous-cycle")
    assert (1, OVERVIEW) == (driver.open_recordings.cycle, driver.current_state().number)
    execute_line(driver, "next-cycle")
    assert (2, OVERVIEW) == (driver.open_recordings.cycle, driver.current_state().number)


def run(driver: Driver, line: str) -> str:
    """Run a command with its work; returns the text."""
    reply = execute_line(driver, line).run_to_end()
    return reply.show or reply.text


def test_an_edit_made_at_the_overview_shows_that_of_the_branch() -> None:
    driver = opened()
    run(driver, f"set {GANG_OFF}")
    assert ("branch", True) == (driver.open_recordings.side, driver.current_state().at_overview)
    run(driver, "original")
    assert ("original", True) == (driver.open_recordings.side, driver.current_state().at_overview)


def test_original_and_comparison_show_the_last_common_cycle_after_advancing_one_side() -> None:
    driver = opened()
    run(driver, f"set {GANG_OFF}")
    run(driver, "advance")
    assert ("branch", 2) == (driver.open_recordings.side, driver.open_recordings.cycle)
    assert "the original has no cycle 2: this is its cycle 1" in run(driver, "original")
    assert ("original", 1) == (driver.open_recordings.side, driver.open_recordings.cycle)
    run(driver, "branch")
    run(driver, "cycle 2")
    assert "diff" == run(driver, "diff")
    assert ("branch", 1, True) == (
        driver.open_recordings.side,
        driver.open_recordings.cycle,
        driver.open_recordings.comparison is not None,
    )


def test_scripts_begin_at_the_first_event_and_know_no_other_start() -> None:
    driver = Driver(bundled(BLOCKED))
    assert (1, 1) == (driver.current_state().number, driver.take_step("into", back=True).number)
    assert driver.current_state().at_overview
    assert not driver.take_step("into", back=False).at_overview
    for line in ("goto 0", "goto -2"):
        with pytest.raises(CommandError, match="does not exist"):
            execute_line(driver, line)
