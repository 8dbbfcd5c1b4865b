"""One run of the older allocate over the tasks that a job has left, on all nodes or on those of a HyperNode.

Upstream: actions/allocate (allocateResourcesForTasks).
"""

from __future__ import annotations

from vcdebug.actions.allocate.tasks import TaskVisit, place_task
from vcdebug.actions.allocate.visits import note_left_open
from vcdebug.framework.hooks import JOB_PIPELINED, JOB_READY
from vcdebug.framework.order import PriorityQueue
from vcdebug.framework.placement import PredicateHelper
from vcdebug.framework.scoring import best_with_score
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.hypernode import TOP_HYPER_NODE
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.node import NodeInfo
from vcdebug.model.nodetable import NodeRows
from vcdebug.model.task import TaskInfo
from vcdebug.releases.topology import NTA_SOFT_ONLY


class TaskRuns:
    """All runs of an action, and what the nodes that they chose were worth in sum."""

    def __init__(self, ssn: Session, *, error_cache: bool) -> None:
        self._ssn = ssn
        self._error_cache = error_cache
        self.sums: dict[tuple[JobId, str], float] = {}
        """Of each job in each HyperNode."""

    def allocate_tasks(self, job: JobInfo, tasks: PriorityQueue[TaskInfo], hyper_node: str = "") -> Statement | None:
        """The statement, perhaps without operations, if the job ends ready; a pipelined job's stays open.
        Upstream: actions/allocate.allocateResourcesForTasks.
        """
        ssn = self._ssn
        nodes = ssn.hyper_node_rows(hyper_node) if hyper_node else ssn.all_rows()
        assert nodes is not None
        statement = Statement(ssn)
        visit = RetryingVisit(ssn, job, nodes, PredicateHelper(ssn, cache_on=self._error_cache), statement)
        visit.score = self.sums.get((job.uid, hyper_node), 0.0)
        visit.place_all(tasks)
        self.sums[job.uid, hyper_node] = visit.score
        if ssn.ask_plugins(JOB_READY, job):
            ssn.log("job-ready", job.uid)
            self._keep_soft(job, visit.reached_hyper_node)
            return statement
        if not ssn.ask_plugins(JOB_PIPELINED, job):
            statement.discard()
        else:
            note_left_open(ssn, job, statement)
        return None

    def _keep_soft(self, job: JobInfo, reached: str) -> None:
        """Upstream: actions/allocate (v1.13: updateJobAllocatedHyperNode)."""
        if of_soft_topology(job):
            keep_hyper_node(self._ssn, job, reached)


def of_soft_topology(job: JobInfo) -> bool:
    """Upstream: api/job_info.IsSoftTopologyMode."""
    return job.network_topology is not None and job.network_topology.mode == "soft"


def keep_hyper_node(ssn: Session, job: JobInfo, hyper_node: str) -> None:
    """The job's HyperNode from now on."""
    if job.allocated_hyper_node != hyper_node:
        job.allocated_hyper_node = hyper_node
        ssn.mark_job_dirty(job)


class RetryingVisit(TaskVisit):
    """One pass over the tasks that a job has left."""

    def __init__(
        self, ssn: Session, job: JobInfo, nodes: NodeRows, helper: PredicateHelper, statement: Statement
    ) -> None:
        super().__init__(ssn, job, job.only_sub_job(), TOP_HYPER_NODE, nodes, helper, statement)
        self._allocated_in = job.allocated_hyper_node
        self._shown_nodes = len(ssn.nodes)
        self._nears = (
            of_soft_topology(job) if ssn.release.has_older_form(NTA_SOFT_ONLY) else job.network_topology is not None
        )
        self.score = 0.0
        """Of all nodes that were chosen in the job's HyperNode, in sum."""

    @property
    def reached_hyper_node(self) -> str:
        """The HyperNode that holds the job with what was placed."""
        return self._allocated_in

    def try_task(self, task: TaskInfo) -> bool:
        """Try one task; False ends the loop. A task whose role has failed before leaves no fit error of its own."""
        if self._lost_to_queue(task):
            return True
        if self._job.task_has_fit_errors(self._of_roles, task):
            self._ssn.log("again", task.name, task.task_role)
            return True
        return self._search_node(task)

    def _place_on_best(self, task: TaskInfo, feasible: NodeRows) -> bool:
        """A ready job ends the loop also where the task's placement was refused."""
        if self._nears:
            task.job_allocated_hyper_node = self._allocated_in
        node, score = best_with_score(self._ssn, task, feasible)
        if node is None:
            return True
        self.score = self.score + score
        if place_task(self._ssn, self._statement, task, node) is None and self._nears:
            self._widen_hyper_node(node)
        return not self._ssn.ask_plugins(JOB_READY, self._job)

    def _widen_hyper_node(self, node: NodeInfo) -> None:
        """Upstream: actions/allocate (v1.13: getJobNewAllocatedHyperNode)."""
        tree = self._ssn.hyper_nodes
        found = tree.stated_for_node(node.name)
        if found:
            self._allocated_in = tree.stated_lca(found, self._allocated_in) if self._allocated_in else found
