"""What a key draws: one frame of the changed widgets, without a new layout of the screen."""

from typing import Any

import pytest
from textual import events
from textual.geometry import Region
from textual.strip import Strip

from tests.tui.driving import opened
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.screens.pages import DetailScreen
from vcdebug.tui.widgets.bars import Header
from vcdebug.tui.widgets.grid import Grid


async def test_steps_lay_no_panel_out_whatever_it_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str | None] = []
    refresh = Panel.refresh

    def noted(
        panel: Panel, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False
    ) -> Any:
        asked.extend([panel.id] if layout else [])
        return refresh(panel, *regions, repaint=repaint, layout=layout, recompose=recompose)

    async with opened("preempt-works") as desk:
        await desk.press(*"sss")
        await desk.until_at_rest()
        monkeypatch.setattr(Panel, "refresh", noted)
        heights: set[int] = set()
        for key in "ssssssssnnN":
            await desk.press(key)
            await desk.until_at_rest()
            heights.add(desk.panel("moment").virtual_size.height)
        assert len(heights) > 1
        assert "moment" not in asked


async def test_a_panel_stays_within_its_lines_when_they_become_fewer() -> None:
    async with opened("preempt-works") as desk:
        await desk.press("g", *"40", "enter", "1", "end")
        await desk.until_at_rest()
        flow = desk.panel("flow")
        await desk.press("slash", *"gang", "enter")
        await desk.until_at_rest()
        assert flow.scroll_offset.y <= max(flow.virtual_size.height - flow.size.height, 0)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Region]:
    """The parts of the header that are drawn."""
    regions: list[Region] = []
    render_lines = Header.render_lines

    def noted(header: Header, crop: Region) -> list[Strip]:
        regions.append(crop)
        return render_lines(header, crop)

    monkeypatch.setattr(Header, "render_lines", noted)
    return regions


async def test_another_focus_draws_only_the_panels_that_it_concerns(drawn: list[Region]) -> None:
    async with opened("preempt-works") as desk:
        await desk.press("s")
        await desk.until_at_rest()
        drawn.clear()
        await desk.press("tab")
        await desk.until_at_rest()
        assert [] == drawn


async def test_a_resize_draws_the_whole_screen_even_while_a_key_holds_back_frames(drawn: list[Region]) -> None:
    async with opened("preempt-works") as desk:
        await desk.until_at_rest()
        with desk.app.batch_update():
            desk.app.post_message(events.Resize(desk.app.size, desk.app.size))
            await desk.pause()
            drawn.clear()
        desk.app.screen.check_idle()
        await desk.until(lambda: bool(drawn), "the header is drawn")


async def test_a_page_is_laid_out_with_its_rows_at_once() -> None:
    async with opened("preempt-works") as desk:
        await desk.press("question_mark")
        await desk.until(lambda: isinstance(desk.app.screen, DetailScreen), "the help is there")
        await desk.until_at_rest()
        grid = desk.app.screen.query_one(Grid)
        layouts: list[object] = []
        assert grid.virtual_size.height > desk.app.size.height > grid.size.height > 10
        # Textual enters the height into a map of the screen, which takes long for the lines of 200,000 pods.
        assert desk.app.size.height == grid.get_content_height(desk.app.size, desk.app.size, grid.size.width)
        desk.app.screen.screen_layout_refresh_signal.subscribe(desk.main, layouts.append, immediate=True)
        await desk.press("down", "pagedown", "end")
        await desk.until_at_rest()
        assert [] == layouts
