"""allocate: places pending tasks on idle or soon idle resources.

Upstream: actions/allocate.
"""

from __future__ import annotations

from functools import partial

from vcdebug.actions.allocate.domains import DomainSearch
from vcdebug.actions.allocate.nomination import allocate_from_nomination
from vcdebug.actions.allocate.tasks import TaskPlacement
from vcdebug.framework.action import Action, QueuedJobs, is_invalid
from vcdebug.framework.hooks import JOB_READY, OVERUSED
from vcdebug.framework.order import PriorityQueue
from vcdebug.framework.quirks import STATEMENT_LEFT_OPEN
from vcdebug.framework.record import Level
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.framework.worksheet import Worksheet, build_worksheet
from vcdebug.model.hypernode import TOP_HYPER_NODE
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.podgroup import INQUEUE
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo
from vcdebug.releases.scheduling import FLAT_NOMINATION, QUEUE_ALLOCATION_GATE, SUBGROUP_WITHOUT_HARD

ENQUEUE = "enqueue"


class Allocate(Action):
    """Queue by queue, job by job; a statement per visit, committed once the job is ready."""

    name = "allocate"

    def execute(self, ssn: Session) -> None:
        """Pop queues until none has a job left; a queue goes back after every visit.
        Upstream: actions/allocate.Execute.
        """
        self._placement = TaskPlacement(ssn, error_cache=self.error_cache)
        self._domains = DomainSearch(ssn, self._placement)
        self._places_sub_groups = not ssn.release.has(SUBGROUP_WITHOUT_HARD)
        self._keeps_nomination = ssn.release.has(FLAT_NOMINATION)
        self._worksheets: dict[JobId, Worksheet] = {}
        self._flat: dict[JobId, PriorityQueue[TaskInfo]] = {}
        waiting = self._collect(ssn)
        while waiting.queues:
            queue = waiting.queues.pop()
            with ssn.scope(Level.QUEUE, queue.name):
                if ssn.ask(OVERUSED, queue):
                    ssn.log("overused", queue.name)
                elif waiting.jobs[queue.name]:
                    self._visit(ssn, queue, waiting)
                else:
                    ssn.log("no-jobs", queue.name)

    def _visit(self, ssn: Session, queue: QueueInfo, waiting: QueuedJobs) -> None:
        """Upstream: actions/allocate.allocateResources."""
        job = waiting.jobs[queue.name].pop()
        with ssn.scope(Level.JOB, job.uid):
            if job.contains_hard_topology() or (self._places_sub_groups and job.pod_group.sub_group_policies):
                again = self._allocate_in_domains(ssn, job)
            else:
                again = self._allocate_flat(ssn, job)
        if again:
            waiting.jobs[queue.name].push(job)
        waiting.queues.push(queue)

    def _collect(self, ssn: Session) -> QueuedJobs:
        """Upstream: actions/allocate.buildAllocateContext."""
        waiting = QueuedJobs(ssn)
        for job in ssn.jobs.values():
            if job.is_pending():
                if ENQUEUE in ssn.conf.actions:
                    ssn.log("pending", job.uid, job.queue)
                    continue
                ssn.log("inqueue", job.uid, job.queue)
                ssn.set_phase(job, INQUEUE)
            if is_invalid(ssn, job):
                continue
            if not ssn.hyper_nodes.ready and job.contains_network_topology():
                ssn.log("topology", job.uid, job.queue)
                continue
            worksheet = build_worksheet(ssn, job, partial(_placeable, ssn))
            if worksheet.empty:
                continue
            waiting.add_job(ssn.queues[job.queue], job)
            self._worksheets[job.uid] = worksheet
            if not job.contains_hard_topology() and job.uid in worksheet.tasks:
                self._flat[job.uid] = worksheet.tasks[job.uid]
        ssn.log("try", len(waiting.jobs))
        return waiting

    def _allocate_in_domains(self, ssn: Session, job: JobInfo) -> bool:
        """Jobs with hard topology or sub groups: True when the job goes back into its queue.
        Upstream: actions/allocate.allocateForJob.
        """
        worksheet = self._worksheets[job.uid]
        statement = self._domains.allocate_job(job, worksheet, TOP_HYPER_NODE)
        if statement is None or not self._ready(ssn, job, statement):
            return False
        statement.commit()
        ssn.mark_job_dirty(job)
        self._domains.decisions.apply(job)
        return not worksheet.empty

    def _ready(self, ssn: Session, job: JobInfo, statement: Statement) -> bool:
        if ssn.ask(JOB_READY, job):
            return True
        if len(statement):
            text = f"{job.uid} keeps {len(statement)} operations uncommitted until the session closes"
            ssn.note(STATEMENT_LEFT_OPEN, text, at_last=True)
        return False

    def _allocate_flat(self, ssn: Session, job: JobInfo) -> bool:
        """All other jobs: True when the job goes back into its queue.

        A job that is pipelined but not ready keeps its open statement: neither committed nor discarded.
        """
        sub_job, tasks = job.default_sub_job(), self._flat.get(job.uid)
        if sub_job is None or tasks is None:
            return False
        ssn.log("flat", job.queue, job.uid, sub_job.nominated_hyper_node, len(tasks))
        statement: Statement | None = None
        if sub_job.nominated_hyper_node and not self._keeps_nomination:
            statement = allocate_from_nomination(ssn, self._placement, job, sub_job, tasks)
        if statement is None:
            statement = self._placement.allocate(job, sub_job, tasks, TOP_HYPER_NODE)
        if statement is None or not self._ready(ssn, job, statement):
            return False
        statement.commit()
        if not self._keeps_nomination:
            sub_job.nominated_hyper_node = ""
        return bool(tasks)


def _placeable(ssn: Session, task: TaskInfo) -> bool:
    """Not best-effort, and behind no gate but Volcano's own."""
    if task.sch_gated and not task.pod.only_volcano_gate:
        if not ssn.release.has(QUEUE_ALLOCATION_GATE):
            ssn.log("gate", task.key)
        return False
    if task.resreq.is_empty():
        ssn.log("best-effort", task.key)
        return False
    return True
