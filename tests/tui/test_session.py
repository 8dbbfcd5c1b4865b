"""State that the next session restores: position, panel, filter, breakpoints, typed lines, recent snapshots."""

import json
import shutil
from pathlib import Path

import pytest

from tests.tui.driving import opened
from vcdebug.snapshot.sources import find_bundled, list_bundled
from vcdebug.tui.screens.chooser import ChooserScreen
from vcdebug.tui.session_state import SessionStore, identify_snapshot
from vcdebug.tui.widgets.bars import FirstKeys
from vcdebug.tui.widgets.grid import Grid


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "kept")


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """A copy of a bundled snapshot that tests may change."""
    source = find_bundled("preempt-works")
    assert source is not None
    return Path(shutil.copytree(source, tmp_path / "cluster"))


def files(store: SessionStore) -> list[Path]:
    assert store.folder is not None
    return sorted((store.folder / "snapshots").glob("*.json"))


async def save_a_session(store: SessionStore, snapshot: Path) -> None:
    async with opened(str(snapshot), store=store) as desk:
        await desk.command('break victim if plugin == "gang"')
        await desk.command("goto 40")
        await desk.press("6")
        desk.panel("nodes").set_filter("01")


async def test_a_session_goes_on_where_the_last_one_ended(store: SessionStore, snapshot: Path) -> None:
    await save_a_session(store, snapshot)
    async with opened(str(snapshot), store=store) as desk:
        assert 40 == desk.seq
        assert ['break victim if plugin == "gang"'] == [stand.text for stand in desk.moment.breakpoints]
        assert desk.main.focused is desk.panel("nodes")
        assert "01" == desk.panel("nodes").filter_text
        assert "event 40, as you left it" in desk.status()


async def test_watches_and_bookmarks_are_restored(store: SessionStore, snapshot: Path) -> None:
    async with opened(str(snapshot), store=store, goto=30) as desk:
        await desk.command("watch seq > 10")
        await desk.command("bookmark look here")
    async with opened(str(snapshot), store=store) as desk:
        assert ["seq > 10"] == [watch.text for watch in desk.moment.watches]
        assert [(30, "look here")] == [(mark.seq, mark.note) for mark in desk.moment.bookmarks]


async def test_the_command_line_goes_before_the_last_session(store: SessionStore, snapshot: Path) -> None:
    await save_a_session(store, snapshot)
    async with opened(str(snapshot), store=store, goto=7, panel="jobs", filter="chat") as desk:
        assert 7 == desk.seq
        assert desk.main.focused is desk.panel("jobs")
        assert "chat" == desk.panel("jobs").filter_text
        assert 1 == len(desk.moment.breakpoints)
    async with opened(str(snapshot), store=store, job="assistants/chat-api") as desk:
        assert "assistants/chat-api" == desk.moment.job
    async with opened(str(snapshot), store=store, breaks=('victim if plugin == "gang"',)) as desk:
        assert 1 == len(desk.moment.breakpoints)


async def test_fresh_ignores_the_saved_session(store: SessionStore, snapshot: Path) -> None:
    await save_a_session(store, snapshot)
    async with opened(str(snapshot), store=store, fresh=True) as desk:
        assert (0, ()) == (desk.seq, desk.moment.breakpoints)


async def test_breakpoints_are_kept_at_once_and_not_only_at_the_end(store: SessionStore, snapshot: Path) -> None:
    async with opened(str(snapshot), store=store) as desk:
        await desk.command("break tie")
        written = json.loads(files(store)[0].read_text())
        assert ["break tie"] == written["notebook"]["breakpoints"]


async def test_another_content_at_the_same_path_keeps_breakpoints_and_no_position(
    store: SessionStore, snapshot: Path
) -> None:
    await save_a_session(store, snapshot)
    (snapshot / "note.txt").write_text("changed")
    async with opened(str(snapshot), store=store) as desk:
        assert 0 == desk.seq
        assert 1 == len(desk.moment.breakpoints)
        assert "the snapshot has changed" in desk.status()
    assert 2 == len(files(store))


async def test_a_damaged_file_is_put_aside_and_said(store: SessionStore, snapshot: Path) -> None:
    await save_a_session(store, snapshot)
    path = files(store)[0]
    path.write_text('{"version": 1, "event"')
    async with opened(str(snapshot), store=store) as desk:
        assert 0 == desk.seq
        assert "damaged; kept as" in desk.status()
        assert '{"version": 1, "event"' == path.with_suffix(".damaged").read_text()


async def test_a_file_of_a_newer_version_is_left_as_it_is(store: SessionStore, snapshot: Path) -> None:
    await save_a_session(store, snapshot)
    path = files(store)[0]
    newer = json.dumps({"version": 99, "event": {"of": "another kind"}})
    path.write_text(newer)
    async with opened(str(snapshot), store=store) as desk:
        assert "written by a newer vcdebug" in desk.status()
        await desk.command("break tie")
    assert newer == path.read_text()


