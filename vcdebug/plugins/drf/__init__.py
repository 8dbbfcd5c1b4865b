"""Dominant resource fairness: the job with the smaller dominant share goes first.

With `enableHierarchy: true` queues are ordered, and reclaim is filtered, by hierarchical shares (drf/hierarchy.py).

Upstream: plugins/drf.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from vcdebug.framework.accounts import JOB, WHOLE, Accounts, figures
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import QUEUE_ORDER
from vcdebug.framework.persistence import removable
from vcdebug.framework.plugin import PERMIT, Event, Plugin, Victims
from vcdebug.framework.record import made
from vcdebug.framework.session import Session
from vcdebug.model.inqueue import get_allocated_resource
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.model.totals import Totals
from vcdebug.plugins.drf.hierarchy import Hierarchy
from vcdebug.plugins.drf.share import Share

SHARE_DELTA = 0.000001
FIGURES = {"share": "value", **figures("dominant", "allocated")}


class Drf(Plugin):
    """Keeps each job's dominant share while the session allocates and evicts."""

    name = "drf"
    accounts = (
        Accounts(WHOLE, "", figures(total="totals.resource")),
        Accounts(JOB, "shares", FIGURES, operation=("share", "dominant", "allocated")),
    )

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.jobs: dict[JobId, JobInfo] = {}
        self.queues: dict[QueueName, QueueInfo] = {}
        self.totals = Totals(Resource())
        self.shares: dict[JobId, Share] = {}
        self.hierarchy: Hierarchy | None = None

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/drf.OnSessionOpen."""
        self.ssn = ssn
        self.jobs, self.queues = ssn.jobs, ssn.queues
        self.log = ssn.log
        self.totals = Totals(ssn.total_resource.clone())
        ssn.log("drf.total", self.totals.resource)
        self.shares = {uid: Share(self.totals, get_allocated_resource(job)) for uid, job in ssn.jobs.items()}
        if ssn.hierarchy_enabled(self.name):
            self.hierarchy = Hierarchy(self.totals, ssn.jobs, ssn.queues, self.shares)
        else:
            ssn.withdraw(self, QUEUE_ORDER.method)
            ssn.withdraw(self, "reclaimable")

    def job_order(self, left: JobInfo, right: JobInfo) -> int:
        """Upstream: plugins/drf.jobOrderFn."""
        mine, other = self.shares[left.uid].value, self.shares[right.uid].value
        self.log("drf.job-order", left.uid, mine, right.uid, other)
        return (mine > other) - (mine < other)

    def queue_order(self, left: QueueInfo, right: QueueInfo) -> int:
        """Upstream: plugins/drf.queueOrderFn."""
        assert self.hierarchy is not None
        difference = self.hierarchy.compare(left, right)
        return (difference > 0) - (difference < 0)

    def preemptable(self, preemptor: TaskInfo, candidates: list[TaskInfo]) -> Victims:
        """Candidates whose job keeps at least the share that the preemptor's job would reach.

        Every candidate is taken off its job's share, also one that is not chosen, so their order matters.
        Upstream: plugins/drf.preemptableFn.
        """
        if not candidates or preemptor.job not in self.shares:
            return [], PERMIT
        return [each.task for each in exchanges(self.totals, self.shares, preemptor, candidates) if each.fair], PERMIT

    def reclaimable(self, reclaimer: TaskInfo, candidates: list[TaskInfo]) -> Victims:
        """Candidates whose queue would still stand behind the reclaimer's once the exchange is made, one by one.
        Upstream: plugins/drf.reclaimFn.
        """
        assert self.hierarchy is not None
        job = self.jobs.get(reclaimer.job)
        if job is None or job.queue not in self.queues or job.uid not in self.shares:
            return [], PERMIT
        victims = [task for task, difference in self.hierarchy.exchanges(reclaimer, candidates) if difference < 0]
        return victims, PERMIT

    def allocate_func(self, event: Event) -> None:
        share = self.shares[event.task.job]
        share.add(event.task.resreq)
        if self.hierarchy is not None:
            self.hierarchy.add(event.task.resreq)

    def deallocate_func(self, event: Event) -> None:
        share = self.shares[event.task.job]
        given_back = removable(self.ssn, self.name, event.task.job, share.allocated, event.task.resreq)
        share.sub(given_back)
        if self.hierarchy is not None:
            self.hierarchy.sub(given_back)


class Exchange(NamedTuple):
    """The share that the preemptor's job would reach, and the one that a candidate's job would keep."""

    task: TaskInfo
    wanted: float
    dominant: str = ""
    kept: float | None = None
    """None for a candidate without a job."""

    @property
    def fair(self) -> bool:
        """Whether the candidate's job keeps at least as much."""
        return self.kept is not None and (self.wanted < self.kept or abs(self.wanted - self.kept) <= SHARE_DELTA)


def exchanges(
    totals: Totals, shares: Mapping[JobId, Share], preemptor: TaskInfo, candidates: Iterable[TaskInfo]
) -> Iterator[Exchange]:
    """Every candidate in turn, taken off its job's share whether it is chosen or not."""
    wanted = totals.share_with(shares[preemptor.job].allocated, preemptor.resreq)
    left_over: dict[JobId, Resource] = {}
    for task in candidates:
        if task.job not in shares:
            yield Exchange(task, wanted)
            continue
        if task.job not in left_over:
            left_over[task.job] = shares[task.job].allocated.clone()
        yield made(Exchange, (task, wanted, *totals.dominant(left_over[task.job].sub(task.resreq))))
