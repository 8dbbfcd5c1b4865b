"""What can be said about one plugin, in the words of its file in `explain/plugins/`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vcdebug.explain.answer import Finding, Number
from vcdebug.explain.comparing import Comparator, Difference, Then
from vcdebug.explain.equation import Equation
from vcdebug.explain.job_view import JobView
from vcdebug.explain.limits import QueueCheck
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.trace.recording import Recording

Arithmetic = Callable[[Recording, Seq, HookEvent], Equation]
Judge = Callable[[JobView, Seq, HookEvent], Finding | None]


class Kept(NamedTuple):
    """Why a plugin keeps candidates from a task."""

    text: str
    """Half a sentence."""
    numbers: Mapping[str, Number] = {}
    advice: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


VictimQueues = Callable[[Then, QueueInfo, QueueInfo, QueueInfo], Iterator[Difference]]
Keeper = Callable[[JobView, TaskInfo, Sequence[TaskKey], Seq], Kept | None]


@dataclass(frozen=True, slots=True)
class Quota:
    """What a plugin says about the limits of queues, asked again with the figures of a moment."""

    admission: Callable[[Recording, Seq, JobInfo], list[QueueCheck]]
    """JobEnqueueable, for the queue and its ancestors."""
    room: Callable[[Recording, Seq, QueueName, Resource], list[QueueCheck]]
    """Allocatable."""
    claim: Callable[[Recording, Seq, QueueName, Resource], QueueCheck]
    """Preemptive: against what the queue deserves."""
    reclaims_within_limit: bool
    """Whether Preemptive asks Allocatable's question as well."""
    larger: Callable[[JobView], str]
    """What would make a queue deserve more."""
    smaller: Callable[[JobView, Sequence[QueueName]], str]
    """What would put the victims' queues above their share."""
    derivation: Callable[[Recording, QueueName, str], tuple[str, ...]] = lambda *_: ()
    """How what a queue deserves came about in one dimension."""


@dataclass(frozen=True, slots=True)
class PluginWords:
    """Everything that is said about one plugin."""

    equations: Mapping[str, Arithmetic] = field(default_factory=dict)
    """Hook by upstream's name → its arithmetic."""
    comparators: Mapping[str, Comparator[Any]] = field(default_factory=dict)  # Any: the hook decides what is compared
    """Order hook by method → what it compares."""
    victim_queues: VictimQueues | None = None
    """VictimQueueOrder: what two victims' queues are compared by for a third that asks."""
    kept: Keeper | None = None
    """Why it keeps candidates; where nothing is said, the notes of its arithmetic stand for it."""
    keeps_advice: str = ""
    """What helps against its vote."""
    rejected: Judge | None = None
    """Why it does not admit a PodGroup."""
    quota: Quota | None = None
