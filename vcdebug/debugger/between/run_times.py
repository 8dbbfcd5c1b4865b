"""How long pods run: what somebody states or, for want of that, what is assumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from vcdebug.gotime import time_in
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.snapshot.manifest import owners_of

ASSUMED: Final = timedelta(hours=1)
"""For a pod of which nothing is known."""
SERVICES: Final = ("ReplicaSet", "DaemonSet", "StatefulSet", "ReplicationController")
"""Owners whose pods are meant to run for ever."""
_ONE_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class RunTimes:
    """When each pod ends by itself."""

    now: datetime
    """The time at which the foresight begins: a pod that should have ended by then ends a second later."""
    each: timedelta | None = None
    """Of every pod, counted from its start; without it a pod is assumed to run as long again as it has until now."""
    stated: Mapping[JobId | TaskKey, timedelta] = field(default_factory=dict)
    """Of the pods of a job, or of one pod."""

    def end(self, pod: Pod) -> datetime | None:
        """When a running pod ends; None for one that never does."""
        stated = self.stated.get(pod.key, self.stated.get(pod.job_id))
        if stated is None and endless(pod):
            return None
        begun = started(pod) or self.now
        lasts = stated or self.each or self._assumed(begun)
        limit = pod.spec.get("activeDeadlineSeconds")
        if stated is None and isinstance(limit, int):
            lasts = min(lasts, timedelta(seconds=limit))
        return max(begun + lasts, self.now + _ONE_SECOND)

    def _assumed(self, begun: datetime) -> timedelta:
        """Twice its age; an hour for those that have only begun."""
        age = self.now - begun
        return 2 * age if age >= _ONE_SECOND else ASSUMED


def endless(pod: Pod) -> bool:
    """Whether it is a service: made to run for ever, or restarted whenever it ends."""
    owners = owners_of(pod.manifest)
    return pod.spec.get("restartPolicy") == "Always" or any(owner.get("kind") in SERVICES for owner in owners)


def started(pod: Pod) -> datetime | None:
    """When it began to run, as far as its status tells."""
    conditions = pod.status.get("conditions") or ()
    bound = [one for one in conditions if one.get("type") == "PodScheduled" and one.get("status") == "True"]
    times = (pod.status.get("startTime"), *(one.get("lastTransitionTime") for one in bound), pod.creation_timestamp)
    return next((time_in(time) for time in times if time), None)
