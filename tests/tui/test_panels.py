"""The panels beside the flow: each key shows its panel, no tab is cut off, and rows lead to their events."""

import shutil
from pathlib import Path

import pytest

from tests.tui.driving import NARROW, WIDE, opened, opened_again
from vcdebug.snapshot.sources import find_bundled
from vcdebug.tui.main.layout import MainLayout, screen_class
from vcdebug.tui.panels import log as log_panel
from vcdebug.tui.screens.pages import DetailScreen
from vcdebug.tui.widgets.bars import Tabs
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import Line
from vcdebug.views import log as log_view
from vcdebug.views.panels import PANEL_GROUPS, PANELS
from vcdebug.views.table import format_table

TOPOLOGY = Path(__file__).parents[1] / "golden" / "random" / "hypernode-0005"
SIZES = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "120x40"])


@SIZES
async def test_the_tabs_name_the_present_panel_its_group_and_the_way_to_all_others(size: tuple[int, int]) -> None:
    async with opened_again("preempt-works", size) as desk:
        for panel in PANELS:
            await desk.press(panel.key)
            tabs = desk.main.query_one(Tabs)
            lines = ["".join(part.text for part in tabs.line_segments(number)) for number in range(tabs.size.height)]
            has_place = panel.command_name in screen_class(*desk.main.query_one(MainLayout).size).fixed_panels
            assert has_place != (f"[{panel.key} {panel.title}]" in "".join(lines))
            assert lines[0].endswith("P panels")
            assert max(map(len, lines)) <= tabs.size.width
            screen = desk.screen()
            assert all(line.rstrip() in screen for line in lines)


async def test_at_120_columns_every_panel_of_the_dock_has_a_tab() -> None:
    async with opened_again("preempt-works", WIDE) as desk:
        tabs = desk.main.query_one(Tabs)
        text = "".join(part.text for number in (0, 1) for part in tabs.line_segments(number))
        assert [] == [tab.title for tab in tabs.tabs if f"{tab.key} {tab.title}" not in text]
        assert all(group in text for group in PANEL_GROUPS)


async def test_one_key_lists_every_panel_by_group_and_enter_shows_it() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("P")
        grid = desk.app.screen.query_one(Grid)
        rows = grid.table.rows
        assert [(one.key, one.title) for one in PANELS] == [(row.cells[1].text, row.cells[2].text) for row in rows]
        assert [*PANEL_GROUPS] == [row.cells[0].text for row in rows if row.cells[0].text]
        await desk.press(
            *["down"] * next(i for i, one in enumerate(PANELS) if one.command_name == "evictions"), "enter"
        )
        assert desk.main.focused is desk.panel("evictions")


async def test_enter_in_problems_goes_to_the_event_of_a_quirk_and_opens_the_text_of_others(tmp_path: Path) -> None:
    shutil.copytree(str(find_bundled("preempt-blocked-by-gang")), tmp_path, dirs_exist_ok=True)
    (tmp_path / "damaged.yaml").write_text("kind: [", encoding="utf-8")
    async with opened(str(tmp_path)) as desk:
        await desk.press("9", "home", "enter")
        detail = desk.app.screen
        assert isinstance(detail, DetailScreen)
        assert "damaged.yaml" in format_table(detail.table)
        await desk.close_everything()
        rows = desk.panel("problems").shown_rows
        quirk = next(number for number, row in enumerate(rows) if row.seq)
        await desk.press("9", "home", *["down"] * quirk, "enter")
        assert rows[quirk].seq == desk.seq


async def test_a_panel_keeps_its_size_while_its_filter_is_typed() -> None:
    async with opened_again("preempt-blocked-by-gang", NARROW) as desk:
        await desk.command("goto 120")
        for panel in ("jobs", "equation", "statement"):
            await desk.press(next(one.key for one in PANELS if one.command_name == panel))
            before = desk.panel(panel).outer_size.height
            await desk.press("slash")
            assert before == desk.panel(panel).outer_size.height, panel
            await desk.close_everything()


@pytest.mark.parametrize("panel", ["jobs", "nodes", "queues"])
async def test_the_cursor_stays_on_its_row_when_another_recording_is_shown(panel: str) -> None:
    async with opened_again("preempt-blocked-by-gang") as desk:
        await desk.command("goto 50")
        await desk.press(next(one.key for one in PANELS if one.command_name == panel), "end")
        row = desk.panel(panel).cursor_row
        assert row is not None
        assert row.key != desk.panel(panel).table.current
        await desk.work("set conf:plugins.gang.enablePreemptable=false")
        assert row.key == getattr(desk.panel(panel).cursor_row, "key", "")
        await desk.press("x")
        assert row.key == getattr(desk.panel(panel).cursor_row, "key", "")


@SIZES
async def test_0_shows_what_the_cycle_writes_and_enter_goes_to_its_event(size: tuple[int, int]) -> None:
    async with opened_again("preempt-works", size) as desk:
        await desk.press("0")
        assert desk.main.focused is desk.panel("effects")
        assert "[0 Effects]" in desk.screen()
        assert "evict" in desk.screen()
        await desk.press("home")
        row = desk.panel("effects").shown_rows[0]
        assert desk.seq < row.seq
        assert "muted" == row.cells[2].style
        await desk.press("enter")
        assert row.seq == desk.seq
        assert "bad" == desk.panel("effects").shown_rows[0].cells[2].style


