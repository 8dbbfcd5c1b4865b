"""Every key of the footer and the help is bound and does what its label says."""

import importlib
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Input

from tests.tui.driving import NARROW, WIDE, Desk, opened, opened_again
from vcdebug.framework.registry import resolve_reference
from vcdebug.tui import screens
from vcdebug.tui.key_names import key_name
from vcdebug.tui.keymap import (
    FIXED_HINTS,
    FOOTER_HINTS,
    MAIN_KEYS,
    OVERLAY_SCREENS,
    STEP_HINTS,
    bindings_by_id,
    key_scopes,
)
from vcdebug.tui.main.screen import KEY_ACTIONS, MainScreen
from vcdebug.tui.palette import PaletteScreen
from vcdebug.tui.panels import find_extra
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.screens.chooser import ChooserScreen
from vcdebug.tui.screens.dialogs import BreakpointScreen, CopyScreen
from vcdebug.tui.screens.pages import DetailScreen, PageScreen, help_table
from vcdebug.tui.widgets.bars import Status
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import Prompt
from vcdebug.views.panels import PANELS

BINDINGS = [binding for binding in MAIN_KEYS if isinstance(binding, Binding)]
BOUND = {key.strip(): binding for binding in BINDINGS for key in binding.key.split(",")}

START = 60


def moved(desk: Desk) -> bool:
    return desk.seq != START


def prompt_open(desk: Desk) -> bool:
    return desk.main.query_one(Prompt).is_open


def page_open(desk: Desk) -> bool:
    return isinstance(desk.app.screen, DetailScreen)


EFFECTS: dict[str, Callable[[Desk], bool]] = {
    "step": moved,
    "breakpoint": lambda desk: isinstance(desk.app.screen, BreakpointScreen),
    "help": page_open,
    "command": prompt_open,
    "filter": prompt_open,
    "goto": prompt_open,
    "explain": page_open,
    "ask": lambda desk: isinstance(desk.app.screen, PageScreen),
    "prove": lambda desk: bool(desk.main.work.work_description or desk.status()),
    "panels": lambda desk: isinstance(desk.app.screen, PageScreen),
    "last_position": moved,
    "run_to_cursor": moved,
    "about": moved,
    **dict.fromkeys(("app.focus_next", "app.focus_previous"), lambda desk: desk.main.focused is not desk.panel("flow")),
    "panel": lambda desk: desk.main.focused is not desk.panel("queues"),
    "zoom": lambda desk: desk.is_zoomed,
    "copy": lambda desk: isinstance(desk.app.screen, CopyScreen),
    "copy_panel": lambda desk: "copied the panel" in desk.status(),
    "down": moved,
    "app.palette": lambda desk: isinstance(desk.app.screen, PaletteScreen),
    "open": lambda desk: isinstance(desk.app.screen, ChooserScreen),
    "back": lambda desk: desk.status() == "",
    "last_change": lambda desk: desk.status() != "",
    "why": lambda desk: isinstance(desk.app.screen, DetailScreen),
    "watch": lambda desk: desk.status() != "",
    "break_on_figure": lambda desk: desk.status() != "",
    "bookmark": lambda desk: "bookmark" in desk.status(),
    "what_if": prompt_open,
    "edit": lambda desk: desk.status() != "",
    "quit": lambda desk: not desk.app.is_running or desk.app.return_code is not None,
}


async def prepare(desk: Desk, action: str) -> None:
    """Go to a position at which the key has an effect."""
    await desk.until_at_rest()
    assert desk.moment.recordings is not None
    if desk.moment.recordings.cycle != 1:
        await desk.command("cycle 1")
    if action == "last_position":
        await desk.command("goto 1")
    if desk.seq != START:
        await desk.command(f"goto {START}")
    if action == "step" and not desk.moment.breakpoints:
        await desk.command("break action")
    assert START == desk.seq
    if action == "run_to_cursor":
        await desk.press("end")
    if action == "panel":
        await desk.press("7")
    if action == "back":
        desk.main.show_message("something to say")


LEAVING = ("open", "quit")


def action_of(binding: Binding) -> str:
    name, _, argument = binding.action.partition("(")
    return argument.strip("')") if name == "run" else name


async def test_each_key_does_something() -> None:
    async with opened("preempt-works") as desk:
        for key, binding in BOUND.items():
            action = action_of(binding)
            if action not in LEAVING:
                await prepare(desk, action)
                await desk.press("8" if key == "7" else key)
                assert EFFECTS[action](desk), f"{key} has no effect"
                await desk.close_everything()


