"""shuffle: evicts the running tasks that plugins name as victims. Upstream: actions/shuffle."""

from vcdebug.framework import transitions
from vcdebug.framework.action import Action
from vcdebug.framework.hooks import VICTIM_TASKS
from vcdebug.framework.registry import ActionFacts
from vcdebug.framework.session import Session
from vcdebug.grouping import group_by_key
from vcdebug.model.task import TaskStatus

SHUFFLE_REASON = "shuffle"


class Shuffle(Action):
    """Evicts each task that a plugin names at once: without statement and gang protection, in the order of a Go map."""

    name = "shuffle"
    facts = ActionFacts(evicts=True)

    def execute(self, ssn: Session) -> None:
        """Ask the plugins about all running tasks, then evict. Upstream: actions/shuffle.Execute."""
        running = [task for job in ssn.jobs.values() for task in job.tasks_with_status(TaskStatus.RUNNING)]
        victims = ssn.ask_plugins(VICTIM_TASKS, running)
        by_uid = group_by_key((victim.uid, victim) for victim in victims)
        # Upstream iterates over a map by UID: the session's order replaces Go's random one.
        for victim in (task for uid in ssn.cluster.ordering.order_keys(by_uid) for task in by_uid[uid]):
            ssn.log("victim", victim.name, victim.namespace, victim.job)
            transitions.evict(ssn, victim, SHUFFLE_REASON, via="session")
