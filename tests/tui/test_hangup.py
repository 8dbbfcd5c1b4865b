"""After SIGTERM or a closed terminal, the debugger saves its session and exits."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pyte
import pytest

from vcdebug.tui.app import is_hung_up

LOOKS = 10
"""Polls per second."""
LONGEST = 120
"""Seconds after which a process counts as hung."""
EVENT = 100
BEGUN, GONE_TO = "llm-finetune", "100/166"
"""A job on the first screen, and the header after the goto command."""
RESTORED, CURSOR = b"\x1b[?1049l", b"\x1b[?25h"
"""The sequences that leave the alternate screen and show the cursor."""
SCREENS: dict[int, pyte.Screen] = {}
"""The emulated screen of each open terminal: output only has the differences, so a word may arrive in pieces."""


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
    shown = read_until_shown(terminal, RESTORED)
    assert (True, 0, EVENT) == (RESTORED in shown, ended(process), kept(tmp_path))
    os.close(terminal)


def test_many_interruptions_at_once_leave_the_terminal_as_it_was(tmp_path: Path) -> None:
    process, terminal = opened(tmp_path)
    for _ in range(20):
        os.kill(process, signal.SIGINT)
    shown = read_until_shown(terminal, CURSOR)
    assert (True, True, 130) == (RESTORED in shown, CURSOR in shown, ended(process))
    os.close(terminal)


def test_bytes_that_are_no_utf8_are_no_keys(tmp_path: Path) -> None:
    process, terminal = opened(tmp_path)
    for event, typed in enumerate((b"\xe9", b"\xe9t\xe9", b"\xff\xfe", b"\xc3", b"\xf0\x28\x8c\xbc"), start=90):
        os.write(terminal, typed + f":goto {event}\r".encode())
        read_until_shown(terminal, f" {event}/166")
        assert f" {event}/166" in "\n".join(SCREENS[terminal].display), typed
    os.write(terminal, b"q")
    shown = read_until_shown(terminal, CURSOR)
    assert (True, 0) == (CURSOR in shown, ended(process))
    os.close(terminal)


def test_a_terminal_that_shrank_and_grew_again_shows_the_whole_screen(tmp_path: Path) -> None:
    process, terminal = opened(tmp_path)
    screen = SCREENS[terminal]
    for lines, event in ((12, 90), (24, 80)):
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, 80, 0, 0))
        screen.resize(lines, 80)
        # The result of a command shows that the program uses the new size.
        os.write(terminal, f":goto {event}\r".encode())
        read_until_shown(terminal, f" {event}/166")
    read_until_shown(terminal, "<4> ")
    assert [] == [number for number in (0, 2, 3, 14, 15, 22, 23) if not screen.display[number].strip()]
    os.kill(process, signal.SIGTERM)
    assert 0 == ended(process)
    os.close(terminal)


def opened(folder: Path, before: Callable[[], object] = lambda: None) -> tuple[int, int]:
    """Open the debugger in a new terminal and go to the event; returns (process, terminal)."""
    process, terminal = pty.fork()
    if not process:
        before()
        os.environ.update(TERM="xterm-256color", XDG_STATE_HOME=str(folder), XDG_CACHE_HOME=str(folder))
        os.execv(sys.executable, [sys.executable, "-m", "vcdebug", "open", "preempt-blocked-by-gang"])
    SCREENS[terminal] = pyte.Screen(80, 24)
    read_until_shown(terminal, BEGUN)
    os.write(terminal, f":goto {EVENT}\r".encode())
    read_until_shown(terminal, GONE_TO)
    return process, terminal


def read_until_shown(terminal: int, wanted: str | bytes) -> bytes:
    """Read output until the screen shows the text or the output has the bytes, or until it ends; returns the output."""
    given, screen = b"", SCREENS[terminal]
    stream = pyte.ByteStream(screen)
    while select.select([terminal], [], [], LONGEST)[0]:
        try:
            part = os.read(terminal, 65536)
        except OSError:  # the process has ended
            break
        given += part
        stream.feed(part)
        if wanted in given if isinstance(wanted, bytes) else wanted in "\n".join(screen.display):
            break
    return given


def kept(folder: Path) -> int | None:
    """The event number in the saved session file."""
    (file,) = folder.glob("vcdebug/snapshots/*.json")
    event: int | None = json.loads(file.read_text(encoding="utf-8")).get("event")
    return event


def ended(process: int) -> int | None:
    """The exit code of the process; None if it does not end."""
    for _ in range(LONGEST * LOOKS):
        found, status = os.waitpid(process, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(1 / LOOKS)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    return None
