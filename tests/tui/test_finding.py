"""Finding things by name: completion of the command line, the palette, the help."""

from itertools import islice

import pytest
from textual.widgets import Input

from tests.builders import cluster, node
from tests.tui.driving import NARROW, Desk, opened, opened_again
from vcdebug.recording.replay import replay_cycle
from vcdebug.tui.completion import complete_line
from vcdebug.tui.palette import (
    MAX_HITS,
    HitList,
    PaletteEntry,
    PaletteScreen,
    _find_names,
    described_entries,
    find_entries,
    format_entry,
)
from vcdebug.tui.screens.pages import DetailScreen, PageScreen
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import Line

COMPLETED = {
    "ex": "explain",
    "break vi": "break victim",
    "break statement dis": "break statement discard",
    "break victim i": "break victim if",
    "break victim if plug": "break victim if plugin",
    "break victim if plugin ": "break victim if plugin ==",
    'break victim if plugin == "g': 'break victim if plugin == "gang"',
    'break victim if plugin=="g': 'break victim if plugin=="gang"',
    'break victim if action == "pr': 'break victim if action == "preempt"',
    'break victim if plugin == "gang" ': 'break victim if plugin == "gang" and',
    "panel eq": "panel equation",
    "theme li": "theme light",
    "explain chat": "explain assistants/chat-api",
    "about qu": "about queue",
    "about job chat": "about job assistants/chat-api",
    "open preempt-wo": "open preempt-works",
    "log ": "log 3",
}


async def test_a_line_is_completed() -> None:
    async with opened_again("preempt-works", NARROW) as desk:
        assert COMPLETED == {typed: complete_line(typed, desk.moment)[0] for typed in COMPLETED}


async def test_completion_of_a_condition_proposes_the_current_names() -> None:
    async with opened_again("preempt-works", NARROW, job="assistants/chat-api") as desk:
        assert 'break victim if job=="assistants/chat-api"' in complete_line("break victim if j", desk.moment)


def line(desk: Desk) -> str:
    return desk.main.query_one(Line).value


async def test_tab_completes_and_goes_on_to_the_next_completion() -> None:
    async with opened_again("preempt-works", NARROW) as desk:
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
    async with opened_again("preempt-works") as desk:
        await desk.press("ctrl+p")
        palette = desk.app.screen
        assert isinstance(palette, PaletteScreen)
        await desk.press(*"hypnod")
        assert ["HyperNodes"] == [hit.name for hit in palette.query_one(HitList).hits][:1]
        await desk.press("enter")
        await desk.until(lambda: desk.main.focused is desk.panel("hypernodes"), "the panel is there")


async def test_the_palette_shows_what_a_command_takes_brackets_and_all() -> None:
    usage = "break KIND [if CONDITION] [hits == N] [once] [log TEXT]"
    entry = PaletteEntry("command", usage, "Set [a] breakpoint", lambda: None, "b")
    content = format_entry(entry, ("brea", "cond"))
    assert f"{usage}   key b\ncommand: Set [a] breakpoint" == content.plain
    underlined = [content.plain[span.start : span.end] for span in content.spans if span.style == "underline"]
    assert ["brea", "brea", "COND"] == underlined
    async with opened_again("preempt-works") as desk:
        await desk.press("ctrl+p")
        palette = desk.app.screen
        assert isinstance(palette, PaletteScreen)
        await desk.press(*"break", "space", *"kind")
        await desk.until(lambda: usage in desk.screen(), "the command is found")


async def test_a_line_of_the_palette_that_is_too_long_ends_in_an_ellipsis() -> None:
    async with opened("preempt-works", size=(80, 24)) as desk:
        await desk.press("ctrl+p")
        await desk.until(lambda: "panel: Current event in detail" in desk.screen(), "the palette is drawn")
        (line,) = [line for line in desk.screen().splitlines() if "panel: Current event in detail" in line]
        assert line.rstrip().endswith("…")


