"""The main screen's keys: both families, letters for people and function keys for habits."""

from __future__ import annotations

from textual.binding import Binding, BindingType

KEYS: list[BindingType] = [
    Binding("n,f10", "step('over')", "over"),
    Binding("s,f11", "step('into')", "into"),
    Binding("f,shift+f11,f23", "step('out')", "out"),
    Binding("c,f5", "step('continue')", "continue"),
    Binding("N,shift+f10,f22", "step('over', True)", "back over", show=False),
    Binding("S,ctrl+f11", "step('into', True)", "back into", show=False),
    Binding("F,ctrl+shift+f11,ctrl+f23", "step('out', True)", "back out", show=False),
    Binding("C,shift+f5,f17", "step('continue', True)", "back continue", show=False),
    Binding("b,f9", "breakpoint", "break"),
    Binding("question_mark,f1", "help", "help"),
    Binding("colon", "command", "command"),
    Binding("slash", "filter", "filter"),
    Binding("e", "explain", "explain"),
    Binding("g,ctrl+g", "goto", "go to event"),
    Binding("minus", "last_position", "last position"),
    Binding("t", "run_to_cursor", "to the row's event"),
    Binding("right_square_bracket", "about(False)", "next event about the row's job, task, node or queue", show=False),
    Binding("left_square_bracket", "about(True)", "previous event about it", show=False),
    Binding("tab", "app.focus_next", "next panel", show=False),
    Binding("shift+tab", "app.focus_previous", "previous panel", show=False),
    *(Binding(str(digit), f"panel('{digit}')", f"panel {digit}", show=False) for digit in range(1, 10)),
    Binding("z", "zoom", "zoom the panel"),
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
)
ALWAYS = (("?", "help"), ("q", "quit"))
"""The last keys of the footer, for which there is always room."""
