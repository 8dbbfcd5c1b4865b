"""The user's breakpoints, watches and bookmarks, with plain data for saving them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Generic, NamedTuple, TypeVar

from msgspec import Struct

from vcdebug.debugger import figures
from vcdebug.debugger.breakpoints import BreakpointError
from vcdebug.debugger.cursor import FORWARD, Step
from vcdebug.debugger.expression import Value, parse_expression
from vcdebug.debugger.expression_tokens import tokens_of
from vcdebug.debugger.fields import FIELD_TYPES, fields_of
from vcdebug.debugger.figures import FigureChange, FigureError, figure_history, parse_figure
from vcdebug.errors import VcdebugError
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.manifest import Json, JsonDict, JsonObject

if TYPE_CHECKING:
    from vcdebug.debugger.breakpoint import Breakpoint

NOTEBOOK_VERSION: Final = 1
NOTEBOOK_PARTS: Final = ("breakpoints", "watches", "bookmarks")


class Notebook:
    """Breakpoints, watches and bookmarks of one snapshot, shared by all of its recordings."""

    def __init__(self, breakpoints: BreakpointList | None = None) -> None:
        self.breakpoints = breakpoints if breakpoints is not None else BreakpointList()
        self.watches = WatchList()
        self.bookmarks = BookmarkList()
        self._unread_entries: dict[str, list[Json]] = {}
        """Entries that this version cannot read, saved again unchanged."""
        self._other_data: JsonDict = {}
        """Sections that this version does not know, saved again unchanged."""

    def to_data(self) -> JsonDict:
        """All entries as plain data for a file, including those that could not be read."""
        written: dict[str, list[Json]] = {
            "breakpoints": self.breakpoints.command_lines(),
            "watches": [watch.text for watch in self.watches],
            "bookmarks": [_bookmark_data(mark) for mark in self.bookmarks.absolute_bookmarks()],
        }
        parts = {part: [*entries, *self._unread_entries.get(part, ())] for part, entries in written.items()}
        return {
            "version": NOTEBOOK_VERSION,
            **self._other_data,
            **{part: entries for part, entries in parts.items() if entries},
        }

    def load_data(self, data: object) -> list[str]:
        """Add the entries of a file; returns one line per entry that cannot be read."""
        if not isinstance(data, Mapping):
            return ["it does not hold breakpoints, watches and bookmarks"]
        self._other_data.update({key: entry for key, entry in data.items() if key not in (*NOTEBOOK_PARTS, "version")})
        readers: dict[str, Callable[[Json], object]] = {
            "breakpoints": lambda entry: self.breakpoints.add_breakpoint(_checked_text(entry)),
            "watches": lambda entry: self.watches.keep_watch(_checked_text(entry)),
            "bookmarks": self._read_bookmark,
        }
        faults: list[str] = []
        for part, read in readers.items():
            entries = data.get(part) or []
            if not isinstance(entries, list):
                faults.append(f"{part} is not a list")
                continue
            faults += [fault for entry in entries if (fault := self._read_entry(part, entry, read))]
        return faults

    def _read_entry(self, part: str, entry: object, read: Callable[[Json], object]) -> str:
        """Read one entry; an unreadable one is set aside and the reason returned."""
        try:
            read(entry)
        # A file can come from another version or an editor: one bad entry must not discard the others.
        except (VcdebugError, TypeError, ValueError, KeyError) as error:
            self._unread_entries.setdefault(part, []).append(entry)
            reason = error.format_line() if isinstance(error, VcdebugError) else "not in a form that this version knows"
            return f"{part}: {entry!r}: {reason}"
        return ""

    def _read_bookmark(self, entry: JsonObject) -> None:
        seq, cycle = int(entry["event"]), int(entry.get("cycle", 1))
        if seq < 1 or cycle < 1:
            raise ValueError(seq)
        # Files count cycles from the first capture, the notebook from the first open one.
        own_cycle = cycle - self.bookmarks.earlier_count
        self.bookmarks.set_bookmark(
            seq, _checked_text(entry.get("note", "")), own_cycle, branch=bool(entry.get("branch", False))
        )


def _checked_text(entry: object) -> str:
    if not isinstance(entry, str):
        raise TypeError(entry)
    return entry


def _bookmark_data(mark: Bookmark) -> JsonDict:
    stated = {"event": mark.seq, "note": mark.note, "cycle": mark.cycle, "branch": mark.branch}
    usual = {"note": "", "cycle": 1, "branch": False}
    return {key: value for key, value in stated.items() if value != usual.get(key)}


# Numbered lists: entries keep their numbers when others are removed.

Entry = TypeVar("Entry")


class NumberedList(Generic[Entry]):
    """Entries by number; a number is never used twice."""

    WHAT: ClassVar[str]
    MISSING: ClassVar[type[VcdebugError]]
    """The error for a number without an entry."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._last = 0

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, number: int) -> Entry:
        if number not in self._entries:
            raise self.MISSING(f"no {self.WHAT} {number}")
        return self._entries[number]

    def remove(self, number: int) -> Entry:
        """Remove and return an entry; raises MISSING for an unknown number."""
        entry = self[number]
        del self._entries[number]
        return entry

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()