@SIZES
async def test_p_shows_the_configuration_in_force(size: tuple[int, int]) -> None:
    async with opened_again("preempt-works", size) as desk:
        await desk.press("p")
        assert desk.main.focused is desk.panel("conf")
        assert "[p Conf]" in desk.screen()
        assert "enqueue" in desk.screen()
        assert "tier 1" in desk.text("conf")


@SIZES
async def test_v_shows_the_log_at_a_level_with_the_present_event_marked(size: tuple[int, int]) -> None:
    async with opened_again("preempt-works", size) as desk:
        await desk.command("break statement pipeline")
        await desk.press("c", "v")
        assert desk.main.focused is desk.panel("log")
        assert "[v Log]" in desk.screen()
        assert "-v=3" in desk.text("log")
        panel = desk.panel("log")
        lines = len(panel.shown_rows)
        assert panel.cursor_row is not None
        assert panel.cursor_row.seq <= desk.seq
        await desk.press("space")
        assert "-v=4" in desk.text("log")
        assert lines < len(panel.shown_rows)
        await desk.command("log 5")
        assert "-v=5" in desk.text("log")
        await desk.press("home", "enter")
        assert 1 == desk.seq
        assert "●" == panel.shown_rows[0].cells[0].text
        await desk.command("log 9")
        assert "not a log level" in desk.status()


async def test_a_long_log_is_written_while_keys_go_on_working(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_panel, "SLICE_SECONDS", 0)
    monkeypatch.setattr(log_view, "LINES_PER_CHECK", 3)
    async with opened("preempt-works") as desk:
        await desk.press("v")
        assert "still being written" in desk.text("log")
        await desk.press("s")
        assert 1 == desk.seq
        await desk.until(lambda: "still" not in desk.text("log"), "the log is written")
        assert 98 == desk.panel("log").shown_rows[-1].seq


@SIZES
async def test_h_capital_shows_the_topology_or_says_that_there_is_none(size: tuple[int, int]) -> None:
    async with opened("preempt-works", size) as desk:
        await desk.press("H")
        assert "no HyperNodes in the snapshot" in desk.screen()
    async with opened(str(TOPOLOGY), size) as desk:
        await desk.press("H")
        assert desk.main.focused is desk.panel("hypernodes")
        assert "p0" in desk.screen()
        assert ["<cluster-top-hypernode>", "p0", "s0", "node-000"] == [
            row.cells[0].text.strip() for row in desk.panel("hypernodes").shown_rows[:4]
        ]


@SIZES
async def test_nothing_of_the_panels_stays_beside_a_page(size: tuple[int, int]) -> None:
    async with opened_again("preempt-works", size) as desk:
        await desk.press("question_mark")
        frame = desk.app.screen.query_one("Vertical").region
        for y, row in enumerate(desk.screen().splitlines()):
            beside = row[: frame.x] + row[frame.right :] if frame.y <= y < frame.bottom else row
            assert "" == beside.strip(), beside


async def test_a_title_that_has_no_room_stands_whole_below_its_rule() -> None:
    async with opened_again(size=(60, 20)) as desk:
        for command in ("goto 103", "panel equation", "panel inside", "panel statement"):
            await desk.command(command)
        frames = [line for line in desk.screen().splitlines() if "<2>" in line or "<3>" in line]
        assert not any("…" in line for line in frames)
        assert "Victims: Preemptable for" in desk.screen()


async def test_the_title_says_how_many_columns_are_out_of_sight_and_keys_bring_them() -> None:
    async with opened_again("preempt-blocked-by-gang", (80, 24)) as desk:
        await desk.command("panel evictions")
        assert "3 more columns →" in desk.screen()
        await desk.press("shift+right", "shift+right", "shift+right")
        title = next(text for text in desk.screen().splitlines() if "<E>" in text)
        assert "← 2 more" in title
        assert "more columns" not in title


async def test_a_long_title_leaves_room_for_the_filter() -> None:
    async with opened_again(size=(80, 24)) as desk:
        await desk.command("goto 103")
        await desk.press("2", "slash", *"bert", "enter", "slash", *"resnet", "enter")
        title = next(text for text in desk.screen().splitlines() if "<2>" in text)
        assert "/resnet  1 of" in title
        assert "… " not in title


async def test_the_line_that_is_being_typed_comes_back_after_earlier_ones() -> None:
    async with opened_again() as desk:
        await desk.press("colon", *"goto 7", "enter", "colon", *"got", "up")
        assert "goto 7" == desk.main.query_one(Line).value
        await desk.press("down")
        assert "got" == desk.main.query_one(Line).value


async def test_the_cursor_brings_a_column_that_is_out_of_sight() -> None:
    async with opened_again("preempt-blocked-by-gang", (80, 24)) as desk:
        await desk.command("panel evictions")
        panel = desk.panel("evictions")
        await desk.press(*["right"] * (len(panel.table.columns) - 1))
        assert f"{panel.table.columns[-1].title}" in desk.screen().splitlines()[panel.region.y + 2]
        assert panel.cursor_head == panel.table.columns[-1].title


async def test_an_operation_takes_one_line_per_amount_at_80_cells() -> None:
    async with opened("preempt-blocked-by-gang", (80, 24)) as desk:
        await desk.command("goto 107")
        await desk.command("panel moment")
        released = [text for text in desk.screen().splitlines() if "node releasing" in text]
        assert released
        assert all(text.split()[-1] in ("8", "60Gi", "2", "1") for text in released)
