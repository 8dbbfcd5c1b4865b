"""gangpreempt and gangreclaim: make room for a whole gang, domain by domain, within its queue or across queues.

Upstream: actions/gangpreempt, actions/gangreclaim, actions/utils (bundle.go).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from functools import cached_property
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.actions import ALLOCATE, GANG_PREEMPT, GANG_RECLAIM
from vcdebug.framework import action
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.gang_plan import EVICT_PURPOSE, GangPlanner, pending_for_eviction
from vcdebug.framework.go_sort import sort_slice_stable
from vcdebug.framework.hooks import HYPER_NODE_GRADIENT_FOR_JOB, JOB_PIPELINED, OVERUSED, PREEMPTIVE, UNIFIED_EVICTABLE
from vcdebug.framework.plugin_answers import EvictionContext, EvictionKind
from vcdebug.framework.record import Level
from vcdebug.framework.registry import ActionFacts
from vcdebug.framework.session import Session
from vcdebug.framework.statement import Statement
from vcdebug.model.hyper_nodes import TOP_HYPER_NODE
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, SubJobId, TaskId
from vcdebug.model.pod import PREEMPTABLE_KEY
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import ALLOCATED_CLASS, TaskInfo, TaskStatus, is_preemptable_status
from vcdebug.releases.queues import PR_5373

DEFAULT_MAX_DOMAINS = 8


class GangEviction(ABC):
    """The common part of both actions: evicts bundles of victims in a domain until a starving gang fits there."""

    name: ClassVar[str]
    facts: ClassVar[ActionFacts] = ActionFacts(places=True, evicts=True, by_gang=True)
    arguments: Arguments
    kind: ClassVar[EvictionKind]

    @abstractmethod
    def own_skip_reason(self, ssn: Session, job: JobInfo, owner: JobInfo, task: TaskInfo) -> str:
        """The action's own rule that excludes a task of job `owner` as victim; empty for a candidate."""

    @abstractmethod
    def owner_less(self, ssn: Session, job: JobInfo, left: JobInfo, right: JobInfo) -> bool:
        """Whether bundles of job `left` are evicted before bundles of job `right`."""

    @abstractmethod
    def may_start(self, ssn: Session, queue: QueueInfo, pending: list[TaskInfo]) -> bool:
        """Whether the queue may evict other pods for these pending pods."""

    @abstractmethod
    def skips_queue(self, ssn: Session, queue: QueueInfo) -> bool:
        """Whether the action skips the queue with all its jobs."""

    @cached_property
    def allow_whole_bundle(self) -> bool:
        """Whether all tasks of a job that its gang cannot spare may be evicted together."""
        return self.arguments.get_bool("allowWholeBundle", default=True)

    def execute(self, ssn: Session) -> None:
        """Visit each queue with starving jobs once; queues are not pushed back."""
        starving = action.collect_starving(ssn, lambda _: None)
        while starving.queues:
            queue = starving.queues.pop()
            with ssn.open_span(Level.QUEUE, queue.name):
                if self.skips_queue(ssn, queue):
                    continue
                jobs = starving.jobs[queue.name]
                while jobs:
                    job = jobs.pop()
                    with ssn.open_span(Level.JOB, job.uid):
                        self._evict_for(ssn, queue, job)

    def _evict_for(self, ssn: Session, queue: QueueInfo, job: JobInfo) -> None:
        statement = Statement(ssn)
        hyper_nodes = self._search_domains(ssn, statement, queue, job)
        if not ssn.ask_plugins(JOB_PIPELINED, job):
            statement.discard()
            return
        statement.commit()
        for uid, hyper_node in hyper_nodes.items():
            job.sub_jobs[uid].nominated_hyper_node = hyper_node

    def _search_domains(
        self, ssn: Session, statement: Statement, queue: QueueInfo, job: JobInfo
    ) -> dict[SubJobId, str]:
        pending = pending_for_eviction(ssn, job)
        if not pending or not self.may_start(ssn, queue, pending):
            return {}
        need = Resource().add_all(task.init_resreq for task in pending)
        # Upstream reads this setting from the arguments of allocate.
        caches_errors = ssn.conf.arguments_of(ALLOCATE).get_bool(action.ERROR_CACHE_KEY, default=True)
        planner = GangPlanner(ssn, queue, job, self.name, error_cache=caches_errors)
        for domain in self.get_candidate_domains(ssn, job):
            hyper_nodes = self._search_domain(ssn, statement, planner, job, need, domain)
            if hyper_nodes is not None:
                return hyper_nodes
        return {}

    def get_candidate_domains(self, ssn: Session, job: JobInfo) -> list[str]:
        """The hypernodes to search, in order. Upstream: actions/utils/util.GetCandidateDomains."""
        rows = ssn.ask_plugins(HYPER_NODE_GRADIENT_FOR_JOB, job, TOP_HYPER_NODE, EVICT_PURPOSE)
        if rows is None:
            rows = [[TOP_HYPER_NODE]]
        most = self.arguments.get_int("maxDomains", DEFAULT_MAX_DOMAINS)
        domains = list(dict.fromkeys(name for row in rows for name in row))
        domains = domains[: most if most > 0 else DEFAULT_MAX_DOMAINS]
        if not domains and not job.contains_hard_topology():
            return [TOP_HYPER_NODE]
        return domains

    def _search_domain(
        self, ssn: Session, statement: Statement, planner: GangPlanner, job: JobInfo, need: Resource, domain: str
    ) -> dict[SubJobId, str] | None:
        """Add bundle after bundle until a plan succeeds; the hypernode of each sub job, or None without a plan."""
        free = idle_and_releasing(ssn, domain)
        victims: list[TaskInfo] = []
        for bundle in self._select_domain_bundles(ssn, job, need, domain):
            victims.extend(bundle.tasks)
            if not need.less_equal(free.clone().add(sum_requests(victims))):
                continue
            plan = planner.build_nomination_plan(domain, list(victims))
            if plan is not None and statement.recover_operations(plan.statement) is None:
                return plan.hyper_nodes
        return None

    def _select_domain_bundles(self, ssn: Session, job: JobInfo, need: Resource, domain: str) -> list[Bundle]:
        """Upstream: actions/gangpreempt.selectDomainBundles, actions/gangreclaim.selectDomainBundles."""
        bundles = self.list_bundles(ssn, job, need, domain)
        if not bundles:
            return []
        candidates = [task for bundle in bundles for task in bundle.tasks]
        allowed = ssn.ask_plugins(UNIFIED_EVICTABLE, EvictionContext(self.kind, job, domain), candidates) or []
        return self.filter_bundles(ssn, job, need, bundles, dict.fromkeys(task.uid for task in allowed))

    def list_bundles(self, ssn: Session, job: JobInfo, need: Resource, domain: str) -> list[Bundle]:
        """Every bundle of the domain in order, before the plugins filter them."""
        by_job = self._candidates_by_job(ssn, job, domain)
        bundles = [b for uid in sorted(by_job) for b in create_job_bundles(ssn.jobs[uid], by_job[uid])]
        return sort_bundles(bundles, need, self._owner_less(ssn, job))

    def filter_bundles(
        self, ssn: Session, job: JobInfo, need: Resource, bundles: list[Bundle], allowed: Mapping[TaskId, None]
    ) -> list[Bundle]:
        """The bundles with only the tasks that the plugins allow, in order."""
        ordered = sort_bundles(apply_allowed_tasks(bundles, allowed), need, self._owner_less(ssn, job))
        return [b for b in ordered if b.type is BundleType.SAFE or self.allow_whole_bundle]

    def _owner_less(self, ssn: Session, job: JobInfo) -> JobLess:
        return lambda left, right: self.owner_less(ssn, job, left, right)

    def _candidates_by_job(self, ssn: Session, job: JobInfo, domain: str) -> dict[JobId, list[TaskInfo]]:
        by_job: dict[JobId, list[TaskInfo]] = {}
        rows = ssn.hyper_node_rows(domain)
        for node in rows.node_infos if rows is not None else ():
            for task in action.copy_tasks(action.candidates_on(ssn, node, lambda t: self.skip_reason(ssn, job, t))):
                by_job.setdefault(task.job, []).append(task)
        return by_job

    def skip_reason(self, ssn: Session, job: JobInfo, task: TaskInfo) -> str:
        """The rule that excludes the task as victim; empty for a candidate."""
        owner = ssn.jobs.get(task.job)
        if owner is None:
            return action.NO_JOB
        rule = self.own_skip_reason(ssn, job, owner, task)
        if rule != action.NOT_RUNNING and not task.preemptable:
            return action.NOT_PREEMPTABLE
        return rule if rule or _preemptable_by_gangs(owner) else action.GROUP_NOT_PREEMPTABLE


