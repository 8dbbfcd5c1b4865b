"""Help and the list of panels, made of the bindings, the command verbs and the kinds of breakpoints as they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from vcdebug.debugger.breakpoints import BREAKPOINT_KINDS, BreakpointKind
from vcdebug.debugger.commands import Verb, list_verbs
from vcdebug.debugger.expression import describe_fields
from vcdebug.debugger.fields import FIELD_TYPES
from vcdebug.framework.registry import resolve_reference
from vcdebug.tui.key_names import key_names
from vcdebug.tui.keymap import MAIN, KeyScope, binding_keys, bindings_by_id, key_scopes
from vcdebug.tui.panels import PANELS
from vcdebug.tui.widgets.timeline import LEGEND
from vcdebug.views.panels import Page
from vcdebug.views.table import Column, Piece, Row, Table, make_line, muted_piece

KEY_COLUMNS: Final = (Column("key"), Column("does", flexible=True))
PANEL_COLUMNS: Final = (Column("group"), Column("key"), Column("panel"), Column("shows", flexible=True))
GROUP_HELP: Final = {
    "cycle": "what happens in it, and why",
    "cluster": "as it stands at the present event",
    "debugger": "what you have set",
}
PANEL_PAGE: Final = Page(lambda _: Table("Panels"), lambda row: (row.key,), "Enter shows it")


def help_table(chosen: Mapping[str, str], lines: Iterable[str] = ()) -> Table:
    """Every key in force, wherever it holds; every verb; every kind of breakpoint."""
    panels = {panel.title: panel for panel in PANELS}
    rows: list[Row] = []
    for scope in key_scopes():
        panel = panels.get(scope.name)
        if panel is not None:
            key = key_names(binding_keys(bindings_by_id()[f"panel-{scope.name.lower()}"], chosen))
            rows.append(_help_row(key, f"{panel.title}: {panel.help}"))
        rows += _key_rows(scope, chosen)
    rows += [_help_row(f":{verb.names[0]}", _verb_help(verb)) for verb in list_verbs()]
    for name, module in BREAKPOINT_KINDS.items():
        kind: type[BreakpointKind] = resolve_reference(module)
        words = f"; narrower with {', '.join(kind.WORDS)}" if kind.WORDS else ""
        rows.append(_help_row(f"break {name}", f"{kind.HELP}{words}"))
    head = (
        *(make_line(Piece(f"✗ {problem}", "warn")) for problem in lines),
        make_line("Capitals go back. Type / to search this help."),
        make_line(muted_piece("timeline  "), LEGEND.strip(), muted_piece("   tree  "), "▸ closed ▾ open ● here"),
        make_line(muted_piece("equation  "), "✓ holds ✗ does not – not judged ◀ decides"),
    )
    foot = (
        make_line(),
        make_line(
            muted_piece(
                "Shift+F5, Shift+F10 and Shift+F11 arrive as F17, F22 and F23 from many terminals: both are bound."
            )
        ),
        make_line(muted_piece("Some desktops keep F10 and F11 for themselves: the letters always work.")),
        make_line(muted_piece("With the mouse on, hold Shift (Option on macOS) to select text as usual.")),
        make_line(muted_piece(f"conditions know: {describe_fields(FIELD_TYPES)}")),
    )
    return Table("Help", KEY_COLUMNS, rows, head=head, foot=foot)


def _verb_help(verb: Verb) -> str:
    usage = f"{verb.usage}: " if verb.usage else ""
    also = f"  (also {', '.join(verb.names[1:])})" if len(verb.names) > 1 else ""
    return f"{usage}{verb.help}{also}"


def _key_rows(scope: KeyScope, chosen: Mapping[str, str]) -> Iterator[Row]:
    where = "" if scope.name == MAIN else f"  ({scope.name})"
    for binding in scope.bindings:
        if not binding.action.startswith("panel("):
            yield _help_row(key_names(binding_keys(binding, chosen)), f"{binding.description}{where}")


def _help_row(key: str, does: str) -> Row:
    return Row(f"{key} {does}", (Piece(key, "strong"), Piece(does)))


def panel_table(chosen: Mapping[str, str]) -> Table:
    """One row per panel; its key is the command that shows it."""
    rows: list[Row] = []
    group = ""
    for panel in PANELS:
        key = key_names(binding_keys(bindings_by_id()[f"panel-{panel.command_name}"], chosen))
        first = Piece(panel.group if panel.group != group else "", "strong")
        rows.append(
            Row(
                f"panel {panel.command_name}",
                (first, Piece(key, "accent"), Piece(panel.title), muted_piece(panel.help)),
            )
        )
        group = panel.group
    about = [(Piece(f"{name}  ", "strong"), muted_piece(words)) for name, words in GROUP_HELP.items()]
    return Table("Panels", PANEL_COLUMNS, rows, head=(*about, ()))
