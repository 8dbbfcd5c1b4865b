"""Copying to the clipboard: the copied text, and the tool or terminal sequence."""

import stat
from pathlib import Path

import pytest

from tests.tui.driving import Desk, opened_again
from vcdebug.tui import clipboard
from vcdebug.tui.clipboard import Clipboard
from vcdebug.tui.config import UserSettings
from vcdebug.tui.screens.dialogs import CopyScreen
from vcdebug.views.table import format_table


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake xclip that writes its input to a file; returns that file."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script, kept = folder / "xclip", tmp_path / "clipboard"
    script.write_text(f"#!/bin/sh\n/bin/cat > {kept}\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(folder))
    return kept


@pytest.fixture
def no_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))


async def copied(desk: Desk, letter: str) -> str:
    """The text that one entry of the copy menu copies."""
    await desk.press("y")
    assert isinstance(desk.app.screen, CopyScreen)
    await desk.press(letter)
    return desk.app.clipboard


async def test_the_menu_copies_cell_row_panel_equation_and_command_lines(no_tool: None) -> None:
    async with opened_again("preempt-works", goto=40, panel="jobs") as desk:
        jobs = desk.panel("jobs")
        assert jobs.cursor_row is not None
        assert jobs.cursor_row.cells[0].text.strip() == await copied(desk, "c")
        assert "copied the cell through the terminal (OSC 52)" == desk.status()
        assert "  ".join(cell.text.strip() for cell in jobs.cursor_row.cells) == await copied(desk, "r")
        assert format_table(jobs.table) == await copied(desk, "p")
        assert desk.text("equation") == await copied(desk, "e")
        assert "vcdebug open preempt-works --goto 40" == await copied(desk, "o")
        await desk.press("Y")
        assert "copied the panel through the terminal (OSC 52)" == desk.status()


async def test_the_command_that_explains_names_the_job_of_the_moment(no_tool: None) -> None:
    async with opened_again("preempt-works", job="assistants/chat-api") as desk:
        assert "vcdebug explain preempt-works assistants/chat-api" == await copied(desk, "x")


async def test_copying_also_uses_a_native_clipboard_tool(tool: Path) -> None:
    async with opened_again("preempt-works", goto=40) as desk:
        text = await copied(desk, "o")
        assert text == tool.read_text()
        assert "with xclip and through the terminal (OSC 52)" in desk.status()


@pytest.mark.parametrize(
    ("how", "says", "terminal"),
    [("native", "with xclip", False), ("osc52", "through the terminal (OSC 52)", True), ("file", "to ", False)],
)
async def test_the_settings_choose_how(tool: Path, how: Clipboard, says: str, terminal: bool) -> None:
    async with opened_again("preempt-works", settings=UserSettings(clipboard=how), goto=40) as desk:
        text = await copied(desk, "o")
        assert f"opens this place {says}" in desk.status()
        assert terminal == (text != "")


async def test_native_copying_without_a_tool_is_reported(no_tool: None) -> None:
    async with opened_again("preempt-works", settings=UserSettings(clipboard="native")) as desk:
        await copied(desk, "p")
        assert "nothing was copied: no clipboard tool works" in desk.status()


async def test_the_menu_can_write_a_file(no_tool: None, own_folders: Path) -> None:
    async with opened_again("preempt-works", goto=40) as desk:
        await desk.press("y", "f", "o")
        path = own_folders / "state" / "vcdebug" / clipboard.COPY_FILE
        assert "vcdebug open preempt-works --goto 40" == path.read_text()
        assert clipboard.COPY_FILE in desk.status()


async def test_closing_the_copy_menu_copies_nothing(no_tool: None) -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("y", "escape")
        assert ("", "") == (desk.app.clipboard, desk.status())
