"""A panel that needs a rerun of the cycle: it runs in a thread while keys work; Esc stops it."""

from collections.abc import Iterator
from threading import Event
from unittest.mock import patch

import pytest

from tests.tui.driving import Desk, opened
from vcdebug.recording import replay
from vcdebug.tui.screens.pages import DetailScreen
from vcdebug.views.table import format_table

SNAPSHOT = "pending-refused-by-filters"
WAITS, ANSWERED = "running the cycle again up to event", "each plugin asked again"


@pytest.fixture
def held() -> Iterator[Event]:
    """Make every rerun count as long and wait for the returned event."""
    go, run = Event(), replay.observe_rerun

    def look_on(*arguments: object) -> None:
        assert go.wait(30)
        run(*arguments)  # type: ignore[arg-type]

    with (
        patch.object(replay, "UNNOTICED_SIZE", 0),
        patch.object(replay, "CANCEL_CHECK_INTERVAL", 1),
        patch.object(replay, "observe_rerun", look_on),
    ):
        yield go
        go.set()


async def at_inside(desk: Desk) -> None:
    await desk.command("break predicate", "continue")
    await desk.press("i")


async def until_answered(desk: Desk) -> None:
    await desk.until(lambda: ANSWERED in desk.text("inside"), "the plugins were asked")


async def test_the_panel_says_that_the_cycle_runs_and_keys_answer_meanwhile(held: Event) -> None:
    async with opened(SNAPSHOT) as desk:
        await at_inside(desk)
        seq = desk.seq
        assert WAITS in desk.text("inside")
        assert f"running the cycle again up to event {seq}" in desk.screen()
        await desk.command("goto 1")
        assert 1 == desk.seq
        await desk.command(f"goto {seq}")
        held.set()
        await until_answered(desk)
        await desk.until(lambda: not desk.main.panel_rerun.running_text, "nothing runs")
        assert "running the cycle again" not in desk.screen()


async def test_rerun_result_of_another_event_is_not_shown(held: Event) -> None:
    async with opened(SNAPSHOT) as desk:
        await at_inside(desk)
        await desk.command("goto 1")
        before = desk.text("inside")
        held.set()
        await desk.until(lambda: not desk.main.panel_rerun.running_text, "nothing runs")
        await desk.pause()
        assert before == desk.text("inside")


async def test_esc_stops_it_and_the_panels_key_asks_again(held: Event) -> None:
    async with opened(SNAPSHOT) as desk:
        await at_inside(desk)
        await desk.press("escape")
        assert "not asked again: i runs the cycle again up to here" in desk.text("inside")
        held.set()
        await desk.until(lambda: not desk.main.panel_rerun.running_text, "nothing runs")
        assert ANSWERED not in desk.text("inside")
        await desk.press("i")
        await until_answered(desk)


async def test_a_nodes_page_opens_when_the_cycle_has_run(held: Event) -> None:
    async with opened(SNAPSHOT) as desk:
        await desk.command("break predicate", "continue")
        await desk.press("6", "home", "enter")
        assert desk.main is desk.app.screen
        assert f"running the cycle again up to event {desk.seq}" == desk.main.work.work_description
        held.set()
        await desk.until(lambda: isinstance(desk.app.screen, DetailScreen), "the page is there")
        screen = desk.app.screen
        assert isinstance(screen, DetailScreen)
        assert "Checks" in format_table(screen.table)


async def test_a_short_cycle_is_run_at_once() -> None:
    async with opened(SNAPSHOT) as desk:
        await at_inside(desk)
        assert ANSWERED in desk.text("inside")
        assert not desk.main.panel_rerun.running_text
