"""usage: avoids nodes with a high measured load, and adds estimates for pods that are not measured yet.

Upstream: plugins/usage.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from vcdebug.amount_text import join_names
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.plugin_answers import NodeScores, zero_scores
from vcdebug.framework.session import Event, Plugin, Session
from vcdebug.gotime import SECOND, parse_duration, parse_nanoseconds, unix_nanoseconds
from vcdebug.model.fit_errors import UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus, ReasonTable
from vcdebug.model.names import BoolArray, Codes, NodeName, Row, TaskId
from vcdebug.model.node_table import NodeRows
from vcdebug.model.pod_resources import get_pod_resource_limit
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins.usage.load import MEASURED_PERIOD, EstimatedLoad, NodeMeasurements, PodEstimate
from vcdebug.snapshot.gathered_objects import USAGE_FILE
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.quantity import QuantityError, milli_value, whole_value
from vcdebug.snapshot.snapshot import SchedulerFlags

MAX_SCORE = 100
CPU_EXCEEDED = "the CPU load of the node exceeds the upper limit."
MEMORY_EXCEEDED = "the memory load of the node exceeds the upper limit."
PLACED_STATUSES = (TaskStatus.ALLOCATED, TaskStatus.BINDING, TaskStatus.BOUND)


class ResourceLoad(NamedTuple):
    """One resource of a node's load."""

    name: str
    percent: float
    """The measured load in percent."""
    estimated: float
    """The estimated use of pods without measurements, in milli-cores or bytes."""
    load: float
    """Measured plus estimated load, as a fraction of the capacity."""
    weight: int
    threshold: float
    """The percentage above which the node is rejected."""


class NodeLoad(NamedTuple):
    """The figures behind a node's score and verdict."""

    loads: tuple[ResourceLoad, ...]
    is_recent: bool
    """Whether the measurement is recent enough."""
    weight: int
    score: float


class Usage(Plugin):
    """Rejects nodes above a load threshold, and scores the others by their free capacity."""

    name: ClassVar[str] = "usage"

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.settings = UsageSettings(arguments)
        """The settings from the plugin's arguments."""

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/usage.OnSessionOpen."""
        ssn.log("usage.settings")
        ssn.log("usage.enter")
        usage, table = ssn.snapshot.usage, ssn.node_table
        self._flags: SchedulerFlags = ssn.flags
        self._limits: dict[TaskId, Resource] = {}
        self._row_of: dict[NodeName, Row] = table.row_of
        now = unix_nanoseconds(ssn.snapshot.now)
        self.measured = NodeMeasurements(usage, table, now)
        """The measurements, node by node."""
        self.load = EstimatedLoad(self.measured, table)
        self._codes = exceeded_codes(self.measured, *self.load_thresholds, ssn.reasons)
        self.problems = unmeasured_problems(usage, table.names)
        interval = metrics_interval(ssn.conf.metrics)
        for node in ssn.nodes.values():
            for task in node.tasks_in_order():
                if _not_yet_measured(task, now, interval):
                    self._count_estimate(task, node.row)
        ssn.log("usage.measured", *self.load.estimates_by_name(table.names))
        ssn.log("usage.leave")

    # Hooks

    def predicate(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        """Upstream: plugins/usage.predicateFn."""
        codes: Codes = self._codes[nodes.rows]
        return codes

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Upstream: plugins/usage.nodeOrderFn."""
        settings = self.settings
        weights = settings.cpu_weight + settings.memory_weight
        if weights == 0:
            return zero_scores(len(nodes))
        cpu, memory = self.load.of_rows(nodes.rows)
        free = (1.0 - cpu) * float(settings.cpu_weight) + (1.0 - memory) * float(settings.memory_weight)
        score = free / float(weights) * float(MAX_SCORE) * float(settings.weight)
        return NodeScores(np.where(self.measured.recent_mask[nodes.rows], score, 0.0))

    def node_load(self, task: TaskInfo, nodes: NodeRows) -> NodeLoad:
        """The figures behind the score and verdict of one node."""
        settings, row = self.settings, int(nodes.rows[0])
        measured, estimated, load = self.measured, self.load.node_estimate(row), self.load.of_row(row)
        of_cpu = (settings.cpu_weight, settings.cpu_threshold)
        of_memory = (settings.memory_weight, settings.memory_threshold)
        cpu = ResourceLoad(CPU, float(measured.cpu[row]), estimated[0], load[0], *of_cpu)
        memory = ResourceLoad(MEMORY, float(measured.memory[row]), estimated[1], load[1], *of_memory)
        score = float(self.node_order(task, nodes).total[0])
        return NodeLoad((cpu, memory), bool(measured.recent_mask[row]), settings.weight, score)

    @property
    def load_thresholds(self) -> tuple[float, float]:
        """Percentages of cpu and memory beyond which a node is refused."""
        return self.settings.cpu_threshold, self.settings.memory_threshold

    # Estimates

    def allocate_func(self, event: Event) -> None:
        """Add an estimate for the pod, even if it was measured before. Upstream: plugins/usage.handleAllocate."""
        row = self._row_of.get(event.task.node_name)
        if row is not None:
            self._count_estimate(event.task, row)

    def deallocate_func(self, event: Event) -> None:
        """Upstream: plugins/usage.handleDeallocate."""
        self.load.remove_estimate(event.task.uid)

    def _count_estimate(self, task: TaskInfo, row: Row) -> None:
        cpu, memory = self._estimate_pod(task, self._risk_factor(row))
        self.load.add_estimate(task.uid, PodEstimate(row, cpu, memory))

    def _risk_factor(self, row: Row) -> float:
        """The factor for estimates on a node, by its load. Upstream: plugins/usage/estimator.CalcAppliedRiskFactor."""
        settings = self.settings
        weights = settings.cpu_weight + settings.memory_weight
        cpu, memory = self.load.of_row(row)
        busy = cpu * float(settings.cpu_weight) + memory * float(settings.memory_weight)
        load = busy / float(weights) if weights else 0.0
        return settings.risk_factor if load >= settings.risk_threshold else 1.0

    def _estimate_pod(self, task: TaskInfo, risk: float) -> tuple[float, float]:
        """Upstream: plugins/usage/estimator.EstimatePodResource."""
        if task.best_effort:
            return self.settings.best_effort_cpu * risk, self.settings.best_effort_memory * risk
        limit = self._limits.get(task.uid)
        if limit is None:
            limit = self._limits[task.uid] = get_pod_resource_limit(task.pod, self._flags)
        request = task.resreq
        cpu = self._estimate_resource(request.milli_cpu, limit.milli_cpu, risk)
        return cpu, self._estimate_resource(request.memory, limit.memory, risk)

    def _estimate_resource(self, request: float, limit: float, risk: float) -> float:
        """A ratio of the request, plus a ratio of what the limit allows above it; at most the limit."""
        highest = request if limit <= 0 or limit < request else limit
        settings = self.settings
        estimate = (request * settings.request_ratio + (highest - request) * settings.burst_ratio) * risk
        return min(max(estimate, 0.0), highest)


