"""VolumeBinding: requires bound volumes to be reachable and unbound claims to be bindable or provisionable.

Upstream: k8s plugin volumebinding, its binder and assume caches; component-helpers storage volume
(FindMatchingVolume, CheckNodeAffinity).
"""

from collections.abc import Container, Iterable, Iterator, Sequence

from msgspec import Struct

from vcdebug.errors import NIL_POINTER_TEXT, SchedulerPanic
from vcdebug.kube.listers import (
    SELECTED_NODE,
    WAIT_FOR_FIRST_CONSUMER,
    ClaimName,
    Listers,
    Manifest,
    claim_names,
    is_fully_bound,
    is_owned_by,
    not_found_text,
    not_owner_text,
    storage_class_name,
)
from vcdebug.kube.node_affinity import lenient_terms
from vcdebug.kube.selector import Labels, SelectorError, label_selector
from vcdebug.kube.volume_zone import VolumeProvisioning
from vcdebug.model.fit_errors import ERROR, UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus
from vcdebug.model.names import NodeName
from vcdebug.model.pod import Pod
from vcdebug.releases.nodes import VOLUME_AFFINITY_TEXT, VOLUME_ATTRIBUTES_UNREAD
from vcdebug.snapshot.manifest import annotations_of, key_of, labels_of, metadata_of, name_of, spec_of, status_of
from vcdebug.snapshot.quantity import whole_value

NODE_AFFINITY_CONFLICT = "node(s) didn't match PersistentVolume's node affinity"
NODE_CONFLICT_1_32 = "node(s) had volume node affinity conflict"
BIND_CONFLICT = "node(s) didn't find available persistent volumes to bind"
NOT_ENOUGH_SPACE = "node(s) did not have enough free storage"
VOLUME_GONE = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
UNBOUND_IMMEDIATE = "pod has unbound immediate PersistentVolumeClaims"
ATTRIBUTES_OFF = (
    "unsupported volumeAttributesClassName is set on claim {} when the feature-gate VolumeAttributesClass is disabled"
)
NEW_VOLUME = "a new volume on "


class VolumeBindingError(Exception):
    """Raised if PreFilter or Filter ends with an error; the text is upstream's."""


class PodVolumes(Struct, frozen=True):
    """The volumes to bind (claim key, volume name) and to provision (claim keys) for a pod on one node."""

    bindings: tuple[tuple[str, str], ...] = ()
    provisions: tuple[str, ...] = ()


NO_VOLUMES = PodVolumes()


class ClaimFit(Struct, frozen=True):
    """Whether one claim of a pod fits a node, and the reason."""

    claim: str
    volume: str
    fits: bool
    words: str


class VolumeState(Struct):
    """The claims of one pod, and Filter's decisions per node."""

    bound_claims: list[Manifest] = []
    delayed_claims: list[Manifest] = []
    has_immediate_claims: bool = False
    """Whether a claim must be bound before scheduling; PreFilter rejects such a pod."""
    candidates: dict[str, list[Manifest]] = {}
    """Volumes by storage class at the time of PreFilter."""
    by_node: dict[NodeName, PodVolumes] = {}


