"""The main screen's keys, letters and function keys, each with an id; and what the footer says about them."""

from __future__ import annotations

from collections.abc import Mapping

from textual.binding import ActiveBinding, Binding, BindingType
from textual.widget import Widget

from vcdebug.tui.key_names import KeyHint, footer_entries, keys_by_binding
from vcdebug.tui.panels import PANELS, footer_keys
from vcdebug.tui.panels.base import Panel
from vcdebug.tui.widgets.status import Status

MAIN_KEYS: list[BindingType] = [
    Binding("n,f10", "step('over')", "over: the next event or span on this level", id="over"),
    Binding("s,f11", "step('into')", "into: the next event, however deep", id="into"),
    Binding("f,r,shift+f11,f23", "step('out')", "out: what follows the enclosing span", id="out"),
    Binding("c,f5", "step('continue')", "continue: to the next breakpoint, else the end", id="continue"),
    Binding("N,shift+f10,f22", "step('over', True)", "over, backwards", id="back-over"),
    Binding("S,ctrl+f11", "step('into', True)", "into, backwards: the previous event", id="back-into"),
    Binding(
        "F,R,u,ctrl+shift+f11,ctrl+f23",
        "step('out', True)",
        "out, backwards: up to the beginning of the enclosing span",
        id="back-out",
    ),
    Binding(
        "C,shift+f5,f17",
        "step('continue', True)",
        "continue, backwards: to the previous breakpoint, else the start",
        id="back-continue",
    ),
    Binding("d", "down", "down again: undoes the last way up (u, F), else into", id="down"),
    Binding("b,f9", "breakpoint", "set a breakpoint", id="break"),
    Binding("question_mark,f1", "help", "this help", id="help"),
    Binding("colon", "command", "type a command", id="command"),
    Binding("ctrl+p", "palette", "palette: everything by name, commands, panels, jobs", id="palette"),
    Binding(
        "slash", "filter", "filter the table that has the focus: an expression, ! the others, ~ fuzzy", id="filter"
    ),
    Binding(
        "e",
        "explain",
        "explain why the job under the cursor, or the present one, waits; between actions, all that wait",
        id="explain",
    ),
    Binding(
        "I",
        "ask",
        "other questions about what the cursor is on: evicted, holders, node, refused, victim, next",
        id="ask",
    ),
    Binding(
        "exclamation_mark", "prove", "what would let the job in: changes, each carried out and replayed", id="prove"
    ),
    Binding("g,ctrl+g", "goto", "go to an event by number; g once more: to the first row", id="goto"),
    Binding("minus", "last_position", "back to where the last jump began", id="last"),
    Binding("t", "run_to_cursor", "go to the event of the row under the cursor", id="to-row"),
    Binding("L", "last_change", "to the event that wrote this number; again, further back", id="last-change"),
    Binding("A", "watch", "watch the number under the cursor", id="watch"),
    Binding("B", "break_on_figure", "stop wherever the number under the cursor changes", id="break-figure"),
    Binding("m", "bookmark", "mark this event; once more, write a note about it", id="bookmark"),
    Binding("right_square_bracket", "about(False)", "next event about the row's job, task, node or queue", id="about"),
    Binding("left_square_bracket", "about(True)", "previous event about it", id="back-about"),
    Binding("tab", "app.focus_next", "next panel", id="next-panel"),
    Binding("shift+tab", "app.focus_previous", "previous panel", id="previous-panel"),
    *(
        Binding(panel.key, f"panel('{panel.key}')", f"panel {panel.title}", id=f"panel-{panel.command_name}")
        for panel in PANELS
    ),
    Binding("P", "panels", "all panels, by group: cycle, cluster, debugger", id="panels"),
    Binding("w", "what_if", "what if: change what the cursor is on, or the answer of this hook call", id="what-if"),
    Binding("U", "edit('undo')", "undo the last edit", id="undo"),
    Binding("ctrl+r", "edit('redo')", "make the edit again that was undone last", id="redo"),
    Binding("x", "edit('other')", "from the original to the branch of the edits, and back", id="other"),
    Binding("X", "edit('diff')", "original and branch side by side", id="diff"),
    Binding(
        "right_curly_bracket", "edit('next-cycle')", "the next cycle; after the last one it is run", id="next-cycle"
    ),
    Binding("left_curly_bracket", "edit('previous-cycle')", "the cycle before", id="previous-cycle"),
    Binding("full_stop", "edit('recapture')", "capture the live cluster again: what has changed", id="recapture"),
    Binding("z", "zoom", "the panel alone, or all of them again", id="zoom"),
    Binding("y", "copy", "copy: cell, row, panel, equation, command line", id="copy"),
    Binding("Y", "copy_panel", "copy the panel", id="copy-panel"),
    Binding("o", "open", "open another snapshot", id="open"),
    Binding("escape", "back", "one step back: message, zoom, filter, order", id="back"),
    Binding("q", "quit", "quit", id="quit"),
]
"""F17, F22, F23 and Ctrl+F23 are what many terminals send for Shift+F5, Shift+F10, Shift+F11 and Ctrl+Shift+F11."""


FOOTER_HINTS = (
    KeyHint(("over",), "over"),
    KeyHint(("into",), "into"),
    KeyHint(("out",), "out"),
    KeyHint(("continue",), "cont"),
    KeyHint(("back-over", "back-into", "back-out", "back-continue"), "back"),
    KeyHint(("break",), "break"),
    KeyHint(("explain",), "explain"),
    KeyHint(("command",), "command"),
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
"""What the last line says, the most wanted first: it shows as many as fit."""
FIXED_HINTS = (KeyHint(("help",), "help"), KeyHint(("quit",), "quit"))
"""The last keys of the footer, for which there is always room."""
KEYS_WHILE_LOADING = ("command", "next-panel", "open", "help", "quit")
"""What has a meaning while the replay runs."""


# The footer: the keys that work at the focus, those of the panel first.


def show_footer_keys(
    status: Status, active: Mapping[str, ActiveBinding], focused: Widget | None, *, replayed: bool
) -> None:
    """Write the keys into the status line; before the replay is done, only those with a meaning then."""
    keys = keys_by_binding(active)
    if not replayed:
        keys = {name: found for name, found in keys.items() if name in KEYS_WHILE_LOADING}
    own = (
        tuple(KeyHint((name,), does) for name, does in footer_keys(focused.shows)) if isinstance(focused, Panel) else ()
    )
    status.keys = (*footer_entries(own, keys), *footer_entries(FOOTER_HINTS, keys))
    status.always = tuple(footer_entries(FIXED_HINTS, keys))
