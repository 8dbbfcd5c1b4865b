"""The messages of the real scheduler's log, a row of messages.txt each, and how Go prints the values in them.

Upstream: the klog calls of cache, framework, actions, plugins and util; fmt, k8s.io/klog; the
String methods of api types, api/job_info (TaskInfo.String).
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from string import Formatter
from typing import Final, NamedTuple

from vcdebug.grouping import group_by_key
from vcdebug.model.names import NodeName, Row, Seq, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.recording.recording import Recording
from vcdebug.recording.timeline import ClusterState
from vcdebug.releases.scheduling import LOG_TASK_NODE
from vcdebug.snapshot.manifest import NUMA_POLICY_KEY

LOG_LEVELS: Final = (3, 4, 5)
"""The -v levels that a user can choose."""
DEFAULT_LEVEL: Final = 3
UNKNOWN_TEXT = "…"
"""Stands for a value that the replay cannot know; it matches any text."""
_BLANK_PATTERN = re.compile(r"\{\w+[^}]*\}")
_ROW_PATTERN = re.compile(r"(?P<name>\S+) (?P<level>\d+)(?P<marks>[~>]*)(?:@(?P<older>\S+))? (?P<text>.*)")


class LogMessage(NamedTuple):
    """One klog call."""

    key: str
    level: int
    """The -v level from which it is printed; 0 is always."""
    file: str
    text: str
    """The text, with blanks in braces."""
    is_level_certain: bool
    """Whether the level is certain; other messages are compared only if the log has at least one of their lines."""
    unordered: bool
    precedes_event: bool
    """Whether the line belongs to the event after it."""
    older: str
    """The change whose older form has this text; empty for the newest one."""

    blank_names: tuple[str, ...]
    """Names of the blanks, in the order of their values."""

    @property
    def fixed_parts(self) -> tuple[str, ...]:
        """The text between the blanks, by which a line is recognised."""
        return tuple(re.split(f"{_BLANK_PATTERN.pattern}|{UNKNOWN_TEXT}", self.text))

    def write_line(self, values: Iterable[object], tasks_text: Callable[[list[str]], str] = str) -> str:
        """The line with these values in its blanks; a list names tasks, a `partial` is called to get its value."""
        computed = [value() if isinstance(value, partial) else value for value in values]
        texts = [tasks_text(value) if isinstance(value, list) else value for value in computed]
        text_by_blank = dict(zip(self.blank_names, texts, strict=False))
        return "".join(
            [before + _fill_blank(text_by_blank, blank, form) for before, blank, form in _template_pieces(self.text)]
        )


def has_parts_in_order(text: str, parts: Sequence[str]) -> bool:
    """Whether a text begins with the first part, ends with the last, and holds the others between them in order."""
    # A pattern with `.*` between the parts would take time exponential in the number of blanks.
    first, *middle = parts
    if not middle:
        return text == first
    *middle, last = middle
    position, end = len(first), len(text) - len(last)
    if position > end or not text.startswith(first) or not text.endswith(last):
        return False
    for part in middle:
        start = text.find(part, position, end)
        if start < 0:
            return False
        position = start + len(part)
    return True


@cache
def _template_pieces(text: str) -> tuple[tuple[str, str | None, str], ...]:
    """(text before the blank, the blank, its format) of each piece; parsed once per message."""
    return tuple((before, blank, form or "") for before, blank, form, _ in Formatter().parse(text))


def _fill_blank(text_by_blank: Mapping[str, object], blank: str | None, form: str) -> str:
    """The text for a blank: as Go's %v prints the value, or in the blank's own format."""
    if blank is None:
        return ""
    value = text_by_blank[blank]
    return format(value, form) if form else format_go_value(value)


def parse_messages(rows: str) -> Iterator[LogMessage]:
    """The messages in messages.txt, whose first comment describes its rows; `#` begins a comment."""
    file, prefix, firm = "", "", True
    blanks: tuple[str, ...] = ()
    for line in rows.splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            file, prefix, *uncertain = line.split(" ")
            firm = not uncertain
            continue
        row = _ROW_PATTERN.fullmatch(line.strip())
        assert row is not None, line
        key, marks, text, older = f"{prefix}.{row['name']}", row["marks"], row["text"], row["older"] or ""
        blanks = blanks if older else tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(text) if name))
        yield LogMessage(key, int(row["level"]), file, text, firm, "~" in marks, ">" in marks, older, blanks)


MESSAGES: Final = tuple(parse_messages(Path(__file__).with_name("messages.txt").read_text(encoding="utf-8")))
MESSAGE_BY_KEY: Final[Mapping[str, LogMessage]] = {message.key: message for message in MESSAGES if not message.older}


def messages_of_release(older: Collection[str]) -> Mapping[str, LogMessage]:
    """Key → message, for a release with these older forms."""
    return {**MESSAGE_BY_KEY, **{message.key: message for message in MESSAGES if message.older in older}}


@cache
def _patterns_by_file() -> Mapping[str, Sequence[tuple[Sequence[str], LogMessage]]]:
    return group_by_key((message.file, (message.fixed_parts, message)) for message in MESSAGES)


def recognise_message(file: str, text: str) -> LogMessage | None:
    """The message of a log line, by its file and text; None for an unknown line."""
    return next(
        (message for parts, message in _patterns_by_file().get(file, ()) if has_parts_in_order(text, parts)), None
    )


# How Go prints values: %v of numbers, booleans, maps and tasks, and JSON.

LARGEST_PLAIN, SMALLEST_PLAIN = 1e21, 1e-4
"""Bounds of the numbers that Go prints without an exponent."""


def format_go_value(value: object) -> str:
    """%v of a value."""
    # bool first: in Python it is an int.
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format_float(float(value))
    if isinstance(value, Mapping):
        return f"map[{' '.join(f'{key}:{format_go_value(value[key])}' for key in sorted(value))}]"
    return str(value)


def format_float(value: float) -> str:
    """%v of a float64: the shortest text, with an exponent below 1e-4 and from 1e21 on."""
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[str(value)]
    number = Decimal(repr(float(value))).normalize()
    if SMALLEST_PLAIN <= abs(value) < LARGEST_PLAIN:
        return f"{number:f}"
    digits, exponent = "".join(map(str, number.as_tuple().digits)), number.adjusted()
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{'-' if value < 0 else ''}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def format_json_object(entries: Mapping[str, object]) -> str:
    """An object in Go's JSON, its keys in order."""
    return f"{{{','.join(f'{format_json_text(key)}:{format_go_value(entries[key])}' for key in sorted(entries))}}}"


