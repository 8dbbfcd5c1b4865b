"""resource-strategy-fit: prefers full or empty nodes per resource, and avoids nodes with scarce resources.

Upstream: plugins/resource-strategy-fit (calculateWeight, calculateSraWeight, calculateProportionalResources),
framework/arguments (Get), mapstructure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from vcdebug.framework.arguments import Arguments, wrong_argument
from vcdebug.framework.hooks import NODE_ORDER
from vcdebug.framework.plugin_answers import NodeScores
from vcdebug.framework.session import Plugin, Session
from vcdebug.gomath import MAX_INT64, MIN_INT64, trunc_int64
from vcdebug.model.fit_errors import UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus, ReasonTable
from vcdebug.model.names import BoolArray, Codes, FloatArray
from vcdebug.model.node_table import NodeRows
from vcdebug.model.resource import CPU, MEMORY
from vcdebug.model.task import TaskInfo

MAX_SCORE = 100
CHECK_FAILED = "proportional of resource {name} check failed"


class FitPart(NamedTuple):
    """One requested resource's part of the scores of several nodes."""

    name: str
    strategy: Strategy
    capacity: FloatArray
    used_after: FloatArray
    """Used plus requested amount."""
    part: FloatArray
    """The weighted fraction that is used, or that is left, by strategy."""
    full_mask: BoolArray
    """Mask of the nodes on which the resource does not fit."""


class KeptFree(NamedTuple):
    """The cpu and memory that one node must keep free for an idle scarce resource."""

    name: str
    idle: float
    rates: Rates
    cpu: float
    memory: float
    """Memory that stays idle after the task."""
    crowded: bool


