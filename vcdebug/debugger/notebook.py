"""What a person has set while debugging: breakpoints, watches, bookmarks, as plain data in and out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from vcdebug.debugger.bookmark import Bookmark, BookmarkList
from vcdebug.debugger.breakpoint_list import BreakpointList
from vcdebug.debugger.watch import WatchList
from vcdebug.errors import VcdebugError
from vcdebug.snapshot.json_values import Json, JsonDict, JsonObject

NOTEBOOK_VERSION: Final = 1
NOTEBOOK_PARTS: Final = ("breakpoints", "watches", "bookmarks")


class Notebook:
    """Belongs to one snapshot, whichever of its recordings is shown."""

    def __init__(self, breakpoints: BreakpointList | None = None) -> None:
        self.breakpoints = breakpoints if breakpoints is not None else BreakpointList()
        self.watches = WatchList()
        self.bookmarks = BookmarkList()
        self._unread: dict[str, list[Json]] = {}
        """Entries that this version cannot read: they are kept as they are."""
        self._other: JsonDict = {}
        """Parts that this version does not know."""

    def to_data(self) -> JsonDict:
        """Everything that is set, for a file; what could not be read is still among it."""
        written: dict[str, list[Json]] = {
            "breakpoints": self.breakpoints.command_lines(),
            "watches": [watch.text for watch in self.watches],
            "bookmarks": [_bookmark_data(mark) for mark in self.bookmarks.absolute_bookmarks()],
        }
        parts = {part: [*entries, *self._unread.get(part, ())] for part, entries in written.items()}
        return {
            "version": NOTEBOOK_VERSION,
            **self._other,
            **{part: entries for part, entries in parts.items() if entries},
        }

    def load_data(self, data: object) -> list[str]:
        """Set what a file holds, in addition; answers with one line per entry that cannot be read."""
        if not isinstance(data, Mapping):
            return ["it does not hold breakpoints, watches and bookmarks"]
        self._other.update({key: entry for key, entry in data.items() if key not in (*NOTEBOOK_PARTS, "version")})
        readers: dict[str, Callable[[Json], object]] = {
            "breakpoints": self._read_breakpoint,
            "watches": self._read_watch,
            "bookmarks": self._read_bookmark,
        }
        faults: list[str] = []
        for part, read in readers.items():
            entries = data.get(part) or []
            if not isinstance(entries, list):
                faults.append(f"{part} is no list")
                continue
            faults += [fault for entry in entries if (fault := self._read_entry(part, entry, read))]
        return faults

    def _read_entry(self, part: str, entry: object, read: Callable[[Json], object]) -> str:
        """Read one entry; one that cannot be read is put aside, and the answer says why."""
        try:
            read(entry)
        except (VcdebugError, TypeError, ValueError, KeyError) as error:
            self._unread.setdefault(part, []).append(entry)
            why = error.format_line() if isinstance(error, VcdebugError) else "not in a form that this version knows"
            return f"{part}: {entry!r}: {why}"
        return ""

    def _read_breakpoint(self, entry: str) -> None:
        self.breakpoints.add_breakpoint(_checked_text(entry))

    def _read_watch(self, entry: str) -> None:
        self.watches.keep_watch(_checked_text(entry))

    def _read_bookmark(self, entry: JsonObject) -> None:
        seq, cycle = int(entry["event"]), int(entry.get("cycle", 1))
        if seq < 1 or cycle < 1:
            raise ValueError(seq)
        there = cycle - self.bookmarks.before
        self.bookmarks.set_bookmark(
            seq, _checked_text(entry.get("note", "")), there, branch=bool(entry.get("branch", False))
        )


def _checked_text(entry: object) -> str:
    if not isinstance(entry, str):
        raise TypeError(entry)
    return entry


def _bookmark_data(mark: Bookmark) -> JsonDict:
    data: JsonDict = {"event": mark.seq}
    if mark.note:
        data["note"] = mark.note
    if mark.cycle != 1:
        data["cycle"] = mark.cycle
    if mark.branch:
        data["branch"] = True
    return data
