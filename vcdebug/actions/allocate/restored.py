"""The fast path of a task that an earlier cycle pipelined: straight to its node once the room is there.

Upstream: none; the design is "task state persistence across sessions".
"""

from __future__ import annotations

from enum import Enum

from vcdebug.framework import transitions
from vcdebug.framework.hooks import PRE_PREDICATE
from vcdebug.framework.placement import PredicateHelper, predicate_for_allocate_action
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.nodetable import NodeRows
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo


class RestoredOutcome(Enum):
    """What became of the task."""

    PLACED = 0
    WAITS = 1
    """It keeps its place: the room is not there yet, or not in the hypernode that is searched."""
    RELEASED = 2
    """Its node refuses it: it is Pending, and searched for as any other task."""


def is_restored(ssn: Session, task: TaskInfo) -> bool:
    """Whether the task still waits where an earlier cycle pipelined it."""
    return task.status is TaskStatus.PIPELINED and task.uid in ssn.restored


def place_restored(ssn: Session, statement: Statement, task: TaskInfo, nodes: NodeRows) -> RestoredOutcome:
    """Only its own node is asked, and not about resources: they are compared here."""
    node = ssn.nodes.get(ssn.restored[task.uid])
    if node is not None:
        alone = nodes.select_where(nodes.rows == node.row)
        if not len(alone) or not task.init_resreq.less_equal(node.idle):
            return RestoredOutcome.WAITS
        if ssn.ask_plugins(PRE_PREDICATE, task) is None:
            feasible, _ = PredicateHelper(ssn, cache_on=False).predicate_nodes(
                task, alone, predicate_for_allocate_action
            )
            if len(feasible):
                return RestoredOutcome.PLACED if statement.allocate(task, node.name) is None else RestoredOutcome.WAITS
    transitions.unplace_task(ssn, task, "unpipeline")
    return RestoredOutcome.RELEASED
