"""The Kubernetes filters in the shape the predicates plugin runs them: PreFilter, Filter, and their texts.

Upstream: plugins/predicates, k8s framework plugins.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from vcdebug.kube.cycle_state import CycleState
from vcdebug.kube.listers import Listers
from vcdebug.kube.nodeview import NodeView
from vcdebug.kube.pod_affinity import (
    AFFINITY_REASON,
    ANTI_AFFINITY_REASON,
    EXISTING_ANTI_AFFINITY_REASON,
    AffinityState,
    IncomingTermsTable,
    InterPodAffinity,
)
from vcdebug.kube.ports import NO_FREE_PORTS
from vcdebug.kube.selector import SelectorError
from vcdebug.kube.topology_spread import (
    DO_NOT_SCHEDULE,
    MISSING_LABEL_REASON,
    SKEWED_REASON,
    Constraints,
    constraints_of,
    spread_verdicts,
)
from vcdebug.model.fiterror import ERROR, UNSCHEDULABLE, UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus
from vcdebug.model.names import IntArray
from vcdebug.model.pod import Pod
from vcdebug.plugins.predicates.verdicts import FilterVerdict, VerdictChain, fail_all, fail_where
from vcdebug.releases.nodes import POD_AFFINITY_UNRESOLVABLE


class PreFilterError(Exception):
    """PreFilter failed; the text is upstream's message."""


class KubernetesFilter(Protocol):
    """One Kubernetes plugin's PreFilter and Filter."""

    name: str
    foretells: bool
    """Whether what PreFilter counted settles the answer about every node, whatever happens on it later."""

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        """Prepare the pod's state; False means Skip; raises PreFilterError."""
        ...

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> FilterVerdict:
        """Judge these rows."""
        ...


def run_filter(candidate: KubernetesFilter, chain: VerdictChain, pod: Pod, state: CycleState, rows: IntArray) -> None:
    """Ask a filter about the rows that are left."""
    alive = chain.alive_rows
    if np.count_nonzero(alive) == len(rows):
        chain.add_verdict(candidate.filter(pod, state, rows))
        return
    alive = alive.copy()
    verdict = candidate.filter(pod, state, rows[alive])
    index = np.zeros(len(rows), dtype=np.int64)
    index[alive] = verdict.failing
    chain.add_verdict(verdict._replace(failing=index))


class NodePortsFilter:
    """Host ports must be free."""

    name = "NodePorts"
    foretells = False
    STATE = "PreFilterNodePorts"
    FAILED = FitStatus(UNSCHEDULABLE, NO_FREE_PORTS)

    def __init__(self, view: NodeView) -> None:
        self._view = view

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        wanted = self._view.shapes.pod_shape(pod).ports
        if wanted:
            state.data[self.STATE] = wanted
        return bool(wanted)

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> FilterVerdict:
        wanted = state.data.get(self.STATE)
        if not isinstance(wanted, tuple):
            return fail_all(FitStatus(ERROR, f'reading "{self.STATE}" from cycleState: not found'), len(rows))
        taken = list(self._view.ports.conflicting_rows(wanted))
        return fail_where(self.FAILED, np.isin(rows, taken))


class InterPodAffinityFilter:
    """Pod affinity and anti-affinity, the pod's own and that of pods already placed."""

    name = "InterPodAffinity"
    foretells = True
    STATE = "PreFilterInterPodAffinity"
    MISSING = f'error reading "{STATE}" from cycleState: not found'
    STATUSES = (
        FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, AFFINITY_REASON),
        FitStatus(UNSCHEDULABLE, ANTI_AFFINITY_REASON),
        FitStatus(UNSCHEDULABLE, EXISTING_ANTI_AFFINITY_REASON),
    )
    UNRESOLVABLE = tuple(status._replace(code=UNSCHEDULABLE_AND_UNRESOLVABLE) for status in STATUSES)

    def __init__(self, view: NodeView, listers: Listers) -> None:
        self._view = view
        final = listers.flags.release.has_older_form(POD_AFFINITY_UNRESOLVABLE)
        self._statuses = self.UNRESOLVABLE if final else self.STATUSES
        self._missing_code = UNSCHEDULABLE_AND_UNRESOLVABLE if final else ERROR
        self._check = InterPodAffinity(view, IncomingTermsTable(listers.namespace_labels))

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        shape = self._view.shapes.pod_shape(pod)
        if shape.affinity.error:
            raise PreFilterError(f"parsing pod: {shape.affinity.error}")
        counted = self._check.pre_filter(shape)
        if counted is None:
            return False
        state.data[self.STATE] = counted
        return True

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> FilterVerdict:
        counted = state.data.get(self.STATE)
        if not isinstance(counted, AffinityState):
            return fail_all(FitStatus(self._missing_code, self.MISSING), len(rows))
        return FilterVerdict(self._statuses, self._check.filter(counted, rows))

    def overlooks_anti_affinity(self, pod: Pod, row: int) -> bool:
        """Whether later pods will not see this pod's required anti-affinity on the node."""
        return self._check.overlooks_anti_affinity(self._view.shapes.pod_shape(pod), row)

    def simulate_pod(self, state: CycleState, other: Pod, row: int, sign: int) -> str | None:
        """Another pod comes (sign 1) or leaves (sign -1) in a simulation; the error text without a state."""
        counted = state.data.get(self.STATE)
        if not isinstance(counted, AffinityState):
            return self.MISSING
        self._check.update_counts(counted, self._view.shapes.pod_shape(other), row, sign)
        return None


class PodTopologySpreadFilter:
    """Hard topology spread constraints."""

    name = "PodTopologySpread"
    foretells = True
    STATE = "PreFilterPodTopologySpread"
    STATUSES = (
        FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, MISSING_LABEL_REASON),
        FitStatus(UNSCHEDULABLE, SKEWED_REASON),
    )

    def __init__(self, view: NodeView, listers: Listers) -> None:
        self._view = view
        self._gate = listers.flags.is_gate_on

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        try:
            constraints = self.hard_constraints(pod)
        except SelectorError as error:
            text = f"get constraints from pod: obtaining pod's hard topology spread constraints: {error}"
            raise PreFilterError(text) from error
        if not constraints:
            return False
        shapes = self._view.shapes
        state.data[self.STATE] = spread_verdicts(
            self._view, constraints, shapes.label_group(pod), shapes.node_constraints(pod)
        )
        return True

    def hard_constraints(self, pod: Pod) -> Constraints:
        """The pod's hard constraints; raises SelectorError."""
        return constraints_of(pod.spec, pod.labels, DO_NOT_SCHEDULE, self._gate)

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> FilterVerdict:
        verdicts = state.data.get(self.STATE)
        if not isinstance(verdicts, np.ndarray):
            return fail_all(FitStatus(ERROR, f'reading "{self.STATE}" from cycleState: not found'), len(rows))
        return FilterVerdict(self.STATUSES, verdicts[rows])