class VolumeBinding:
    """The filter, with the volumes and claims reserved by earlier placements of this session."""

    def __init__(self, listers: Listers) -> None:
        self._listers = listers
        self._node_conflict = (
            NODE_CONFLICT_1_32 if listers.flags.release.has_older_form(VOLUME_AFFINITY_TEXT) else NODE_AFFINITY_CONFLICT
        )
        self._provisioning = VolumeProvisioning(listers)
        self._reads_attributes = not listers.flags.release.has_older_form(VOLUME_ATTRIBUTES_UNREAD)
        self._knows_attributes = listers.flags.is_gate_on("VolumeAttributesClass")
        self._assumed: dict[str, str] = {}
        """Volume name → key of the claim to which the volume is assumed to be bound."""
        self._selected_nodes: dict[str, NodeName] = {}
        """Claim key → node on which the claim is assumed to be provisioned."""

    def pre_filter(self, pod: Pod) -> VolumeState | None:
        """The pod's claims; None if it has none (Skip); raises VolumeBindingError."""
        names = list(claim_names(pod)) if pod.spec.get("volumes") else []
        if not names:
            return None
        state = self._sort_claims([self._checked_claim(pod, name) for name in names])
        if state.has_immediate_claims:
            raise VolumeBindingError(UNBOUND_IMMEDIATE)
        return state

    def read_claims(self, pod: Pod) -> VolumeState:
        """The pod's claims without the checks of PreFilter; raises VolumeBindingError.
        Upstream: capabilities/volumebinding (GetPodVolumeClaims).
        """
        return self._sort_claims(self._owned_claim(pod, name) for name in claim_names(pod))

    def _sort_claims(self, claims: Iterable[Manifest]) -> VolumeState:
        """The claims by how they are bound, and the volumes that those bound with the placement could have."""
        state = VolumeState()
        for claim in claims:
            if is_fully_bound(claim):
                state.bound_claims.append(claim)
            elif self._is_delayed(claim) and not spec_of(claim).get("volumeName"):
                state.delayed_claims.append(claim)
            else:
                state.has_immediate_claims = True
        for claim in state.delayed_claims:
            state.candidates[storage_class_name(claim)] = self._volumes_of(storage_class_name(claim))
        return state

    def _found_claim(self, pod: Pod, name: ClaimName) -> Manifest:
        claim = self._listers.claims.get(f"{pod.namespace}/{name.name}")
        if claim is None:
            text = not_found_text("persistentvolumeclaim", name.name)
            waiting_text = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name.name}"'
            raise VolumeBindingError(waiting_text if name.ephemeral else text)
        return claim

    def _owned_claim(self, pod: Pod, name: ClaimName) -> Manifest:
        claim = self._found_claim(pod, name)
        if name.ephemeral and not is_owned_by(claim, pod):
            raise VolumeBindingError(not_owner_text(claim, pod))
        return claim

    def _checked_claim(self, pod: Pod, name: ClaimName) -> Manifest:
        claim = self._found_claim(pod, name)
        if status_of(claim).get("phase") == "Lost":
            volume = spec_of(claim).get("volumeName") or ""
            text = f'persistentvolumeclaim "{name.name}" bound to non-existent persistentvolume "{volume}"'
            raise VolumeBindingError(text)
        if metadata_of(claim).get("deletionTimestamp"):
            raise VolumeBindingError(f'persistentvolumeclaim "{name.name}" is being deleted')
        return self._owned_claim(pod, name)

    def _is_delayed(self, claim: Manifest) -> bool:
        storage_class = self._listers.storage_classes.get(storage_class_name(claim))
        if storage_class is None:
            return False
        mode = storage_class.get("volumeBindingMode")
        if mode is None:
            raise VolumeBindingError(f'VolumeBindingMode not set for StorageClass "{storage_class_name(claim)}"')
        return bool(mode == WAIT_FOR_FIRST_CONSUMER)

    def _volumes_of(self, storage_class: str) -> list[Manifest]:
        return [
            self._assumed_volume(v) for v in self._listers.volumes.values() if storage_class_name(v) == storage_class
        ]

    def _assumed_volume(self, volume: Manifest) -> Manifest:
        """The volume with the claimRef that it has through this session's reservations."""
        claim_key = self._assumed.get(name_of(volume))
        if claim_key is None:
            return volume
        namespace, name = claim_key.split("/", 1)
        uid = metadata_of(self._listers.claims[claim_key]).get("uid") or ""
        # A copy: the snapshot's manifest is shared with other replays.
        return {**volume, "spec": {**spec_of(volume), "claimRef": {"namespace": namespace, "name": name, "uid": uid}}}

    def filter(self, state: VolumeState, node: NodeName, node_labels: Labels) -> FitStatus | None:
        """The status that rejects the node; None after storing in `state` what the node would bind and provision."""
        reachable_volumes, volumes_exist = self._bound_reachable(state, node_labels)
        try:
            satisfied, has_room, volumes = self._delayed_satisfied(state, node, node_labels)
        except VolumeBindingError as error:
            return FitStatus(ERROR, str(error))
        reasons = [
            text
            for text, failed in (
                (self._node_conflict, not reachable_volumes),
                (BIND_CONFLICT, not satisfied),
                (NOT_ENOUGH_SPACE, not has_room),
                (VOLUME_GONE, not volumes_exist),
            )
            if failed
        ]
        if reasons:
            return FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, ", ".join(reasons))
        state.by_node[node] = volumes
        return None

    def _bound_reachable(self, state: VolumeState, node_labels: Labels) -> tuple[bool, bool]:
        for claim in state.bound_claims:
            volume = self._listers.volumes.get(spec_of(claim).get("volumeName") or "")
            if volume is None:
                return True, False
            if not is_reachable(volume, node_labels):
                return False, True
        return True, True

    def _delayed_satisfied(
        self, state: VolumeState, node: NodeName, node_labels: Labels
    ) -> tuple[bool, bool, PodVolumes]:
        to_provision: list[Manifest] = []
        to_match: list[Manifest] = []
        for claim in state.delayed_claims:
            # A claim that waits for a provisioner is pinned to the node for which provisioning began.
            selected = self._selected_node(claim)
            if selected is not None and selected != node:
                return False, True, PodVolumes()
            (to_match if selected is None else to_provision).append(claim)
        self._check_attributes(to_match)
        bindings, unmatched = self._match_claims(state, to_match, node_labels)
        to_provision += unmatched
        satisfied, has_room = not unmatched, True
        if to_provision:
            satisfied, has_room = self._check_provisions(to_provision, node_labels)
        return satisfied, has_room, PodVolumes(tuple(bindings), tuple(key_of(claim) for claim in to_provision))

    def claim_fits(self, state: VolumeState, node: NodeName, node_labels: Labels) -> Iterator[ClaimFit]:
        """For each claim of the pod, whether it fits the node."""
        for claim in state.bound_claims:
            name = spec_of(claim).get("volumeName") or ""
            volume = self._listers.volumes.get(name)
            if volume is None:
                yield ClaimFit(key_of(claim), name, False, "the volume does not exist")
            else:
                fits = is_reachable(volume, node_labels)
                yield ClaimFit(key_of(claim), name, fits, "bound" if fits else f"bound; {_affinity_text(volume)}")
        unselected = [claim for claim in state.delayed_claims if self._selected_node(claim) is None]
        bindings = dict(self._match_claims(state, unselected, node_labels)[0])
        for claim in state.delayed_claims:
            yield self._delayed_fit(claim, node, node_labels, bindings)

    def _delayed_fit(self, claim: Manifest, node: NodeName, node_labels: Labels, bindings: dict[str, str]) -> ClaimFit:
        key, selected = key_of(claim), self._selected_node(claim)
        if selected is not None and selected != node:
            return ClaimFit(key, "", False, f"to be provisioned on {selected}")
        if key in bindings:
            return ClaimFit(key, bindings[key], True, "an available volume suits it")
        try:
            self._check_attributes([claim])
            allowed, has_room = self._check_provisions([claim], node_labels)
        except VolumeBindingError as error:
            return ClaimFit(key, "", False, str(error))
        words = "can be provisioned" if allowed else "no volume suits it, and its class provisions none here"
        return ClaimFit(key, "", allowed and has_room, words if has_room else "the driver has too little storage here")

    def _selected_node(self, claim: Manifest) -> NodeName | None:
        return self._selected_nodes.get(key_of(claim), annotations_of(claim).get(SELECTED_NODE))

    def _check_attributes(self, claims: list[Manifest]) -> None:
        """Raise VolumeBindingError for a claim with volume attributes if the feature gate is off."""
        for claim in claims if self._reads_attributes and not self._knows_attributes else ():
            if _attributes_of(claim):
                raise VolumeBindingError(ATTRIBUTES_OFF.format(key_of(claim)))

    def _match_claims(
        self, state: VolumeState, claims: list[Manifest], node_labels: Labels
    ) -> tuple[list[tuple[str, str]], list[Manifest]]:
        bindings: list[tuple[str, str]] = []
        unmatched: list[Manifest] = []
        chosen: dict[str, None] = {}
        # Smallest claims first, as upstream, so that each gets the smallest volume that fits.
        for claim in sorted(claims, key=storage_request):
            offered = state.candidates.get(storage_class_name(claim), [])
            volume = find_matching_volume(claim, offered, node_labels, chosen, reads_attributes=self._reads_attributes)
            if volume is None:
                unmatched.append(claim)
                continue
            chosen[name_of(volume)] = None
            bindings.append((key_of(claim), name_of(volume)))
        return bindings, unmatched

    def _check_provisions(self, claims: list[Manifest], node_labels: Labels) -> tuple[bool, bool]:
        """(can be provisioned, enough space) for all claims; raises VolumeBindingError."""
        for claim in claims:
            name = storage_class_name(claim)
            if not name:
                raise VolumeBindingError(f'no class for claim "{key_of(claim)}"')
            if name not in self._listers.storage_classes:
                raise VolumeBindingError(f'failed to find storage class "{name}"')
            if not self._provisioning.is_allowed(name, node_labels):
                return False, True
            if not self._provisioning.has_enough_capacity(name, storage_request(claim), node_labels):
                return True, False
        return True, True

    def reserve(self, state: VolumeState, node: NodeName) -> None:
        """Assume the bindings and provisions that Filter chose for the node."""
        volumes = state.by_node.get(node, NO_VOLUMES)
        for claim_key, volume_name in volumes.bindings:
            self._assumed[volume_name] = claim_key
        for claim_key in volumes.provisions:
            self._selected_nodes[claim_key] = node

    def reserved_volumes(self) -> dict[str, str]:
        """Claim → the assumed volume in words, or the node on which a new volume is assumed."""
        volumes = self._listers.volumes
        texts = {claim: volume_words(volumes[name]) for name, claim in self._assumed.items()}
        return texts | {claim: f"{NEW_VOLUME}{node}" for claim, node in self._selected_nodes.items()}

    def unreserve(self, state: VolumeState, node: NodeName) -> None:
        """Release the bindings and provisions assumed for the node."""
        volumes = state.by_node.get(node, NO_VOLUMES)
        for _, volume_name in volumes.bindings:
            self._assumed.pop(volume_name, None)
        for claim_key in volumes.provisions:
            self._selected_nodes.pop(claim_key, None)


