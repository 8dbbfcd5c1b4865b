"""The Kubernetes filters in the shape the predicates plugin runs them: PreFilter, Filter, and their texts.

Upstream: plugins/predicates, k8s framework plugins.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from vcdebug.kube.cycle_state import CycleState
from vcdebug.kube.dynamic_resources import (
    NOT_ON_NODE,
    ClaimState,
    DynamicResources,
    DynamicResourcesError,
    available_on,
)
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
from vcdebug.kube.ports import NO_FREE_PORTS, host_ports
from vcdebug.kube.selector import SelectorError
from vcdebug.kube.topology_spread import (
    HARD,
    MISSING_LABEL_REASON,
    SKEWED_REASON,
    constraints_of,
    spread_verdicts,
)
from vcdebug.kube.volume_binding import VolumeBinding, VolumeBindingError, VolumeState
from vcdebug.kube.volume_limits import VolumeLimits, has_limited_volumes
from vcdebug.kube.volume_zone import CONFLICT, VolumeZoneError, outside_zone, zone_limits
from vcdebug.model.fiterror import ERROR, UNSCHEDULABLE, UNSCHEDULABLE_AND_UNRESOLVABLE, Status
from vcdebug.model.names import IntArray
from vcdebug.model.pod import Pod
from vcdebug.plugins.predicates.verdicts import INDEX, Verdict, everywhere, where


class PreFilterError(Exception):
    """PreFilter failed; the text is upstream's message."""


class Filter(Protocol):
    """One Kubernetes plugin's PreFilter and Filter."""

    name: str

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        """Prepare the pod's state; False means Skip; raises PreFilterError."""
        ...

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> Verdict:
        """Judge these rows."""
        ...


class NodePortsFilter:
    """Host ports must be free."""

    name = "NodePorts"
    STATE = "PreFilterNodePorts"
    FAILED = Status(UNSCHEDULABLE, NO_FREE_PORTS)

    def __init__(self, view: NodeView) -> None:
        self._view = view

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        wanted = host_ports(pod.spec)
        if wanted:
            state.data[self.STATE] = wanted
        return bool(wanted)

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> Verdict:
        wanted = state.data.get(self.STATE)
        if not isinstance(wanted, tuple):
            return everywhere(Status(ERROR, f'reading "{self.STATE}" from cycleState: not found'), len(rows))
        taken = list(self._view.ports.conflicts(wanted))
        return where(self.FAILED, np.isin(rows, taken))


class InterPodAffinityFilter:
    """Pod affinity and anti-affinity, the pod's own and that of pods already placed."""

    name = "InterPodAffinity"
    STATE = "PreFilterInterPodAffinity"
    MISSING = f'error reading "{STATE}" from cycleState: not found'
    STATUSES = (
        Status(UNSCHEDULABLE_AND_UNRESOLVABLE, AFFINITY_REASON),
        Status(UNSCHEDULABLE, ANTI_AFFINITY_REASON),
        Status(UNSCHEDULABLE, EXISTING_ANTI_AFFINITY_REASON),
    )

    def __init__(self, view: NodeView, listers: Listers) -> None:
        self._view = view
        self._check = InterPodAffinity(view, IncomingTermsTable(listers.namespace_labels))

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        shape = self._view.shapes.shape(pod)
        if shape.affinity.error:
            raise PreFilterError(f"parsing pod: {shape.affinity.error}")
        counted = self._check.pre_filter(shape)
        if counted is None:
            return False
        state.data[self.STATE] = counted
        return True

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> Verdict:
        counted = state.data.get(self.STATE)
        if not isinstance(counted, AffinityState):
            return everywhere(Status(ERROR, self.MISSING), len(rows))
        return Verdict(self.STATUSES, self._check.filter(counted, rows))

    def simulate(self, state: CycleState, other: Pod, row: int, sign: int) -> str | None:
        """Another pod comes (sign 1) or leaves (sign -1) in a simulation; the error text without a state."""
        counted = state.data.get(self.STATE)
        if not isinstance(counted, AffinityState):
            return self.MISSING
        self._check.update(counted, self._view.shapes.shape(other), row, sign)
        return None


class NodeVolumeLimitsFilter:
    """A node attaches only so many volumes of a CSI driver."""

    name = "NodeVolumeLimits"

    def __init__(self, view: NodeView, listers: Listers) -> None:
        self._view = view
        self._check = VolumeLimits(listers)

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        return has_limited_volumes(pod)

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> Verdict:
        names, pods = self._view.names, self._view.pods
        statuses = [self._check.check(pod, names[row], (shape.pod for shape in pods[row])) for row in rows.tolist()]
        return _collected(statuses)


