"""What the arguments say: weights, load thresholds, and how the load of unmeasured pods is estimated.

Upstream: plugins/usage (New, parseThresholdArgs, parseEstimatorArgs).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vcdebug.framework.arguments import Arguments
from vcdebug.gotime import SECOND, parse_duration
from vcdebug.snapshot.quantity import QuantityError, milli_value, whole_value

DEFAULT_INTERVAL = 30 * SECOND
BYTES_PER_MEBI = 1024 * 1024


class UsageSettings:
    """The plugin's arguments; a value out of range keeps its default."""

    def __init__(self, arguments: Arguments) -> None:
        self.weight = _not_negative(arguments, "usage.weight", 5)
        self.cpu_weight = _not_negative(arguments, "cpu.weight", 1)
        self.memory_weight = _not_negative(arguments, "memory.weight", 1)
        thresholds = _get_section(arguments, "thresholds")
        self.cpu_threshold = _read_percent(thresholds, "cpu")
        self.memory_threshold = _read_percent(thresholds, "mem")
        estimator = _get_section(arguments, "estimator")
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
    """How long a started pod stays unmeasured, in nanoseconds."""
    interval = parse_duration(metrics.get("interval", ""))
    return interval if interval is not None and interval > 0 else DEFAULT_INTERVAL


def _get_section(arguments: Arguments, name: str) -> Arguments:
    """A map among the arguments; one with a key that is no string counts as absent.
    Upstream: plugins/usage.getUsageSectionArgs.
    """
    section = arguments.raw.get(name)
    if not isinstance(section, Mapping) or not all(isinstance(key, str) for key in section):
        return Arguments()
    return Arguments(section)


def _not_negative(arguments: Arguments, key: str, default: int) -> int:
    weight = arguments.get_int(key, default)
    return weight if weight >= 0 else default


def _read_percent(arguments: Arguments, key: str) -> float:
    threshold = arguments.get_int(key, 80)
    return float(threshold) if 0 <= threshold <= 100 else 80.0


def _read_ratio(arguments: Arguments, key: str, default: float) -> float:
    ratio = arguments.get_float64(key, default)
    return ratio if 0 <= ratio <= 1 else default


def _read_amount(stated: object, read: Callable[[object], int], unit: int, default: float) -> float:
    """A whole number of units, or the text of a quantity."""
    if isinstance(stated, int) and not isinstance(stated, bool):
        return float(stated) * unit if stated >= 0 else default
    if not isinstance(stated, str):
        return default
    try:
        amount = read(stated)
    except QuantityError:
        return default
    return float(amount) if amount >= 0 else default
