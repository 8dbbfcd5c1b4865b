"""Keys that arrive faster than the screen moves: all at once, as a paste, a macro or a slow connection sends them."""

from textual import events

from tests.tui.driving import Desk, opened
from vcdebug.tui.screens.breakpoint import BreakpointScreen
from vcdebug.tui.widgets.prompt import Prompt

SIGNS = {":": "colon", "/": "slash", "-": "minus", " ": "space", "\n": "enter", "\x1b": "escape", "\t": "tab"}


def send(desk: Desk, keys: str) -> None:
    """Every key is in the queue before the first of them is looked at."""
    for key in keys:
        desk.app.post_message(events.Key(SIGNS.get(key, key), key if key.isprintable() else None))


async def test_a_key_right_after_a_panels_key_is_for_that_panel() -> None:
    async with opened("preempt-works") as desk:
        flow, jobs = desk.panel("flow"), desk.panel("jobs")
        before, start = flow.cursor, jobs.cursor
        send(desk, "5j")
        await desk.until(lambda: start + 1 == jobs.cursor, "the cursor of the jobs has moved")
        assert before == flow.cursor


async def test_a_whole_command_and_the_step_after_it() -> None:
    async with opened("preempt-works") as desk:
        send(desk, ":goto 40\ns")
        await desk.until(lambda: desk.seq == 41, "the command is done and the step too")
        assert not desk.main.query_one(Prompt).is_open


async def test_a_filter_whose_letters_are_keys_as_well() -> None:
    async with opened("preempt-works") as desk:
        await desk.press("6")
        everything = len(desk.panel("nodes").table.rows)
        await desk.press("5")
        send(desk, "6/01\nj")
        await desk.until(lambda: desk.panel("nodes").filter_text == "01", "the filter is there")
        await desk.until(lambda: not desk.main.query_one(Prompt).is_open, "the line is closed")
        assert 0 < len(desk.panel("nodes").shown_rows) < everything


async def test_escape_in_a_burst_leaves_the_line_and_the_next_key_is_for_the_screen() -> None:
    async with opened("preempt-works") as desk:
        send(desk, ":abc\x1bs")
        await desk.until(lambda: desk.seq == 2, "the step is done")


async def test_keys_for_a_dialog_that_is_just_being_built() -> None:
    async with opened("preempt-works") as desk:
        send(desk, "b\n")
        await desk.until(lambda: len(desk.moment.breakpoints) == 1, "a breakpoint is set")
        assert not isinstance(desk.app.screen, BreakpointScreen)


async def test_g_twice_is_the_first_row_and_a_capital_the_last() -> None:
    async with opened("preempt-works") as desk:
        jobs = desk.panel("jobs")
        send(desk, "5G")
        await desk.until(lambda: len(jobs.shown_rows) - 1 == jobs.cursor, "the last row")
        send(desk, "gg")
        await desk.until(lambda: jobs.cursor == 0, "the first row")
        send(desk, "g40\n")
        await desk.until(lambda: desk.seq == 40, "the event")
