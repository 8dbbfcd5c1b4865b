"""overcommit: admits jobs whose minimum fits the cluster times a factor. Upstream: plugins/overcommit."""

from vcdebug.framework.accounts import WHOLE, Accounts, account_figures
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.plugin_answers import PERMIT, REJECT
from vcdebug.framework.session import Plugin, Session
from vcdebug.model import job_amounts
from vcdebug.model.job import JobInfo
from vcdebug.model.queue import INQUEUE, MINIMUM, LimitCheck
from vcdebug.model.resource import Resource

FACTOR_KEY = "overcommit-factor"
DEFAULT_FACTOR = 1.2
OVERUSED_MESSAGE = "resource in cluster is overused"


class Overcommit(Plugin):
    """Admits a job if the minimums of all admitted jobs fit the idle resources of the enlarged cluster."""

    name = "overcommit"
    accounts = (Accounts(WHOLE, "", account_figures("total", "idle", "inqueue", "factor"), admission=("inqueue",)),)
    ssn: Session

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.configured_factor = arguments.get_float64(FACTOR_KEY, DEFAULT_FACTOR)
        self.factor = self.configured_factor
        if self.configured_factor < 1.0:
            self.factor = arguments.replaced_defaults[FACTOR_KEY] = DEFAULT_FACTOR
        self.total = Resource()
        self.idle = Resource()
        self.inqueue = Resource()

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/overcommit.OnSessionOpen."""
        self.ssn = ssn
        ssn.log("overcommit.enter")
        if self.configured_factor < 1.0:
            ssn.log("overcommit.invalid", self.configured_factor, DEFAULT_FACTOR)
        self.form = job_amounts.ReservationForm.for_release(ssn.release)
        self.total.add(ssn.total_resource)
        used = Resource().add_all(node.used for node in ssn.nodes.values())
        # sub_without_assert, because an overcommitted cluster may use more than it has.
        self.idle = self.total.clone().multi(self.factor).sub_without_assert(used)
        for job in ssn.jobs.values():
            self.reserve_open(job)
        ssn.log("overcommit.leave")

    def reserve_open(self, job: JobInfo) -> None:
        """Reserve the amount of a job that was admitted before the session."""
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
        self.ssn.record_refusal(job, OVERUSED_MESSAGE, "overused", check.exceeded_dimensions)
        return REJECT

    def job_enqueued(self, job: JobInfo) -> None:
        if job.pod_group.min_resources is not None:
            self.inqueue.add(job_amounts.minimum_without_gated(job))


def reserved_at_open(job: JobInfo, form: job_amounts.ReservationForm) -> Resource | None:
    """The amount that an admitted job reserves at session open; None for a job that is not admitted."""
    # The whole minimum, although running pods of the job also count in `used`: upstream counts them twice.
    if job_amounts.is_inqueue(job):
        return job_amounts.minimum_without_gated(job)
    if job_amounts.is_running_gang(job):
        return job.deduct_sch_gated_resources(job_amounts.get_inqueue_resource(job, job.allocated, form))
    return None


def check_admission(inqueue: Resource, minimum: Resource, idle: Resource) -> LimitCheck:
    """Check the minimums of the job and of all admitted jobs against the idle resources of the enlarged cluster."""
    total = inqueue.clone().add(minimum)
    return LimitCheck(((MINIMUM, minimum), (INQUEUE, inqueue)), total, idle, minimum, minimum)
