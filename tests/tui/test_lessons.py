"""`:lesson`: a step above the screen, the reply, its proof, the next step, and saved progress."""

from pathlib import Path

from tests.tui.driving import NARROW, Desk, opened
from vcdebug.debugger.lesson import find_lesson, find_place
from vcdebug.tui.screens.dialogs import LessonScreen
from vcdebug.tui.session_state import SessionStore

LESSON = find_lesson("preempt-works")


def step_of(desk: Desk) -> int:
    assert isinstance(desk.app.screen, LessonScreen)
    return desk.app.screen.number


async def test_a_step_shows_the_event_the_question_and_after_a_reply_the_proof() -> None:
    async with opened("preempt-works", size=NARROW) as desk:
        await desk.command("lesson preempt-works")
        assert 1 == step_of(desk)
        assert find_place(LESSON.steps[0], desk.moment.recording) == desk.seq
        assert "c) 5" in desk.screen()
        await desk.press("a", "enter")
        assert "✓ Right: 0." in desk.screen()
        await desk.press("enter")
        assert 2 == step_of(desk)
        await desk.press("b", "enter")
        assert "✗ Not right. The recording says: assistants/chat-api." in desk.screen()


async def test_progress_is_kept_and_the_lesson_continues(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    async with opened("preempt-works", store=store) as desk:
        await desk.command("lesson preempt-works")
        await desk.press("a", "enter", "enter", "escape")
        assert {"preempt-works": 1} == store.answered_steps()
        await desk.command("lesson")
        assert 2 == step_of(desk)


async def test_the_lesson_of_another_snapshot_opens_that_snapshot() -> None:
    async with opened("preempt-never") as desk:
        await desk.command("lesson")
        assert "preempt-works" in desk.screen()
        await desk.press("escape")
        await desk.command("lesson preempt-works")
        await desk.until(lambda: isinstance(desk.app.screen, LessonScreen), "the lesson opens")
        assert "preempt-works" == desk.moment.recording.snapshot.name


async def test_an_unknown_lesson_is_a_message() -> None:
    async with opened("preempt-works") as desk:
        await desk.command("lesson nothing")
        assert "no lesson 'nothing'" in desk.status()


async def test_a_step_of_a_later_cycle_runs_the_cycles_up_to_it() -> None:
    async with opened("persist-in-turns") as desk:
        await desk.command("lesson persistence-over-cycles")
        for reply in ("b", "b", "b"):
            await desk.press(reply, "enter", "enter")
        assert 4 == step_of(desk)
        recordings = desk.moment.recordings
        assert recordings is not None
        assert (2, 2) == (recordings.cycle, recordings.cycle_count)
        await desk.press("b", "enter")
        assert "✓ Right: 1." in desk.screen()
        assert "cycle 2, event " in desk.screen()


async def test_a_lesson_that_begins_in_an_earlier_cycle_goes_back_to_it() -> None:
    async with opened("persist-in-turns") as desk:
        await desk.command("advance 2")
        await desk.until(lambda: "cycle 3" in desk.screen(), "cycle 3 is shown")
        await desk.command("lesson persistence-over-cycles")
        recordings = desk.moment.recordings
        assert recordings is not None
        assert (1, 3) == (recordings.cycle, recordings.cycle_count)


async def test_the_first_step_tells_the_story_and_the_last_one_names_the_next_lesson(tmp_path: Path) -> None:
    store = SessionStore(tmp_path)
    store.save_answered("reclaim-across-queues", 7)
    async with opened("reclaim-across-queues", store=store) as desk:
        await desk.command("lesson reclaim-across-queues")
        assert "To see the figure: Esc, 7, then :lesson." in desk.screen()
        await desk.press("c", "enter")
        assert "Enter ends the lesson" in desk.screen()
        await desk.press("enter")
        assert "is done; :lesson resources opens the next one" in desk.status()
        await desk.command("lesson reclaim-across-queues")
        assert desk.moment.recording.snapshot.description[:40] in desk.screen()


async def test_a_figure_without_a_panel_is_watched_and_an_empty_reply_is_asked_for_again() -> None:
    async with opened("preempt-works", size=NARROW) as desk:
        await desk.command("lesson resources")
        await desk.press("enter")
        assert "type an answer first" in desk.screen()
        for _ in range(2):
            await desk.press("a", "enter", "enter")
        assert "To see the figure: Esc, :watch plugin overcommit idle cpu, then :lesson." in desk.screen()
        await desk.press("escape")
        await desk.command("watch plugin overcommit idle cpu")
        assert "456" in desk.screen()
