"""A node about which plugins are asked once more, in the session as it stood at that moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

from vcdebug.framework.plugin import Plugin
from vcdebug.framework.record import PredicateEvent, ScoreEvent
from vcdebug.framework.session import Session
from vcdebug.model.names import NodeName, Row, Seq, TaskKey
from vcdebug.model.node import NodeInfo
from vcdebug.model.nodetable import NodeRows
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.trace.memo import per_recording
from vcdebug.trace.moment import session_at
from vcdebug.trace.recording import Recording

AnyPlugin = TypeVar("AnyPlugin", bound=Plugin)


class Asked(NamedTuple):
    """One node among those that a task's question is about."""

    session: Session
    task: TaskInfo
    nodes: NodeRows
    """All that were asked about together."""
    row: Row
    """The node's row in the node table."""

    @property
    def node(self) -> NodeInfo:
        """The node."""
        return self.session.node_table.nodes[self.row]

    @property
    def place(self) -> int:
        """Where it stands among those asked about."""
        return self.nodes.rows.tolist().index(self.row)

    @property
    def pod(self) -> Pod:
        """The task's pod."""
        return self.task.pod

    def plugin(self, kind: type[AnyPlugin]) -> AnyPlugin | None:
        """The session's plugin, where it has this form."""
        found = self.session.plugins.get(kind.name)
        return found if isinstance(found, kind) else None


def asked_at(recording: Recording, seq: Seq, node: NodeName) -> Asked | None:
    """A node in the scores or the pass of predicates that an event is; None where the session cannot be had again."""
    event = recording.event(seq)
    row = recording.session.node_table.row_of.get(node)
    if row is None or not isinstance(event, ScoreEvent | PredicateEvent):
        return None
    session = session_at(recording, seq)
    task = None if session is None else _tasks(recording, seq).get(event.task)
    if session is None or task is None:
        return None
    return asked_in(session, task, event, row)


def asked_in(session: Session, task: TaskInfo, event: ScoreEvent | PredicateEvent, row: Row) -> Asked:
    """As asked_at, in a session that one has."""
    scored = isinstance(event, ScoreEvent)
    nodes = NodeRows(session.node_table, event.rows) if scored else session.node_table.single(row)
    return Asked(session, task, nodes, row)


@per_recording(most=3)
def _tasks(recording: Recording, seq: Seq) -> Mapping[TaskKey, TaskInfo]:
    session = session_at(recording, seq)
    return {} if session is None else tasks_of(session)


def tasks_of(session: Session) -> Mapping[TaskKey, TaskInfo]:
    """Every task of a session's jobs by its name."""
    return {task.key: task for job in session.jobs.values() for task in job.tasks.values()}
