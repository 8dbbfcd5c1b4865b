"""Finding things by name: completion of the command line, the palette, the help."""

from textual.command import CommandPalette
from textual.fuzzy import Matcher

from tests.tui.driving import NARROW, Desk, opened
from vcdebug.tui.completion import complete_line, highlight_matches, palette_entries
from vcdebug.tui.screens.pages import DetailScreen
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import Line

COMPLETED = {
    "ex": "explain",
    "break vi": "break victim",
    "break statement dis": "break statement discard",
    "break victim i": "break victim if",
    "break victim if plug": "break victim if plugin",
    "panel eq": "panel equation",
    "theme li": "theme light",
    "explain chat": "explain assistants/chat-api",
    "about qu": "about queue",
    "about job chat": "about job assistants/chat-api",
    "open preempt-wo": "open preempt-works",
    "log ": "log 3",
}


async def test_a_line_is_completed() -> None:
    async with opened("preempt-works", NARROW) as desk:
        assert COMPLETED == {typed: complete_line(typed, desk.moment)[0] for typed in COMPLETED}


async def test_a_condition_begins_with_what_one_sees() -> None:
    async with opened("preempt-works", NARROW, job="assistants/chat-api") as desk:
        assert 'break victim if job=="assistants/chat-api"' in complete_line("break victim if j", desk.moment)


def test_without_a_recording_there_are_still_verbs() -> None:
    assert ["goto"] == complete_line("got", None)


def line(desk: Desk) -> str:
    return desk.main.query_one(Line).value


async def test_tab_completes_and_goes_on_to_the_next_completion() -> None:
    async with opened("preempt-works", NARROW) as desk:
        await desk.press("colon", "p", "a", "n", "e", "l", "space", "e", "tab")
        assert "panel equation" == line(desk)
        assert "[equation]" in desk.screen()
        await desk.press("tab")
        assert "panel effects" == line(desk)
        await desk.press("shift+tab")
        assert "panel equation" == line(desk)
        await desk.press("enter")
        assert desk.main.focused is desk.panel("equation")


async def test_the_palette_finds_panels_commands_and_jobs_by_some_of_their_letters() -> None:
    async with opened("preempt-works") as desk:
        names = [entry.name for entry in palette_entries(desk.main)]
        assert {"panel Queues", "theme light", "explain assistants/chat-api", "last"} <= set(names)
        await desk.press("ctrl+p")
        palette = desk.app.screen
        assert isinstance(palette, CommandPalette)
        await desk.press(*"pnlqueu")
        await desk.until(lambda: bool(palette._list_visible) and palette._hit_count > 0, "something is found")
        await desk.press("enter")
        await desk.until(lambda: desk.main.focused is desk.panel("queues"), "the panel is there")


async def test_the_palette_shows_what_a_command_takes_brackets_and_all() -> None:
    usage = "break KIND [if CONDITION] [hits == N] [once] [log TEXT]"
    assert usage == highlight_matches(Matcher("brk"), usage).plain
    async with opened("preempt-works") as desk:
        await desk.press("ctrl+p")
        palette = desk.app.screen
        assert isinstance(palette, CommandPalette)
        await desk.press(*"breakkind")
        await desk.until(lambda: usage in desk.screen(), "the command is found")


async def test_a_command_of_the_palette_that_needs_words_opens_the_line() -> None:
    async with opened("preempt-works") as desk:
        next(entry for entry in palette_entries(desk.main) if entry.name.startswith("goto")).run()
        await desk.pause()
        assert "goto " == line(desk)
        await desk.type("44")
        assert 44 == desk.seq


async def test_the_help_is_searched_by_key_and_by_word() -> None:
    async with opened("preempt-works") as desk:
        await desk.press("question_mark")
        page = desk.app.screen
        assert isinstance(page, DetailScreen)
        shown = page.query_one(Grid)
        for word, key in (("palette", "Ctrl+P"), ("^c ", "c F5"), ("last row", "End G"), ("~rdo", "")):
            shown.set_filter(word)
            assert key in [row.cells[0].text for row in shown.shown_rows] or not key, word
            assert 0 < len(shown.shown_rows) < len(page.table.rows), word


async def test_escape_takes_the_filter_of_a_page_then_its_order_then_the_page() -> None:
    async with opened("preempt-works") as desk:
        await desk.press("question_mark", "slash", "G", "o", "enter")
        page = desk.app.screen
        assert isinstance(page, DetailScreen)
        grid = page.query_one(Grid)
        await desk.press("comma")
        assert ("Go", True) == (grid.filter_text, grid.shown.order is not None)
        await desk.press("escape")
        assert ("", True) == (grid.filter_text, grid.shown.order is not None)
        await desk.press("escape")
        assert (page, None) == (desk.app.screen, grid.shown.order)
        await desk.press("escape")
        assert desk.app.screen is desk.main


async def test_escape_on_the_main_screen_takes_message_zoom_filter_and_order_one_by_one() -> None:
    async with opened("preempt-works", panel="nodes", filter="0") as desk:
        grid = desk.panel("nodes")
        await desk.press("comma", "z")
        desk.main.say_line("something")
        steps = []
        for _ in range(4):
            await desk.press("escape")
            steps.append((desk.status(), desk.main.maximized is None, grid.filter_text, grid.shown.order is None))
        assert [("", False, "0", False), ("", True, "0", False), ("", True, "", False), ("", True, "", True)] == steps


async def test_ctrl_c_says_how_to_leave() -> None:
    async with opened("preempt-works") as desk:
        await desk.press("ctrl+c")
        assert "q quits" == desk.status()
