"""The main screen's bindings, the scopes of all bindings, and the keys that the settings choose for them."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct
from textual.binding import ActiveBinding, Binding, BindingType
from textual.widget import Widget

from vcdebug.framework.registry import resolve_reference
from vcdebug.tui.key_names import KeyHint, footer_entries, key_name, keys_by_binding, textual_key
from vcdebug.tui.panels import find_extra
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.widgets.bars import Status
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.prompt import Prompt
from vcdebug.views.panels import PANELS

MAIN, TABLE = "main screen", "any table"
OVERLAY_SCREENS: Final = (
    ("a page", "pages:DetailScreen"),
    ("breakpoint dialog", "dialogs:BreakpointScreen"),
    ("copy menu", "dialogs:CopyScreen"),
    ("chooser", "chooser:ChooserScreen"),
    ("a row's page", "pages:SubjectScreen"),
    ("an answer", "pages:AnswerScreen"),
    ("a page that leads on", "pages:PageScreen"),
    ("lesson", "dialogs:LessonScreen"),
    ("leaving with edits", "dialogs:ConfirmLeaveScreen"),
)
"""Screens over the main one, or before it, in `tui/screens`; imported on use."""


class KeyScope(Struct, frozen=True):
    """A screen or panel in which bindings are active."""

    name: str
    bindings: tuple[Binding, ...]
    on_main: bool = False
    """Whether the main screen's keys are active there too."""


class ConfigProblem(Struct, frozen=True):
    """A fault in the settings: the setting, the fault, and the value used instead."""

    setting: str
    problem: str
    effect: str

    def __str__(self) -> str:
        return f"{self.setting}: {self.problem}; {self.effect}"


def key_scopes() -> tuple[KeyScope, ...]:
    """All scopes that have bindings."""
    return (
        KeyScope(MAIN, _plain_bindings(MAIN_KEYS), on_main=True),
        KeyScope(TABLE, _plain_bindings(Grid.BINDINGS), on_main=True),
        *(KeyScope(panel.title, find_extra(panel).KEYS, on_main=True) for panel in PANELS),
        KeyScope("typing a line", _plain_bindings(Prompt.BINDINGS)),
        *(KeyScope(name, _plain_bindings(_screen_bindings(screen))) for name, screen in OVERLAY_SCREENS),
    )


def bindings_by_id() -> dict[str, Binding]:
    """Every binding by its id."""
    return {binding.id: binding for scope in key_scopes() for binding in scope.bindings if binding.id}


def _screen_bindings(screen: str) -> Iterable[BindingType]:
    bindings: Iterable[BindingType] = vars(resolve_reference(f"vcdebug.tui.screens.{screen}")).get("BINDINGS", ())
    return bindings


def main_screen_keys(name: str, chosen_keys: Mapping[str, str]) -> list[str]:
    """The keys in force for the main screen's action `name`."""
    return binding_keys(next(binding for binding in _plain_bindings(MAIN_KEYS) if binding.id == name), chosen_keys)


def binding_keys(binding: Binding, chosen_keys: Mapping[str, str]) -> list[str]:
    """The keys in force for a binding."""
    keys = chosen_keys.get(binding.id or "", binding.key)
    return [textual_key(key) or key.strip() for key in keys.split(",")]


def check_keys(key_texts: Mapping[str, str]) -> tuple[dict[str, str], list[ConfigProblem]]:
    """The configured keys that are possible, and a line for each that is not."""
    bindings = bindings_by_id()
    lines: list[ConfigProblem] = []
    chosen_keys: dict[str, str] = {}
    for name, keys in key_texts.items():
        if name not in bindings:
            lines.append(ConfigProblem(f"keys.{name}", "no binding of this name", "ignored; --print-config lists them"))
            continue
        good = [(key, textual_key(key)) for key in keys.split(",")]
        lines += [
            ConfigProblem(f"keys.{name}", f"no key {key.strip()!r}", "left out") for key, meant in good if meant is None
        ]
        chosen_keys[name] = ",".join(dict.fromkeys(meant for _, meant in good if meant is not None))
        if chosen_keys[name] in ("", ",".join(binding_keys(bindings[name], {}))):
            del chosen_keys[name]
    return _drop_collisions(chosen_keys, bindings, lines)


def _drop_collisions(
    chosen_keys: dict[str, str], bindings: Mapping[str, Binding], lines: list[ConfigProblem]
) -> tuple[dict[str, str], list[ConfigProblem]]:
    """Drop configured keys with another meaning in the same scope; of two settings, the later one is dropped."""
    while (collision := _find_collision(chosen_keys)) is not None:
        name, key, other, scope = collision
        del chosen_keys[name]
        kept = ", ".join(key_name(kept) for kept in binding_keys(bindings[name], {}) if key_name(kept))
        conflict = f"{key_name(key)} is already {other} ({scope})"
        lines.append(ConfigProblem(f"keys.{name}", conflict, f"{name} keeps {kept}"))
    return chosen_keys, lines


