"""A node about which plugins are asked once more, in the session as it stood at that moment."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeGuard, TypeVar

from vcdebug.framework.hooks import PREDICATE, SIMULATE_ADD_TASK, SIMULATE_PREDICATE, SIMULATE_REMOVE_TASK
from vcdebug.framework.plugin import Plugin
from vcdebug.framework.record import Event, HookEvent, PredicateEvent, ScoreEvent
from vcdebug.framework.session import Session
from vcdebug.framework.simulated import DryRunState
from vcdebug.kube.cycle_state import CycleState
from vcdebug.model.names import NodeName, Row, Seq, TaskKey
from vcdebug.model.node import NodeInfo
from vcdebug.model.nodetable import NodeRows
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.trace.moment import session_at_event
from vcdebug.trace.recording import Recording

SIMULATION_POINTS: Final = tuple(
    hook.upstream for hook in (SIMULATE_PREDICATE, SIMULATE_ADD_TASK, SIMULATE_REMOVE_TASK)
)
AnyPlugin = TypeVar("AnyPlugin", bound=Plugin)


class AskedNode(NamedTuple):
    """One node among those that a task's question is about."""

    session: Session
    task: TaskInfo
    nodes: NodeRows
    """All that were asked about together."""
    row: Row
    """The node's row in the node table."""
    simulated: DryRunState | None = None
    """The dry run in which it is asked about."""
    away: tuple[TaskKey, ...] = ()
    """Who is gone there."""

    @property
    def node(self) -> NodeInfo:
        """The node, or its copy in a dry run."""
        return self.session.node_table.nodes[self.row] if self.simulated is None else self.simulated.node

    @property
    def cycle_state(self) -> CycleState:
        """What PreFilter left for the task, or what a dry run made of it."""
        return self.session.cycle_state(self.task) if self.simulated is None else self.simulated.state

    @property
    def row_index(self) -> int:
        """Where it stands among those asked about."""
        places: list[Row] = self.nodes.rows.tolist()
        return places.index(self.row)

    @property
    def pod(self) -> Pod:
        """The task's pod."""
        return self.task.pod

    def plugin_of_kind(self, kind: type[AnyPlugin]) -> AnyPlugin:
        """The session's plugin that is asked."""
        found = self.session.plugins[kind.name]
        assert isinstance(found, kind)
        return found


def asked_node_at(recording: Recording, seq: Seq, node: NodeName) -> AskedNode | None:
    """A node in the scores, the pass or the one answer of predicates that an event is; None where the session cannot be
    had again.
    """
    event = recording.event_at(seq)
    row = recording.session.node_table.row_of.get(node)
    if row is None or not (isinstance(event, ScoreEvent | PredicateEvent) or is_filter(event)):
        return None
    session = session_at_event(recording, seq)
    return None if session is None else asked_node_in(session, event, row)


def is_simulation(event: Event) -> TypeGuard[HookEvent]:
    """Whether it is a plugin's answer about the copy of a node that a dry run changes."""
    return isinstance(event, HookEvent) and event.point in SIMULATION_POINTS


def is_filter(event: Event) -> TypeGuard[HookEvent]:
    """Whether it is a plugin's answer about one node, outside a search."""
    return isinstance(event, HookEvent) and event.point == PREDICATE.upstream


def asked_node_in(session: Session, event: ScoreEvent | PredicateEvent | HookEvent, row: Row) -> AskedNode | None:
    """As asked_at, in a session that one has; None where it does not stand at that event."""
    task = session.seeking
    if task is None or task.key != event.task:
        return None
    alone = session.node_table.single_row(row)
    nodes = NodeRows(session.node_table, event.rows) if isinstance(event, ScoreEvent) else alone
    return AskedNode(session, task, nodes, row)
