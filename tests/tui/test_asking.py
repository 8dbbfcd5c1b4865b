"""Questions asked from the screen about the cursor's object, and fixes that are tested before they are shown."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from threading import Event
from unittest.mock import patch

import pytest

from tests.tui.driving import NARROW, Desk, opened
from tests.tui.settling import working
from vcdebug.explain.answer import Explanation
from vcdebug.recording.recording import Recording
from vcdebug.tui.screens.pages import DetailScreen, PageScreen
from vcdebug.tui.widgets.grid import Grid
from vcdebug.views.table import format_table
from vcdebug.whatif.fixes.trial import EditTexts, FixTrials, TrialOutcome


async def test_one_key_lists_the_questions_about_the_row_and_enter_asks() -> None:
    async with opened("preempt-works") as desk:
        await desk.press("5", "home", "I")
        screen = desk.app.screen
        assert isinstance(screen, PageScreen)
        commands = [row.key for row in screen.table.rows]
        assert "explain assistants/chat-api" in commands
        assert "prove assistants/chat-api" in commands
        assert "ask holders assistants/chat-api" in commands
        await desk.press(*["down"] * commands.index("ask holders assistants/chat-api"), "enter")
        await desk.until_at_rest()
        await desk.until(lambda: isinstance(desk.app.screen, DetailScreen), "the answer is there")
        await desk.close_everything()
        await desk.work("ask evicted search/embedding-backfill-worker-2")
        screen = desk.app.screen
        assert isinstance(screen, DetailScreen)
        assert "preempt" in format_table(screen.table)
        await desk.press("enter")
        assert desk.seq > 1
        await desk.command("ask nothing of this")
        assert "unknown question 'nothing'" in desk.status()


async def test_key_searches_tested_fixes_and_enter_applies_one() -> None:
    async with opened() as desk:
        await desk.press("5", "down", "exclamation_mark")
        await desk.until_at_rest()
        await desk.until(lambda: isinstance(desk.app.screen, PageScreen), "the remedies are there")
        screen = desk.app.screen
        assert isinstance(screen, PageScreen)
        assert "Fixes for research/llm-finetune" == screen.table.title
        assert screen.table.rows[0].cells[2].text.startswith("✓ places 2 pods")
        await desk.press("enter")
        await desk.until_at_rest()
        await desk.pause()
        open_ = desk.moment.recordings
        assert open_ is not None
        assert open_.edits


OF_RECORDING = FixTrials.of_recording


class Held:
    """Replaces fix trials by ones that wait for an event before each cycle; counts the started trials."""

    def __init__(self) -> None:
        self.go = Event()
        self.begun = 0

    def of(self, recording: Recording, explanation: Explanation) -> Callable[[EditTexts], TrialOutcome | None]:
        trials = OF_RECORDING(recording, explanation)

        def tried(edits: EditTexts) -> TrialOutcome | None:
            self.begun += 1
            assert self.go.wait(30)
            return trials(edits)

        return tried


@pytest.fixture
def held() -> Iterator[Held]:
    one = Held()
    with patch.object(FixTrials, "of_recording", one.of):
        yield one
        one.go.set()


async def searching(desk: Desk, held: Held) -> None:
    """Ask about the cursor's job, and wait until the search is inside a trial."""
    begun = held.begun
    await desk.press("exclamation_mark")
    await desk.until(lambda: held.begun > begun, "the first trial is begun")


async def test_esc_stops_the_search_and_nothing_has_changed(held: Held) -> None:
    async with opened() as desk:
        await desk.press("5", "down")
        await searching(desk, held)
        assert "testing fixes for research/llm-finetune" in desk.screen()
        await desk.press("escape")
        assert "stopped: testing fixes for research/llm-finetune; no changes" in desk.status()
        assert not desk.main.work.work_description
        held.go.set()
        await desk.until(lambda: not working(desk.app), "the thread has ended")
        assert 1 == held.begun
        assert not isinstance(desk.app.screen, PageScreen)


