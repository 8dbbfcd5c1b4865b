"""Topology spread constraints as a filter (DoNotSchedule) and as a score (ScheduleAnyway and defaults).

Upstream: k8s plugin podtopologyspread (common, filtering, scoring).
"""

import math

import numpy as np
from msgspec import Struct

from vcdebug.gomath import FloatArray, div_rows, round_half_away_rows
from vcdebug.kube.affinity_terms import LabelGroup
from vcdebug.kube.node_affinity import NodeConstraints
from vcdebug.kube.node_labels import ABSENT_ID, LabelColumn
from vcdebug.kube.node_view import NodeView
from vcdebug.kube.pod_requests import GateCheck
from vcdebug.kube.selector import Labels, Requirement, Selector, label_selector
from vcdebug.model.names import BoolArray, IntArray
from vcdebug.snapshot.manifest import HOSTNAME_KEY, JsonObject

DO_NOT_SCHEDULE = "DoNotSchedule"
SCHEDULE_ANYWAY = "ScheduleAnyway"
FITS, MISSING_LABEL, SKEWED = range(3)
SKEWED_REASON = "node(s) didn't match pod topology spread constraints"
MISSING_LABEL_REASON = "node(s) didn't match pod topology spread constraints (missing required label)"


class SpreadConstraint(Struct, frozen=True):
    """One parsed constraint."""

    topology_key: str
    max_skew: int
    selector: Selector
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False


Constraints = tuple[SpreadConstraint, ...]


class SpreadQuestion(Struct, frozen=True):
    """The pods that a constraint counts: in its namespace, selected, not terminating; none for an empty selector."""

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
        keys = dict.fromkeys(key for key in raw.get("matchLabelKeys") or () if key in labels)
        selector = selector.with_requirements(Requirement(key, "In", (labels[key],)) for key in keys)
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


def including_rows(view: NodeView, constraint: SpreadConstraint, placement: NodeConstraints) -> BoolArray:
    """Mask of the nodes that count under the constraint's inclusion policies."""
    rows = view.labels.all_rows()
    if constraint.honor_affinity:
        rows &= view.labels.matching_required(placement.required)
    if constraint.honor_taints:
        rows &= ~view.taints.untolerated_rows(placement.tolerations)
    return rows


def rows_with_all_keys(view: NodeView, constraints: Constraints) -> BoolArray:
    """Mask of the nodes that have the topology labels of all constraints."""
    rows = view.labels.all_rows()
    for constraint in constraints:
        rows &= view.labels.label_column(constraint.topology_key).rows_present
    return rows


class SpreadDomains(Struct, frozen=True):
    """The domains of a constraint, with the numbers of pods in them."""

    column: LabelColumn
    per_value: IntArray
    """Number of matching pods per value of the topology key."""
    present: BoolArray
    """Mask of the values that participating nodes have."""
    min_match_num: int
    """The smallest number of pods in a domain; 0 if there are fewer than minDomains domains."""
    self_match_num: int
    """1 if the constraint selects the incoming pod itself, else 0."""


def spread_verdicts(
    view: NodeView, constraints: Constraints, group: LabelGroup, placement: NodeConstraints
) -> IntArray:
    """Per node of the view, FITS or the verdict of the first failing constraint."""
    verdicts: IntArray = np.zeros(len(view), dtype=np.int64)
    labelled = rows_with_all_keys(view, constraints)
    for constraint in constraints:
        failing = _constraint_verdicts(constraint, spread_domains(view, constraint, labelled, group, placement))
        verdicts = np.where(verdicts == FITS, failing, verdicts)
    return verdicts


def spread_domains(
    view: NodeView, constraint: SpreadConstraint, labelled: BoolArray, group: LabelGroup, placement: NodeConstraints
) -> SpreadDomains:
    """The constraint's domains; `labelled` is the mask of nodes with the keys of all constraints."""
    participating = labelled & including_rows(view, constraint, placement)
    column = view.labels.label_column(constraint.topology_key)
    counts = view.group_counts.pods_per_row(SpreadQuestion(group.namespace, constraint.selector))
    per_value, present = count_domains(column, participating, counts)
    size = int(present.sum())  # exact: ints
    lowest = int(per_value[present].min()) if size and size >= constraint.min_domains else 0
    return SpreadDomains(column, per_value, present, lowest, int(constraint.selector.matches_labels(group.labels)))


def _constraint_verdicts(constraint: SpreadConstraint, domains: SpreadDomains) -> IntArray:
    skew = domains.column.spread_over_rows(domains.per_value) + domains.self_match_num - domains.min_match_num
    answer = np.where(skew > constraint.max_skew, SKEWED, FITS)
    answer[~domains.column.rows_present] = MISSING_LABEL
    return answer


def count_domains(column: LabelColumn, participating: BoolArray, counts: IntArray) -> tuple[IntArray, BoolArray]:
    """(pods per label value over the participating nodes, mask of the values that these nodes have)."""
    ids, size = column.ids[participating], len(column.values)
    per_value = np.bincount(ids, weights=counts[participating], minlength=size).astype(np.int64)
    return per_value, np.bincount(ids, minlength=size) > 0


