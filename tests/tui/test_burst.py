"""Keys that arrive faster than the screen updates, as from a paste, a macro or a slow connection."""

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random

import pytest
from textual import events
from textual.app import App

from tests.tui.driving import Desk, opened, opened_again
from vcdebug.debugger.driver import DebuggerState
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.screens.dialogs import BreakpointScreen
from vcdebug.tui.widgets.prompt import Prompt
from vcdebug.views.table import Table

SIGNS = {":": "colon", "/": "slash", "-": "minus", " ": "space", "\n": "enter", "\x1b": "escape", "\t": "tab"}


def send(desk: Desk, keys: str) -> None:
    """Queue all keys before the application handles the first one."""
    for key in keys:
        desk.app.post_message(events.Key(SIGNS.get(key, key), key if key.isprintable() else None))


LINES = (":goto 51\n", ":goto 7\n", "g40\n", ":bookmark here\n", ":break pop\n", ":nonsense\n", "/gang\n", ":abc\x1b")
SINGLE = ("n", "s", "u", "-", "5", "1", "j", "k", "G", "gg", "\x1b", "m")


def burst_of(random: Random) -> list[str]:
    """Random keys and command lines."""
    return [random.choice(random.choice((LINES, SINGLE))) for _ in range(12)]


def position_of(desk: Desk) -> tuple[object, ...]:
    """Every part of the position that keys can change."""
    set_here = (desk.moment.breakpoints, desk.moment.bookmarks, desk.main.query_one(Prompt).history)
    panels = [(name, panel.filter_text, panel.cursor) for name, panel in desk.main.session_keeper.panels.items()]
    return desk.seq, desk.main.focused and desk.main.focused.id, set_here, panels, desk.status()


async def slowly(keys: list[str]) -> tuple[object, ...]:
    async with opened_again("preempt-works") as desk:
        for key in "".join(keys):
            await desk.press(SIGNS.get(key, key))
        return position_of(desk)


@pytest.mark.parametrize("seed", range(3))
async def test_any_burst_gives_the_same_as_typed_slowly(seed: int) -> None:
    keys = burst_of(Random(seed))
    expected = await slowly(keys)
    async with opened_again("preempt-works") as desk:
        send(desk, "".join(keys))
        await desk.until(lambda: expected == position_of(desk), f"{keys} come to the same")


async def test_a_command_typed_behind_long_work_waits_for_it() -> None:
    async with opened_again("preempt-works") as desk:
        send(desk, ":next-cycle\n:goto 5\n")
        await desk.until(lambda: desk.main.moment is not None and desk.seq == 5, "both are done")
        assert desk.moment.recordings is not None
        assert 2 == desk.moment.recordings.cycle


async def test_a_key_right_after_a_panels_key_is_for_that_panel() -> None:
    async with opened_again("preempt-works") as desk:
        flow, jobs = desk.panel("flow"), desk.panel("jobs")
        before, start = flow.cursor, jobs.cursor
        send(desk, "5j")
        await desk.until(lambda: start + 1 == jobs.cursor, "the cursor of the jobs has moved")
        assert before == flow.cursor


async def test_a_whole_command_and_the_step_after_it() -> None:
    async with opened_again("preempt-works") as desk:
        send(desk, ":goto 40\ns")
        await desk.until(lambda: desk.seq == 41, "the command is done and the step too")
        assert not desk.main.query_one(Prompt).is_open


async def test_a_filter_whose_letters_are_keys_as_well() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("6")
        everything = len(desk.panel("nodes").table.rows)
        await desk.press("5")
        send(desk, "6/01\nj")
        await desk.until(lambda: desk.panel("nodes").filter_text == "01", "the filter is there")
        await desk.until(lambda: not desk.main.query_one(Prompt).is_open, "the line is closed")
        assert 0 < len(desk.panel("nodes").shown_rows) < everything


async def test_escape_in_a_burst_leaves_the_line_and_the_next_key_is_for_the_screen() -> None:
    async with opened_again("preempt-works") as desk:
        send(desk, ":abc\x1bs")
        await desk.until(lambda: desk.seq == 1, "the step is done")


async def test_keys_for_a_dialog_that_is_just_being_built() -> None:
    async with opened_again("preempt-works") as desk:
        send(desk, "b\n")
        await desk.until(lambda: len(desk.moment.breakpoints) == 1, "a breakpoint is set")
        assert not isinstance(desk.app.screen, BreakpointScreen)


async def test_g_twice_is_the_first_row_and_a_capital_the_last() -> None:
    async with opened_again("preempt-works") as desk:
        jobs = desk.panel("jobs")
        send(desk, "5G")
        await desk.until(lambda: len(jobs.shown_rows) - 1 == jobs.cursor, "the last row")
        send(desk, "gg")
        await desk.until(lambda: jobs.cursor == 0, "the first row")
        send(desk, "g40\n")
        await desk.until(lambda: desk.seq == 40, "the event")


async def test_commands_one_after_the_other() -> None:
    async with opened_again("preempt-works") as desk:
        send(desk, ":goto 51\n:goto 52\n")
        await desk.until(lambda: desk.seq == 52, "both commands are done, the second last")
        assert ["goto 51", "goto 52"] == desk.main.query_one(Prompt).history["command"]


async def test_no_frame_is_drawn_before_the_effects_of_a_key_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    build_table, batch_update = Panel.build_table, App.batch_update
    held_back, open_batches = list[bool](), list[App[object]]()

    @contextmanager
    def note_update(app: App[object]) -> Iterator[None]:
        open_batches.append(app)
        with batch_update(app):
            yield
        open_batches.pop()

    def note_batch(panel: Panel, moment: DebuggerState) -> Table:
        held_back.append(bool(open_batches))
        return build_table(panel, moment)

    async with opened("preempt-blocked-by-gang") as desk:
        monkeypatch.setattr(Panel, "build_table", note_batch)
        monkeypatch.setattr(App, "batch_update", note_update)
        await desk.press("s", "s", "6", "n")
        assert len(held_back) >= 4
        assert all(held_back)
        assert [] == open_batches
