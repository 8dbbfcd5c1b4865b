"""CycleState: what the Kubernetes checks remember about one task for the whole session.

Upstream: k8s framework CycleState, kept per task UID by the session.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class MutableState(Protocol):
    """An entry that a simulation changes, so a cloned CycleState needs its own copy."""

    def clone(self) -> MutableState:
        """An independent copy."""
        ...


class CycleState:
    """The states that PreFilter left, and the filters it told to skip.

    A filter that was skipped once stays skipped: names are only ever added, and copies share the set.
    """

    __slots__ = ("data", "skip")

    def __init__(self) -> None:
        self.skip: dict[str, None] = {}
        self.data: dict[str, object] = {}

    def clone(self) -> CycleState:
        """A copy for a simulation: entries are cloned, the skip set is the same one."""
        copy = CycleState()
        copy.skip = self.skip
        copy.data = {
            name: entry.clone() if isinstance(entry, MutableState) else entry for name, entry in self.data.items()
        }
        return copy
