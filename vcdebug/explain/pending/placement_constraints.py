"""Constraints on labels, neighbours, volumes and devices that nodes fail, with near misses such as typing errors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import count_noun, join_names
from vcdebug.errors import closest_name
from vcdebug.explain.answer import (
    AdviceHarm,
    ConstraintFailure,
    ConstraintKind,
    cluster_admin_advice,
    outside_advice,
    owner_advice,
    queue_admin_advice,
)
from vcdebug.explain.node_fit import NodeFits
from vcdebug.grouping import group_by_key
from vcdebug.kube.affinity_terms import AffinityTerm, LabelGroup, pod_affinity_terms
from vcdebug.kube.dynamic_resources import ClaimState, DynamicResources
from vcdebug.kube.listers import claim_names, storage_class_name
from vcdebug.kube.node_affinity import required_node_affinity
from vcdebug.kube.pod_affinity import AFFINITY_REASON
from vcdebug.kube.selector import Requirement
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.plugins.predicates import Predicates
from vcdebug.plugins.predicates.volume_filters import DynamicResourcesFilter
from vcdebug.snapshot.manifest import metadata_of, name_of, object_in, spec_of
from vcdebug.snapshot.snapshot import Manifest

if TYPE_CHECKING:
    from vcdebug.kube.devices.allocator import RequestCandidates


MAX_HOLDERS: Final = 4


NODE_AFFINITY_REASON = "didn't match Pod's node affinity/selector"
HOSTNAME = "kubernetes.io/hostname"
MAX_VALUES = 4


def find_label_failures(room: NodeFits) -> Iterator[ConstraintFailure]:
    """Required labels that no node has, with similar ones that nodes have."""
    if not room.refused_for(NODE_AFFINITY_REASON):
        return
    wanted = required_node_affinity(room.task.pod.spec)
    terms = wanted.terms or ()
    labels = (term.labels for term in terms if len(terms) == 1)
    for requirement in (each for selector in (wanted.selector, *labels) for each in selector.requirements):
        yield from _requirement_failures(room, requirement)


def _requirement_failures(room: NodeFits, requirement: Requirement) -> Iterator[ConstraintFailure]:
    """The nodes with the label if they are few, else the values that nodes have."""
    nodes = [room.view.session.nodes[node.name] for node in room.node_fits]
    have = [node.name for node in nodes if requirement.matches_labels(node.labels)]
    if have:
        if requirement.key != HOSTNAME:
            # Only for membership: the loop below keeps the order of the nodes.
            having = set(have)
            yield from _few_nodes_failure(
                have, [node.name for node in nodes if node.name not in having], format_requirement(requirement)
            )
        return
    key = requirement.key
    found = group_by_key((node.labels[key], node.name) for node in nodes if key in node.labels)
    unmet = f"No node in the snapshot has {format_requirement(requirement)}"
    if not found:
        yield from _unknown_key(room, requirement, unmet)
        return
    values = join_names((f"{value or 'empty'} on {join_names(names, 2)}" for value, names in found.items()), MAX_VALUES)
    meant = _closest_name(requirement.values, found) if requirement.operator == "In" else ""
    advice = (owner_advice(f"Did you mean {requirement.key}={meant}? Labels are case-sensitive."),) if meant else ()
    yield ConstraintFailure(f"{unmet}: {requirement.key} is {values}", advice)


def _few_nodes_failure(have: list[str], lack: list[str], unmet: str) -> Iterator[ConstraintFailure]:
    """The failure that names the smaller group of nodes, if it is small enough."""
    few, verb = (lack, "lack") if len(lack) <= len(have) else (have, "have")
    if few and len(few) < MAX_VALUES:
        single = {"lack": "lacks", "have": "has"}
        only = "" if verb == "lack" else "Only "
        yield ConstraintFailure(f"{only}{join_names(few)} {verb if len(few) > 1 else single[verb]} {unmet}")


def _unknown_key(room: NodeFits, requirement: Requirement, unmet: str) -> Iterator[ConstraintFailure]:
    keys = dict.fromkeys(key for node in room.node_fits for key in room.view.session.nodes[node.name].labels)
    meant = _closest_name((requirement.key,), keys)
    advice = (owner_advice(f"Did you mean label {meant}?"),) if meant else ()
    yield ConstraintFailure(
        f"{unmet}, and none has label {requirement.key} at all" if requirement.values else unmet, advice
    )


def _closest_name(wanted: Iterable[str], known: Iterable[str]) -> str:
    """The known word closest to one of the wanted ones; empty if none is similar."""
    names = list(known)
    for word in wanted:
        same = [name for name in names if name.casefold() == word.casefold()]
        # A difference in case alone is the likeliest error, whatever the other names look like.
        near = same[0] if same else closest_name(word, names, 0.8)
        if near and near != HOSTNAME:
            return near
    return ""


def format_requirement(requirement: Requirement) -> str:
    """`zone=b`, `zone in (a, b)`, `the label zone`."""
    values = ", ".join(requirement.values)
    if requirement.operator == "In":
        return f"{requirement.key}={values}" if len(requirement.values) == 1 else f"{requirement.key} in ({values})"
    if requirement.operator == "Exists":
        return f"the label {requirement.key}"
    if requirement.operator == "DoesNotExist":
        return f"no label {requirement.key}"
    return f"{requirement.key} {requirement.operator} {values}"


def format_resource_meant(room: NodeFits, name: str) -> str:
    """The resource most similar to one that no node has, and a node that has it; empty if none is similar."""
    nodes = [room.view.session.nodes[node.name] for node in room.node_fits]
    known = {each: node.name for node in nodes for each, value in node.allocatable.items() if value > 0}
    # Device names have a domain; cpu and memory are never a misspelt device.
    meant = _closest_name((name,), [each for each in known if "/" in each])
    return f"Did you mean {meant}, which {known[meant]} provides?" if meant else ""


def find_affinity_failures(room: NodeFits) -> Iterator[ConstraintFailure]:
    """Required pod affinity: no matching pod exists, or the matching pods are in other domains."""
    if not room.refused_for(AFFINITY_REASON):
        return
    for term in pod_affinity_terms(room.task.pod.spec.get("affinity") or {}, room.task.namespace).required_affinity:
        yield _pod_affinity_failure(room, term)


def _pod_affinity_failure(room: NodeFits, term: AffinityTerm) -> ConstraintFailure:
    labels = join_names(format_requirement(each) for each in term.selector.requirements) or "any labels"
    unmet = f"Its required podAffinity needs pods with {labels} in the same {term.topology_key}"
    there = [
        f"{task.name} on {node.name}"
        for node in room.node_fits
        for task in room.tasks_on(node.name)
        if term.matches_group(LabelGroup(task.namespace, task.pod.labels, deleting=False), None)
    ]
    if there:
        return ConstraintFailure(f"{unmet}: {join_names(there, MAX_HOLDERS)}", (), ConstraintKind.POD_AFFINITY)
    lacking = f"{unmet}; no such pod runs on any node"
    return ConstraintFailure(
        lacking,
        (owner_advice("Start those pods first, or correct the podAffinity's labelSelector."),),
        ConstraintKind.POD_AFFINITY,
    )


VOLUME_ELSEWHERE_REASONS: Final = ("persistentvolume's node affinity", "volume node affinity conflict")
NONE_TO_BIND: Final = "available persistent volumes to bind"
UNBOUND_REASONS: Final = ("persistentvolume had no name", "unbound immediate")
_MISSING_CLAIM: Final = re.compile(r'persistentvolumeclaim "([^"]+)" not found')
_MISSING_CLASS: Final = re.compile(r'storageclass\S* "([^"]+)" not found')


def find_volume_shortages(room: NodeFits) -> Iterator[ConstraintFailure]:
    """The pod's claims by name, and what is the matter with them."""
    by_node = {node.name: " ".join(status.reason.lower() for status in node.statuses) for node in room.node_fits}
    reasons = [reason for reason in by_node.values() if "volume" in reason]
    if not reasons:
        return
    named = claim_names_of(room.task.pod)
    yield from _missing_class_failures(room, reasons)
    yield from _missing_claim_failures(room, reasons)
    # Upstream's reason already names the claim.
    if not named or any(f'"{name}"' in reason for name in named for reason in reasons):
        return
    mounted = _mounted_by(room, named)
    if mounted:
        claims = "PersistentVolumeClaims" if len(named) > 1 else "PersistentVolumeClaim"
        by = join_names(mounted, MAX_HOLDERS)
        yield ConstraintFailure(f"{claims} {join_names(named)} already mounted by {by}")
    beyond = [name for name, reason in by_node.items() if any(text in reason for text in VOLUME_ELSEWHERE_REASONS)]
    if beyond:
        reach = [name for name in by_node if name not in beyond]
        where = (
            f"Its volumes are accessible only from {join_names(reach)}"
            if reach
            else "Its volumes are accessible from no node in the snapshot"
        )
        yield ConstraintFailure(
            where,
            (queue_admin_advice(f"Free resources on {join_names(reach)}, or move the data."),) if reach else (),
            ConstraintKind.VOLUME,
        )
    for claim in _claims_of(room, named):
        yield from _unbound_claim_failures(room, claim, reasons)


