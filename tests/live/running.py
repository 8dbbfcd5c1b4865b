"""Runs vcdebug as a user would: as a command of its own, with the kubeconfig of one user."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
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


def screen_until(cluster: Cluster, pattern: str, *words: str, seconds: float = 90.0) -> str:
    """What a command draws on a terminal until the pattern is on it; then the command is quit."""
    pid, terminal = pty.fork()
    if not pid:
        os.execve(COMMAND[0], [*COMMAND, *words], environment(cluster, "admin"))
    drawn, end = "", time.monotonic() + seconds
    with suppress(OSError):
        while time.monotonic() < end and not re.search(pattern, drawn):
            if select.select([terminal], [], [], 0.5)[0]:
                drawn += os.read(terminal, 65536).decode("utf-8", "replace")
        os.write(terminal, b"q")
    time.sleep(1)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(terminal)
    return drawn


def resident_megabytes(process: subprocess.Popen[str]) -> float:
    text = Path(f"/proc/{process.pid}/status").read_text()
    found = re.search(r"^VmRSS:\s+(\d+)", text, re.M)
    return int(found[1]) / 1024 if found else 0.0
