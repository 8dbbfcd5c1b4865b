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
from vcdebug.kube.placement import NodeConstraints
from vcdebug.kube.requests import GateCheck
from vcdebug.kube.selector import Labels, Requirement, Selector, label_selector
from vcdebug.model.names import BoolArray, IntArray
from vcdebug.snapshot.json_values import JsonObject

DO_NOT_SCHEDULE = "DoNotSchedule"
SCHEDULE_ANYWAY = "ScheduleAnyway"
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

    def matches_group(self, group: LabelGroup) -> bool:
        """Whether pods of the group count."""
        if self.selector.is_empty or group.deleting or group.namespace != self.namespace:
            return False
        return self.selector.matches_labels(group.labels)


def constraints_of(spec: JsonObject, labels: Labels, action: str, gate: GateCheck) -> Constraints:
    """The pod's own constraints with this whenUnsatisfiable; raises SelectorError."""
    raw = spec.get("topologySpreadConstraints")
    if not raw:
        return ()
    return tuple(_parse_constraint(entry, labels, gate) for entry in raw if entry.get("whenUnsatisfiable") == action)


def _parse_constraint(raw: JsonObject, labels: Labels, gate: GateCheck) -> SpreadConstraint:
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


def including_rows(view: NodeView, constraint: SpreadConstraint, placement: NodeConstraints) -> BoolArray:
    """Nodes that the constraint's inclusion policies let count."""
    rows = view.labels.all_rows()
    if constraint.honor_affinity:
        rows &= view.labels.matching_required(placement.required)
    if constraint.honor_taints:
        rows &= ~view.taints.untolerated_rows(placement.tolerations)
    return rows


def rows_with_all_keys(view: NodeView, constraints: Constraints) -> BoolArray:
    """Nodes that carry the topology labels of all constraints."""
    rows = view.labels.all_rows()
    for constraint in constraints:
        rows &= view.labels.label_column(constraint.topology_key).rows_present
    return rows


class SpreadDomains(NamedTuple):
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


def spread_verdicts(
    view: NodeView, constraints: Constraints, group: LabelGroup, placement: NodeConstraints
) -> IntArray:
    """FITS or the first failing constraint's verdict, for every node of the view."""
    verdicts: IntArray = np.zeros(len(view), dtype=np.int64)
    labelled = rows_with_all_keys(view, constraints)
    for constraint in constraints:
        failing = _constraint_verdicts(constraint, spread_domains(view, constraint, labelled, group, placement))
        verdicts = np.where(verdicts == FITS, failing, verdicts)
    return verdicts


def spread_domains(
    view: NodeView, constraint: SpreadConstraint, labelled: BoolArray, group: LabelGroup, placement: NodeConstraints
) -> SpreadDomains:
    """The constraint's domains; `labelled` are the nodes that carry the keys of all constraints."""
    participating = labelled & including_rows(view, constraint, placement)
    column = view.labels.label_column(constraint.topology_key)
    counts = view.group_counts.pods_per_row(SpreadQuestion(group.namespace, constraint.selector))
    per_value, known = count_domains(column, participating, counts)
    size = int(known.sum())  # exact: ints
    lowest = int(per_value[known].min()) if size and size >= constraint.min_domains else 0
    return SpreadDomains(column, per_value, known, lowest, 1 if constraint.selector.matches_labels(group.labels) else 0)


def _constraint_verdicts(constraint: SpreadConstraint, found: SpreadDomains) -> IntArray:
    skew = found.column.spread_over_rows(found.per_value) + found.itself - found.lowest
    answer = np.where(skew > constraint.max_skew, SKEWED, FITS)
    answer[~found.column.rows_present] = MISSING_LABEL
    return answer


def count_domains(column: LabelColumn, participating: BoolArray, counts: IntArray) -> tuple[IntArray, BoolArray]:
    """Pods per label value over the participating nodes, and which values such nodes have at all."""
    ids, size = column.ids[participating], len(column.values)
    per_value = np.bincount(ids, weights=counts[participating], minlength=size).astype(np.int64)
    return per_value, np.bincount(ids, minlength=size) > 0
