"""How preempt makes room on one node: which test ends the evictions, and whose statement holds them.

Upstream: actions/preempt (normalPreempt).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from vcdebug.framework.hooks import ALLOCATABLE
from vcdebug.framework.order import PriorityQueue, build_victims_queue
from vcdebug.framework.placement import predicate_node
from vcdebug.framework.statement import Statement
from vcdebug.model.resource import Resource
from vcdebug.releases.scheduling import PREEMPT_NO_PREDICATE_RECHECK, PREEMPT_SHARED_STATEMENT

if TYPE_CHECKING:
    from vcdebug.framework.session import Session
    from vcdebug.model.node import NodeInfo
    from vcdebug.model.task import TaskInfo

EVICTION_REASON = "preempt"

VictimQueue = PriorityQueue["TaskInfo"]
EvictFunction = Callable[["Session", Statement, VictimQueue, "TaskInfo", "NodeInfo"], bool]
"""Evicts one victim after the other; whether the task fits then."""
RoomMaker = Callable[["Session", Statement, "TaskInfo", "NodeInfo", Sequence["TaskInfo"]], bool]
"""Evicts and pipelines on one node; whether the task found its room there."""


def room_maker(ssn: Session) -> RoomMaker:
    """As the release does it."""
    evicting = _until_size_fits if ssn.release.has_older_form(PREEMPT_NO_PREDICATE_RECHECK) else _until_predicates_agree
    make = _in_shared_statement if ssn.release.has_older_form(PREEMPT_SHARED_STATEMENT) else _in_own_statement
    return partial(make, evicting=evicting)


def _in_own_statement(
    ssn: Session,
    statement: Statement,
    task: TaskInfo,
    node: NodeInfo,
    victims: Sequence[TaskInfo],
    evicting: EvictFunction,
) -> bool:
    """What did not help is undone at once."""
    trial = Statement(ssn)
    fits = evicting(ssn, trial, build_victims_queue(ssn, victims, task), task, node)
    frees = _frees_something(ssn, trial, 0, task)
    if not fits or trial.pipeline(task, node.name, eviction=frees) is not None:
        trial.discard()
        return False
    statement.merge(trial)
    return True


def _in_shared_statement(
    ssn: Session,
    statement: Statement,
    task: TaskInfo,
    node: NodeInfo,
    victims: Sequence[TaskInfo],
    evicting: EvictFunction,
) -> bool:
    """What did not help stays, and a refused pipeline counts as room found."""
    before = len(statement)
    fits = evicting(ssn, statement, build_victims_queue(ssn, victims, task), task, node)
    frees = _frees_something(ssn, statement, before, task)
    if fits:
        statement.pipeline(task, node.name, eviction=frees)
    return fits


def _until_predicates_agree(
    ssn: Session, statement: Statement, heap: VictimQueue, task: TaskInfo, node: NodeInfo
) -> bool:
    fits = _has_room(ssn, task, node) and predicate_node(ssn, task, node) == 0
    while heap and not fits:
        _evict_victim(ssn, statement, heap.pop(), task)
        fits = _has_room(ssn, task, node) and predicate_node(ssn, task, node) == 0
    return fits


def _until_size_fits(ssn: Session, statement: Statement, heap: VictimQueue, task: TaskInfo, node: NodeInfo) -> bool:
    """The test is made once more where it ended the evictions."""
    while heap and not _has_room(ssn, task, node):
        _evict_victim(ssn, statement, heap.pop(), task)
    return _has_room(ssn, task, node)


def _has_room(ssn: Session, task: TaskInfo, node: NodeInfo) -> bool:
    """The queue may take it, and FutureIdle holds it: asked in this order.
    Upstream: actions/preempt.preemptorFitsOnNode.
    """
    queue = ssn.queues[ssn.jobs[task.job].queue]
    return ssn.ask_plugins(ALLOCATABLE, queue, task) and node.fits_future_idle(task.init_resreq)


def _evict_victim(ssn: Session, statement: Statement, victim: TaskInfo, task: TaskInfo) -> None:
    ssn.log("victim", victim.key, task.key)
    statement.evict(victim, EVICTION_REASON)


def _frees_something(ssn: Session, statement: Statement, since: int, task: TaskInfo) -> bool:
    """Whether what was evicted on this node requested anything."""
    freed = Resource()
    for operation in statement.operations[since:]:
        freed.add(operation.task.resreq)
    ssn.log("sum", freed, task.key, task.init_resreq)
    return len(statement) > since and not freed.is_empty()
