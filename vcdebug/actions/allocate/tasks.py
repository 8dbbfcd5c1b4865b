"""The task loop of allocate: filters, best node, allocate or pipeline, until the sub job is ready.

Upstream: actions/allocate (allocateResourcesForTasks, prioritizeNodes, allocateResourcesForTask).
"""

from collections.abc import Callable
from enum import Enum

from vcdebug.actions import ENQUEUE
from vcdebug.framework import transitions
from vcdebug.framework.action import QueuedJobs, pre_predicate_errors
from vcdebug.framework.hooks import ALLOCATABLE, JOB_READY, OVERUSED, PRE_PREDICATE
from vcdebug.framework.order import PriorityQueue
from vcdebug.framework.placement import PredicateHelper, allocate_judge, predicate_for_allocate_action
from vcdebug.framework.quirks import STATEMENT_LEFT_OPEN, TASK_LOST_TO_QUEUE
from vcdebug.framework.record import Level
from vcdebug.framework.scoring import best_node
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.fit_errors import FitErrors
from vcdebug.model.hyper_nodes import TOP_HYPER_NODE
from vcdebug.model.job import JobInfo
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.pod import QUEUE_GATE, TRUE, VOLCANO_GATE
from vcdebug.model.pod_group import INQUEUE
from vcdebug.model.queue import QueueInfo
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.releases import scheduling


class TaskPlacement:
    """Places the tasks of one sub job in one hypernode, using a new statement."""

    def __init__(self, ssn: Session, *, error_cache: bool) -> None:
        self._ssn = ssn
        self.error_cache = error_cache

    def allocate_tasks(
        self, job: JobInfo, sub_job: SubJobInfo, tasks: PriorityQueue[TaskInfo], hyper_node: str
    ) -> Statement | None:
        """The statement if ready or pipelined, else None. Upstream: actions/allocate.allocateResourcesForTasks."""
        ssn = self._ssn
        nodes = ssn.hyper_node_rows(hyper_node)
        if nodes is None or not len(nodes):
            ssn.log("no-nodes", job.uid, hyper_node)
            return None
        statement = Statement(ssn)
        helper = PredicateHelper(ssn, cache_on=self.error_cache)
        visit = TaskVisit(ssn, job, sub_job, hyper_node, nodes, helper, statement)
        visit.place_all(tasks)
        for condition, key in ((ssn.sub_job_ready, "ready"), (ssn.sub_job_pipelined, "pipelined")):
            if condition(job, sub_job):
                ssn.log(key, job.uid, sub_job.uid)
                return statement
        statement.discard()
        return None


