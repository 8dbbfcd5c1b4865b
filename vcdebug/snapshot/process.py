"""What a cycle takes from the scheduler process's past, which no object of the cluster shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Persistence = Literal["auto", "on", "off"]
PERSISTENCE: tuple[Persistence, ...] = ("auto", "on", "off")


@dataclass(frozen=True, slots=True)
class Process:
    """The scheduler process behind the cycle. The default is a process that runs its first cycle."""

    started: datetime | None = None
    """When the process started; None says that this is its first cycle."""
    last_rescheduling: datetime | None = None
    """When the plugin rescheduling last chose victims; None says not since the start."""

    def first_cycle(self, now: datetime) -> bool:
        """Whether nothing of an earlier cycle is there: no device ledgers, no last run."""
        return self.started is None or self.started >= now