class ResourceStrategyFit(Plugin):
    """Scores nodes by strategy and by scarce resources, and keeps cpu and memory free for scarce resources."""

    name: ClassVar[str] = "resource-strategy-fit"

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.settings = StrategyFitSettings(arguments)
        """The settings from the plugin's arguments."""

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/resource-strategy-fit.OnSessionOpen."""
        ssn.log("strategy.enter")
        self._reasons: ReasonTable = ssn.reasons
        rates = self.settings.rates or {}
        self._rates = {name: rates[name] for name in ssn.cluster.ordering.order_keys(rates)}
        if self.settings.rates is None:
            ssn.withdraw_hook(self, "predicate")
        if self.settings.weight <= 0 and self.settings.scarce.weight <= 0:
            ssn.withdraw_hook(self, NODE_ORDER.method)
        ssn.log("strategy.leave")

    def predicate(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        """Upstream: plugins/resource-strategy-fit.predicateFn."""
        codes: Codes = np.zeros(len(nodes), dtype=np.uint16)
        requested = task.resreq.scalars or {}
        if any(requested.get(name, 0.0) > 0 for name in self._rates):
            return codes
        for name, rates in self._rates.items():
            failed = _is_crowded(task, nodes, name, rates) & (codes == 0)
            if failed.any():
                reason = CHECK_FAILED.format(name=name)
                codes[failed] = self._reasons.code_of((FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, reason, self.name),))
        return codes

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Upstream: plugins/resource-strategy-fit.nodeOrderFn."""
        score = nodes.zero_scores()
        if self.settings.weight > 0:
            score = score + self._fit_score(task, nodes)
        if self.settings.scarce.weight > 0:
            score = score + self._sra_score(task, nodes)
        return NodeScores(score)

    def _fit_score(self, task: TaskInfo, nodes: NodeRows) -> FloatArray:
        """Weighted mean over resources; 0 if one does not fit. Upstream: plugins/resource-strategy-fit.Score."""
        score, weights = nodes.zero_scores(), 0
        full: BoolArray = np.zeros(len(nodes), dtype=np.bool_)
        for part in self.fit_parts(task, nodes):
            weights += part.strategy.weight
            full |= part.full_mask
            score = score + part.part
        if weights > 0:
            score = score / float(weights)
        return np.where(full, 0.0, score * (float(MAX_SCORE) * float(self.settings.weight)))

    def fit_parts(self, task: TaskInfo, nodes: NodeRows) -> Iterator[FitPart]:
        """Yield each requested resource that has a strategy; nothing if the pod's own weights are invalid."""
        try:
            source: PodStrategy | StrategyFitSettings = pod_strategy(task.pod.annotations) or self.settings
        except ValueError:
            return
        for name in task.resreq.resource_names():
            strategy = source.strategy_for(name)
            if strategy is None:
                continue
            capacity = nodes.dimension_column("allocatable", name)
            filled = task.resreq.get(name) + nodes.dimension_column("used", name)
            counts = capacity != 0
            if strategy.weight == 0 or strategy.kind not in (MOST_ALLOCATED, LEAST_ALLOCATED):
                never: BoolArray = np.zeros(len(nodes), dtype=np.bool_)
                yield FitPart(name, strategy, capacity, filled, nodes.zero_scores(), never)
                continue
            scored_amount = filled if strategy.kind == MOST_ALLOCATED else capacity - filled
            part = np.where(counts, scored_amount * float(strategy.weight) / np.where(counts, capacity, 1.0), 0.0)
            yield FitPart(name, strategy, capacity, filled, part, counts & (filled > capacity))

    def kept_free(self, task: TaskInfo, nodes: NodeRows) -> Iterator[KeptFree]:
        """Yield the figures of the proportional check on one node; nothing if the task requests a scarce resource."""
        requested = task.resreq.scalars or {}
        if any(requested.get(name, 0.0) > 0 for name in self._rates):
            return
        cpu = float(nodes.dimension_column("idle", CPU)[0]) - task.resreq.milli_cpu
        memory = float(nodes.dimension_column("idle", MEMORY)[0]) - task.resreq.memory
        for name, rates in self._rates.items():
            idle = 0.0 if name in (CPU, MEMORY) else float(nodes.dimension_column("idle", name)[0])
            yield KeptFree(name, idle, rates, cpu, memory, bool(_is_crowded(task, nodes, name, rates)[0]))

    def _sra_score(self, task: TaskInfo, nodes: NodeRows) -> FloatArray:
        """Lower scores for nodes with more of the scarce resources; 0 for nodes without a requested resource.
        Upstream: plugins/resource-strategy-fit/sra.sraScore.
        """
        scarce = self.settings.scarce
        absent: BoolArray = np.zeros(len(nodes), dtype=np.bool_)
        for name in task.resreq.resource_names():
            absent |= nodes.dimension_column("allocatable", name) == 0
        offered, total = nodes.zero_scores(), 0
        for name, weight in scarce.resources.items():
            offered = offered + np.where(nodes.dimension_column("allocatable", name) > 0, float(weight), 0.0)
            total += weight
        score = 1.0 - offered / float(total) if total > 0 else offered
        return np.where(absent, 0.0, score * float(MAX_SCORE * scarce.weight))


def _is_crowded(task: TaskInfo, nodes: NodeRows, name: str, rates: Rates) -> BoolArray:
    """Mask of the nodes on which the task would leave too little cpu or memory for the idle resource.
    Upstream: plugins/resource-strategy-fit/proportional.checkNodeResourceIsProportional.
    """
    if name in (CPU, MEMORY):
        return np.zeros(len(nodes), dtype=np.bool_)
    idle = nodes.dimension_column("idle", name)
    no_cpu = nodes.dimension_column("idle", CPU) - task.resreq.milli_cpu < idle * rates.cpu
    no_memory = nodes.dimension_column("idle", MEMORY) - task.resreq.memory < idle * rates.memory * 1000 * 1000
    failed: BoolArray = no_cpu | no_memory
    # The columns hold 0 for a missing resource too, but only nodes that have the resource are checked.
    for index in np.flatnonzero(failed & (idle == 0)).tolist():
        node = nodes.table.nodes[int(nodes.rows[index])]
        failed[index] = name in (node.idle.scalars or {})
    return failed


