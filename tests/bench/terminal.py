"""Runs a program in its own terminal, sends keys, and measures until the last frame is written."""

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path
from typing import NamedTuple, Self

STILL = 0.12
"""Seconds without output and almost no work after which a program counts as idle."""
HARDLY = 0.003
"""Seconds of work during that time that count as none, such as a blinking cursor."""
LONGEST = 600.0
COUNTED = """
import cProfile, os, runpy, signal, sys
answer, profile = sys.argv.pop(1), cProfile.Profile()
def say(*_):
    with open(answer + ".part", "w") as file:
        file.write(str(sum(entry.callcount for entry in profile.getstats())))
    os.replace(answer + ".part", answer)
signal.signal(signal.SIGUSR1, say)
profile.enable()
runpy.run_module("vcdebug", run_name="__main__", alter_sys=True)
"""
"""A script that runs the program and reports the calls of its main thread on request."""


class Size(NamedTuple):
    """The size of a terminal."""

    columns: int
    lines: int


class Cost(NamedTuple):
    """The cost of a program until it was idle again."""

    processor: float
    """Processor seconds of all threads until the last byte."""
    wait: float
    """Wall-clock seconds until then."""


class Terminal:
    """`python -m vcdebug` of a checkout, in a terminal of a size."""

    def __init__(
        self, checkout: Path, arguments: list[str], size: Size, home: Path, *, counted: bool = False, code: str = ""
    ) -> None:
        """`code` runs in place of the program."""
        self.shown = b""
        self._answer = home / "calls"
        program = ["-c", COUNTED, str(self._answer)] if counted else ["-c", code] if code else ["-m", "vcdebug"]
        self._begin = time.perf_counter()
        self.pid, self._pty = pty.fork()
        if not self.pid:
            os.chdir(checkout)
            os.execve(sys.executable, [sys.executable, *program, *arguments], _environment(checkout, home))
        fcntl.ioctl(self._pty, termios.TIOCSWINSZ, struct.pack("HHHH", size.lines, size.columns, 0, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._pty)

    def until(self, words: bytes) -> Cost:
        """The cost from the start of the program until these words are shown and it is idle."""
        return self._rest(0.0, self._begin, words)

    def press(self, keys: str) -> Cost:
        """The cost of some keys, sent at once."""
        before, begin = self._used(), time.perf_counter()
        os.write(self._pty, keys.encode())
        return self._rest(before, begin)

    def calls(self) -> int:
        """The number of functions that the main thread has called so far, if calls are counted."""
        os.kill(self.pid, signal.SIGUSR1)
        while not self._answer.exists():
            time.sleep(STILL / 10)
        number = int(self._answer.read_text())
        self._answer.unlink()
        return number

    def _rest(self, before: float, begin: float, words: bytes = b"") -> Cost:
        """Read until the program is idle; returns its cost until the last byte."""
        last = Cost(0.0, 0.0)
        since, used = time.perf_counter(), self._used(main=True)
        self.shown = b""
        while time.perf_counter() < begin + LONGEST:
            if select.select([self._pty], [], [], STILL / 4)[0]:
                self.shown += os.read(self._pty, 1 << 16)
                last = Cost(self._used() - before, time.perf_counter() - begin)
                since, used = time.perf_counter(), self._used(main=True)
            elif self._is_runnable() or self._used(main=True) - used > HARDLY:
                since, used = time.perf_counter(), self._used(main=True)
            elif time.perf_counter() - since > STILL and words in self.shown:
                return last
        raise TimeoutError(f"still at work after {LONGEST} s")

    def settle(self) -> None:
        """Read until no thread has had work for a while."""
        used = -1.0
        while self._used() - used > HARDLY:
            used = self._used()
            self._rest(0.0, time.perf_counter())
            time.sleep(2 * STILL)

    def _is_runnable(self) -> bool:
        """Whether the drawing thread works, or waits for a processor, as on a busy machine."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "R"

    def _used(self, *, main: bool = False) -> float:
        """Processor seconds so far, of all threads or of the drawing thread."""
        threads = Path(f"/proc/{self.pid}/task")
        return sum(map(_scheduled, [threads / str(self.pid)] if main else threads.iterdir()))


def _scheduled(thread: Path) -> float:
    try:
        return int((thread / "schedstat").read_text().split()[0]) / 1e9
    except (FileNotFoundError, ProcessLookupError):  # the thread has ended
        return 0.0


def _environment(checkout: Path, home: Path) -> dict[str, str]:
    """An environment with empty user folders and precompiled modules."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    folders = {f"XDG_{name}_HOME": str(home / name) for name in ("CONFIG", "STATE", "CACHE")}
    terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
    return {**kept, **folders, **terminal, "HOME": str(home), "PYTHONPATH": str(checkout)}