async def test_a_search_that_was_stopped_stays_so_when_it_is_asked_for_again(held: Held) -> None:
    async with opened() as desk:
        await desk.press("5", "down")
        await searching(desk, held)
        await desk.press("escape")
        await searching(desk, held)
        held.go.set()
        await desk.until(lambda: isinstance(desk.app.screen, PageScreen), "the remedies are there")
        await desk.until(lambda: not working(desk.app), "both threads have ended")
        twice, screen = held.begun, desk.app.screen
        await desk.press("escape")
        assert not isinstance(desk.app.screen, PageScreen)
        held.begun = 0
        await desk.press("exclamation_mark")
        await desk.until(lambda: isinstance(desk.app.screen, PageScreen), "the remedies are there again")
        assert screen is not desk.app.screen
        assert twice == 1 + held.begun


async def test_a_job_asks_about_its_own_queue_and_the_whole_question_can_be_read_on_a_narrow_screen() -> None:
    async with opened(size=NARROW) as desk:
        await desk.until_at_rest()
        await desk.press("I")
        await desk.until_at_rest()
        assert isinstance(desk.app.screen, PageScreen)
        assert "ask next research" in [row.key for row in desk.app.screen.table.rows]
        assert "Why is it Pending, or how was it scheduled?" in desk.screen()


async def test_a_node_answers_first_why_it_rejects_the_pod() -> None:
    async with opened(size=NARROW) as desk:
        await desk.until_at_rest()
        await desk.press("6", "down", "down", "I")
        await desk.until_at_rest()
        assert "Why does gpu-a100-01 reject this pod?" in desk.screen()
        await desk.press("enter")
        await desk.until(lambda: isinstance(desk.app.screen, DetailScreen), "the answer is there")
        assert "gpu-a100-01 (and 5 more nodes): Insufficient nvidia.com/gpu" in desk.screen()
        row, rest = next(two for two in pairwise(desk.screen().splitlines()) if "✗  nvidia.com/gpu" in two[0])
        assert row.index("idle 2") == rest.index("InitResreq")


async def test_a_node_says_first_why_a_placed_pod_is_on_another_one() -> None:
    async with opened("placed-by-score") as desk:
        await desk.command("goto 27")
        await desk.press("6", "down", "I")
        await desk.until_at_rest()
        screen = desk.app.screen
        assert isinstance(screen, PageScreen)
        name = screen.table.rows[0].key.rpartition(" ")[2]
        assert f"ask node shop/web-0 {name}" == screen.table.rows[0].key
        assert f"Why is this pod not on {name}?" in desk.screen()


async def test_a_table_without_events_fits_a_narrow_screen() -> None:
    async with opened(size=NARROW) as desk:
        await desk.command("ask holders node/gpu-a100-01")
        await desk.until(lambda: isinstance(desk.app.screen, DetailScreen), "the answer is there")
        lines = desk.screen().splitlines()
        head = next(line for line in lines if "priority" in line)
        row = next(line for line in lines if "bert-pretrain-worker-0" in line)
        assert head.index("priority") + len("priority") == row.index("1000") + len("1000")
        await desk.until(lambda: "4 more columns →" in desk.screen(), "the frame says what is out of sight")
        await desk.press(*["right"] * 7)
        await desk.until(lambda: "← " in desk.screen() and "status" in desk.screen(), "the last column is there")


async def test_a_page_whose_text_wraps_is_as_high_as_its_lines() -> None:
    async with opened(size=NARROW) as desk:
        await desk.until_at_rest()
        await desk.press("7", "equals_sign")
        await desk.until(lambda: isinstance(desk.app.screen, DetailScreen), "the page is there")
        assert "Fields of the snapshot end the tree." in desk.screen()
        grid = desk.app.screen.query_one(Grid)
        assert grid.size.height == grid.virtual_size.height