class GangPreempt(GangEviction, action.Action):
    """Evicts bound or running tasks of lower-priority jobs in the same queue.
    Upstream: actions/gangpreempt.Execute, actions/gangpreempt.preemptJobInDomains.
    """

    name = GANG_PREEMPT
    kind = EvictionKind.GANG_PREEMPT

    def own_skip_reason(self, ssn: Session, job: JobInfo, owner: JobInfo, task: TaskInfo) -> str:
        if not is_preemptable_status(task.status):
            return action.NOT_RUNNING
        if owner.queue != job.queue:
            return action.OTHER_QUEUE
        if task.job == job.uid:
            return action.SAME_JOB
        return "" if owner.priority < job.priority else action.NOT_LOWER

    def owner_less(self, ssn: Session, job: JobInfo, left: JobInfo, right: JobInfo) -> bool:
        """Upstream: actions/utils/bundle.SortBundlesForPreempt."""
        return left.uid != right.uid and not ssn.job_order_less(left, right)

    def may_start(self, ssn: Session, queue: QueueInfo, pending: list[TaskInfo]) -> bool:
        return True

    def skips_queue(self, ssn: Session, queue: QueueInfo) -> bool:
        return not queue.preemptable and ssn.release.has_older_form(PR_5373)


class GangReclaim(GangEviction, action.Action):
    """Evicts running tasks of other, reclaimable queues, whatever their priority.
    Upstream: actions/gangreclaim.Execute, actions/gangreclaim.reclaimJobInDomains.
    """

    name = GANG_RECLAIM
    facts = replace(GangEviction.facts, across_queues=True)
    kind = EvictionKind.GANG_RECLAIM

    def own_skip_reason(self, ssn: Session, job: JobInfo, owner: JobInfo, task: TaskInfo) -> str:
        if task.status is not TaskStatus.RUNNING:
            return action.NOT_RUNNING
        if owner.queue == job.queue:
            return action.SAME_QUEUE
        return "" if ssn.queues[owner.queue].reclaimable else action.NOT_RECLAIMABLE

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


