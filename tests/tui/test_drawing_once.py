"""What a key draws: one frame of the changed widgets, without a new layout of the screen."""

import gc
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from tests.tui.driving import NARROW, WIDE, opened
from vcdebug.debugger.driver import DebuggerState
from vcdebug.tui import terminal
from vcdebug.tui.palette import HitList
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.screens.pages import DetailScreen, OverlayScreen, PageFrame
from vcdebug.tui.widgets import grid as grid_widget
from vcdebug.tui.widgets.bars import Header
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.strokes import Stroke, row_strokes
from vcdebug.tui.widgets.table_layout import PlacedLine, TableLayout
from vcdebug.views.table import Column, Table


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


async def test_a_page_is_laid_out_and_drawn_once_when_it_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[Region] = []
    render_lines = PageFrame.render_lines

    def noted(frame: PageFrame, crop: Region) -> list[Strip]:
        drawn.append(crop)
        return render_lines(frame, crop)

    def count_layouts(screen: OverlayScreen[object], _: events.Mount) -> None:
        layouts.clear()
        screen.screen_layout_refresh_signal.subscribe(screen, layouts.append, immediate=True)

    layouts: list[object] = []
    monkeypatch.setattr(PageFrame, "render_lines", noted)
    monkeypatch.setattr(OverlayScreen, "on_screen_resume", count_layouts)
    async with opened("preempt-works", WIDE) as desk:
        for key in ("question_mark", "P", "y", "b", "e", "ctrl+p"):
            await desk.until_at_rest()
            drawn.clear()
            await desk.press(key)
            await desk.until(lambda: desk.app.screen is not desk.main, "the page is there")
            await desk.until_at_rest()
            # The first layout gives the screen its size, and the last one the palette a scroll bar of Textual.
            whole = [crop for crop in drawn if crop.width > 1]
            has_bar = any(view.show_vertical_scrollbar for view in desk.app.screen.query(ScrollView))
            assert (2 + has_bar, key != "ctrl+p") == (len(layouts), len(whole)), key
            await desk.press("escape")


async def test_the_command_line_draws_no_line_of_another_panel_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str | None] = []
    render_line = Panel.render_line

    def noted(panel: Panel, y: int) -> Strip:
        drawn.append(panel.id)
        return render_line(panel, y)

    async with opened("preempt-works", NARROW) as desk:
        await desk.press("g", *"40", "enter", "1", "end", "2")
        await desk.until_at_rest()
        assert desk.panel("flow").bar.cells()
        monkeypatch.setattr(Panel, "render_line", noted)
        await desk.press("colon", "g", "escape")
        await desk.until_at_rest()
        assert "flow" not in drawn
        await desk.press("1", "home")
        await desk.until(lambda: "flow" in drawn, "the scroll bar moves")


async def test_a_panel_that_opens_draws_no_other_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str | None] = []
    render_lines = Panel.render_lines

    def noted(panel: Panel, crop: Region) -> list[Strip]:
        drawn.append(panel.id)
        return render_lines(panel, crop)

    async with opened("preempt-works", WIDE) as desk:
        await desk.press("s", "5")
        await desk.until_at_rest()
        monkeypatch.setattr(Panel, "render_lines", noted)
        await desk.press("K")
        await desk.until_at_rest()
        assert "source" in drawn
        assert not {"flow", "moment"} & {*drawn}


async def test_a_closed_page_is_drawn_over_without_a_new_layout(drawn: list[Region]) -> None:
    async with opened("preempt-works") as desk:
        layouts: list[object] = []
        for key in ("question_mark", "y", "b"):
            await desk.press(key)
            await desk.until(lambda: desk.app.screen is not desk.main, "the page is there")
            await desk.until_at_rest()
            desk.main.screen_layout_refresh_signal.subscribe(desk.panel("jobs"), layouts.append, immediate=True)
            layouts.clear()
            drawn.clear()
            await desk.press("escape")
            await desk.until(lambda: desk.app.screen is desk.main, "the page is closed")
            await desk.until_at_rest()
            assert ([], 1) == (layouts, len(drawn))


async def test_a_letter_of_the_command_line_lays_nothing_out() -> None:
    async with opened("preempt-works") as desk:
        await desk.press("colon", "g")
        await desk.until_at_rest()
        layouts: list[object] = []
        desk.main.screen_layout_refresh_signal.subscribe(desk.panel("jobs"), layouts.append, immediate=True)
        await desk.press(*"oto 12", "backspace")
        await desk.until_at_rest()
        assert [] == layouts
        assert ":goto 1" in desk.screen()