def _find_collision(chosen_keys: Mapping[str, str]) -> tuple[str, str, str, str] | None:
    """(configured binding, key, other binding with this key, name of its scope); None without a collision."""
    scopes = key_scopes()
    chosen_ids = list(chosen_keys)
    for name in reversed(chosen_ids):
        own_scopes = [scope for scope in scopes if any(binding.id == name for binding in scope.bindings)]
        for own_scope in own_scopes:
            for scope in (scope for scope in scopes if _can_meet(own_scope, scope)):
                for other_binding in scope.bindings:
                    shared_key = _shared_key(name, other_binding, chosen_keys)
                    if shared_key is not None and chosen_ids.index(name) > _change_rank(other_binding.id, chosen_ids):
                        return name, shared_key, str(other_binding.id), scope.name
    return None


def _change_rank(name: str | None, chosen_ids: list[str]) -> int:
    """Bindings with their default key come before those that the settings changed."""
    return chosen_ids.index(name) if name in chosen_ids else -1


def _shared_key(name: str, binding: Binding, chosen_keys: Mapping[str, str]) -> str | None:
    if binding.id == name:
        return None
    keys = binding_keys(binding, chosen_keys)
    return next((key for key in chosen_keys[name].split(",") if key in keys), None)


def _can_meet(scope: KeyScope, other: KeyScope) -> bool:
    """Whether two scopes can be active at the same time."""
    if scope.name == other.name or TABLE in (scope.name, other.name):
        return True
    return scope.on_main and other.on_main and MAIN in (scope.name, other.name)


def _plain_bindings(bindings: Iterable[BindingType]) -> tuple[Binding, ...]:
    return tuple(binding for binding in bindings if isinstance(binding, Binding))


# The main screen's keys, letters and function keys, each with an id; and what the footer says about them.

MAIN_KEYS: list[BindingType] = [
    Binding("n,f10", "step('over')", "over: the next event or span on this level", id="over"),
    Binding("s,f11", "step('inside')", "into: the next event, comparison or part of a score (:si)", id="into"),
    Binding("f,r,shift+f11,f23", "step('out')", "out: what follows the enclosing span", id="out"),
    Binding("c,f5", "step('continue')", "continue: to the next breakpoint", id="continue"),
    Binding("N,shift+f10,f22", "step('over', True)", "over, backwards", id="back-over"),
    Binding("S,ctrl+f11", "step('inside', True)", "into, backwards: the previous event", id="back-into"),
    Binding(
        "F,R,u,ctrl+shift+f11,ctrl+f23",
        "step('out', True)",
        "out, backwards: up to the beginning of the enclosing span",
        id="back-out",
    ),
    Binding(
        "C,shift+f5,f17",
        "step('continue', True)",
        "continue, backwards: to the previous breakpoint",
        id="back-continue",
    ),
    Binding("d", "run('down')", "down again: undoes the last way up (u, F), else into", id="down"),
    Binding("b,f9", "run('breakpoint')", "set a breakpoint", id="break"),
    Binding("question_mark,f1", "help", "this help", id="help"),
    Binding("colon", "run('command')", "type a command", id="command"),
    Binding("ctrl+p", "app.palette", "Open the palette: everything by name or keyword", id="palette"),
    Binding("slash", "run('filter')", "Filter the focused table (expression; ! inverts, ~ fuzzy)", id="filter"),
    Binding("e", "explain", "Explain why the selected or current job is Pending; else all Pending jobs", id="explain"),
    Binding(
        "I", "run('ask')", "Ask about the selected row: evicted, holders, node, refused, victim, next, when", id="ask"
    ),
    Binding("exclamation_mark", "run('prove')", "Find fixes for the job: try changes and replay each", id="prove"),
    Binding(
        "g,ctrl+g",
        "run('goto')",
        "go to an event by number, 0 is the overview; g once more: to the first row",
        id="goto",
    ),
    Binding("minus", "run('last_position')", "back to where the last jump began", id="last"),
    Binding("t", "run('run_to_cursor')", "go to the event of the row under the cursor", id="to-row"),
    Binding("L", "run('last_change')", "to the event that wrote this number; again, further back", id="last-change"),
    Binding("equals_sign", "run('why')", "Show where the number or the event under the cursor comes from", id="why"),
    Binding("A", "run('watch')", "watch the number under the cursor", id="watch"),
    Binding("B", "run('break_on_figure')", "stop wherever the number under the cursor changes", id="break-figure"),
    Binding("m", "run('bookmark')", "mark this event; once more, write a note about it", id="bookmark"),
    Binding("right_square_bracket", "about(False)", "next event about the row's job, task, node or queue", id="about"),
    Binding("left_square_bracket", "about(True)", "previous event about it", id="back-about"),
    Binding("tab", "app.focus_next", "next panel", id="next-panel"),
    Binding("shift+tab", "app.focus_previous", "previous panel", id="previous-panel"),
    *(
        Binding(panel.key, f"panel('{panel.key}')", f"panel {panel.title}", id=f"panel-{panel.command_name}")
        for panel in PANELS
    ),
    Binding("P", "panels", "all panels, by group: cycle, cluster, debugger", id="panels"),
    Binding("w", "run('what_if')", "What-if: edit the selected object, or force this plugin answer", id="what-if"),
    Binding("U", "edit('undo')", "undo the last edit", id="undo"),
    Binding("ctrl+r", "edit('redo')", "make the edit again that was undone last", id="redo"),
    Binding("x", "edit('other')", "from the original to the branch of the edits, and back", id="other"),
    Binding("X", "edit('diff')", "original and branch side by side", id="diff"),
    Binding(
        "right_curly_bracket",
        "edit('next-cycle')",
        "Go to the next cycle's overview (runs it if needed)",
        id="next-cycle",
    ),
    Binding("left_curly_bracket", "edit('previous-cycle')", "the overview of the cycle before", id="previous-cycle"),
    Binding("full_stop", "edit('recapture')", "capture the live cluster again: what has changed", id="recapture"),
    Binding("z", "zoom", "the panel alone, or all of them again", id="zoom"),
    Binding("y", "run('copy')", "copy: cell, row, panel, equation, command line", id="copy"),
    Binding("Y", "run('copy_panel')", "copy the panel", id="copy-panel"),
    Binding("o", "run('open')", "open another snapshot", id="open"),
    Binding("escape", "back", "one step back: message, zoom, filter, order", id="back"),
    Binding("q", "run('quit')", "quit", id="quit"),
]
"""F17, F22, F23 and Ctrl+F23 are what many terminals send for Shift+F5, Shift+F10, Shift+F11 and Ctrl+Shift+F11."""


