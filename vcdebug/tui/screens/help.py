"""Help, made of the bindings, the command verbs and the kinds of breakpoints as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.binding import Binding, BindingType

from vcdebug.debugger.breakpoints import KINDS
from vcdebug.debugger.breakpoints.base import Kind
from vcdebug.debugger.commands import VERBS, Verb
from vcdebug.debugger.fields import FIELD_NAMES
from vcdebug.framework.registry import resolve
from vcdebug.tui.panels import PANELS
from vcdebug.tui.widgets.grid import Grid
from vcdebug.tui.widgets.timeline import LEGEND
from vcdebug.views.base import Column, Piece, Row, Table, line, muted

COLUMNS = (Column("key"), Column("does", flexible=True))
_NAMES = {
    "slash": "/",
    "colon": ":",
    "question_mark": "?",
    "minus": "-",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "escape": "Esc",
    "enter": "Enter",
    "space": "Space",
    "tab": "Tab",
    "pagedown": "PgDn",
    "pageup": "PgUp",
    "f17": "",
    "f22": "",
    "f23": "",
    "ctrl+f23": "",
}
"""Names of keys as people know them; the empty ones are what terminals send for Shift and a function key."""


def key_names(keys: str) -> str:
    """`n,f10` → `n F10`."""
    return " ".join(name for key in keys.split(",") if (name := key_name(key.strip())))


def key_name(key: str) -> str:
    """One key as people know it."""
    if key in _NAMES:
        return _NAMES[key]
    parts = key.split("+")
    if len(parts) == 1 and len(key) == 1:
        return key
    return "+".join(part.upper() if len(part) == 1 else part.capitalize() for part in parts)


def help_table(bindings: Iterable[BindingType]) -> Table:
    """Every key of the main screen and its panels, every verb, every kind of breakpoint."""
    rows = [*_keys("main screen", bindings), *_keys("any table", Grid.BINDINGS)]
    for panel in PANELS:
        rows.append(_row(panel.KEY, f"{panel.TITLE}: {panel.HELP}"))
        rows += _keys(panel.TITLE, panel.__dict__.get("BINDINGS", ()))
    rows += [_row(f":{verb.names[0]}", _verb_help(verb)) for verb in VERBS]
    for name, module in KINDS.items():
        kind: type[Kind] = resolve(module)
        words = f"; narrower with {', '.join(kind.WORDS)}" if kind.WORDS else ""
        rows.append(_row(f"break {name}", f"{kind.HELP}{words}"))
    head = (
        line("Capitals go back. Type / to search this help."),
        line(muted("timeline  "), LEGEND.strip(), muted("   tree  "), "▸ closed ▾ open ● here"),
        line(muted("equation  "), "✓ holds ✗ does not – not judged ◀ decides"),
    )
    foot = (
        line(),
        line(
            muted("Shift+F5, Shift+F10 and Shift+F11 arrive as F17, F22 and F23 from many terminals: both are bound.")
        ),
        line(muted("Some desktops keep F10 and F11 for themselves: the letters always work.")),
        line(muted("With the mouse on, hold Shift (Option on macOS) to select text as usual.")),
        line(muted(f"conditions know: {', '.join(FIELD_NAMES)}")),
    )
    return Table("Help", COLUMNS, rows, head=head, foot=foot)


def _verb_help(verb: Verb) -> str:
    usage = f"{verb.usage}: " if verb.usage else ""
    also = f"  (also {', '.join(verb.names[1:])})" if len(verb.names) > 1 else ""
    return f"{usage}{verb.help}{also}"


def _keys(where: str, bindings: Iterable[BindingType]) -> Iterator[Row]:
    for binding in bindings:
        if isinstance(binding, Binding) and not binding.action.startswith("panel("):
            yield _row(
                key_names(binding.key), f"{binding.description}" + (f"  ({where})" if where != "main screen" else "")
            )


def _row(key: str, does: str) -> Row:
    return Row(f"{key} {does}", (Piece(key, "strong"), Piece(does)))
