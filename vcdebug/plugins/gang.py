"""gang: a job runs with at least its minimum number of tasks, or not at all. Upstream: plugins/gang."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from vcdebug.framework.plugin_answers import PERMIT, REJECT, EvictionContext, ValidateResult, VictimAnswer
from vcdebug.framework.record import fast_tuple
from vcdebug.framework.session import Plugin, Session
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.pod_group import Condition
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo, TaskStatus, is_allocated_status
from vcdebug.releases.queues import GANG_CLOSE_RELEASING, GANG_CLOSE_WITHOUT_TASKS

NOT_ENOUGH_PODS_OF_TASK = "NotEnoughPodsOfTask"
NOT_ENOUGH_TASKS = "NotEnoughTasks"
NOT_ENOUGH_RESOURCES = "NotEnoughResources"
TASKS_READY = "tasks in gang are ready to be scheduled"
TOO_FEW_PODS = "Not enough valid pods of each task for gang-scheduling"
TOO_FEW_SUB_GROUPS = "Not enough valid subGroups of each task for gang-scheduling"
TOO_FEW_TASKS = "Not enough valid tasks for gang-scheduling, valid: {valid}, min: {minimum}"
UNSCHEDULABLE_MESSAGE = "{unready}/{total} tasks in gang unschedulable: {reason}"


class Gang(Plugin):
    """Places jobs only as whole gangs, and protects running gangs from falling below their minimum."""

    name = "gang"

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/gang.OnSessionOpen."""
        self.jobs: dict[JobId, JobInfo] = ssn.jobs
        self.log = ssn.log_comparison

    def job_valid(self, job: JobInfo) -> ValidateResult | None:
        """The reason why the job's pods can never form a gang, else None. Upstream: plugins/gang.validJobFn."""
        if not job.check_task_valid():
            return ValidateResult(False, NOT_ENOUGH_PODS_OF_TASK, TOO_FEW_PODS)
        if not job.check_sub_job_valid():
            return ValidateResult(False, NOT_ENOUGH_PODS_OF_TASK, TOO_FEW_SUB_GROUPS)
        valid = job.valid_task_num()
        if valid < job.min_available:
            message = TOO_FEW_TASKS.format(valid=valid, minimum=job.min_available)
            return ValidateResult(False, NOT_ENOUGH_TASKS, message)
        return None

    def job_order(self, left: JobInfo, right: JobInfo) -> int:
        """Upstream: plugins/gang.jobOrderFn."""
        left_ready, right_ready = left.is_ready(), right.is_ready()
        self.log("gang.job-order", left.uid, left_ready, right.uid, right_ready)
        return unready_first(left_ready, right_ready)

    def sub_job_order(self, left: SubJobInfo, right: SubJobInfo) -> int:
        """Upstream: plugins/gang.subJobOrderFn."""
        left_ready, right_ready = left.is_ready(), right.is_ready()
        self.log("gang.sub-job-order", left.uid, left_ready, right.uid, right_ready)
        return unready_first(left_ready, right_ready)

    def job_ready(self, job: JobInfo) -> bool:
        return job.check_task_ready() and job.check_sub_job_ready() and job.is_ready()

    def sub_job_ready(self, job: JobInfo, sub_job: SubJobInfo) -> bool:
        return sub_job.is_ready()

    def job_pipelined(self, job: JobInfo) -> int:
        """Upstream: plugins/gang.pipelinedFn."""
        pipelined = job.check_task_pipelined() and job.check_sub_job_pipelined() and job.is_pipelined()
        return PERMIT if pipelined else REJECT

    def sub_job_pipelined(self, job: JobInfo, sub_job: SubJobInfo) -> int:
        return PERMIT if sub_job.is_pipelined() else REJECT

    def job_starving(self, job: JobInfo) -> bool:
        """Upstream: plugins/gang.jobStarvingFn."""
        return job.is_starving()

    def preemptable(self, preemptor: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        """Upstream: plugins/gang.preemptableFn."""
        return spare_victims(self.jobs, candidates), PERMIT

    def reclaimable(self, reclaimer: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        return spare_victims(self.jobs, candidates), PERMIT

    def unified_evictable(self, context: EvictionContext, candidates: list[TaskInfo]) -> VictimAnswer:
        """Allow all candidates: the action itself evicts gangs as bundles."""
        return candidates, PERMIT

    def on_session_close(self, ssn: Session) -> None:
        """Set the condition of every PodGroup that has tasks. Upstream: plugins/gang.OnSessionClose."""
        protects_leaving = not ssn.release.has_older_form(GANG_CLOSE_RELEASING)
        needs_tasks = not ssn.release.has_older_form(GANG_CLOSE_WITHOUT_TASKS)
        for job in ssn.jobs.values():
            if (needs_tasks and not job.tasks) or (protects_leaving and is_leaving(job)):
                continue
            ssn.update_pod_group_condition(job, gang_condition(job))


class GangMember(NamedTuple):
    """A candidate victim with the state of its gang."""

    task: TaskInfo
    job: JobInfo | None
    ready: int
    """The gang's ready tasks, less the victims earlier in the list."""

    @property
    def is_spare(self) -> bool:
        """Whether the gang keeps its minimum after the task is evicted."""
        return self.job is not None and self.ready > self.job.min_available


def gang_members(jobs: Mapping[JobId, JobInfo], candidates: Iterable[TaskInfo]) -> Iterator[GangMember]:
    """Yield each candidate in order; each victim lowers the count of ready tasks of its gang."""
    ready: dict[JobId, int] = {}
    for task in candidates:
        job = jobs.get(task.job)
        # Made without NamedTuple's constructor, for speed: victim hooks check every running pod of the cluster.
        member = fast_tuple(
            GangMember, (task, job, 0 if job is None else ready.setdefault(job.uid, job.ready_task_num()))
        )
        if job is not None and member.is_spare:
            ready[job.uid] -= 1
        yield member


def spare_victims(jobs: Mapping[JobId, JobInfo], candidates: Iterable[TaskInfo]) -> list[TaskInfo]:
    """The candidates that their gangs can lose."""
    return [member.task for member in gang_members(jobs, candidates) if member.is_spare]


def unready_first(left: bool, right: bool) -> int:
    """-1 if only the right one is ready, 1 if only the left one is, else 0."""
    return left - right


def is_leaving(job: JobInfo) -> bool:
    """Whether the gang is below its minimum only because pods are being deleted."""
    releasing = job.releasing_scheduled_task_num()
    if job.is_ready() or not releasing or job.has_pending_tasks() or job.waiting_task_num():
        return False
    return job.scheduled_task_num() + releasing >= job.min_available


def gang_condition(job: JobInfo) -> Condition:
    """The PodGroup condition at session close."""
    # Only the total counts here: a job below the minimum of a role is reported as ready all the same.
    if job.is_ready():
        return Condition("Scheduled", "True", TASKS_READY, "")
    unready = unready_task_num(job)
    message = UNSCHEDULABLE_MESSAGE.format(unready=unready, total=len(job.tasks), reason=job.fit_error())
    return Condition("Unschedulable", "True", NOT_ENOUGH_RESOURCES, message)


def unready_task_num(job: JobInfo) -> int:
    """How many ready tasks a gang that is not ready lacks."""
    return job.min_available - schedulable_task_num(job)


def schedulable_task_num(job: JobInfo) -> int:
    """Ready tasks plus Pending ones that a statement had placed. Upstream: plugins/gang.schedulableTaskNum."""
    pending = job.tasks_with_status(TaskStatus.PENDING)
    planned = [
        task for task in pending if is_allocated_status((task.last_transaction or task.transaction_context()).status)
    ]
    return job.ready_task_num() + len(planned)
