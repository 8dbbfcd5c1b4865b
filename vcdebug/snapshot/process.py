"""What a cycle takes from the scheduler process's past, which no object of the cluster shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple

PersistenceSetting = Literal["auto", "on", "off"]
PERSISTENCE_SETTINGS: tuple[PersistenceSetting, ...] = ("auto", "on", "off")


class CpuReservation(NamedTuple):
    """CPUs of a node that an earlier cycle gave to a pod: taken until the node's Numatopology shows the pod."""

    node: str
    pod: str
    """namespace/name."""
    uid: str
    cpus: str
    """A list such as `0-3,8`."""


@dataclass(frozen=True, slots=True)
class SchedulerProcess:
    """The scheduler process behind the cycle. The default is a process that runs its first cycle."""

    started: datetime | None = None
    """When the process started; None says that this is its first cycle."""
    last_rescheduling: datetime | None = None
    """When the plugin rescheduling last chose victims; None says not since the start."""
    last_eviction: datetime | None = None
    """When the plugin tdm last looked for victims; None says not since the start."""
    sessions: int = 0
    """How many sessions it has run: each has a UID of its own."""
    hyper_nodes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Job → the hypernode allocated to each of its sub jobs, and under the empty name to the job itself."""
    reserved_cpus: tuple[CpuReservation, ...] = ()
    """By node and pod."""

    def is_first_cycle(self, now: datetime) -> bool:
        """Whether nothing of an earlier cycle is there: no device ledgers, no last run."""
        return self.started is None or self.started >= now
