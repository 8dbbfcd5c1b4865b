"""A simple implementation of the predicates plugin, for one task and one node at a time."""

from __future__ import annotations

from typing import Any

from tests.scalar.world import World, required
from vcdebug.kube.node_affinity import required_node_affinity
from vcdebug.kube.selector import SELECTS_EVERYTHING, Selector, equality_selector, label_selector
from vcdebug.kube.taints import is_tolerated, parse_taints, parse_tolerations, tolerates_cordon
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.pod import Pod

Pairs = dict[tuple[str, str], int]


def incoming_namespaces(world: World, pod: Pod, term: dict[str, Any]) -> tuple[list[str], bool]:
    """The namespaces of an incoming pod's term, and whether it applies to all namespaces."""
    listed, over = list(term.get("namespaces") or []), term.get("namespaceSelector")
    if not listed and over is None:
        return [pod.namespace], False
    selector = label_selector(over)
    if selector.is_empty:
        return listed, True
    listed += [name for name, labels in world.namespaces.items() if selector.matches_labels(labels)]
    return listed, selector.matches_labels({})


def incoming_matches(world: World, pod: Pod, term: dict[str, Any], other: Pod) -> bool:
    """Whether a term of the incoming pod matches the other pod."""
    names, everywhere = incoming_namespaces(world, pod, term)
    inside = everywhere or other.namespace in names
    return inside and label_selector(term.get("labelSelector")).matches_labels(other.labels)


def existing_matches(world: World, owner: Pod, term: dict[str, Any], pod: Pod) -> bool:
    """Whether a term of a placed pod matches the incoming pod."""
    listed, over = list(term.get("namespaces") or []), term.get("namespaceSelector")
    if not listed and over is None:
        listed = [owner.namespace]
    inside = pod.namespace in listed or label_selector(over).matches_labels(world.namespaces.get(pod.namespace, {}))
    return inside and label_selector(term.get("labelSelector")).matches_labels(pod.labels)


