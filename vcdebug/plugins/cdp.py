"""cdp: protects a pod from eviction for a cooldown after it was scheduled. Upstream: plugins/cdp."""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.framework.hooks import RECLAIMABLE
from vcdebug.framework.plugin_answers import PERMIT, VictimAnswer
from vcdebug.framework.session import Plugin, Session
from vcdebug.gotime import parse_duration, parse_nanoseconds, unix_nanoseconds
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.releases.queues import CDP_PREEMPT_ONLY

COOLDOWN_KEY = "volcano.sh/cooldown-time"


class Cdp(Plugin):
    """Takes running pods out of preempt's and reclaim's victims until their cooldown has passed."""

    name = "cdp"
    later_methods = {RECLAIMABLE.method: CDP_PREEMPT_ONLY}
    now: int

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/cdp.OnSessionOpen."""
        self.now = unix_nanoseconds(ssn.snapshot.now)

    def preemptable(self, preemptor: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        """Upstream: plugins/cdp.filterVictimFn."""
        return self.unprotected_tasks(candidates), PERMIT

    def reclaimable(self, reclaimer: TaskInfo, candidates: list[TaskInfo]) -> VictimAnswer:
        return self.unprotected_tasks(candidates), PERMIT

    def unprotected_tasks(self, tasks: list[TaskInfo]) -> list[TaskInfo]:
        """The tasks that are not protected, in their order."""
        return [task for task in tasks if not Cooldown.of_pod(task.pod).time_left(self.now)]


class Cooldown(NamedTuple):
    """How long a pod is protected and from when on, in nanoseconds; None for what it does not state."""

    time: int | None
    scheduled: int | None

    @classmethod
    def of_pod(cls, pod: Pod) -> Cooldown:
        """Counted from the time the pod was scheduled, not from its start."""
        return cls(cooldown_time(pod), scheduled_at(pod))

    def time_left(self, now: int) -> int:
        """Nanoseconds for which the pod is still protected."""
        return 0 if self.time is None or self.scheduled is None else max(self.scheduled + self.time - now, 0)


def cooldown_time(pod: Pod) -> int | None:
    """From the label, else the annotation; a bad label hides it. Upstream: plugins/cdp.podCooldownTime."""
    # A label that does not parse still hides the annotation, as upstream's lookup does.
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
            return parse_nanoseconds(condition.get("lastTransitionTime") or "")
    return None
