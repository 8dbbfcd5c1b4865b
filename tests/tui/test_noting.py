"""Keys that lead from a number to the event that wrote it; watches, bookmarks, data breakpoints, the report."""

from pathlib import Path

import pytest
from textual.widgets import Input

from tests.tui.driving import NARROW, WIDE, Desk, opened, opened_again
from vcdebug.tui.main.cursor_commands import NO_FIGURE
from vcdebug.tui.session_state import SessionStore
from vcdebug.tui.widgets.bars import Timeline
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import Line
from vcdebug.views.pieces import BOOKMARK

BLOCKED, JOB = "preempt-blocked-by-gang", "research/llm-finetune"
LAST = 166
SIZES = pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "120x40"])


async def on_cell(desk: Desk, panel: str, row: str, head: str) -> None:
    """Put the cursor on a row, by its key, and a column, by its head."""
    desk.main.show_panel(panel)
    grid = desk.panel(panel)
    heads = [column.title for column in grid.table.columns]
    grid.cursor = [shown.key for shown in grid.shown_rows].index(row)
    grid.cursor_column = heads.index(head)
    await desk.pause()


def line(desk: Desk) -> str:
    """The text of the command line."""
    return desk.main.query_one("Prompt Input", Input).value


@SIZES
async def test_a_number_leads_to_the_event_that_wrote_it_and_again_further_back(size: tuple[int, int]) -> None:
    async with opened_again(BLOCKED, size) as desk:
        await desk.command(f"goto {LAST}")
        await on_cell(desk, "queues", "research cpu", "alloc")
        seen = []
        for _ in range(4):
            await desk.press("L")
            seen.append(desk.seq)
        assert [139, 138, 110, 107] == seen
        assert "144 → 136" in desk.moment.reason
        await desk.press("L")
        assert 107 == desk.seq
        assert "as it was when the session opened" in desk.status()


async def test_a_number_that_never_changed_leaves_the_cursor_on_its_row() -> None:
    async with opened_again(BLOCKED) as desk:
        await desk.command("goto 121")
        await on_cell(desk, "nodes", "gpu-a100-05", "cpu")
        await desk.press("L")
        assert "gpu-a100-05 idle cpu is as it was" in desk.status()
        row = desk.panel("nodes").cursor_row
        assert row is not None
        assert "gpu-a100-05" == row.key


async def test_going_back_along_a_figure_goes_on_where_the_panel_shows_something_else() -> None:
    async with opened_again(BLOCKED) as desk:
        await desk.command("goto 139")
        await on_cell(desk, "moment", "proportion research allocated cpu", "after")
        seen = []
        for _ in range(3):
            await desk.press("L")
            seen.append(desk.seq)
        assert [138, 110, 107] == seen


async def test_a_page_closes_with_the_event_that_wrote_the_number_under_its_cursor() -> None:
    async with opened_again(BLOCKED) as desk:
        await desk.command(f"goto {LAST}")
        await on_cell(desk, "jobs", JOB, "job")
        await desk.press("enter", "right", "L")
        assert desk.app.screen is desk.main
        assert 138 == desk.seq
        await desk.press("L")
        assert 110 == desk.seq


async def test_a_breakpoint_on_a_figure_is_set_in_the_dialog() -> None:
    async with opened_again(BLOCKED) as desk:
        await desk.press("b")
        grid = desk.app.screen.query_one("#kinds", Grid)
        grid.cursor = [row.key for row in grid.shown_rows].index("data")
        await desk.press("tab")
        desk.app.screen.query_one("#condition", Input).value = "queue research allocated cpu if new < old"
        await desk.press("enter")
        assert ["break data queue research allocated cpu if new < old"] == [
            stand.text for stand in desk.moment.breakpoints
        ]
        assert [107, 138] == list(desk.moment.breakpoints[0].hits)


