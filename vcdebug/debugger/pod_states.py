"""States of pods and PodGroups before a cycle, by which cycles are compared: no times, and in counts no names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.podgroup import PodGroup
from vcdebug.snapshot.manifest import owners_of
from vcdebug.snapshot.snapshot import Snapshot

PodKind = tuple[str, ...]
"""What pods of one template have in common."""


class PodState(NamedTuple):
    """What is compared of one pod: its node, phase, deletion and nominated node."""

    node: NodeName
    phase: str
    leaving: bool
    promised: NodeName


def states_by_name(snapshot: Snapshot) -> dict[str, PodState | str]:
    """Every pod by name and UID, and the phase of every PodGroup."""
    found: dict[str, PodState | str] = {
        f"{pod.key} {pod.uid}": _pod_state(pod) for pod in map(Pod, snapshot.objects_of("Pod"))
    }
    for group in map(PodGroup, snapshot.objects_of("PodGroup")):
        found[f"PodGroup {group.namespace}/{group.name}"] = group.phase
    return found


def state_counts(snapshot: Snapshot) -> Counter[tuple[PodKind, PodState]]:
    """Number of pods by kind and state: the same for clusters that differ in names and times only."""
    return Counter((pod_kind(pod), _pod_state(pod)) for pod in map(Pod, snapshot.objects_of("Pod")))


def pod_kinds(snapshot: Snapshot) -> Mapping[TaskKey, PodKind]:
    """The kind of every pod."""
    return {pod.key: pod_kind(pod) for pod in map(Pod, snapshot.objects_of("Pod"))}


def pod_kind(pod: Pod) -> PodKind:
    """Job, role, priority and requests: what a controller's next pod of the same template has too."""
    owner = pod.job_id or _owner_name(pod) or pod.key
    return owner, pod.task_role, str(pod.priority), pod.resources_text


def _owner_name(pod: Pod) -> str:
    owners = owners_of(pod.manifest)
    return next((f"{pod.namespace}/{owner.get('kind')}/{owner.get('name')}" for owner in owners), "")


def _pod_state(pod: Pod) -> PodState:
    return PodState(pod.node_name, pod.phase, pod.deleting, pod.nominated_node_name)