ZONE_KEY = "topology.kubernetes.io/zone"
MAX_SCORE = 100


def default_constraints(selector: Selector) -> Constraints:
    """The system's default constraints, for pods without any; empty without a selector."""
    if selector.is_empty:
        return ()
    return (SpreadConstraint(HOSTNAME_KEY, 3, selector), SpreadConstraint(ZONE_KEY, 5, selector))


class SpreadPart(Struct, frozen=True):
    """One constraint's part of the scores of the candidates."""

    constraint: SpreadConstraint
    counts: IntArray
    """Number of matching pods in each candidate's domain."""
    domains: int
    weight: float
    """The logarithm of the number of domains plus 2."""
    raw: FloatArray
    """counts × weight + maxSkew - 1; 0 for nodes without the label."""


class SpreadResult(Struct, frozen=True):
    """The scores of all candidates, with their parts."""

    parts: tuple[SpreadPart, ...]
    ignored_mask: BoolArray
    raw: IntArray
    """The rounded sum of the parts."""
    scores: IntArray


class SpreadScore:
    """Scores candidates by one pod's spread constraints."""

    def __init__(
        self,
        view: NodeView,
        constraints: Constraints,
        group: LabelGroup,
        placement: NodeConstraints,
        hosts_seem_empty: bool = False,
    ) -> None:
        """`hosts_seem_empty`: whether constraints on host names count no pods, as in some releases."""
        self._hosts_seem_empty = hosts_seem_empty
        self._view = view
        self._constraints = constraints
        self._group = group
        self._placement = placement

    def spread_result(self, rows: IntArray, *, require_all: bool) -> SpreadResult:
        """Score the candidates by every constraint."""
        labelled = rows_with_all_keys(self._view, self._constraints)
        counted_rows = labelled if require_all else self._view.labels.all_rows()
        ignored = ~counted_rows[rows]
        raw: FloatArray = np.zeros(len(rows), dtype=np.float64)
        parts = tuple([self._score_part(constraint, rows, ignored, counted_rows) for constraint in self._constraints])
        for part in parts:
            raw = raw + part.raw
        rounded = np.where(ignored, 0, round_half_away_rows(raw))
        return SpreadResult(parts, ignored, rounded, normalize_spread(rounded, ignored))

    def _score_part(
        self, constraint: SpreadConstraint, rows: IntArray, ignored: BoolArray, counted: BoolArray
    ) -> SpreadPart:
        column = self._view.labels.label_column(constraint.topology_key)
        per_row = self._view.group_counts.pods_per_row(SpreadQuestion(self._group.namespace, constraint.selector))
        # Each node is its own domain for host names: no counting by value, and as many domains as candidates.
        if constraint.topology_key == HOSTNAME_KEY:
            counts, size = per_row[rows], int((~ignored).sum())  # exact: ints
            counts = np.zeros_like(counts) if self._hosts_seem_empty else counts
        else:
            counts, size = self._domain_counts(constraint, column, rows[~ignored], counted, per_row, rows)
        weight = math.log(float(size + 2))
        part = counts.astype(np.float64) * weight + float(constraint.max_skew - 1)
        raw: FloatArray = np.where(column.rows_present[rows], part, 0.0)
        return SpreadPart(constraint, counts, size, weight, raw)

    def _domain_counts(
        self,
        constraint: SpreadConstraint,
        column: LabelColumn,
        scored: IntArray,
        counted: BoolArray,
        per_row: IntArray,
        rows: IntArray,
    ) -> tuple[IntArray, int]:
        """(pods in each candidate's domain, number of domains of the candidates that are not ignored).

        A missing label counts as the empty value.
        """
        size = len(column.values)
        # Upstream reads a missing label from Go's map as "", which is one domain like any other value.
        ids = np.where(column.ids == ABSENT_ID, column.id_of.get("", size), column.ids)
        domains = np.zeros(size + 1, dtype=np.bool_)
        domains[ids[scored]] = True
        counting = counted & including_rows(self._view, constraint, self._placement)
        per_value = np.bincount(ids[counting], weights=per_row[counting], minlength=size + 1).astype(np.int64)
        return per_value[ids[rows]], int(domains.sum())  # exact: ints


def normalize_spread(raw: IntArray, ignored: BoolArray) -> IntArray:
    """Scores from 0 to 100, highest for the fewest pods; 0 for ignored rows."""
    # Ignored rows do not count for minimum and maximum: upstream marks them before normalising.
    scored = raw[~ignored]
    highest = max(0, int(scored.max())) if len(scored) else 0
    if highest == 0:
        return np.where(ignored, 0, MAX_SCORE).astype(np.int64)
    scores = div_rows(MAX_SCORE * (highest + scored.min() - raw), highest)
    return np.where(ignored, 0, scores).astype(np.int64)
