"""Names that point at objects the snapshot does not hold, and what that means for the replay."""

from __future__ import annotations

from typing import Any

from vcdebug.snapshot.gather import GatheredObjects, object_name
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.manifest import metadata_of, name_of, spec_of
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
SYSTEM_CLASSES = ("system-node-critical", "system-cluster-critical")

_NO_JOB = "the scheduler knows no job for it: a waiting pod is never placed, a placed one only occupies its node"
_NO_QUEUE = "the job is left out of the session"
_NO_CLASS = "its priority is the default one"
_NO_PRIORITY = "a server would refuse the pod; its priority is 1, as of pods that state none"
_NO_NODE = "the pod occupies no known node"
_NO_CLAIM = "its volumes are not counted, and the volume checks refuse every node"


class _DanglingNames:
    """Collects dangling names: one Problem for each target, with a count."""

    def __init__(self, found: GatheredObjects) -> None:
        self._found = found
        self._seen: dict[tuple[str, str, str], list[Any]] = {}

    def add_name(self, kind: str, index: int, field: str, target: str, effect: str) -> None:
        """Note that a field of the object at `index` names a missing target."""
        entry = self._seen.setdefault((kind, field, target), [index, 0, effect])
        entry[1] += 1

    def add_problems(self) -> None:
        for (kind, field, target), (index, count, effect) in self._seen.items():
            manifest = self._found.objects[kind][index]
            others = f" ({count} {kind} objects name it)" if count > 1 else ""
            self._found.report.add_problem(
                f"{target} is not in the snapshot{others}",
                effect,
                file=self._found.files[kind][index],
                object=f"{kind} {object_name(manifest)}",
                field=field,
            )


def note_dangling(found: GatheredObjects, flags: SchedulerFlags) -> None:
    """Add a Problem for every queue, PodGroup, class, node or claim that is named and missing."""
    dangling = _DanglingNames(found)
    _check_pod_groups(found, flags, dangling)
    _check_pods(found, flags, dangling)
    dangling.add_problems()


def _check_pod_groups(found: GatheredObjects, flags: SchedulerFlags, dangling: _DanglingNames) -> None:
    queues = _names_of_kind(found, "Queue")
    classes = _known_classes(found, flags)
    for index, manifest in enumerate(found.objects.get("PodGroup", ())):
        spec = spec_of(manifest)
        queue = spec.get("queue") or flags.default_queue
        if queue not in queues:
            dangling.add_name("PodGroup", index, "spec.queue", f"queue {queue}", _NO_QUEUE)
        name = spec.get("priorityClassName")
        if name and classes is not None and name not in classes:
            dangling.add_name("PodGroup", index, "spec.priorityClassName", f"PriorityClass {name}", _NO_CLASS)


def _check_pods(found: GatheredObjects, flags: SchedulerFlags, dangling: _DanglingNames) -> None:
    nodes = _names_of_kind(found, "Node")
    groups = _keys_of_kind(found, "PodGroup")
    claims = _keys_of_kind(found, "PersistentVolumeClaim")
    classes = _names_of_kind(found, "PriorityClass") | dict.fromkeys(SYSTEM_CLASSES)
    for index, manifest in enumerate(found.objects.get("Pod", ())):
        metadata, spec = manifest["metadata"], spec_of(manifest)
        node = spec.get("nodeName")
        if node and node not in nodes and not flags.node_selector:
            dangling.add_name("Pod", index, "spec.nodeName", f"node {node}", _NO_NODE)
        if spec.get("schedulerName") not in flags.scheduler_names:
            continue
        name = spec.get("priorityClassName")
        if name and name not in classes and spec.get("priority") is None:
            dangling.add_name("Pod", index, "spec.priorityClassName", f"PriorityClass {name}", _NO_PRIORITY)
        group = (metadata.get("annotations") or {}).get(GROUP_ANNOTATION)
        if group and (metadata.get("namespace") or "", group) not in groups:
            dangling.add_name("Pod", index, f"metadata.annotations.{GROUP_ANNOTATION}", f"PodGroup {group}", _NO_JOB)
        for claim in _claim_names(manifest, spec):
            if (metadata.get("namespace") or "", claim) not in claims:
                dangling.add_name("Pod", index, "spec.volumes", f"PersistentVolumeClaim {claim}", _NO_CLAIM)


def _claim_names(manifest: Manifest, spec: JsonObject) -> list[str]:
    names = []
    for volume in spec.get("volumes") or ():
        claim = volume.get("persistentVolumeClaim") or {}
        if claim.get("claimName"):
            names.append(claim["claimName"])
        elif volume.get("ephemeral"):
            names.append(f"{manifest['metadata']['name']}-{volume.get('name', '')}")
    return names


def _known_classes(found: GatheredObjects, flags: SchedulerFlags) -> dict[str, None] | None:
    """Known priority classes; None when the scheduler does not look at them."""
    if not (flags.priority_class and flags.is_gate_on("PriorityClass")):
        return None
    return _names_of_kind(found, "PriorityClass") | dict.fromkeys(SYSTEM_CLASSES)


def _names_of_kind(found: GatheredObjects, kind: str) -> dict[str, None]:
    return {name_of(manifest): None for manifest in found.objects.get(kind, ())}


def _keys_of_kind(found: GatheredObjects, kind: str) -> dict[tuple[str, str], None]:
    return {
        (metadata_of(manifest).get("namespace") or "", name_of(manifest)): None
        for manifest in found.objects.get(kind, ())
    }
