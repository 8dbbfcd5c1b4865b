"""The list of all panels: by group, with the key in force and what each of them shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vcdebug.tui.keymap import by_id, keys_of
from vcdebug.tui.keynames import key_names
from vcdebug.tui.panels import PANELS
from vcdebug.views.base import Column, Piece, Row, Table, muted
from vcdebug.views.pages import Page

COLUMNS: Final = (Column("group"), Column("key"), Column("panel"), Column("shows", flexible=True))
ABOUT: Final = {
    "cycle": "what happens in it, and why",
    "cluster": "as it stands at the present event",
    "debugger": "what you have set",
}


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
    return Table("Panels", COLUMNS, rows, head=(*about, ()))


PANEL_PAGE: Final = Page(lambda _: Table("Panels"), lambda row: (row.key,), "Enter shows it")
