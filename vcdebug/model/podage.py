"""When the scheduler read a pod: with all others as its process started, before any node, or on its own later.

Upstream: cache (WaitForCacheSync before the workers that read nodes), api/shared_device_pool (IgnoredDevicesList).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from vcdebug.gotime import time_in
from vcdebug.model.pod import Pod
from vcdebug.snapshot.process import Process


def read_at_start(pod: Pod, process: Process, now: datetime) -> bool:
    """Whether nothing shows that the pod came or changed since; in a first cycle nothing has.

    The names of resources that are to be ignored come with the first node, so that pods of the start keep them.
    """
    if process.started is None or process.first_cycle(now):
        return True
    return all(time < process.started for time in _changes(pod))


def _changes(pod: Pod) -> Iterator[datetime]:
    stated = [pod.creation_timestamp, pod.status.get("startTime")]
    stated += [condition.get("lastTransitionTime") for condition in pod.status.get("conditions") or ()]
    for text in stated:
        moment = time_in(text)
        if moment is not None:
            yield moment
