"""backfill: places tasks that request nothing. Upstream: actions/backfill."""

from vcdebug.errors import NIL_POINTER_TEXT, SchedulerPanic, blame_objects
from vcdebug.framework import transitions
from vcdebug.framework.action import Action, QueuedJobs, is_invalid, pre_predicate_errors
from vcdebug.framework.hooks import PRE_PREDICATE
from vcdebug.framework.order import PriorityQueue, task_queue
from vcdebug.framework.placement import PredicateHelper, predicate_for_allocate_action, shard_groups
from vcdebug.framework.record import Level
from vcdebug.framework.registry import ActionFacts
from vcdebug.framework.scoring import prioritize_nodes, select_best
from vcdebug.framework.session import Session
from vcdebug.model.fit_errors import FitErrors
from vcdebug.model.job import JobInfo
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.releases.scheduling import BACKFILL_ENDS_AT_FAILURE, BACKFILL_REFUSAL_UNSAID

UNSCORED_CHANGE = "repair what makes all scores of the pod fail, or request cpu in it: allocate then leaves it Pending"


class Backfill(Action):
    """Binds best-effort tasks directly, without a statement and without checking idle resources."""

    name = "backfill"
    facts = ActionFacts(places=True)

    def execute(self, ssn: Session) -> None:
        """Collect all tasks in order, then place one by one. Upstream: actions/backfill.Execute."""
        ends_at_failure = ssn.release.has_older_form(BACKFILL_ENDS_AT_FAILURE)
        for job, task in self._pick_up_pending_tasks(ssn):
            with (
                ssn.open_span(Level.QUEUE, job.queue),
                ssn.open_span(Level.JOB, job.uid),
                ssn.open_span(Level.TASK, task.key),
            ):
                is_placed = self._place_task(ssn, job, task)
            if not is_placed and ends_at_failure:
                return

    def _pick_up_pending_tasks(self, ssn: Session) -> list[tuple[JobInfo, TaskInfo]]:
        """Upstream: actions/backfill.pickUpPendingTasks."""
        queued = QueuedJobs(ssn)
        heaps: dict[str, PriorityQueue[TaskInfo]] = {}
        for job in ssn.jobs.values():
            if job.is_pending() or is_invalid(ssn, job):
                continue
            tasks = self._best_effort(ssn, job)
            if tasks:
                heaps[job.uid] = task_queue(ssn).extend(tasks)
                queued.add_job(ssn.queues[job.queue], job)
        picked: list[tuple[JobInfo, TaskInfo]] = []
        while queued.queues:
            jobs = queued.jobs[queued.queues.pop().name]
            while jobs:
                job = jobs.pop()
                heap = heaps[job.uid]
                while heap:
                    picked.append((job, heap.pop()))
        return picked

    def _best_effort(self, ssn: Session, job: JobInfo) -> list[TaskInfo]:
        """The job's best-effort tasks: pending ones, and pipelined ones after undoing their placement."""
        tasks = [t for t in job.tasks_with_status(TaskStatus.PENDING) if t.best_effort and not t.sch_gated]
        for task in job.tasks_with_status(TaskStatus.PIPELINED):
            if task.best_effort:
                # Without a statement: a task that finds no node stays Pending.
                transitions.unplace_task(ssn, task, "unpipeline")
                tasks.append(task)
        return tasks

    def _place_task(self, ssn: Session, job: JobInfo, task: TaskInfo) -> bool:
        """Place one task; returns whether a node was found, even if the allocation there failed."""
        error = ssn.ask_plugins(PRE_PREDICATE, task)
        if error is not None:
            ssn.log("pre-predicate", task.key)
            job.nodes_fit_errors[task.uid] = pre_predicate_errors(ssn, error, ssn.all_rows())
            return False
        helper = PredicateHelper(ssn, cache_on=self.error_cache)
        feasible, errors = helper.predicate_nodes(task, ssn.all_rows(), predicate_for_allocate_action)
        if not len(feasible):
            job.nodes_fit_errors[task.uid] = errors
            return False
        node = self._choose_node(ssn, task, feasible)
        ssn.log("binding", task.key, node.name)
        refused = transitions.allocate(ssn, task, node.name)
        if refused is not None and not ssn.release.has_older_form(BACKFILL_REFUSAL_UNSAID):
            errors = FitErrors(ssn.reasons)
            errors.set_node(node.row, ssn.reasons.error_code(refused))
            job.nodes_fit_errors[task.uid] = errors
        return True

    def _choose_node(self, ssn: Session, task: TaskInfo, feasible: NodeRows) -> NodeInfo:
        if len(feasible) == 1:
            return feasible.node_infos[0]
        for group in shard_groups(ssn, feasible):
            node = select_best(ssn, task, prioritize_nodes(ssn, task, group))
            if node is not None:
                return node
        # If no group has a node, upstream reads the name of a nil node: the process panics.
        raise blame_objects(SchedulerPanic(NIL_POINTER_TEXT), (), UNSCORED_CHANGE)
