"""When the scheduler read a pod: with all others as its process started, before any node, or on its own later.

Upstream: cache (WaitForCacheSync before the workers that read nodes), api/shared_device_pool (IgnoredDevicesList).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from vcdebug.gotime import parse_time
from vcdebug.model.pod import Pod
from vcdebug.snapshot.process import SchedulerProcess


def was_read_at_start(pod: Pod, process: SchedulerProcess, now: datetime) -> bool:
    """Whether nothing shows that the pod came or changed since; in a first cycle nothing has.

    The names of resources that are to be ignored come with the first node, so that pods of the start keep them.
    """
    if process.started is None or process.is_first_cycle(now):
        return True
    return all(time < process.started for time in _change_times(pod))


def _change_times(pod: Pod) -> Iterator[datetime]:
    stated = [pod.creation_timestamp, pod.status.get("startTime")]
    stated += [condition.get("lastTransitionTime") for condition in pod.status.get("conditions") or ()]
    for text in stated:
        moment = parse_time(text)
        if moment is not None:
            yield moment
