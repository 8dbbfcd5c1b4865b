"""Every panel, drawn alone at three sizes and at typical events, character by character.

For intended changes, run `VCDEBUG_WRITE_GOLDEN=1 pytest tests/views/test_panel_texts.py` and read the
diff.
"""

import os
from pathlib import Path
from typing import NamedTuple

import pytest
from textual.app import App, ComposeResult

from tests.recorded import bundled
from tests.tui.driving import waits_until_settled
from tests.tui.starting import quick_start
from vcdebug.debugger.driver import Driver
from vcdebug.tui.panels import new_panel
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.event_view import subject_detail
from vcdebug.views.panels import PANELS, PanelView
from vcdebug.views.table import Table

STORED = Path(__file__).parent / "panels"
SIZES = ((80, 24), (120, 40), (200, 60))
RESIZE_SECONDS = 0.01
"""Longer than Textual waits for further sizes of the terminal before it uses the last one."""
BLOCKED, FITS, QUOTA = "preempt-blocked-by-gang", "pending-no-node-fits", "pending-queue-quota"
RECLAIM, WORKS = "reclaim-across-queues", "preempt-works"


class At(NamedTuple):
    """A stop in a bundled snapshot: the first hit of a breakpoint."""

    snapshot: str
    words: str

    def driver(self) -> Driver:
        driver = Driver(bundled(self.snapshot))
        driver.add_breakpoint(self.words)
        assert driver.take_step("continue", back=False).seq
        return driver


VICTIMS = At(BLOCKED, 'victim if task == "research/llm-finetune-worker-1"')
MOMENTS: dict[str, tuple[At, ...]] = {
    "Moment": (
        At(BLOCKED, "victim"),
        At(FITS, "predicate"),
        At(BLOCKED, "score"),
        At(QUOTA, "enqueue reject"),
        At(WORKS, "statement pipeline"),
    ),
    "Equation": (At(BLOCKED, 'victim if plugin == "gang"'), At(FITS, "predicate"), At(QUOTA, "enqueue reject")),
    "Inside": (At("placed-by-score", "score"), At("pending-refused-by-filters", "predicate")),
    "Statement": (At(BLOCKED, "statement discard if ops > 0"), At(WORKS, "statement pipeline")),
    "Queues": (At(RECLAIM, "victim"),),
    "Order": (At(WORKS, "statement pipeline"),),
    "Effects": (At(WORKS, 'statement commit if action == "preempt"'),),
    "Log": (At(WORKS, "statement pipeline"),),
}
"""The stops at which each panel is drawn; other panels are drawn at a vote on victims."""
PAGES: dict[str, tuple[At, str, str]] = {
    "page of a queue": (At(QUOTA, "enqueue reject"), "queue", "team-vision"),
    "page of a node": (At(FITS, "predicate"), "node", "gpu-a100-05"),
    "page of a job": (At(BLOCKED, "victim"), "job", "research/llm-finetune"),
    "page of a reason": (At(FITS, "predicate"), "reason", "A"),
}


class Alone(App[None]):
    """An application that shows only one panel or table."""

    def __init__(self, shown: PanelView | Table, driver: Driver) -> None:
        super().__init__()
        self.shown = shown
        self.driver = driver

    def compose(self) -> ComposeResult:
        yield Grid() if isinstance(self.shown, Table) else new_panel(self.shown)

    def on_mount(self) -> None:
        grid = self.query_one(Grid)
        if isinstance(self.shown, Table):
            grid.set_table(self.shown)
        elif isinstance(grid, Panel):
            grid.moment = self.driver.current_state()
        grid.focus()

    def text(self) -> str:
        """The text on the screen, without blank space at the ends of lines."""
        strips = self.screen._compositor.render_strips()
        lines = ["".join(segment.text for segment in strip) for strip in strips]
        return "\n".join(_bare(line) for line in lines if _bare(line))


def _bare(line: str) -> str:
    """The line without its frame and trailing blanks."""
    return line.rstrip().removesuffix("┃").removesuffix("│").rstrip().removeprefix("┃").removeprefix("│").rstrip()


async def drawn(shown: PanelView | Table, at: At) -> str:
    """The panel or table at each size, in an application whose terminal changes its size."""
    app, texts = Alone(shown, at.driver()), []
    with waits_until_settled(app), quick_start():
        async with app.run_test(size=SIZES[0]) as pilot:
            for width, height in SIZES:
                await pilot.resize_terminal(width, height)
                await pilot.pause(RESIZE_SECONDS)
                await pilot.pause()
                texts.append(f"== {width}x{height}  {at.snapshot}  {at.words}\n{app.text()}\n")
    return "\n".join(texts)


def compare(name: str, text: str) -> None:
    path = STORED / f"{name.lower().replace(' ', '-')}.txt"
    if os.environ.get("VCDEBUG_WRITE_GOLDEN"):
        STORED.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"no drawing of {name} yet: see above"
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
async def test_the_panel_looks_as_it_always_did(panel: PanelView) -> None:
    moments = MOMENTS.get(panel.title, (VICTIMS,))
    compare(panel.title, "\n".join([await drawn(panel, at) for at in moments]))


@pytest.mark.parametrize("name", PAGES)
async def test_the_page_looks_as_it_always_did(name: str) -> None:
    at, kind, subject = PAGES[name]
    table = subject_detail(bundled(at.snapshot), at.driver().debugger.seq, kind, subject)
    assert table is not None
    compare(name, await drawn(table, at))


def test_no_text_of_a_panel_is_left_over() -> None:
    names = [*(panel.title for panel in PANELS), *PAGES]
    expected = sorted(f"{name.lower().replace(' ', '-')}.txt" for name in names)
    assert expected == sorted(path.name for path in STORED.iterdir())


def test_nothing_on_a_small_screen_is_only_told_by_colour() -> None:
    """State is shown by words and marks in the text itself."""
    texts = "\n".join(path.read_text(encoding="utf-8") for path in STORED.iterdir())
    for mark in ("✓", "✗", "●", "◆", "▲", "★", "◀"):
        assert mark in texts
