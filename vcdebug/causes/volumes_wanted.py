"""What stands behind a refusal for volumes: the claim, its class, where its volume can be used, who mounts it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from vcdebug.amount_text import join_names
from vcdebug.causes.wishes import MAX_HOLDERS, ConstraintFailure
from vcdebug.explain.answer import cluster_admin_advice, queue_admin_advice
from vcdebug.explain.node_fit import NodeFits
from vcdebug.kube.claims import claim_names, storage_class_name
from vcdebug.model.pod import Pod
from vcdebug.snapshot.manifest import name_of, spec_of
from vcdebug.snapshot.snapshot import Manifest

VOLUME_ELSEWHERE_REASONS: Final = ("persistentvolume's node affinity", "volume node affinity conflict")
NONE_TO_BIND: Final = "available persistent volumes to bind"
UNBOUND_REASONS: Final = ("persistentvolume had no name", "unbound immediate")
_MISSING_CLASS: Final = re.compile(r'storageclass\S* "([^"]+)" not found')


def find_volume_shortages(room: NodeFits) -> Iterator[ConstraintFailure]:
    """The pod's claims by name, and what is the matter with them."""
    by_node = {node.name: " ".join(status.reason.lower() for status in node.statuses) for node in room.node_fits}
    reasons = [reason for reason in by_node.values() if "volume" in reason]
    if not reasons:
        return
    named = claim_names_of(room.task.pod)
    yield from _missing_class_failures(room, reasons)
    if not named or any(f'"{name}"' in reason for name in named for reason in reasons):
        return
    text = f"its volume claim{'s are' if len(named) > 1 else ' is'} {join_names(named)}"
    mounted = _mounted_by(room, named)
    yield ConstraintFailure(f"{text}, mounted by {join_names(mounted, MAX_HOLDERS)}" if mounted else text)
    beyond = [name for name, reason in by_node.items() if any(text in reason for text in VOLUME_ELSEWHERE_REASONS)]
    if beyond:
        reach = [name for name in by_node if name not in beyond]
        where = f"only {join_names(reach)} reaches its volumes" if reach else "no node reaches its volumes"
        yield ConstraintFailure(
            where,
            (queue_admin_advice(f"free room on {join_names(reach)}, or move the data"),) if reach else (),
            "volume",
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
            f"claim {name} has no volume yet, and its class {owner or '(none)'} binds before a pod is placed",
            (cluster_admin_advice(f"look at the provisioner of claim {name} (kubectl describe pvc {name})"),),
            "volume",
        )
    elif found is not None and any(NONE_TO_BIND in reason for reason in reasons):
        allowed = [
            f"{one.get('key')} is {' or '.join(one.get('values') or ())}"
            for term in found.get("allowedTopologies") or ()
            for one in term.get("matchLabelExpressions") or ()
        ]
        if allowed:
            yield ConstraintFailure(
                f"class {owner} of claim {name} makes volumes only where {join_names(allowed)}",
                (
                    cluster_admin_advice(
                        f"let class {owner} serve the zones of the nodes (allowedTopologies), or run the pod there"
                    ),
                ),
                "volume",
            )


def _missing_class_failures(room: NodeFits, reasons: Sequence[str]) -> Iterator[ConstraintFailure]:
    """A storage class that does not exist."""
    known = [name_of(manifest) for manifest in room.view.recording.snapshot.objects_of("StorageClass")]
    missing = [one for reason in reasons for one in _MISSING_CLASS.findall(reason)]
    for name in dict.fromkeys(missing):
        there = f"there are {join_names(known)}" if known else "there is none at all"
        yield ConstraintFailure(
            f"there is no StorageClass {name} ({there})",
            (cluster_admin_advice(f"create StorageClass {name}, or name one that exists in the claim"),),
            "volume",
        )


def claim_names_of(pod: Pod) -> list[str]:
    """Names of the volume claims that a pod mounts."""
    return [claim.name for claim in claim_names(pod) if claim.name and not claim.ephemeral]
