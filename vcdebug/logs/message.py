"""One message of the real scheduler: how it reads, and from which -v level on.

Upstream: k8s.io/klog.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from string import Formatter
from typing import NamedTuple

from vcdebug.logs.gotext import text_of

UNKNOWN = "…"
"""Stands in a line for what a replay cannot know; it agrees with anything."""
_BLANK = re.compile(r"\{\w+[^}]*\}")
_ROW = re.compile(r"(?P<name>\S+) (?P<level>\d+)(?P<marks>[~>]*)(?:@(?P<older>\S+))? (?P<text>.*)")


class Message(NamedTuple):
    """One klog call."""

    key: str
    level: int
    """The -v level from which it is printed; 0 is always."""
    file: str
    text: str
    """With blanks in braces."""
    firm: bool
    """The level is certain. Others are compared only where the log has at least one line of their kind."""
    unordered: bool
    ahead: bool
    """The line belongs to the event that comes after it."""
    older: str
    """The change whose older form has this text; empty for the newest one."""

    blanks: tuple[str, ...]
    """Their names, in the order in which values are given."""

    @property
    def pattern(self) -> re.Pattern[str]:
        """What recognises it."""
        parts = re.split(f"{_BLANK.pattern}|{UNKNOWN}", self.text)
        return re.compile("(.*)".join(map(re.escape, parts)), re.DOTALL)

    def write(self, values: Iterable[object], tasks_text: Callable[[list[str]], str] = str) -> str:
        """The line; a list is one of tasks by name, a `partial` is asked for its value."""
        found = [value() if isinstance(value, partial) else value for value in values]
        shown = [tasks_text(value) if isinstance(value, list) else value for value in found]
        named = dict(zip(self.blanks, shown, strict=False))
        return "".join([before + _filled(named, blank, form) for before, blank, form in _pieces(self.text)])


@cache
def _pieces(text: str) -> tuple[tuple[str, str | None, str], ...]:
    """What stands before each blank, the blank, and how it is written; read once per message."""
    return tuple((before, blank, form or "") for before, blank, form, _ in Formatter().parse(text))


def _filled(named: Mapping[str, object], blank: str | None, form: str) -> str:
    """A blank as Go's %v fills it, or by a width and precision of its own."""
    if blank is None:
        return ""
    value = named[blank]
    return format(value, form) if form else text_of(value)


def messages_of(rows: str) -> Iterator[Message]:
    """The messages of a table, as `messages.ROWS` describes it."""
    file, prefix, firm = "", "", True
    blanks: tuple[str, ...] = ()
    for line in filter(None, rows.splitlines()):
        if not line.startswith(" "):
            file, prefix, *uncertain = line.split(" ")
            firm = not uncertain
            continue
        row = _ROW.fullmatch(line.strip())
        assert row is not None, line
        key, marks, text, older = f"{prefix}.{row['name']}", row["marks"], row["text"], row["older"] or ""
        blanks = blanks if older else _blanks(text)
        yield Message(key, int(row["level"]), file, text, firm, "~" in marks, ">" in marks, older, blanks)


def _blanks(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(text) if name))
