"""No panel, page or message sends control characters of a snapshot to the terminal."""

from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

from tests.hostile import HOSTILE, obeyed, write_hostile
from tests.tui.driving import NARROW, WIDE, opened
from vcdebug.tui.terminal import PRINTABLE
from vcdebug.views.panels import PANELS

PICTURE = "␛]0;PWNED"
PAGES = ("overview", "waiting", "bookmarks", "where", "fits", "help", "job odd-1", "node gpu-a100-01", "queue research")


def faults(text: str, width: int, what: str) -> list[tuple[str, object]]:
    """The characters on the screen that a terminal would obey, and the lines that are too wide."""
    lines = text.split("\n")
    wide = [line for line in lines if cell_len(line) > width]
    found = obeyed("".join(lines))
    return [*([(what, found)] if found else []), *((what, line) for line in wide)]


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "120x40"])
async def test_no_panel_page_or_message_passes_control_characters_to_the_terminal(
    size: tuple[int, int], tmp_path: Path
) -> None:
    screens: list[tuple[str, str]] = []
    async with opened(str(write_hostile(tmp_path / "cluster")), size) as desk:
        for event in (1, 40):
            await desk.command(f"goto {event}")
            for panel in PANELS:
                await desk.press(panel.key)
                screens.append((panel.command_name, desk.screen()))
        for page in PAGES:
            await desk.command(page)
            screens.append((page, desk.screen()))
            await desk.close_everything()
        for words in (f"note {HOSTILE}", f"nonsense {HOSTILE}", f"filter {HOSTILE}", f"break {HOSTILE}", "bookmarks"):
            await desk.command(words)
            screens.append((words, desk.screen()))
        desk.app.notify(HOSTILE, title=HOSTILE, markup=False)
        await desk.pause()
        screens.append(("notification", desk.screen()))
    found = [fault for what, text in screens for fault in faults(text, size[0], what)]
    assert ([], True) == (found, any(PICTURE in text for _, text in screens))


@pytest.mark.parametrize("panel", ["problems", "nodes", "moment"])
async def test_row_with_control_characters_keeps_its_width_in_the_frame(panel: str, tmp_path: Path) -> None:
    async with opened(str(write_hostile(tmp_path / "cluster")), WIDE) as desk:
        await desk.command(f"panel {panel}")
        await desk.press("z")
        shown = desk.panel(panel)
        bar = shown.region.right - 1
        rows = [line for line in desk.screen().split("\n")[shown.region.y + 1 : shown.region.bottom] if line.strip()]
    # If a text takes more or fewer cells than planned, its line gets another length.
    assert (True, set()) == (len(rows) > 3, {cell_len(line) for line in rows} - {bar + 1})


@pytest.mark.parametrize("text", ["plain", "größe 工作", "a\x1b[31mb", "\u202eab\u200b", "a\nb\tc", "\x9b\x9b"])
def test_printable_line_keeps_its_width(text: str) -> None:
    segments = [Segment("| "), Segment(text), Segment(" rest of the line |")]
    drawn = PRINTABLE.apply(segments, Color(0, 0, 0))
    shown = "".join(segment.text for segment in drawn)
    assert (set(), Segment.get_line_length(segments)) == (obeyed(shown), Segment.get_line_length(drawn))


def test_printable_line_is_not_copied() -> None:
    segments = [Segment("job"), Segment(" node")]
    assert PRINTABLE.apply(segments, Color(0, 0, 0)) is segments
