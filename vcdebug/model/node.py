"""NodeInfo: a node's amounts and the tasks on it. Upstream: api/node_info."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from vcdebug.grouping import split_names
from vcdebug.model.devices import DeviceLedger
from vcdebug.model.names import Row, TaskKey
from vcdebug.model.pod_resources import StatedAmounts
from vcdebug.model.resource import MIN_RESOURCE, Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.snapshot.cycle_inputs import ASCENDING, MapOrder
from vcdebug.snapshot.manifest import REVOCABLE_ZONE_KEY, JsonObject, metadata_of, spec_of, status_of
from vcdebug.snapshot.settings import parse_bool

OVERSUBSCRIPTION_LABEL = "volcano.sh/oversubscription"
OFFLINE_EVICTING_KEY = "volcano.sh/offline-job-evicting"
OVERSUBSCRIPTION_CPU = "volcano.sh/oversubscription-cpu"
OVERSUBSCRIPTION_MEMORY = "volcano.sh/oversubscription-memory"
_NO_SCALARS: Mapping[str, float] = {}
STATUSES_WITHOUT_DEVICES = (TaskStatus.RELEASING, TaskStatus.PIPELINED)
"""Statuses of tasks that hold no cards."""
_USED_STATUSES = (TaskStatus.RUNNING, TaskStatus.RELEASING)


class AmountsTable(Protocol):
    """The part of model/node_table.NodeTable that a node uses."""

    changes: list[Row]

    def mark_changed(self, row: Row) -> None:
        """Note that a node's amounts changed."""


