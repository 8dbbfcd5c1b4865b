"""enqueue: admits Pending PodGroups to the scheduling actions. Upstream: actions/enqueue."""

from vcdebug.framework.action import Action, QueuedJobs
from vcdebug.framework.hooks import JOB_ENQUEUEABLE
from vcdebug.framework.record import Level
from vcdebug.framework.registry import ActionFacts
from vcdebug.framework.session import Session
from vcdebug.model.job import JobInfo
from vcdebug.model.pod_group import INQUEUE


class Enqueue(Action):
    """Moves PodGroups from Pending to Inqueue if the plugins permit it, queue by queue."""

    name = "enqueue"
    facts = ActionFacts(admits=True)

    def execute(self, ssn: Session) -> None:
        """Pop queues until none has a pending job left. Upstream: actions/enqueue.Execute."""
        queued = self._collect_jobs(ssn)
        while queued.queues:
            queue = queued.queues.pop()
            jobs = queued.jobs[queue.name]
            if not jobs:
                continue
            with ssn.open_span(Level.QUEUE, queue.name):
                job = jobs.pop()
                with ssn.open_span(Level.JOB, job.uid):
                    self._admit_job(ssn, job)
            # Pushed even after a rejection: the queue's other jobs are tried in the same run.
            queued.queues.push(queue)

    def _collect_jobs(self, ssn: Session) -> QueuedJobs:
        queued = QueuedJobs(ssn)
        for job in ssn.jobs.values():
            queue = ssn.queues[job.queue]
            queued.add_queue(queue, job)
            if job.is_pending():
                queued.add_job(queue, job)
        ssn.log("try", len([jobs for jobs in queued.jobs.values() if jobs]))
        return queued

    def _admit_job(self, ssn: Session, job: JobInfo) -> None:
        """Admit the job if it has no minResources or the plugins permit it; otherwise it waits for another session."""
        if job.pod_group.min_resources is None or ssn.ask_plugins(JOB_ENQUEUEABLE, job):
            ssn.notify_enqueued(job)
            # The change belongs to the last answer; the next event is about another job.
            ssn.set_phase(job, INQUEUE, len(ssn.record.events))
