"""The Kubernetes filters about volumes and resource claims.

Upstream: plugins/predicates, k8s plugins nodevolumelimits, volumezone, volumebinding, dynamicresources.
"""

from collections.abc import Sequence

import numpy as np

from vcdebug.framework.session import Session
from vcdebug.kube.dynamic_resources import ClaimState, DynamicResources, DynamicResourcesError
from vcdebug.kube.listers import Listers
from vcdebug.kube.node_view import CycleState, NodeView
from vcdebug.kube.preference_scores import normalize_score
from vcdebug.kube.volume_binding import VolumeBinding, VolumeBindingError, VolumeState
from vcdebug.kube.volume_limits import VolumeLimits, has_limited_volumes
from vcdebug.kube.volume_zone import ZONE_CONFLICT, VolumeZoneError, rows_outside_zone, zone_limits
from vcdebug.model.fit_errors import ERROR, UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus
from vcdebug.model.names import IntArray
from vcdebug.model.pod import Pod
from vcdebug.plugins.predicates import filters
from vcdebug.plugins.predicates.filters import INDEX_DTYPE, FilterVerdict, PreFilterError, fail_all, fail_where


class NodeVolumeLimitsFilter:
    """Limits the number of volumes of a CSI driver per node."""

    name = "NodeVolumeLimits"
    decides_every_node = False

    def __init__(self, view: NodeView, listers: Listers) -> None:
        self._view = view
        self.check = VolumeLimits(listers)

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        return has_limited_volumes(pod)

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> FilterVerdict:
        names, pods = self._view.names, self._view.pods
        statuses = [self.check.check_limits(pod, names[row], pods[row]) for row in rows.tolist()]
        return _collect_verdict(statuses)


class VolumeZoneFilter:
    """Requires a node in a zone of each bound volume with zone labels."""

    name = "VolumeZone"
    decides_every_node = False
    STATE = "PreFilterVolumeZone"
    FAILED = FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, ZONE_CONFLICT)

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

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> FilterVerdict:
        limits = state.data.get(self.STATE)
        if not isinstance(limits, tuple):
            try:
                limits = zone_limits(pod, self._listers)
            except VolumeZoneError as error:
                return fail_all(FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, str(error)), len(rows))
        return fail_where(self.FAILED, rows_outside_zone(limits, self._view.labels, rows))


class VolumeBindingFilter:
    """Requires that bound volumes are reachable and unbound ones are available or can be provisioned."""

    name = "VolumeBinding"
    decides_every_node = False
    STATE = "VolumeBinding"

    def __init__(self, view: NodeView, listers: Listers) -> None:
        self._view = view
        self.check = VolumeBinding(listers)

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        try:
            volumes = self.check.pre_filter(pod)
        except VolumeBindingError as error:
            raise PreFilterError(str(error)) from error
        state.data[self.STATE] = VolumeState() if volumes is None else volumes
        return volumes is not None

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> FilterVerdict:
        volumes = state.data.get(self.STATE)
        if not isinstance(volumes, VolumeState):
            return fail_all(FitStatus(ERROR, "not found"), len(rows))
        view = self._view
        return _collect_verdict(
            [self.check.filter(volumes, view.names[row], view.labels.labels[row]) for row in rows.tolist()]
        )

    def reserve(self, state: CycleState, node: str) -> str | None:
        """Assume the pod's volumes on the node; returns an error if the state is missing."""
        volumes = state.data.get(self.STATE)
        if not isinstance(volumes, VolumeState):
            return "not found"
        self.check.reserve(volumes, node)
        return None

    def unreserve(self, state: CycleState, node: str) -> None:
        """Release the pod's volumes on the node."""
        volumes = state.data.get(self.STATE)
        if isinstance(volumes, VolumeState):
            self.check.unreserve(volumes, node)


class DynamicResourcesFilter:
    """Requires that allocated claims are usable on the node and other claims find devices there."""

    name = "DynamicResources"
    decides_every_node = False
    STATE = "DynamicResources"

    def __init__(self, ssn: Session, view: NodeView, listers: Listers) -> None:
        self._ssn = ssn
        self._view = view
        self.check = DynamicResources(listers, ssn.cluster.ordering, ssn.process.reserved_claims)

    def pre_filter(self, pod: Pod, state: CycleState) -> bool:
        try:
            claims = self.check.pre_filter(pod)
        except DynamicResourcesError as error:
            raise PreFilterError(str(error)) from error
        state.data[self.STATE] = claims
        if claims.undecided:
            filters.note_undecided_claims(self._ssn, pod, claims.undecided)
        return bool(claims.claims or claims.undecided or pod.spec.get("resourceClaims"))

    def filter(self, pod: Pod, state: CycleState, rows: IntArray) -> FilterVerdict:
        claims = state.data.get(self.STATE)
        if not isinstance(claims, ClaimState):
            return fail_all(FitStatus(ERROR, "not found"), len(rows))
        labels, before = self._view.labels, claims.undecided
        verdict = _collect_verdict(
            [self.check.filter(claims, labels.labels[row], labels.names[row]) for row in rows.tolist()]
        )
        if claims.undecided != before:
            filters.note_undecided_claims(self._ssn, pod, claims.undecided)
        return verdict

    def score_nodes(self, state: CycleState, names: Sequence[str]) -> IntArray:
        """Normalised scores of the nodes, 100 for the best one; raises DynamicResourcesError without a state."""
        claims = state.data.get(self.STATE)
        if not isinstance(claims, ClaimState):
            raise DynamicResourcesError("not found")
        return normalize_score(np.array([self.check.score(claims, name) for name in names], dtype=INDEX_DTYPE))

    def reserve(self, state: CycleState, node: str) -> str | None:
        """Reserve the claims' devices; returns an error if no allocation is known for the node."""
        claims = state.data.get(self.STATE)
        return self.check.reserve(claims, node) if isinstance(claims, ClaimState) else "not found"

    def unreserve(self, state: CycleState, node: str) -> None:
        """Release the claims' devices; does nothing if PreFilter did not run for the pod."""
        claims = state.data.get(self.STATE)
        if isinstance(claims, ClaimState):
            self.check.unreserve(claims)


def _collect_verdict(statuses: list[FitStatus | None]) -> FilterVerdict:
    position: dict[FitStatus, int] = {}
    index = [0 if s is None else position.setdefault(s, len(position) + 1) for s in statuses]
    return FilterVerdict(tuple(position), np.array(index, dtype=INDEX_DTYPE))
