"""Whether a task may be reclaimed: its queue keeps its guarantee and, with its ancestors, exceeds what it deserves.

Upstream: plugins/capacity (Reclaimable, UnifiedEvictable, capacityState).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from vcdebug.kube.node_view import CycleState
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, QueueName
from vcdebug.model.pod_claims import TaskDemand
from vcdebug.model.queue import ROOT_QUEUE
from vcdebug.model.resource import INFINITY, Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.capacity import queue_attr
from vcdebug.plugins.capacity.devices import DeviceQuota

NO_OVERLAP, GUARANTEE, NOTHING_DESERVED, DESERVED, ANCESTOR = "overlap", "guarantee", "nothing", "deserved", "ancestor"
TOO_SMALL = "small"
"""The rules that protect a candidate, in the order in which they are checked."""


class JudgedCandidate(NamedTuple):
    """A candidate with its queue's amounts (earlier victims subtracted) and the rule that protects it."""

    attr: queue_attr.CapacityQueueAttr
    allocated: Resource
    rule: str = ""
    """The rule that protects the candidate; empty for a victim."""
    queue: QueueName = ""
    """The ancestor to which the rule applies."""


class ReclaimAsker(NamedTuple):
    """The task that needs room, with its queue."""

    task: TaskInfo
    queue: queue_attr.CapacityQueueAttr
    needs_whole: bool
    """Whether a queue is protected that holds less than the task requests in any dimension."""


class ReclaimCall:
    """One call of Reclaimable; victims are subtracted from the call's own copies of allocated amounts.

    Without a task that asks (UnifiedEvictable), dimensions, relatives and ancestors do not count.
    """

    def __init__(self, attrs: queue_attr.Attrs, ancestor_level: int = 0, asker: ReclaimAsker | None = None) -> None:
        self._attrs = attrs
        self._ancestor_level = ancestor_level
        self._reclaimer = asker
        self._allocated: dict[QueueName, Resource] = {}

    def judge_candidate(self, task: TaskInfo, attr: queue_attr.CapacityQueueAttr) -> JudgedCandidate:
        """Judge one candidate; a victim is subtracted from its queue and the checked ancestors.
        Upstream: plugins/capacity.shouldSkipReclaimee, plugins/capacity.isImmediateVictim.
        """
        allocated = self._allocated_of(attr)
        if self._reclaimer is not None and not queue_attr.has_shared_dimension(task, self._reclaimer.task):
            return JudgedCandidate(attr, allocated, NO_OVERLAP)
        if queue_attr.short_of_guarantee(attr, allocated, task):
            return JudgedCandidate(attr, allocated, GUARANTEE)
        if self._is_nothing_deserved(attr, task):
            return JudgedCandidate(attr, allocated, NOTHING_DESERVED)
        if not queue_attr.exceeds_deserved(attr, allocated, task):
            return JudgedCandidate(attr, allocated, DESERVED)
        ancestors: dict[QueueName, None] = {}
        for name in self._ancestors_to_check(attr):
            ancestor = self._attrs.get(name)
            if ancestor is None or not queue_attr.exceeds_deserved(ancestor, self._allocated_of(ancestor), task):
                return JudgedCandidate(attr, allocated, ANCESTOR, name)
            ancestors[name] = None
        for name in (attr.name, *ancestors):
            self._allocated[name] = self._allocated[name].clone().sub(task.resreq)
        return JudgedCandidate(attr, allocated)

    def _allocated_of(self, attr: queue_attr.CapacityQueueAttr) -> Resource:
        return self._allocated.setdefault(attr.name, attr.allocated)

    def _is_nothing_deserved(self, attr: queue_attr.CapacityQueueAttr, task: TaskInfo) -> bool:
        """Whether both queues share a near ancestor and deserve none of their tasks' dimensions."""
        if self._reclaimer is None or not self._ancestor_level or queue_attr.has_relevant_deserved(task, attr.deserved):
            return False
        return self._shares_near_ancestor(attr, self._reclaimer.queue) and not queue_attr.has_relevant_deserved(
            self._reclaimer.task, self._reclaimer.queue.deserved
        )

    def _shares_near_ancestor(self, attr: queue_attr.CapacityQueueAttr, asker: queue_attr.CapacityQueueAttr) -> bool:
        """Whether both share a near ancestor. Upstream: plugins/capacity.sharesAnyNonRootAncestorWithinLevel."""
        near_ancestors = self._near_ancestors(asker)
        return any(name != ROOT_QUEUE and name in near_ancestors for name in self._near_ancestors(attr))

    def _near_ancestors(self, attr: queue_attr.CapacityQueueAttr) -> list[QueueName]:
        """Upstream: plugins/capacity.ancestorsByLevel."""
        return list(attr.ancestors)[-self._ancestor_level :]

    def _ancestors_to_check(self, attr: queue_attr.CapacityQueueAttr) -> Iterator[QueueName]:
        """Yield the near ancestors to check: not the root, and none at the same distance from both queues.
        Upstream: plugins/capacity.getReclaimeeAncestorToCheck.
        """
        if self._reclaimer is None:
            return
        for distance in range(1, min(self._ancestor_level, len(attr.ancestors)) + 1):
            name = attr.ancestor_at_depth(distance)
            if name is not None and name not in (ROOT_QUEUE, self._reclaimer.queue.ancestor_at_depth(distance)):
                yield name


