"""One message of the real scheduler: how it reads, and from which -v level on.

Upstream: k8s.io/klog.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from string import Formatter
from typing import NamedTuple

from vcdebug.logs.gotext import format_go_value

UNKNOWN_TEXT = "…"
"""Stands in a line for what a replay cannot know; it agrees with anything."""
_BLANK_PATTERN = re.compile(r"\{\w+[^}]*\}")
_ROW_PATTERN = re.compile(r"(?P<name>\S+) (?P<level>\d+)(?P<marks>[~>]*)(?:@(?P<older>\S+))? (?P<text>.*)")


class LogMessage(NamedTuple):
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
    def fixed_parts(self) -> tuple[str, ...]:
        """The text between the blanks, by which a line is recognised."""
        return tuple(re.split(f"{_BLANK_PATTERN.pattern}|{UNKNOWN_TEXT}", self.text))

    def write_line(self, values: Iterable[object], tasks_text: Callable[[list[str]], str] = str) -> str:
        """The line; a list is one of tasks by name, a `partial` is asked for its value."""
        found = [value() if isinstance(value, partial) else value for value in values]
        shown = [tasks_text(value) if isinstance(value, list) else value for value in found]
        named = dict(zip(self.blanks, shown, strict=False))
        return "".join(
            [before + _fill_blank(named, blank, form) for before, blank, form in _template_pieces(self.text)]
        )


def has_parts_in_order(text: str, parts: Sequence[str]) -> bool:
    """Whether a text begins with the first part, ends with the last, and holds the others between them in order.

    A pattern with `.*` between the parts would take the length of the text to the power of the number of blanks.
    """
    first, *middle = parts
    if not middle:
        return text == first
    *middle, last = middle
    at, end = len(first), len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


@cache
def _template_pieces(text: str) -> tuple[tuple[str, str | None, str], ...]:
    """What stands before each blank, the blank, and how it is written; read once per message."""
    return tuple((before, blank, form or "") for before, blank, form, _ in Formatter().parse(text))


def _fill_blank(named: Mapping[str, object], blank: str | None, form: str) -> str:
    """A blank as Go's %v fills it, or by a width and precision of its own."""
    if blank is None:
        return ""
    value = named[blank]
    return format(value, form) if form else format_go_value(value)


def parse_messages(rows: str) -> Iterator[LogMessage]:
    """The messages of a table, as `messages.ROWS` describes it."""
    file, prefix, firm = "", "", True
    blanks: tuple[str, ...] = ()
    for line in filter(None, rows.splitlines()):
        if not line.startswith(" "):
            file, prefix, *uncertain = line.split(" ")
            firm = not uncertain
            continue
        row = _ROW_PATTERN.fullmatch(line.strip())
        assert row is not None, line
        key, marks, text, older = f"{prefix}.{row['name']}", row["marks"], row["text"], row["older"] or ""
        blanks = blanks if older else _blank_names(text)
        yield LogMessage(key, int(row["level"]), file, text, firm, "~" in marks, ">" in marks, older, blanks)


def _blank_names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(text) if name))