def _preemptable_by_gangs(job: JobInfo) -> bool:
    """A PodGroup without the key may be evicted. Upstream: actions/utils/util.IsJobPreemptableForGangEviction."""
    group = job.pod_group
    has_key = PREEMPTABLE_KEY in group.annotations or PREEMPTABLE_KEY in group.labels
    return job.preemptable if has_key else True


def idle_and_releasing(ssn: Session, domain: str) -> Resource:
    """Idle plus Releasing of the nodes, pipelined tasks included. Upstream: actions/utils/util.SumIdleAndReleasing."""
    total = Resource()
    rows = ssn.hyper_node_rows(domain)
    for node in rows.node_infos if rows is not None else ():
        total.add(node.idle.clone().add(node.releasing))
    return total


# Bundles: the tasks of a victim job that its gang can spare, and those that are only evicted all together.

JobLess = Callable[[JobInfo, JobInfo], bool]
"""Function that says whether the first owner's bundles come first. True both ways counts as equal."""


class BundleType(IntEnum):
    """Type of a bundle; safe bundles are evicted before whole ones."""

    SAFE = 0
    WHOLE = 1


class Bundle(Struct, frozen=True):
    """Tasks of one job, in one domain, that are evicted together."""

    type: BundleType
    job: JobInfo
    tasks: list[TaskInfo]
    local: Resource
    """The resources that evicting the bundle frees."""
    job_sum: Resource
    """The resources of all tasks of the job; empty for a safe bundle."""


def sum_requests(tasks: Iterable[TaskInfo]) -> Resource:
    """The sum of the tasks' requests. Upstream: actions/utils/bundle.sumTasks, actions/utils/util.SumResreq."""
    return Resource().add_all(task.resreq for task in tasks)


class _GangSurplus:
    """How many tasks a gang can lose before each of its conditions fails."""

    def __init__(self, job: JobInfo) -> None:
        self._job = job
        self._tasks = job.ready_task_num() - job.min_available
        self._roles = _role_surplus(job)
        self._broken_sub_jobs: dict[SubJobId, None] = {}
        self._groups: dict[str, int] = {}
        if job.min_sub_jobs:
            for sub_job in self._job.sub_jobs.values():
                if sub_job.is_ready():
                    self._groups[sub_job.gid] = self._groups.get(sub_job.gid, 0) + 1
                else:
                    self._broken_sub_jobs[sub_job.uid] = None
            for gid, minimum in self._job.min_sub_jobs.items():
                self._groups[gid] = self._groups.get(gid, 0) - minimum

    @property
    def is_broken(self) -> bool:
        """Whether the gang is below its minimum even without an eviction."""
        return self._tasks < 0

    def remove_if_spare(self, task: TaskInfo) -> bool:
        """Count the task as evicted if all conditions of its gang still hold; returns whether it was counted."""
        job = self._job
        # A role without a minimum never fails, so its surplus is taken as 1.
        if self._tasks <= 0 or self._roles.get(task.task_role, 1) <= 0:
            return False
        uid = job.task_to_sub_job.get(task.uid, "") if job.min_sub_jobs else ""
        sub_job = job.sub_jobs.get(uid)
        if job.min_sub_jobs:
            if sub_job is None or (uid not in self._broken_sub_jobs and self._groups.get(sub_job.gid, 0) <= 0):
                return False
            if uid not in self._broken_sub_jobs:
                self._broken_sub_jobs[uid] = None
                self._groups[sub_job.gid] -= 1
        self._tasks -= 1
        if task.task_role in self._roles:
            self._roles[task.task_role] -= 1
        return True