def _mounted_by(room: NodeFits, named: list[str]) -> list[str]:
    return [
        f"{task.name} on {node.name}"
        for node in room.node_fits
        for task in room.tasks_on(node.name)
        if task.namespace == room.task.namespace and any(name in named for name in claim_names_of(task.pod))
    ]


def _claims_of(room: NodeFits, named: list[str]) -> Iterator[Manifest]:
    for manifest in room.view.recording.snapshot.objects_of("PersistentVolumeClaim"):
        metadata = manifest["metadata"]
        if metadata.get("namespace") == room.task.namespace and metadata["name"] in named:
            yield manifest


def _unbound_claim_failures(room: NodeFits, claim: Manifest, reasons: Sequence[str]) -> Iterator[ConstraintFailure]:
    """A claim without a volume: what its class waits for, or where it may make one."""
    if spec_of(claim).get("volumeName"):
        return
    name, owner = name_of(claim), storage_class_name(claim)
    classes = {name_of(one): one for one in room.view.recording.snapshot.objects_of("StorageClass")}
    found = classes.get(owner)
    if any(word in reason for word in UNBOUND_REASONS for reason in reasons):
        yield ConstraintFailure(
            f"PersistentVolumeClaim {name} is unbound and must be bound before scheduling ("
            f"{f'StorageClass {owner}, volumeBindingMode Immediate' if owner else 'it has no StorageClass'})",
            (outside_advice(f"Check the provisioner: kubectl describe pvc {name}.", AdviceHarm.CLUSTER),),
            ConstraintKind.VOLUME,
        )
    elif found is not None and any(NONE_TO_BIND in reason for reason in reasons):
        allowed = [
            f"{one.get('key')} is {' or '.join(one.get('values') or ())}"
            for term in found.get("allowedTopologies") or ()
            for one in term.get("matchLabelExpressions") or ()
        ]
        if allowed:
            yield ConstraintFailure(
                f"StorageClass {owner} of claim {name} provisions only where {join_names(allowed)} (allowedTopologies)",
                (
                    cluster_admin_advice(
                        f"StorageClass {owner}: add the zones of the nodes to allowedTopologies, or run the pod there."
                    ),
                ),
                ConstraintKind.VOLUME,
            )


