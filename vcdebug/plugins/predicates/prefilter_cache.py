"""Cached verdicts about all nodes after PreFilter, for pods whose filters do not depend on later changes.

Upstream: none; plugins/predicates asks every filter at every node.
"""

from collections.abc import Sequence

import numpy as np

from vcdebug.kube.node_affinity import NodeConstraints
from vcdebug.kube.node_view import CycleState, NodeView
from vcdebug.model.fit_errors import ReasonTable
from vcdebug.model.names import Codes, IntArray, Row
from vcdebug.model.pod import Pod
from vcdebug.plugins.predicates.filters import (
    TOO_MANY_PODS,
    FilterVerdict,
    KubernetesFilter,
    VerdictChain,
    fail_all,
    run_filter,
)
from vcdebug.plugins.predicates.static_filters import StaticFilters


class PreFilterVerdicts:
    """The codes of all nodes for a pod, valid until its PreFilter runs again."""

    __slots__ = ("pod_filters", "codes", "pod", "state")

    def __init__(self, pod: Pod, state: CycleState, pod_filters: Sequence[KubernetesFilter] = ()) -> None:
        self.pod = pod
        self.state = state
        self.pod_filters = pod_filters
        """The filters that do not skip the pod, in order, after the stable filters."""
        self.codes: dict[bool, Codes] = {}
        """Codes for nodes below their pod limit (False) and at it (True), computed on demand."""


class PreFilterCache:
    """Cached verdicts about the tasks of one session."""

    def __init__(
        self,
        view: NodeView,
        reasons: ReasonTable,
        stable: StaticFilters,
        most_pods: IntArray,
        filters: Sequence[KubernetesFilter],
    ) -> None:
        self._view = view
        self._reasons = reasons
        self._static_filters = stable
        self._most_pods = most_pods
        self._filters = filters
        self._all_rows: IntArray = np.arange(len(view), dtype=np.int64)
        self._by_constraints: dict[NodeConstraints, PreFilterVerdicts] = {}
        """Verdicts for pods that all other filters skip, by node constraints."""
        self._last: tuple[CycleState, PreFilterVerdicts | None] | None = None

    def clear_last(self) -> None:
        """Drop the last pod's verdicts because PreFilter runs again."""
        self._last = None

    def verdicts_for(self, pod: Pod, state: CycleState) -> PreFilterVerdicts | None:
        """The pod's verdicts; None if some filter must check each node."""
        last = self._last
        if last is None or last[0] is not state:
            last = self._last = (state, self._new_verdicts(pod, state))
        return last[1]

    def _new_verdicts(self, pod: Pod, state: CycleState) -> PreFilterVerdicts | None:
        pod_filters: list[KubernetesFilter] = []
        for candidate in self._filters:
            if candidate.name not in state.skip:
                if not candidate.decides_every_node:
                    return None
                pod_filters.append(candidate)
        return PreFilterVerdicts(pod, state, pod_filters) if pod_filters else self._verdicts_by_placement(pod, state)

    def _verdicts_by_placement(self, pod: Pod, state: CycleState) -> PreFilterVerdicts:
        """The verdicts that all pods with the same node constraints share."""
        constraints = self._view.shapes.node_constraints(pod)
        verdicts = self._by_constraints.get(constraints)
        if verdicts is None:
            verdicts = self._by_constraints[constraints] = PreFilterVerdicts(pod, state)
        return verdicts

    def code_of_row(self, verdicts: PreFilterVerdicts, row: Row) -> int:
        """The code of one node, which actions ask for again after each eviction."""
        full: bool = self._most_pods.item(row) <= self._view.pod_count.item(row)
        return self._cached_codes(verdicts, full).item(row)

    def codes_of_all(self, verdicts: PreFilterVerdicts) -> Codes:
        """The codes of all nodes; the array must not be written to."""
        full = self._most_pods <= self._view.pod_count
        free = self._cached_codes(verdicts, False)
        return np.where(full, self._cached_codes(verdicts, True), free) if np.count_nonzero(full) else free

    def _cached_codes(self, verdicts: PreFilterVerdicts, full: bool) -> Codes:
        codes = verdicts.codes.get(full)
        if codes is None:
            codes = verdicts.codes[full] = self._compute_codes(verdicts, full)
        return codes

    def _compute_codes(self, verdicts: PreFilterVerdicts, full: bool) -> Codes:
        """Compute the codes in upstream's order: pod limit, stable filters, then other filters.
        Upstream: plugins/predicates.predicateByStablefilter.
        """
        pod, size = verdicts.pod, len(self._all_rows)
        if verdicts.pod_filters:
            chain = VerdictChain(
                self._reasons, self._cached_codes(self._verdicts_by_placement(pod, verdicts.state), full)
            )
            for candidate in verdicts.pod_filters:
                run_filter(candidate, chain, pod, verdicts.state, self._all_rows)
            return chain.row_codes()
        chain = VerdictChain(self._reasons, np.zeros(size, dtype=np.uint16))
        if full:
            chain.add_verdict(fail_all(TOO_MANY_PODS, size))
        index = self._static_filters.verdict_index(self._view.shapes.node_constraints(pod))  # may extend the statuses
        chain.add_verdict(FilterVerdict(self._static_filters.statuses, index))
        codes = chain.row_codes()
        codes.flags.writeable = False
        return codes
