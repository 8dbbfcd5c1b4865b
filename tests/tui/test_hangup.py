"""A debugger that is told to end, or whose terminal is closed, keeps its session and ends."""

import json
import os
import pty
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from vcdebug.tui.app import is_hung_up

LOOKS = 10
"""In a second."""
LONGEST = 120
"""Seconds after which it has not ended."""
EVENT = 100
BEGUN, GONE_TO, RESTORED = b"llm-finetune", b"100/166", b"\x1b[?1049l"
"""The job that is shown, the header once the command is done, and what leaves the terminal as it was."""

CURSOR = b"\x1b[?25h"
"""What shows the cursor again."""


def test_a_terminal_is_gone_once_its_other_end_is_closed() -> None:
    ours, theirs = pty.openpty()
    assert not is_hung_up(theirs)
    os.close(ours)
    assert is_hung_up(theirs)
    os.close(theirs)


def test_the_debugger_ends_with_its_terminal_though_its_parent_keeps_the_signal(tmp_path: Path) -> None:
    process, terminal = opened(tmp_path, lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    os.close(terminal)
    assert (0, EVENT) == (ended(process), kept(tmp_path))


def test_the_debugger_ends_with_its_terminal_where_it_is_told(tmp_path: Path) -> None:
    process, terminal = opened(tmp_path)
    os.close(terminal)
    assert (0, EVENT) == (ended(process), kept(tmp_path))


@pytest.mark.parametrize("sent", [signal.SIGHUP, signal.SIGTERM])
def test_the_debugger_ends_where_it_is_told_and_leaves_the_terminal_as_it_was(
    sent: signal.Signals, tmp_path: Path
) -> None:
    process, terminal = opened(tmp_path)
    os.kill(process, sent)
    shown = drawn_until(terminal, RESTORED)
    assert (True, 0, EVENT) == (RESTORED in shown, ended(process), kept(tmp_path))
    os.close(terminal)


def test_many_interruptions_at_once_leave_the_terminal_as_it_was(tmp_path: Path) -> None:
    process, terminal = opened(tmp_path)
    for _ in range(20):
        os.kill(process, signal.SIGINT)
    shown = drawn_until(terminal, CURSOR)
    assert (True, True, 130) == (RESTORED in shown, CURSOR in shown, ended(process))
    os.close(terminal)


@pytest.mark.parametrize("typed", [b"\xe9", b"\xe9t\xe9", b"\xff\xfe", b"\xc3", b"\xf0\x28\x8c\xbc"])
def test_bytes_that_are_no_utf8_are_no_keys(typed: bytes, tmp_path: Path) -> None:
    process, terminal = opened(tmp_path)
    os.write(terminal, typed)
    os.write(terminal, b":goto 90\r")
    shown = drawn_until(terminal, b"90/166")
    os.write(terminal, b"q")
    shown += drawn_until(terminal, CURSOR)
    assert (True, True, 0) == (b"90/166" in shown, CURSOR in shown, ended(process))
    os.close(terminal)


def opened(folder: Path, before: Callable[[], object] = lambda: None) -> tuple[int, int]:
    """Its process and terminal, once it stands at the event."""
    process, terminal = pty.fork()
    if not process:
        before()
        os.environ.update(TERM="xterm-256color", XDG_STATE_HOME=str(folder), XDG_CACHE_HOME=str(folder))
        os.execv(sys.executable, [sys.executable, "-m", "vcdebug", "open", "preempt-blocked-by-gang"])
    drawn_until(terminal, BEGUN)
    os.write(terminal, f":goto {EVENT}\r".encode())
    drawn_until(terminal, GONE_TO)
    return process, terminal


def drawn_until(terminal: int, words: bytes) -> bytes:
    """What the terminal is given until it is given this, or nothing more."""
    shown = b""
    while words not in shown and select.select([terminal], [], [], LONGEST)[0]:
        try:
            shown += os.read(terminal, 65536)
        except OSError:  # the process is gone
            break
    return shown


def kept(folder: Path) -> int | None:
    """The event at which the session is kept."""
    (file,) = folder.glob("vcdebug/snapshots/*.json")
    event: int | None = json.loads(file.read_text(encoding="utf-8")).get("event")
    return event


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
