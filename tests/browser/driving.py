"""A page of `vcdebug serve` in a browser: the received output on an emulated terminal, and the drawn pixels."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

import pyte

from tests.effort import PATIENCE

SECONDS = 15
"""Seconds within which a page must show something; a tenth is enough even on a busy machine."""
INK = """() => {
  const canvas = document.querySelector("canvas.xterm-text-layer");
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  let drawn = 0;
  for (let at = 0; at < data.length; at += 4) drawn += data[at] + data[at + 1] + data[at + 2] > 300;
  return drawn;
}"""
"""A script that counts bright pixels, since the terminal is a canvas without text."""


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[str]:
    """Run `vcdebug serve` and yield its address with the token; the process must end with status 0."""
    command = [sys.executable, "-m", "vcdebug", "serve", *options, "--port", "0", "--fresh"]
    environment = {**os.environ, "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    with Popen(command, env=environment, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found is not None
        yield found[0]
        process.send_signal(signal.SIGINT)
        assert ("", "") == process.communicate(timeout=PATIENCE)
    assert 0 == process.returncode


class TerminalPage:
    """A browser page that shows the debugger."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.faults: list[str] = []
        self._screen = pyte.Screen(80, 24)
        self._stream = pyte.ByteStream(self._screen)
        page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        page.on("websocket", self._listen)

    def _listen(self, socket: Any) -> None:
        socket.on("framereceived", self._receive)
        socket.on("framesent", self._resize)
        width, height = (int(re.search(rf"{name}=(\d+)", socket.url)[1]) for name in ("width", "height"))  # type: ignore[index]
        self._screen.resize(height, width)

    def _receive(self, data: str | bytes) -> None:
        if isinstance(data, bytes):
            # pyte would print the parameters of sequences that it does not know: mode queries and OSC 52.
            self._stream.feed(re.sub(rb"\x1b\[[?>=<][0-9;]*[$u]p?|\x1b\]52;[^\x07\x1b]*(?:\x07|\x1b\\)", b"", data))

    def _resize(self, data: str | bytes) -> None:
        found = re.match(r'\["resize",\{"width":(\d+),"height":(\d+)\}', str(data))
        if found:
            self._screen.resize(int(found[2]), int(found[1]))

    @property
    def size(self) -> tuple[int, int]:
        """(columns, lines) of the terminal."""
        return self._screen.columns, self._screen.lines

    def text(self) -> str:
        return "\n".join(self._screen.display)

    def ink(self) -> int:
        return int(self.page.evaluate(INK))

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until the condition holds; on failure, show the terminal's content."""
        for _ in range(SECONDS * 20):
            if holds():
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(self.text())

    def wait_for(self, *words: str) -> None:
        self.wait_until(lambda: all(word in self.text() for word in words))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.page.keyboard.type(text)