@pytest.mark.parametrize("key", [key for key, binding in BOUND.items() if action_of(binding) in LEAVING])
async def test_each_key_that_closes_or_quits_does_so(key: str) -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press(key)
        assert EFFECTS[action_of(BOUND[key])](desk)


def test_no_key_of_the_main_screen_has_two_meanings() -> None:
    keys = [key.strip() for binding in BINDINGS for key in binding.key.split(",")]
    assert [] == [key for key in BOUND if keys.count(key) > 1], "docs/keys.md lists the keys in use"


def test_each_key_names_an_action_that_exists() -> None:
    actions = [binding.action.partition("(")[0] for binding in BINDINGS]
    own = [action for action in actions if not action.startswith("app.")]
    assert [] == [action for action in own if not hasattr(MainScreen, f"action_{action}")]
    run = [action_of(binding) for binding in BINDINGS if binding.action.startswith("run(")]
    assert [*KEY_ACTIONS] == sorted(run, key=[*KEY_ACTIONS].index)


def test_the_footer_names_only_bindings_that_there_are() -> None:
    known = bindings_by_id()
    named = [name for hint in (*STEP_HINTS, *FOOTER_HINTS, *FIXED_HINTS) for name in hint.ids]
    named += [name for panel in PANELS for name, _ in find_extra(panel).FOOTER]
    assert [] == [name for name in named if name not in known]


def test_the_help_lists_every_key() -> None:
    shown = [row.cells[0].text for row in help_table({}).rows]
    listed = {name for text in shown for name in text.split()}
    every = [key for scope in key_scopes() for key, _ in keys(scope.bindings)]
    assert [] == [key for key in every if key_name(key) and key_name(key) not in listed]


def test_each_binding_has_an_id_of_its_own() -> None:
    everything = [(scope.name, binding) for scope in key_scopes() for binding in scope.bindings]
    assert [] == [(name, binding.key) for name, binding in everything if not binding.id]
    others = {binding.id: binding for _, binding in everything}
    assert [] == [binding.id for _, binding in everything if others[binding.id] != binding]


def test_no_key_that_terminals_and_multiplexers_keep_is_the_only_one() -> None:
    kept = {"ctrl+a", "ctrl+b", "ctrl+s", "ctrl+q", "ctrl+z"}
    assert [] == [name for name, binding in bindings_by_id().items() if set(binding.key.split(",")) <= kept]


def test_each_screen_with_keys_of_its_own_is_in_the_help() -> None:
    listed = [resolve_reference(f"vcdebug.tui.screens.{screen}") for _, screen in OVERLAY_SCREENS]
    folder = Path(screens.__file__).parent
    found = [
        kind
        for path in sorted(folder.glob("[a-z]*.py"))
        for kind in vars(importlib.import_module(f"vcdebug.tui.screens.{path.stem}")).values()
        if isinstance(kind, type) and issubclass(kind, Screen) and kind.__dict__.get("BINDINGS")
    ]
    assert [] == [kind.__name__ for kind in found if kind not in (*listed, MainScreen) and own(kind)]


def own(kind: type) -> bool:
    return kind.__module__.startswith("vcdebug.")


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "120x40"])
async def test_the_footer_shows_keys_of_the_focused_panel_and_only_such_as_work_there(size: tuple[int, int]) -> None:
    async with opened_again("preempt-works", size) as desk:
        for panel in PANELS:
            await desk.press(panel.key)
            assert desk.main.focused is desk.panel(panel.command_name)
            status = desk.main.query_one(Status)
            active = {key_name(key) for key in desk.main.active_bindings}
            shown = [name for entry in (*status.keys, *status.always) for name in entry.key.split("/") if name]
            assert [] == [name for name in shown if name not in active and not set(name) <= active]
            words = [entry.effect for entry in status.keys]
            steps, own = len(STEP_HINTS), find_extra(panel).FOOTER
            # Keys of rows are named only where there are rows.
            expected = [does for _, does in own] if desk.panel(panel.command_name).shown_rows else []
            assert expected == words[steps : steps + len(expected)]
            line = desk.screen().splitlines()[-1]
            for hint in ("n/N over", "s/S into", "f/F out", "c/C cont", "b break", "? help"):
                assert hint in line


@pytest.mark.parametrize(("size", "hints"), [(NARROW, "e explain  : command"), (WIDE, "q quit  / filter")])
async def test_the_footer_of_the_first_panel_names_the_keys_that_every_session_needs(
    size: tuple[int, int], hints: str
) -> None:
    async with opened_again("preempt-works", size) as desk:
        await desk.command("goto 50")
        assert hints in desk.screen().splitlines()[-1]


