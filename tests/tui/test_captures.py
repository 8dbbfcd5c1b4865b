"""A live cluster on the screen: repeated captures by key or by timer, and a folder of captures."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.debugger.test_captures import Cluster, with_nodes
from tests.tui.driving import Desk
from vcdebug.debugger.captures import CaptureSeries
from vcdebug.snapshot.saved_files import CaptureHistory, save_snapshot
from vcdebug.tui.app import VcdebugApp
from vcdebug.tui.screens.pages import PageScreen
from vcdebug.tui.worker import Start


def start(tmp_path: Path, follow: float = 0.0) -> Start:
    """Start from the first capture of a cluster that gains a node with each further capture."""
    live = Cluster()
    file = tmp_path / "first.tar.gz"
    save_snapshot(with_nodes(1), file)
    captures = CaptureSeries(live.again, [], [lambda: with_nodes(1)])
    return Start(str(file), "prod", captures=captures, follow=follow)


async def test_a_key_captures_again_and_a_page_says_what_changed(tmp_path: Path) -> None:
    async with VcdebugApp(start(tmp_path)).run_test(size=(120, 40)) as pilot:
        desk = Desk(pilot)
        await desk.until_ready()
        await desk.press("full_stop")
        await desk.until_at_rest()
        await desk.until(
            lambda: desk.moment.recordings is not None and desk.moment.recordings.cycle == 2, "it is there"
        )
        await desk.command("changes")
        assert isinstance(desk.app.screen, PageScreen)


async def test_following_captures_by_itself_while_keys_answer(tmp_path: Path) -> None:
    async with VcdebugApp(start(tmp_path, follow=0.05)).run_test(size=(120, 40)) as pilot:
        desk = Desk(pilot)
        await desk.until_ready()
        await desk.until(
            lambda: desk.moment.recordings is not None and desk.moment.recordings.cycle_count >= 3, "three"
        )
        before = desk.seq
        await desk.press("s")
        assert desk.seq > before


async def test_a_folder_of_captures_opens_at_the_last_and_leads_back(tmp_path: Path) -> None:
    history = CaptureHistory(tmp_path / "captures")
    for count in (1, 2, 3):
        snapshot = with_nodes(count)
        snapshot.name, snapshot.now = "prod", snapshot.now + timedelta(seconds=count)
        history.add_capture(snapshot)
    async with VcdebugApp(Start(str(history.folder), "captures")).run_test(size=(120, 40)) as pilot:
        desk = Desk(pilot)
        await desk.until_ready()
        assert 3 == len(desk.moment.recording.node_names)
        await desk.press("left_curly_bracket")
        await desk.until_at_rest()
        await desk.until(lambda: len(desk.moment.recording.node_names) == 2, "the one before")
