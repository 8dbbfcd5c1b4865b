"""The task loop of allocate: predicates, best node, allocate or pipeline, until the sub job is ready.

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
    """Places the tasks of one sub job inside one hypernode, on a statement of its own."""

    def __init__(self, ssn: Session, *, error_cache: bool) -> None:
        self._ssn = ssn
        self.error_cache = error_cache

    def allocate_tasks(
        self, job: JobInfo, sub_job: SubJobInfo, tasks: PriorityQueue[TaskInfo], hyper_node: str
    ) -> Statement | None:
        """The statement if the sub job ends ready or pipelined (perhaps without operations), else None.
        Upstream: actions/allocate.allocateResourcesForTasks.
        """
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
        # Logged only: the older form prints all nodes of the session here.
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
        """Try one task after the other, until one ends the loop."""
        while tasks:
            task = tasks.pop()
            with self._ssn.open_span(Level.TASK, task.key):
                go_on = self.try_task(task)
            if not go_on:
                return

    def try_task(self, task: TaskInfo) -> bool:
        """Try one task; False ends the loop. A task lost to Allocatable or a gate leaves no fit error."""
        ssn, job = self._ssn, self._job
        if self._lost_to_queue(task):
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
            # Upstream's words with their grammar: users search for them.
            text = f"Task {task.name} with role spec {task.task_role} has already predicated failed, skip"
            job.nodes_fit_errors[task.uid] = FitErrors(ssn.reasons, text)
            ssn.log("again", task.name, task.task_role)
            return True
        return self._search_node(task)

    def _lost_to_queue(self, task: TaskInfo) -> bool:
        ssn, queue = self._ssn, self._job.queue
        if ssn.ask_plugins(ALLOCATABLE, ssn.queues[queue], task):
            return False
        ssn.log("lost", queue, task.name)
        ssn.note_quirk(TASK_LOST_TO_QUEUE, f"{task.key} is dropped: {queue} may not allocate it", at_last=True)
        return True

    def _search_node(self, task: TaskInfo) -> bool:
        """Look for a node; False ends the loop."""
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
        if nominated is not None and self._may_hold(nominated, task):
            anywhere = self._ssn.all_rows() if self._nominated_anywhere else self._nodes
            alone = anywhere.select_where(anywhere.rows == nominated.row)
            if len(alone):
                feasible, errors = self._helper.predicate_nodes(task, alone, allocate_judge)
                if len(feasible):
                    return feasible, errors
        return self._helper.predicate_nodes(task, self._nodes, allocate_judge)

    def _may_hold(self, nominated: NodeInfo, task: TaskInfo) -> bool:
        """Whether the nominated node is asked first."""
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
        # No best node, or a refused placement: upstream goes on with the next task and reports nothing.
        if node is None or place_task(ssn, self._statement, task, node) is not None:
            return True
        if sub_job.with_network_topology():
            self._widen_hyper_node(node)
        return not ssn.sub_job_ready(self._job, sub_job)

    def _place_restored(self, task: TaskInfo) -> bool | None:
        """Whether the loop goes on; None leaves the task to the ordinary search."""
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
        # An empty name on either side gives the other one.
        tree = self._ssn.hyper_nodes
        self._allocated_in = tree.get_lca_hyper_node(tree.find_hyper_node_for_node(node.name), self._allocated_in)


def place_task(ssn: Session, statement: Statement, task: TaskInfo, node: NodeInfo) -> str | None:
    """Allocate on idle room, else pipeline on future room. Upstream: actions/allocate.allocateResourcesForTask."""
    if task.init_resreq.less_equal(node.idle):
        ssn.log("binding", task.key, node.name)
        return statement.allocate(task, node.name)
    ssn.log("limited", task.key, node.name)
    if node.fits_future_idle(task.init_resreq):
        ssn.log("pipelining", task.key, node.name, task.init_resreq, node.releasing.clone())
        return statement.pipeline(task, node.name, eviction=False, undone=not ssn.keeps_refused_pipelines)
    return None


# The fast path of a task that an earlier cycle pipelined: straight to its node once the room is there.


class RestoredOutcome(Enum):
    """The outcome for a task."""

    PLACED = 0
    WAITS = 1
    """It keeps its place: the room is not there yet, or not in the hypernode that is searched."""
    RELEASED = 2
    """Its node refuses it: it is Pending, and searched for as any other task."""


def place_restored(ssn: Session, statement: Statement, task: TaskInfo, nodes: NodeRows) -> RestoredOutcome:
    """Place the task on its own node once the resources are idle there."""
    node = ssn.nodes.get(ssn.restored[task.uid])
    if node is not None:
        alone = nodes.select_where(nodes.rows == node.row)
        if not len(alone) or not task.init_resreq.less_equal(node.idle):
            return RestoredOutcome.WAITS
        if ssn.ask_plugins(PRE_PREDICATE, task) is None:
            # Resources are compared above, since future idle room does not count for a restored task.
            feasible, _ = PredicateHelper(ssn, cache_on=False).predicate_nodes(
                task, alone, predicate_for_allocate_action
            )
            if len(feasible):
                return RestoredOutcome.PLACED if statement.allocate(task, node.name) is None else RestoredOutcome.WAITS
    transitions.unplace_task(ssn, task, "unpipeline")
    return RestoredOutcome.RELEASED


# What both forms of allocate share: which jobs wait, the turns of queues, and when a statement is committed.


def not_admitted(ssn: Session, job: JobInfo) -> bool:
    """Whether the job waits for the action enqueue; where there is none, it is admitted now."""
    if not job.is_pending():
        return False
    if ENQUEUE in ssn.conf.actions:
        ssn.log("pending", job.uid, job.queue)
        return True
    ssn.log("inqueue", job.uid, job.queue)
    ssn.set_phase(job, INQUEUE)
    return False


def is_placeable(ssn: Session, task: TaskInfo) -> bool:
    """Not best-effort, and behind no gate but Volcano's own."""
    if task.sch_gated and not task.pod.has_only_volcano_gate:
        if not ssn.release.has_older_form(scheduling.QUEUE_ALLOCATION_GATE):
            ssn.log("gate", task.key)
        return False
    if task.resreq.is_empty():
        ssn.log("best-effort", task.key)
        return False
    return True


def take_turns(ssn: Session, queued: QueuedJobs, visit: Callable[[QueueInfo], None], turn: str = "") -> None:
    """Pop queues until none has a job left; a visit puts its queue back. `turn` is the log key of each turn."""
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
    """Whether the job's statement may be committed; else it stays open."""
    if ssn.ask_plugins(JOB_READY, job):
        return True
    note_left_open(ssn, job, statement)
    return False


def note_left_open(ssn: Session, job: JobInfo, statement: Statement) -> None:
    """Note that the statement is neither committed nor discarded."""
    if len(statement):
        text = f"{job.uid} keeps {len(statement)} operations uncommitted until the session closes"
        ssn.note_quirk(STATEMENT_LEFT_OPEN, text, at_last=True)
