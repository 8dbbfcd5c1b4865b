"""A simple implementation of nodeorder's scorers and binpack, for one task and one node at a time."""

from __future__ import annotations

import math
from typing import Any

from tests.scalar.predicates_twin import existing_matches, included, incoming_matches, matching_pods, spread_selector
from tests.scalar.world import HOSTNAME, PREFERRED, ZONE, World, has_affinity, preferred
from vcdebug.gomath import int_div, trunc_int64
from vcdebug.kube.node_affinity import node_term
from vcdebug.kube.selector import Selector, equality_selector
from vcdebug.kube.taints import is_tolerated, parse_taints, parse_tolerations
from vcdebug.model.node import NodeInfo
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.quantity import milli_value, whole_value

Scores = list[int] | None
GPU = "nvidia.com/gpu"


def request(pod: Pod, name: str, default: int | None = None) -> int:
    """The request of the only container, in milli cpu, bytes or GPUs."""
    stated = pod.spec["containers"][0]["resources"]["requests"]
    if name not in stated:
        return default or 0
    return milli_value(stated[name]) if name == "cpu" else whole_value(stated[name])


def allocatable(world: World, node: str, name: str) -> int:
    """The node's allocatable amount of a resource."""
    stated = world.manifests[node]["status"]["allocatable"].get(name, 0)
    return milli_value(stated) if name == "cpu" else whole_value(stated)


def round_half_away(value: float) -> float:
    """Go's `math.Round`, which rounds halves away from zero."""
    whole = math.trunc(value)
    return float(whole + math.copysign(1, value)) if abs(value - whole) >= 0.5 else math.copysign(whole, value)


