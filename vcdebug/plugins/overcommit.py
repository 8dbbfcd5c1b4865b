"""A brake on admission: the whole cluster, slightly overbooked, must have room for a job's minimum.

Upstream: plugins/overcommit.
"""

from __future__ import annotations

from vcdebug.framework.accounts import WHOLE, Accounts, account_figures
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.plugin_answers import PERMIT, REJECT
from vcdebug.framework.session import Plugin, Session
from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import (
    ReservationForm,
    format_resource_names,
    get_inqueue_resource,
    is_inqueue,
    is_running_gang,
    minimum_without_gated,
)
from vcdebug.model.limits import INQUEUE, MINIMUM, LimitCheck
from vcdebug.model.resource import Resource

FACTOR_KEY = "overcommit-factor"
DEFAULT_FACTOR = 1.2
OVERUSED_MESSAGE = "resource in cluster is overused"


class Overcommit(Plugin):
    """Admits a job while the minimum of all admitted jobs fits the idle room of an enlarged cluster."""

    name = "overcommit"
    accounts = (Accounts(WHOLE, "", account_figures("total", "idle", "inqueue", "factor"), admission=("inqueue",)),)
    ssn: Session

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.stated = arguments.get_float64(FACTOR_KEY, DEFAULT_FACTOR)
        self.factor = self.stated if self.stated >= 1.0 else DEFAULT_FACTOR
        self.total = Resource()
        self.idle = Resource()
        self.inqueue = Resource()

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/overcommit.OnSessionOpen."""
        self.ssn = ssn
        ssn.log("overcommit.enter")
        if self.stated < 1.0:
            ssn.log("overcommit.invalid", self.stated, DEFAULT_FACTOR)
        self.form = ReservationForm.for_release(ssn.release)
        self.total.add(ssn.total_resource)
        used = Resource().add_all(node.used for node in ssn.nodes.values())
        self.idle = self.total.clone().multi(self.factor).sub_without_assert(used)
        for job in ssn.jobs.values():
            self.reserve_open(job)
        ssn.log("overcommit.leave")

    def reserve_open(self, job: JobInfo) -> None:
        """What the job promises others not to take."""
        reserved = reserved_at_open(job, self.form)
        if reserved is not None:
            self.inqueue.add(reserved)

    def job_enqueueable(self, job: JobInfo) -> int:
        if job.pod_group.min_resources is None:
            self.ssn.log("overcommit.best-effort", job.uid)
            return PERMIT
        check = check_admission(self.inqueue, job.get_min_resources(), self.idle)
        if check.is_within_limit:
            self.ssn.log("overcommit.sufficient", job.uid)
            return PERMIT
        self.ssn.log("overcommit.overused", job.uid)
        message = format_resource_names(OVERUSED_MESSAGE, "overused", check.exceeded_dimensions)
        self.ssn.record_pod_group_event(job, "Normal", "Unschedulable", message)
        return REJECT

    def job_enqueued(self, job: JobInfo) -> None:
        if job.pod_group.min_resources is not None:
            self.inqueue.add(minimum_without_gated(job))


def reserved_at_open(job: JobInfo, form: ReservationForm) -> Resource | None:
    """An Inqueue job reserves its whole minimum, although what it already runs is in `used` as well."""
    if is_inqueue(job):
        return minimum_without_gated(job)
    if is_running_gang(job):
        return job.deduct_sch_gated_resources(get_inqueue_resource(job, job.allocated, form))
    return None


def check_admission(inqueue: Resource, minimum: Resource, idle: Resource) -> LimitCheck:
    """A job's minimum beside all that is promised to admitted jobs, against the idle room of the enlarged cluster."""
    total = inqueue.clone().add(minimum)
    return LimitCheck(((MINIMUM, minimum), (INQUEUE, inqueue)), total, idle, minimum, minimum)