class CacheVolumes:
    """The volumes and claims that the cache assumes when a task is allocated, in releases before v1.12.
    Upstream: cache (v1.11: defaultVolumeBinder).
    """

    def __init__(self, listers: Listers) -> None:
        self._check = VolumeBinding(listers)
        self._assumed: dict[str, tuple[VolumeState, NodeName]] = {}

    def allocate(self, pod: Pod, node: NodeName, node_labels: Labels, *, at_once: bool) -> str | None:
        """Assume the pod's volumes on the node; returns an error if the node lacks them.
        Upstream: cache (v1.11: GetPodVolumes, AllocateVolumes).
        """
        if not pod.spec.get("volumes"):
            return None
        state = VolumeState(has_immediate_claims=True)
        try:
            state = self._check.read_claims(pod)
            status = self._check.filter(state, node, node_labels)
            refused = None if status is None else status.reason
        except VolumeBindingError as error:
            refused = str(error)
        if refused is None:
            self._check.reserve(state, node)
            self._assumed[pod.uid] = (state, node)
        elif not at_once and (state.delayed_claims or state.has_immediate_claims):
            # Upstream assumes volumes that were not found and reads them from nil.
            raise SchedulerPanic(NIL_POINTER_TEXT)
        return refused

    def revert(self, pod: Pod) -> None:
        """Release the pod's assumed volumes. Upstream: cache (v1.11: RevertVolumes)."""
        assumed = self._assumed.pop(pod.uid, None)
        if assumed is not None:
            self._check.unreserve(*assumed)


