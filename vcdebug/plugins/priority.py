"""Higher priority goes first, and may take the room of lower priority.

Upstream: plugins/priority.
"""

from __future__ import annotations

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.evictions import EvictionContext, EvictionKind
from vcdebug.framework.plugin import PERMIT, Plugin, Victims
from vcdebug.framework.session import Session
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId
from vcdebug.model.subjob import SubJobInfo
from vcdebug.model.task import TaskInfo


class Priority(Plugin):
    """Orders tasks, sub jobs and jobs by priority and offers what is lower as victims."""

    name = "priority"

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.jobs: dict[JobId, JobInfo] = {}

    def on_session_open(self, ssn: Session) -> None:
        self.jobs = ssn.jobs

    def task_order(self, left: TaskInfo, right: TaskInfo) -> int:
        return higher_first(left.priority, right.priority)

    def sub_job_order(self, left: SubJobInfo, right: SubJobInfo) -> int:
        return higher_first(left.priority, right.priority)

    def job_order(self, left: JobInfo, right: JobInfo) -> int:
        return higher_first(left.priority, right.priority)

    def preemptable(self, preemptor: TaskInfo, candidates: list[TaskInfo]) -> Victims:
        """Candidates of lower job priority; inside the preemptor's own job, of lower task priority."""
        if preemptor.job not in self.jobs:
            return [], PERMIT
        return [victim for victim in candidates if self.yields_to(victim, preemptor)], PERMIT

    def yields_to(self, candidate: TaskInfo, preemptor: TaskInfo) -> bool:
        """Whether the candidate is of lower priority than the preemptor."""
        if candidate.job not in self.jobs:
            return False
        if candidate.job == preemptor.job:
            return candidate.priority < preemptor.priority
        return self.jobs[candidate.job].priority < self.jobs[preemptor.job].priority

    def unified_evictable(self, context: EvictionContext, candidates: list[TaskInfo]) -> Victims:
        """Candidates of lower job priority; a reclaim between queues does not look at priority."""
        if context.kind is EvictionKind.GANG_RECLAIM:
            return candidates, PERMIT
        return [task for task in candidates if self.jobs[task.job].priority < context.job.priority], PERMIT

    def job_starving(self, job: JobInfo) -> bool:
        """Whether any task is neither placed nor waiting: failed and releasing tasks count as missing."""
        return job.ready_task_num() + job.waiting_task_num() < len(job.tasks)


def higher_first(left: int, right: int) -> int:
    """-1 when the left is higher."""
    return (right > left) - (left > right)
