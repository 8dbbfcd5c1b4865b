"""The driver of a terminal, which survives what a person may type or paste into it."""

from __future__ import annotations

import os
import select
from codecs import getincrementaldecoder
from typing import Final

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

WAIT: Final = 0.1
"""Seconds between two looks whether the screen is closed, and whether a lone Escape is a key."""
READ_BYTES: Final = 4096


class TerminalDriver(LinuxDriver):
    """Bytes that are no UTF-8 are no keys: Textual's own reader ends at the first one, and the cursor stays hidden."""

    def run_input_thread(self) -> None:
        """Turn what the terminal sends into messages, until the screen is closed."""
        decoder = getincrementaldecoder("utf-8")("ignore")
        parser = XTermParser(self._debug)
        while not self.exit_event.is_set():
            if select.select([self.fileno], [], [], WAIT)[0]:
                data = os.read(self.fileno, READ_BYTES)
                if not data:  # a closed terminal is always ready
                    self.exit_event.wait(WAIT)
                if text := decoder.decode(data):  # an empty text would end the parser
                    for message in parser.feed(text):
                        self.process_message(message)
            for message in parser.tick():
                self.process_message(message)
