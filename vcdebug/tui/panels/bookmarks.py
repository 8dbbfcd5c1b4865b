"""Bookmarks can be removed from their list."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding

from vcdebug.tui.panels.base import Extra


class Bookmarks(Extra):
    """Takes one off the list."""

    FOOTER = (("bookmarks.go", "go there"), ("bookmarks.remove", "remove"))
    KEYS: ClassVar[tuple[Binding, ...]] = (
        Binding("enter", "extra('bookmarks')", "go to the bookmark, in whichever cycle it lies", id="bookmarks.go"),
        Binding("delete,x", "extra('unbookmark')", "remove the bookmark", id="bookmarks.remove"),
    )
