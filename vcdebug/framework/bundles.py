"""Bundles: a victim job's tasks that may go without breaking its gang, and those that may only go as a whole.

Upstream: actions/utils (bundle.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

from vcdebug.framework.stable_sort import sort_slice_stable
from vcdebug.model.job import JobInfo
from vcdebug.model.names import SubJobId, TaskId
from vcdebug.model.resource import Resource
from vcdebug.model.status import ALLOCATED_CLASS, TaskStatus
from vcdebug.model.task import TaskInfo

JobLess = Callable[[JobInfo, JobInfo], bool]
"""Whether the first of two different owners' bundles comes first; only a strict answer counts."""


class BundleType(IntEnum):
    """Safe bundles are taken before whole ones."""

    SAFE = 0
    WHOLE = 1


@dataclass(frozen=True, slots=True)
class Bundle:
    """Tasks of one job, in one domain, that are evicted together."""

    type: BundleType
    job: JobInfo
    tasks: list[TaskInfo]
    local: Resource
    """What evicting them frees."""
    everything: Resource
    """What the whole job holds; nothing for a safe bundle."""


def sum_requests(tasks: Iterable[TaskInfo]) -> Resource:
    """The tasks' requests added in order. Upstream: actions/utils/bundle.sumTasks, actions/utils/util.SumResreq."""
    total = Resource()
    for task in tasks:
        total.add(task.resreq)
    return total


class _GangSurplus:
    """How much the gang can lose before each of its conditions breaks."""

    def __init__(self, job: JobInfo) -> None:
        self._job = job
        self._tasks = job.ready_task_num() - job.min_available
        self._roles = _role_surplus(job)
        self._broken: dict[SubJobId, None] = {}
        self._groups: dict[str, int] = {}
        if job.min_sub_jobs:
            self._count_sub_jobs()

    @property
    def is_broken(self) -> bool:
        """The gang is not ready as it is."""
        return self._tasks < 0

    def _count_sub_jobs(self) -> None:
        for sub_job in self._job.sub_jobs.values():
            if sub_job.is_ready():
                self._groups[sub_job.gid] = self._groups.get(sub_job.gid, 0) + 1
            else:
                self._broken[sub_job.uid] = None
        for gid, least in self._job.min_sub_jobs.items():
            self._groups[gid] = self._groups.get(gid, 0) - least

    def remove_if_spare(self, task: TaskInfo) -> bool:
        """Give the task up if no condition breaks by it."""
        job = self._job
        if self._tasks <= 0 or self._roles.get(task.task_role, 1) <= 0:
            return False
        uid = job.task_to_sub_job.get(task.uid, "") if job.min_sub_jobs else ""
        sub_job = job.sub_jobs.get(uid)
        if job.min_sub_jobs:
            if sub_job is None or (uid not in self._broken and self._groups.get(sub_job.gid, 0) <= 0):
                return False
            if uid not in self._broken:
                self._broken[uid] = None
                self._groups[sub_job.gid] -= 1
        self._tasks -= 1
        if task.task_role in self._roles:
            self._roles[task.task_role] -= 1
        return True


def _role_surplus(job: JobInfo) -> dict[str, int]:
    """Ready tasks beyond each role's minimum; empty where roles are not enforced."""
    if job.min_available < job.task_min_available_total:
        return {}
    ready: dict[str, int] = {}
    for task in job.tasks.values():
        placed = task.status in ALLOCATED_CLASS or task.status is TaskStatus.SUCCEEDED
        if placed or (task.status is TaskStatus.PENDING and task.init_resreq.is_empty()):
            ready[task.task_role] = ready.get(task.task_role, 0) + 1
    return {role: ready.get(role, 0) - least for role, least in job.task_min_available.items()}


def create_job_bundles(job: JobInfo, tasks: list[TaskInfo]) -> list[Bundle]:
    """A safe bundle of whoever the gang can spare, lowest priority first, and a whole one of the rest.
    Upstream: actions/utils/bundle.CreateJobBundles.
    """
    ordered = sorted(tasks, key=lambda task: (task.priority, task.uid))
    surplus = _GangSurplus(job)
    if surplus.is_broken:
        return [Bundle(BundleType.SAFE, job, ordered, sum_requests(ordered), Resource())]
    safe: list[TaskInfo] = []
    whole: list[TaskInfo] = []
    for task in ordered:
        (safe if surplus.remove_if_spare(task) else whole).append(task)
    bundles: list[Bundle] = []
    if safe:
        bundles.append(Bundle(BundleType.SAFE, job, safe, sum_requests(safe), Resource()))
    if whole:
        everything = sum_requests(job.tasks[uid] for uid in sorted(job.tasks))
        bundles.append(Bundle(BundleType.WHOLE, job, whole, sum_requests(whole), everything))
    return bundles


def apply_allowed_tasks(bundles: Iterable[Bundle], allowed: Mapping[TaskId, None]) -> list[Bundle]:
    """Whole bundles survive only whole; safe ones are cut to what is allowed.
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
    """Safe first, then by owner, then by what they free of the need against what the job loses.
    Upstream: actions/utils/bundle.SortBundlesForPreempt, actions/utils/bundle.SortBundlesForReclaim.
    """

    def bundle_less(left: Bundle, right: Bundle) -> bool:
        return _compare_bundles(left, right, need, owner_less) < 0

    return sort_slice_stable(bundles, bundle_less)


def _compare_bundles(left: Bundle, right: Bundle, need: Resource, owner_less: JobLess) -> int:
    if left.type != right.type:
        return left.type - right.type
    forth, back = owner_less(left.job, right.job), owner_less(right.job, left.job)
    if forth != back:
        return -1 if forth else 1
    left_roi, right_roi = bundle_roi(left, need), bundle_roi(right, need)
    if left_roi != right_roi:
        return -1 if left_roi > right_roi else 1
    left_key, right_key = _tie_key(left), _tie_key(right)
    return (left_key > right_key) - (left_key < right_key)


def _tie_key(bundle: Bundle) -> tuple[str, str, int]:
    """Upstream: actions/utils/bundle.stableBundleLess, actions/utils/bundle.firstTaskUID."""
    return bundle.job.uid, bundle.tasks[0].uid if bundle.tasks else "", len(bundle.tasks)


def bundle_roi(bundle: Bundle, need: Resource) -> float:
    """What a bundle frees of the need against what its job loses; endless for a safe one.
    Upstream: actions/utils/bundle.bundleROI.
    """
    lost = _score_against_need(bundle.everything, need, cap=False)
    return float("inf") if lost == 0 else _score_against_need(bundle.local, need, cap=True) / lost


def _score_against_need(resource: Resource, need: Resource, *, cap: bool) -> float:
    """Upstream: actions/utils/bundle.scoreAgainstNeed."""
    score = 0.0
    for name in need.resource_names():
        wanted, amount = need.get(name), resource.get(name)
        score += (min(amount, wanted) if cap else amount) / wanted
    return score
