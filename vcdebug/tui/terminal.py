"""Traffic between terminal and application: keys one at a time, changed cells, and printable text."""

from __future__ import annotations

import gc
import os
import re
import select
import threading
from codecs import getincrementaldecoder
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from functools import partial
from itertools import groupby
from operator import eq
from time import monotonic
from typing import TYPE_CHECKING, Final, NamedTuple

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
"""Seconds without a key after which recent garbage is collected: between keys it keeps none of them waiting."""
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
        self._turn_number = 0
        """The number of the current key; callbacks of earlier keys are ignored."""
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
        self._turn_number += 1
        self._awaited_pump = self._app
        self._start_timer()
        self._app.call_later(self._deliver_key, self._waiting_keys.popleft())

    async def _deliver_key(self, key: events.Key) -> None:
        path = self._focus_path()
        self._frame_delay.enter_context(self._app.batch_update())
        await self._give(key)
        self._follow_key(self._turn_number, path, FOLLOW_LAPS)

    def _focus_path(self) -> tuple[MessagePump, ...]:
        """The message pumps that a key passes, from the focused widget up to the application."""
        return tuple((self._app.focused or self._app.screen).ancestors_with_self)

    def _follow_key(self, turn: int, path: tuple[MessagePump, ...], laps: int) -> None:
        if turn != self._turn_number or not self._is_delivering:
            return
        while path:
            pump, path = path[0], path[1:]
            self._awaited_pump = pump
            # A closed queue rejects call_later: the callback then goes to the next widget up the tree.
            if pump.call_later(self._follow_key, turn, path, laps):
                return
        if laps > 1:
            self._follow_key(turn, self._focus_path(), laps - 1)
        else:
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
        self._limit, self._awaited_pump, self._is_delivering = None, None, False
        self._frame_delay.close()
        self._app.screen.check_idle()  # the end of a batch wakes only the app, and the screen draws
        self.deliver_waiting()


SETTLING_SECONDS: Final = 1.0
"""Seconds after a change of size during which frames are sent completely."""
MAX_REWRITTEN_CHARACTERS: Final = 8
"""So many unchanged characters are written again, which takes fewer bytes than moving the cursor."""
Cell = tuple[str, str]
"""A character, and the parameters of its style (SGR)."""
_TOKEN: Final = re.compile(r"\x1b\[(\d+);(\d+)H|\x1b\[([\d;]*)m|\n|([^\x1b\n]+)|(\x1b)")
"""Parts of a frame: cursor moves, styles, line ends, text, and any other escape sequence."""
_FRAME_START: Final = re.compile(r"\x1b\[\d+;\d+H")
_KEEPS_CONTENT: Final = re.compile(r"(\x1b\[\?(?!1049)[\d;]+[hl])*(\x1b\].*)?", re.DOTALL)
"""Sequences that change no cell: modes (except the alternate screen), titles and clipboard."""


class TerminalContent:
    """The cells that the terminal shows, so that only changed cells of a frame are sent.

    Textual redraws whole lines of a widget. Over a slow connection that is 30 times what changes.
    """

    def __init__(self) -> None:
        self._lines: defaultdict[int, list[Cell | None]] = defaultdict(list)
        """Line from 1 → its cells; None, and beyond the end, where the content is unknown."""
        self._texts: dict[int, dict[int, tuple[str, str, int]]] = {}
        """Line → column → the (text, style, end column) that was last written there.

        Most of a frame is the same, and a text is compared faster than its cells.
        """

        self._grounds = _Grounds()
        self._position = (0, 0)
        """Where the cursor is."""

    def forget(self) -> None:
        """Forget all cells: the content of the terminal is unknown."""
        self._lines.clear()
        self._texts.clear()
        self._position = (0, 0)

    def changed_part(self, data: str) -> str:
        """The shortest known output with the same effect on the screen as `data`."""
        if _FRAME_START.match(data) is None:
            if _KEEPS_CONTENT.fullmatch(data) is None:
                self.forget()
            return data
        changes, style, position = _Changes(self._grounds), "", (0, 0)
        for row, column, sgr, text, escape in _TOKEN.findall(data):
            if escape or (text and not self._put_text(changes, position, text, style)):
                self.forget()
                return data
            if row:
                position = (int(row), int(column))
            elif text:
                position = (position[0], self._texts[position[0]][position[1]][2])
            else:
                style = "" if sgr in ("", "0") else f"{style};{sgr}".lstrip(";")
        written = changes.write_all(position, self._position)
        self._position = position
        return written

    def _put_text(self, changes: _Changes, position: tuple[int, int], text: str, style: str) -> bool:
        """Add the changed cells of a text to `changes`; returns False for text that needs the order of the frame."""
        row, column = position
        texts, end = self._texts.setdefault(row, {}), column + len(text)
        if texts.get(column) == (text, style, end):
            return True
        for start in [start for start, entry in texts.items() if start < end and entry[2] > column]:
            del texts[start]
        texts[column] = (text, style, end)
        # Over another text of this frame, or in two cells or none, a character needs the frame's own order.
        is_narrow = text.isascii() or all(get_character_cell_size(sign) == 1 for sign in {*text})
        if not (changes.cover(row, column, end) and is_narrow):
            return False
        ground, line = self._grounds[style], self._lines[row]
        cells: list[Cell | None] = [(character, ground if character == " " else style) for character in text]
        line += [None] * (end - len(line))
        before, line[column:end] = line[column:end], cells
        # Of a first frame nothing is known: comparing cell by cell would take twice as long.
        if before.count(None) == len(before):
            changes.add_text(row, column, text, style)
            return True
        start = 0
        for is_same, part in groupby(map(eq, cells, before)):
            end = start + len([*part])
            hand_on = changes.pass_text if is_same else changes.add_text
            hand_on(row, column + start, text[start:end], style)
            start = end
        return True


