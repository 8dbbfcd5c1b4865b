"""Opening: the chooser, what the command line asks for, keys during a replay, and a snapshot that cannot be read."""

import threading
from pathlib import Path

import pytest

from tests.tui.driving import opened
from vcdebug.snapshot.bundled import bundled
from vcdebug.tui import worker
from vcdebug.tui.app import VcdebugApp
from vcdebug.tui.screens.chooser import ChooserScreen
from vcdebug.tui.screens.detail import DetailScreen
from vcdebug.tui.screens.main import MainScreen
from vcdebug.tui.start import Start
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.header import Header
from vcdebug.tui.widgets.status import Status


async def test_without_an_argument_one_chooses_among_the_bundled_snapshots() -> None:
    async with opened(None) as desk:
        chooser = desk.app.screen
        assert isinstance(chooser, ChooserScreen)
        rows = chooser.query_one(Grid).shown_rows
        assert [one.name for one in bundled()] == [row.key for row in rows]
        await desk.press("enter")
        await desk.until_ready()
        assert bundled()[0].name == desk.moment.recording.snapshot.name


async def test_the_chooser_opens_a_path_too() -> None:
    async with opened(None) as desk:
        await desk.press("tab")
        await desk.type("preempt-works")
        await desk.until_ready()
        assert "preempt-works" == desk.moment.recording.snapshot.name


async def test_leaving_the_chooser_leaves_the_program() -> None:
    async with opened(None) as desk:
        await desk.press("q")
        assert 0 == desk.app.return_value


async def test_another_snapshot_can_be_opened_by_command() -> None:
    async with opened("preempt-works") as desk:
        await desk.command("open preempt-never")
        await desk.until(lambda: desk.main.moment is not None, "the other recording is there")
        assert "preempt-never" == desk.moment.recording.snapshot.name


async def test_the_command_line_chooses_the_first_position() -> None:
    async with opened("preempt-works", goto=40, breaks=("victim",)) as desk:
        assert 40 == desk.seq
        assert 1 == len(desk.moment.breakpoints)
    async with opened("preempt-works", job="assistants/chat-api") as desk:
        assert "assistants/chat-api" == desk.moment.job


async def test_a_breakpoint_of_the_command_line_that_is_wrong_is_one_line() -> None:
    async with opened("preempt-works", breaks=("nothing",)) as desk:
        assert "no kind of breakpoint" in desk.status()


async def test_keys_answer_while_the_replay_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    run = worker.run

    def waiting(source: worker.Source, post: object) -> None:
        go.wait(30)
        run(source, post)  # type: ignore[arg-type]

    monkeypatch.setattr(worker, "run", waiting)
    app = VcdebugApp(Start("preempt-works", "preempt-works"))
    async with app.run_test(size=(80, 24)) as pilot:
        main = app.screen
        assert isinstance(main, MainScreen)
        await pilot.press("s")
        assert "still replaying" in main.query_one(Status).message
        await pilot.press("question_mark")
        assert isinstance(app.screen, DetailScreen)
        await pilot.press("escape", "5")
        assert "jobs" == getattr(main.focused, "id", "")
        go.set()
        while main.moment is None:
            await pilot.pause()
        await pilot.press("s")
        assert 2 == main.moment.seq


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "no such file or folder"), ("", ""), ("{ not: [yaml", ""), ('{"kind": "Pod"', "")],
    ids=["missing", "empty", "broken", "cut off"],
)
async def test_a_snapshot_that_cannot_be_read_is_one_clear_line(
    tmp_path: Path, content: str | None, words: str
) -> None:
    path = tmp_path / "cluster.yaml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    app = VcdebugApp(Start(str(path), "cluster.yaml"))
    async with app.run_test(size=(80, 24)) as pilot:
        main = app.screen
        assert isinstance(main, MainScreen)
        while not main.failure:
            await pilot.pause()
        message = main.query_one(Status).message
        assert words in message
        assert message.startswith("✗ ")
        assert "Traceback" not in message
        assert "nothing to show" == main.query_one(Header).progress
        await pilot.press("s", "c", "b", "e", "colon")
        assert main.moment is None
        await pilot.press("escape", "q")
    assert 0 == app.return_value