class NodeInfo:
    """A node. `tasks` holds clones by `namespace/name`; amounts change only through add_task, remove_task and
    update_task, which report the change to the table of nodes.
    """

    __slots__ = split_names(
        "_in_order _order allocatable annotations capability devices holds_none idle labels last_amounts manifest name "
        "offline_job_evicting ordering oversubscription_node pipelined releasing row spec subject table tasks used"
    )

    def __init__(
        self, manifest: JsonObject, ordering: MapOrder = ASCENDING, amounts: StatedAmounts | None = None
    ) -> None:
        """`amounts`: a cache of amounts that all nodes share."""
        metadata, status, amounts = metadata_of(manifest), status_of(manifest), amounts or StatedAmounts()
        self.manifest = manifest
        self.spec: JsonObject = spec_of(manifest)
        self.name: str = metadata.get("name", "")
        self.subject = (("node", self.name),)
        """How a record names the node; one tuple for all records."""
        self.labels: Mapping[str, str] = metadata.get("labels") or {}
        self.annotations: Mapping[str, str] = metadata.get("annotations") or {}
        self.oversubscription_node = parse_bool(self.labels.get(OVERSUBSCRIPTION_LABEL, "")) is True
        self.offline_job_evicting = parse_bool(self.annotations.get(OFFLINE_EVICTING_KEY, "")) is True
        self.allocatable = amounts.amounts_of(status.get("allocatable"))
        """Shared with other nodes that state the same, as is the capability: replace it, never change it."""
        self.capability = amounts.amounts_of(status.get("capacity"))
        if self.annotations:
            self._add_oversubscription(oversubscribed_amounts(self.annotations))
        self.idle = self.allocatable.clone()
        self.used = Resource()
        self.releasing = Resource()
        self.pipelined = Resource()
        self.tasks: dict[TaskKey, TaskInfo] = {}
        self.devices: dict[str, DeviceLedger] = {}
        """Ledgers of shared devices by device name."""
        self.holds_none: tuple[TaskStatus, ...] = STATUSES_WITHOUT_DEVICES
        self.last_amounts: NodeAmounts | None = None
        """The amounts that were last copied for a record; unchanged ones are shared with the next copy."""
        self.ordering = ordering
        self._order: list[TaskKey] | None = None
        """Keys of `tasks` in the cycle's order; None after a task was added or removed."""
        self._in_order: list[TaskInfo] | None = None
        """The tasks in that order; None after any change."""
        self.row: Row = -1
        self.table: AmountsTable | None = None

    @property
    def is_unschedulable(self) -> bool:
        """spec.unschedulable: cordoned."""
        return bool(self.spec.get("unschedulable"))

    @property
    def taints(self) -> list[JsonObject]:
        """spec.taints of the manifest, unparsed."""
        return self.spec.get("taints") or []

    @property
    def revocable_zone(self) -> str:
        """The label `volcano.sh/revocable-zone`. Upstream: api/node_info.setRevocableZone."""
        return self.labels.get(REVOCABLE_ZONE_KEY, "")

    def add_csi_limits(self, limits: Mapping[str, float]) -> None:
        """Attachable volumes per CSI driver, before any task is added."""
        if limits:
            self.allocatable, self.capability = self.allocatable.clone(), self.capability.clone()
        for name, count in limits.items():
            for resource in (self.allocatable, self.capability, self.idle):
                resource.set_scalar(name, count)

    def _add_oversubscription(self, extra: Resource) -> None:
        if extra.milli_cpu or extra.memory:
            self.allocatable = self.allocatable.clone().add(extra)
            self.capability = self.capability.clone().add(extra)

    def future_idle(self) -> Resource:
        """Idle + Releasing - Pipelined, possibly negative. Upstream: api/node_info.FutureIdle."""
        return self.idle.clone().add(self.releasing).sub_without_assert(self.pipelined)

    def fits_future_idle(self, request: Resource, removed: Iterable[TaskInfo] = ()) -> bool:
        """Whether FutureIdle holds a request after these tasks were removed; adds only the requested dimensions."""
        idle, releasing, pipelined = self.idle, self.releasing, self.pipelined
        milli_cpu = idle.milli_cpu + releasing.milli_cpu - pipelined.milli_cpu
        memory = idle.memory + releasing.memory - pipelined.memory
        for task in removed:
            milli_cpu += task.resreq.milli_cpu
            memory += task.resreq.memory
        if not (milli_cpu - request.milli_cpu > -MIN_RESOURCE and memory - request.memory > -MIN_RESOURCE):
            return False
        return not request.scalars or self._fits_future_scalars(request.scalars, removed)

    def _fits_future_scalars(self, scalars: Mapping[str, float], removed: Iterable[TaskInfo]) -> bool:
        """The scalar part of fits_future_idle; like Resource.sub_without_assert it subtracts nothing from a nil map."""
        idle, releasing = self.idle.scalars or _NO_SCALARS, self.releasing.scalars or _NO_SCALARS
        mapped = self.idle.scalars is not None or bool(releasing)
        pipelined = (self.pipelined.scalars or _NO_SCALARS) if mapped else _NO_SCALARS
        for name, amount in scalars.items():
            future = idle.get(name, 0.0) + releasing.get(name, 0.0) - pipelined.get(name, 0.0)
            for task in removed:
                future += (task.resreq.scalars or _NO_SCALARS).get(name, 0.0)
            if not future - amount > -MIN_RESOURCE:
                return False
        return True

    def tasks_in_order(self) -> list[TaskInfo]:
        """The stored tasks by `namespace/name`, in the cycle's order; do not change the list."""
        in_order = self._in_order
        if in_order is None:
            tasks, order = self.tasks, self._order
            if order is None:
                order = self._order = self.ordering.order_keys(tasks)
            in_order = self._in_order = [tasks[key] for key in order]
        return in_order

    def add_task(self, task: TaskInfo) -> str | None:
        """Place a task, or return upstream's error text without a change. Upstream: api/node_info.AddTask."""
        if task.node_name and self.name and task.node_name != self.name:
            return f"task <{task.namespace}/{task.name}> already on different node <{task.node_name}>"
        if task.key in self.tasks:
            return f"task <{task.namespace}/{task.name}> already on node <{self.name}>"
        error = self._binding_error(task) if task.status is TaskStatus.BINDING else None
        if error:
            return error
        copy = task.clone()
        self._allocate_idle_resource(task.status, task.resreq)
        if self.devices and task.status not in self.holds_none:
            for ledger in self.devices.values():
                ledger.add_resource(task.pod)
        task.node_name = copy.node_name = self.name
        self.tasks[task.key] = copy
        self._order = self._in_order = None
        self._report_change()
        return None

    def add_initial_tasks(self, tasks: Sequence[TaskInfo], *, shared: bool = False) -> None:
        """Same as add_task for each task, for a node without tasks. All tasks name this node; none is Binding.

        `shared`: actions change only copies of these tasks, so that the node holds the objects themselves.
        """
        for task in tasks:
            if task.key not in self.tasks:
                self.tasks[task.key] = task if shared else task.clone()
        pipelined = [task.resreq for task in self.tasks.values() if task.status is TaskStatus.PIPELINED]
        releasing = [task.resreq for task in self.tasks.values() if task.status is TaskStatus.RELEASING]
        placed = [task.resreq for task in self.tasks.values() if task.status is not TaskStatus.PIPELINED]
        self.used.add_all(placed)
        # One subtraction of the sum equals one per task only while every number is a whole one that floats hold
        # exactly; otherwise each subtraction rounds on its own, and decisions hang on the last digit.
        is_whole = self.idle.milli_cpu.is_integer() and self.idle.memory.is_integer()
        for request in (self.used,) if is_whole and self.idle.sums_exactly() and self.used.sums_exactly() else placed:
            self.idle.sub_without_assert(request)
        self.releasing.add_all(releasing)
        self.pipelined.add_all(pipelined)

    def _binding_error(self, task: TaskInfo) -> str | None:
        fits, names = task.resreq.less_equal_with_resources_name(self.idle)
        return None if fits else binding_error(self.name, task, names, self.idle)

    def _allocate_idle_resource(self, status: TaskStatus, request: Resource) -> None:
        """Upstream: api/node_info.allocateIdleResource."""
        if status is TaskStatus.PIPELINED:
            self.pipelined.add(request)
            return
        self.idle.sub_without_assert(request)
        self.used.add(request)
        if status is TaskStatus.RELEASING:
            self.releasing.add(request)

    def remove_task(self, task: TaskInfo) -> None:
        """Remove a task, if known, by the stored copy's status, not the passed. Upstream: api/node_info.RemoveTask."""
        stored = self.tasks.pop(task.key, None)
        if stored is None:
            return
        self._order = self._in_order = None
        request = stored.resreq
        if self.devices and stored.status not in self.holds_none:
            for ledger in self.devices.values():
                ledger.sub_resource(task.pod)
        if stored.status is TaskStatus.PIPELINED:
            self.pipelined.sub(request)
        else:
            if stored.status is TaskStatus.RELEASING:
                self.releasing.sub(request)
            self.idle.add(request)
            self.used.sub(request)
        self._report_change()

    def update_task(self, task: TaskInfo) -> str | None:
        """Replace the stored copy, so that amounts follow its status. Upstream: api/node_info.UpdateTask."""
        stored, order = self.tasks.get(task.key), self._order
        if (
            stored is not None
            and stored.resreq is task.resreq
            and self._counts_as_used(stored)
            and self._counts_as_used(task)
        ):
            self._replace_task(stored, task)
        else:
            self.remove_task(task)
            error = self.add_task(task)
            if error is not None:
                return error
        # The set of keys is the same as before: their order need not be made again.
        self._order = None if stored is None else order
        return None

    def _counts_as_used(self, task: TaskInfo) -> bool:
        """Whether the task's request counts as used on this node, and no device ledger charges it."""
        return task.status in _USED_STATUSES and task.node_name == self.name and not self.devices

    def _replace_task(self, stored: TaskInfo, task: TaskInfo) -> None:
        """Remove and add a task in one step, for tasks that differ only in their status."""
        del self.tasks[task.key]
        self._order = self._in_order = None
        request = stored.resreq
        if stored.status is TaskStatus.RELEASING:
            self.releasing.sub(request)
        # idle + request - request need not be idle again: both operations round, as upstream's do.
        self.idle.add(request)
        self.used.sub_then_add(request)
        self.idle.sub_without_assert(request)
        if task.status is TaskStatus.RELEASING:
            self.releasing.add(request)
        self.tasks[task.key] = task.clone()
        self._report_change()

    def _report_change(self) -> None:
        if self.table is not None:
            self.table.mark_changed(self.row)

    def clone(self) -> NodeInfo:
        """An independent copy that belongs to no table. Upstream: api/node_info.Clone."""
        copy = NodeInfo.__new__(NodeInfo)
        copy.ordering = self.ordering
        for slot in ("manifest", "spec", "name", "subject", "labels", "annotations", "oversubscription_node"):
            setattr(copy, slot, getattr(self, slot))
        copy.offline_job_evicting = self.offline_job_evicting
        copy.allocatable, copy.capability = self.allocatable, self.capability
        copy.idle, copy.used = self.allocatable.clone(), Resource()
        copy.releasing, copy.pipelined = Resource(), Resource()
        copy.tasks, copy.row, copy.table = {}, self.row, None
        copy.devices, copy.holds_none = {}, self.holds_none
        copy.last_amounts = copy._order = copy._in_order = None
        # Upstream adds the tasks again one by one, so that amounts may round differently from the original's.
        for task in self.tasks_in_order():
            copy.add_task(task)
        copy.devices = {name: ledger.clone() for name, ledger in self.devices.items()}
        return copy

    def __repr__(self) -> str:
        return f"NodeInfo({self.name}: idle {self.idle})"