class PredicatesTwin:
    """The PreFilter states of one pod, which are then applied to one node at a time."""

    def __init__(self, world: World, pod: Pod) -> None:
        self.world = world
        self.pod = pod
        self.affinity_terms = required(pod, "podAffinity")
        self.anti_terms = required(pod, "podAntiAffinity")
        self.existing = self._existing()
        self.affinity = self._pairs(all_terms=True)
        self.anti = self._pairs(all_terms=False)
        rules = [
            c for c in pod.spec.get("topologySpreadConstraints") or [] if c["whenUnsatisfiable"] == "DoNotSchedule"
        ]
        self.constraints = rules

    def _bump(self, pairs: Pairs, key: str, node: str) -> None:
        value = self.world.labels(node).get(key)
        if value is not None:
            pairs[key, value] = pairs.get((key, value), 0) + 1

    def _existing(self) -> Pairs:
        pairs: Pairs = {}
        for node in self.world.anti_nodes:
            for owner in self.world.pods[node]:
                for term in required(owner, "podAntiAffinity"):
                    if existing_matches(self.world, owner, term, self.pod):
                        self._bump(pairs, term["topologyKey"], node)
        return pairs

    def _pairs(self, *, all_terms: bool) -> Pairs:
        pairs: Pairs = {}
        terms = self.affinity_terms if all_terms else self.anti_terms
        for node in self.world.names:
            for other in self.world.pods[node]:
                hits = [incoming_matches(self.world, self.pod, term, other) for term in terms]
                for term, hit in zip(terms, hits, strict=True):
                    if all(hits) if all_terms else hit:
                        self._bump(pairs, term["topologyKey"], node)
        return pairs

    def statuses(self, node: str) -> list[FitStatus]:
        """The statuses that predicates returns for a node."""
        found = self._pod_count(node)
        stable = self._stable(node)
        if stable:
            return [*found, stable]
        for check in (self._ports, self._pod_affinity, self._spread):
            status = check(node)
            if status is not None:
                found.append(status)
                if status.code == 3:
                    break
        return found

    def _pod_count(self, node: str) -> list[FitStatus]:
        limit = int(self.world.manifests[node]["status"]["allocatable"]["pods"])
        if limit <= len(self.world.pods[node]):
            return [FitStatus(2, "node(s) pod number exceeded", "predicates")]
        return []

    def _stable(self, node: str) -> FitStatus | None:
        spec = self.world.manifests[node]["spec"]
        tolerations = parse_tolerations(self.pod.spec.get("tolerations"))
        if spec.get("unschedulable") and not tolerates_cordon(tolerations):
            return FitStatus(3, "node(s) were unschedulable")
        if not required_node_affinity(self.pod.spec).matches_group(self.world.labels(node), node):
            return FitStatus(3, "node(s) didn't match Pod's node affinity/selector")
        return FitStatus(3, "node(s) had untolerated taint(s)") if tainted(self.world, self.pod, node) else None

    def _ports(self, node: str) -> FitStatus | None:
        for wanted in ports_of(self.pod):
            for other in self.world.pods[node]:
                for used in ports_of(other):
                    if wanted[1:] == used[1:] and ("0.0.0.0" in (wanted[0], used[0]) or wanted[0] == used[0]):
                        return FitStatus(2, "node(s) didn't have free ports for the requested pod ports")
        return None

    def _pod_affinity(self, node: str) -> FitStatus | None:
        labels = self.world.labels(node)
        if not self._together(labels):
            return FitStatus(3, "node(s) didn't match pod affinity rules")
        for term in self.anti_terms:
            value = labels.get(term["topologyKey"])
            if value is not None and self.anti.get((term["topologyKey"], value), 0) > 0:
                return FitStatus(2, "node(s) didn't match pod anti-affinity rules")
        if any(pair in self.existing for pair in labels.items()):
            return FitStatus(2, "node(s) didn't satisfy existing pods anti-affinity rules")
        return None

    def _together(self, labels: dict[str, str]) -> bool:
        keys = [term["topologyKey"] for term in self.affinity_terms]
        if not all(key in labels for key in keys):
            return False
        if all(self.affinity.get((key, labels[key]), 0) > 0 for key in keys):
            return True
        own = [incoming_matches(self.world, self.pod, term, self.pod) for term in self.affinity_terms]
        return not self.affinity and all(own)

    def _spread(self, node: str) -> FitStatus | None:
        for rule in self.constraints:
            value = self.world.labels(node).get(rule["topologyKey"])
            text = "node(s) didn't match pod topology spread constraints"
            if value is None:
                return FitStatus(3, f"{text} (missing required label)")
            selector = spread_selector(rule, self.pod)
            counts = self._domain_counts(rule, selector)
            lowest = min(counts.values()) if len(counts) >= rule.get("minDomains", 1) else 0
            itself = 1 if selector.matches_labels(self.pod.labels) else 0
            if counts.get(value, 0) + itself - lowest > rule["maxSkew"]:
                return FitStatus(2, text)
        return None

    def _domain_counts(self, rule: dict[str, Any], selector: Selector) -> dict[str, int]:
        counts: dict[str, int] = {}
        for node in self.world.names:
            labels = self.world.labels(node)
            if not all(other["topologyKey"] in labels for other in self.constraints):
                continue
            if included(self.world, self.pod, rule, node):
                value = labels[rule["topologyKey"]]
                counts[value] = counts.get(value, 0) + matching_pods(self.world, self.pod, selector, node)
        return counts


def tainted(world: World, pod: Pod, node: str) -> bool:
    """Whether the node has a hard taint that the pod does not tolerate."""
    tolerations = parse_tolerations(pod.spec.get("tolerations"))
    taints = parse_taints(world.manifests[node]["spec"].get("taints"))
    return any(t.effect != "PreferNoSchedule" and not is_tolerated(t, tolerations) for t in taints)


def spread_selector(rule: dict[str, Any], pod: Pod) -> Selector:
    """The constraint's selector with the pod's own values of matchLabelKeys."""
    selector = label_selector(rule.get("labelSelector"))
    own = {key: pod.labels[key] for key in rule.get("matchLabelKeys") or [] if key in pod.labels}
    return selector.with_requirements(equality_selector(own).requirements)


def included(world: World, pod: Pod, rule: dict[str, Any], node: str) -> bool:
    """Whether the constraint's node policies include the node."""
    fits = required_node_affinity(pod.spec).matches_group(world.labels(node), node)
    if rule.get("nodeAffinityPolicy", "Honor") == "Honor" and not fits:
        return False
    return rule.get("nodeTaintsPolicy") != "Honor" or not tainted(world, pod, node)


def matching_pods(world: World, pod: Pod, selector: Selector, node: str) -> int:
    """The number of pods on the node that a spread selector counts."""
    if selector == SELECTS_EVERYTHING:
        return 0
    return sum(
        1
        for other in world.pods[node]
        if other.namespace == pod.namespace and not other.deleting and selector.matches_labels(other.labels)
    )


def ports_of(pod: Pod) -> list[tuple[str, str, int]]:
    """(address, protocol, port) of every host port."""
    ports = [port for container in pod.spec["containers"] for port in container.get("ports") or []]
    return [(p.get("hostIP") or "0.0.0.0", p.get("protocol") or "TCP", p["hostPort"]) for p in ports]
