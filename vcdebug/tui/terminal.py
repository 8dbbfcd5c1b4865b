"""Traffic between terminal and application: keys one at a time, changed cells, and printable text."""

from __future__ import annotations

import gc
import os
import re
import select
import threading
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from rich.cells import get_character_cell_size
from rich.segment import Segment
from textual import constants, events
from textual.color import Color
from textual.drivers.linux_driver import LinuxDriver
from textual.filter import LineFilter
from textual.message_pump import MessagePump
from textual.timer import Timer

from vcdebug.printable import make_line_printable

if TYPE_CHECKING:
    from textual.app import App


POLL_SECONDS: Final = 0.1
"""Between two checks whether the screen is closed."""
READ_BYTES: Final = 4096
ESCAPE: Final = "\x1b"
REST_OF_ESCAPE: Final = "[27u"
"""Makes a byte certainly Esc that may also begin another key: Textual waits 100 to 200 ms for more."""
ESCAPE_SECONDS: Final = constants.ESCAPE_DELAY if "ESCDELAY" in os.environ else 0.025
"""Seconds in which the rest of a key follows its first byte."""
FOLLOW_TIMEOUT_SECONDS: Final = 0.5
"""Seconds after which a callback in a closed message queue is given up."""
REST_SECONDS: Final = 0.2
"""Seconds without a key after which recent garbage is collected, so that no key has to wait for it."""
FOLLOW_LAPS: Final = 3
"""Passes of the callback: for the key, for the message that it caused, and for the result of a closed dialog."""


class TypeAhead:
    """Delivers typed keys one at a time: of keys that arrive together, the first may move the focus of the second.

    After each key a callback goes through the message queue of every widget up to the app. When it returns, the key's
    effects are done, and the next key follows.
    """

    def __init__(
        self, app: App[int], deliver: Callable[[events.Key], Awaitable[None]], must_wait: Callable[[events.Key], bool]
    ) -> None:
        """`must_wait`: whether a key waits, with all that follow it, until `deliver_waiting`."""
        self._app = app
        self._give = deliver
        self._must_wait = must_wait
        self._waiting_keys: deque[events.Key] = deque()
        self._pumps: Iterator[MessagePump] = iter(())
        """The pumps that the current key's callback has still to pass; callbacks of earlier keys are ignored."""
        self._follow: Callable[[], None] = self._finish_key
        """The current key's callback."""
        self._limit: Timer | None = None
        self._collection: Timer | None = None
        self._is_delivering = False
        self._awaited_pump: MessagePump | None = None
        """The widget whose message queue holds the callback."""
        self._frame_delay = ExitStack()
        """Holds back frames until the key's effects are done: a slow key would draw five or more."""

    def add_key(self, key: events.Key) -> None:
        if self._waiting_keys and not self._must_wait(key) and self._must_wait(self._waiting_keys[0]):
            self._waiting_keys.clear()  # this key leaves the screen on which they wait
        self._waiting_keys.append(key)
        self.deliver_waiting()

    def deliver_waiting(self) -> None:
        """Deliver the first key, unless it still has to wait or an earlier one has effects to come."""
        if self._is_delivering or not self._waiting_keys or self._must_wait(self._waiting_keys[0]):
            return
        self._is_delivering = True
        self._awaited_pump = self._app
        self._start_timer()
        self._app.call_later(self._deliver_key, self._waiting_keys.popleft())

    async def _deliver_key(self, key: events.Key) -> None:
        pumps = self._pumps = self._pumps_to_pass(self._focus_path())
        # One callback for all queues: Textual inspects the signature of each new one.
        self._follow = partial(self._follow_key, pumps)
        self._frame_delay.enter_context(self._app.batch_update())
        await self._give(key)
        self._follow()

    def _pumps_to_pass(self, path: Iterable[MessagePump]) -> Iterator[MessagePump]:
        """The message pumps of a key's path, then those of the later passes, whose focus may be another one."""
        yield from path
        for _ in range(FOLLOW_LAPS - 1):
            yield from self._focus_path()

    def _focus_path(self) -> tuple[MessagePump, ...]:
        """The message pumps that a key passes, from the focused widget up to the application."""
        return tuple((self._app.focused or self._app.screen).ancestors_with_self)

    def _follow_key(self, pumps: Iterator[MessagePump]) -> None:
        if pumps is not self._pumps:
            return
        for pump in pumps:
            self._awaited_pump = pump
            # A closed queue rejects the callback, which then goes to the next widget up the tree.
            if pump.post_message(events.Callback(self._follow)):
                return
        self._finish_key()

    def _start_timer(self) -> None:
        self._limit = self._app.set_timer(FOLLOW_TIMEOUT_SECONDS, self._check_follower)

    def _check_follower(self) -> None:
        """Give up the callback if its message queue is closed; wait longer for a slow one."""
        if self._awaited_pump is not None and self._awaited_pump.is_running:
            self._start_timer()
        else:
            self._finish_key()

    def _finish_key(self) -> None:
        if self._limit is not None:
            self._limit.stop()
        if self._collection is not None:
            self._collection.stop()
        self._collection = self._app.set_timer(REST_SECONDS, partial(gc.collect, 1))
        self._limit, self._awaited_pump, self._is_delivering, self._pumps = None, None, False, iter(())
        self._frame_delay.close()
        self._app.screen.check_idle()  # the end of a batch wakes only the app, and the screen draws
        self.deliver_waiting()