def format_json_text(text: str) -> str:
    """A text in Go's JSON, with its quotes."""
    # Go's encoder escapes these three for HTML, which Python's does not.
    quoted = json.dumps(text, ensure_ascii=False)
    return quoted.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# The recording's state while its log is written.

LogCall = tuple[object, ...]
"""(message key, values for its blanks): a list names tasks, a `partial` computes its value later."""


class LogState(NamedTuple):
    """A recording in one state, from which a line's text is written later."""

    recording: Recording
    state: ClusterState

    def tasks_text(self, keys: Iterable[TaskKey]) -> str:
        """The tasks as Go prints a list of them: `[Task (...) Task (...)]`."""
        return f"[{' '.join(map(self.task_text, keys))}]"

    def task_text(self, key: TaskKey) -> str:
        """The task as upstream's TaskInfo.String() prints it."""
        task, state = self.recording.timeline.tasks[key], self.state.tasks[key]
        numa = UNKNOWN_TEXT if NUMA_POLICY_KEY in task.pod.annotations else "{ map[]}"
        node = "" if self.recording.snapshot.release.has_older_form(LOG_TASK_NODE) else f"nodeName {state.node}, "
        return (
            f"Task ({task.uid}:{key}): taskSpec {task.task_role}, job {task.job}, {node}"
            f"status {state.status.upstream_name}, pri {task.priority}, resreq {task.resreq}, "
            f"preemptable {format_go_value(task.preemptable)}, revocableZone {task.revocable_zone}, numaInfo {numa}"
        )


class LogContext:
    """The recording at one event."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.seq: Seq = 0
        self.state = LogState(recording, recording.timeline.state_at(0))
        """The state before the event, or for a line between two events, the state after the first one."""
        self.action = ""
        self.failed_rows: dict[str, dict[Row, None]] | None = None
        """Rows in the error cache of the current search helper, by `job/role`; None without a cache."""
        self.search_start: Row = 0
        self.lost_tasks: dict[TaskKey, None] = {}
        """Pods that the Kubernetes view of nodes has lost."""

    def move_to(self, seq: Seq, *, after: bool = False) -> None:
        """Move to the state before an event, or `after` it."""
        self.seq = seq
        self.state = LogState(self.recording, self.recording.timeline.state_at(seq if after else seq - 1))

    @property
    def current_state(self) -> ClusterState:
        return self.state.state

    def task_of(self, key: TaskKey) -> TaskInfo:
        """A task object for reading what never changes in a cycle."""
        return self.recording.timeline.tasks[key]


def idle_of(state: ClusterState, node: NodeName) -> Resource:
    """A node's idle resources."""
    return state.nodes[node].idle


def future_idle_of(state: ClusterState, node: NodeName) -> Resource:
    """A node's idle and releasing resources less the pipelined ones."""
    return state.nodes[node].future_idle()
