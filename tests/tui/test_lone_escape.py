"""Esc alone acts soon, before Textual stops waiting for the rest of a key that begins with the same byte."""

import os
import threading
from collections.abc import Callable
from typing import cast

from textual._xterm_parser import XTermParser
from textual.events import Key

from vcdebug.tui import terminal
from vcdebug.tui.terminal import TerminalDriver


class Input:
    """A driver between two pipes: what is typed into the first one is read from the second one."""

    def __init__(self) -> None:
        self.exit_event = threading.Event()
        source, self._keyboard = os.pipe()
        self._typed, target = os.pipe()
        driver = cast(TerminalDriver, self)
        copy: Callable[[TerminalDriver, int, int], None] = TerminalDriver._copy_valid_text
        self._thread = threading.Thread(target=copy, args=(driver, source, target))
        self._thread.start()

    def enter(self, data: bytes) -> bytes:
        """What arrives for bytes that come at once."""
        os.write(self._keyboard, data)
        return os.read(self._typed, 100)

    def close(self) -> None:
        self.exit_event.set()
        os.close(self._keyboard)
        self._thread.join()


def test_an_escape_that_nothing_follows_is_the_key_and_others_stay_as_they_are() -> None:
    keys = Input()
    try:
        assert b"\x1b[27u" == keys.enter(b"\x1b")
        assert b":abc\x1b[27u" == keys.enter(b":abc\x1b")
        for whole in (b"\x1b[A", b"\x1bn", b"\x1b[27u", b"n"):
            assert whole == keys.enter(whole)
    finally:
        keys.close()


def test_the_wait_for_the_rest_of_a_key_is_short() -> None:
    assert terminal.ESCAPE_SECONDS <= 0.05


def test_two_quick_escapes_are_two_keys() -> None:
    keys = Input()
    try:
        events = [*XTermParser().feed(keys.enter(b"\x1b\x1b").decode())]
        assert ["escape", "escape"] == [event.key for event in events if isinstance(event, Key)]
    finally:
        keys.close()
