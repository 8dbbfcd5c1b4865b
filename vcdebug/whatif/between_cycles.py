"""Who acts between two cycles beside the scheduler: controllers, pods that finish and when, users with new work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal

from vcdebug.gotime import MICROSECOND, parse_duration, parse_time
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.snapshot.gathered_objects import Arrivals
from vcdebug.snapshot.manifest import owners_of
from vcdebug.snapshot.snapshot import Manifest

DEFAULT_RUN_TIME: Final = timedelta(hours=1)
"""For a pod of which nothing is known."""
SERVICE_OWNERS: Final = ("ReplicaSet", "DaemonSet", "StatefulSet", "ReplicationController")
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

    def end_time(self, pod: Pod) -> datetime | None:
        """When a running pod ends; None for one that never does."""
        stated = self.stated.get(pod.key, self.stated.get(pod.job_id))
        if stated is None and is_endless(pod):
            return None
        begun = start_time(pod) or self.now
        lasts = stated or self.each or self._assumed_time(begun)
        limit = pod.spec.get("activeDeadlineSeconds")
        if stated is None and isinstance(limit, int):
            lasts = min(lasts, timedelta(seconds=limit))
        return max(begun + lasts, self.now + _ONE_SECOND)

    def _assumed_time(self, begun: datetime) -> timedelta:
        """Twice its age; an hour for those that have only begun."""
        age = self.now - begun
        return 2 * age if age >= _ONE_SECOND else DEFAULT_RUN_TIME


def is_endless(pod: Pod) -> bool:
    """Whether it is a service: made to run for ever, or restarted whenever it ends."""
    owners = owners_of(pod.manifest)
    return pod.spec.get("restartPolicy") == "Always" or any(owner.get("kind") in SERVICE_OWNERS for owner in owners)


def start_time(pod: Pod) -> datetime | None:
    """When it began to run, as far as its status tells."""
    conditions = pod.status.get("conditions") or ()
    bound = [one for one in conditions if one.get("type") == "PodScheduled" and one.get("status") == "True"]
    times = (pod.status.get("startTime"), *(one.get("lastTransitionTime") for one in bound), pod.creation_timestamp)
    return next((parse_time(time) for time in times if time), None)


ONE_SECOND: Final = timedelta(seconds=1)
"""Upstream's --schedule-period."""
FinishRule = Literal["none", "thirds"]
FINISH_RULES: Final[tuple[FinishRule, ...]] = ("none", "thirds")
RUNNING: Final = "Running"
_PLAIN_NUMBER: Final = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_MAX_NANOSECONDS: Final = 10**18
"""Nanoseconds: some thirty years."""


@dataclass(frozen=True, slots=True)
class BetweenCycles:
    """What happens between cycles that no cycle sets going."""

    every: timedelta = ONE_SECOND
    """From one cycle to the next."""
    recreate: bool = False
    """A controller makes a new pod for each that has left."""
    finish: FinishRule = "none"
    """Which running pods succeed: none, or every third one, another third before each cycle."""
    arrivals: Arrivals = field(default_factory=dict)
    run_times: RunTimes | None = None
    """When running pods succeed; those of a gang that is not whole make no progress and run on."""
    for_good: Mapping[TaskKey, None] = field(default_factory=dict)
    """Pods that no controller makes again."""
    stuck: Mapping[TaskKey, None] = field(default_factory=dict)
    """Pods that stay, whatever their deletion timestamp says."""

    def iter_arrivals_before(self, number: int) -> Iterator[tuple[str, Sequence[Manifest]]]:
        """What arrives before a cycle, by kind."""
        yield from self.arrivals.get(number, {}).items()

    def finishing_pods(
        self, before: Iterable[Manifest], leaving: Iterable[TaskKey], number: int, now: datetime
    ) -> dict[TaskKey, None]:
        """Pods that succeed before a cycle: of those that ran in the one before, in the order of their names."""
        if self.finish == "none" and self.run_times is None:
            return {}
        gone = dict.fromkeys(leaving)
        running = {pod.key: pod for pod in map(Pod, before) if is_running(pod) and pod.key not in gone}
        turn = self.finish == "thirds"
        return dict.fromkeys(
            key
            for index, key in enumerate(sorted(running))
            if (turn and index % 3 == number % 3) or self._is_over(running[key], now)  # exact: ints
        )

    def _is_over(self, pod: Pod, now: datetime) -> bool:
        end = None if self.run_times is None else self.run_times.end_time(pod)
        return end is not None and end <= now


def parse_interval(text: str) -> timedelta | None:
    """A time between two cycles: seconds, or a duration as Go writes it, to the microsecond; None where none passes."""
    found = parse_duration(f"{text}s" if _PLAIN_NUMBER.fullmatch(text) else text)
    if found is None or not MICROSECOND <= found <= _MAX_NANOSECONDS:
        return None
    return timedelta(microseconds=found // MICROSECOND)  # exact: ints


def is_running(pod: Pod) -> bool:
    """Whether it has a node, runs, and is not being deleted."""
    return bool(pod.node_name) and pod.phase == RUNNING and not pod.deleting