async def test_a_cell_without_a_figure_says_so() -> None:
    async with opened_again(BLOCKED) as desk:
        await on_cell(desk, "jobs", JOB, "job")
        for key in ("L", "A", "B"):
            await desk.press(key)
            assert NO_FIGURE == desk.status()
        assert () == desk.moment.watches


@SIZES
async def test_watch_panel_lists_watches_and_enter_goes_to_the_last_change(size: tuple[int, int]) -> None:
    async with opened_again(BLOCKED, size) as desk:
        await desk.command("goto 120")
        await on_cell(desk, "jobs", JOB, "reserved")
        await desk.press("A")
        assert f"watch 1: job {JOB} waiting: 1" == desk.status()
        await desk.command("watch count(victims)")
        await desk.press("a")
        assert desk.main.focused is desk.panel("watch")
        assert "a Watch" in desk.screen()
        rows = [[cell.text for cell in row.cells] for row in desk.panel("watch").shown_rows]
        assert [["1", "llm-finetune waiting", "1", "110", "0 → 1"]] == rows[:1]
        assert "count(victims)" == rows[1][1]
        await desk.press("home", "enter")
        assert 110 == desk.seq
        assert ["strong", "here", "warn"] == [cell.style for cell in desk.panel("watch").shown_rows[0].cells[2:]]
        await desk.press("x")
        assert ["count(victims)"] == [watch.text for watch in desk.moment.watches]


async def test_a_breakpoint_on_the_number_under_the_cursor_stands_ready_to_be_narrowed() -> None:
    async with opened_again(BLOCKED) as desk:
        await on_cell(desk, "nodes", "gpu-a100-01", "releasing")
        await desk.press("B")
        assert "break data node gpu-a100-01 releasing" == line(desk)
        await desk.press("enter")
        assert "2 hits" in desk.status()
        await desk.press("c")
        assert 107 == desk.seq
        assert "nothing → 8 cpu, 60Gi memory, 2 nvidia.com/gpu" in desk.moment.reason


async def test_a_breakpoint_is_changed_in_the_line_from_the_list() -> None:
    async with opened_again(BLOCKED) as desk:
        await desk.command("break victim")
        await desk.press("8", "enter")
        assert "change 1 victim" == line(desk)
        desk.main.query_one(
            "Prompt Input", Input
        ).value = 'change 1 victim if plugin == "gang" hits == 2 once log "{seq}"'
        await desk.press("enter")
        assert ('break victim if plugin == "gang" hits == 2 once log "{seq}"',) == tuple(
            stand.text for stand in desk.moment.breakpoints
        )
        await desk.press("8", "space")
        assert not desk.moment.breakpoints[0].enabled


@SIZES
async def test_a_bookmark_is_on_the_timeline_and_in_its_panel_and_leads_back(size: tuple[int, int]) -> None:
    async with opened_again(BLOCKED, size) as desk:
        await desk.command("goto 110")
        await desk.press("m")
        assert "bookmark 1 at event 110" in desk.status()
        await desk.press("m")
        assert "note " == line(desk)
        desk.main.query_one("Prompt Input", Input).value = "note the first place"
        await desk.press("enter")
        await desk.command("goto 1")
        timeline = desk.main.query_one(Timeline)
        assert BOOKMARK == timeline.render().plain[timeline.cell_of(110)]
        await desk.press("M")
        assert desk.main.focused is desk.panel("bookmarks")
        assert ["1", "110", "the first place"] == [
            cell.text for cell in desk.panel("bookmarks").shown_rows[0].cells[:3]
        ]
        await desk.press("home", "enter")
        assert 110 == desk.seq
        await desk.press("x")
        assert () == desk.moment.bookmarks
        await desk.command("goto 1")
        assert BOOKMARK != timeline.render().plain[timeline.cell_of(110)]


