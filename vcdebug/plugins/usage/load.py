"""A node's load: measured, plus estimates for unmeasured pods. Upstream: plugins/usage (ShadowLoadCache, estimator)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vcdebug.gotime import MINUTE, parse_nanoseconds
from vcdebug.model.names import BoolArray, FloatArray, IntArray, NodeName, Row, TaskId
from vcdebug.model.node_table import NodeTable
from vcdebug.model.resource import CPU, MEMORY
from vcdebug.snapshot.manifest import JsonObject

MEASURED_PERIOD = "10m"
"""The only period that upstream reads."""
FRESH_FOR = 5 * MINUTE


class PodEstimate(NamedTuple):
    """A pod's estimated use, made when the pod was placed."""

    row: Row
    cpu: float
    memory: float


class NodeMeasurements:
    """The snapshot's measurements as columns of the node table; a node without any has 0 and is not fresh."""

    def __init__(self, usage: JsonObject, table: NodeTable, now: int) -> None:
        self.cpu: FloatArray = np.array(
            [_measured_percent(usage, name, "cpu") for name in table.names], dtype=np.float64
        )
        self.memory: FloatArray = np.array(
            [_measured_percent(usage, name, "mem") for name in table.names], dtype=np.float64
        )
        self.recent_mask: BoolArray = np.array([_is_fresh(usage, name, now) for name in table.names], dtype=np.bool_)

    def measured_percents(self, row: Row) -> tuple[float, float]:
        """(cpu, memory) of one node in percent."""
        return float(self.cpu[row]), float(self.memory[row])


class EstimatedLoad:
    """The load of each node: measurements plus estimates."""

    def __init__(self, measured: NodeMeasurements, table: NodeTable) -> None:
        self._cpu_percent = measured.cpu
        self._memory_percent = measured.memory
        self._cpu_capacity = table.dimension_column("capability", CPU)
        self._memory_capacity = table.dimension_column("capability", MEMORY)
        self._cpu: FloatArray = np.zeros(len(table))
        self._memory: FloatArray = np.zeros(len(table))
        self._estimate_by_task: dict[TaskId, PodEstimate] = {}

    def of_rows(self, rows: IntArray) -> tuple[FloatArray, FloatArray]:
        """(cpu, memory) per row as fractions of the capacity, from 0 to 1."""
        cpu = _load_fraction(self._cpu_percent[rows], self._cpu[rows], self._cpu_capacity[rows])
        return cpu, _load_fraction(self._memory_percent[rows], self._memory[rows], self._memory_capacity[rows])

    def of_row(self, row: Row) -> tuple[float, float]:
        """(cpu, memory) of one node as fractions of the capacity, from 0 to 1."""
        cpu, memory = self.of_rows(np.array([row], dtype=np.int64))
        return float(cpu[0]), float(memory[0])

    def add_estimate(self, uid: TaskId, estimate: PodEstimate) -> None:
        """Add a pod's estimate, replacing an earlier one. Upstream: plugins/usage/shadow_cache.AddEstimate."""
        self.remove_estimate(uid)
        self._cpu[estimate.row] += estimate.cpu
        self._memory[estimate.row] += estimate.memory
        self._estimate_by_task[uid] = estimate

    def remove_estimate(self, uid: TaskId) -> None:
        """Subtract a known pod's estimate, down to 0. Upstream: plugins/usage/shadow_cache.SubEstimateBySnapshot."""
        estimate = self._estimate_by_task.pop(uid, None)
        if estimate is None:
            return
        row = estimate.row
        self._cpu[row] = max(self._cpu[row] - estimate.cpu, 0.0)
        self._memory[row] = max(self._memory[row] - estimate.memory, 0.0)

    def estimates_by_name(self, names: Sequence[NodeName]) -> tuple[dict[NodeName, float], dict[NodeName, float]]:
        """(cpu by node, memory by node) of the nodes with estimates."""
        rows = sorted(dict.fromkeys(estimate.row for estimate in self._estimate_by_task.values()))
        return {names[row]: float(self._cpu[row]) for row in rows}, {
            names[row]: float(self._memory[row]) for row in rows
        }

    def node_estimate(self, row: Row) -> tuple[float, float]:
        """(milli-cores, bytes) estimated on a node. Upstream: plugins/usage/shadow_cache.GetNodeEst."""
        return float(self._cpu[row]), float(self._memory[row])


def _load_fraction(percent: FloatArray, estimated: FloatArray, capacity: FloatArray) -> FloatArray:
    safe = np.where(capacity > 0, capacity, 1.0)
    fraction = (percent / 100.0 * capacity + estimated) / safe
    return np.where(capacity > 0, np.clip(fraction, 0.0, 1.0), 0.0)


def _usage_entry(usage: JsonObject, node: str) -> JsonObject:
    entry: JsonObject = usage.get(node) or {}
    return entry


def _measured_percent(usage: JsonObject, node: str, kind: str) -> float:
    by_period = _usage_entry(usage, node).get(kind)
    return float(by_period.get(MEASURED_PERIOD, 0.0)) if isinstance(by_period, Mapping) else 0.0


def _is_fresh(usage: JsonObject, node: str, now: int) -> bool:
    """Whether the node was measured at most five minutes ago; False for a missing or invalid time."""
    time = _usage_entry(usage, node).get("time")
    if not isinstance(time, str) or not time:
        return False
    try:
        return now - parse_nanoseconds(time) <= FRESH_FOR
    except ValueError:
        return False
