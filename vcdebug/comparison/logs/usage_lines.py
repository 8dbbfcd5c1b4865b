"""Lines of the plugin usage: its settings, what was measured, and why a node is refused, passed or scored.

Upstream: plugins/usage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vcdebug.comparison.logs.message import UNKNOWN_TEXT, LogCall, LogContext
from vcdebug.model.names import NodeName, Row, TaskKey
from vcdebug.model.resource import CPU, MEMORY
from vcdebug.plugins.usage import Usage
from vcdebug.plugins.usage.load import MEASURED_PERIOD
from vcdebug.plugins.usage.measured import MeasuredUsage

AnyUsage = Usage | MeasuredUsage


def plugin_of(at: LogContext) -> AnyUsage | None:
    """The plugin, where it is configured."""
    found = at.recording.session.plugins.get(Usage.name)
    return found if isinstance(found, AnyUsage) else None


def lines_of_settings(at: LogContext) -> Iterator[LogCall]:
    """What its arguments come to."""
    plugin = plugin_of(at)
    if not isinstance(plugin, Usage):
        return
    stated = plugin.usage_settings
    ratios = (stated.request_ratio, stated.burst_ratio, stated.risk_threshold, stated.risk_factor)
    yield "load.estimator", *ratios, stated.best_effort_cpu, stated.best_effort_memory
    yield "load.thresholds", stated.cpu_threshold, stated.memory_threshold


def lines_of_measurements(
    at: LogContext, cpu: Mapping[NodeName, float], memory: Mapping[NodeName, float]
) -> Iterator[LogCall]:
    """Every node's measurements, with what is estimated of pods that none has seen."""
    usage = at.recording.snapshot.usage
    for node in at.recording.node_names:
        entry = usage.get(node) or {}
        parts = (entry.get("cpu") or {}, entry.get("mem") or {})
        yield "load.measured", node, *parts, UNKNOWN_TEXT, cpu.get(node, 0.0), memory.get(node, 0.0)


def lines_of_filter(at: LogContext, task: TaskKey, row: Row) -> Iterator[LogCall]:
    """A node that the plugin is asked about."""
    plugin, node = plugin_of(at), at.recording.node_names[row]
    if plugin is None:
        return
    if not plugin.node_measurements.fresh[row]:
        yield "load.stale", task, node, UNKNOWN_TEXT
        return
    limits = plugin.load_thresholds
    yield "load.limits", *limits
    for key, percent, limit in zip(
        ("cpu", "memory"), plugin.node_measurements.measured_percents(row), limits, strict=True
    ):
        if percent > limit:
            yield f"load.{key}", node, percent, limit
            return
    yield "load.pass", task, node


def lines_of_score(at: LogContext, task: TaskKey, node: NodeName, row: Row, score: float) -> Iterator[LogCall]:
    """A node that the plugin scores."""
    plugin = plugin_of(at)
    if plugin is None:
        return
    cpu, memory = plugin.node_measurements.measured_percents(row)
    if isinstance(plugin, Usage):
        if plugin.node_measurements.fresh[row]:
            capacity = at.recording.session.nodes[node].capability
            yield "load.score", node, cpu, memory, capacity.get(CPU), capacity.get(MEMORY), score
    elif not plugin.node_measurements.fresh[row]:
        yield "load.unscored", task, node, UNKNOWN_TEXT
    else:
        yield from _as_measured(at, task, node, (cpu, memory), score)


def _as_measured(
    at: LogContext, task: TaskKey, node: NodeName, percents: tuple[float, float], score: float
) -> Iterator[LogCall]:
    """Each measurement in turn: one that is missing ends it."""
    entry = at.recording.snapshot.usage.get(node) or {}
    for key, part, percent in zip(("cpu-usage", "memory-usage"), ("cpu", "mem"), percents, strict=True):
        yield f"load.{key}", node, percent
        if MEASURED_PERIOD not in (entry.get(part) or {}):
            return
    yield "load.task-score", node, at.task_of(task).name, score
