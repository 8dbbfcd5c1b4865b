"""Preferred pod affinity as a score.

Upstream: k8s plugin interpodaffinity (scoring).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from vcdebug.gomath import FloatArray, trunc_rows
from vcdebug.kube.affinity_terms import AffinityTerm, LabelGroup
from vcdebug.kube.node_view import NodeView
from vcdebug.kube.pod_affinity import IncomingTermsTable, PairCounts
from vcdebug.kube.pod_shape import PodShape
from vcdebug.kube.selector import Labels
from vcdebug.model.names import BoolArray, IntArray, Row


class WeightedTerm(NamedTuple):
    """A term that weighs nodes, of the pod itself or of pods that are placed."""

    term: AffinityTerm
    per_row: IntArray
    """Pods that it is about on each node; of a placed pod's term, those that have the term."""
    weight: int
    own: bool


class ScoreContribution(NamedTuple):
    """What a term adds to one node."""

    term: AffinityTerm
    own: bool
    domain: str | None
    """The node's value of the topology key; None without one."""
    pods: int
    weight: int

    @property
    def added_score(self) -> int:
        """Pods in the domain times the weight."""
        return self.pods * self.weight


class PreferredPodAffinity:
    """The scorer over one session's view.

    A pod without preferences of its own sees only nodes that held pods with affinity at session open.
    """

    def __init__(self, view: NodeView, table: IncomingTermsTable) -> None:
        self._view = view
        self._table = table
        self._affinity_rows: BoolArray = view.rows_with_affinity()
        self._about: dict[tuple[AffinityTerm, LabelGroup], bool] = {}

    def raw_scores(self, shape: PodShape, rows: IntArray) -> IntArray | None:
        """Summed weights per row; None when no term of anybody met a pod (Skip)."""
        weights: PairCounts = {}
        for wish in self._weighted_terms(shape):
            self._add_weight(weights, wish.term.topology_key, wish.per_row, wish.weight)
        if not weights:
            return None
        total: IntArray = np.zeros(len(rows), dtype=np.int64)
        for key, per_value in weights.items():
            total += per_value[self._view.labels.label_column(key).ids[rows]]
        return total

    def score_contributions(self, shape: PodShape, row: Row) -> Iterator[ScoreContribution]:
        """What each term adds to one node; they sum up to its raw score."""
        for wish in self._weighted_terms(shape):
            column = self._view.labels.label_column(wish.term.topology_key)
            value = int(column.ids[row])
            pods = int(column.count_by_value(wish.per_row)[value])
            domain = column.values[value] if value >= 0 else None
            yield ScoreContribution(wish.term, wish.own, domain, pods, wish.weight)

    def _weighted_terms(self, shape: PodShape) -> Iterator[WeightedTerm]:
        incoming = self._table.incoming_terms(shape.affinity)
        for own, weight in incoming.preferred:
            yield WeightedTerm(own.term, self._view.group_counts.pods_per_row(own.pods), weight, True)
        namespace_labels = self._table.namespace_labels(shape.group.namespace)
        for term, owners, sign in self._view.owners.preferred_terms():
            if self._is_about(term, shape.group, namespace_labels):
                per_row = owners if incoming.preferred else owners * self._affinity_rows
                yield WeightedTerm(term, per_row, sign * term.weight, False)

    def _is_about(self, term: AffinityTerm, group: LabelGroup, namespace_labels: Labels | None) -> bool:
        known = self._about.get((term, group))
        if known is None:
            known = self._about[term, group] = term.matches_group(group, namespace_labels)
        return known

    def _add_weight(self, weights: PairCounts, key: str, per_row: IntArray, weight: int) -> None:
        """Add weight × pods per label value; a key appears as soon as one pod counts, even if the sums cancel."""
        counts = self._view.labels.label_column(key).count_by_value(per_row)
        if np.count_nonzero(counts):
            weighted = counts * weight
            weights[key] = weights[key] + weighted if key in weights else weighted


def normalize_weights(raw: IntArray) -> IntArray:
    """0 to 100 between the smallest and the largest weight; all 0 when they are equal."""
    if not len(raw):
        return raw
    lowest, span = raw.min(), raw.max() - raw.min()
    if span <= 0:
        return np.zeros(len(raw), dtype=np.int64)
    share: FloatArray = (raw - lowest).astype(np.float64) / np.float64(span)
    return trunc_rows(100.0 * share)