class NodeOrderTwin:
    """All scorers for one pod over all nodes."""

    def __init__(self, world: World, pod: Pod, services: list[dict[str, Any]]) -> None:
        self.world = world
        self.pod = pod
        self.services = services

    def scores(self) -> dict[str, Scores]:
        """Unweighted scores by scorer; None for a skipped scorer."""
        return {
            "NodeResourcesFit_LeastAllocated": [self._fit(n, least=True) for n in self.world.names],
            "NodeResourcesFit_MostAllocated": [self._fit(n, least=False) for n in self.world.names],
            "NodeResourcesBalancedAllocation": self._balanced(),
            "NodeAffinity": self._node_affinity(),
            "InterPodAffinity": self._pod_affinity(),
            "TaintToleration": self._taints(),
            "PodTopologySpread": self._spread(),
        }

    def _fit(self, node: str, *, least: bool) -> int:
        total = number = 0
        for name, default in (("cpu", 100), ("memory", 200 * 2**20)):
            available = allocatable(self.world, node, name)
            wanted = sum(request(p, name, default) for p in [*self.world.pods[node], self.pod])
            if available:
                number += 1
                if least:
                    total += 0 if wanted > available else int_div((available - wanted) * 100, available)
                else:
                    total += 100 if wanted > available else int_div(wanted * 100, available)
        return int_div(total, number) if number else 0

    def _balanced(self) -> Scores:
        if not any(request(self.pod, name) for name in ("cpu", "memory", GPU)):
            return None
        answer = []
        for node in self.world.names:
            before, after = self._balance(node, 0), self._balance(node, 1)
            answer.append(50 + int_div(50 + after - before, 2))
        return answer

    def _balance(self, node: str, times: int) -> int:
        shares = []
        for name in ("cpu", "memory", GPU):
            available = allocatable(self.world, node, name)
            if available == 0 or (name == GPU and request(self.pod, GPU) == 0):
                continue
            wanted = sum(request(p, name) for p in self.world.pods[node]) + times * request(self.pod, name)
            shares.append(min(1.0, float(wanted) / float(available)))
        deviation = 0.0
        if len(shares) == 2:
            deviation = abs((shares[0] - shares[1]) / 2)
        elif len(shares) > 2:
            mean = (shares[0] + shares[1] + shares[2]) / 3.0
            squares = 0.0
            for share in shares:
                squares += (share - mean) * (share - mean)
            deviation = math.sqrt(squares / 3.0)
        return trunc_int64((1 - deviation) * 100.0)

    def _node_affinity(self) -> Scores:
        affinity = (self.pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
        if PREFERRED not in affinity:
            return None
        terms = [(p["weight"], node_term(p["preference"])) for p in affinity[PREFERRED]]
        raw = [sum(w for w, t in terms if t.matches_node(self.world.labels(n), n)) for n in self.world.names]
        highest = max(raw)
        return [int_div(100 * r, highest) for r in raw] if highest else raw

    def _taints(self) -> Scores:
        tolerations = [
            t for t in parse_tolerations(self.pod.spec.get("tolerations")) if t.effect in ("", "PreferNoSchedule")
        ]
        raw = []
        for node in self.world.names:
            taints = parse_taints(self.world.manifests[node]["spec"].get("taints"))
            raw.append(
                sum(1 for t in taints if t.effect == "PreferNoSchedule" and not is_tolerated(t, tuple(tolerations)))
            )
        highest = max(raw)
        return [100 - int_div(100 * r, highest) for r in raw] if highest else [100] * len(raw)

    def _pod_affinity(self) -> Scores:
        own = [(t["weight"], t["podAffinityTerm"]) for t in preferred(self.pod, "podAffinity")]
        own += [(-t["weight"], t["podAffinityTerm"]) for t in preferred(self.pod, "podAntiAffinity")]
        sums: dict[tuple[str, str], int] = {}
        for node in self.world.names if own else self.world.affinity_nodes:
            for other in self.world.pods[node]:
                if own or has_affinity(other):
                    self._weigh(sums, node, other, own)
        if not sums:
            return None
        raw = [sum(sums.get(pair, 0) for pair in self.world.labels(n).items()) for n in self.world.names]
        low, span = min(raw), max(raw) - min(raw)
        return [trunc_int64(100.0 * (float(r - low) / float(span))) if span else 0 for r in raw]

    def _weigh(
        self, sums: dict[tuple[str, str], int], node: str, other: Pod, own: list[tuple[int, dict[str, Any]]]
    ) -> None:
        hits = [(w, t) for w, t in own if incoming_matches(self.world, self.pod, t, other)]
        for sign, kind in ((1, "podAffinity"), (-1, "podAntiAffinity")):
            for weighted in preferred(other, kind):
                if existing_matches(self.world, other, weighted["podAffinityTerm"], self.pod):
                    hits.append((sign * weighted["weight"], weighted["podAffinityTerm"]))
        for weight, term in hits:
            value = self.world.labels(node).get(term["topologyKey"])
            if value is not None:
                pair = (term["topologyKey"], value)
                sums[pair] = sums.get(pair, 0) + weight

    def _default_rules(self) -> list[dict[str, Any]]:
        pairs: dict[str, str] = {}
        for service in self.services:
            selector = service["spec"]["selector"]
            same = service["metadata"]["namespace"] == self.pod.namespace
            if same and equality_selector(selector).matches_labels(self.pod.labels):
                pairs |= selector
        if not pairs:
            return []
        selector = {"matchLabels": pairs}
        return [
            {"topologyKey": HOSTNAME, "maxSkew": 3, "labelSelector": selector},
            {"topologyKey": ZONE, "maxSkew": 5, "labelSelector": selector},
        ]

    def _spread(self) -> Scores:
        stated = self.pod.spec.get("topologySpreadConstraints") or []
        rules = [rule for rule in stated if rule["whenUnsatisfiable"] == "ScheduleAnyway"]
        if not stated:
            rules = self._default_rules()
        if not rules:
            return None
        keys = [rule["topologyKey"] for rule in rules]
        kept = [n for n in self.world.names if not stated or all(k in self.world.labels(n) for k in keys)]
        raw = {node: self._spread_raw(node, rules, kept) for node in kept}
        return self._spread_normalized(raw)

    def _spread_raw(self, node: str, rules: list[dict[str, Any]], kept: list[str]) -> int:
        score = 0.0
        for rule in rules:
            key = rule["topologyKey"]
            value = self.world.labels(node).get(key)
            if value is None:
                continue
            selector = spread_selector(rule, self.pod)
            domains = {self.world.labels(n).get(key, "") for n in kept}
            size = len(kept) if key == HOSTNAME else len(domains)
            count = self._count(rule, selector, node, value, kept)
            score += float(count) * math.log(size + 2) + float(rule["maxSkew"] - 1)
        return int(round_half_away(score))

    def _count(self, rule: dict[str, Any], selector: Selector, node: str, value: str, kept: list[str]) -> int:
        if rule["topologyKey"] == HOSTNAME:
            return matching_pods(self.world, self.pod, selector, node)
        everywhere = kept if self.pod.spec.get("topologySpreadConstraints") else self.world.names
        return sum(
            matching_pods(self.world, self.pod, selector, other)
            for other in everywhere
            if self.world.labels(other).get(rule["topologyKey"], "") == value
            and included(self.world, self.pod, rule, other)
        )

    def _spread_normalized(self, raw: dict[str, int]) -> list[int]:
        if not raw:
            return [0] * len(self.world.names)
        highest, lowest = max(raw.values()), min(raw.values())
        if highest <= 0:
            return [100 if node in raw else 0 for node in self.world.names]
        return [int_div(100 * (highest + lowest - raw[n]), highest) if n in raw else 0 for n in self.world.names]


def binpack(task: TaskInfo, node: NodeInfo, weights: dict[str, int], weight: int) -> float:
    """binpack's score of one node."""
    score, total = 0.0, 0
    for name in task.resreq.resource_names():
        if name not in weights:
            continue
        wanted, capacity, used = task.resreq.get(name), node.allocatable.get(name), node.used.get(name)
        if capacity != 0 and weights[name] != 0:
            if used + wanted > capacity:
                return 0.0
            score += (used + wanted) * float(weights[name]) / capacity
        total += weights[name]
    if total > 0:
        score /= float(total)
    return score * float(100 * weight)


def image_locality(world: World, pod: Pod, node: str) -> int:
    """ImageLocality of a pod with one container."""
    sizes = {
        name: {i["names"][0]: i["sizeBytes"] for i in world.manifests[name]["status"].get("images") or []}
        for name in world.names
    }
    image = pod.spec["containers"][0]["image"]
    holders = [name for name in world.names if image in sizes[name]]
    total = (
        trunc_int64(float(sizes[node][image]) * (float(len(holders)) / float(len(world.names))))
        if node in holders
        else 0
    )
    low, high = 23 * 2**20, 1000 * 2**20
    return int_div(100 * (min(max(total, low), high) - low), high - low)
