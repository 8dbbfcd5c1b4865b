"""enqueue: admits Pending PodGroups to the scheduling actions. Upstream: actions/enqueue."""

from vcdebug.framework.action import Action, QueuedJobs
from vcdebug.framework.hooks import JOB_ENQUEUEABLE
from vcdebug.framework.record import Level
from vcdebug.framework.session import Session
from vcdebug.model.job import JobInfo
from vcdebug.model.pod_group import INQUEUE


class Enqueue(Action):
    """Moves PodGroups from Pending to Inqueue, queue by queue, as long as the plugins agree."""

    name = "enqueue"
    admits = True

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
            # Also after a refusal: the queue's other jobs are asked in the same run.
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
        """A PodGroup without minResources passes unasked; a refused one is not asked again in this session."""
        if job.pod_group.min_resources is None or ssn.ask_plugins(JOB_ENQUEUEABLE, job):
            ssn.notify_enqueued(job)
            # The last answer admits the job; the next event is about another one.
            ssn.set_phase(job, INQUEUE, len(ssn.record.events))
