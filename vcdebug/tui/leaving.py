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

TERMINAL_CHECK_SECONDS = 1.0
"""Seconds between looks whether the terminal is still there."""
EXIT_TIMEOUT_SECONDS = 2.0
"""Seconds to leave without one: what was being drawn may wait for a thread that the missing terminal has ended."""
EXIT_SIGNALS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT)
EXIT_INTERRUPTED = 130

INPUT_FLAGS, LOCAL_FLAGS = 0, 3
"""Where they stand in what `tcgetattr` answers."""
RESTORING: Final = b"\x1b[?2004l\x1b[?7h\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[<u\x1b[?1049l\x1b[?25h\x1b[?1004l\x1b[0m"
"""Undoes what the driver asks of the terminal: pastes, wrapping, mouse, keys, alternate screen, cursor, focus."""


class TerminalWatch:
    """Leaves once; `leave` is what a key would do."""

    def __init__(self, leave: Callable[[int], object]) -> None:
        """`leave` is called with the exit code."""
        self._leave = leave
        self._told_before = False
        self._ending: threading.Timer | None = None

    def handle_signals(self) -> None:
        """From here on signals are heard in the loop that runs."""
        loop = asyncio.get_running_loop()
        for number in EXIT_SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)

    def check_terminal(self) -> None:
        """Whoever starts the debugger may keep it from being told that the terminal was closed, as make does: no key
        ever comes again, and looking for one never waits.
        """
        if is_hung_up(0):
            self._leave_without_terminal()

    def _on_signal(self, number: signal.Signals) -> None:
        """Leave; where it is said a second time, leave soon.

        The handlers stay: the signal's default would end the process before the terminal is as it was.
        """
        again, self._told_before = self._told_before, True
        if number is signal.SIGHUP or is_hung_up(0):
            self._leave_without_terminal()
        elif again:
            self._end_soon(EXIT_INTERRUPTED, restore_terminal)
        else:
            self._leave(EXIT_INTERRUPTED if number is signal.SIGINT else 0)

    def _leave_without_terminal(self) -> None:
        if is_hung_up(0):
            discard_output()
        self._end_soon(0, lambda: None)
        self._leave(0)

    def _end_soon(self, code: int, before: Callable[[], object]) -> None:
        """End the process by force, unless it ends by itself until then."""
        if self._ending is None:
            self._ending = threading.Timer(EXIT_TIMEOUT_SECONDS, _end, (code, before))
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


def is_hung_up(descriptor: int) -> bool:
    """Whether nobody is at the other end any more."""
    looked = select.poll()
    looked.register(descriptor, 0)
    return bool(looked.poll(0))


def discard_output() -> None:
    """What is still drawn on the way out goes nowhere: a terminal that is gone refuses it."""
    redirect_fds(os.devnull, 0, 1, 2)


def redirect_fds(path: str, *descriptors: int) -> None:
    """From here on these descriptors are the file's."""
    file = os.open(path, os.O_RDWR)
    for descriptor in descriptors:
        os.dup2(file, descriptor)
    os.close(file)