# The arguments: a strategy per resource, scarce resources, and amounts to keep free for them.

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
DEFAULT_WEIGHT = 10
TYPE_ANNOTATION = "volcano.sh/resource-strategy-scoring-type"
WEIGHT_ANNOTATION = "volcano.sh/resource-strategy-weight"


class Strategy(NamedTuple):
    """The scoring type and weight of a resource."""

    kind: str
    weight: int


class ScarceResources(NamedTuple):
    """Scarce resources, whose nodes are avoided by tasks that do not request them, with their weights."""

    weight: int
    resources: Mapping[str, int]


class Rates(NamedTuple):
    """Cores and gigabytes to keep free per idle unit of a scarce resource."""

    cpu: float
    memory: float


class StrategyFitSettings:
    """The plugin's arguments; a value of the wrong type ends the scheduler's process."""

    def __init__(self, arguments: Arguments) -> None:
        weight = decode_argument(arguments, "resourceStrategyFitWeight", "int", decode_int)
        self.weight = DEFAULT_WEIGHT if weight is None or weight < 0 else weight
        strategies = decode_argument(arguments, "resources", "map[v1.ResourceName]ResourcesType", _decode_strategies)
        default = {"cpu": Strategy(LEAST_ALLOCATED, 1), "memory": Strategy(LEAST_ALLOCATED, 1)}
        self._strategies = _clean_strategies(strategies or default)
        self.scarce = decode_argument(arguments, "sra", "sraConfig", _decode_scarce) or ScarceResources(0, {})
        self.rates = decode_argument(arguments, "proportional", "proportionalConfig", _decode_rates)

    def strategy_for(self, resource: str) -> Strategy | None:
        """The strategy for exactly this name, else the pattern with the longest matching prefix; None without."""
        exact = self._strategies.get(resource)
        if exact is not None:
            return exact
        prefixes = (name[:-1] for name in self._strategies if name.endswith("*"))
        best = max((prefix for prefix in prefixes if resource.startswith(prefix)), key=len, default="")
        return self._strategies[f"{best}*"] if best else None


class PodStrategy(NamedTuple):
    """The scoring type and weights in a pod's annotations."""

    kind: str
    weights: Mapping[str, int]

    def strategy_for(self, resource: str) -> Strategy | None:
        """The pod's scoring type, with the pod's weight for the resource; None if it has no weight."""
        weight = self.weights.get(resource)
        return None if weight is None else Strategy(self.kind, weight)


def pod_strategy(annotations: Mapping[str, str]) -> PodStrategy | None:
    """The pod's own strategy, or None; raises ValueError if its weights are not a JSON map of integers."""
    kind = annotations.get(TYPE_ANNOTATION, "")
    if not kind:
        return None
    try:
        document = json.loads(annotations.get(WEIGHT_ANNOTATION, ""), parse_constant=_no_number)
    except RecursionError as error:
        raise ValueError(WEIGHT_ANNOTATION) from error
    if document is None:
        return PodStrategy(kind, {})
    if not isinstance(document, dict):
        raise ValueError(WEIGHT_ANNOTATION)
    return PodStrategy(kind, {name: _json_int(weight) for name, weight in document.items()})


