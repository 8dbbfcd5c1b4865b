"""The proportional filter of predicates up to v1.12: keeps cpu and memory idle for accelerators.

Upstream: plugins/predicates (v1.12 and older).
"""

import numpy as np
from msgspec import Struct

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.session import Session
from vcdebug.kube.node_view import CycleState
from vcdebug.model.fit_errors import UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus
from vcdebug.model.names import IntArray
from vcdebug.model.node import NodeInfo
from vcdebug.model.pod import Pod
from vcdebug.model.resource import Resource
from vcdebug.plugins.predicates.filters import FilterVerdict

SWITCH_KEY = "predicate.ProportionalEnable"
RESOURCES_KEY = "predicate.resources"
CHECK_FAILED = "proportional of resource {} check failed"


class AcceleratorRate(Struct, frozen=True):
    """The cpu and memory that must stay idle per idle unit of an accelerator."""

    resource: str
    cpu: float
    memory: float


class KeptIdle(Struct, frozen=True):
    """An idle accelerator on a node, with (amount left, amount to keep) of cpu and of memory."""

    resource: str
    idle: float
    cpu: tuple[float, float]
    memory: tuple[float, float]

    @property
    def is_enough(self) -> bool:
        """Whether enough cpu and memory stay idle."""
        return self.cpu[0] >= self.cpu[1] and self.memory[0] >= self.memory[1]


def rates_of(arguments: Arguments) -> tuple[AcceleratorRate, ...] | None:
    """The proportions from the arguments; None if the filter is off."""
    if not arguments.get_bool(SWITCH_KEY, default=False):
        return None
    names_text = arguments.raw.get(RESOURCES_KEY)
    names = [name.strip() for name in names_text.split(",")] if isinstance(names_text, str) else []
    distinct = dict.fromkeys(name for name in names if name)
    return tuple(
        AcceleratorRate(name, _read_rate(arguments, name, "cpu"), _read_rate(arguments, name, "memory"))
        for name in distinct
    )


def _read_rate(arguments: Arguments, name: str, kind: str) -> float:
    rate = arguments.get_float64(f"{RESOURCES_KEY}.{name}.{kind}", 1.0)
    return rate if rate >= 0 else 1.0


class ProportionalFilter:
    """Rejects pods without accelerator that leave too little cpu and memory for the node's idle accelerators."""

    name = "Proportional"
    decides_every_node = False

    def __init__(self, ssn: Session, rates: tuple[AcceleratorRate, ...]) -> None:
        self._rates = rates
        self._nodes = [ssn.nodes[name] for name in ssn.node_table.names]
        self._requests = {task.uid: task.resreq for job in ssn.jobs.values() for task in job.tasks.values()}
        self._statuses = tuple(
            FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, CHECK_FAILED.format(rate.resource), SWITCH_KEY) for rate in rates
        )

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        """There is nothing to prepare; never skips."""
        return True

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> FilterVerdict:
        failing = [self._failing_position(pod, self._nodes[row]) for row in rows.tolist()]
        return FilterVerdict(self._statuses, np.array(failing, dtype=np.int64))

    def _failing_position(self, pod: Pod, node: NodeInfo) -> int:
        """The number (from 1) of the first accelerator that lacks cpu or memory; 0 if there is none."""
        # Upstream iterates over a map: if several accelerators fail, the first configured one is reported here.
        idle_amounts = self.kept_idle(pod, node)
        resource = next((amounts.resource for amounts in idle_amounts if not amounts.is_enough), None)
        return next((number for number, rate in enumerate(self._rates, 1) if rate.resource == resource), 0)

    def kept_idle(self, pod: Pod, node: NodeInfo) -> list[KeptIdle]:
        """The figures that are compared on a node; empty for a pod that requests an accelerator."""
        request, idle = self._requests.get(pod.uid, Resource()), node.idle
        if any(request.get(rate.resource) > 0 for rate in self._rates):
            return []
        amounts = [(rate, idle.get(rate.resource)) for rate in self._rates if idle.has_dimension(rate.resource)]
        return [
            KeptIdle(
                rate.resource,
                value,
                (idle.milli_cpu - request.milli_cpu, value * rate.cpu),
                (idle.memory - request.memory, value * rate.memory * 1000.0 * 1000.0),
            )
            for rate, value in amounts
        ]
