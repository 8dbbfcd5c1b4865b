"""What the arguments say: how each resource is scored, scarce resources, and what they keep free beside them.

Upstream: plugins/resource-strategy-fit (calculateWeight, calculateSraWeight, calculateProportionalResources).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from vcdebug.framework.arguments import Arguments
from vcdebug.gomath import MAX_INT64, MIN_INT64
from vcdebug.plugins.resource_strategy_fit.decode import Fields, argument, flag, real, table, text, whole

LEAST = "LeastAllocated"
MOST = "MostAllocated"
DEFAULT_WEIGHT = 10
TYPE_ANNOTATION = "volcano.sh/resource-strategy-scoring-type"
WEIGHT_ANNOTATION = "volcano.sh/resource-strategy-weight"


class Strategy(NamedTuple):
    """How one resource is scored."""

    kind: str
    weight: int


class Scarce(NamedTuple):
    """Resources that a task which does not ask for them should leave alone."""

    weight: int
    resources: Mapping[str, int]


class Rates(NamedTuple):
    """Cores and gigabytes to keep free per idle unit of a resource."""

    cpu: float
    memory: float


class Settings:
    """The plugin's arguments; a value of the wrong kind ends the scheduler's process."""

    def __init__(self, arguments: Arguments) -> None:
        weight = argument(arguments, "resourceStrategyFitWeight", "int", whole)
        self.weight = DEFAULT_WEIGHT if weight is None or weight < 0 else weight
        strategies = argument(arguments, "resources", "map[v1.ResourceName]ResourcesType", _strategies)
        default = {"cpu": Strategy(LEAST, 1), "memory": Strategy(LEAST, 1)}
        self._strategies = _cleaned(strategies or default)
        self.scarce = argument(arguments, "sra", "sraConfig", _scarce) or Scarce(0, {})
        self.rates = argument(arguments, "proportional", "proportionalConfig", _rates)

    def strategy(self, resource: str) -> Strategy | None:
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

    def strategy(self, resource: str) -> Strategy | None:
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


def _strategies(value: object) -> dict[str, Strategy]:
    def entry(item: object) -> Strategy:
        fields = Fields(item)
        return Strategy(text(fields.get("type")), whole(fields.get("weight")))

    return table(value, entry)


def _cleaned(strategies: Mapping[str, Strategy]) -> dict[str, Strategy]:
    """Without patterns other than one trailing `*`; an unknown type is LeastAllocated, no weight is 1."""
    return {
        name: Strategy(kind if kind in (LEAST, MOST) else LEAST, weight if weight > 0 else 1)
        for name, (kind, weight) in strategies.items()
        if "*" not in name or (name != "*" and name.endswith("*") and name.count("*") == 1)
    }


def _scarce(value: object) -> Scarce:
    fields = Fields(value)
    enabled, listed, weight = flag(fields.get("enable")), text(fields.get("resources")), whole(fields.get("weight"))
    weights = table(fields.get("resourceWeight"), whole)
    if not enabled:
        return Scarce(0, {})
    stated = {name: weights.get(name, 1) for name in _names(listed)}
    return Scarce(weight, {name: 1 if own < 0 else own for name, own in stated.items()})


def _rates(value: object) -> dict[str, Rates] | None:
    fields = Fields(value)
    enabled, listed = flag(fields.get("enable")), text(fields.get("resources"))
    rates = table(fields.get("resourceProportion"), real)
    if not enabled:
        return None
    return {name: Rates(_rate(rates, f"{name}.cpu"), _rate(rates, f"{name}.memory")) for name in _names(listed)}


def _rate(rates: Mapping[str, float], key: str) -> float:
    rate = rates.get(key, 1.0)
    return 1.0 if rate < 0 else rate


def _names(listed: str) -> Iterator[str]:
    yield from sorted(name for name in dict.fromkeys(part.strip() for part in listed.split(",")) if name)
