"""Bookmarks: events with a note."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vcdebug.debugger.numbered import NumberedList
from vcdebug.errors import VcdebugError
from vcdebug.model.names import Seq


class BookmarkError(VcdebugError):
    """A bookmark that is not there."""


class Bookmark(NamedTuple):
    """An event that somebody wants to find again."""

    number: int
    seq: Seq
    note: str = ""
    cycle: int = 1
    """Counted from the first recording that is open: 0 is the capture before it."""
    branch: bool = False
    """Whether it lies in the recording that edits made, not in the original."""


class BookmarkList(NumberedList[Bookmark]):
    """Bookmarks by number, one per event at most; kept with their cycles counted from the first capture of all."""

    WHAT = "bookmark"
    MISSING = BookmarkError

    def __init__(self) -> None:
        super().__init__()
        self.before = 0
        """How many captures lie before the first one that is open."""

    def __iter__(self) -> Iterator[Bookmark]:
        return (self._relative_bookmark(mark) for mark in self.absolute_bookmarks())

    def absolute_bookmarks(self) -> list[Bookmark]:
        """In order, with their cycles counted from the first capture of all."""
        return sorted(self._things.values(), key=lambda mark: (mark.branch, mark.cycle, mark.seq))

    def _relative_bookmark(self, mark: Bookmark) -> Bookmark:
        return mark._replace(cycle=mark.cycle - self.before)

    def __getitem__(self, number: int) -> Bookmark:
        return self._relative_bookmark(super().__getitem__(number))

    def bookmark_at(self, seq: Seq, cycle: int = 1, *, branch: bool = False) -> Bookmark | None:
        """The bookmark of an event."""
        return next((mark for mark in self if (mark.seq, mark.cycle, mark.branch) == (seq, cycle, branch)), None)

    def iter_bookmarks_of(self, cycle: int, *, branch: bool = False) -> Iterator[Bookmark]:
        """The bookmarks of one recording, in order."""
        return (mark for mark in self if (mark.cycle, mark.branch) == (cycle, branch))

    def set_bookmark(self, seq: Seq, note: str = "", cycle: int = 1, *, branch: bool = False) -> Bookmark:
        """Mark an event; where it is marked already a new note takes the place of the old one."""
        known = self.bookmark_at(seq, cycle, branch=branch)
        if known is None:
            self._last += 1
            known = Bookmark(self._last, seq, note.strip(), cycle, branch)
        elif note.strip():
            known = known._replace(note=note.strip())
        self._things[known.number] = known._replace(cycle=known.cycle + self.before)
        return known
