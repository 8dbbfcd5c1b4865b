"""JobInfo: a PodGroup with its tasks, counters, gates and messages. Upstream: api/job_info."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import attrgetter

from vcdebug.grouping import split_names
from vcdebug.model.fit_errors import FitErrors
from vcdebug.model.names import SubJobId, TaskId
from vcdebug.model.pod import PREEMPTABLE_KEY, revocable_zone
from vcdebug.model.pod_group import PENDING, NetworkTopology, PodGroup, hard_tier_of
from vcdebug.model.pod_resources import RequestSums
from vcdebug.model.resource import Resource
from vcdebug.model.sub_job import READY_STATUSES, MinimumCount, SubJobInfo, TaskSet, index_by_status, match_sub_group
from vcdebug.model.task import ALLOCATED_MASK, TaskInfo, TaskStatus, is_allocated_status
from vcdebug.snapshot.cycle_inputs import ASCENDING, MapOrder
from vcdebug.snapshot.settings import parse_bool

_is_gated = attrgetter("sch_gated")
_USABLE_STATUSES = (*READY_STATUSES, TaskStatus.PIPELINED, TaskStatus.PENDING)


class JobInfo(TaskSet):
    """A job of the session. Tasks are keyed by pod UID."""

    __slots__ = split_names(
        "_undivided _valid _valid_at allocated allocated_hyper_node creation_timestamp job_fit_errors min_sub_jobs "
        "name namespace network_topology nodes_fit_errors pod_group preemptable priority queue revocable_zone "
        "says_minimum says_ready sub_jobs subject task_min_available task_min_available_total task_to_sub_job "
        "total_request uid"
    )

    def __init__(self, pod_group: PodGroup, default_queue: str, ordering: MapOrder = ASCENDING) -> None:
        super().__init__(pod_group.min_member, ordering)
        self._valid = self._valid_at = 0
        self._undivided: SubJobInfo | None = None
        """The only sub job while it shares the job's dicts of tasks; None from the first change on."""
        self.uid = f"{pod_group.namespace}/{pod_group.name}"
        self.subject = (("job", self.uid),)
        """How a record names the job; one tuple for all records."""
        self.name = pod_group.name
        self.namespace = pod_group.namespace
        self.queue = pod_group.queue or default_queue
        self.priority = 0
        self.pod_group = pod_group
        self.creation_timestamp = pod_group.creation_timestamp
        self.preemptable = _extract_preemptable(pod_group)
        self.revocable_zone = revocable_zone(pod_group.annotations)
        self.network_topology = pod_group.network_topology.clone() if pod_group.network_topology else None
        self.task_min_available = dict(pod_group.min_task_member)
        self.task_min_available_total = sum(self.task_min_available.values())  # exact: ints
        self.min_sub_jobs = {f"{self.uid}/{p.name}": p.min_sub_groups for p in pod_group.sub_group_policies}
        self.allocated = Resource()
        self.total_request = Resource()
        self.sub_jobs: dict[SubJobId, SubJobInfo] = {}
        self.task_to_sub_job: dict[TaskId, SubJobId] = {}
        self.nodes_fit_errors: dict[TaskId, FitErrors] = {}
        self.job_fit_errors = ""
        self.allocated_hyper_node = ""
        self.says_ready = self.says_minimum = True
        """Whether messages may begin with "pod group is ready", which older releases never say."""

    def add_task_info(self, task: TaskInfo) -> None:
        """Enter a task into the job, its sums and its sub job. Upstream: api/job_info.AddTaskInfo."""
        self._separate_sub_job()
        self.tasks[task.uid] = task
        self.index_task(task)
        self.total_request.add(task.resreq)
        if task.status & ALLOCATED_MASK:
            self.allocated.add(task.resreq)
        self._get_or_create_sub_job(task).add_task(task)

    def add_initial_tasks(self, tasks: Sequence[TaskInfo], sums: RequestSums) -> None:
        """Add the first tasks of a job: same as add_task_info for each task."""
        # One dict per job instead of three insertions per task: most jobs have one sub job and few statuses. Two
        # tasks of one UID replace each other and need the slow way, as do policies that group tasks.
        by_uid = {task.uid: task for task in tasks}
        if len(by_uid) < len(tasks) or self.pod_group.sub_group_policies:
            for task in tasks:
                self.add_task_info(task)
            return
        self.task_to_sub_job = dict.fromkeys(by_uid, self.uid)
        self.total_request = sums.sum_of([task.resreq for task in tasks])
        sub_job = self.begin_undivided(by_uid)
        allocated_statuses = [status for status in self.task_status_index if status & ALLOCATED_MASK]
        if len(allocated_statuses) == len(self.task_status_index):
            self.allocated = self.total_request.clone()
        elif allocated_statuses:
            self.allocated = sums.sum_of([task.resreq for task in tasks if task.status & ALLOCATED_MASK])
        # A sub job's priority starts at 0 and only grows, so that negative priorities never show.
        sub_job.priority = max(0, *[task.priority for task in tasks])

    def begin_undivided(self, tasks: dict[TaskId, TaskInfo]) -> SubJobInfo:
        """Add the first tasks to the job and to its only sub job at once; for jobs without sub group policies."""
        index = index_by_status(tasks.values())
        index = dict.fromkeys(index, tasks) if len(index) == 1 else index
        sub_job = self._undivided = self.only_sub_job()
        self.set_initial_tasks(tasks, index)
        sub_job.share_tasks_of(self)
        return sub_job

    def _separate_sub_job(self) -> None:
        """Copy the dicts that job and sub job share; to be called before every change."""
        sub_job = self._undivided
        if sub_job is not None:
            self._undivided = None
            sub_job.tasks = self.tasks.copy()
            # The job's own index is copied too: its entries may be the dict of all tasks (begin_undivided).
            for owner in (self, sub_job):
                owner.task_status_index = {status: tasks.copy() for status, tasks in owner.task_status_index.items()}

    def delete_task_info(self, task: TaskInfo) -> None:
        """Remove the stored task; its sub job goes by the status passed in. Upstream: api/job_info.DeleteTaskInfo."""
        stored = self.tasks.get(task.uid)
        if stored is None:
            return
        self._separate_sub_job()
        self.total_request.sub(stored.resreq)
        if is_allocated_status(stored.status):
            self.allocated.sub(stored.resreq)
        del self.tasks[task.uid]
        self.unindex_task(task.uid, stored.status)
        self.sub_jobs[self.task_to_sub_job.pop(task.uid)].delete_task(task)

    def update_task_status(self, task: TaskInfo, status: TaskStatus) -> None:
        """Set the task's status; the job then holds the object passed in. Upstream: api/job_info.UpdateTaskStatus."""
        stored = self.tasks.get(task.uid)
        if stored is not None and not self.pod_group.sub_group_policies:
            self._exchange_task(stored, task, status)
            return
        self.delete_task_info(task)
        task.status = status
        self.add_task_info(task)

    def _exchange_task(self, stored: TaskInfo, task: TaskInfo, status: TaskStatus) -> None:
        """Delete and add a task in one step, if it stays in its sub job."""
        self._separate_sub_job()
        uid, request = task.uid, stored.resreq
        # Subtracting and adding again is no no-op: it rounds, and it panics where the sum is too small.
        if request is task.resreq:
            self.total_request.sub_then_add(request)
        else:
            self.total_request.sub(request).add(task.resreq)
        if stored.status & ALLOCATED_MASK:
            self.allocated.sub(request)
        stored_status, task_status = stored.status, task.status
        task.status = status
        # Deleted first, so that the task moves to the end of the dict as in upstream's two steps.
        del self.tasks[uid]
        self.tasks[uid] = task
        self.reindex_task(task, stored_status)
        if status & ALLOCATED_MASK:
            self.allocated.add(task.resreq)
        self.sub_jobs[self.task_to_sub_job[uid]].exchange_task(task, task_status)

    def _get_or_create_sub_job(self, task: TaskInfo) -> SubJobInfo:
        """Upstream: api/job_info.getOrCreateSubJob."""
        match = match_sub_group(self.uid, self.pod_group, task) if self.pod_group.sub_group_policies else None
        uid = match[1] if match else self.uid
        self.task_to_sub_job[task.uid] = uid
        return self._sub_job_of(uid, match and (match[0].name, match[2]))

    def only_sub_job(self) -> SubJobInfo:
        """The sub job of all tasks where no policy groups them."""
        return self._sub_job_of(self.uid, None)

    def _sub_job_of(self, uid: SubJobId, match: tuple[str, str] | None) -> SubJobInfo:
        sub_job = self.sub_jobs.get(uid)
        if sub_job is None:
            sub_job = self.sub_jobs[uid] = self._new_sub_job(uid, match)
        return sub_job

    def _new_sub_job(self, uid: SubJobId, match: tuple[str, str] | None) -> SubJobInfo:
        if match is None:
            minimum = 1 if self.pod_group.sub_group_policies else self.min_available
            return SubJobInfo(uid, self.uid, self.uid, minimum, self.network_topology, ordering=self.ordering)
        policy = next(p for p in self.pod_group.sub_group_policies if p.name == match[0])
        minimum = 1 if policy.sub_group_size is None else policy.sub_group_size
        gid = f"{self.uid}/{policy.name}"
        return SubJobInfo(uid, gid, self.uid, minimum, policy.network_topology, match[1], self.ordering)

    def default_sub_job(self) -> SubJobInfo | None:
        """The sub job of the tasks that no policy matches. Upstream: api/job_info.getOrCreateDefaultSubJob."""
        return self.sub_jobs.get(self.uid)

    def sub_jobs_in_order(self) -> list[SubJobInfo]:
        """Sub jobs in the order in which this cycle visits maps."""
        return [self.sub_jobs[uid] for uid in self.ordering.order_keys(self.sub_jobs)]

    def valid_task_num(self) -> int:
        """Allocated-class, Succeeded, Pipelined and Pending tasks. Upstream: api/job_info.ValidTaskNum."""
        if self._valid_at != self.changes:
            self._valid, self._valid_at = (
                self.count_tasks(*READY_STATUSES, TaskStatus.PIPELINED, TaskStatus.PENDING),
                self.changes,
            )
        return self._valid

    def scheduled_task_num(self) -> int:
        """Running, Bound, Failed and Succeeded tasks. Upstream: api/job_info.ScheduledTaskNum."""
        return self.count_tasks(TaskStatus.RUNNING, TaskStatus.BOUND, TaskStatus.FAILED, TaskStatus.SUCCEEDED)

    def releasing_scheduled_task_num(self) -> int:
        """Releasing tasks that have a node. Upstream: api/job_info.ReleasingScheduledTaskNum."""
        releasing = self.task_status_index.get(TaskStatus.RELEASING)
        return len([1 for task in releasing.values() if task.node_name]) if releasing else 0

    def is_pending(self) -> bool:
        """Whether the PodGroup is not enqueued yet. Upstream: api/job_info.IsPending."""
        return self.pod_group.phase in (PENDING, "")

    def has_pending_tasks(self) -> bool:
        """Whether some task is Pending. Upstream: api/job_info.HasPendingTasks."""
        return TaskStatus.PENDING in self.task_status_index

    def _get_job_allocated_roles(self, statuses: Iterable[TaskStatus], *, empty_pending: bool) -> dict[str, int]:
        """Upstream: api/job_info.getJobAllocatedRoles."""
        counts: dict[str, int] = {}
        for status in statuses:
            for task in self.task_status_index.get(status, {}).values():
                counts[task.task_role] = counts.get(task.task_role, 0) + 1
        # Upstream counts a pending task that requests nothing as ready: it needs no room.
        if empty_pending:
            for task in self.task_status_index.get(TaskStatus.PENDING, {}).values():
                if task.init_resreq.is_empty():
                    counts[task.task_role] = counts.get(task.task_role, 0) + 1
        return counts

    def are_roles_unchecked(self) -> bool:
        """Whether role minimums are skipped, because their sum exceeds the job's minimum."""
        return self.min_available < self.task_min_available_total

    def _role_minimums(self, statuses: Iterable[TaskStatus], *, empty_pending: bool) -> list[MinimumCount]:
        if not self.task_min_available or self.are_roles_unchecked():
            return []
        counts = self._get_job_allocated_roles(statuses, empty_pending=empty_pending)
        return [MinimumCount(role, counts.get(role, 0), minimum) for role, minimum in self.task_min_available.items()]

    def valid_roles(self) -> list[MinimumCount]:
        """Usable tasks of each role that has a minimum."""
        return self._role_minimums(_USABLE_STATUSES, empty_pending=False)

    def ready_roles(self) -> list[MinimumCount]:
        """Placed tasks of each role that has a minimum."""
        return self._role_minimums(READY_STATUSES, empty_pending=True)

    def pipelined_roles(self) -> list[MinimumCount]:
        """Placed and pipelined tasks of each role that has a minimum."""
        return self._role_minimums((*READY_STATUSES, TaskStatus.PIPELINED), empty_pending=True)

    def check_task_valid(self) -> bool:
        """Whether every role has as many usable tasks as its minimum. Upstream: api/job_info.CheckTaskValid."""
        return not self.task_min_available or all(role.is_reached for role in self.valid_roles())

    def usable_by_role(self) -> dict[str, int]:
        """The number of tasks per role that are placed or can still be placed."""
        return self._get_job_allocated_roles(_USABLE_STATUSES, empty_pending=False)

    def check_task_ready(self) -> bool:
        """Whether every role has as many placed tasks as its minimum. Upstream: api/job_info.CheckTaskReady."""
        return not self.task_min_available or all(role.is_reached for role in self.ready_roles())

    def check_task_pipelined(self) -> bool:
        """Same as check_task_ready, but pipelined tasks count. Upstream: api/job_info.CheckTaskPipelined."""
        return not self.task_min_available or all(role.is_reached for role in self.pipelined_roles())

    def _sub_job_minimums(self, counts: Callable[[SubJobInfo], bool]) -> list[MinimumCount]:
        """Upstream: api/job_info.checkSubJobCondition."""
        return [
            MinimumCount(gid, len([sj for sj in self.sub_jobs.values() if sj.gid == gid and counts(sj)]), minimum)
            for gid, minimum in self.min_sub_jobs.items()
        ]

    def valid_sub_jobs(self) -> list[MinimumCount]:
        """Number and minimum of sub jobs per policy."""
        return self._sub_job_minimums(lambda _: True)

    def ready_sub_jobs(self) -> list[MinimumCount]:
        """Ready sub jobs of each policy that states a minimum."""
        return [policy for policy in self._sub_job_minimums(SubJobInfo.is_ready) if policy.minimum]

    def pipelined_sub_jobs(self) -> list[MinimumCount]:
        """Pipelined sub jobs of each policy that states a minimum."""
        return [policy for policy in self._sub_job_minimums(SubJobInfo.is_pipelined) if policy.minimum]

    def check_sub_job_valid(self) -> bool:
        """Whether each policy has at least its minimum of sub jobs. Upstream: api/job_info.CheckSubJobValid."""
        return not self.min_sub_jobs or all(policy.is_reached for policy in self.valid_sub_jobs())

    def check_sub_job_ready(self) -> bool:
        """Whether each policy has its minimum of ready sub jobs. Upstream: api/job_info.CheckSubJobReady."""
        return not self.min_sub_jobs or all(policy.is_reached for policy in self.ready_sub_jobs())

    def check_sub_job_pipelined(self) -> bool:
        """Whether each policy has its minimum of pipelined sub jobs. Upstream: api/job_info.CheckSubJobPipelined."""
        return not self.min_sub_jobs or all(policy.is_reached for policy in self.pipelined_sub_jobs())

    def fit_failed_roles(self, sub_job: SubJobInfo | None) -> dict[str, None]:
        """Roles of the sub job's (else all) failed tasks, by UID. Upstream: api/job_info.FitFailedRoles."""
        # Sorted, since upstream's map has no order and the roles' order shows in messages.
        failed = [self.tasks[uid] for uid in sorted(self.nodes_fit_errors) if uid in self.tasks]
        if sub_job is not None:
            failed = [task for task in failed if self.task_to_sub_job.get(task.uid) == sub_job.uid]
        return dict.fromkeys(task.task_role for task in failed)

    def task_has_fit_errors(self, sub_job: SubJobInfo | None, task: TaskInfo) -> bool:
        """Whether a task of the same (non-empty) role has already failed. Upstream: api/job_info.TaskHasFitErrors."""
        if not (task.task_role and self.nodes_fit_errors):
            return False
        return task.task_role in self.fit_failed_roles(sub_job)

    def reset_fit_errors(self) -> None:
        """Forget all fit errors of the job. Upstream: api/job_info.ResetFitErr."""
        self.job_fit_errors = ""
        self.nodes_fit_errors = {}

    def reset_sub_job_fit_errors(self, sub_job: SubJobInfo) -> None:
        """Forget the fit errors of one sub job's tasks. Upstream: api/job_info.ResetSubJobFitErr."""
        for uid in [u for u in self.nodes_fit_errors if self.task_to_sub_job.get(u) == sub_job.uid]:
            del self.nodes_fit_errors[uid]

    def need_continue_allocating(self, sub_job: SubJobInfo | None) -> bool:
        """Whether the gang of a sub job (None: of the job) can still be reached after a task failed.
        Upstream: api/job_info.NeedContinueAllocating.
        """
        if self.min_available == len(self.tasks):
            return False
        if sub_job is not None and sub_job.min_available >= len(sub_job.tasks):
            return False
        if sub_job is not None and self.pod_group.sub_group_policies:
            return True
        failed = self.fit_failed_roles(sub_job)
        if self.are_roles_unchecked():
            pending = self.task_status_index.get(TaskStatus.PENDING, {}).values()
            hopeful = sum(1 for task in pending if task.task_role not in failed)  # exact: ints
            return self.ready_task_num() + hopeful >= self.min_available
        counts = self._get_job_allocated_roles(READY_STATUSES, empty_pending=True)
        return all(counts.get(role, 0) >= self.task_min_available.get(role, 0) for role in failed)

    def get_min_resources(self) -> Resource:
        """spec.minResources, or nothing; not to be changed. Upstream: api/job_info.GetMinResources."""
        minimum = self.pod_group.min_resources
        return Resource() if minimum is None else minimum

    def get_sch_gated_pod_resources(self) -> Resource | None:
        """Requests of tasks behind scheduling gates, except Volcano's own; None where there is no such task.
        Upstream: api/job_info.GetSchGatedPodResources.
        """
        if not any(map(_is_gated, self.tasks.values())):
            return None
        gated = [uid for uid, task in self.tasks.items() if task.sch_gated and not task.pod.has_only_volcano_gate]
        if not gated:
            return None
        return Resource().add_all(self.tasks[uid].resreq for uid in sorted(gated))

    def deduct_sch_gated_resources(self, resource: Resource) -> Resource:
        """`resource` less what gated tasks request, never below 0. Upstream: api/job_info.DeductSchGatedResources."""
        gated = self.get_sch_gated_pod_resources()
        if gated is None or gated.is_empty():
            return resource
        result = resource.clone()
        result.milli_cpu = max(result.milli_cpu - gated.milli_cpu, 0.0)
        result.memory = max(result.memory - gated.memory, 0.0)
        for name, amount in list((result.scalars or {}).items()):
            if gated.scalars and name in gated.scalars:
                result.set_scalar(name, max(amount - gated.scalars[name], 0.0))
        return result

    def contains_network_topology(self) -> bool:
        """Whether the job or one of its sub jobs states a topology. Upstream: api/job_info.ContainsNetworkTopology."""
        return bool(self._stated_topologies())

    def contains_hard_topology(self) -> bool:
        """Whether the job or one of its sub jobs has a hard topology with a tier.
        Upstream: api/job_info.ContainsHardTopology.
        """
        return any(hard_tier_of(topology) is not None for topology in self._stated_topologies())

    def _stated_topologies(self) -> list[NetworkTopology]:
        topologies = (self.network_topology, *[sub_job.network_topology for sub_job in self.sub_jobs.values()])
        return [topology for topology in topologies if topology is not None]

    def task_scheduling_reason(self, uid: TaskId) -> tuple[str, str, str]:
        """(reason, message, nominated node) of the task's pod condition; all empty for an unknown task.
        Upstream: api/job_info.TaskSchedulingReason.
        """
        task = self.tasks.get(uid)
        if task is None:
            return "", "", ""
        # A discarded statement has reset the task: what it had planned explains the task better.
        node, evicted, _, status = task.last_transaction or task.transaction_context()
        pod = f"Pod {task.namespace}/{task.name} can possibly be assigned to {node}"
        if status is TaskStatus.ALLOCATED:
            return "Schedulable", f"{pod}, once minAvailable is satisfied" if self.says_minimum else pod, ""
        if status is TaskStatus.PIPELINED:
            minimum = " and minAvailable is satisfied" if self.says_minimum else ""
            message = f"{pod}, once resource is released{minimum}"
            return "Unschedulable", message, node if evicted else ""
        if status is TaskStatus.PENDING:
            errors = self.nodes_fit_errors.get(uid)
            return "Unschedulable", errors.error_text() if errors else self.job_fit_errors, ""
        return status.upstream_name, self.job_fit_errors, ""

    def fit_error(self) -> str:
        """The message: counts per status, reasons of pending tasks and origin. Upstream: api/job_info.FitError."""
        parts = {status.upstream_name: len(tasks) for status, tasks in self.task_status_index.items()}
        parts["minAvailable"] = self.min_available
        ready = "pod group is ready" if self.says_ready and self.is_ready() else "pod group is not ready"
        text = f"{ready}, {_sort_reasons_histogram(*parts.items())}"
        pending = self.task_status_index.get(TaskStatus.PENDING)
        if pending:
            reasons: dict[str, int] = {}
            for uid in sorted(pending):
                reason = self.task_scheduling_reason(uid)[0]
                reasons[reason] = reasons.get(reason, 0) + 1
            text += f"; Pending: {_sort_reasons_histogram(*reasons.items())}"
        return text + self._origin_reason()

    def _origin_reason(self) -> str:
        if self.job_fit_errors:
            return f". Origin reason is: {self.job_fit_errors}"
        for uid in sorted(self.nodes_fit_errors):
            if uid in self.tasks:
                return f". Origin reason is {self.tasks[uid].name}: {self.nodes_fit_errors[uid].error_text()}"
        return ""


@lru_cache(maxsize=1024)
def _sort_reasons_histogram(*counts: tuple[str, int]) -> str:
    """Cached, since many jobs have the same counts. Upstream: api/job_info.sortReasonsHistogram."""
    return ", ".join(sorted([f"{count} {name}" for name, count in counts]))


def _extract_preemptable(pod_group: PodGroup) -> bool:
    """Upstream: api/job_info.extractPreemptable."""
    text = pod_group.annotations.get(PREEMPTABLE_KEY)
    if text is None:
        text = pod_group.labels.get(PREEMPTABLE_KEY)
    return text is not None and parse_bool(text) is True
