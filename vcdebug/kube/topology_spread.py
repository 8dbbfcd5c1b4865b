"""Topology spread constraints as a filter (DoNotSchedule).

Upstream: k8s plugin podtopologyspread (common, filtering).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vcdebug.kube.affinity_terms import LabelGroup
from vcdebug.kube.node_labels import LabelColumn
from vcdebug.kube.nodeview import NodeView
from vcdebug.kube.placement import Placement
from vcdebug.kube.requests import Gate
from vcdebug.kube.selector import Labels, Requirement, Selector, label_selector
from vcdebug.model.names import BoolArray, IntArray
from vcdebug.snapshot.json_values import JsonObject

HARD = "DoNotSchedule"
SOFT = "ScheduleAnyway"
FITS, MISSING_LABEL, SKEWED = range(3)
SKEWED_REASON = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL_REASON = "node(s) didn't match pod topology spread constraints (missing required label)"


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """One parsed constraint."""

    topology_key: str
    max_skew: int
    selector: Selector
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False


Constraints = tuple[SpreadConstraint, ...]


@dataclass(frozen=True, slots=True)
class SpreadQuestion:
    """Pods that a constraint counts: same namespace, not terminating, selected; an empty selector counts none."""

    namespace: str
    selector: Selector

    def matches(self, group: LabelGroup) -> bool:
        """Whether pods of the group count."""
        if self.selector.empty or group.deleting or group.namespace != self.namespace:
            return False
        return self.selector.matches(group.labels)


def constraints_of(spec: JsonObject, labels: Labels, action: str, gate: Gate) -> Constraints:
    """The pod's own constraints with this whenUnsatisfiable; raises SelectorError."""
    raw = spec.get("topologySpreadConstraints")
    if not raw:
        return ()
    return tuple(_constraint(entry, labels, gate) for entry in raw if entry.get("whenUnsatisfiable") == action)


def _constraint(raw: JsonObject, labels: Labels, gate: Gate) -> SpreadConstraint:
    selector = label_selector(raw.get("labelSelector"))
    if gate("MatchLabelKeysInPodTopologySpread"):
        selector = _with_label_keys(selector, raw.get("matchLabelKeys") or (), labels)
    inclusion = gate("NodeInclusionPolicyInPodTopologySpread")
    min_domains = raw.get("minDomains")
    return SpreadConstraint(
        topology_key=raw.get("topologyKey") or "",
        max_skew=raw.get("maxSkew") or 0,
        selector=selector,
        min_domains=1 if min_domains is None else min_domains,
        honor_affinity=not inclusion or (raw.get("nodeAffinityPolicy") or "Honor") == "Honor",
        honor_taints=inclusion and raw.get("nodeTaintsPolicy") == "Honor",
    )


def _with_label_keys(selector: Selector, keys: list[str] | tuple[str, ...], labels: Labels) -> Selector:
    wanted = dict.fromkeys(key for key in keys if key in labels)
    return selector.with_requirements(Requirement(key, "In", (labels[key],)) for key in wanted)


def including_rows(view: NodeView, constraint: SpreadConstraint, placement: Placement) -> BoolArray:
    """Nodes that the constraint's inclusion policies let count."""
    rows = view.labels.all_rows()
    if constraint.honor_affinity:
        rows &= view.labels.matching_required(placement.required)
    if constraint.honor_taints:
        rows &= ~view.taints.untolerated(placement.tolerations)
    return rows


def rows_with_all_keys(view: NodeView, constraints: Constraints) -> BoolArray:
    """Nodes that carry the topology labels of all constraints."""
    rows = view.labels.all_rows()
    for constraint in constraints:
        rows &= view.labels.column(constraint.topology_key).present
    return rows


class Domains(NamedTuple):
    """What one constraint counts."""

    column: LabelColumn
    per_value: IntArray
    """Matching pods per value of the topology key."""
    known: BoolArray
    """Which values participating nodes have."""
    lowest: int
    """The smallest count, 0 where there are fewer domains than the constraint wants."""
    itself: int
    """1 where the pod would count too."""


def spread_verdicts(view: NodeView, constraints: Constraints, group: LabelGroup, placement: Placement) -> IntArray:
    """FITS or the first failing constraint's verdict, for every node of the view."""
    verdicts: IntArray = np.zeros(len(view), dtype=np.int64)
    labelled = rows_with_all_keys(view, constraints)
    for constraint in constraints:
        failing = _constraint_verdicts(constraint, domains(view, constraint, labelled, group, placement))
        verdicts = np.where(verdicts == FITS, failing, verdicts)
    return verdicts


def domains(
    view: NodeView, constraint: SpreadConstraint, labelled: BoolArray, group: LabelGroup, placement: Placement
) -> Domains:
    """The constraint's domains; `labelled` are the nodes that carry the keys of all constraints."""
    participating = labelled & including_rows(view, constraint, placement)
    column = view.labels.column(constraint.topology_key)
    counts = view.counts.per_row(SpreadQuestion(group.namespace, constraint.selector))
    per_value, known = domain_counts(column, participating, counts)
    size = int(known.sum())  # exact: ints
    lowest = int(per_value[known].min()) if size and size >= constraint.min_domains else 0
    return Domains(column, per_value, known, lowest, 1 if constraint.selector.matches(group.labels) else 0)


def _constraint_verdicts(constraint: SpreadConstraint, found: Domains) -> IntArray:
    skew = found.column.spread(found.per_value) + found.itself - found.lowest
    answer = np.where(skew > constraint.max_skew, SKEWED, FITS)
    answer[~found.column.present] = MISSING_LABEL
    return answer


def domain_counts(column: LabelColumn, participating: BoolArray, counts: IntArray) -> tuple[IntArray, BoolArray]:
    """Pods per label value over the participating nodes, and which values such nodes have at all."""
    ids, size = column.ids[participating], len(column.values)
    per_value = np.bincount(ids, weights=counts[participating], minlength=size).astype(np.int64)
    return per_value, np.bincount(ids, minlength=size) > 0