class _Run(NamedTuple):
    """A piece of text at a place, to be written in one style."""

    row: int
    column: int
    text: str

    @property
    def end(self) -> int:
        """The column behind it."""
        return self.column + len(self.text)


class _Changes:
    """The changed cells of a frame, grouped by style: changing the style takes more bytes than moving the cursor."""

    def __init__(self, grounds: _Grounds) -> None:
        self._grounds = grounds
        self._covered: defaultdict[int, bytearray] = defaultdict(bytearray)
        """Line → 1 for each column that a text of this frame covers."""
        self._runs: dict[str, list[_Run]] = {}
        self._place, self._style = (0, 0), ""
        self._passed = ""
        """Unchanged characters after the last change; a few of them are cheaper to write than a cursor move."""

    def cover(self, row: int, column: int, end: int) -> bool:
        """Mark the columns before `end` as covered by a text; returns whether none of them was."""
        covered = self._covered[row]
        covered.extend(bytes(max(end - len(covered), 0)))
        is_free = 1 not in covered[column:end]
        covered[column:end] = b"\1" * (end - column)
        return is_free

    def add_text(self, row: int, column: int, text: str, style: str) -> None:
        """Add text in a style; of leading spaces only the ground shows."""
        bare = text.lstrip(" ")
        spaces = len(text) - len(bare)
        if spaces:
            self._add_run(_Run(row, column, text[:spaces]), self._grounds[style])
        if bare:
            self._add_run(_Run(row, column + spaces, bare), style)

    def _add_run(self, run: _Run, style: str) -> None:
        if (run.row, run.column) == self._place and len(self._passed) <= MAX_REWRITTEN_CHARACTERS:
            before = self._runs[self._style].pop()
            # A space takes the style of the neighbouring text if it looks the same in that style.
            if before.text.isspace() and not self._passed.strip() and self._grounds[style] == self._style:
                self._style = style
            if self._style == style or (not run.text.strip(" ") and self._grounds[self._style] == style):
                joined = _Run(before.row, before.column, f"{before.text}{self._passed}{run.text}")
                self._runs.setdefault(self._style, []).append(joined)
                self._place, self._passed = (run.row, run.end), ""
                return
            self._runs[self._style].append(before)
        self._runs.setdefault(style, []).append(run)
        self._place, self._style, self._passed = (run.row, run.end), style, ""

    def pass_text(self, row: int, column: int, text: str, style: str) -> None:
        """Go over text that is shown already."""
        looks_same = style == self._style or (
            not text.strip(" ") and self._grounds[style] in (self._style, self._grounds[self._style])
        )
        if (row, column) == self._place and looks_same and len(self._passed) + len(text) <= MAX_REWRITTEN_CHARACTERS:
            self._passed += text
            self._place = (row, column + len(text))

    def write_all(self, position: tuple[int, int], before: tuple[int, int]) -> str:
        """The output for all changed cells, followed by a move of the cursor to `position`; `before`: where it is."""
        if not self._runs and position == before:
            return ""
        parts, row, column = [], 0, 0
        for style in filter(self._runs.get, self._runs):
            parts.append(f"\x1b[0;{style}m" if style else "\x1b[0m")
            for run in self._runs[style]:
                forward = run.row == row and run.column > column
                parts.append(f"\x1b[{run.column - column}C" if forward else f"\x1b[{run.row};{run.column}H")
                parts.append(run.text)
                row, column = run.row, run.end
        return "".join([*parts, "\x1b[0m" if parts else "", f"\x1b[{position[0]};{position[1]}H"])


_STYLE: Final = re.compile(
    r"(?:[1-3568](?:;|$))*(?:(?:38;2;\d+;\d+;\d+|38;5;\d+|[39][0-7])(?:;|$))?"
    r"(48;2;\d+;\d+;\d+|48;5;\d+|4[0-7]|10[0-7])?"
)
"""A style of Rich without lines or reversed colours: attributes, text colour, background colour."""


class _Grounds(dict[str, str]):
    """Cache: style → its background part, all that shows of a style on a space."""

    def __missing__(self, style: str) -> str:
        match = _STYLE.fullmatch(style)
        self[style] = style if match is None else match[1] or ""
        return self[style]


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
        # Most lines are plain ASCII, and every line of every frame passes here.
        if all(segment.text.isascii() and segment.text.isprintable() for segment in segments):
            return segments
        printable = list(map(_make_segment_printable, segments))
        width, target_width = Segment.get_line_length(printable), Segment.get_line_length(segments)
        return Segment.adjust_line_length(printable, target_width) if width > target_width else printable


PRINTABLE: Final = PrintableFilter()


def _make_segment_printable(segment: Segment) -> Segment:
    text = make_line_printable(segment.text)
    return segment if text == segment.text or segment.control else Segment(text, segment.style)
