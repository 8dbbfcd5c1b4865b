"""Dominant resource fairness: the job with the smaller dominant share goes first.

With `enableHierarchy: true` queues are ordered, and reclaim is filtered, by hierarchical shares (drf/hierarchy.py).

Upstream: plugins/drf.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from vcdebug.framework.accounts import JOB, WHOLE, Accounts, account_figures
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import QUEUE_ORDER
from vcdebug.framework.persistence import clamp_request
from vcdebug.framework.plugin_answers import PERMIT, VictimAnswer
from vcdebug.framework.record import fast_tuple
from vcdebug.framework.session import Event, Plugin, Session
from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import get_allocated_resource
from vcdebug.model.limits import ShareTotals
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.drf.hierarchy import DominantShare, Hierarchy

SHARE_DELTA = 0.000001
SHARE_FIGURES = {"share": "value", **account_figures("dominant", "allocated")}


class Drf(Plugin):
    """Keeps each job's dominant share while the session allocates and evicts."""

    name = "drf"
    accounts = (
        Accounts(WHOLE, "", account_figures(total="totals.resource")),
        Accounts(JOB, "shares", SHARE_FIGURES, operation=("share", "dominant", "allocated")),
    )

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.jobs: dict[JobId, JobInfo] = {}
        self.queues: dict[QueueName, QueueInfo] = {}
        self.totals = ShareTotals(Resource())
        self.shares: dict[JobId, DominantShare] = {}
        self.hierarchy: Hierarchy | None = None

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/drf.OnSessionOpen."""
        self.ssn = ssn
        self.jobs, self.queues = ssn.jobs, ssn.queues
        self.log = ssn.log
        self.totals = ShareTotals(ssn.total_resource.clone())
        ssn.log("drf.total", self.totals.resource)
        self.shares = {uid: DominantShare(self.totals, get_allocated_resource(job)) for uid, job in ssn.jobs.items()}
        if ssn.hierarchy_enabled(self.name):
            self.hierarchy = Hierarchy(self.totals, ssn.jobs, ssn.queues, self.shares)
        else:
            ssn.withdraw_hook(self, QUEUE_ORDER.method)
            ssn.withdraw_hook(self, "reclaimable")

    def job_order(self, left: JobInfo, right: JobInfo) -> int:
        """Upstream: plugins/drf.jobOrderFn."""
        mine, other = self.shares[left.uid].value, self.shares[right.uid].value
        self.log("drf.job-order", left.uid, mine, right.uid, other)
        return (mine > other) - (mine < other)

    def queue_order(self, left: QueueInfo, right: QueueInfo) -> int:
        """Upstream: plugins/drf.queueOrderFn."""
        assert self.hierarchy is not None
        difference = self.hierarchy.compare_queues(left, right)
        return (difference > 0) - (difference < 0)

    def preemptable(self, preemptor: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        """Candidates whose job keeps at least the share that the preemptor's job would reach.

        Every candidate is taken off its job's share, also one that is not chosen, so their order matters.
        Upstream: plugins/drf.preemptableFn.
        """
        if not candidates or preemptor.job not in self.shares:
            return [], PERMIT
        return [
            each.task for each in iter_exchanges(self.totals, self.shares, preemptor, candidates) if each.is_fair
        ], PERMIT

    def reclaimable(self, reclaimer: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        """Candidates whose queue would still stand behind the reclaimer's once the exchange is made, one by one.
        Upstream: plugins/drf.reclaimFn.
        """
        assert self.hierarchy is not None
        job = self.jobs.get(reclaimer.job)
        if job is None or job.queue not in self.queues or job.uid not in self.shares:
            return [], PERMIT
        victims = [task for task, difference in self.hierarchy.iter_exchanges(reclaimer, candidates) if difference < 0]
        return victims, PERMIT

    def allocate_func(self, event: Event) -> None:
        share = self.shares[event.task.job]
        share.add_request(event.task.resreq)
        if self.hierarchy is not None:
            self.hierarchy.add_request(event.task.resreq)

    def deallocate_func(self, event: Event) -> None:
        share = self.shares[event.task.job]
        given_back = clamp_request(self.ssn, self.name, event.task.job, share.allocated, event.task.resreq)
        share.sub_request(given_back)
        if self.hierarchy is not None:
            self.hierarchy.sub_request(given_back)


class ShareExchange(NamedTuple):
    """The share that the preemptor's job would reach, and the one that a candidate's job would keep."""

    task: TaskInfo
    wanted: float
    dominant: str = ""
    kept: float | None = None
    """None for a candidate without a job."""

    @property
    def is_fair(self) -> bool:
        """Whether the candidate's job keeps at least as much."""
        return self.kept is not None and (self.wanted < self.kept or abs(self.wanted - self.kept) <= SHARE_DELTA)


def iter_exchanges(
    totals: ShareTotals, shares: Mapping[JobId, DominantShare], preemptor: TaskInfo, candidates: Iterable[TaskInfo]
) -> Iterator[ShareExchange]:
    """Every candidate in turn, taken off its job's share whether it is chosen or not."""
    wanted = totals.share_with(shares[preemptor.job].allocated, preemptor.resreq)
    left_over: dict[JobId, Resource] = {}
    for task in candidates:
        if task.job not in shares:
            yield ShareExchange(task, wanted)
            continue
        if task.job not in left_over:
            left_over[task.job] = shares[task.job].allocated.clone()
        yield fast_tuple(ShareExchange, (task, wanted, *totals.calculate_share(left_over[task.job].sub(task.resreq))))