class VolumeZoneFilter:
    """Bound volumes with zone labels need a node in one of those zones."""

    name = "VolumeZone"
    STATE = "PreFilterVolumeZone"
    FAILED = Status(UNSCHEDULABLE_AND_UNRESOLVABLE, CONFLICT)

    def __init__(self, view: NodeView, listers: Listers) -> None:
        self._view = view
        self._listers = listers

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        try:
            limits = zone_limits(pod, self._listers)
        except VolumeZoneError as error:
            raise PreFilterError(str(error)) from error
        if limits:
            state.data[self.STATE] = limits
        return bool(limits)

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> Verdict:
        limits = state.data.get(self.STATE)
        if not isinstance(limits, tuple):
            try:
                limits = zone_limits(pod, self._listers)
            except VolumeZoneError as error:
                return everywhere(Status(UNSCHEDULABLE_AND_UNRESOLVABLE, str(error)), len(rows))
        return where(self.FAILED, outside_zone(limits, self._view.labels, rows))


class PodTopologySpreadFilter:
    """Hard topology spread constraints."""

    name = "PodTopologySpread"
    STATE = "PreFilterPodTopologySpread"
    STATUSES = (
        Status(UNSCHEDULABLE_AND_UNRESOLVABLE, MISSING_LABEL_REASON),
        Status(UNSCHEDULABLE, SKEWED_REASON),
    )

    def __init__(self, view: NodeView, listers: Listers) -> None:
        self._view = view
        self._gate = listers.flags.gate

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        try:
            constraints = constraints_of(pod.spec, pod.labels, HARD, self._gate)
        except SelectorError as error:
            text = f"get constraints from pod: obtaining pod's hard topology spread constraints: {error}"
            raise PreFilterError(text) from error
        if not constraints:
            return False
        shapes = self._view.shapes
        state.data[self.STATE] = spread_verdicts(self._view, constraints, shapes.group(pod), shapes.placement(pod))
        return True

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> Verdict:
        verdicts = state.data.get(self.STATE)
        if not isinstance(verdicts, np.ndarray):
            return everywhere(Status(ERROR, f'reading "{self.STATE}" from cycleState: not found'), len(rows))
        return Verdict(self.STATUSES, verdicts[rows])


class VolumeBindingFilter:
    """Bound volumes must be reachable, unbound ones available or provisionable."""

    name = "VolumeBinding"
    STATE = "VolumeBinding"

    def __init__(self, view: NodeView, listers: Listers) -> None:
        self._view = view
        self._check = VolumeBinding(listers)

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        try:
            volumes = self._check.pre_filter(pod)
        except VolumeBindingError as error:
            raise PreFilterError(str(error)) from error
        state.data[self.STATE] = VolumeState() if volumes is None else volumes
        return volumes is not None

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> Verdict:
        volumes = state.data.get(self.STATE)
        if not isinstance(volumes, VolumeState):
            return everywhere(Status(ERROR, "not found"), len(rows))
        view = self._view
        return _collected(
            [self._check.filter(volumes, view.names[row], view.labels.labels[row]) for row in rows.tolist()]
        )

    def reserve(self, state: CycleState, node: str) -> str | None:
        """Assume the volumes of the node; the error text without a state."""
        volumes = state.data.get(self.STATE)
        if not isinstance(volumes, VolumeState):
            return "not found"
        self._check.reserve(volumes, node)
        return None

    def unreserve(self, state: CycleState, node: str) -> None:
        """Give the volumes of the node back."""
        volumes = state.data.get(self.STATE)
        if isinstance(volumes, VolumeState):
            self._check.unreserve(volumes, node)


class DynamicResourcesFilter:
    """Resource claims, as far as a snapshot decides them."""

    name = "DynamicResources"
    STATE = "DynamicResources"
    FAILED = Status(UNSCHEDULABLE_AND_UNRESOLVABLE, NOT_ON_NODE)

    def __init__(self, view: NodeView, listers: Listers) -> None:
        self._view = view
        self._check = DynamicResources(listers)

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        try:
            claims = self._check.pre_filter(pod)
        except DynamicResourcesError as error:
            raise PreFilterError(str(error)) from error
        state.data[self.STATE] = claims
        return bool(pod.spec.get("resourceClaims"))

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> Verdict:
        claims = state.data.get(self.STATE)
        if not isinstance(claims, ClaimState):
            return everywhere(Status(ERROR, "not found"), len(rows))
        labels = self._view.labels
        failing = [not available_on(claims, labels.labels[row], labels.names[row]) for row in rows.tolist()]
        return where(self.FAILED, np.array(failing, dtype=np.bool_))

    def reserve(self, state: CycleState, node: str) -> str | None:
        """The error text where no allocation is known for the node."""
        claims = state.data.get(self.STATE)
        if not isinstance(claims, ClaimState):
            return "not found"
        if claims.unallocated and not node:
            return "claim allocation not found for node"
        return None

    def unreserve(self, state: CycleState, node: str) -> None:
        """Nothing is kept, so nothing is given back."""


def _collected(statuses: list[Status | None]) -> Verdict:
    """A verdict from one status per row."""
    position: dict[Status, int] = {}
    index = [0 if s is None else position.setdefault(s, len(position) + 1) for s in statuses]
    return Verdict(tuple(position), np.array(index, dtype=INDEX))