STEP_HINTS = (
    KeyHint(("over", "back-over"), "over"),
    KeyHint(("into", "back-into"), "into"),
    KeyHint(("out", "back-out"), "out"),
    KeyHint(("continue", "back-continue"), "cont"),
    KeyHint(("break",), "break"),
)
"""The first hints of the footer; the keys of the focused panel follow them."""
FOOTER_HINTS = (
    KeyHint(("explain",), "explain"),
    KeyHint(("command",), "command"),
    KeyHint(("moment.go",), "look into it"),
    KeyHint(("quit",), "quit"),
    KeyHint(("filter",), "filter"),
    KeyHint(("ask",), "ask"),
    KeyHint(("prove",), "prove"),
    KeyHint(("goto",), "go to"),
    KeyHint(("last",), "last position"),
    KeyHint(("to-row",), "to row"),
    KeyHint(("last-change",), "last change"),
    KeyHint(("bookmark",), "mark"),
    KeyHint(("what-if",), "what if"),
    KeyHint(("other",), "branch"),
    KeyHint(("zoom",), "zoom"),
    KeyHint(("copy",), "copy"),
    KeyHint(("next-panel",), "panel"),
    KeyHint(("palette",), "palette"),
    KeyHint(("panels",), "panels"),
    KeyHint(("open",), "open"),
)
"""The other hints of the footer, the most useful first; it shows as many as fit."""
FIXED_HINTS = (KeyHint(("help",), "help"),)
"""The last keys of the footer, which are always shown."""
KEYS_WHILE_LOADING = ("open", "quit")
"""The ids of bindings that act while a snapshot is loaded: they leave the screen; other keys wait."""


def show_footer_keys(
    status: Status, active: Mapping[str, ActiveBinding], focused: Widget | None, *, replayed: bool
) -> None:
    """Show the active keys in the footer, those of a panel with rows too; before the replay is done a few only."""
    keys = keys_by_binding(active)
    if not replayed:
        keys = {name: active_keys for name, active_keys in keys.items() if name in KEYS_WHILE_LOADING}
    panel_keys = focused.extra.FOOTER if isinstance(focused, Panel) and focused.shown_rows else ()
    panel_hints = tuple(KeyHint((name,), effect) for name, effect in panel_keys)
    status.keys = tuple(footer_entries((*STEP_HINTS, *panel_hints, *FOOTER_HINTS), keys))
    status.always = tuple(footer_entries(FIXED_HINTS, keys))
