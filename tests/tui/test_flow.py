"""The flow panel: tree lines, the path of the current event that stays visible, and hits in folded parts."""

import pytest

from tests.tui.driving import NARROW, WIDE, opened_again
from vcdebug.framework.record import HookEvent
from vcdebug.views.flow import TREE_GUIDE


async def test_levels_stand_in_and_outcome_and_events_stand_at_the_right() -> None:
    async with opened_again(size=(200, 60)) as desk:
        await desk.command("goto 103")
        rows = {row.key: row for row in desk.panel("flow").table.rows}
        table = desk.panel("flow").table
        assert [*range(6)] == sorted(set(table.depths))
        for row, depth in zip(table.rows, table.depths, strict=True):
            assert TREE_GUIDE * depth == row.cells[0].text[: len(TREE_GUIDE) * depth]
        preempt = next(row for row in rows.values() if row.cells[0].text == "▾ preempt")
        assert ("◆ 1 discarded", "77") == (preempt.cells[1].text, preempt.cells[2].text)
        width = desk.panel("flow").region.width
        shown = [line[:width] for line in desk.screen().splitlines() if "▾ preempt" in line]
        assert shown[0].rstrip("│ ").endswith("77")


async def test_a_pod_loses_the_name_of_its_job_but_never_all_of_its_words() -> None:
    async with opened_again("placed-by-score", WIDE) as desk:
        await desk.command("goto 24")
        names = [row.cells[0].text.strip(" │▾▸") for row in desk.panel("flow").table.rows]
        assert {"pop task web-0", "web-0", "allocate web-0"} <= set(names)


async def test_guides_are_fainter_than_the_names_beside_them() -> None:
    async with opened_again(size=WIDE) as desk:
        await desk.command("goto 103")
        region = desk.panel("flow").region
        line = next(list(strip)[:9] for strip in desk.strips() if "▾ research" in strip.text[: region.width])
        guide = next(segment.style for segment in line if segment.text.startswith("│"))
        name = next(segment.style for segment in line if "research" in segment.text)
        assert guide is not None
        assert name is not None
        assert (guide.color, guide.bold) != (name.color, name.bold)


async def test_the_way_to_the_rows_in_sight_stays_at_the_top() -> None:
    async with opened_again(size=NARROW) as desk:
        await desk.command("goto 110")
        await desk.press("1", "down", "down", "down", "down")
        start = desk.panel("flow").region.y
        top = [line[:40] for line in desk.screen().splitlines()[start : start + 6]]
        words = ("preempt", "research", "llm-finetune")
        assert all(any(word in line and "▾" in line for line in top) for word in words), top


async def test_the_row_of_the_event_is_in_sight_however_deep_it_is() -> None:
    async with opened_again(size=NARROW) as desk:
        await desk.command("goto 120")
        region = desk.panel("flow").region
        assert any("●" in line for line in desk.screen().splitlines()[region.y : region.bottom])


async def test_a_search_finds_what_is_folded_and_leads_there() -> None:
    async with opened_again(size=WIDE) as desk:
        await desk.press("1", "slash", *"allocatable")
        assert any("Allocatable" in row.cells[0].text for row in desk.panel("flow").shown_rows)
        await desk.press("enter", "home", "enter")
        event = desk.moment.recording.event_at(desk.seq)
        assert isinstance(event, HookEvent)
        assert "Allocatable" == event.point
        await desk.press("escape", "escape")
        assert "" == desk.panel("flow").filter_text
        assert len(desk.panel("flow").shown_rows) < len(desk.moment.recording)


@pytest.mark.parametrize("name", ["flow", "jobs", "nodes"])
async def test_escape_of_a_filter_leaves_the_cursor_on_its_row(name: str) -> None:
    async with opened_again() as desk:
        panel = desk.panel(name)
        panel.focus()
        await desk.press("slash", *"1", "enter", "down", "down")
        row = panel.cursor_row
        assert row is not None
        await desk.press("escape", "escape")
        assert ("", row.key) == (panel.filter_text, panel.cursor_row and panel.cursor_row.key)


async def test_a_filter_given_up_while_it_is_typed_leaves_the_cursor_where_it_was() -> None:
    async with opened_again() as desk:
        panel = desk.panel("nodes")
        desk.main.show_panel("nodes")
        await desk.press("down", "down", "down")
        row = panel.cursor_row
        assert row is not None
        await desk.press("slash", *"01", "escape")
        assert ("", row.key) == (panel.filter_text, panel.cursor_row and panel.cursor_row.key)


async def test_the_one_job_of_a_queues_turn_goes_by_its_name() -> None:
    async with opened_again() as desk:
        await desk.command("goto 40")
        turns = [row.cells[1].text for row in desk.panel("flow").table.rows if "▾ platform" in row.cells[0].text]
        assert ["○ feature-etl"] == turns
        assert "○ feature-etl" in desk.screen()