def binding_error(node: str, task: TaskInfo, names: list[str], idle: Resource) -> str:
    """Upstream's error for a Binding task that the node's idle amounts do not hold."""
    return (
        f"node {node} resources [{' '.join(names)}] are not enough to put task <{task.namespace}/{task.name}>, "
        f"idle: {idle}, req: {task.resreq}"
    )


def oversubscribed_amounts(annotations: Mapping[str, str]) -> Resource:
    """Added whether or not the oversubscription label is set. Upstream: api/node_info.setOversubscription."""
    cpu, memory = annotations.get(OVERSUBSCRIPTION_CPU), annotations.get(OVERSUBSCRIPTION_MEMORY)
    return Resource(_parse_float(cpu), _parse_float(memory))


def _parse_float(text: str | None) -> float:
    try:
        return float(text) if text else 0.0
    except ValueError:
        return 0.0


# Amounts that did not change since the last copy are shared.

_NO_RESOURCE = Resource()


class NodeAmounts(NamedTuple):
    """An immutable copy of a node's variable amounts."""

    idle: Resource
    used: Resource
    releasing: Resource
    pipelined: Resource

    @classmethod
    def of_node(cls, node: NodeInfo) -> NodeAmounts:
        """The node's current amounts."""
        last = node.last_amounts
        if last is None:
            releasing, pipelined = node.releasing.copy_unless(_NO_RESOURCE), node.pipelined.copy_unless(_NO_RESOURCE)
            amounts = cls(node.idle.clone(), node.used.clone(), releasing, pipelined)
        else:
            amounts = cls(
                node.idle.copy_unless(last.idle),
                node.used.copy_unless(last.used),
                node.releasing.copy_unless(last.releasing),
                node.pipelined.copy_unless(last.pipelined),
            )
            if amounts[0] is last[0] and amounts[1] is last[1] and amounts[2] is last[2] and amounts[3] is last[3]:
                return last
        node.last_amounts = amounts
        return amounts

    def future_idle(self) -> Resource:
        """Idle + Releasing - Pipelined."""
        return self.idle.clone().add(self.releasing).sub_without_assert(self.pipelined)

    def future_without(self, removed: Iterable[TaskInfo]) -> Resource:
        """FutureIdle after these tasks were removed."""
        return self.future_idle().add_all(task.resreq for task in removed)
