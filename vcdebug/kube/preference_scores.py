"""Scores of a pod's preferences about nodes: preferred node affinity and tolerated soft taints.

Upstream: k8s plugins nodeaffinity and tainttoleration, helper DefaultNormalizeScore.
"""

import numpy as np

from vcdebug.gomath import div_rows, weighted_rows
from vcdebug.kube.node_affinity import NodeConstraints
from vcdebug.kube.node_view import NodeView
from vcdebug.model.names import FloatArray, IntArray
from vcdebug.model.node_table import constant_array

MAX_SCORE = 100


class PreferenceScores:
    """Raw scores over all nodes, cached per distinct set of constraints for the session."""

    def __init__(self, view: NodeView) -> None:
        self._view = view
        self._affinity: dict[NodeConstraints, IntArray] = {}
        self._taints: dict[NodeConstraints, tuple[IntArray, bool]] = {}
        self._tolerations: dict[tuple[NodeConstraints, int, float], FloatArray] = {}

    def node_affinity(self, placement: NodeConstraints, rows: IntArray) -> IntArray | None:
        """The normalised weights of the matching preferences per row; None if the pod has none (Skip)."""
        return None if placement.preferred is None else normalize_score(self.node_affinity_weights(placement, rows))

    def node_affinity_weights(self, placement: NodeConstraints, rows: IntArray) -> IntArray:
        """The sum of the weights of matching preferences per row, not normalised."""
        raw = self._affinity.get(placement)
        if raw is None:
            weights: IntArray = np.zeros(len(self._view), dtype=np.int64)
            for preference in placement.preferred or ():
                weights += np.where(self._view.labels.matching_term(preference.term), preference.weight, 0)
            raw = self._affinity[placement] = weights
        return raw[rows]

    def taint_toleration(self, placement: NodeConstraints, rows: IntArray, weight: float) -> FloatArray:
        """100 for the fewest untolerated PreferNoSchedule taints, times the weight."""
        raw, anywhere = self._intolerable_counts(placement)
        # Without soft taints every node gets the full score: this common case needs no array operations.
        if not anywhere:
            return constant_array(MAX_SCORE * weight, len(rows))
        highest = int(np.maximum.reduce(raw[rows], initial=0))
        key = (placement, highest, weight)
        scores = self._tolerations.get(key)
        if scores is None:
            # Computed for all nodes and cached by the highest count: rows above it are capped and never read.
            scores = weighted_rows(normalize_reversed(np.minimum(raw, highest)), weight)
            self._tolerations[key] = scores
        return scores[rows]

    def intolerable_taints(self, placement: NodeConstraints, rows: IntArray) -> IntArray:
        """The number of untolerated PreferNoSchedule taints per row."""
        return self._intolerable_counts(placement)[0][rows]

    def _intolerable_counts(self, placement: NodeConstraints) -> tuple[IntArray, bool]:
        """(number of untolerated PreferNoSchedule taints per node, whether any node has one)."""
        counts = self._taints.get(placement)
        if counts is None:
            raw = self._view.taints.intolerable_preferences(placement.tolerations)
            counts = self._taints[placement] = raw, bool(np.count_nonzero(raw))
        return counts


def normalize_score(raw: IntArray) -> IntArray:
    """Scale scores so that the highest becomes 100; unchanged if the highest is 0."""
    highest = max(0, int(raw.max())) if len(raw) else 0
    if highest == 0:
        return raw
    return div_rows(MAX_SCORE * raw, highest)


def normalize_reversed(raw: IntArray) -> IntArray:
    """Scale scores so that the highest becomes 0; all 100 if the highest is 0."""
    highest = max(0, int(raw.max())) if len(raw) else 0
    if highest == 0:
        return np.full(len(raw), MAX_SCORE, dtype=np.int64)
    return MAX_SCORE - normalize_score(raw)
