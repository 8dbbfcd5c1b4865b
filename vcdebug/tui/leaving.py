"""The debugger ends as if somebody had left it, session kept, where it is told to or its terminal is gone."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final

LOOK = 1.0
"""Seconds between looks whether the terminal is still there."""
PATIENCE = 2.0
"""Seconds to leave without one: what was being drawn may wait for a thread that the missing terminal has ended."""
TOLD = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
EXIT_INTERRUPTED = 130

INPUT_FLAGS, LOCAL_FLAGS = 0, 3
"""Where they stand in what `tcgetattr` answers."""
RESTORING: Final = b"\x1b[?2004l\x1b[?7h\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[0m"
"""Undoes what the driver asks of the terminal: pastes, wrapping, mouse, keys, alternate screen, cursor, focus."""


class Leaving:
    """Leaves once; `leave` is what a key would do."""

    def __init__(self, leave: Callable[[int], object]) -> None:
        """`leave` is called with the exit code."""
        self._leave = leave
        self._told_before = False
        self._ending: threading.Timer | None = None

    def listen(self) -> None:
        """From here on signals are heard in the loop that runs."""
        loop = asyncio.get_running_loop()
        for number in TOLD:
            loop.add_signal_handler(number, self._told, number)

    def look(self) -> None:
        """Whoever starts the debugger may keep it from being told that the terminal was closed, as make does: no key
        ever comes again, and looking for one never waits.
        """
        if hung_up(0):
            self._without_terminal()

    def _told(self, number: signal.Signals) -> None:
        """Leave; where it is said a second time, leave soon.

        The handlers stay: the signal's default would end the process before the terminal is as it was.
        """
        again, self._told_before = self._told_before, True
        if number is signal.SIGHUP or hung_up(0):
            self._without_terminal()
        elif again:
            self._end_soon(EXIT_INTERRUPTED, restore_terminal)
        else:
            self._leave(EXIT_INTERRUPTED if number is signal.SIGINT else 0)

    def _without_terminal(self) -> None:
        if hung_up(0):
            to_nowhere()
        self._end_soon(0, lambda: None)
        self._leave(0)

    def _end_soon(self, code: int, before: Callable[[], object]) -> None:
        """End the process by force, unless it ends by itself until then."""
        if self._ending is None:
            self._ending = threading.Timer(PATIENCE, _end, (code, before))
            self._ending.daemon = True
            self._ending.start()


def _end(code: int, before: Callable[[], object]) -> None:
    try:
        before()
    finally:
        os._exit(code)


def restore_terminal() -> None:
    """Leave the alternate screen, show the cursor, and take keys and lines as a shell does."""
    with suppress(OSError, termios.error):
        os.set_blocking(2, False)  # a terminal that takes nothing more must not keep the process
        os.write(2, RESTORING)
        os.set_blocking(2, True)  # the shell has the same terminal
        settings = termios.tcgetattr(0)
        settings[LOCAL_FLAGS] |= termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG
        settings[INPUT_FLAGS] |= termios.ICRNL | termios.IXON
        termios.tcsetattr(0, termios.TCSANOW, settings)


def hung_up(descriptor: int) -> bool:
    """Whether nobody is at the other end any more."""
    looked = select.poll()
    looked.register(descriptor, 0)
    return bool(looked.poll(0))


def to_nowhere() -> None:
    """What is still drawn on the way out goes nowhere: a terminal that is gone refuses it."""
    lead(os.devnull, 0, 1, 2)


def lead(path: str, *descriptors: int) -> None:
    """From here on these descriptors are the file's."""
    file = os.open(path, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(file, descriptor)
    os.close(file)
