"""The debugger ends as if somebody had left it, session kept, where it is told to or its terminal is gone."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import threading
from collections.abc import Callable

LOOK = 1.0
"""Seconds between looks whether the terminal is still there."""
PATIENCE = 2.0
"""Seconds to leave without one: what was being drawn may wait for a thread that the missing terminal has ended."""
TOLD = (signal.SIGHUP, signal.SIGTERM)


class Leaving:
    """Leaves once; `leave` is what a key would do."""

    def __init__(self, leave: Callable[[], object]) -> None:
        self._leave = leave

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
        """Leave; whoever says it a second time does not want to wait."""
        loop = asyncio.get_running_loop()
        for one in TOLD:
            loop.remove_signal_handler(one)
        if number is signal.SIGHUP or hung_up(0):
            self._without_terminal()
        else:
            self._leave()

    def _without_terminal(self) -> None:
        if hung_up(0):
            to_nowhere()
        ending = threading.Timer(PATIENCE, os._exit, (0,))
        ending.daemon = True
        ending.start()
        self._leave()


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
