"""usage up to v1.15: keep away from nodes that were busy when they were measured.

Upstream: plugins/usage (v1.15 and older).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.plugin_answers import NodeScores
from vcdebug.framework.session import Plugin, Session
from vcdebug.gotime import unix_nanoseconds
from vcdebug.model.names import BoolArray, Codes
from vcdebug.model.node_table import NodeRows
from vcdebug.model.resource import CPU, MEMORY
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.usage import MAX_SCORE, NodeLoad, ResourceLoad, exceeded_codes, unmeasured_problems
from vcdebug.plugins.usage.load import MEASURED_PERIOD, NodeMeasurements

DEFAULT_THRESHOLD = 80.0


class MeasuredUsage(Plugin):
    """Scores nodes by their measured load; negative weights and thresholds beyond 100 are taken as they are."""

    name: ClassVar[str] = "usage"

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._weight = arguments.get_int("usage.weight", 5)
        self._cpu_weight = arguments.get_int("cpu.weight", 1)
        self._memory_weight = arguments.get_int("memory.weight", 1)
        self._cpu_threshold = _read_threshold(arguments, "cpu")
        self._memory_threshold = _read_threshold(arguments, "mem")

    def on_session_open(self, ssn: Session) -> None:
        ssn.log("usage.enter")
        usage, table = ssn.snapshot.usage, ssn.node_table
        self._measured = NodeMeasurements(usage, table, unix_nanoseconds(ssn.snapshot.now))
        self._scored: BoolArray = np.array(
            [all(_has_period(usage.get(name), kind) for kind in ("cpu", "mem")) for name in table.names], dtype=np.bool_
        )
        self._scored &= self._measured.fresh
        self._codes = exceeded_codes(self._measured, *self.load_thresholds, ssn.reasons)
        self.problems = unmeasured_problems(usage, table.names)
        ssn.log("usage.measured", {}, {})
        ssn.log("usage.leave")

    def predicate(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        codes: Codes = self._codes[nodes.rows]
        return codes

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Two weights that cancel out lose the node: its score is no number, or infinite."""
        cpu, memory = self._measured.cpu[nodes.rows], self._measured.memory[nodes.rows]
        free = (100.0 - cpu) / 100.0 * float(self._cpu_weight) + (100.0 - memory) / 100.0 * float(self._memory_weight)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = free / np.float64(self._cpu_weight + self._memory_weight) * float(MAX_SCORE * self._weight)
        return NodeScores(np.where(self._scored[nodes.rows], score, 0.0))

    @property
    def node_measurements(self) -> NodeMeasurements:
        """What was measured, node by node."""
        return self._measured

    @property
    def load_thresholds(self) -> tuple[float, float]:
        """Percentages of cpu and memory beyond which a node is refused."""
        return self._cpu_threshold, self._memory_threshold

    def node_load(self, task: TaskInfo, nodes: NodeRows) -> NodeLoad:
        """What the score and the verdict of one node are made of."""
        row = int(nodes.rows[0])
        cpu, memory = float(self._measured.cpu[row]), float(self._measured.memory[row])
        busy = (
            ResourceLoad(CPU, cpu, 0.0, cpu / 100.0, self._cpu_weight, self._cpu_threshold),
            ResourceLoad(MEMORY, memory, 0.0, memory / 100.0, self._memory_weight, self._memory_threshold),
        )
        score = float(self.node_order(task, nodes).total[0])
        return NodeLoad(busy, bool(self._measured.fresh[row]), self._weight, score)


def _read_threshold(arguments: Arguments, key: str) -> float:
    """A whole number as it stands; whatever else is stated counts as 0."""
    section = arguments.raw.get("thresholds")
    if not isinstance(section, Mapping) or key not in section:
        return DEFAULT_THRESHOLD
    stated = section[key]
    return float(stated) if isinstance(stated, int) and not isinstance(stated, bool) else 0.0


def _has_period(entry: object, kind: str) -> bool:
    by_period = entry.get(kind) if isinstance(entry, Mapping) else None
    return isinstance(by_period, Mapping) and MEASURED_PERIOD in by_period