class TaskVisit:
    """One pass over a sub job's tasks in one hypernode."""

    def __init__(
        self,
        ssn: Session,
        job: JobInfo,
        sub_job: SubJobInfo,
        hyper_node: str,
        nodes: NodeRows,
        helper: PredicateHelper,
        statement: Statement,
    ) -> None:
        self._ssn = ssn
        self._job = job
        self._sub_job = sub_job
        self._hyper_node = hyper_node
        self._nodes = nodes
        # Used in log lines only: the older form prints the number of all nodes of the session.
        self._shown_nodes = len(nodes)
        self._helper = helper
        self._statement = statement
        self._allocated_in = sub_job.allocated_hyper_node
        self._breaks_at_refusal = ssn.release.has_older_form(scheduling.PREPREDICATE_ALWAYS_BREAKS)
        self._of_roles = None if ssn.release.has_older_form(scheduling.FIT_ROLES_PER_JOB) else sub_job
        self._nominated_anywhere = ssn.release.has_older_form(scheduling.NOMINATION_IN_HYPERNODE)
        self._heeds_nomination = not ssn.release.has_older_form(scheduling.NOMINATION_UNHEEDED)
        self._nominated_if_idle = ssn.release.has_older_form(scheduling.NOMINATION_NEEDS_IDLE)

    def place_all(self, tasks: PriorityQueue[TaskInfo]) -> None:
        """Try the tasks one by one, until one of them ends the loop."""
        while tasks:
            task = tasks.pop()
            with self._ssn.open_span(Level.TASK, task.key):
                go_on = self.try_task(task)
            if not go_on:
                return

    def try_task(self, task: TaskInfo) -> bool:
        """Try one task; returns False to end the loop. A task that Allocatable or a gate stops gets no fit error."""
        ssn, job = self._ssn, self._job
        if self._is_refused_by_queue(task):
            return True
        if task.sch_gated:
            if task.pod.annotations.get(VOLCANO_GATE) == TRUE and ssn.flags.is_gate_on(QUEUE_GATE):
                ssn.opened_gates[task.key] = None
            return True
        if task.status is TaskStatus.PIPELINED and task.uid in ssn.restored:
            outcome = self._place_restored(task)
            if outcome is not None:
                return outcome
        if job.task_has_fit_errors(self._of_roles, task):
            # Upstream's message with its grammar, because users search for it.
            text = f"Task {task.name} with role spec {task.task_role} has already predicated failed, skip"
            job.nodes_fit_errors[task.uid] = FitErrors(ssn.reasons, text)
            ssn.log("again", task.name, task.task_role)
            return True
        return self._search_node(task)

    def _is_refused_by_queue(self, task: TaskInfo) -> bool:
        ssn, queue = self._ssn, self._job.queue
        if ssn.ask_plugins(ALLOCATABLE, ssn.queues[queue], task):
            return False
        ssn.log("lost", queue, task.name)
        ssn.note_quirk(TASK_LOST_TO_QUEUE, f"{task.key} is dropped: {queue} may not allocate it", at_last=True)
        return True

    def _search_node(self, task: TaskInfo) -> bool:
        """Search a node for the task and place it; returns False to end the loop."""
        ssn, job = self._ssn, self._job
        ssn.log("nodes", self._shown_nodes, job.uid)
        error = ssn.ask_plugins(PRE_PREDICATE, task)
        if error is not None:
            ssn.log("pre-predicate", task.key)
            job.nodes_fit_errors[task.uid] = pre_predicate_errors(ssn, error, self._nodes)
            return not self._breaks_at_refusal and job.need_continue_allocating(self._of_roles)
        feasible, errors = self._find_feasible(task)
        if not len(feasible):
            errors.hyper_node = "" if self._hyper_node == TOP_HYPER_NODE else self._hyper_node
            job.nodes_fit_errors[task.uid] = errors
            return job.need_continue_allocating(self._of_roles)
        return self._place_on_best(task, feasible)

    def _find_feasible(self, task: TaskInfo) -> tuple[NodeRows, FitErrors]:
        """Upstream: actions/allocate.predicate."""
        nominated = self._ssn.nodes.get(task.pod.nominated_node_name)
        if nominated is not None and self._tries_nominated_node(nominated, task):
            anywhere = self._ssn.all_rows() if self._nominated_anywhere else self._nodes
            alone = anywhere.select_where(anywhere.rows == nominated.row)
            if len(alone):
                feasible, errors = self._helper.predicate_nodes(task, alone, allocate_judge)
                if len(feasible):
                    return feasible, errors
        return self._helper.predicate_nodes(task, self._nodes, allocate_judge)

    def _tries_nominated_node(self, nominated: NodeInfo, task: TaskInfo) -> bool:
        """Whether the nominated node is tried before all others."""
        if not self._heeds_nomination:
            return False
        if self._nominated_if_idle:
            return task.init_resreq.less_equal(nominated.idle)
        return nominated.fits_future_idle(task.init_resreq)

    def _place_on_best(self, task: TaskInfo, feasible: NodeRows) -> bool:
        ssn, sub_job = self._ssn, self._sub_job
        if sub_job.with_network_topology():
            task.job_allocated_hyper_node = self._allocated_in
        node = best_node(ssn, task, feasible)
        # Without a best node, or after a failed placement, upstream continues with the next task and reports nothing.
        if node is None or place_task(ssn, self._statement, task, node) is not None:
            return True
        if sub_job.with_network_topology():
            self._widen_hyper_node(node)
        return not ssn.sub_job_ready(self._job, sub_job)

    def _place_restored(self, task: TaskInfo) -> bool | None:
        """Place a restored task; returns whether the loop goes on, None if the task needs an ordinary search."""
        ssn, sub_job = self._ssn, self._sub_job
        if sub_job.with_network_topology():
            task.job_allocated_hyper_node = self._allocated_in
        outcome = place_restored(ssn, self._statement, task, self._nodes)
        if outcome is RestoredOutcome.RELEASED:
            return None
        if outcome is RestoredOutcome.PLACED and sub_job.with_network_topology():
            self._widen_hyper_node(ssn.nodes[task.node_name])
        return outcome is RestoredOutcome.WAITS or not ssn.sub_job_ready(self._job, sub_job)

    def _widen_hyper_node(self, node: NodeInfo) -> None:
        """Upstream: actions/allocate.getNewAllocatedHyperNode."""
        # If one of the two names is empty, the result is the other.
        tree = self._ssn.hyper_nodes
        self._allocated_in = tree.get_lca_hyper_node(tree.find_hyper_node_for_node(node.name), self._allocated_in)