def _missing_class_failures(room: NodeFits, reasons: Sequence[str]) -> Iterator[ConstraintFailure]:
    known = [name_of(manifest) for manifest in room.view.recording.snapshot.objects_of("StorageClass")]
    missing = [one for reason in reasons for one in _MISSING_CLASS.findall(reason)]
    for name in dict.fromkeys(missing):
        there = f"it has {join_names(known)}" if known else "it has none"
        yield ConstraintFailure(
            f"StorageClass {name} is not in this snapshot ({there})",
            (cluster_admin_advice(f"Create StorageClass {name}, or name an existing one in the claim."),),
            ConstraintKind.VOLUME,
        )


def _missing_claim_failures(room: NodeFits, reasons: Sequence[str]) -> Iterator[ConstraintFailure]:
    """A claim that does not exist, and the one of its namespace whose name is closest."""
    pod, every = room.task.pod, room.view.recording.snapshot.objects_of("PersistentVolumeClaim")
    known = [name_of(one) for one in every if metadata_of(one).get("namespace") == pod.namespace]
    for name in dict.fromkeys(one for reason in reasons for one in _MISSING_CLAIM.findall(reason)):
        close = closest_name(name, known)
        edits = [
            f"Pod/{task.key}:spec.volumes[{at}].persistentVolumeClaim.claimName={close}"
            for task in room.view.left_over
            for at, volume in enumerate(task.pod.spec.get("volumes") or ())
            if object_in(volume.get("persistentVolumeClaim")).get("claimName") == name
        ]
        use = owner_advice(f"Name claim {close} in the pods' volumes instead of {name}.", *edits)
        create = owner_advice(f"Create PersistentVolumeClaim {name}, or name an existing one in the pod's volumes.")
        asked = f"; did you mean {close}?" if close else ""
        there = f"the namespace has {join_names(known, MAX_HOLDERS) if known else 'none'}{asked}"
        advice = (use._replace(repairs=True), create) if close else (create,)
        yield ConstraintFailure(
            f"PersistentVolumeClaim {name} is not in this snapshot ({there})", advice, ConstraintKind.VOLUME
        )


