"""`edit` and further cycles, with keys and typed lines."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path

import pytest

from tests.effort import PATIENCE
from tests.tui.driving import NARROW, Desk, opened, opened_again
from vcdebug.debugger.commands import CommandReply
from vcdebug.tui.completion import complete_line
from vcdebug.tui.screens.dialogs import ConfirmLeaveScreen
from vcdebug.tui.screens.pages import PageScreen
from vcdebug.tui.widgets.bars import Header
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import Prompt
from vcdebug.views.conf import conf_table
from vcdebug.views.table import format_table
from vcdebug.whatif.branch import OpenRecordings

GANG_OFF = "conf:plugins.gang.enablePreemptable=false"
VICTIMS = 103
"""The event in which gang is asked for victims for worker-0; switching gang off makes the first difference there."""


def lying_open(desk: Desk) -> OpenRecordings:
    found = desk.moment.recordings
    assert found is not None
    return found


def shown(desk: Desk) -> tuple[str, int, int]:
    """(side, cycle, event) on the screen."""
    return lying_open(desk).side, lying_open(desk).cycle, desk.seq


def header(desk: Desk) -> str:
    return str(desk.main.query_one(Header).render())


def page(desk: Desk) -> str:
    screen = desk.app.screen
    assert isinstance(screen, PageScreen)
    return format_table(screen.table)


def typed(desk: Desk) -> str:
    """The text of the open command line."""
    assert desk.main.query_one(Prompt).is_open
    field = desk.main.query_one("Prompt Input")
    return str(field.value)  # type: ignore[attr-defined]


async def test_an_edit_shows_the_branch_at_the_same_event_and_says_what_changed() -> None:
    async with opened_again() as desk:
        await desk.command("goto 50")
        await desk.work(f"set {GANG_OFF}")
        assert ("branch", 1, 50) == shown(desk)
        assert "3 jobs, 4 pods changed; the first difference is event 103" in desk.status()
        assert "branch: 1 edit" in header(desk)


async def test_edit_before_the_current_event_moves_the_cursor_to_the_first_difference() -> None:
    async with opened_again() as desk:
        await desk.command("goto 150")
        await desk.work(f"set {GANG_OFF}")
        assert ("branch", 1, VICTIMS) == shown(desk)


async def test_key_x_switches_sides_and_each_side_keeps_its_position() -> None:
    async with opened_again() as desk:
        await desk.command("goto 120")
        await desk.work(f"set {GANG_OFF}")
        await desk.command("goto 110")
        await desk.press("x")
        assert ("original", 1, 120) == shown(desk)
        assert "original" in header(desk)
        await desk.press("x")
        assert ("branch", 1, 110) == shown(desk)
        await desk.command("goto 40")
        await desk.press("x")
        assert ("original", 1, 40) == shown(desk)


async def test_undo_and_redo_are_keys() -> None:
    async with opened_again() as desk:
        await desk.work(f"set {GANG_OFF}")
        await desk.press("U")
        await desk.until_at_rest()
        assert (("original", 1, 0), ()) == (shown(desk), lying_open(desk).edit_texts)
        await desk.press("ctrl+r")
        await desk.until_at_rest()
        assert ("branch", (GANG_OFF,)) == (shown(desk)[0], lying_open(desk).edit_texts)


async def test_a_forced_answer_is_marked_at_its_event() -> None:
    async with opened_again() as desk:
        await desk.command(f"goto {VICTIMS}")
        await desk.work("force none")
        assert ("branch", 1, VICTIMS) == shown(desk)
        assert "! forced: gang answers none" in desk.text("moment")
        assert "1 forced" in header(desk)
        await desk.command("panel problems")
        assert "! forced" in desk.text("problems")
        await desk.press("X")
        assert "✗ none (forced)" in page(desk)


async def test_force_without_an_answer_says_what_can_be_forced() -> None:
    async with opened_again() as desk:
        await desk.command(f"goto {VICTIMS}")
        await desk.command("force")
        assert "allow and candidates, yes for all, no for none, or abstain" in desk.status()
        await desk.command("goto 100")
        await desk.command("force yes")
        assert "event 100 is not a plugin call" in desk.status()


async def test_a_wrong_edit_is_one_line_and_changes_nothing() -> None:
    async with opened_again() as desk:
        for text in ("set Queue/nope:spec.weight=2", "force 5", "set answer:9=perhaps", "undo", "branch", "edits x"):
            await desk.command(f"goto {VICTIMS}")
            await desk.work(text)
            assert desk.status().startswith("✗ ")
            assert ("original", 1, VICTIMS) == shown(desk)
            assert () == lying_open(desk).edits


BEGINNINGS = {
    "queues": "set Queue/",
    "jobs": "set PodGroup/",
    "nodes": "set Node/",
    "moment": "force allow research/",
}


async def test_w_types_the_edit_of_what_the_cursor_is_on() -> None:
    async with opened_again() as desk:
        await desk.command(f"goto {VICTIMS}")
        for panel, text in BEGINNINGS.items():
            await desk.command(f"panel {panel}")
            await desk.press("w")
            assert typed(desk).startswith(text), panel
            await desk.close_everything()


async def test_the_comparison_leads_to_either_side() -> None:
    async with opened_again() as desk:
        await desk.work(f"set {GANG_OFF}")
        await desk.press("X")
        assert "first difference" in page(desk)
        assert "switched off" in page(desk)
        await desk.press("x")
        assert ("original", 1, VICTIMS) == shown(desk)
        await desk.press("X", "enter")
        assert ("branch", 1, VICTIMS) == shown(desk)
        await desk.press("minus")
        assert ("original", 1, VICTIMS) == shown(desk)


async def test_the_comparison_fits_a_narrow_screen() -> None:
    async with opened_again(size=NARROW) as desk:
        await desk.work(f"set {GANG_OFF}")
        await desk.press("X")
        assert "first difference" in desk.screen()
        await desk.press("escape")
        assert "branch: 1 edit" in desk.screen()


async def test_comparison_is_refused_without_edits() -> None:
    async with opened_again() as desk:
        await desk.work("diff")
        assert "there are no edits to compare with" in desk.status()


async def test_edits_are_listed_with_the_command_line_that_does_the_same() -> None:
    async with opened_again() as desk:
        await desk.work(f"set {GANG_OFF}")
        await desk.work("set queue research weight=4")
        await desk.press("U")
        await desk.until_at_rest()
        await desk.command("edits")
        text = page(desk)
        assert f"--set {GANG_OFF}" in text
        assert ["Queue/research:spec.weight=4", "undone"] == text.splitlines()[3].split()


async def test_keys_answer_while_work_is_done_and_escape_stops_waiting() -> None:
    release = threading.Event()

    def long() -> CommandReply:
        release.wait(PATIENCE)
        return CommandReply(text="too late")

    async with opened() as desk:
        desk.main.commands.show_reply(CommandReply(text="something long", work=long))
        assert "something long" in header(desk)
        await desk.press("n")
        assert 1 < desk.seq
        await desk.command("set queue research weight=4")
        assert "still something long" in desk.status()
        await desk.press("escape")
        assert "stopped: something long; no changes" == desk.status()
        release.set()
        await desk.app.workers.wait_for_complete()
        await desk.pause()
        assert "too late" not in desk.status()
        await desk.work("set queue research weight=4")
        assert 1 == len(lying_open(desk).edits)


async def test_curly_brackets_walk_over_cycles_and_run_the_next_one() -> None:
    async with opened_again() as desk:
        await desk.command("goto 30")
        await desk.press("right_curly_bracket")
        await desk.until_at_rest()
        assert ("original", 2, 0) == shown(desk)
        assert "cycle 2 of 2" in header(desk)
        await desk.press("left_curly_bracket")
        assert ("original", 1, 0) == shown(desk)
        await desk.press("right_curly_bracket")
        assert ("original", 2, 0) == shown(desk)
        await desk.press("left_curly_bracket", "left_curly_bracket")
        assert "this is the first cycle" in desk.status()


async def test_goto_reaches_other_cycles_and_minus_comes_back() -> None:
    async with opened_again() as desk:
        await desk.work("advance 2")
        await desk.command("goto 2:40")
        assert ("original", 2, 40) == shown(desk)
        await desk.press("minus")
        assert ("original", 3, 0) == shown(desk)
        await desk.command("goto 1:7")
        assert ("original", 1, 7) == shown(desk)
        await desk.command("goto 7:1")
        assert "cycle 7" in desk.status()


async def test_a_repeat_is_said_and_listed_and_the_list_leads_to_its_cycles() -> None:
    async with opened_again() as desk:
        await desk.work("advance 2")
        assert "repeats cycle" in desk.status()
        await desk.command("cycle")
        assert "repeats cycle 2" in page(desk)
        await desk.press("home", "enter")
        assert ("original", 1, 0) == shown(desk)


async def test_breakpoints_hold_in_every_recording() -> None:
    async with opened_again() as desk:
        await desk.command("break victim")
        before = desk.moment.breakpoints[0].hits
        await desk.work(f"set {GANG_OFF}")
        assert before != desk.moment.breakpoints[0].hits
        await desk.press("c")
        assert desk.seq == desk.moment.breakpoints[0].hits[0]


async def test_leaving_asks_only_where_edits_would_be_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened() as desk:
        await desk.work(f"set {GANG_OFF}")
        await desk.press("q")
        assert isinstance(desk.app.screen, ConfirmLeaveScreen)
        await desk.press("escape")
        assert 1 == len(desk.app.screen_stack) - desk.app.screen_stack.index(desk.main)
        await desk.press("q", "s")
        await desk.until(lambda: not desk.app.is_running or desk.app._exit, "the application ends")
    assert GANG_OFF in (tmp_path / "preempt-blocked-by-gang.edits").read_text().splitlines()


async def test_saved_edits_need_no_question(tmp_path: Path) -> None:
    async with opened() as desk:
        await desk.work(f"set {GANG_OFF}")
        await desk.command(f"edits save {tmp_path / 'my.edits'}")
        assert f"--set @{tmp_path}" in desk.status()
        await desk.press("q")
        assert not isinstance(desk.app.screen, ConfirmLeaveScreen)


async def test_edits_of_a_file_are_made_together(tmp_path: Path) -> None:
    file = tmp_path / "my.edits"
    file.write_text(f"# two edits\n\n{GANG_OFF}\nQueue/research:spec.weight=4\n")
    async with opened() as desk:
        await desk.work(f"edits load {file}")
        assert (GANG_OFF, "Queue/research:spec.weight=4") == lying_open(desk).edit_texts


async def test_edits_and_answers_are_completed() -> None:
    async with opened_again() as desk:
        await desk.command(f"goto {VICTIMS}")
        offered = complete_line("set ", desk.moment)
        assert "set Queue/research:spec.weight=" == offered[0]
        assert ["set conf:actions="] == complete_line("set conf:a", desk.moment)
        assert ["force allow", "force none", "force abstain"] == complete_line("force ", desk.moment)
        assert ["cycle 1"] == complete_line("cycle ", desk.moment)
        await desk.command("goto 100")
        assert [] == complete_line("force ", desk.moment)


@pytest.mark.memory
async def test_a_branch_that_is_gone_takes_no_more_memory() -> None:
    async with opened() as desk:
        for text in ("panel log", "panel effects", "panel hypernodes", "panel jobs"):
            await desk.command(text)
        await desk.work(f"set {GANG_OFF}")
        for text in ("panel log", "panel effects", "panel hypernodes", "panel jobs", "goto 110"):
            await desk.command(text)
        branch = weakref.ref(desk.moment.recording)
        await desk.work("undo")
        await desk.app.workers.wait_for_complete()
        await desk.command("where")
        gc.unfreeze()
        gc.collect()
        assert branch() is None


async def test_a_hidden_panel_drops_its_rows_once(monkeypatch: pytest.MonkeyPatch) -> None:
    let_go: list[str | None] = []
    monkeypatch.setattr(Grid, "drop_rows", lambda grid: let_go.append(grid.id))
    async with opened() as desk:
        await desk.command("panel log")
        await desk.command("panel jobs")
        await desk.work(f"set {GANG_OFF}")
        for text in ("goto 20", "goto 30", "goto 40"):
            await desk.command(text)
    assert 1 == let_go.count("log")


async def test_another_release_is_a_branch_that_the_header_and_the_conf_panel_name() -> None:
    async with opened() as desk:
        assert "master (release unknown)" in header(desk)
        await desk.work("release v1.15.1")
        assert ("flag:release=v1.15.1",) == lying_open(desk).edit_texts
        assert "v1.15.1" in header(desk)
        assert "branch: 1 edit" in header(desk)
        rules = [line for line in format_table(conf_table(desk.moment.recording)).splitlines() if "older rule" in line]
        assert any("balanced-allocation-absolute" in line for line in rules)
        await desk.command("diff")
        assert "Original and branch, cycle 1" in page(desk)
        await desk.press("escape")
        await desk.work("release v1.15.1,-csi-limit-key")
        assert "v1.15.1 ±1 (near)" in header(desk)
        await desk.work("release v1.9.1")
        assert "v1.10.0 (unknown v1.9.1)" in header(desk)


async def test_a_narrow_header_says_what_is_stated_only() -> None:
    async with opened(size=NARROW) as desk:
        assert "release unknown" not in header(desk)
        await desk.work("release v1.14.4")
        assert "v1.14.4  " in header(desk)
        await desk.work("release v1.14.2")
        assert "v1.14.2?" in header(desk)


async def test_a_release_that_does_not_exist_changes_nothing() -> None:
    async with opened() as desk:
        await desk.command("release nonsense")
        assert "nonsense is not a Volcano release" in desk.status()
        assert () == lying_open(desk).edit_texts


async def test_releases_are_completed() -> None:
    async with opened() as desk:
        assert "release v1.14.4" in complete_line("release v1.14", desk.moment)


async def test_a_release_without_a_name_says_whose_rules_decide() -> None:
    async with opened() as desk:
        await desk.command("release")
        assert "release unknown, replayed by the latest rules (master of 2026-08-20)" in desk.status()


CHANGES = (
    ("jobs", "queue", "spec.queue=platform"),
    ("jobs", "priority", "spec.priorityClassName="),
    ("queues", "weight", "spec.weight=1"),
    ("nodes", "cpu", "status.allocatable.cpu=64"),
)
"""(panel, head of the column, edit)."""


async def test_w_changes_what_stands_in_the_column_under_the_cursor() -> None:
    async with opened_again() as desk:
        for panel, head, edit in CHANGES:
            await desk.command(f"panel {panel}")
            grid = desk.panel(panel)
            heads = [column.title for column in grid.table.columns]
            grid.cursor_column = next(at for at, title in enumerate(heads) if title.startswith(head))
            await desk.press("w")
            assert edit in typed(desk), head
            await desk.close_everything()
