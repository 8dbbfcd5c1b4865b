"""gangreclaim: makes room for a whole gang by evicting tasks of other queues, domain by domain.

Upstream: actions/gangreclaim.
"""

from vcdebug.framework.action import NOT_RECLAIMABLE, NOT_RUNNING, SAME_QUEUE
from vcdebug.framework.gang_eviction import GangEviction
from vcdebug.framework.hooks import OVERUSED, PREEMPTIVE
from vcdebug.framework.plugin_answers import EvictionKind
from vcdebug.framework.session import Session
from vcdebug.model.job import JobInfo
from vcdebug.model.queue import QueueInfo
from vcdebug.model.task import TaskInfo, TaskStatus


class GangReclaim(GangEviction):
    """Evicts running tasks of other, reclaimable queues, whatever their priority.
    Upstream: actions/gangreclaim.Execute, actions/gangreclaim.reclaimJobInDomains.
    """

    name = "gangreclaim"
    across_queues = True
    kind = EvictionKind.GANG_RECLAIM

    def own_skip_reason(self, ssn: Session, job: JobInfo, owner: JobInfo, task: TaskInfo) -> str:
        if task.status is not TaskStatus.RUNNING:
            return NOT_RUNNING
        if owner.queue == job.queue:
            return SAME_QUEUE
        return "" if ssn.queues[owner.queue].reclaimable else NOT_RECLAIMABLE

    def owner_less(self, ssn: Session, job: JobInfo, left: JobInfo, right: JobInfo) -> bool:
        """Upstream: actions/utils/bundle.SortBundlesForReclaim."""
        if left.queue == right.queue:
            return False
        queues = ssn.queues
        return ssn.victim_queue_order_less(queues[left.queue], queues[right.queue], queues[job.queue])

    def may_start(self, ssn: Session, queue: QueueInfo, pending: list[TaskInfo]) -> bool:
        if ssn.ask_plugins(PREEMPTIVE, queue, pending):
            return True
        ssn.log("refused", queue.name, pending[0].job)
        return False

    def skips_queue(self, ssn: Session, queue: QueueInfo) -> bool:
        return ssn.ask_plugins(OVERUSED, queue)