class WholeReclaimCall(ReclaimCall):
    """The older form: a queue that exceeds its deserved amount in any dimension may lose any task."""

    def judge_candidate(self, task: TaskInfo, attr: queue_attr.CapacityQueueAttr) -> JudgedCandidate:
        """Judge one candidate; a victim is subtracted from its queue."""
        allocated, asker = self._allocated_of(attr), self._reclaimer
        if asker is not None and asker.needs_whole and allocated.less_partly(asker.task.resreq):
            return JudgedCandidate(attr, allocated, TOO_SMALL)
        # A dimension without a deserved amount counts as infinitely deserved.
        if allocated.less_equal(attr.deserved, INFINITY):
            return JudgedCandidate(attr, allocated, DESERVED)
        if queue_attr.short_of_guarantee(attr, allocated, task):
            return JudgedCandidate(attr, allocated, GUARANTEE)
        self._allocated[attr.name] = allocated.clone().sub(task.resreq)
        return JudgedCandidate(attr, allocated)


# Amounts of queues in a simulation: copied at PrePredicate, changed as tasks are added and removed.

STATE_KEY = "capacity"
NO_STATE = f'failed to get capacity state: error reading "{STATE_KEY}" from cycleState: not found'
NO_JOB = "[capacity] job {job} not found in session (orphaned task from deleted PodGroup)"
NO_QUEUE, NO_QUEUE_UNNAMED = "[capacity] queue {queue} not found", "queue {queue} not found"

SHARED_MEMORY_DEPTH = 7
"""From this depth on, a queue's ancestors may be overwritten later, so a copy stores them."""


class QueueStates(Struct, eq=False):
    """Simulated allocated amounts and devices per queue. Upstream: plugins/capacity.getCapacityState."""

    allocated: dict[QueueName, Resource]
    devices: dict[QueueName, DeviceQuota]
    _ancestors: dict[QueueName, tuple[QueueName, ...]]

    @classmethod
    def copy_states(cls, attrs: queue_attr.Attrs) -> QueueStates:
        """Copy the current amounts of the session's queues."""
        return cls(
            {name: attr.allocated for name, attr in attrs.items()},
            {name: attr.devices.clone() for name, attr in attrs.items() if attr.devices is not None},
            {name: tuple(a.ancestors) for name, a in attrs.items() if len(a.ancestors) >= SHARED_MEMORY_DEPTH},
        )

    def clone(self) -> QueueStates:
        """An independent copy. Upstream: plugins/capacity.Clone."""
        devices = {name: quota.clone() for name, quota in self.devices.items()}
        return QueueStates(dict(self.allocated), devices, self._ancestors)

    def ancestors_of(self, attrs: queue_attr.Attrs, name: QueueName) -> Iterable[QueueName]:
        """The queue's ancestors as of the copy."""
        return self._ancestors.get(name) or attrs[name].ancestors

    def add_task(self, queues: Iterable[QueueName], task: TaskInfo, demand: TaskDemand | None) -> None:
        """Add a task to the amounts of these queues."""
        for name in queues:
            self.allocated[name] = self.allocated[name].clone().add(task.resreq)
            if demand is not None and name in self.devices:
                self.devices[name].add_demand(demand)

    def remove_task(self, queues: Iterable[QueueName], task: TaskInfo, demand: TaskDemand | None) -> None:
        """Subtract a task from the amounts of these queues."""
        for name in queues:
            self.allocated[name] = self.allocated[name].clone().sub(task.resreq)
            if demand is not None and name in self.devices:
                self.devices[name].remove_demand(demand)


def simulated_queues(
    state: CycleState, jobs: Mapping[JobId, JobInfo], attrs: queue_attr.Attrs, task: TaskInfo, no_queue: str = NO_QUEUE
) -> tuple[QueueStates, list[QueueName], str | None]:
    """(the simulated amounts, the queues in which the task counts, an error or None)."""
    states = state.data.get(STATE_KEY)
    if not isinstance(states, QueueStates):
        return QueueStates.copy_states({}), [], NO_STATE
    job = jobs.get(task.job)
    if job is None:
        return states, [], NO_JOB.format(job=task.job)
    if job.queue not in states.allocated:
        return states, [], no_queue.format(queue=job.queue)
    return states, [job.queue, *states.ancestors_of(attrs, job.queue)], None
