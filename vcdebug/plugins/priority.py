"""priority: higher priority goes first and may evict lower priority. Upstream: plugins/priority."""

from collections.abc import Mapping
from typing import NamedTuple

from vcdebug.framework.plugin_answers import PERMIT, EvictionContext, EvictionKind, VictimAnswer
from vcdebug.framework.record import fast_tuple
from vcdebug.framework.session import Plugin, Session
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo


class Priority(Plugin):
    """Orders tasks, sub jobs and jobs by priority, and allows victims of lower priority."""

    name = "priority"

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/priority.OnSessionOpen."""
        self.jobs: dict[JobId, JobInfo] = ssn.jobs
        self.log = ssn.log_comparison

    def task_order(self, left: TaskInfo, right: TaskInfo) -> int:
        """Upstream: plugins/priority.taskOrderFn."""
        self.log("priority.task-order", left.key, left.priority, right.key, right.priority)
        return higher_first(left.priority, right.priority)

    def sub_job_order(self, left: SubJobInfo, right: SubJobInfo) -> int:
        """Upstream: plugins/priority.subJobOrderFn."""
        self.log("priority.sub-job-order", left.uid, left.priority, right.uid, right.priority)
        return higher_first(left.priority, right.priority)

    def job_order(self, left: JobInfo, right: JobInfo) -> int:
        """Upstream: plugins/priority.jobOrderFn."""
        self.log("priority.job-order", left.uid, left.priority, right.uid, right.priority)
        return higher_first(left.priority, right.priority)

    def preemptable(self, preemptor: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        """Candidates of lower priority (of the task in the own job). Upstream: plugins/priority.preemptableFn."""
        job = self.jobs.get(preemptor.job)
        if job is None:
            return [], PERMIT
        return [victim for victim in candidates if rank_candidate(self.jobs, victim, job, preemptor).is_lower], PERMIT

    def unified_evictable(self, context: EvictionContext, candidates: list[TaskInfo]) -> VictimAnswer:
        """Candidates of lower job priority; gang reclaim ignores priority."""
        if context.kind is EvictionKind.GANG_RECLAIM:
            return candidates, PERMIT
        return [task for task in candidates if rank_candidate(self.jobs, task, context.job).is_lower], PERMIT

    def job_starving(self, job: JobInfo) -> bool:
        """Whether some task is neither placed nor pipelined. Upstream: plugins/priority.jobStarvingFn."""
        return job.placed_task_num() < len(job.tasks)


class PriorityRank(NamedTuple):
    """The compared priorities of a candidate victim and of the preemptor's job or task."""

    compared_kind: str
    """Whether priorities of jobs or of tasks are compared: "job" or "task"."""
    candidate: int | None
    """The candidate's priority; None if it has no job."""
    preemptor: int

    @property
    def is_lower(self) -> bool:
        """Whether the candidate has the lower priority."""
        return self.candidate is not None and self.candidate < self.preemptor


def rank_candidate(
    jobs: Mapping[JobId, JobInfo], candidate: TaskInfo, preemptor_job: JobInfo, preemptor: TaskInfo | None = None
) -> PriorityRank:
    """Compare the priorities of the jobs; for candidates of the preemptor's own job, those of the tasks."""
    job = jobs.get(candidate.job)
    if job is None:
        return PriorityRank("job", None, preemptor_job.priority)
    if preemptor is not None and job.uid == preemptor_job.uid:
        return fast_tuple(PriorityRank, ("task", candidate.priority, preemptor.priority))
    return fast_tuple(PriorityRank, ("job", job.priority, preemptor_job.priority))


def higher_first(left: int, right: int) -> int:
    """-1 if the left priority is higher, 1 if the right one is, else 0."""
    return (right > left) - (left > right)
