"""What the arguments say: how each resource is scored, scarce resources, and what they keep free beside them.

Upstream: plugins/resource-strategy-fit (calculateWeight, calculateSraWeight, calculateProportionalResources).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vcdebug.framework.arguments import Arguments
from vcdebug.gomath import MAX_INT64, MIN_INT64
from vcdebug.plugins.resource_strategy_fit.decode import (
    FieldReader,
    decode_argument,
    decode_bool,
    decode_float,
    decode_int,
    decode_table,
    decode_text,
)

LEAST_ALLOCATED = "LeastAllocated"
MOST_ALLOCATED = "MostAllocated"
DEFAULT_WEIGHT = 10
TYPE_ANNOTATION = "volcano.sh/resource-strategy-scoring-type"
WEIGHT_ANNOTATION = "volcano.sh/resource-strategy-weight"


class Strategy(NamedTuple):
    """How one resource is scored."""

    kind: str
    weight: int


class ScarceResources(NamedTuple):
    """Resources that a task which does not ask for them should leave alone."""

    weight: int
    resources: Mapping[str, int]


class Rates(NamedTuple):
    """Cores and gigabytes to keep free per idle unit of a resource."""

    cpu: float
    memory: float


class StrategyFitSettings:
    """The plugin's arguments; a value of the wrong kind ends the scheduler's process."""

    def __init__(self, arguments: Arguments) -> None:
        weight = decode_argument(arguments, "resourceStrategyFitWeight", "int", decode_int)
        self.weight = DEFAULT_WEIGHT if weight is None or weight < 0 else weight
        strategies = decode_argument(arguments, "resources", "map[v1.ResourceName]ResourcesType", _decode_strategies)
        default = {"cpu": Strategy(LEAST_ALLOCATED, 1), "memory": Strategy(LEAST_ALLOCATED, 1)}
        self._strategies = _clean_strategies(strategies or default)
        self.scarce = decode_argument(arguments, "sra", "sraConfig", _decode_scarce) or ScarceResources(0, {})
        self.rates = decode_argument(arguments, "proportional", "proportionalConfig", _decode_rates)

    def strategy_for(self, resource: str) -> Strategy | None:
        """The entry of exactly this name, else the pattern with the longest prefix."""
        exact = self._strategies.get(resource)
        if exact is not None:
            return exact
        prefixes = (name[:-1] for name in self._strategies if name.endswith("*"))
        best = max((prefix for prefix in prefixes if resource.startswith(prefix)), key=len, default="")
        return self._strategies[f"{best}*"] if best else None


class PodStrategy:
    """A pod's own scoring type and weights."""

    def __init__(self, kind: str, weights: Mapping[str, int]) -> None:
        self._kind = kind
        self._weights = weights

    def strategy_for(self, resource: str) -> Strategy | None:
        """The pod's type for every resource that it weighs."""
        weight = self._weights.get(resource)
        return None if weight is None else Strategy(self._kind, weight)


def pod_strategy(annotations: Mapping[str, str]) -> PodStrategy | None:
    """The pod's own strategy; raises ValueError when its weights are missing or no JSON map of integers."""
    kind = annotations.get(TYPE_ANNOTATION, "")
    if not kind:
        return None
    document = json.loads(annotations.get(WEIGHT_ANNOTATION, ""), parse_constant=_no_number)
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
    """Without patterns other than one trailing `*`; an unknown type is LeastAllocated, no weight is 1."""
    return {
        name: Strategy(
            kind if kind in (LEAST_ALLOCATED, MOST_ALLOCATED) else LEAST_ALLOCATED, weight if weight > 0 else 1
        )
        for name, (kind, weight) in strategies.items()
        if "*" not in name or (name != "*" and name.endswith("*") and name.count("*") == 1)
    }


def _decode_scarce(value: object) -> ScarceResources:
    fields = FieldReader(value)
    enabled, listed, weight = (
        decode_bool(fields.get_field("enable")),
        decode_text(fields.get_field("resources")),
        decode_int(fields.get_field("weight")),
    )
    weights = decode_table(fields.get_field("resourceWeight"), decode_int)
    if not enabled:
        return ScarceResources(0, {})
    stated = {name: weights.get(name, 1) for name in _listed_names(listed)}
    return ScarceResources(weight, {name: 1 if own < 0 else own for name, own in stated.items()})


def _decode_rates(value: object) -> dict[str, Rates] | None:
    fields = FieldReader(value)
    enabled, listed = decode_bool(fields.get_field("enable")), decode_text(fields.get_field("resources"))
    rates = decode_table(fields.get_field("resourceProportion"), decode_float)
    if not enabled:
        return None
    return {
        name: Rates(_stated_rate(rates, f"{name}.cpu"), _stated_rate(rates, f"{name}.memory"))
        for name in _listed_names(listed)
    }


def _stated_rate(rates: Mapping[str, float], key: str) -> float:
    rate = rates.get(key, 1.0)
    return 1.0 if rate < 0 else rate


def _listed_names(listed: str) -> Iterator[str]:
    yield from sorted(name for name in dict.fromkeys(part.strip() for part in listed.split(",")) if name)
