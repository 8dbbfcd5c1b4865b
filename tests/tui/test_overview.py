"""The first screen: the outcome of the cycle, each line one key away from its details."""

import pytest

from tests.tui.driving import NARROW, WIDE, opened_again
from vcdebug.tui.screens.dialogs import CopyScreen
from vcdebug.tui.screens.pages import DetailScreen
from vcdebug.views.table import format_table

SIZES = pytest.mark.parametrize("size", [NARROW, WIDE, (200, 60)], ids=["80x24", "120x40", "200x60"])


@SIZES
async def test_one_key_leads_from_opening_to_the_cause_of_the_first_waiting_job(size: tuple[int, int]) -> None:
    async with opened_again(size=size) as desk:
        assert "✗ Pending" in desk.screen()
        assert "research/llm-finetune" in desk.screen()
        await desk.press("enter")
        screen = desk.app.screen
        assert isinstance(screen, DetailScreen)
        assert "gang protects every candidate victim" in format_table(screen.table)


async def test_an_eviction_leads_to_its_event_and_the_start_shows_the_overview_again() -> None:
    async with opened_again("preempt-works") as desk:
        assert "for chat-api-server-0, by preempt on gpu-l40s-01" in desk.text("moment")
        rows = [row.cells[0].text for row in desk.panel("moment").table.rows]
        assert "□ reserved" == rows[0]
        await desk.press(*["down"] * rows.index("▲ evicted"), "enter")
        assert "evict" in desk.text("moment")
        assert desk.seq > 1
        while desk.seq:
            await desk.press("F")
        assert "Overview of preempt-works" in desk.text("moment")
        await desk.press("n")
        assert "Overview" not in desk.text("moment")


async def test_the_overview_stays_where_continue_finds_nothing_and_greets_in_the_next_cycle() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.until_at_rest()
        await desk.press("c")
        assert "Overview of preempt-works" in desk.text("moment")
        await desk.press("n", "}")
        await desk.until(lambda: desk.moment.reason == "cycle 2", "the next cycle")
        assert "Overview of preempt-works" in desk.text("moment")


async def test_the_overview_is_event_0_and_each_key_leads_from_it_and_back() -> None:
    async with opened_again() as desk:
        assert "event 0/166" in desk.screen().splitlines()[0]
        assert "› overview" in desk.screen().splitlines()[1]
        for forward, backward, event in (("s", "S", 1), ("n", "N", 8), ("f", "F", 8)):
            await desk.press(forward)
            assert event == desk.seq
            assert "Overview" not in desk.text("moment")
            await desk.press(backward)
            assert 0 == desk.seq
            assert "Overview" in desk.text("moment")
        await desk.work("advance")
        assert "event 0/" in desk.screen().splitlines()[0]
        await desk.press("s", "left_curly_bracket")
        assert "event 0/166" in desk.screen().splitlines()[0]


async def test_continue_from_the_overview_stops_at_the_first_event_too() -> None:
    async with opened_again() as desk:
        await desk.command("break vote if seq < 3")
        await desk.press("c")
        assert (1, "breakpoint 1 (vote)") == (desk.seq, desk.moment.reason)


async def test_the_command_that_opens_the_place_names_no_event_at_the_overview() -> None:
    async with opened_again() as desk:
        for keys, words in (((), "vcdebug open preempt-blocked-by-gang"), (("s",), "preempt-blocked-by-gang --goto 1")):
            await desk.press(*keys, "y")
            menu = desk.app.screen
            assert isinstance(menu, CopyScreen)
            assert [True] == [offer.make_text().endswith(words) for offer in menu.options if offer.letter == "o"]
            await desk.press("escape")


async def test_the_overview_is_a_page_from_anywhere() -> None:
    async with opened_again() as desk:
        await desk.command("goto 50")
        await desk.command("overview")
        assert "Overview of preempt-blocked-by-gang" in desk.screen()
        await desk.press("enter")
        assert "gang protects every candidate victim" in " ".join(desk.screen().replace("│", "").split())