async def test_unreadable_entries_of_the_session_file_are_reported_and_kept(
    store: SessionStore, snapshot: Path
) -> None:
    await save_a_session(store, snapshot)
    path = files(store)[0]
    data = json.loads(path.read_text())
    data["notebook"]["breakpoints"].append("break telepathy")
    path.write_text(json.dumps(data))
    async with opened(str(snapshot), store=store) as desk:
        assert "telepathy" in desk.status()
        assert 1 == len(desk.moment.breakpoints)
        await desk.command("break tie")
    kept = json.loads(path.read_text())["notebook"]["breakpoints"]
    assert {"break telepathy", "break tie"} <= set(kept)


async def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path, snapshot: Path) -> None:
    (tmp_path / "kept").write_text("a file where the folder should be")
    async with opened(str(snapshot), store=SessionStore(tmp_path / "kept")) as desk:
        assert "this session is not kept" in desk.status()
        await desk.command("break tie")
        assert 1 == len(desk.moment.breakpoints)


async def test_typed_lines_are_there_in_the_next_session(store: SessionStore) -> None:
    async with opened("preempt-works", store=store) as desk:
        await desk.type(":goto 23")
        await desk.type(":goto 24")
    async with opened("preempt-never", store=store) as desk:
        await desk.press("colon", "up", "up", "enter")
        assert 23 == desk.seq


async def test_the_first_keys_are_told_once_and_go_with_the_first_key(store: SessionStore) -> None:
    async with opened("preempt-works", store=store) as desk:
        assert desk.main.query_one(FirstKeys).display
        assert "First time here?" in desk.screen()
        await desk.press("s")
        assert (1, False) == (desk.seq, desk.main.query_one(FirstKeys).display)
    async with opened("preempt-works", store=store) as desk:
        assert not desk.main.query_one(FirstKeys).display


async def test_the_chooser_shows_recent_snapshots_first(store: SessionStore, snapshot: Path) -> None:
    for one in (str(snapshot), "preempt-never"):
        async with opened(one, store=store):
            pass
    async with opened(None, store=store) as desk:
        rows = desk.app.screen.query_one(Grid).shown_rows
        assert ["preempt-never", str(snapshot)] == [row.key for row in rows[:2]]
        assert "5 nodes" in rows[1].cells[2].text
        assert len(list_bundled()) + 1 == len(rows)


async def test_typing_finds_a_snapshot(store: SessionStore) -> None:
    async with opened(None, store=store) as desk:
        await desk.type("no-node fits")
        await desk.until_ready()
        assert desk.moment.recording.snapshot.name in ("pending-no-node-fits", "preempt-no-node-fits")


async def test_failed_opening_returns_to_the_chooser_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text("{ not: [yaml")
    async with opened(None) as desk:
        await desk.type(str(path))
        await desk.until(lambda: isinstance(desk.app.screen, ChooserScreen) and bool(desk.app.screen.failure), "back")
        assert "not YAML" in desk.screen()
        await desk.type("preempt-works")
        await desk.until_ready()
        assert "preempt-works" == desk.moment.recording.snapshot.name


def test_a_snapshot_is_known_by_path_and_content(snapshot: Path) -> None:
    before = identify_snapshot(str(snapshot))
    assert before == identify_snapshot(str(snapshot))
    assert before is not None
    (snapshot / "more.txt").write_text("x")
    after = identify_snapshot(str(snapshot))
    assert after is not None
    assert (before.path, True) == (after.path, before.content != after.content)
    assert identify_snapshot(str(snapshot / "none")) is None


def test_no_session_is_saved_without_a_folder(own_folders: Path, snapshot: Path) -> None:
    store = SessionStore()
    assert "" == store.open_session(identify_snapshot(str(snapshot))).save_data({"event": 3})
    assert ([], {}) == (store.recent_snapshots(), store.typed_lines())
    assert [] == [*own_folders.parent.rglob("*.json")] or not own_folders.exists()


async def test_session_saved_beside_a_snapshot_is_used_at_its_first_opening(
    store: SessionStore, snapshot: Path
) -> None:
    async with opened(str(snapshot), store=store) as desk:
        await desk.command('break victim if plugin == "gang"')
        await desk.command("goto 40")
        await desk.command("bookmark look here")
        await desk.command("save")
        assert "wrote 1 breakpoint, 1 bookmark to" in desk.status()
    assert (snapshot.parent / "cluster.vcdebug.json").exists()
    async with opened(str(snapshot), store=SessionStore(snapshot.parent / "elsewhere")) as desk:
        assert "cluster.vcdebug.json: 1 breakpoint, 1 bookmark set" in desk.status()
        assert ['victim if plugin == "gang"'] == [
            stand.text.removeprefix("break ") for stand in desk.moment.breakpoints
        ]
        assert [(40, "look here")] == [(mark.seq, mark.note) for mark in desk.moment.bookmarks]
    async with opened(str(snapshot), store=SessionStore(None)) as desk:
        assert 1 == len(desk.moment.breakpoints)


async def test_a_bundled_snapshot_has_no_place_beside_it(store: SessionStore, tmp_path: Path) -> None:
    async with opened("preempt-works", store=store) as desk:
        await desk.command("save")
        assert "use: save FILE" in desk.status()
        await desk.command(f"save {tmp_path}/notes.json")
        assert "no breakpoint, watch or bookmark to write to" in desk.status()
        await desk.command(f"save {tmp_path}/notes.json")
        assert "exists; --force" in desk.status()
