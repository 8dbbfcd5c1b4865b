"""What stands behind a refusal for volumes: the claim, its class, where its volume can be used, who mounts it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from vcdebug.amount_text import listed
from vcdebug.causes.wishes import MOST_HOLDERS, Obstacle
from vcdebug.explain.answer import cluster, sharers
from vcdebug.explain.node_fit import NodeFits
from vcdebug.kube.claims import claim_names, class_name
from vcdebug.model.pod import Pod
from vcdebug.snapshot.manifest import name_of, spec_of
from vcdebug.snapshot.snapshot import Manifest

ELSEWHERE: Final = ("persistentvolume's node affinity", "volume node affinity conflict")
NONE_TO_BIND: Final = "available persistent volumes to bind"
UNBOUND: Final = ("persistentvolume had no name", "unbound immediate")
_MISSING_CLASS: Final = re.compile(r'storageclass\S* "([^"]+)" not found')


def volumes_wanted(room: NodeFits) -> Iterator[Obstacle]:
    """The pod's claims by name, and what is the matter with them."""
    by_node = {node.name: " ".join(status.reason.lower() for status in node.statuses) for node in room.nodes}
    reasons = [reason for reason in by_node.values() if "volume" in reason]
    if not reasons:
        return
    named = claims(room.task.pod)
    yield from _no_class(room, reasons)
    if not named or any(f'"{name}"' in reason for name in named for reason in reasons):
        return
    text = f"its volume claim{'s are' if len(named) > 1 else ' is'} {listed(named)}"
    mounted = _mounted_by(room, named)
    yield Obstacle(f"{text}, mounted by {listed(mounted, MOST_HOLDERS)}" if mounted else text)
    beyond = [name for name, reason in by_node.items() if any(text in reason for text in ELSEWHERE)]
    if beyond:
        reach = [name for name in by_node if name not in beyond]
        where = f"only {listed(reach)} reaches its volumes" if reach else "no node reaches its volumes"
        yield Obstacle(where, (sharers(f"free room on {listed(reach)}, or move the data"),) if reach else (), "volume")
    for claim in _claims_of(room, named):
        yield from _unbound(room, claim, reasons)


def _mounted_by(room: NodeFits, named: list[str]) -> list[str]:
    return [
        f"{task.name} on {node.name}"
        for node in room.nodes
        for task in room.tasks_on(node.name)
        if task.namespace == room.task.namespace and any(name in named for name in claims(task.pod))
    ]


def _claims_of(room: NodeFits, named: list[str]) -> Iterator[Manifest]:
    for manifest in room.view.recording.snapshot.of("PersistentVolumeClaim"):
        metadata = manifest["metadata"]
        if metadata.get("namespace") == room.task.namespace and metadata["name"] in named:
            yield manifest


def _unbound(room: NodeFits, claim: Manifest, reasons: Sequence[str]) -> Iterator[Obstacle]:
    """A claim without a volume: what its class waits for, or where it may make one."""
    if spec_of(claim).get("volumeName"):
        return
    name, owner = name_of(claim), class_name(claim)
    classes = {name_of(one): one for one in room.view.recording.snapshot.of("StorageClass")}
    found = classes.get(owner)
    if any(word in reason for word in UNBOUND for reason in reasons):
        yield Obstacle(
            f"claim {name} has no volume yet, and its class {owner or '(none)'} binds before a pod is placed",
            (cluster(f"look at the provisioner of claim {name} (kubectl describe pvc {name})"),),
            "volume",
        )
    elif found is not None and any(NONE_TO_BIND in reason for reason in reasons):
        allowed = [
            f"{one.get('key')} is {' or '.join(one.get('values') or ())}"
            for term in found.get("allowedTopologies") or ()
            for one in term.get("matchLabelExpressions") or ()
        ]
        if allowed:
            yield Obstacle(
                f"class {owner} of claim {name} makes volumes only where {listed(allowed)}",
                (cluster(f"let class {owner} serve the zones of the nodes (allowedTopologies), or run the pod there"),),
                "volume",
            )


def _no_class(room: NodeFits, reasons: Sequence[str]) -> Iterator[Obstacle]:
    """A storage class that does not exist."""
    known = [name_of(manifest) for manifest in room.view.recording.snapshot.of("StorageClass")]
    missing = [one for reason in reasons for one in _MISSING_CLASS.findall(reason)]
    for name in dict.fromkeys(missing):
        there = f"there are {listed(known)}" if known else "there is none at all"
        yield Obstacle(
            f"there is no StorageClass {name} ({there})",
            (cluster(f"create StorageClass {name}, or name one that exists in the claim"),),
            "volume",
        )


def claims(pod: Pod) -> list[str]:
    """Names of the volume claims that a pod mounts."""
    return [claim.name for claim in claim_names(pod) if claim.name and not claim.ephemeral]
