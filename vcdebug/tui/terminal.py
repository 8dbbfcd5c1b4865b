"""What passes between the terminal and the application: keys one at a time, and printable lines."""

from __future__ import annotations

import os
import select
import threading
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from rich.segment import Segment
from textual import events
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
FOLLOW_TIMEOUT_SECONDS: Final = 0.5
"""Seconds after which a follower whose queue has been closed is abandoned."""
FOLLOW_LAPS: Final = 3
"""Passes of the follower: for the key, for the message that it led to, and for the result of a closed dialog."""


class TypeAhead:
    """A paste, a macro or a slow connection sends many keys at once; the first may move the focus of the second.

    A follower goes from queue to queue behind the key: when it comes through, everything before it has been done.
    """

    def __init__(self, app: App[int], give: Callable[[events.Key], Awaitable[None]]) -> None:
        self._app = app
        self._give = give
        self._waiting: deque[events.Key] = deque()
        self._turn = 0
        """The number of the current key; followers of earlier keys are ignored."""
        self._limit: Timer | None = None
        self._at_work = False
        self._waited_on: MessagePump | None = None
        """The widget in whose queue the follower is."""

    def add_key(self, key: events.Key) -> None:
        self._waiting.append(key)
        self._start_next()

    def _start_next(self) -> None:
        if self._at_work or not self._waiting:
            return
        self._at_work = True
        self._turn += 1
        self._waited_on = self._app
        self._start_timer()
        self._app.call_later(self._deliver_key, self._waiting.popleft())

    async def _deliver_key(self, key: events.Key) -> None:
        path = self._focus_path()
        await self._give(key)
        self._follow_key(self._turn, path, FOLLOW_LAPS)

    def _focus_path(self) -> tuple[MessagePump, ...]:
        """The message pumps that a key passes, from the focused widget up to the application."""
        return tuple((self._app.focused or self._app.screen).ancestors_with_self)

    def _follow_key(self, turn: int, way: tuple[MessagePump, ...], laps: int) -> None:
        if turn != self._turn or not self._at_work:
            return
        while way:
            pump, way = way[0], way[1:]
            self._waited_on = pump
            # call_later is refused by a closed queue: the next one up the tree takes the follower.
            if pump.call_later(self._follow_key, turn, way, laps):
                return
        if laps > 1:
            self._follow_key(turn, self._focus_path(), laps - 1)
        else:
            self._finish_key()

    def _start_timer(self) -> None:
        self._limit = self._app.set_timer(FOLLOW_TIMEOUT_SECONDS, self._check_follower)

    def _check_follower(self) -> None:
        """Give the follower up where its queue is closed; wait longer for a slow one."""
        if self._waited_on is not None and self._waited_on.is_running:
            self._start_timer()
        else:
            self._finish_key()

    def _finish_key(self) -> None:
        if self._limit is not None:
            self._limit.stop()
        self._limit, self._waited_on, self._at_work = None, None, False
        self._start_next()


class TerminalDriver(LinuxDriver):
    """Bytes that are not UTF-8 are dropped; Textual's own reader ends at the first one and leaves the cursor hidden."""

    def run_input_thread(self) -> None:
        """Turn what the terminal sends into messages, until the screen is closed."""
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
                os.write(target, decoder.decode(data).encode())
                if not data:  # a closed terminal is always ready
                    self.exit_event.wait(POLL_SECONDS)


class PrintableFilter(LineFilter):
    """Draws text in its printable form, whichever widget it comes from; a line that becomes too wide is cut."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The segments in printable form, in as many cells as before."""
        # Most lines are plain ASCII, and every line of every frame passes here.
        if all(segment.text.isascii() and segment.text.isprintable() for segment in segments):
            return segments
        drawn = list(map(_make_segment_printable, segments))
        width, wanted = Segment.get_line_length(drawn), Segment.get_line_length(segments)
        return Segment.adjust_line_length(drawn, wanted) if width > wanted else drawn


PRINTABLE: Final = PrintableFilter()


def _make_segment_printable(segment: Segment) -> Segment:
    text = make_line_printable(segment.text)
    return segment if text == segment.text or segment.control else Segment(text, segment.style)
