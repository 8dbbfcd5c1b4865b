"""Preferred pod affinity as a score.

Upstream: k8s plugin interpodaffinity (scoring).
"""

from __future__ import annotations

import numpy as np

from vcdebug.gomath import FloatArray, trunc_rows
from vcdebug.kube.affinity_terms import AffinityTerm, LabelGroup
from vcdebug.kube.nodeview import NodeView
from vcdebug.kube.pod_affinity import Incoming, IncomingTermsTable, PairCounts
from vcdebug.kube.pod_shape import PodShape
from vcdebug.kube.selector import Labels
from vcdebug.model.names import BoolArray, IntArray


class PreferredPodAffinity:
    """The scorer over one session's view.

    A pod without preferences of its own sees only nodes that held pods with affinity at session open.
    """

    def __init__(self, view: NodeView, table: IncomingTermsTable) -> None:
        self._view = view
        self._table = table
        self._affinity_rows: BoolArray = view.rows_with_affinity()
        self._about: dict[tuple[AffinityTerm, LabelGroup], bool] = {}

    def raw(self, shape: PodShape, rows: IntArray) -> IntArray | None:
        """Summed weights per row; None when no term of anybody met a pod (Skip)."""
        incoming = self._table.incoming(shape.affinity)
        weights: PairCounts = {}
        self._own_terms(weights, incoming)
        self._terms_of_others(weights, shape, everywhere=bool(incoming.preferred))
        if not weights:
            return None
        total: IntArray = np.zeros(len(rows), dtype=np.int64)
        for key, per_value in weights.items():
            total += per_value[self._view.labels.column(key).ids[rows]]
        return total

    def _own_terms(self, weights: PairCounts, incoming: Incoming) -> None:
        for term, weight in incoming.preferred:
            self._weigh(weights, term.topology_key, self._view.counts.per_row(term), weight)

    def _terms_of_others(self, weights: PairCounts, shape: PodShape, *, everywhere: bool) -> None:
        namespace_labels = self._table.namespace_labels(shape.group.namespace)
        for term, owners, sign in self._view.counts.preferred_terms():
            if self._is_about(term, shape.group, namespace_labels):
                per_row = owners if everywhere else owners * self._affinity_rows
                self._weigh(weights, term.topology_key, per_row, sign * term.weight)

    def _is_about(self, term: AffinityTerm, group: LabelGroup, namespace_labels: Labels | None) -> bool:
        known = self._about.get((term, group))
        if known is None:
            known = self._about[term, group] = term.matches(group, namespace_labels)
        return known

    def _weigh(self, weights: PairCounts, key: str, per_row: IntArray, weight: int) -> None:
        """Add weight × pods per label value; a key appears as soon as one pod counts, even if the sums cancel."""
        counts = self._view.labels.column(key).counts(per_row)
        if np.count_nonzero(counts):
            weighted = counts * weight
            weights[key] = weights[key] + weighted if key in weights else weighted


def normalized(raw: IntArray) -> IntArray:
    """0 to 100 between the smallest and the largest weight; all 0 when they are equal."""
    if not len(raw):
        return raw
    lowest, span = raw.min(), raw.max() - raw.min()
    if span <= 0:
        return np.zeros(len(raw), dtype=np.int64)
    share: FloatArray = (raw - lowest).astype(np.float64) / np.float64(span)
    return trunc_rows(100.0 * share)