def _role_surplus(job: JobInfo) -> dict[str, int]:
    """Ready tasks beyond each role's minimum; empty if minimums per role do not apply."""
    if job.min_available < job.task_min_available_total:
        return {}
    ready: dict[str, int] = {}
    for task in job.tasks.values():
        is_placed = task.status in ALLOCATED_CLASS or task.status is TaskStatus.SUCCEEDED
        if is_placed or (task.status is TaskStatus.PENDING and task.init_resreq.is_empty()):
            ready[task.task_role] = ready.get(task.task_role, 0) + 1
    return {role: ready.get(role, 0) - minimum for role, minimum in job.task_min_available.items()}


def create_job_bundles(job: JobInfo, tasks: list[TaskInfo]) -> list[Bundle]:
    """A safe bundle of the tasks that the gang can lose, lowest priority first, and a whole bundle of the rest.
    Upstream: actions/utils/bundle.CreateJobBundles.
    """
    ordered = sorted(tasks, key=lambda task: (task.priority, task.uid))
    surplus = _GangSurplus(job)
    if surplus.is_broken:
        return [Bundle(BundleType.SAFE, job, ordered, sum_requests(ordered), Resource())]
    spare: list[TaskInfo] = []
    needed: list[TaskInfo] = []
    for task in ordered:
        (spare if surplus.remove_if_spare(task) else needed).append(task)
    bundles: list[Bundle] = []
    if spare:
        bundles.append(Bundle(BundleType.SAFE, job, spare, sum_requests(spare), Resource()))
    if needed:
        job_request = sum_requests(job.tasks[uid] for uid in sorted(job.tasks))
        bundles.append(Bundle(BundleType.WHOLE, job, needed, sum_requests(needed), job_request))
    return bundles


def apply_allowed_tasks(bundles: Iterable[Bundle], allowed: Mapping[TaskId, None]) -> list[Bundle]:
    """Reduce safe bundles to the allowed tasks; drop whole bundles unless all of their tasks are allowed.
    Upstream: actions/utils/bundle.ApplyAllowedTasks.
    """
    valid: list[Bundle] = []
    for bundle in bundles:
        approved = [task for task in bundle.tasks if task.uid in allowed]
        if bundle.type is BundleType.WHOLE:
            if len(approved) == len(bundle.tasks):
                valid.append(bundle)
        elif approved:
            valid.append(replace(bundle, tasks=approved, local=sum_requests(approved)))
    return valid


def sort_bundles(bundles: Iterable[Bundle], need: Resource, owner_less: JobLess) -> list[Bundle]:
    """Bundles in order of eviction: safe ones first, then by owner, then by descending ROI (`bundle_roi`).
    Upstream: actions/utils/bundle.SortBundlesForPreempt, actions/utils/bundle.SortBundlesForReclaim.
    """

    def bundle_less(left: Bundle, right: Bundle) -> bool:
        return _compare_bundles(left, right, need, owner_less) < 0

    return sort_slice_stable(bundles, bundle_less)


def _compare_bundles(left: Bundle, right: Bundle, need: Resource, owner_less: JobLess) -> int:
    if left.type != right.type:
        return left.type - right.type
    # A `less` that is true both ways does not order the bundles.
    left_first, right_first = owner_less(left.job, right.job), owner_less(right.job, left.job)
    if left_first != right_first:
        return -1 if left_first else 1
    left_roi, right_roi = bundle_roi(left, need), bundle_roi(right, need)
    if left_roi != right_roi:
        return -1 if left_roi > right_roi else 1
    left_key, right_key = _tie_key(left), _tie_key(right)
    return (left_key > right_key) - (left_key < right_key)


def _tie_key(bundle: Bundle) -> tuple[str, str, int]:
    """Upstream: actions/utils/bundle.stableBundleLess, actions/utils/bundle.firstTaskUID."""
    return bundle.job.uid, bundle.tasks[0].uid if bundle.tasks else "", len(bundle.tasks)


def bundle_roi(bundle: Bundle, need: Resource) -> float:
    """Freed share of the need by what the job loses; infinite if safe. Upstream: actions/utils/bundle.bundleROI."""
    loss = _score_against_need(bundle.job_sum, need, cap=False)
    return float("inf") if loss == 0 else _score_against_need(bundle.local, need, cap=True) / loss


def _score_against_need(resource: Resource, need: Resource, *, cap: bool) -> float:
    """Upstream: actions/utils/bundle.scoreAgainstNeed."""
    score = 0.0
    for name in need.resource_names():
        needed, amount = need.get(name), resource.get(name)
        score += (min(amount, needed) if cap else amount) / needed
    return score