async def test_while_the_replay_runs_the_footer_names_only_what_works_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vcdebug.tui.worker.load_and_replay", lambda *_: None)
    async with opened("preempt-works", NARROW, wait=False) as desk:
        await desk.pause()
        status = desk.main.query_one(Status)
        await desk.until(lambda: bool(status.keys), "the footer is there")
        words = [entry.effect for entry in (*status.keys, *status.always)]
        assert ["quit", "open"] == words


def seen(desk: Desk) -> tuple[object, ...]:
    """Every part of the screen's state that a key can change."""
    grid = desk.main.focused_grid
    screens = [type(screen).__name__ for screen in desk.app.screen_stack]
    return desk.seq, screens, desk.screen(), desk.status(), grid.cursor, grid.cursor_column, grid.shown.order


def keys(bindings: Iterable[BindingType]) -> list[tuple[str, str]]:
    """(key, binding id) of every key."""
    found = [binding for binding in bindings if isinstance(binding, Binding)]
    return [(key.strip(), binding.id or "") for binding in found for key in binding.key.split(",")]


async def test_each_key_of_a_table_does_something() -> None:
    async with opened_again("preempt-works", panel="nodes") as desk:
        grid = desk.panel("nodes")
        for key, name in keys(Grid.BINDINGS):
            grid.set_order(None)
            grid.cursor, grid.cursor_column = 2, 1
            desk.main.set_focus(grid)
            before = seen(desk)
            await desk.press(key)
            assert before != seen(desk), f"{key} ({name}) has no effect"
            await desk.close_everything()


async def focus_panel_row(desk: Desk, panel: Panel, event: int) -> None:
    """Focus the panel, with its cursor on a row of another event if there is one, and an empty status line."""
    await desk.close_everything()
    if event != desk.seq:
        await desk.command(f"goto {event}")
    enabled = [stand for stand in desk.moment.breakpoints if stand.enabled]
    if len(enabled) < 2 or not desk.moment.watches or not desk.moment.bookmarks:
        await desk.command("delete all", "break victim", "break tie", "watch seq > 10", "bookmark here")
    if desk.main.focused is not panel:
        await desk.press(panel.key_in_force)
    rows = [row.seq for row in panel.shown_rows]
    panel.cursor = next((at for at, seq in enumerate(rows) if seq not in (0, event)), 0)
    desk.main.show_message("")
    await desk.pause()


async def test_each_key_of_a_panel_does_something() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.command("break victim")
        await desk.press("c")
        event = desk.seq
        for kind in PANELS:
            panel = desk.panel(kind.command_name)
            for key, name in keys(find_extra(kind).KEYS):
                await focus_panel_row(desk, panel, event)
                if name in ("flow.open", "flow.close", "flow.toggle"):
                    texts = [row.cells[0].text for row in panel.shown_rows]
                    panel.cursor = next(at for at, text in enumerate(texts) if "▾" in text or "▸" in text)
                    is_open = "▾" in texts[panel.cursor]
                    if name != "flow.toggle" and is_open == (name == "flow.open"):
                        await desk.press("left" if is_open else "right")
                before = seen(desk)
                await desk.press(key)
                rows = [row.seq for row in panel.shown_rows]
                leads = name not in ("panel.go", "bookmarks.go") or any(seq not in (0, event) for seq in rows)
                assert before != seen(desk) or not leads, f"{key} ({name}) has no effect in {kind.title}"


@pytest.mark.parametrize(
    ("sent", "action"),
    [
        ("\x1b[15~", "step('continue')"),
        ("\x1b[15;2~", "step('continue', True)"),
        ("\x1b[20~", "run('breakpoint')"),
        ("\x1b[21~", "step('over')"),
        ("\x1b[21;2~", "step('over', True)"),
        ("\x1b[23~", "step('inside')"),
        ("\x1b[23;2~", "step('out')"),
        ("\x1b[23;5~", "step('inside', True)"),
        ("\x1b[23;6~", "step('out', True)"),
        ("\x1bOP", "help"),
    ],
)
def test_key_codes_of_function_keys_are_bound(sent: str, action: str) -> None:
    keys = ANSI_SEQUENCES_KEYS[sent]
    assert isinstance(keys, tuple)
    assert action == BOUND[keys[0].value].action


async def test_a_capital_takes_the_step_back() -> None:
    async with opened_again("preempt-works") as desk:
        for forward, backward in (("n", "N"), ("s", "S"), ("f10", "f22"), ("f11", "ctrl+f11")):
            await desk.command(f"goto {START}")
            await desk.press(forward)
            assert START < desk.seq
            await desk.press(backward)
            assert START == desk.seq