def _json_int(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not MIN_INT64 <= value <= MAX_INT64:
        raise ValueError(WEIGHT_ANNOTATION)
    return value


def _no_number(name: str) -> object:
    raise ValueError(name)


def _decode_strategies(value: object) -> dict[str, Strategy]:
    def decode_entry(item: object) -> Strategy:
        fields = FieldReader(item)
        return Strategy(decode_text(fields.get_field("type")), decode_int(fields.get_field("weight")))

    return decode_table(value, decode_entry)


def _clean_strategies(strategies: Mapping[str, Strategy]) -> dict[str, Strategy]:
    """Drop patterns other than one trailing `*`; unknown types become LeastAllocated, missing weights 1."""
    return {
        name: Strategy(
            kind if kind in (LEAST_ALLOCATED, MOST_ALLOCATED) else LEAST_ALLOCATED, weight if weight > 0 else 1
        )
        for name, (kind, weight) in strategies.items()
        if "*" not in name or (name != "*" and name.endswith("*") and name.count("*") == 1)
    }


def _decode_scarce(value: object) -> ScarceResources:
    fields = FieldReader(value)
    enabled = decode_bool(fields.get_field("enable"))
    names_text = decode_text(fields.get_field("resources"))
    weight = decode_int(fields.get_field("weight"))
    weights = decode_table(fields.get_field("resourceWeight"), decode_int)
    if not enabled:
        return ScarceResources(0, {})
    listed_weights = {name: weights.get(name, 1) for name in _listed_names(names_text)}
    return ScarceResources(weight, {name: 1 if part < 0 else part for name, part in listed_weights.items()})


def _decode_rates(value: object) -> dict[str, Rates] | None:
    fields = FieldReader(value)
    enabled, names_text = decode_bool(fields.get_field("enable")), decode_text(fields.get_field("resources"))
    rates = decode_table(fields.get_field("resourceProportion"), decode_float)
    if not enabled:
        return None
    return {
        name: Rates(_stated_rate(rates, f"{name}.cpu"), _stated_rate(rates, f"{name}.memory"))
        for name in _listed_names(names_text)
    }


def _stated_rate(rates: Mapping[str, float], key: str) -> float:
    rate = rates.get(key, 1.0)
    return 1.0 if rate < 0 else rate


def _listed_names(names_text: str) -> Iterator[str]:
    yield from sorted(name for name in dict.fromkeys(part.strip() for part in names_text.split(",")) if name)


# Decoding of arguments into structures: a value of the wrong type ends the scheduler's process.

T = TypeVar("T")
DecodeFunction = Callable[[object], T]

FATAL = "Could not parse argument for key {key} to type {kind}: {error}"


class DecodeError(Exception):
    """Raised for a value of the wrong type."""


def decode_argument(arguments: Arguments, key: str, kind: str, decode: DecodeFunction[T]) -> T | None:
    """The decoded argument, None if it is missing; a value of the wrong type panics."""
    if key not in arguments.raw:
        return None
    try:
        return decode(arguments.raw[key])
    except DecodeError as error:
        raise wrong_argument(FATAL.format(key=key, kind=kind, error=error), key, "the message asks") from error


def decode_int(value: object) -> int:
    """Decode an int; floats are truncated, null is 0."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _type_error("int", value)
    return trunc_int64(value) if isinstance(value, float) else value


def decode_float(value: object) -> float:
    """Decode a float or int; null is 0."""
    if value is None:
        return 0.0
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _type_error("float64", value)
    return float(value)


def decode_text(value: object) -> str:
    """Decode a string; null is empty."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _type_error("string", value)
    return value


def decode_bool(value: object) -> bool:
    """Decode a boolean; null is False."""
    if value is None:
        return False
    if not isinstance(value, bool):
        raise _type_error("bool", value)
    return value


def decode_table(value: object, entry: DecodeFunction[T]) -> dict[str, T]:
    """Decode a map with string keys; null is empty."""
    return {decode_text(key): entry(item) for key, item in _require_mapping(value).items()}


class FieldReader:
    """Reads a map like a Go structure: field names match in any case, an exact match first."""

    def __init__(self, value: object) -> None:
        self._raw = _require_mapping(value)

    def get_field(self, name: str) -> object:
        """The value of the field; None if it is missing."""
        if name in self._raw:
            return self._raw[name]
        matching_keys = sorted(key for key in self._raw if isinstance(key, str) and key.lower() == name.lower())
        return self._raw[matching_keys[0]] if matching_keys else None


def _require_mapping(value: object) -> Mapping[object, object]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise DecodeError(f"expected a map, got {_go_kind(value)!r}")
    return value


def _type_error(kind: str, value: object) -> DecodeError:
    return DecodeError(f"expected type {kind!r}, got unconvertible type {_go_kind(value)!r}, value: {str(value)!r}")


def _go_kind(value: object) -> str:
    names = {"str": "string", "float": "float64", "list": "slice", "dict": "map"}
    return names.get(type(value).__name__, type(value).__name__)
