"""Who acts between two cycles beside the scheduler: controllers, pods that finish, users with new work."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal

from vcdebug.debugger.between.run_times import RunTimes
from vcdebug.gotime import MICROSECOND, parse_duration
from vcdebug.model.names import TaskKey
from vcdebug.model.pod import Pod
from vcdebug.snapshot.arrivals import Arrivals
from vcdebug.snapshot.snapshot import Manifest

ONE_SECOND: Final = timedelta(seconds=1)
"""Upstream's --schedule-period."""
Finish = Literal["none", "thirds"]
FINISH: Final[tuple[Finish, ...]] = ("none", "thirds")
RUNNING: Final = "Running"
_PLAIN: Final = re.compile(r"[0-9]+\.?[0-9]*|\.[0-9]+")
_LONGEST: Final = 10**18
"""Nanoseconds: some thirty years."""


@dataclass(frozen=True, slots=True)
class Between:
    """What happens between cycles that no cycle sets going."""

    every: timedelta = ONE_SECOND
    """From one cycle to the next."""
    recreate: bool = False
    """A controller makes a new pod for each that has left."""
    finish: Finish = "none"
    """Which running pods succeed: none, or every third one, another third before each cycle."""
    arrivals: Arrivals = field(default_factory=dict)
    run_times: RunTimes | None = None
    """When running pods succeed; those of a gang that is not whole make no progress and run on."""
    for_good: Mapping[TaskKey, None] = field(default_factory=dict)
    """Pods that no controller makes again."""
    stuck: Mapping[TaskKey, None] = field(default_factory=dict)
    """Pods that stay, whatever their deletion timestamp says."""

    def arriving(self, number: int) -> Iterator[tuple[str, Sequence[Manifest]]]:
        """What arrives before a cycle, by kind."""
        yield from self.arrivals.get(number, {}).items()

    def finishing(
        self, before: Iterable[Manifest], leaving: Iterable[TaskKey], number: int, now: datetime
    ) -> dict[TaskKey, None]:
        """Pods that succeed before a cycle: of those that ran in the one before, in the order of their names."""
        if self.finish == "none" and self.run_times is None:
            return {}
        gone = dict.fromkeys(leaving)
        running = {pod.key: pod for pod in map(Pod, before) if runs(pod) and pod.key not in gone}
        turn = self.finish == "thirds"
        return dict.fromkeys(
            key
            for index, key in enumerate(sorted(running))
            if (turn and index % 3 == number % 3) or self._over(running[key], now)  # exact: ints
        )

    def _over(self, pod: Pod, now: datetime) -> bool:
        end = None if self.run_times is None else self.run_times.end(pod)
        return end is not None and end <= now


def passing(text: str) -> timedelta | None:
    """A time between two cycles: seconds, or a duration as Go writes it, to the microsecond; None where none passes."""
    found = parse_duration(f"{text}s" if _PLAIN.fullmatch(text) else text)
    if found is None or not MICROSECOND <= found <= _LONGEST:
        return None
    return timedelta(microseconds=found // MICROSECOND)  # exact: ints


def runs(pod: Pod) -> bool:
    """Whether it has a node, runs, and is not being deleted."""
    return bool(pod.node_name) and pod.phase == RUNNING and not pod.deleting