SETTLING_SECONDS: Final = 1.0
"""Seconds after a change of size during which frames are sent completely."""


Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

MAX_REWRITTEN_CHARACTERS: Final = 8
"""So many unchanged characters are written again, which takes fewer bytes than moving the cursor."""
_RESET: Final = "\x1b[0m"
_SPACE: Final = ord(" ")
_PART: Final = re.compile(r"((?:\x1b\[[\d;]*m)*)(?:([^\x1b\n]+)(\x1b\[0m)?|\x1b\[(\d+);(\d+)H|(\x1b)|\n|\Z)")
"""A part of a frame: styles, and after them a text, a cursor move, any other escape sequence or the end of a line."""
_FRAME_START: Final = re.compile(r"\x1b\[\d+;\d+H")
_KEEPS_CONTENT: Final = re.compile(r"(\x1b\[\?(?!1049)[\d;]+[hl])*(\x1b\].*)?", re.DOTALL)
"""Sequences that change no cell: modes (except the alternate screen), titles and clipboard."""


class TerminalContent:
    """The cells that the terminal shows, so that only changed cells of a frame are sent.

    Textual redraws whole lines of a widget. Over a slow connection that is 30 times what changes.
    """

    def __init__(self) -> None:
        self._styles = _Styles()
        self._line_length = 1
        """Cells per line, one more than the terminal has, so that no two lines adjoin."""
        self._characters: Numbers = np.zeros(0, np.int64)
        """The character of each cell, line by line; 0 where the content is unknown."""
        self._shown_styles: Numbers = np.zeros(0, np.int64)
        """The style of each cell; that of a space is its background."""
        self._position = (0, 0)
        """Where the cursor is."""

    def forget(self) -> None:
        """Forget all cells: the content of the terminal is unknown."""
        self._characters[:] = 0
        self._position = (0, 0)

    def changed_part(self, data: str) -> str:
        """The shortest known output with the same effect on the screen as `data`."""
        if _FRAME_START.match(data) is None:
            if _KEEPS_CONTENT.fullmatch(data) is None:
                self.forget()
            return data
        frame = _read_frame(data, self._styles)
        if frame is not None:
            self._make_room(frame)
            cells = frame.cells(self._line_length)
        # Over another text of this frame, or in two cells or none, a character needs the frame's own order.
        if frame is None or not _is_narrow(frame.text) or np.bincount(cells).max(initial=0) > 1:
            self.forget()
            return data
        runs = self._changed_runs(frame, cells)
        if not runs and frame.position == self._position:
            return ""
        self._position = frame.position
        return "".join([*self._written_runs(runs), f"\x1b[{frame.position[0]};{frame.position[1]}H"])

    def _make_room(self, frame: _FrameText) -> None:
        """Make room for the frame; the cells of a terminal that had less are unknown."""
        length = max(map(sum, zip(frame.columns, frame.lengths, strict=True)), default=0) + 1
        line_count = max(frame.rows, default=0) + 1
        if length > self._line_length or line_count * self._line_length > len(self._characters):
            self._line_length = max(length, self._line_length)
            self._characters = np.zeros(line_count * self._line_length, np.int64)
            self._shown_styles = np.zeros_like(self._characters)

    def _changed_runs(self, frame: _FrameText, cells: Numbers) -> list[_Run]:
        """The changed stretches, each in one style; the content is that of the frame from now on."""
        characters = np.frombuffer(frame.text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
        grounds, numbers = np.array(self._styles.grounds, np.int64), np.array(frame.styles, np.int64)
        written = np.repeat(numbers, np.array(frame.lengths, np.int64))
        styles = np.where(characters == _SPACE, grounds[written], written)
        changed = (self._characters[cells] != characters) | (self._shown_styles[cells] != styles)
        self._characters[cells], self._shown_styles[cells] = characters, styles
        if not changed.any():
            return []
        breaks = np.diff(cells, prepend=-1) != 1
        styles = _join_spaces(characters == _SPACE, styles, written, grounds, np.cumsum(breaks))
        starts = np.flatnonzero(breaks | _is_new(styles) | _is_new(changed))
        ends = np.append(starts[1:], len(cells))
        # A short unchanged text between two changes in its style is written again.
        joins = ~breaks[starts] & ~_is_new(styles[starts])
        kept = changed[starts]
        kept = kept | ((ends - starts <= MAX_REWRITTEN_CHARACTERS) & joins & np.append(joins[1:], False))
        begins = kept & ~(joins & np.append(False, kept[:-1]))
        finishes = kept & np.append(begins[1:] | ~kept[1:], True)
        first, last = starts[begins], ends[finishes]
        rows, columns = np.divmod(cells[first], self._line_length)
        places = zip(
            rows.tolist(), columns.tolist(), first.tolist(), last.tolist(), styles[first].tolist(), strict=True
        )
        return [_Run(row, column, frame.text[start:end], style) for row, column, start, end, style in places]

    def _written_runs(self, runs: list[_Run]) -> list[str]:
        """The output of the runs, by style: changing the style takes more bytes than moving the cursor."""
        by_style: dict[int, list[_Run]] = {}
        for run in runs:
            by_style.setdefault(run.style, []).append(run)
        parts, row, column = [], 0, 0
        for style, same in by_style.items():
            name = self._styles.names[style]
            parts.append(f"\x1b[0;{name}m" if name else _RESET)
            for run in same:
                forward = run.row == row and run.column > column
                parts.append(f"\x1b[{run.column - column}C" if forward else f"\x1b[{run.row};{run.column}H")
                parts.append(run.text)
                row, column = run.row, run.column + len(run.text)
        return [*parts, _RESET] if parts else []


class _Run(NamedTuple):
    """A text to be written at a place in one style."""

    row: int
    column: int
    text: str
    style: int


class _FrameText(NamedTuple):
    """The texts of a frame, each with its place and style, and where it leaves the cursor."""

    text: str
    """All texts, one behind the other."""
    rows: list[int]
    columns: list[int]
    lengths: list[int]
    styles: list[int]
    position: tuple[int, int]

    def cells(self, line_length: int) -> Numbers:
        """The index of each character's cell."""
        starts = np.array(self.rows, np.int64) * line_length + np.array(self.columns, np.int64)
        lengths = np.array(self.lengths, np.int64)
        return np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(len(self.text))


def _read_frame(data: str, styles: _Styles) -> _FrameText | None:
    """The texts of a frame; None for one with other sequences than moves and styles."""
    texts: list[tuple[str, int, int, int]] = []
    row = column = 0
    style = ""
    for codes, text, reset, moved_row, moved_column, escape in _PART.findall(data):
        if codes:
            style += codes
        if text:
            texts.append((text, row, column, styles[style]))
            column += len(text)
            if reset:
                style = ""
        elif moved_row:
            row, column = int(moved_row), int(moved_column)
        elif escape:
            return None
        else:
            style = ""
    found, rows, columns, numbers = map(list, zip(*texts, strict=True)) if texts else ([], [], [], [])
    return _FrameText("".join(found), rows, columns, list(map(len, found)), numbers, (row, column))


def _is_narrow(text: str) -> bool:
    """Whether every character takes one cell."""
    return text.isascii() or all(get_character_cell_size(sign) == 1 for sign in {*text})


def _is_new(values: Numbers | Flags) -> Flags:
    """Whether each value differs from the one before it."""
    return np.append(True, values[1:] != values[:-1])


def _join_spaces(spaces: Flags, styles: Numbers, written: Numbers, grounds: Numbers, stretches: Numbers) -> Numbers:
    """The styles, with those of spaces replaced by that of the text beside them in which they look the same."""
    index = np.arange(len(spaces))
    before = np.maximum.accumulate(np.where(spaces, 0, index))
    after = np.minimum.accumulate(np.where(spaces, len(spaces) - 1, index)[::-1])[::-1]
    for near in (after, before):
        fits = spaces & ~spaces[near] & (stretches[near] == stretches) & (grounds[written[near]] == grounds[written])
        styles = np.where(fits, written[near], styles)
    return styles


_STYLE: Final = re.compile(
    r"(?:[1-3568](?:;|$))*(?:(?:38;2;\d+;\d+;\d+|38;5;\d+|[39][0-7])(?:;|$))?"
    r"(48;2;\d+;\d+;\d+|48;5;\d+|4[0-7]|10[0-7])?"
)
"""A style of Rich without lines or reversed colours: attributes, text colour, background colour."""


class _Styles(dict[str, int]):
    """Style sequences as written in a frame → the number of the style."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        """The parameters of each style."""
        self.grounds: list[int] = []
        """The number of each style's background part, all that shows of it on a space."""

    def __missing__(self, codes: str) -> int:
        _, _, current = codes.rpartition(_RESET)
        name = current.replace("\x1b[", ";").replace("m", "").lstrip(";")
        self[codes] = self._number(name)
        return self[codes]

    def _number(self, name: str) -> int:
        if name in self.names:
            return self.names.index(name)
        number = len(self.names)
        self.names.append(name)
        self.grounds.append(number)
        match = _STYLE.fullmatch(name)
        if match is not None:
            self.grounds[number] = self._number(match[1] or "")
        return number


class TerminalDriver(LinuxDriver):
    """Driver that writes only changed cells to the terminal, and drops input that is not UTF-8.

    Textual's own reader ends at the first such byte and leaves the cursor hidden.
    """

    shown: TerminalContent | None = None
    """The content of the terminal; None before the first write."""
    _terminal = -1
    """Descriptor of the terminal; `fileno` is another one while the reader runs."""
    _size: os.terminal_size | None = None
    _trusted_from = 0.0
    """Monotonic time from which on the terminal's content is known again after a change of size."""

    def write(self, data: str) -> None:
        """Write the changed part of the data to the terminal."""
        if self.shown is None:
            self.shown, self._terminal = TerminalContent(), self.fileno
        with suppress(OSError):
            size = os.get_terminal_size(self._terminal)
            if size != self._size:
                self._trusted_from = monotonic() + SETTLING_SECONDS if self._size is not None else 0.0
                self._size = size
        # A terminal may move its lines before or after the program receives the new size.
        if monotonic() < self._trusted_from:
            self.shown.forget()
        super().write(self.shown.changed_part(data))

    def run_input_thread(self) -> None:
        """Convert the terminal's input to messages, until the screen is closed."""
        terminal = self.fileno
        self.fileno, target = os.pipe()
        cleaner = threading.Thread(target=self._copy_valid_text, args=(terminal, target), daemon=True)
        cleaner.start()
        try:
            super().run_input_thread()
        finally:
            cleaner.join()
            os.close(self.fileno)
            os.close(target)
            # Textual resets the terminal by this number once its reader has ended.
            self.fileno = terminal

    def _copy_valid_text(self, terminal: int, target: int) -> None:
        decoder = getincrementaldecoder("utf-8")("ignore")
        while not self.exit_event.is_set():
            if select.select([terminal], [], [], POLL_SECONDS)[0]:
                data = os.read(terminal, READ_BYTES)
                text = decoder.decode(data)
                if text.endswith(ESCAPE) and not select.select([terminal], [], [], ESCAPE_SECONDS)[0]:
                    text += REST_OF_ESCAPE
                os.write(target, text.encode())
                if not data:  # a closed terminal is always ready
                    self.exit_event.wait(POLL_SECONDS)


class PrintableFilter(LineFilter):
    """Draws text in its printable form, whichever widget it comes from; a line that becomes too wide is cut."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments in printable form, in as many cells as before."""
        # Every line of every frame passes here, and hardly any has something to replace.
        text = "".join([segment.text for segment in segments])
        if make_line_printable(text) == text:
            return segments
        printable = list(map(_make_segment_printable, segments))
        width, target_width = Segment.get_line_length(printable), Segment.get_line_length(segments)
        return Segment.adjust_line_length(printable, target_width) if width > target_width else printable


PRINTABLE: Final = PrintableFilter()


def _make_segment_printable(segment: Segment) -> Segment:
    text = make_line_printable(segment.text)
    return segment if text == segment.text or segment.control else Segment(text, segment.style)
