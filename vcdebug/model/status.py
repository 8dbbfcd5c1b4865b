"""Task status and its classes.

Upstream: api/types, api/helpers.
"""

from __future__ import annotations

from enum import IntEnum


class TaskStatus(IntEnum):
    """Status codes as upstream numbers them (they are also the keys of its JSON dumps)."""

    PENDING = 1
    ALLOCATED = 2
    PIPELINED = 4
    BINDING = 8
    BOUND = 16
    RUNNING = 32
    RELEASING = 64
    SUCCEEDED = 128
    FAILED = 256
    UNKNOWN = 512

    @property
    def upstream_name(self) -> str:
        """Upstream's spelling: `Pending`."""
        return _LABELS[self]


_LABELS = {status: status.name.capitalize() for status in TaskStatus}
STATUS_BY_LABEL = {label: status for status, label in _LABELS.items()}

ALLOCATED_CLASS = (TaskStatus.BOUND, TaskStatus.BINDING, TaskStatus.RUNNING, TaskStatus.ALLOCATED)
ALLOCATED_MASK = TaskStatus.BOUND | TaskStatus.BINDING | TaskStatus.RUNNING | TaskStatus.ALLOCATED


def is_allocated_status(status: TaskStatus) -> bool:
    """Bound, Binding, Running or Allocated. Upstream: api/helpers.AllocatedStatus."""
    return bool(status & ALLOCATED_MASK)


def is_preemptable_status(status: TaskStatus) -> bool:
    """Bound or Running. Upstream: api/helpers.PreemptableStatus."""
    return status is TaskStatus.RUNNING or status is TaskStatus.BOUND


def is_completed_status(status: TaskStatus) -> bool:
    """Failed or Succeeded. Upstream: api/helpers.CompletedStatus."""
    return status is TaskStatus.FAILED or status is TaskStatus.SUCCEEDED
