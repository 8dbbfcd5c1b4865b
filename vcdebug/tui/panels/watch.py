"""Watch: figures and expressions kept in sight can be forgotten."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding

from vcdebug.tui.panels.base import GO, Extra


class Watches(Extra):
    """Takes one off the list."""

    FOOTER = (("panel.go", "to its change"), ("watch.remove", "remove"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        GO,
        Binding("delete,x", "extra('unwatch')", "stop watching it", id="watch.remove"),
    )