def _not_yet_measured(task: TaskInfo, now: int, interval: int) -> bool:
    """Whether the pod is placed but not measured yet. Upstream: plugins/usage.shouldAddToShadowCache."""
    if not task.node_name:
        return False
    if task.status is TaskStatus.RUNNING:
        started = task.pod.status.get("startTime")
        return not started or now - parse_nanoseconds(started) < interval
    return task.status in PLACED_STATUSES


def _is_measured(entry: object) -> bool:
    return isinstance(entry, dict) and bool(entry.get("time")) and bool(entry.get("cpu") or entry.get("mem"))


def exceeded_codes(measured: NodeMeasurements, cpu: float, memory: float, reasons: ReasonTable) -> Codes:
    """The code of each node; thresholds are compared with measurements only, which stay the same."""
    codes: Codes = np.zeros(len(measured.recent_mask), dtype=np.uint16)
    for exceeded, reason in ((measured.memory > memory, MEMORY_EXCEEDED), (measured.cpu > cpu, CPU_EXCEEDED)):
        if (exceeded & measured.recent_mask).any():
            status = FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, reason, Usage.name)
            codes[exceeded & measured.recent_mask] = reasons.code_of((status,))
    return codes


def unmeasured_problems(usage: Mapping[str, object], names: Iterable[NodeName]) -> tuple[Problem, ...]:
    """A Problem that names nodes without measurements; none if all have them."""
    unmeasured = [name for name in names if not _is_measured(usage.get(name))]
    if not unmeasured:
        return ()
    where = f"{'Node' if len(unmeasured) == 1 else 'Nodes'} {join_names(unmeasured, MAX_NAMES)}"
    what = f"no measurement for the period {MEASURED_PERIOD}"
    effect = f"usage accepts {'the node and scores it' if len(unmeasured) == 1 else 'these nodes and scores them'} 0"
    return (Problem(USAGE_FILE, where, "", what, effect),)


MAX_NAMES = 3
"""Nodes that a problem names."""


# The arguments: weights, load thresholds, and parameters of the estimates for unmeasured pods.

DEFAULT_INTERVAL = 30 * SECOND
BYTES_PER_MEBI = 1024 * 1024


class UsageSettings:
    """The plugin's arguments; values out of range are replaced by the default."""

    def __init__(self, arguments: Arguments) -> None:
        self.weight = _not_negative(arguments, "usage.weight", 5)
        self.cpu_weight = _not_negative(arguments, "cpu.weight", 1)
        self.memory_weight = _not_negative(arguments, "memory.weight", 1)
        thresholds = arguments.get_section("thresholds")
        self.cpu_threshold = _read_percent(thresholds, "cpu")
        self.memory_threshold = _read_percent(thresholds, "mem")
        estimator = arguments.get_section("estimator")
        self.request_ratio = _read_ratio(estimator, "request_ratio", 0.7)
        self.burst_ratio = _read_ratio(estimator, "burst_ratio", 0.0)
        self.risk_threshold = _read_ratio(estimator, "risk_threshold", 0.6)
        factor = estimator.get_float64("risk_factor", 1.2)
        self.risk_factor = factor if factor >= 1 else 1.2
        self.best_effort_cpu = _read_amount(estimator.raw.get("be_cpu"), milli_value, 1, 250.0)
        self.best_effort_memory = _read_amount(
            estimator.raw.get("be_mem"), whole_value, BYTES_PER_MEBI, 200.0 * BYTES_PER_MEBI
        )


