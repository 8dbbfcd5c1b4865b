"""Topology spread constraints as a score (ScheduleAnyway, or the system's defaults).

Upstream: k8s plugin podtopologyspread (scoring).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from vcdebug.gomath import FloatArray, div_rows, round_half_away_rows
from vcdebug.kube.affinity_terms import LabelGroup
from vcdebug.kube.node_labels import ABSENT_ID, LabelColumn
from vcdebug.kube.nodeview import NodeView
from vcdebug.kube.placement import NodeConstraints
from vcdebug.kube.selector import Selector
from vcdebug.kube.topology_spread import (
    Constraints,
    SpreadConstraint,
    SpreadQuestion,
    including_rows,
    rows_with_all_keys,
)
from vcdebug.model.names import BoolArray, IntArray

HOSTNAME_KEY = "kubernetes.io/hostname"
ZONE_KEY = "topology.kubernetes.io/zone"
MAX_SCORE = 100


def default_constraints(selector: Selector) -> Constraints:
    """The system's constraints for pods that state none; no constraint without a selector."""
    if selector.is_empty:
        return ()
    return (SpreadConstraint(HOSTNAME_KEY, 3, selector), SpreadConstraint(ZONE_KEY, 5, selector))


class SpreadPart(NamedTuple):
    """One constraint over the candidate rows."""

    constraint: SpreadConstraint
    counts: IntArray
    """Matching pods in each candidate's domain."""
    domains: int
    weight: float
    """The logarithm of the number of domains and 2."""
    raw: FloatArray
    """counts × weight + maxSkew - 1; 0 where the node lacks the label."""


class SpreadResult(NamedTuple):
    """The score of every candidate, and what it was made of."""

    parts: tuple[SpreadPart, ...]
    ignored: BoolArray
    raw: IntArray
    """The sum of the parts, rounded."""
    scores: IntArray


class SpreadScore:
    """Scores of one pod's constraints over the candidate rows."""

    def __init__(
        self,
        view: NodeView,
        constraints: Constraints,
        group: LabelGroup,
        placement: NodeConstraints,
        hosts_seem_empty: bool = False,
    ) -> None:
        """`hosts_seem_empty`: no pod is seen where a constraint is about host names."""
        self._hosts_seem_empty = hosts_seem_empty
        self._view = view
        self._constraints = constraints
        self._group = group
        self._placement = placement

    def spread_scores(self, rows: IntArray, *, require_all: bool) -> IntArray:
        """0 to 100 per candidate row, ignored rows 0."""
        return self.spread_result(rows, require_all=require_all).scores

    def spread_result(self, rows: IntArray, *, require_all: bool) -> SpreadResult:
        """Every constraint over the candidates, their sum, and the scores."""
        labelled = rows_with_all_keys(self._view, self._constraints)
        counted = labelled if require_all else self._view.labels.all_rows()
        ignored = ~counted[rows]
        raw: FloatArray = np.zeros(len(rows), dtype=np.float64)
        parts = tuple([self._score_part(constraint, rows, ignored, counted) for constraint in self._constraints])
        for part in parts:
            raw = raw + part.raw
        whole = np.where(ignored, 0, round_half_away_rows(raw))
        return SpreadResult(parts, ignored, whole, normalize_spread(whole, ignored))

    def _score_part(
        self, constraint: SpreadConstraint, rows: IntArray, ignored: BoolArray, counted: BoolArray
    ) -> SpreadPart:
        column = self._view.labels.label_column(constraint.topology_key)
        per_row = self._view.group_counts.pods_per_row(SpreadQuestion(self._group.namespace, constraint.selector))
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
        kept: IntArray,
        counted: BoolArray,
        per_row: IntArray,
        rows: IntArray,
    ) -> tuple[IntArray, int]:
        """Pods per candidate's domain, and the number of domains among the candidates that are not ignored.

        A missing label counts as the empty value.
        """
        size = len(column.values)
        ids = np.where(column.ids == ABSENT_ID, column.id_of.get("", size), column.ids)
        domains = np.zeros(size + 1, dtype=np.bool_)
        domains[ids[kept]] = True
        counting = counted & including_rows(self._view, constraint, self._placement)
        per_value = np.bincount(ids[counting], weights=per_row[counting], minlength=size + 1).astype(np.int64)
        return per_value[ids[rows]], int(domains.sum())  # exact: ints


def normalize_spread(raw: IntArray, ignored: BoolArray) -> IntArray:
    """0 to 100 where the fewest pods are; 0 for rows that are ignored."""
    kept = raw[~ignored]
    highest = max(0, int(kept.max())) if len(kept) else 0
    if highest == 0:
        return np.where(ignored, 0, MAX_SCORE).astype(np.int64)
    scores = div_rows(MAX_SCORE * (highest + kept.min() - raw), highest)
    return np.where(ignored, 0, scores).astype(np.int64)
