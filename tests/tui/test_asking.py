"""Questions from the screen: about what the cursor is on, and changes that are carried out before they are shown."""

from textual import events

from tests.tui.driving import opened
from vcdebug.tui.screens.detail import DetailScreen
from vcdebug.tui.screens.page import PageScreen
from vcdebug.views.base import plain


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
        assert "preempt" in plain(screen.table)
        await desk.press("enter")
        assert desk.seq > 1
        await desk.command("ask nothing of this")
        assert "no question 'nothing'" in desk.status()


async def test_a_key_proves_what_lets_the_job_in_and_enter_makes_the_change() -> None:
    async with opened() as desk:
        await desk.press("5", "down", "exclamation_mark")
        await desk.until_at_rest()
        await desk.until(lambda: isinstance(desk.app.screen, PageScreen), "the remedies are there")
        screen = desk.app.screen
        assert isinstance(screen, PageScreen)
        assert "What lets research/llm-finetune in" == screen.table.title
        assert screen.table.rows[0].cells[2].text.startswith("✓ places 2 pods")
        await desk.press("enter")
        await desk.until_at_rest()
        await desk.pause()
        open_ = desk.moment.recordings
        assert open_ is not None
        assert open_.edits


async def test_esc_stops_the_search_and_nothing_has_changed() -> None:
    async with opened() as desk:
        await desk.press("5", "down")
        for key in ("exclamation_mark", "escape"):
            desk.app.post_message(events.Key(key, None))
        await desk.pause()
        assert "stopped: trying what lets research/llm-finetune in" in desk.status()
        assert not desk.main.work.about
        await desk.pause()
        assert not isinstance(desk.app.screen, PageScreen)