def metrics_interval(metrics: Mapping[str, str]) -> int:
    """The time in nanoseconds for which a started pod counts as not measured."""
    interval = parse_duration(metrics.get("interval", ""))
    return interval if interval is not None and interval > 0 else DEFAULT_INTERVAL


def _not_negative(arguments: Arguments, key: str, default: int) -> int:
    weight = arguments.get_int(key, default)
    return weight if weight >= 0 else default


def _read_percent(arguments: Arguments, key: str) -> float:
    threshold = arguments.get_int(key, 80)
    return float(threshold) if 0 <= threshold <= 100 else 80.0


def _read_ratio(arguments: Arguments, key: str, default: float) -> float:
    ratio = arguments.get_float64(key, default)
    return ratio if 0 <= ratio <= 1 else default


def _read_amount(value: object, read: Callable[[object], int], unit: int, default: float) -> float:
    """An amount given as a number of units or as a quantity; the default if it is invalid."""
    if isinstance(value, int) and not isinstance(value, bool):
        return float(value) * unit if value >= 0 else default
    if not isinstance(value, str):
        return default
    try:
        amount = read(value)
    except QuantityError:
        return default
    return float(amount) if amount >= 0 else default


# usage up to v1.15: avoids nodes by their measured load only.

DEFAULT_THRESHOLD = 80.0


class MeasuredUsage(Plugin):
    """Scores nodes by measured load; negative weights and thresholds above 100 are used as they are."""

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
        self.measured = NodeMeasurements(usage, table, unix_nanoseconds(ssn.snapshot.now))
        """The measurements, node by node."""
        self._scored: BoolArray = np.array(
            [all(_has_period(usage.get(name), kind) for kind in ("cpu", "mem")) for name in table.names], dtype=np.bool_
        )
        self._scored &= self.measured.recent_mask
        self._codes = exceeded_codes(self.measured, *self.load_thresholds, ssn.reasons)
        self.problems = unmeasured_problems(usage, table.names)
        ssn.log("usage.measured", {}, {})
        ssn.log("usage.leave")

    def predicate(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        codes: Codes = self._codes[nodes.rows]
        return codes

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """The weighted mean of the free fractions of cpu and memory."""
        cpu, memory = self.measured.cpu[nodes.rows], self.measured.memory[nodes.rows]
        free = (100.0 - cpu) / 100.0 * float(self._cpu_weight) + (100.0 - memory) / 100.0 * float(self._memory_weight)
        # Weights that add up to 0 divide by 0, as in Go: the score is NaN or infinite, without an error.
        with np.errstate(divide="ignore", invalid="ignore"):
            score = free / np.float64(self._cpu_weight + self._memory_weight) * float(MAX_SCORE * self._weight)
        return NodeScores(np.where(self._scored[nodes.rows], score, 0.0))

    @property
    def load_thresholds(self) -> tuple[float, float]:
        """Percentages of cpu and memory beyond which a node is refused."""
        return self._cpu_threshold, self._memory_threshold

    def node_load(self, task: TaskInfo, nodes: NodeRows) -> NodeLoad:
        """The figures behind the score and verdict of one node."""
        row = int(nodes.rows[0])
        cpu, memory = float(self.measured.cpu[row]), float(self.measured.memory[row])
        busy = (
            ResourceLoad(CPU, cpu, 0.0, cpu / 100.0, self._cpu_weight, self._cpu_threshold),
            ResourceLoad(MEMORY, memory, 0.0, memory / 100.0, self._memory_weight, self._memory_threshold),
        )
        score = float(self.node_order(task, nodes).total[0])
        return NodeLoad(busy, bool(self.measured.recent_mask[row]), self._weight, score)


def _read_threshold(arguments: Arguments, key: str) -> float:
    """The threshold if it is an integer; 0 for any other value; DEFAULT_THRESHOLD if it is missing."""
    raw = arguments.raw.get("thresholds")
    # Unlike a later release, this one reads a map with keys that are no strings.
    section = arguments.sections.setdefault("thresholds", Arguments(raw if isinstance(raw, Mapping) else None))
    if key not in section.raw:
        section.defaults[key] = DEFAULT_THRESHOLD
        return DEFAULT_THRESHOLD
    value = section.raw[key]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else 0.0


def _has_period(entry: object, kind: str) -> bool:
    by_period = entry.get(kind) if isinstance(entry, Mapping) else None
    return isinstance(by_period, Mapping) and MEASURED_PERIOD in by_period
