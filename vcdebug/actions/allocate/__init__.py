"""allocate: places pending tasks on idle or future idle resources. Upstream: actions/allocate."""

from functools import partial

from vcdebug.actions.allocate import domains
from vcdebug.actions.allocate.tasks import TaskPlacement, is_placeable, is_ready, not_admitted, take_turns
from vcdebug.framework.action import Action, QueuedJobs, is_invalid
from vcdebug.framework.order import PriorityQueue, Worksheet, build_worksheet
from vcdebug.framework.record import Level
from vcdebug.framework.registry import ActionFacts
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.hyper_nodes import TOP_HYPER_NODE
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo
from vcdebug.releases.scheduling import FLAT_NOMINATION


class Allocate(Action):
    """Visits queues and jobs in order; each visit has its own statement, which is committed if the job is ready."""

    name = "allocate"
    facts = ActionFacts(places=True)

    def execute(self, ssn: Session) -> None:
        """Upstream: actions/allocate.Execute."""
        self._placement = TaskPlacement(ssn, error_cache=self.error_cache)
        self._domains = domains.DomainSearch(ssn, self._placement)
        self._keeps_nomination = ssn.release.has_older_form(FLAT_NOMINATION)
        self._worksheets: dict[JobId, Worksheet] = {}
        self._flat: dict[JobId, PriorityQueue[TaskInfo]] = {}
        queued = self._build_allocate_context(ssn)
        take_turns(ssn, queued, partial(self._allocate_resources, ssn, queued))

    def _allocate_resources(self, ssn: Session, queued: QueuedJobs, queue: QueueInfo) -> None:
        """Upstream: actions/allocate.allocateResources."""
        job = queued.jobs[queue.name].pop()
        with ssn.open_span(Level.JOB, job.uid):
            if domains.tries_hyper_nodes(ssn, job):
                goes_back = domains.allocate_in_domains(ssn, self._domains, job, self._worksheets[job.uid])
            else:
                goes_back = self._allocate_flat(ssn, job)
        if goes_back:
            queued.jobs[queue.name].push(job)
        queued.queues.push(queue)

    def _build_allocate_context(self, ssn: Session) -> QueuedJobs:
        """Upstream: actions/allocate.buildAllocateContext."""
        queued = QueuedJobs(ssn)
        for job in ssn.jobs.values():
            if not_admitted(ssn, job) or is_invalid(ssn, job):
                continue
            if not ssn.hyper_nodes.ready and job.contains_network_topology():
                ssn.log("topology", job.uid, job.queue)
                continue
            worksheet = build_worksheet(ssn, job, partial(is_placeable, ssn))
            if worksheet.empty:
                continue
            queued.add_job(ssn.queues[job.queue], job)
            self._worksheets[job.uid] = worksheet
            if not job.contains_hard_topology() and job.uid in worksheet.tasks:
                self._flat[job.uid] = worksheet.tasks[job.uid]
        ssn.log("try", len(queued.jobs))
        return queued

    def _allocate_flat(self, ssn: Session, job: JobInfo) -> bool:
        """Allocate a job without hard topology; returns whether the job goes back into its queue.

        A job that is pipelined but not ready keeps its open statement: neither committed nor discarded.
        """
        sub_job, tasks = job.default_sub_job(), self._flat.get(job.uid)
        if sub_job is None or tasks is None:
            return False
        ssn.log("flat", job.queue, job.uid, sub_job.nominated_hyper_node, len(tasks))
        statement: Statement | None = None
        if sub_job.nominated_hyper_node and not self._keeps_nomination:
            statement = domains.allocate_from_nomination(ssn, self._placement, job, sub_job, tasks)
        if statement is None:
            statement = self._placement.allocate_tasks(job, sub_job, tasks, TOP_HYPER_NODE)
        if statement is None or not is_ready(ssn, job, statement):
            return False
        statement.commit()
        if not self._keeps_nomination:
            sub_job.nominated_hyper_node = ""
        return bool(tasks)