async def test_commands_about_bookmarks_and_watches_open_their_panels() -> None:
    async with opened_again(BLOCKED) as desk:
        for command, panel in (("bookmarks", "bookmarks"), ("watch", "watch"), ("break", "breaks")):
            await desk.command(command)
            assert desk.main.focused is desk.panel(panel)


async def test_an_existing_report_is_overwritten_only_with_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(BLOCKED) as desk:
        await desk.command("goto 110")
        await desk.command("note seen & noted")
        target = tmp_path / "report.html"
        await desk.command(f"report {target}")
        await desk.until(lambda: "wrote" in desk.status(), "the report is written")
        assert "seen &amp; noted" in target.read_text(encoding="utf-8")
        await desk.command(f"report {target}")
        await desk.until(lambda: "exists; --force" in desk.status(), "it is refused")
        await desk.command(f"report {target} --force")
        await desk.until(lambda: "wrote" in desk.status(), "it is written again")
        monkeypatch.chdir(tmp_path)
        await desk.command("report")
        await desk.until(lambda: f"wrote {BLOCKED}.html" in desk.status(), "the report is named as the snapshot")
        await desk.command(f"report {tmp_path / 'report.pdf'}")
        await desk.until(lambda: ".md or .html" in desk.status(), "the form is refused")


async def test_notebook_is_restored_in_the_next_session(tmp_path: Path) -> None:
    async with opened(BLOCKED, store=SessionStore(tmp_path)) as desk:
        await desk.command("break data job llm-finetune waiting if new > old")
        await desk.command("watch node gpu-a100-01 idle gpu")
        await desk.command("goto 110")
        await desk.command("note remember me")
    async with opened(BLOCKED, store=SessionStore(tmp_path)) as desk:
        assert ["break data job llm-finetune waiting if new > old"] == [stand.text for stand in desk.moment.breakpoints]
        assert ["node gpu-a100-01 idle nvidia.com/gpu"] == [watch.text for watch in desk.moment.watches]
        assert [(110, "remember me")] == [(mark.seq, mark.note) for mark in desk.moment.bookmarks]
        assert 110 == desk.seq


PUT_IN = {
    ("m", "m"): "note ",
    ("5", "l", "B"): f"break data job {JOB} ready",
    ("2", "w"): "force allow research/bert-pretrain-worker-0 research/resnet-sweep-worker-0",
}


async def test_what_is_typed_stands_behind_the_words_that_were_put_in() -> None:
    async with opened_again("preempt-blocked-by-gang", NARROW) as desk:
        await desk.command("goto 103")
        for keys, words in PUT_IN.items():
            await desk.press(*keys, "exclamation_mark")
            assert f"{words}!" == desk.main.query_one(Line).value
            await desk.close_everything()


async def test_an_edit_of_a_job_of_the_overview_is_put_in() -> None:
    async with opened_again(BLOCKED) as desk:
        await desk.until_at_rest()
        await desk.press("w")
        assert f"set PodGroup/{JOB}:spec.minMember=2" == line(desk)


async def test_a_filter_that_is_opened_again_is_replaced_by_what_is_typed_or_changed_after_an_arrow() -> None:
    async with opened_again("preempt-blocked-by-gang", NARROW) as desk:
        await desk.press("5", "slash", "l", "enter", "slash", "m", "enter")
        assert "m" == desk.panel("jobs").filter_text
        await desk.press("slash", "end", "-", "enter")
        assert "m-" == desk.panel("jobs").filter_text


async def test_a_bookmark_of_another_cycle_stays_in_the_list_and_leads_back_there() -> None:
    async with opened_again() as desk:
        await desk.command("goto 30")
        await desk.command("bookmark remember me")
        await desk.work("next-cycle")
        await desk.press("M")
        assert "remember me" in desk.text("bookmarks")
        assert "in cycle 1 of the original" in desk.text("bookmarks")
        await desk.press("enter")
        assert desk.moment.recordings is not None
        assert (1, 30) == (desk.moment.recordings.cycle, desk.seq)
