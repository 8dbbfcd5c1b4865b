"""What the tellers share: where in the recording they are, how upstream prints things, and the lines said so far.

Upstream: the %v of api types.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from vcdebug.explain.logs.message import UNKNOWN
from vcdebug.explain.logs.messages import BY_KEY
from vcdebug.framework.record import Event, Span
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.trace.recording import Recording
from vcdebug.trace.timeline import ClusterState

NUMA_POLICY = "volcano.sh/numa-topology-policy"
LARGEST_PLAIN, SMALLEST_PLAIN = 1e21, 1e-4


class LogLine(NamedTuple):
    """A line that the real scheduler would print at one moment."""

    seq: Seq
    """The event that it belongs to."""
    level: int
    """The -v level from which it is printed."""
    text: str
    key: str
    """The message, a key of `messages.BY_KEY`."""


class Story:
    """The recording at one event, and the lines that belong to it."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.seq: Seq = 1
        self._said: list[LogLine] = []

    def say(self, key: str, **fields: object) -> None:
        """One line of a message."""
        message = BY_KEY[key]
        self._said.append(LogLine(self.seq, message.level, message.write(fields), key))

    def take(self) -> list[LogLine]:
        """The lines said since the last call."""
        said, self._said = self._said, []
        return said

    @property
    def before(self) -> ClusterState:
        """The state in which the event found things."""
        return self.recording.timeline.state_at(self.seq - 1)

    @property
    def after(self) -> ClusterState:
        """The state that the event left."""
        return self.recording.timeline.state_at(self.seq)

    @property
    def jobs(self) -> Mapping[str, JobInfo]:
        """The session's jobs, for what never changes about them."""
        return self.recording.session.jobs

    def next_event(self, ahead: int = 1) -> Event | None:
        """An event further on; None behind the last one."""
        seq = self.seq + ahead
        return self.recording.event(seq) if seq <= len(self.recording) else None

    def task(self, key: TaskKey) -> TaskInfo:
        """A task, for what never changes about it."""
        return self.recording.timeline.tasks[key]

    def future_idle(self, state: ClusterState, node: str) -> Resource:
        """Idle, what is being released, less what is promised."""
        amounts = state.nodes[node]
        return amounts.idle.clone().add(amounts.releasing).sub_without_assert(amounts.pipelined)

    def tasks_text(self, keys: Iterable[TaskKey], state: ClusterState) -> str:
        """`[Task (...) Task (...)]`."""
        return f"[{' '.join(self.task_text(key, state) for key in keys)}]"

    def task_text(self, key: TaskKey, state: ClusterState) -> str:
        """TaskInfo.String()."""
        task, now = self.task(key), state.tasks[key]
        numa = UNKNOWN if NUMA_POLICY in task.pod.annotations else "{ map[]}"
        return (
            f"Task ({task.uid}:{key}): taskSpec {task.task_role}, job {task.job}, nodeName {now.node}, "
            f"status {now.status.label}, pri {task.priority}, resreq {task.resreq}, "
            f"preemptable {boolean(task.preemptable)}, revocableZone {task.revocable_zone}, numaInfo {numa}"
        )


class Teller:
    """Base of what turns steps through a recording into lines: every step is optional."""

    def __init__(self, story: Story) -> None:
        self.story = story

    def enter(self, span: Span) -> None:
        """A span begins."""

    def leave(self, span: Span) -> None:
        """A span ends."""

    def ahead(self, event: Event) -> None:
        """What is printed before the event's own lines."""

    def behind(self, event: Event) -> None:
        """What is printed after the event's own lines."""


def boolean(value: object) -> str:
    """Go's %v of a bool."""
    return "true" if value else "false"


def number(value: float) -> str:
    """Go's %v of a float64: the shortest text, with an exponent below 1e-4 and from 1e21 on."""
    if value == 0:
        return "-0" if str(value).startswith("-") else "0"
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[str(value)]
    digits, exponent = _shortest(abs(value))
    sign = "-" if value < 0 else ""
    if not SMALLEST_PLAIN <= abs(value) < LARGEST_PLAIN:
        fraction = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{fraction}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, rest = digits[: exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1 :]
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"


def _shortest(value: float) -> tuple[str, int]:
    """(digits without a point, exponent of the first one)."""
    mantissa, _, exponent = f"{value!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    first = len(whole) - 1 if whole.strip("0") else -(len(fraction) - len(fraction.lstrip("0"))) - 1
    return digits.rstrip("0") or "0", first + int(exponent or 0)


def escaped(text: str) -> str:
    """A text in Go's JSON, with its quotes."""
    shown = json.dumps(text, ensure_ascii=False)
    return shown.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def mapping(entries: Mapping[str, float]) -> str:
    """Go's %v of a map from names to floats: keys in order."""
    return f"map[{' '.join(f'{key}:{number(entries[key])}' for key in sorted(entries))}]"
