"""Lines of a real scheduler's log: klog headers, whatever stands before them, and where one cycle ends.

Upstream: k8s.io/klog text format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

KLOG_HEADER = re.compile(r"(?:^|[\s|\]])[IWEF]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ ([\w.-]+\.go):\d+\] (.*)$")
"""File and message; timestamps of a container runtime or a pod's name may stand before it."""
SESSION_OPEN = "Open Session "
SESSION_CLOSE = "Close Session "


class KlogLine(NamedTuple):
    """One message of a log."""

    number: int
    """Of the line in the file, from 1."""
    file: str
    text: str


class LogCycle(NamedTuple):
    """What a log says about one scheduling cycle."""

    number: int
    """From 1, in order of the log."""
    lines: tuple[KlogLine, ...]
    complete: bool
    """Whether the session's last line is there."""


def parse_log(lines: Iterable[str]) -> Iterator[KlogLine]:
    """Messages with a klog header; lines without one belong to no message that is compared."""
    for number, line in enumerate(lines, start=1):
        found = KLOG_HEADER.search(line.rstrip("\r\n"))
        if found is not None:
            yield KlogLine(number, found[1], found[2].rstrip())


def split_cycles(lines: Iterable[KlogLine]) -> list[LogCycle]:
    """One cycle ends with `Close Session`; a rest counts if a session was opened in it."""
    found: list[LogCycle] = []
    current: list[KlogLine] = []
    opened = False
    for line in lines:
        current.append(line)
        if line.text.startswith(SESSION_CLOSE) and line.file == "session.go":
            found.append(LogCycle(len(found) + 1, tuple(current), complete=True))
            current, opened = [], False
        elif line.text.startswith(SESSION_OPEN):
            opened = True
    if opened:
        found.append(LogCycle(len(found) + 1, tuple(current), complete=False))
    return found