def claim_names_of(pod: Pod) -> list[str]:
    """Names of the volume claims that a pod mounts."""
    return [claim.name for claim in claim_names(pod) if claim.name and not claim.ephemeral]


def find_device_shortages(room: NodeFits) -> Iterator[ConstraintFailure]:
    """Each request of a claim that no node has enough free devices for, and the node that has most."""
    check, state = _claims_of_task(room)
    if check is None or state is None:
        return
    yield from (
        _device_failure(one, node, check.device_holders(one.busy_devices))
        for one, node in _unmet_requests(room, check, state)
    )


def are_devices_held(room: NodeFits) -> bool:
    """Whether a claim lacks only devices that other claims hold, which are freed when their pods end."""
    check, state = _claims_of_task(room)
    if check is None or state is None:
        return False
    short = _unmet_requests(room, check, state)
    return bool(short) and all(one.matching_count >= _required_count(one) for one, _ in short)


def is_pool_unsettled(reasons: Iterable[str]) -> bool:
    """Whether some pool is not to be relied on now: its driver writes it again."""
    return any(ConstraintKind.DEVICE_POOL.is_about(reason) for reason in reasons)


def _unmet_requests(
    room: NodeFits, check: DynamicResources, state: ClaimState
) -> list[tuple[RequestCandidates, NodeName]]:
    """The requests that no node has enough free devices for, each with the node that has most."""
    best: dict[str, tuple[RequestCandidates, NodeName]] = {}
    for node, one in _candidates_by_node(room, check, state):
        name = f"{one.claim} {one.request}"
        if name not in best or _is_better(one, best[name][0]):
            best[name] = one, node
    return [(one, node) for one, node in best.values() if one.free_count < _required_count(one)]


def _required_count(one: RequestCandidates) -> int:
    return one.wanted or 1


def _is_better(one: RequestCandidates, other: RequestCandidates) -> bool:
    """A node that had enough if only they were free comes before one that never has."""
    return (one.matching_count >= _required_count(one), one.free_count, one.matching_count) > (
        other.matching_count >= _required_count(other),
        other.free_count,
        other.matching_count,
    )


def _device_failure(one: RequestCandidates, node: NodeName, holders: Sequence[TaskKey]) -> ConstraintFailure:
    many = "all devices" if one.wanted is None else count_noun(one.wanted, "device")
    asks = f"ResourceClaim {one.claim} requests {many} (request {one.request})"
    if not one.matching_count:
        look = owner_advice("Check the selectors of the claim and its DeviceClass, and the nodes' ResourceSlices.")
        return ConstraintFailure(f"{asks}; no node has a matching device", (look,))
    if one.matching_count < _required_count(one):
        most = f"the most matching devices on one node is {one.matching_count} ({node})"
        fewer = owner_advice(
            f"Request {count_noun(one.matching_count, 'device')} at most, or devices of another class."
        )
        return ConstraintFailure(
            f"{asks}; {most}", (fewer, cluster_admin_advice(f"Add matching devices to {node} or to another node."))
        )
    use = f" (in use: {join_names(holders)})" if holders else ""
    there = f"{node} has the most free: {one.free_count} of {one.matching_count} matching devices{use}"
    by = f", in use by {join_names(holders)}" if holders else ""
    return ConstraintFailure(f"{asks}; {there}", (queue_admin_advice(f"Free devices on {node}{by}."),))


def _claims_of_task(room: NodeFits) -> tuple[DynamicResources | None, ClaimState | None]:
    """(check of resource claims, state of the task's claims); None if the cycle has none."""
    session = room.view.session
    plugin = session.plugins.get(Predicates.name)
    if not isinstance(plugin, Predicates) or not room.task.pod.spec.get("resourceClaims"):
        return None, None
    state = session.cycle_state(room.task).data.get(DynamicResourcesFilter.STATE)
    return plugin.claim_filter, state if isinstance(state, ClaimState) else None


def _candidates_by_node(
    room: NodeFits, check: DynamicResources, state: ClaimState
) -> Iterator[tuple[NodeName, RequestCandidates]]:
    session = room.view.session
    for node in room.node_fits:
        labels = session.nodes[node.name].labels
        yield from ((node.name, one) for one in check.request_candidates(state, labels, node.name))