class BookmarkError(VcdebugError):
    """A bookmark that does not exist."""


class Bookmark(NamedTuple):
    """A marked event."""

    number: int
    seq: Seq
    note: str = ""
    cycle: int = 1
    """Cycle from 1 at the first open recording; 0 is the capture before it."""
    branch: bool = False
    """Whether it lies in the recording that edits made, not in the original."""


class BookmarkList(NumberedList[Bookmark]):
    """Bookmarks by number, at most one per event; cycles are counted from the first capture."""

    WHAT = "bookmark"
    MISSING = BookmarkError

    def __init__(self) -> None:
        super().__init__()
        self.earlier_count = 0
        """Number of captures before the first open one."""

    def __iter__(self) -> Iterator[Bookmark]:
        return (self._relative_bookmark(mark) for mark in self.absolute_bookmarks())

    def absolute_bookmarks(self) -> list[Bookmark]:
        """Bookmarks in order, with cycles counted from the first capture instead of the first open one."""
        return sorted(self._entries.values(), key=lambda mark: (mark.branch, mark.cycle, mark.seq))

    def _relative_bookmark(self, mark: Bookmark) -> Bookmark:
        return mark._replace(cycle=mark.cycle - self.earlier_count)

    def __getitem__(self, number: int) -> Bookmark:
        return self._relative_bookmark(super().__getitem__(number))

    def bookmark_at(self, seq: Seq, cycle: int = 1, *, branch: bool = False) -> Bookmark | None:
        """The bookmark of an event."""
        return next((mark for mark in self if (mark.seq, mark.cycle, mark.branch) == (seq, cycle, branch)), None)

    def iter_bookmarks_of(self, cycle: int, *, branch: bool = False) -> Iterator[Bookmark]:
        """The bookmarks of one recording, in order."""
        return (mark for mark in self if (mark.cycle, mark.branch) == (cycle, branch))

    def set_bookmark(self, seq: Seq, note: str = "", cycle: int = 1, *, branch: bool = False) -> Bookmark:
        """Mark an event; a second bookmark of an event replaces its note."""
        bookmark = self.bookmark_at(seq, cycle, branch=branch)
        if bookmark is None:
            self._last += 1
            bookmark = Bookmark(self._last, seq, note.strip(), cycle, branch)
        elif note.strip():
            bookmark = bookmark._replace(note=note.strip())
        self._entries[bookmark.number] = bookmark._replace(cycle=bookmark.cycle + self.earlier_count)
        return bookmark


class BreakpointHit(Struct, frozen=True):
    """A breakpoint at an event."""

    seq: Seq
    breakpoint: Breakpoint


class BreakpointLogLine(Struct, frozen=True):
    """One log line of a breakpoint."""

    seq: Seq
    number: int
    text: str


class BreakpointList(NumberedList["Breakpoint"]):
    """Breakpoints by number."""

    WHAT = "breakpoint"
    MISSING = BreakpointError

    def __init__(self) -> None:
        super().__init__()
        self.log: list[BreakpointLogLine] = []
        """Log lines so far, of all recordings."""

    def add_breakpoint(self, line: str, recording: Recording | None = None) -> Breakpoint:
        """Set a breakpoint: `victim if plugin == "gang"`, with or without `break` before it.

        With a recording, names that it does not have are an error.
        """
        from vcdebug.debugger.breakpoint import parse_breakpoint  # no first screen has breakpoints

        point = parse_breakpoint(line, self._last + 1, recording)
        self._last += 1
        self._entries[point.number] = point
        return point

    def toggle_breakpoint(self, number: int) -> Breakpoint:
        """Enable or disable a breakpoint."""
        point = self[number]
        point.enabled = not point.enabled
        return point

    def replace_breakpoint(self, number: int, line: str, recording: Recording | None = None) -> Breakpoint:
        """Redefine a breakpoint, keeping its number and position in the list."""
        from vcdebug.debugger.breakpoint import parse_breakpoint

        point = parse_breakpoint(line, self[number].number, recording)
        self._entries[number] = point
        return point

    def command_lines(self) -> list[str]:
        """The command lines that set all breakpoints, for a file."""
        return [point.command_line() for point in self]

    def next_stop(self, recording: Recording, seq: Seq, step: Step) -> BreakpointHit | None:
        """The nearest hit of an enabled breakpoint beyond an event; of two at one event, the lower number."""
        nearest: BreakpointHit | None = None
        for point in self:
            if not point.enabled or point.log is not None:
                continue
            hit = point.next_hit(recording, seq, step)
            if hit is not None and (nearest is None or (hit - nearest.seq) * step < 0):
                nearest = BreakpointHit(hit, point)
        return nearest

    def log_lines_between(self, recording: Recording, seq: Seq, target: Seq, step: Step) -> list[BreakpointLogLine]:
        """Log lines of breakpoints that are passed from an event to a target, the target included."""
        lines: list[BreakpointLogLine] = []
        for point in self:
            if point.enabled and point.log is not None:
                hits = point.hit_seqs(recording)
                passed = (hit for hit in hits if (seq < hit <= target if step == FORWARD else target <= hit < seq))
                lines.extend(BreakpointLogLine(hit, point.number, point.log_text(recording, hit)) for hit in passed)
        return sorted(lines, key=lambda line: (line.seq * step, line.number))