FOUND = {
    "victim": ("panel", "Funnel", "V"),
    "score": ("panel", "Inside", "i"),
    "gang": ("plugin", "gang", ""),
    "breakpoint": ("panel", "Breaks", "8"),
    "compare": ("command", "diff [N [N]]", "X"),
    "why": ("command", "why [WHAT]", "="),
    "pending": ("command", "pending [CAUSE [KIND]]", ""),
    "evict": ("panel", "Evictions", "E"),
    "gpu-l40s-01": ("node", "gpu-l40s-01", ""),
    "chat-api-server-0": ("pod", "assistants/chat-api-server-0", ""),
    "inference": ("queue", "inference", ""),
    "idle": ("panel", "Nodes", "6"),
    "share": ("panel", "Queues", "7"),
    "deserved": ("panel", "Queues", "7"),
    "report": ("command", "report [FILE.md | FILE.html] [--force]", ""),
    "theme": ("command", "theme NAME", ""),
    "quit": ("command", "quit", "q"),
    "release": ("command", "release [VERSION]", ""),
    "next cycle": ("command", "next-cycle", "}"),
    "log": ("panel", "Log", "v"),
}
"""The first hit for twenty words that newcomers type, in preempt-works: (kind, name, key)."""


async def test_palette_finds_the_expected_entry_for_twenty_words() -> None:
    async with opened_again("preempt-works") as desk:
        described = list(described_entries(desk.main))
        first = {word: find_entries(desk.main, described, word.split())[:1] for word in FOUND}
        assert FOUND == {word: (hit.kind, hit.name, hit.key) for word, hits in first.items() for hit in hits}


@pytest.mark.parametrize("word", ["victim", "next cycle"])
async def test_the_palette_runs_what_it_shows_first(word: str) -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("ctrl+p")
        palette = desk.app.screen
        assert isinstance(palette, PaletteScreen)
        palette.query_one(Input).value = word
        await desk.until(lambda: FOUND[word][1] in desk.screen(), "the first hit is shown")
        assert f"key {FOUND[word][2]}" in desk.screen()
        await desk.press("enter")
        await desk.until_at_rest()
        if word == "victim":
            await desk.until(lambda: desk.main.focused is desk.panel("funnel"), "the panel is there")
        else:
            await desk.until(
                lambda: desk.moment.recordings is not None and desk.moment.recordings.cycle == 2, "cycle 2"
            )


async def test_the_palette_yields_the_best_hundred_and_keys_run_where_they_hold() -> None:
    async with opened_again("preempt-works") as desk:
        described = list(described_entries(desk.main))
        assert MAX_HITS == len(find_entries(desk.main, described, ["e"]))
        assert [] == find_entries(desk.main, described, [])
        [zoom] = [entry for entry in described if entry.kind == "key" and entry.name == "zoom"]
        desk.app.call_later(zoom.run_entry)
        await desk.until(lambda: desk.is_zoomed, "the panel is alone")
        await desk.press("escape")


async def test_a_node_of_the_palette_opens_its_page_and_a_pod_its_answer() -> None:
    async with opened_again("preempt-works") as desk:
        for word, title in (("gpu-l40s-01", "Node gpu-l40s-01"), ("chat-api-server-0", "Why assistants/chat-api")):
            find_entries(desk.main, (), [word])[0].run_entry()
            await desk.pause()
            page = desk.app.screen
            assert isinstance(page, DetailScreen)
            assert title in page.table.title
            await desk.close_everything()


async def test_a_command_of_the_palette_that_needs_words_opens_the_line() -> None:
    async with opened_again("preempt-works") as desk:
        next(entry for entry in described_entries(desk.main) if entry.name.startswith("goto")).run_entry()
        await desk.pause()
        assert "goto " == line(desk)
        await desk.type("44")
        assert 44 == desk.seq


async def test_the_help_is_searched_by_key_and_by_word() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("question_mark")
        page = desk.app.screen
        assert isinstance(page, DetailScreen)
        shown = page.query_one(Grid)
        for word, key in (("palette", "Ctrl+P"), ("^c ", "c F5"), ("last row", "End G"), ("~rdo", "")):
            shown.set_filter(word)
            assert key in [row.cells[0].text for row in shown.shown_rows] or not key, word
            assert 0 < len(shown.shown_rows) < len(page.table.rows), word


