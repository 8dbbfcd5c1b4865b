"""Pods that are being deleted: when they should be gone."""

from __future__ import annotations

from vcdebug.explain.job_view import JobView
from vcdebug.gotime import SECOND, nanoseconds, time_of
from vcdebug.model.task import TaskInfo

_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def deletion_due(view: JobView, task: TaskInfo) -> str:
    """`due in 20s`, `2h overdue`; `evicted now` where the manifest knows nothing of it yet."""
    gone = (task.pod.manifest.get("metadata") or {}).get("deletionTimestamp")
    if not isinstance(gone, str):
        return "evicted now"
    seconds = (time_of(gone) - nanoseconds(view.recording.snapshot.now)) // SECOND  # exact: ints
    return f"due in {span(seconds)}" if seconds > 0 else f"{span(-seconds)} overdue"


def span(seconds: int) -> str:
    """A span of time in its largest unit."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size}{unit}"  # exact: ints
    return "0s"
