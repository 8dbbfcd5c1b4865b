"""Cooldown protection: a pod that was scheduled a short while ago is not evicted again.

Upstream: plugins/cdp.
"""

from __future__ import annotations

from vcdebug.framework.plugin import PERMIT, Plugin, Victims
from vcdebug.framework.session import Session
from vcdebug.gotime import moment, nanoseconds, parse_duration
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo

COOLDOWN_KEY = "volcano.sh/cooldown-time"


class Cdp(Plugin):
    """Takes running pods out of preempt's and reclaim's victims until their cooldown has passed."""

    name = "cdp"
    now: int

    def on_session_open(self, ssn: Session) -> None:
        self.now = nanoseconds(ssn.snapshot.now)

    def preemptable(self, preemptor: TaskInfo, candidates: list[TaskInfo]) -> Victims:
        return self.cooled(candidates), PERMIT

    def reclaimable(self, reclaimer: TaskInfo, candidates: list[TaskInfo]) -> Victims:
        return self.cooled(candidates), PERMIT

    def cooled(self, tasks: list[TaskInfo]) -> list[TaskInfo]:
        """The tasks that are not protected, in their order."""
        return [task for task in tasks if not self.protected(task.pod)]

    def protected(self, pod: Pod) -> bool:
        """Counted from the time the pod was scheduled, not from its start."""
        cooldown = cooldown_time(pod)
        scheduled = scheduled_at(pod)
        return cooldown is not None and scheduled is not None and scheduled + cooldown > self.now


def cooldown_time(pod: Pod) -> int | None:
    """From the label, else the annotation; a label that does not parse hides the annotation."""
    text = pod.labels.get(COOLDOWN_KEY)
    if text is None:
        text = pod.annotations.get(COOLDOWN_KEY)
    return None if text is None else parse_duration(text)


def scheduled_at(pod: Pod) -> int | None:
    """When a running pod was scheduled; None for any other pod, or without that condition."""
    if pod.phase != "Running":
        return None
    for condition in pod.status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            return moment(condition.get("lastTransitionTime") or "")
    return None