async def test_a_scroll_bar_comes_and_goes_without_a_layout() -> None:
    async with opened("preempt-works", WIDE) as desk:
        await desk.press("s")
        await desk.until_at_rest()
        moment = desk.panel("moment")
        size, high = moment.virtual_size, moment.virtual_size + Size(0, 1000)
        layouts: list[object] = []
        desk.main.screen_layout_refresh_signal.subscribe(desk.panel("jobs"), layouts.append, immediate=True)

        def colours_of_bar() -> set[object]:
            lines = (moment.render_line(y) for y in range(moment.size.height))
            return {style.color for line in lines if (style := [*line][-1].style) is not None and style.reverse}

        for lines, shows_bar in ((size, False), (high, True), (size, False)):
            moment.bar.set_content_size(lines)
            moment.request_redraw()
            await desk.until_at_rest()
            assert ([], shows_bar, shows_bar) == (layouts, bool(moment.bar.cells()), bool(colours_of_bar()))


async def test_a_step_compares_no_line_of_a_panel_that_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[object] = []

    def noted(placed: PlacedLine, layout: TableLayout, columns: Sequence[Column], chosen: int) -> Iterator[Stroke]:
        compared.append(columns)
        return row_strokes(placed, layout, columns, chosen)

    async with opened("preempt-works", WIDE) as desk:
        await desk.press("g", *"20", "enter")
        await desk.until_at_rest()
        before = desk.panel("effects").table
        monkeypatch.setattr(grid_widget, "row_strokes", noted)
        await desk.press("s")
        await desk.until_at_rest()
        assert desk.panel("effects").table.rows is before.rows
        assert desk.panel("moment").table.columns in compared
        assert before.columns not in compared


async def test_zoom_and_back_lay_the_screen_out_once_each_and_draw_no_panel_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built: list[str | None] = []
    build_table = Panel.build_table

    def noted(panel: Panel, moment: DebuggerState) -> Table:
        built.append(panel.id)
        return build_table(panel, moment)

    async with opened("preempt-works", WIDE) as desk:
        await desk.press("s", "5")
        await desk.until_at_rest()
        layouts: list[object] = []
        desk.main.screen_layout_refresh_signal.subscribe(desk.panel("jobs"), layouts.append, immediate=True)
        monkeypatch.setattr(Panel, "build_table", noted)
        for count, is_zoomed in ((1, True), (2, False)):
            await desk.press("z")
            await desk.until_at_rest()
            assert (is_zoomed, count) == (desk.is_zoomed, len(layouts))
        assert {"jobs"} == {*built}
        assert "Flow" in desk.screen()


async def test_of_the_palette_only_the_lines_in_sight_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    render_line = HitList.render_line

    def noted(hits: HitList, y: int) -> Strip:
        made.append(y)
        return render_line(hits, y)

    async with opened("preempt-works", WIDE) as desk:
        monkeypatch.setattr(HitList, "render_line", noted)
        await desk.press("ctrl+p", "e")
        await desk.until_at_rest()
        hits = desk.app.screen.query_one(HitList)
        assert 2 * len(hits.hits) > hits.size.height > max(made) > 10
        await desk.press("x", "q", "x", "q")
        await desk.until(lambda: "nothing found" in desk.screen(), "no entry is left")


async def test_garbage_is_collected_between_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[int] = []
    async with opened("preempt-works") as desk:
        await desk.until_at_rest()
        monkeypatch.setattr(gc, "collect", collected.append)
        monkeypatch.setattr(terminal, "REST_SECONDS", 600.0)
        await desk.press("s", "s", "s")
        assert [] == collected
        monkeypatch.setattr(terminal, "REST_SECONDS", 0.01)
        await desk.press("s")
        await desk.until(lambda: [1] == collected, "the garbage of all four keys is collected at once")


async def test_another_focus_draws_the_border_of_a_panel_and_the_line_of_its_cursor() -> None:
    async with opened("preempt-works", WIDE) as desk:
        await desk.press("s", "1")
        await desk.until_at_rest()
        flow, layouts = desk.panel("flow"), list[object]()
        desk.main.screen_layout_refresh_signal.subscribe(flow, layouts.append, immediate=True)
        drawn: list[int] = []
        render_line = flow.render_line

        def noted(y: int) -> Strip:
            drawn.append(y)
            return render_line(y)

        flow.render_line = noted  # type: ignore[method-assign]
        for key in ("5", "1"):
            drawn.clear()
            await desk.press(key)
            await desk.until_at_rest()
            assert (1, []) == (len(drawn), layouts)
            assert "heavy" == desk.panel("jobs" if key == "5" else "flow").styles.border_top[0]
            assert "solid" == desk.panel("flow" if key == "5" else "jobs").styles.border_top[0]


@pytest.mark.parametrize("theme", ["light", "nord"])
async def test_another_theme_draws_all_lines_and_the_border_of_the_focus(theme: str) -> None:
    async with opened("preempt-works", WIDE) as desk:
        await desk.press("s", "1")
        await desk.until_at_rest()
        flow = desk.panel("flow")
        before, drawn = flow.styles.border_title_color, list[int]()
        render_line = flow.render_line

        def noted(y: int) -> Strip:
            drawn.append(y)
            return render_line(y)

        flow.render_line = noted  # type: ignore[method-assign]
        await desk.press("colon", *f"theme {theme}", "enter")
        await desk.until_at_rest()
        assert {*range(flow.size.height)} <= {*drawn}
        assert before != flow.styles.border_title_color