async def test_u_goes_up_the_hook_stack_and_d_back_down() -> None:
    async with opened_again("preempt-works", job="assistants/chat-api") as desk:
        await desk.command("break victim")
        await desk.press("c")
        at = [desk.seq]
        for _ in range(3):
            await desk.press("u")
            at.append(desk.seq)
        assert sorted(at, reverse=True) == at
        assert len(set(at)) == len(at)
        for seq in reversed(at[:-1]):
            await desk.press("d")
            assert seq == desk.seq
        await desk.press("d")
        assert at[0] + 1 == desk.seq


async def test_tab_walks_over_all_visible_panels_and_comes_back() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("n")
        seen = []
        for _ in range(5):
            assert desk.main.focused is not None
            seen.append(desk.main.focused.id)
            await desk.press("tab")
        assert ["moment", "equation", "statement", "jobs", "flow"] == seen
        assert desk.main.focused is desk.panel("moment")


async def test_each_digit_brings_its_panel_on_a_narrow_screen() -> None:
    async with opened_again("preempt-works", NARROW) as desk:
        for key in (panel.key for panel in PANELS):
            await desk.press(key)
            focused = desk.main.focused
            assert isinstance(focused, Panel)
            assert key == focused.shows.key
            assert focused.size.height >= min(3, focused.virtual_size.height)


async def test_a_filter_keeps_matching_rows_and_escape_brings_all_back() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("6")
        everything = len(desk.panel("nodes").shown_rows)
        await desk.press("slash")
        await desk.press("0", "1")
        await desk.pause()
        assert 0 < len(desk.panel("nodes").shown_rows) < everything
        await desk.press("enter")
        assert 0 < len(desk.panel("nodes").shown_rows) < everything
        assert desk.main.focused is desk.panel("nodes")
        await desk.press("escape", "escape")
        assert everything == len(desk.panel("nodes").shown_rows)


async def test_an_exclamation_mark_turns_a_filter_round() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("6")
        everything = len(desk.panel("nodes").shown_rows)
        kept = desk.panel("nodes").set_filter("01")
        assert everything == kept + desk.panel("nodes").set_filter("!01")


async def test_the_command_line_remembers_what_was_typed() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.type(":goto 10")
        await desk.type(":goto 20")
        await desk.press("colon", "up", "up", "enter")
        assert 10 == desk.seq


async def test_a_command_is_typed_letter_by_letter() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("colon")
        await desk.type("goto 42")
        assert 42 == desk.seq


async def test_a_breakpoint_from_the_dialog_has_the_condition_that_was_typed() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("b", "tab")
        desk.app.screen.query_one("#condition", Input).value = 'plugin == "gang"'
        await desk.press("enter")
        assert ('break victim if plugin == "gang"',) == tuple(stand.text for stand in desk.moment.breakpoints)


async def test_a_condition_that_is_wrong_says_so_in_the_dialog() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("b", "tab")
        desk.app.screen.query_one("#condition", Input).value = "plugin =="
        await desk.press("enter")
        assert isinstance(desk.app.screen, BreakpointScreen)
        assert "✗" in str(desk.app.screen.query_one("#error").render())


WRONG = (
    ("dance", "no command 'dance'"),
    ("goto far", "'far' is not an event number"),
    ("goto 100000", "events are 0 to"),
    ("break nothing", "no kind of breakpoint"),
    ("toggle 7", "no breakpoint 7"),
    ("explain ml/none", "ml/none"),
    ("panel attic", "no panel"),
    ("about nothing", "no kind and name in 'nothing'"),
)


async def test_a_wrong_command_is_one_clear_line() -> None:
    async with opened_again("preempt-works") as desk:
        for text, words in WRONG:
            await desk.command(text)
            assert words in desk.status()
            assert "\n" not in desk.status()


async def test_enter_opens_the_page_of_a_node_and_goes_from_a_job_to_its_visits() -> None:
    async with opened_again("preempt-works") as desk:
        await desk.press("6", "enter")
        assert page_open(desk)
        await desk.press("escape")
        await desk.press("5", "enter", "end", "enter")
        assert not page_open(desk)
        assert 1 < desk.seq


async def test_the_explanation_leads_to_the_event_that_proves_it() -> None:
    async with opened_again() as desk:
        await desk.command("explain research/llm-finetune")
        page = desk.app.screen
        assert isinstance(page, DetailScreen)
        proof = page.table.rows[0].seq
        await desk.press("enter")
        assert proof == desk.seq
