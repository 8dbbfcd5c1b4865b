"""A click on the label of a key has the effect of the key."""

import pytest
from textual.events import MouseScrollDown

from tests.tui.driving import NARROW, WIDE, Desk, opened_again
from vcdebug.tui.widgets.bars import Tabs
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import Prompt

SIZES = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "120x40"])


def place_of(desk: Desk, words: str) -> tuple[int, int]:
    """The position of the words on the terminal, at their lowest occurrence."""
    lines = desk.screen().splitlines()
    row = max(number for number, line in enumerate(lines) if words in line)
    return lines[row].rindex(words), row


async def click_on(desk: Desk, words: str, letter: int = 0) -> None:
    x, y = place_of(desk, words)
    await desk.pilot.click(offset=(x + letter, y))
    await desk.pause()


@SIZES
async def test_a_key_of_the_footer_is_pressed_by_its_sign_and_by_its_word(size: tuple[int, int]) -> None:
    async with opened_again(size=size) as desk:
        await click_on(desk, "n/N over", 0)
        assert 8 == desk.seq
        await click_on(desk, "s/S into", 4)
        assert 9 == desk.seq
        await click_on(desk, "? help", 3)
        assert "Help" in desk.screen()


async def test_keys_that_stand_together_are_pressed_one_by_one() -> None:
    async with opened_again() as desk:
        await desk.command("goto 40")
        await click_on(desk, "s/S into", 2)
        assert 39 == desk.seq


async def test_a_click_on_a_head_sorts_and_one_on_a_cell_moves_the_cursor_there() -> None:
    async with opened_again() as desk:
        await desk.press("5")
        jobs = desk.panel("jobs")
        as_it_was = [row.key for row in jobs.shown_rows]
        for descending in (False, True):
            await click_on(desk, " pending", 2)
            assert jobs.shown.order is not None
            assert (2, descending) == (jobs.shown.order.column, jobs.shown.order.descending)
        await click_on(desk, " pending", 2)
        assert as_it_was == [row.key for row in jobs.shown_rows]
        await click_on(desk, "research/speech-asr")
        assert ("research/speech-asr", 0) == (jobs.shown_rows[jobs.cursor].key, jobs.cursor_column)


@SIZES
async def test_a_click_on_a_tab_opens_its_panel_and_the_pointer_over_it_says_what_it_shows(
    size: tuple[int, int],
) -> None:
    async with opened_again(size=size) as desk:
        x, y = place_of(desk, " 6 Nodes")
        await desk.pilot.hover(offset=(x + 3, y))
        await desk.pause()
        assert desk.panel("nodes").shows.help == desk.main.query_one(Tabs).tooltip
        await click_on(desk, " 6 Nodes", 3)
        assert desk.main.focused is desk.panel("nodes")
        assert desk.main.query_one(Tabs).tooltip is None, "it would cover the panel"
        await click_on(desk, "P panels", 3)
        assert "Panels" in desk.screen()


@SIZES
async def test_the_key_line_of_a_page_takes_clicks(size: tuple[int, int]) -> None:
    async with opened_again(size=size) as desk:
        await desk.press("question_mark")
        await click_on(desk, "/ filter", 3)
        assert desk.app.screen.query_one(Prompt).is_open
        await desk.press("escape")
        await click_on(desk, "Esc back", 5)
        assert desk.app.screen is desk.main
        await desk.command("find victim")
        await click_on(desk, "Enter goes to the event", 8)
        assert desk.app.screen is desk.main
        assert desk.seq
        await desk.press("b")
        await click_on(desk, "Esc cancel", 1)
        assert desk.app.screen is desk.main


@SIZES
async def test_the_scroll_bar_of_a_table_takes_clicks_and_follows_the_mouse(size: tuple[int, int]) -> None:
    async with opened_again(size=size) as desk:
        await desk.press("question_mark")
        await desk.until_at_rest()
        grid = desk.app.screen.query_one(Grid)
        x, top, height = grid.content_region.right - 1, grid.content_region.y, grid.size.height
        cursor, pointed = grid.cursor, grid.bar.cells()[0].style
        await desk.pilot.click(offset=(x, top + height - 1))
        await desk.pause()
        assert (height, cursor) == (grid.scroll_offset.y, grid.cursor)
        assert pointed != grid.bar.cells()[0].style, "the bar under the mouse has other colours"
        grid.scroll_end(animate=False)
        await desk.pilot.click(offset=(x, top))
        await desk.pause()
        assert grid.max_scroll_y - height == grid.scroll_offset.y
        grid.scroll_home(animate=False)
        await desk.pilot.mouse_down(offset=(x, top))
        await desk.pilot.hover(offset=(x, top + height))
        await desk.pause()
        assert grid.max_scroll_y == grid.scroll_offset.y
        await desk.pilot.mouse_up(offset=(x, top + height))
        await desk.pilot.hover(offset=(x - 9, top))
        await desk.pause()
        assert grid.max_scroll_y == grid.scroll_offset.y
        grid.scroll_home(animate=False)
        assert pointed == grid.bar.cells()[0].style
        grid.post_message(MouseScrollDown(grid, 1, 1, 0, 0, 0, shift=False, meta=False, ctrl=False))
        await desk.pause()
        assert 0 < grid.scroll_offset.y
