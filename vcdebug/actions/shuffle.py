"""shuffle: evicts running tasks that some plugin wants gone.

Upstream: actions/shuffle.
"""

from __future__ import annotations

from vcdebug.framework import transitions
from vcdebug.framework.action import Action
from vcdebug.framework.hooks import VICTIM_TASKS
from vcdebug.framework.session import Session
from vcdebug.model.names import TaskId
from vcdebug.model.task import TaskInfo, TaskStatus

SHUFFLE_REASON = "shuffle"


class Shuffle(Action):
    """No statement, no gang protection: whoever is named goes, in the order of a map."""

    name = "shuffle"
    evicts = True

    def execute(self, ssn: Session) -> None:
        """Ask about all running tasks, then evict. Upstream: actions/shuffle.Execute."""
        running = [task for job in ssn.jobs.values() for task in job.tasks_with_status(TaskStatus.RUNNING)]
        victims = ssn.ask_plugins(VICTIM_TASKS, running)
        by_uid: dict[TaskId, list[TaskInfo]] = {}
        for victim in victims:
            by_uid.setdefault(victim.uid, []).append(victim)
        for victim in (one for uid in ssn.cluster.ordering.order_keys(by_uid) for one in by_uid[uid]):
            ssn.log("victim", victim.name, victim.namespace, victim.job)
            transitions.evict(ssn, victim, SHUFFLE_REASON, via="session")