def volume_words(volume: Manifest) -> str:
    """A volume's relevant properties in words, without its name: upstream takes any of several alike."""
    size = (spec_of(volume).get("capacity") or {}).get("storage")
    return f"a volume of {size} {storage_class_name(volume)} {_affinity_text(volume)}".rstrip()


def _affinity_text(volume: Manifest) -> str:
    """The volume's node affinity as text."""
    terms = ((spec_of(volume).get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or ()
    requirements = [
        f"{expression.get('key')} {expression.get('operator')} {', '.join(expression.get('values') or ())}".rstrip()
        for term in terms
        for expression in term.get("matchExpressions") or ()
    ]
    return f"its nodes: {' or '.join(requirements) or 'none'}"


def storage_request(claim: Manifest) -> int:
    """The bytes that the claim requests."""
    requests = (spec_of(claim).get("resources") or {}).get("requests") or {}
    return whole_value(requests.get("storage", 0))


def volume_capacity(volume: Manifest) -> int:
    """The volume's capacity in bytes."""
    return whole_value((spec_of(volume).get("capacity") or {}).get("storage", 0))


def is_reachable(volume: Manifest, node_labels: Labels) -> bool:
    """Whether the volume's node affinity accepts these node labels (upstream passes no node name)."""
    required = (spec_of(volume).get("nodeAffinity") or {}).get("required")
    if required is None:
        return True
    return any(term.matches_node(node_labels, "") for term in lenient_terms(required.get("nodeSelectorTerms") or ()))


def is_bound_to(volume: Manifest, claim: Manifest) -> bool:
    """Whether the volume is bound, or reserved by name, to the claim."""
    reference = spec_of(volume).get("claimRef")
    if reference is None:
        return False
    meta = metadata_of(claim)
    if (reference.get("name"), reference.get("namespace")) != (meta.get("name"), meta.get("namespace")):
        return False
    return not reference.get("uid") or reference["uid"] == meta.get("uid")


def find_matching_volume(
    claim: Manifest,
    volumes: Sequence[Manifest],
    node_labels: Labels,
    chosen: Container[str],
    *,
    reads_attributes: bool = True,
) -> Manifest | None:
    """The volume reserved for the claim, else the smallest available one that satisfies it; None without one."""
    best: Manifest | None = None
    for volume in volumes:
        if name_of(volume) in chosen or not _is_comparable(claim, volume):
            continue
        if reads_attributes and _attributes_of(claim) != _attributes_of(volume):
            continue
        if is_bound_to(volume, claim):
            return volume if is_reachable(volume, node_labels) else None
        # Strictly smaller: volumes are sorted, so that among equal sizes the first name wins.
        if _is_available(claim, volume, node_labels) and (
            best is None or volume_capacity(volume) < volume_capacity(best)
        ):
            best = volume
    return best


def _is_comparable(claim: Manifest, volume: Manifest) -> bool:
    if spec_of(volume).get("claimRef") is not None and not is_bound_to(volume, claim):
        return False
    if volume_capacity(volume) < storage_request(claim) or metadata_of(volume).get("deletionTimestamp"):
        return False
    modes = [spec_of(m).get("volumeMode") or "Filesystem" for m in (claim, volume)]
    return modes[0] == modes[1]


def _attributes_of(manifest: Manifest) -> str:
    return spec_of(manifest).get("volumeAttributesClassName") or ""


def _is_available(claim: Manifest, volume: Manifest, node_labels: Labels) -> bool:
    if status_of(volume).get("phase") != "Available" or not _is_selected(claim, volume):
        return False
    if storage_class_name(volume) != storage_class_name(claim) or not is_reachable(volume, node_labels):
        return False
    offered = spec_of(volume).get("accessModes") or ()
    return all(mode in offered for mode in spec_of(claim).get("accessModes") or ())


def _is_selected(claim: Manifest, volume: Manifest) -> bool:
    raw = spec_of(claim).get("selector")
    if raw is None:
        return True
    try:
        return label_selector(raw).matches_labels(labels_of(volume))
    except SelectorError:
        return False
