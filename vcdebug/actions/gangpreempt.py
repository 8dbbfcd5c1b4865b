"""gangpreempt: makes room for a whole gang inside its queue, domain by domain.

Upstream: actions/gangpreempt.
"""

from __future__ import annotations

from vcdebug.framework.evictions import EvictionKind
from vcdebug.framework.gang_eviction import GangEviction
from vcdebug.framework.session import Session
from vcdebug.model.job import JobInfo
from vcdebug.model.status import preemptable_status
from vcdebug.model.task import TaskInfo


class GangPreempt(GangEviction):
    """Victims are bound or running tasks of lower-priority jobs of the same queue.
    Upstream: actions/gangpreempt.Execute, actions/gangpreempt.preemptJobInDomains.
    """

    name = "gangpreempt"
    kind = EvictionKind.GANG_PREEMPT

    def is_candidate(self, ssn: Session, job: JobInfo, owner: JobInfo, task: TaskInfo) -> bool:
        if not preemptable_status(task.status) or owner.queue != job.queue:
            return False
        return owner.priority < job.priority and task.job != job.uid

    def owner_less(self, ssn: Session, job: JobInfo, left: JobInfo, right: JobInfo) -> bool:
        """Upstream: actions/utils/bundle.SortBundlesForPreempt."""
        return left.uid != right.uid and not ssn.job_order_less(left, right)
