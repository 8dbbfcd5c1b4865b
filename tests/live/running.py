"""Runs vcdebug as a user would: as a command of its own, with the kubeconfig of one user."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from codecs import getincrementaldecoder
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.live.cluster import Cluster

COMMAND = (sys.executable, "-m", "vcdebug")
SIZE = {"COLUMNS": "120", "LINES": "40", "TERM": "xterm-256color"}


def environment(cluster: Cluster, user: str) -> dict[str, str]:
    return {**os.environ, **SIZE, "KUBECONFIG": str(cluster.kubeconfig(user)), "HOME": str(cluster.folder)}


def start(cluster: Cluster, *words: str, user: str = "admin") -> subprocess.Popen[str]:
    """Start a command and go on."""
    return subprocess.Popen(
        [*COMMAND, *words],
        env=environment(cluster, user),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], seconds: float = 240.0) -> tuple[int, str, str]:
    """(exit code, stdout, stderr) of a command; one that does not end in time is interrupted."""
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert "Traceback" not in err, err
    return process.returncode, out, err


def run(cluster: Cluster, *words: str, user: str = "admin", seconds: float = 240.0) -> tuple[int, str, str]:
    return finish(start(cluster, *words, user=user), seconds)


class ScreenSession:
    """A command on a terminal of its own; `drawn` is all that it has written there."""

    def __init__(self, cluster: Cluster, *words: str, folder: Path | None = None) -> None:
        self._pid, self._terminal = pty.fork()
        if not self._pid:
            os.chdir(folder or Path.cwd())
            os.execve(COMMAND[0], [*COMMAND, *words], environment(cluster, "admin"))
        fcntl.ioctl(
            self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", int(SIZE["LINES"]), int(SIZE["COLUMNS"]), 0, 0)
        )
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self.drawn = ""
        self.has_ended = False

    def read_until(self, holds: Callable[[], object], seconds: float) -> None:
        """Read what is drawn until something holds, the command ends, or the time has passed."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.has_ended and not holds():
            if select.select([self._terminal], [], [], 0.2)[0]:
                try:
                    self.drawn += self._decoder.decode(os.read(self._terminal, 65536))
                except OSError:  # what a terminal says whose other side is gone
                    self.has_ended = True

    def press(self, keys: str, quiet: float = 0.3, seconds: float = 20.0) -> str:
        """Send keys, and read until nothing has been drawn for `quiet` seconds; returns what was drawn."""
        start = known = len(self.drawn)
        os.write(self._terminal, keys.encode())
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.has_ended:
            self.read_until(lambda: False, quiet)
            if known == len(self.drawn) > start:
                break
            known = len(self.drawn)
        return self.drawn[start:]

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)


def screen_until(cluster: Cluster, pattern: str, *words: str, seconds: float = 90.0) -> str:
    """What a command draws on a terminal until the pattern is on it; then the command is quit."""
    session = ScreenSession(cluster, *words)
    session.read_until(lambda: re.search(pattern, session.drawn), seconds)
    session.press("q", seconds=2)
    session.close()
    return session.drawn


def terminal_output(cluster: Cluster, *words: str, folder: Path | None = None, seconds: float = 120.0) -> str:
    """All that a command writes to a terminal until it ends."""
    session = ScreenSession(cluster, *words, folder=folder)
    session.read_until(lambda: False, seconds)
    ended = session.has_ended
    session.close()
    assert ended, f"{words} did not end"
    return session.drawn


def resident_megabytes(process: subprocess.Popen[str]) -> float:
    text = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+)", text, re.M)
    return int(found[1]) / 1024 if found else 0.0
