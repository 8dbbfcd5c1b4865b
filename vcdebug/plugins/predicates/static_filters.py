"""The stable filters (cordon, node affinity, taints): decided once per distinct node constraints, for all nodes.

Upstream: plugins/predicates (stable filters, predicateCache).
"""

import numpy as np

from vcdebug.kube.node_affinity import NodeConstraints
from vcdebug.kube.node_view import NodeView
from vcdebug.kube.taints import Taint, tolerates_cordon
from vcdebug.model.fit_errors import ERROR, UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus
from vcdebug.model.names import BoolArray, IntArray
from vcdebug.plugins.predicates.filters import INDEX_DTYPE

TEMPLATE_ANNOTATION = "volcano.sh/template-uid"
CORDONED, AFFINITY, TAINTED, CACHED = 1, 2, 3, 4
STATUSES = (
    FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) were unschedulable"),
    FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) didn't match Pod's node affinity/selector"),
    FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) had untolerated taint(s)"),
    FitStatus(ERROR, "plugin equivalence cache predicates failed", "predicate.CacheEnable"),
)


class StaticFilters:
    """The verdicts of the stable filters: the first failing filter per node."""

    def __init__(
        self, view: NodeView, *, affinity_on: bool, taints_on: bool, taints_named: bool = False, affinity_first: bool
    ) -> None:
        """`taints_named`: whether reasons name the taint; `affinity_first`: whether affinity precedes the cordon."""
        self._view = view
        self.statuses: tuple[FitStatus, ...] = STATUSES
        self._taint_positions: dict[Taint, int] | None = {} if taints_named else None
        """Taint → number of the status that names it; None if reasons do not name taints."""
        self._affinity_first = affinity_first
        self.affinity_on, self.taints_on = affinity_on, taints_on
        self._indexes: dict[NodeConstraints, IntArray] = {}

    def verdict_index(self, placement: NodeConstraints) -> IntArray:
        """For every node of the view, the number of its status in `statuses`, 0 if it fits."""
        index = self._indexes.get(placement)
        if index is None:
            index = self._indexes[placement] = self._compute_index(placement)
        return index

    def _compute_index(self, placement: NodeConstraints) -> IntArray:
        view = self._view
        index: IntArray = np.zeros(len(view), dtype=INDEX_DTYPE)
        if self.taints_on:
            index = self._tainted_index(placement)
        cordons = not tolerates_cordon(placement.tolerations)
        if cordons and self._affinity_first:
            index[view.taints.cordoned] = CORDONED
        if self.affinity_on and not placement.required.accepts_everything:
            index[~view.labels.matching_required(placement.required)] = AFFINITY
        if cordons and not self._affinity_first:
            index[view.taints.cordoned] = CORDONED
        return index

    def _tainted_index(self, placement: NodeConstraints) -> IntArray:
        taints = self._view.taints
        if self._taint_positions is None:
            return np.where(taints.untolerated_rows(placement.tolerations), TAINTED, 0).astype(INDEX_DTYPE)
        first, kinds = taints.first_untolerated(placement.tolerations)
        positions = np.array(
            [0 if taint is None else self._status_position(self._taint_positions, taint) for taint in first],
            INDEX_DTYPE,
        )
        rows: IntArray = positions[kinds]
        return rows

    def _status_position(self, positions: dict[Taint, int], taint: Taint) -> int:
        if taint not in positions:
            text = f"node(s) had untolerated taint {{{taint.key}: {taint.value}}}"
            self.statuses = (*self.statuses, FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, text))
            positions[taint] = len(self.statuses)
        return positions[taint]


class EquivalenceCache:
    """Per pod template and node, whether the stable filters passed; cached failures have code Error and no reason."""

    UNKNOWN, FAILED, PASSED = -1, 0, 1

    def __init__(self, size: int) -> None:
        self._size = size
        self._passing_rows: dict[str, IntArray] = {}

    def cached_verdict(self, template: str, row: int) -> int:
        """UNKNOWN, FAILED or PASSED, for a pod template on one node."""
        passed = self._passing_rows.get(template)
        return self.UNKNOWN if passed is None else int(passed[row])

    def predicate_with_cache(self, template: str, rows: IntArray, index: IntArray) -> IntArray:
        """Replace verdicts by cached ones; cache new ones. Upstream: plugins/predicates/cache.PredicateWithCache."""
        if not template:
            return index
        remembered = self._passing_rows.get(template)
        if remembered is None:
            remembered = self._passing_rows[template] = np.full(self._size, self.UNKNOWN, dtype=INDEX_DTYPE)
        before = remembered[rows]
        fresh: BoolArray = before == self.UNKNOWN
        remembered[rows[fresh]] = np.where(index[fresh] == 0, self.PASSED, self.FAILED)
        return np.where(fresh, index, np.where(before == self.PASSED, 0, CACHED))
