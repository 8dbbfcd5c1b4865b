"""A terminal that is closed takes the debugger with it, also where nobody tells it so."""

import os
import pty
import select
import signal
import sys
import time
from pathlib import Path

from vcdebug.tui.app import hung_up

LOOKS = 10
"""In a second."""
LONGEST = 120
"""Seconds after which it has not ended."""


def test_a_terminal_is_gone_once_its_other_end_is_closed() -> None:
    ours, theirs = pty.openpty()
    assert not hung_up(theirs)
    os.close(ours)
    assert hung_up(theirs)
    os.close(theirs)


def test_the_debugger_ends_with_its_terminal_though_its_parent_keeps_the_signal(tmp_path: Path) -> None:
    process, terminal = pty.fork()
    if not process:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.environ.update(TERM="xterm-256color", XDG_STATE_HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path))
        os.execv(sys.executable, [sys.executable, "-m", "vcdebug", "open", "preempt-blocked-by-gang"])
    shown = b""
    while b"llm-finetune" not in shown and select.select([terminal], [], [], LONGEST)[0]:
        shown += os.read(terminal, 65536)
    os.close(terminal)
    assert 0 == ended(process)


def ended(process: int) -> int | None:
    """Its exit code; None, and it is killed, where it does not end."""
    for _ in range(LONGEST * LOOKS):
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(1 / LOOKS)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None