async def test_escape_takes_the_filter_of_a_page_then_its_order_then_the_page() -> None:
    async with opened_again("preempt-works") as desk:
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
    async with opened_again("preempt-works", panel="nodes", filter="0") as desk:
        grid = desk.panel("nodes")
        await desk.press("comma", "z")
        desk.main.show_message("something")
        steps = []
        for _ in range(4):
            await desk.press("escape")
            steps.append((desk.status(), not desk.is_zoomed, grid.filter_text, grid.shown.order is None))
        assert [("", False, "0", False), ("", True, "0", False), ("", True, "", False), ("", True, "", True)] == steps


async def test_ctrl_c_says_how_to_leave() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("ctrl+c")
        assert "q quits" == desk.status()


async def test_the_help_begins_with_the_keys_of_the_focused_panel() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("8", "question_mark")
        page = desk.app.screen
        assert isinstance(page, DetailScreen)
        assert "Breaks: Breakpoints with conditions" in page.table.rows[0].cells[1].text
        assert "(Breaks)" in page.table.rows[1].cells[1].text


@pytest.mark.parametrize(
    ("name", "title", "opens"),
    [
        ("jobs", "Jobs before the cycle 4", "Why "),
        ("po", "Pods before the cycle 11", "Why "),
        ("node", "Nodes before the cycle 5", "Node "),
        ("queues", "Queues before the cycle 2", "Queue "),
    ],
)
async def test_resource_views_show_their_count_and_open_what_the_cursor_is_on(
    name: str, title: str, opens: str
) -> None:
    async with opened_again("preempt-works") as desk:
        await desk.command(name)
        page = desk.app.screen
        assert isinstance(page, PageScreen)
        assert title == page.table.title
        if name == "po":
            keys = [row.key for row in page.table.rows]
            assert sorted(keys) == keys
        await desk.press("enter")
        await desk.pause()
        detail = desk.app.screen
        assert isinstance(detail, DetailScreen)
        assert opens in detail.table.title


async def test_the_units_of_metrics_are_in_sight_on_a_small_screen() -> None:
    async with opened_again("preempt-works", NARROW) as desk:
        await desk.command("metrics")
        assert "memory in bytes, pods counted, the rest in thousandths" in desk.screen()


MEANT = {
    "expalin": "no command 'expalin'; did you mean explain?",
    "break victm": "no kind of breakpoint 'victm'; did you mean victim?",
    "open preempt-work": "preempt-work: no such file or folder; did you mean preempt-works?",
}


async def test_a_misspelt_word_gets_the_one_that_was_meant() -> None:
    async with opened_again("preempt-works") as desk:
        for typed, said in list(MEANT.items())[:2]:
            await desk.command(typed)
            assert said in desk.status()
        await desk.command("node gpu-l40s-1")
        assert "gpu-l40s-01" in desk.status()


async def test_find_lists_all_cycles_and_enter_leads_into_another_one() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.work("next-cycle")
        await desk.command("find action start")
        page = desk.app.screen
        assert isinstance(page, PageScreen)
        places = [row.cells[0].text for row in page.table.rows]
        assert ["1", "2"] == list(dict.fromkeys(place.split(":")[0] for place in places))
        assert "in 2 cycles: 8 events" in page.table.title
        assert 1 == desk.screen().count("Enter ")
        await desk.press("home", "enter")
        assert places[0] == f"{desk.moment.recordings.cycle}:{desk.seq}"  # type: ignore[union-attr]


def test_a_letter_that_many_names_have_reads_few_of_them() -> None:
    recording = replay_cycle(cluster(*(node(f"node-{number}") for number in range(2_000))))
    read = list(islice(_find_names(recording, "node", ["node-1", "9"], "node-1"), 5))
    assert ["node-1009", "node-1019", "node-1029", "node-1039", "node-1049"] == read
    assert ["node-1999"] == list(_find_names(recording, "node", ["node-1999"], "\nnode-1999"))
    assert [] == list(_find_names(recording, "node", ["ode-1"], "/ode-1"))