def place_task(ssn: Session, statement: Statement, task: TaskInfo, node: NodeInfo) -> str | None:
    """Allocate on Idle, else pipeline on FutureIdle. Upstream: actions/allocate.allocateResourcesForTask."""
    if task.init_resreq.less_equal(node.idle):
        ssn.log("binding", task.key, node.name)
        return statement.allocate(task, node.name)
    ssn.log("limited", task.key, node.name)
    if node.fits_future_idle(task.init_resreq):
        ssn.log("pipelining", task.key, node.name, task.init_resreq, node.releasing.clone())
        return statement.pipeline(task, node.name, eviction=False, undone=not ssn.keeps_refused_pipelines)
    return None


# The fast path of a task that an earlier cycle pipelined: it goes to its node once the resources are idle.


class RestoredOutcome(Enum):
    """The outcome of placing a restored task."""

    PLACED = 0
    WAITS = 1
    """The task stays pipelined: its resources are not idle yet, or its node is not in the searched hypernode."""
    RELEASED = 2
    """The task's node rejects it: the task is Pending now and needs an ordinary search."""


def place_restored(ssn: Session, statement: Statement, task: TaskInfo, nodes: NodeRows) -> RestoredOutcome:
    """Place the task on the node where it is pipelined, once its resources are idle there."""
    node = ssn.nodes.get(ssn.restored[task.uid])
    if node is not None:
        alone = nodes.select_where(nodes.rows == node.row)
        if not len(alone) or not task.init_resreq.less_equal(node.idle):
            return RestoredOutcome.WAITS
        if ssn.ask_plugins(PRE_PREDICATE, task) is None:
            # Resources are compared above: FutureIdle does not count for a restored task.
            feasible, _ = PredicateHelper(ssn, cache_on=False).predicate_nodes(
                task, alone, predicate_for_allocate_action
            )
            if len(feasible):
                return RestoredOutcome.PLACED if statement.allocate(task, node.name) is None else RestoredOutcome.WAITS
    transitions.unplace_task(ssn, task, "unpipeline")
    return RestoredOutcome.RELEASED


# Functions of both forms of allocate: admitted jobs, turns of queues, and readiness.


def not_admitted(ssn: Session, job: JobInfo) -> bool:
    """Whether the job is Pending until enqueue admits it; without the action enqueue, it is admitted here."""
    if not job.is_pending():
        return False
    if ENQUEUE in ssn.conf.actions:
        ssn.log("pending", job.uid, job.queue)
        return True
    ssn.log("inqueue", job.uid, job.queue)
    ssn.set_phase(job, INQUEUE)
    return False


def is_placeable(ssn: Session, task: TaskInfo) -> bool:
    """Whether the task is not best-effort and has no scheduling gate other than Volcano's."""
    if task.sch_gated and not task.pod.has_only_volcano_gate:
        if not ssn.release.has_older_form(scheduling.QUEUE_ALLOCATION_GATE):
            ssn.log("gate", task.key)
        return False
    if task.resreq.is_empty():
        ssn.log("best-effort", task.key)
        return False
    return True


def take_turns(ssn: Session, queued: QueuedJobs, visit: Callable[[QueueInfo], None], turn: str = "") -> None:
    """Pop queues until none has a job left; `visit` pushes a queue back. `turn` is the log key of a turn."""
    while queued.queues:
        queue = queued.queues.pop()
        with ssn.open_span(Level.QUEUE, queue.name):
            if ssn.ask_plugins(OVERUSED, queue):
                ssn.log("overused", queue.name)
                continue
            if turn:
                ssn.log(turn, queue.name)
            if queued.jobs[queue.name]:
                visit(queue)
            else:
                ssn.log("no-jobs", queue.name)


def is_ready(ssn: Session, job: JobInfo, statement: Statement) -> bool:
    """Whether the job is ready, so that its statement may be committed; otherwise the statement stays open."""
    if ssn.ask_plugins(JOB_READY, job):
        return True
    note_open_statement(ssn, job, statement)
    return False


def note_open_statement(ssn: Session, job: JobInfo, statement: Statement) -> None:
    """Note that the statement is neither committed nor discarded."""
    if len(statement):
        text = f"{job.uid} keeps its operations ({len(statement)}) uncommitted until the session closes"
        ssn.note_quirk(STATEMENT_LEFT_OPEN, text, at_last=True)
