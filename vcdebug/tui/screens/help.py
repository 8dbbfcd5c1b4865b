"""Help and the list of panels, made of the bindings, the command verbs and the kinds of breakpoints as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from vcdebug.debugger.breakpoints import KINDS
from vcdebug.debugger.breakpoints.base import Kind
from vcdebug.debugger.commands import Verb, verbs
from vcdebug.debugger.field_types import typed
from vcdebug.debugger.fields import FIELD_TYPES
from vcdebug.framework.registry import resolve
from vcdebug.tui.keymap import MAIN, Scope, by_id, keys_of, scopes
from vcdebug.tui.keynames import key_names
from vcdebug.tui.panels import PANELS
from vcdebug.tui.widgets.timeline import LEGEND
from vcdebug.views.base import Column, Piece, Row, Table, line, muted
from vcdebug.views.pages import Page

COLUMNS: Final = (Column("key"), Column("does", flexible=True))
PANEL_COLUMNS: Final = (Column("group"), Column("key"), Column("panel"), Column("shows", flexible=True))
ABOUT: Final = {
    "cycle": "what happens in it, and why",
    "cluster": "as it stands at the present event",
    "debugger": "what you have set",
}
PANEL_PAGE: Final = Page(lambda _: Table("Panels"), lambda row: (row.key,), "Enter shows it")


def help_table(chosen: Mapping[str, str], lines: Iterable[str] = ()) -> Table:
    """Every key in force, wherever it holds; every verb; every kind of breakpoint."""
    panels = {panel.title: panel for panel in PANELS}
    rows: list[Row] = []
    for scope in scopes():
        panel = panels.get(scope.name)
        if panel is not None:
            key = key_names(keys_of(by_id()[f"panel-{scope.name.lower()}"], chosen))
            rows.append(_row(key, f"{panel.title}: {panel.help}"))
        rows += _keys(scope, chosen)
    rows += [_row(f":{verb.names[0]}", _verb_help(verb)) for verb in verbs()]
    for name, module in KINDS.items():
        kind: type[Kind] = resolve(module)
        words = f"; narrower with {', '.join(kind.WORDS)}" if kind.WORDS else ""
        rows.append(_row(f"break {name}", f"{kind.HELP}{words}"))
    head = (
        *(line(Piece(f"✗ {problem}", "warn")) for problem in lines),
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
        line(muted(f"conditions know: {typed(FIELD_TYPES)}")),
    )
    return Table("Help", COLUMNS, rows, head=head, foot=foot)


def _verb_help(verb: Verb) -> str:
    usage = f"{verb.usage}: " if verb.usage else ""
    also = f"  (also {', '.join(verb.names[1:])})" if len(verb.names) > 1 else ""
    return f"{usage}{verb.help}{also}"


def _keys(scope: Scope, chosen: Mapping[str, str]) -> Iterator[Row]:
    where = "" if scope.name == MAIN else f"  ({scope.name})"
    for binding in scope.bindings:
        if not binding.action.startswith("panel("):
            yield _row(key_names(keys_of(binding, chosen)), f"{binding.description}{where}")


def _row(key: str, does: str) -> Row:
    return Row(f"{key} {does}", (Piece(key, "strong"), Piece(does)))


def panel_table(chosen: Mapping[str, str]) -> Table:
    """One row per panel; its key is the command that shows it."""
    rows: list[Row] = []
    group = ""
    for panel in PANELS:
        key = key_names(keys_of(by_id()[f"panel-{panel.name}"], chosen))
        first = Piece(panel.group if panel.group != group else "", "strong")
        rows.append(Row(f"panel {panel.name}", (first, Piece(key, "accent"), Piece(panel.title), muted(panel.help))))
        group = panel.group
    about = [(Piece(f"{name}  ", "strong"), muted(words)) for name, words in ABOUT.items()]
    return Table("Panels", PANEL_COLUMNS, rows, head=(*about, ()))
