"""gangpreempt: makes room for a whole gang within its queue, domain by domain. Upstream: actions/gangpreempt."""

from vcdebug.framework.action import NOT_LOWER, NOT_RUNNING, OTHER_QUEUE, SAME_JOB
from vcdebug.framework.gang_eviction import GangEviction
from vcdebug.framework.plugin_answers import EvictionKind
from vcdebug.framework.session import Session
from vcdebug.model.job import JobInfo
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo, is_preemptable_status
from vcdebug.releases.queues import PR_5373


class GangPreempt(GangEviction):
    """Evicts bound or running tasks of lower-priority jobs in the same queue.
    Upstream: actions/gangpreempt.Execute, actions/gangpreempt.preemptJobInDomains.
    """

    name = "gangpreempt"
    kind = EvictionKind.GANG_PREEMPT

    def own_skip_reason(self, ssn: Session, job: JobInfo, owner: JobInfo, task: TaskInfo) -> str:
        if not is_preemptable_status(task.status):
            return NOT_RUNNING
        if owner.queue != job.queue:
            return OTHER_QUEUE
        if task.job == job.uid:
            return SAME_JOB
        return "" if owner.priority < job.priority else NOT_LOWER

    def owner_less(self, ssn: Session, job: JobInfo, left: JobInfo, right: JobInfo) -> bool:
        """Upstream: actions/utils/bundle.SortBundlesForPreempt."""
        return left.uid != right.uid and not ssn.job_order_less(left, right)

    def may_start(self, ssn: Session, queue: QueueInfo, pending: list[TaskInfo]) -> bool:
        return True

    def skips_queue(self, ssn: Session, queue: QueueInfo) -> bool:
        return not queue.preemptable and ssn.release.has_older_form(PR_5373)
