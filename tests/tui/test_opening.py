"""Opening a snapshot: the chooser, arguments, keys during a replay, and unreadable snapshots."""

import gc
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from weakref import ref

import pytest
from textual.message import Message
from textual.widgets import Input, Label

from tests.cli.test_hand_written import HAND_WRITTEN
from tests.effort import PATIENCE
from tests.tui import driving
from tests.tui.driving import NARROW, opened
from vcdebug.debugger.driver import DebuggerState
from vcdebug.snapshot.sources import find_bundled, list_bundled
from vcdebug.tui import worker
from vcdebug.tui.app import WAITING_KEYS_TEXT
from vcdebug.tui.main import background_work, layout
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.screens.chooser import ChooserScreen
from vcdebug.tui.screens.pages import DetailScreen
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.table import Table


async def test_chooser_lists_the_bundled_snapshots_without_an_argument() -> None:
    async with opened(None) as desk:
        chooser = desk.app.screen
        assert isinstance(chooser, ChooserScreen)
        rows = chooser.query_one(Grid).shown_rows
        assert [one.name for one in list_bundled()] == [row.key for row in rows]
        assert [one.title for one in list_bundled()] == [row.cells[-1].text for row in rows]
        assert str(chooser.query_one("#about", Label).render()) == list_bundled()[0].description
        assert "↑/↓ choose   Enter opens   Esc leaves" in desk.screen()
        await desk.press("enter")
        await desk.until_ready()
        assert list_bundled()[0].name == desk.moment.recording.snapshot.name


async def test_each_panel_of_the_first_frame_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    build_table = Panel.build_table

    def count_build(panel: Panel, moment: DebuggerState) -> Table:
        built.append(panel.shows.command_name)
        return build_table(panel, moment)

    monkeypatch.setattr(Panel, "build_table", count_build)
    # No frame without a recording, which on a busy machine would place the panels before.
    monkeypatch.setattr(layout, "EMPTY_FRAME_DELAY", PATIENCE)
    async with opened("preempt-works", (120, 40)) as desk:
        await desk.until_at_rest()
        assert "<5> Jobs before the cycle" in desk.screen()
        assert ["flow", "jobs", "moment"] == sorted(built)


async def test_the_chooser_opens_a_path_too() -> None:
    async with opened(None) as desk:
        await desk.type(str(find_bundled("preempt-works")))
        await desk.until_ready()
        assert "preempt-works" == desk.moment.recording.snapshot.name


async def test_chosen_snapshot_of_a_folder_begins_at_the_position_of_the_command_line(tmp_path: Path) -> None:
    for name in ("preempt-never", "preempt-works"):
        shutil.copytree(str(find_bundled(name)), tmp_path / name)
    async with opened(str(tmp_path), wait=False, goto=7) as desk:
        chooser = desk.app.screen
        assert isinstance(chooser, ChooserScreen)
        paths = [str(tmp_path / name) for name in ("preempt-never", "preempt-works")]
        assert paths == [row.key for row in chooser.query_one(Grid).shown_rows]
        assert "2 snapshots are there" in desk.screen()
        await desk.press("down", "enter")
        await desk.until_ready()
        assert ("preempt-works", 7) == (desk.moment.recording.snapshot.name, desk.seq)


async def test_a_folder_around_one_snapshot_is_that_snapshot(tmp_path: Path) -> None:
    shutil.copytree(str(find_bundled("preempt-works")), tmp_path / "inner")
    async with opened(str(tmp_path)) as desk:
        assert tmp_path / "inner" == Path(str(desk.main.start.source))


async def test_leaving_the_chooser_leaves_the_program() -> None:
    async with opened(None) as desk:
        await desk.press("x", "escape")
        assert isinstance(desk.app.screen, ChooserScreen)
        await desk.press("escape")
        assert 0 == desk.app.return_value


