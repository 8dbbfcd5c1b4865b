"""What the evicting actions share: candidates and their copies, and whether victims make enough room.

Upstream: util (ValidateVictims).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vcdebug.framework.session import Session
from vcdebug.framework.subject import CandidateTasks
from vcdebug.model.node import NodeInfo
from vcdebug.model.task import TaskInfo

CandidateFilter = Callable[[TaskInfo], str]
"""The rule by which an action leaves a task alone; empty for a candidate."""
NOT_RUNNING, NOT_PREEMPTABLE, ASKS_NOTHING = "status", "preemptable", "best-effort"
NO_JOB, SAME_QUEUE, OTHER_QUEUE, SAME_JOB, OTHER_JOB = "no-job", "same-queue", "other-queue", "same-job", "other-job"
NOT_RECLAIMABLE, GROUP_NOT_PREEMPTABLE, NOT_LOWER = "not-reclaimable", "group-preemptable", "not-lower"
"""These rules; of a best-effort preemptor that pods which ask for something do not make room for it."""


def candidates_on(node: NodeInfo, spares: CandidateFilter) -> CandidateTasks:
    """The node's tasks that the action's own filter does not leave alone, by `namespace/name`.

    Upstream copies each of them; here only those are copied that somebody is about to evict.
    """
    return CandidateTasks([task for task in node.tasks_in_order() if not spares(task)])


def copy_tasks(tasks: Sequence[TaskInfo]) -> list[TaskInfo]:
    """What is evicted in their place: a task that is named twice has one copy."""
    of = {id(task): task.clone() for task in tasks}
    return [of[id(task)] for task in tasks]


def validate_victims(ssn: Session, task: TaskInfo, node: NodeInfo, victims: Sequence[TaskInfo]) -> bool:
    """ValidateVictims: whether FutureIdle with the victims gone holds the task.
    Upstream: util/scheduler_helper.ValidateVictims.
    """
    if node.fits_future_idle(task.init_resreq, victims):
        return True
    ssn.log("no-victims", node.name, task.init_resreq, [victim.key for victim in victims])
    return False
