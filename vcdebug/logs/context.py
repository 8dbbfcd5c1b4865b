"""Where in a recording the log is being written, what is remembered on the way, and how tasks are printed.

Upstream: api/job_info (TaskInfo.String).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vcdebug.logs.gotext import format_go_value
from vcdebug.logs.message import UNKNOWN_TEXT
from vcdebug.model.names import NodeName, Row, Seq, TaskKey
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.releases.scheduling import LOG_TASK_NODE
from vcdebug.trace.recording import Recording
from vcdebug.trace.timeline import ClusterState

NUMA_POLICY = "volcano.sh/numa-topology-policy"
LogCall = tuple[object, ...]
"""A message's key, and what fills its blanks: values, tasks by name as a list, or a `partial` that finds a value."""


class LogState(NamedTuple):
    """A recording in one state: all that a line still needs when its text is written."""

    recording: Recording
    state: ClusterState

    def tasks_text(self, keys: Iterable[TaskKey]) -> str:
        """`[Task (...) Task (...)]`."""
        return f"[{' '.join(map(self.task_text, keys))}]"

    def task_text(self, key: TaskKey) -> str:
        """TaskInfo.String()."""
        task, now = self.recording.timeline.tasks[key], self.state.tasks[key]
        numa = UNKNOWN_TEXT if NUMA_POLICY in task.pod.annotations else "{ map[]}"
        node = "" if self.recording.snapshot.release.has_older_form(LOG_TASK_NODE) else f"nodeName {now.node}, "
        return (
            f"Task ({task.uid}:{key}): taskSpec {task.task_role}, job {task.job}, {node}"
            f"status {now.status.upstream_name}, pri {task.priority}, resreq {task.resreq}, "
            f"preemptable {format_go_value(task.preemptable)}, revocableZone {task.revocable_zone}, numaInfo {numa}"
        )


class LogContext:
    """The recording at one event."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.seq: Seq = 0
        self.now = LogState(recording, recording.timeline.state_at(0))
        """What an event found, or what a line between two events finds."""
        self.action = ""
        self.failed: dict[str, dict[Row, None]] | None = None
        """Rows that the error cache of the present search helper knows, by `job/role`; None without a cache."""
        self.search_start: Row = 0
        self.lost: dict[TaskKey, None] = {}
        """Pods that the Kubernetes view of nodes has lost."""

    def move_to(self, seq: Seq, *, after: bool = False) -> None:
        """To an event's beginning, or behind it."""
        self.seq = seq
        self.now = LogState(self.recording, self.recording.timeline.state_at(seq if after else seq - 1))

    @property
    def current_state(self) -> ClusterState:
        """The state at present."""
        return self.now.state

    def task_of(self, key: TaskKey) -> TaskInfo:
        """A task, for what never changes about it."""
        return self.recording.timeline.tasks[key]


def idle_of(state: ClusterState, node: NodeName) -> Resource:
    """What nobody holds of a node."""
    return state.nodes[node].idle


def future_idle_of(state: ClusterState, node: NodeName) -> Resource:
    """Idle, what is being released, less what is promised."""
    return state.nodes[node].future_idle()
