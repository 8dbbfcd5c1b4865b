"""The main screen's keys: both families, letters for people and function keys for habits."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from vcdebug.tui.panels import PANELS

KEYS: list[BindingType] = [
    Binding("n,f10", "step('over')", "over: the next event or span on this level"),
    Binding("s,f11", "step('into')", "into: the next event, however deep"),
    Binding("f,shift+f11,f23", "step('out')", "out: what follows the enclosing span"),
    Binding("c,f5", "step('continue')", "continue: to the next breakpoint, else the end"),
    Binding("N,shift+f10,f22", "step('over', True)", "over, backwards", show=False),
    Binding("S,ctrl+f11", "step('into', True)", "into, backwards: the previous event", show=False),
    Binding(
        "F,ctrl+shift+f11,ctrl+f23",
        "step('out', True)",
        "out, backwards: the beginning of the enclosing span",
        show=False,
    ),
    Binding(
        "C,shift+f5,f17",
        "step('continue', True)",
        "continue, backwards: to the previous breakpoint, else the start",
        show=False,
    ),
    Binding("b,f9", "breakpoint", "set a breakpoint"),
    Binding("question_mark,f1", "help", "this help"),
    Binding("colon", "command", "type a command"),
    Binding("slash", "filter", "filter the table that has the focus: an expression, ! before it for the others"),
    Binding("e", "explain", "explain why the job under the cursor, or the present one, waits"),
    Binding("g,ctrl+g", "goto", "go to an event by number"),
    Binding("minus", "last_position", "back to where the last jump began"),
    Binding("t", "run_to_cursor", "go to the event of the row under the cursor"),
    Binding("right_square_bracket", "about(False)", "next event about the row's job, task, node or queue", show=False),
    Binding("left_square_bracket", "about(True)", "previous event about it", show=False),
    Binding("tab", "app.focus_next", "next panel", show=False),
    Binding("shift+tab", "app.focus_previous", "previous panel", show=False),
    *(Binding(panel.KEY, f"panel('{panel.KEY}')", f"panel {panel.TITLE}", show=False) for panel in PANELS),
    Binding("z", "zoom", "the panel alone, or all of them again"),
    Binding("y", "copy", "copy the cell"),
    Binding("Y", "copy(True)", "copy the panel", show=False),
    Binding("o", "open", "open another snapshot", show=False),
    Binding("escape", "back", "back: filter off, zoom off, message off", show=False),
    Binding("q", "quit", "quit"),
]
"""F17, F22, F23 and Ctrl+F23 are what many terminals send for Shift+F5, Shift+F10, Shift+F11 and Ctrl+Shift+F11."""

FOOTER = (
    ("n", "over"),
    ("s", "into"),
    ("f", "out"),
    ("c", "continue"),
    ("N S F C", "back"),
    ("b", "break"),
    (":", "command"),
    ("/", "filter"),
    ("e", "explain"),
    ("g", "go to"),
    ("-", "last position"),
    ("t", "to row"),
    ("z", "zoom"),
    ("y", "copy"),
    ("Tab", "panel"),
    (" ".join(panel.KEY for panel in PANELS), "panels"),
)
ALWAYS = (("?", "help"), ("q", "quit"))
"""The last keys of the footer, for which there is always room."""