async def test_another_snapshot_can_be_opened_by_command() -> None:
    async with opened("preempt-works") as desk:
        await desk.command("open preempt-never")
        await desk.until(lambda: desk.main.moment is not None, "the other recording is there")
        assert "preempt-never" == desk.moment.recording.snapshot.name


@pytest.mark.memory
async def test_replaced_snapshot_is_freed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is free once its timers have expired: asyncio keeps cancelled timers until then."""
    monkeypatch.setattr(driving, "NEVER", 1 / 60)
    async with opened("preempt-works") as desk:
        left = ref(desk.moment.recording)
        await desk.press("c", "e")
        await desk.close_everything()
        await desk.command("open preempt-never")
        await desk.until(lambda: desk.main.moment is not None, "the other recording is there")
        await desk.command("goto 5")
        assert "preempt-never" == desk.moment.recording.snapshot.name

        def gone() -> bool:
            gc.collect()
            return left() is None

        await desk.until(gone, "nothing holds the first recording")


@pytest.mark.memory
async def test_replaced_snapshot_is_freed_while_modules_are_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(background_work, "import_modules_ahead", lambda _: over.wait(PATIENCE))
    try:
        await test_replaced_snapshot_is_freed(monkeypatch)
    finally:
        over.set()


async def test_the_command_line_chooses_the_first_position() -> None:
    async with opened("preempt-works", goto=40, breaks=("victim",)) as desk:
        assert 40 == desk.seq
        assert 1 == len(desk.moment.breakpoints)
    async with opened("preempt-works", job="assistants/chat-api") as desk:
        assert "assistants/chat-api" == desk.moment.job


async def test_a_breakpoint_of_the_command_line_that_is_wrong_is_one_line() -> None:
    async with opened("preempt-works", breaks=("nothing",)) as desk:
        assert "no kind of breakpoint" in desk.status()


async def test_keys_typed_while_the_replay_runs_wait_and_then_act_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    run = worker.load_and_replay

    def waiting(start: worker.Start, post: Callable[[Message], object], *more: Any) -> None:
        go.wait(PATIENCE)
        run(start, post, *more)

    monkeypatch.setattr(worker, "load_and_replay", waiting)
    async with opened("preempt-works", NARROW, wait=False) as desk:
        try:
            await desk.press("s", "s", "5", "slash", "x", "enter", "question_mark")
            assert WAITING_KEYS_TEXT == desk.status()
            assert desk.main.focused is desk.panel("moment")
            assert desk.app.screen is desk.main
        finally:
            go.set()
        await desk.until(lambda: isinstance(desk.app.screen, DetailScreen), "the last key has acted")
        assert (2, "x") == (desk.seq, desk.panel("jobs").filter_text)


@pytest.mark.parametrize(("key", "leaves"), [("q", True), ("escape", False)])
async def test_keys_that_leave_act_at_once_and_drop_those_that_wait(
    monkeypatch: pytest.MonkeyPatch, key: str, leaves: bool
) -> None:
    monkeypatch.setattr(worker, "load_and_replay", lambda *_: None)  # a replay without end
    async with opened("preempt-works", wait=False) as desk:
        await desk.press("s", "j", "enter", key)
        assert leaves == (desk.app.return_value == 0)
        assert leaves != isinstance(desk.app.screen, ChooserScreen)


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "no such file or folder"), ("", "is empty"), ("{ not: [yaml", "not YAML"), ('{"kind": "Pod"', "not JSON")],
    ids=["missing", "empty", "broken", "cut off"],
)
async def test_a_snapshot_that_cannot_be_read_is_one_clear_line(
    tmp_path: Path, content: str | None, words: str
) -> None:
    path = tmp_path / "cluster.yaml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    async with opened(str(path), NARROW, wait=False) as desk:
        await desk.until_failed()
        assert words in desk.failure()
        assert "Traceback" not in desk.failure()
        await desk.type("preempt-works")
        await desk.until_ready()
        assert "preempt-works" == desk.moment.recording.snapshot.name


async def test_a_fault_of_the_replay_is_one_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("vcdebug.recording.replay.replay_cycle", broken)
    async with opened("preempt-works", wait=False) as desk:
        await desk.until_failed()
        assert "the replay failed: ZeroDivisionError: division by zero" == desk.failure()


def held(monkeypatch: pytest.MonkeyPatch) -> tuple[threading.Event, list[threading.Event]]:
    """Replace the loading by one that waits for a stop request; returns (ended, stop requests)."""
    ended, stops = threading.Event(), []

    def run(*arguments: Any) -> None:
        stop = next(one for one in arguments if isinstance(one, threading.Event))
        stops.append(stop)
        for _ in range(100 * PATIENCE):
            if stop.is_set() or ended.wait(0.01):
                break
        ended.set()

    monkeypatch.setattr(worker, "load_and_replay", run)
    return ended, stops


@pytest.mark.parametrize("keys", [("escape",), ("s", "question_mark", "escape")])
async def test_escape_stops_the_loading_and_leads_to_the_chooser(
    monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    ended, stops = held(monkeypatch)
    async with opened("preempt-works", wait=False) as desk:
        await desk.until(lambda: bool(stops), "the loading has begun")
        await desk.press(*keys)
        await desk.until_failed()
        assert "preempt-works: loading was stopped" == desk.failure()
        await desk.until(ended.is_set, "the loading has ended")


async def test_panels_come_with_the_recording_or_empty_while_it_is_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "EMPTY_FRAME_DELAY", 86400.0)
    ended, _ = held(monkeypatch)
    async with opened("preempt-works", NARROW, wait=False) as desk:
        panels = desk.main.query_one(layout.MainLayout)
        assert {} == panels.places
        assert "preempt-works" in desk.screen()
        panels.show_panels()
        await desk.pause()
        assert {"flow", "moment"} <= set(panels.places)
        assert "no recording yet" in desk.screen()
        ended.set()


async def test_leaving_while_a_snapshot_is_loaded_leaves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, stops = held(monkeypatch)
    async with opened("preempt-works", wait=False) as desk:
        await desk.until(lambda: bool(stops), "the loading has begun")
        await desk.press("q")
        assert 0 == desk.app.return_value
    assert stops[0].is_set()
    assert ended.wait(PATIENCE)


async def test_hand_written_manifests_are_completed_on_request(tmp_path: Path) -> None:
    path = tmp_path / "manifests.yaml"
    path.write_text(HAND_WRITTEN)
    async with opened(str(path), complete=True) as desk:
        assert desk.main.current.driver is not None
        assert ["default/pg"] == list(desk.main.current.driver.debugger.recording.session.jobs)


async def test_a_replay_that_stops_at_its_bound_can_be_looked_at_and_says_so_first() -> None:
    async with opened("preempt-works", limits=(40, 8_000)) as desk:
        assert desk.status().startswith("the replay stopped at its bound of 40 events: after event ")
        await desk.command(f"goto {len(desk.moment.recording)}")
        assert "✗ the recording ends here, the cycle does not" in desk.text("moment")


def test_what_keys_open_is_imported_before_them() -> None:
    code = """
import sys
from vcdebug.tui.main.background_work import import_modules_ahead
import vcdebug.tui.app
import_modules_ahead(lambda: False)
before = {*sys.modules}
import vcdebug.tui.palette, vcdebug.tui.screens.dialogs, vcdebug.tui.screens.pages
print(len({*sys.modules} - before))
"""
    assert "0\n" == subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


async def test_a_path_that_cannot_be_opened_can_be_corrected() -> None:
    async with opened(None) as desk:
        await desk.press(*"/nosuch/", "enter")
        await desk.until_failed()
        field = desk.app.screen.query_one(Input)
        assert "/nosuch/" == field.value
        await desk.press("end", "x")
        assert "/nosuch/x" == field.value