class WatchError(VcdebugError):
    """A text that is neither a figure nor an expression of the recording."""


class Watch(Struct, frozen=True):
    """A watched figure or expression, as the user wrote it."""

    number: int
    text: str

    @property
    def is_figure(self) -> bool:
        """Whether it names a figure; otherwise it is an expression."""
        return names_figure(self.text)


class WatchValue(Struct, frozen=True):
    """A watch at an event, in words."""

    watch: Watch
    current: str
    before: str
    """The value before the event."""
    change: FigureChange | None = None
    """The last change of a figure; None where there was none, and for expressions."""
    old: str = ""
    new: str = ""


VALUE_EXAMPLE: Final = "a figure such as node n1 idle cpu, or an expression such as count(victims)"


def names_figure(text: str) -> bool:
    """Whether a text is a figure (`node n1 idle`) and no expression (`node == "n1"`, `count(victims)`)."""
    kind, _, arguments = text.strip().partition(" ")
    begins = arguments.strip().partition(" ")[0]
    return (
        figures.KIND_ALIASES.get(kind, kind) in figures.FIGURE_KINDS
        and begins[:1].isalnum()
        and begins not in ("in", "not", "matches", "and", "or")
    )


def normalize_watch(recording: Recording, text: str) -> str:
    """The normalised text of a watch; raises if it can have no value in this recording."""
    if not text.strip():
        raise WatchError("no value is named", VALUE_EXAMPLE)
    if names_figure(text):
        return str(parse_figure(recording, _token_words(text)))
    parse_expression(text, FIELD_TYPES, partial(parse_figure, recording))
    return text.strip()


def evaluate_watch(recording: Recording, seq: Seq, watch: Watch) -> WatchValue:
    """The value of a watch at an event, or a text that the recording lacks it."""
    if not watch.is_figure:
        return WatchValue(
            watch, _evaluated_text(recording, seq, watch.text), _evaluated_text(recording, seq - 1, watch.text)
        )
    try:
        figure = parse_figure(recording, _token_words(watch.text))
    except FigureError as error:
        return WatchValue(watch, error.message, "")
    show = partial(figures.format_figure, figure)
    now, before = (show(figures.figure_value(recording, figure, moment)) for moment in (seq, seq - 1))
    change = figure_history(recording, figure).last_change(seq)
    if change is None:
        return WatchValue(watch, now, before)
    return WatchValue(watch, now, before, change, show(change.old), show(change.new))


def evaluate_text(recording: Recording, seq: Seq, text: str) -> str:
    """The value of a figure or an expression at an event; raises VcdebugError for what is neither."""
    return evaluate_watch(recording, seq, Watch(0, normalize_watch(recording, text))).current


def _token_words(text: str) -> tuple[str, ...]:
    return tuple(token.text_content for token in tokens_of(text) if token.kind != "end")


def _evaluated_text(recording: Recording, seq: Seq, text: str) -> str:
    if seq < 1:
        return "-"
    return _value_text(parse_expression(text, FIELD_TYPES).evaluate(fields_of(recording, seq)))


def _value_text(value: Value) -> str:
    if isinstance(value, tuple):
        return ", ".join(value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else str(value)


class WatchList(NumberedList[Watch]):
    """Watches by number."""

    WHAT = "watch"
    MISSING = WatchError

    def add_watch(self, text: str, recording: Recording) -> Watch:
        """Watch a figure or an expression; a second watch of the same text changes nothing."""
        return self.keep_watch(normalize_watch(recording, text))

    def keep_watch(self, text: str) -> Watch:
        """Same as add_watch, without checking the text against a recording."""
        # By normalised text, so that two spellings of a figure give one watch.
        existing = next((watch for watch in self if watch.text == text), None)
        if existing is not None:
            return existing
        self._last += 1
        self._entries[self._last] = Watch(self._last, text)
        return self._entries[self._last]
