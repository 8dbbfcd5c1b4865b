"""cdp: protects a pod from eviction for a cooldown after it was scheduled. Upstream: plugins/cdp."""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.framework.hooks import RECLAIMABLE
from vcdebug.framework.plugin_answers import PERMIT, VictimAnswer
from vcdebug.framework.session import Plugin, Session
from vcdebug.gotime import parse_duration, parse_nanoseconds, unix_nanoseconds
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import ANNOTATIONS
from vcdebug.releases.queues import CDP_PREEMPT_ONLY

(COOLDOWN_KEY,) = ANNOTATIONS["cdp"]


class Cdp(Plugin):
    """Protects running pods from preempt and reclaim until their cooldown has passed."""

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
        """The tasks whose cooldown has passed or that have none, in order."""
        return [task for task in tasks if not Cooldown.of_pod(task.pod).time_left(self.now)]


class Cooldown(NamedTuple):
    """A pod's cooldown and the time it was scheduled, in nanoseconds; None for a missing value."""

    time: int | None
    scheduled: int | None

    @classmethod
    def of_pod(cls, pod: Pod) -> Cooldown:
        """Read a pod's cooldown; it starts when the pod is scheduled, not when it starts running."""
        return cls(cooldown_time(pod), scheduled_at(pod))

    def time_left(self, now: int) -> int:
        """Nanoseconds of protection left at time `now`; 0 if there are none."""
        return 0 if self.time is None or self.scheduled is None else max(self.scheduled + self.time - now, 0)


def cooldown_time(pod: Pod) -> int | None:
    """The cooldown in nanoseconds, from label or annotation; None without. Upstream: plugins/cdp.podCooldownTime."""
    # An invalid label still hides the annotation, as in upstream's lookup.
    text = pod.labels.get(COOLDOWN_KEY)
    if text is None:
        text = pod.annotations.get(COOLDOWN_KEY)
    return None if text is None else parse_duration(text)


def scheduled_at(pod: Pod) -> int | None:
    """When a running pod was scheduled; None for other pods or without the condition PodScheduled."""
    if pod.phase != "Running":
        return None
    for condition in pod.status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            return parse_nanoseconds(condition.get("lastTransitionTime") or "")
    return None
