"""The fast path of a sub job whose gang action nominated a hypernode in this session.

Upstream: actions/allocate (allocateFromNomination).
"""

from __future__ import annotations

from vcdebug.actions.allocate.tasks import TaskPlacement, place_task
from vcdebug.framework.hooks import ALLOCATABLE, PRE_PREDICATE
from vcdebug.framework.order import PriorityQueue
from vcdebug.framework.placement import PredicateHelper, allocate_judge
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.job import JobInfo
from vcdebug.model.node import NodeInfo
from vcdebug.model.nodetable import NodeRows
from vcdebug.model.subjob import SubJobInfo
from vcdebug.model.task import TaskInfo

Placements = list[tuple[TaskInfo, NodeInfo]]


def allocate_from_nomination(
    ssn: Session, placement: TaskPlacement, job: JobInfo, sub_job: SubJobInfo, tasks: PriorityQueue[TaskInfo]
) -> Statement | None:
    """All tasks on their nominated nodes, or None: then the nomination is forgotten.

    Every task is validated before any is placed, so two tasks may both pass for room that holds one.
    Upstream: actions/allocate.allocateFromNomination.
    """
    nodes = ssn.hyper_node_rows(sub_job.nominated_hyper_node)
    statement: Statement | None = None
    if nodes is not None and len(nodes):
        placements = _validate_nomination(ssn, job, nodes, tasks.clone(), placement.error_cache)
        if placements is not None:
            statement = _place_nominated(ssn, sub_job, placements)
    if statement is None:
        _invalidate_nomination(sub_job, tasks)
        return None
    while tasks:
        tasks.pop()
    nominated = sub_job.nominated_hyper_node
    sub_job.allocated_hyper_node = ssn.hyper_nodes.get_lca_hyper_node(sub_job.allocated_hyper_node, nominated)
    return statement


def _validate_nomination(
    ssn: Session, job: JobInfo, nodes: NodeRows, tasks: PriorityQueue[TaskInfo], error_cache: bool
) -> Placements | None:
    """Upstream: actions/allocate.validateNomination."""
    helper = PredicateHelper(ssn, cache_on=error_cache)
    placements: Placements = []
    while tasks:
        task = tasks.pop()
        if not ssn.ask_plugins(ALLOCATABLE, ssn.queues[job.queue], task):
            return None
        node = ssn.nodes.get(task.pod.nominated_node_name)
        if node is None:
            return None
        alone = nodes.select_where(nodes.rows == node.row)
        if not len(alone) or ssn.ask_plugins(PRE_PREDICATE, task) is not None:
            return None
        feasible, _ = helper.predicate_nodes(task, alone, allocate_judge)
        if not len(feasible):
            return None
        placements.append((task, node))
    return placements


def _place_nominated(ssn: Session, sub_job: SubJobInfo, placements: Placements) -> Statement | None:
    statement = Statement(ssn)
    for task, node in placements:
        if sub_job.with_network_topology():
            task.job_allocated_hyper_node = sub_job.nominated_hyper_node
        if place_task(ssn, statement, task, node) is not None:
            statement.discard()
            return None
    return statement


def _invalidate_nomination(sub_job: SubJobInfo, tasks: PriorityQueue[TaskInfo]) -> None:
    """Upstream: actions/allocate.invalidateSubJobNomination."""
    sub_job.nominated_hyper_node = ""
    waiting = tasks.clone()
    while waiting:
        waiting.pop().pod.nominated_node_name = ""
