"""Accessors of a manifest's metadata, spec and status; a missing part is empty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from vcdebug.snapshot.kinds import WORKLOAD_NAMES

GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
"""The annotation of a pod that names its PodGroup."""
MADE_GROUP_PREFIX = "podgroup-"
"""Prefix of the names of PodGroups that Volcano's controller creates."""


def object_in(value: object) -> JsonDict:
    """The value if it is a JSON object, else an empty object."""
    return value if isinstance(value, dict) else {}


def object_list(value: object) -> list[JsonDict]:
    """The JSON objects of a list; none of any other value."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def metadata_of(manifest: JsonObject) -> JsonObject:
    """The object's metadata."""
    metadata: JsonObject = manifest.get("metadata") or {}
    return metadata


def name_of(manifest: JsonObject) -> str:
    """The object's name."""
    return metadata_of(manifest).get("name") or ""


def namespace_of(manifest: JsonObject) -> str:
    """The object's namespace; empty for none."""
    return metadata_of(manifest).get("namespace") or ""


def key_of(manifest: JsonObject) -> str:
    """`namespace/name`."""
    return f"{namespace_of(manifest)}/{name_of(manifest)}"


def bare_name(key: str) -> str:
    """The name in `namespace/name`."""
    return key.rpartition("/")[2]


def namespace_in(key: str) -> str:
    """The namespace in `namespace/name`."""
    return key.partition("/")[0]


def labels_of(manifest: JsonObject) -> Mapping[str, str]:
    """The object's labels."""
    labels: Mapping[str, str] = metadata_of(manifest).get("labels") or {}
    return labels


def annotations_of(manifest: JsonObject) -> Mapping[str, str]:
    """The object's annotations."""
    annotations: Mapping[str, str] = metadata_of(manifest).get("annotations") or {}
    return annotations


def owners_of(manifest: JsonObject) -> Sequence[JsonObject]:
    """The object's owner references."""
    return metadata_of(manifest).get("ownerReferences") or ()


def owner_keys(manifest: JsonObject) -> list[str]:
    """`namespace/name` of the object's owners, which are in its own namespace."""
    namespace = namespace_of(manifest)
    return [f"{namespace}/{owner.get('name')}" for owner in owners_of(manifest)]


def owner_names(manifest: JsonObject) -> list[str]:
    """The object's owners as answers name them: `PyTorchJob mnist`."""
    return [f"{owner.get('kind')} {owner.get('name')}" for owner in owners_of(manifest)]


def group_maker(group: JsonObject) -> str:
    """The owner that a PodGroup was made for, `RayCluster ray`; empty if Volcano's controller made it for pods."""
    return "" if name_of(group).startswith(MADE_GROUP_PREFIX) else next(iter(owner_names(group)), "")


def spec_of(manifest: JsonObject) -> JsonObject:
    """The object's spec."""
    spec: JsonObject = manifest.get("spec") or {}
    return spec


def status_of(manifest: JsonObject) -> JsonObject:
    """The object's status."""
    status: JsonObject = manifest.get("status") or {}
    return status


def find_condition(status: JsonObject, kind: str) -> JsonObject:
    """The condition of this type in an object's status; empty without one."""
    return next((one for one in object_list(status.get("conditions")) if one.get("type") == kind), {})


def label_selector_matches(selector: JsonObject | None, labels: Mapping[str, str]) -> bool:
    """Whether the labels match a LabelSelector; a nil or invalid one matches nothing, an empty one everything."""
    if selector is None:
        return False
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_requirement_matches(raw, labels) for raw in selector.get("matchExpressions") or ())


def _requirement_matches(raw: JsonObject, labels: Mapping[str, str]) -> bool:
    key, operator, values = raw.get("key", ""), raw.get("operator"), raw.get("values") or ()
    if operator == "In":
        return bool(values) and key in labels and labels[key] in values
    if operator == "NotIn":
        return bool(values) and (key not in labels or labels[key] not in values)
    if operator == "Exists":
        return not values and key in labels
    return operator == "DoesNotExist" and not values and key not in labels


QUEUE_ANNOTATION = "scheduling.volcano.sh/queue-name"
"""The annotation that names the queue; Volcano's controller reads it only from pods."""
QUEUE_LABEL = "volcano.sh/queue-name"
JOB_NAME_KEY = "volcano.sh/job-name"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
"""The annotation of a claim that the volume controller has bound."""
NUMA_POLICY_KEY = "volcano.sh/numa-topology-policy"
REVOCABLE_ZONE_KEY = "volcano.sh/revocable-zone"
HIERARCHY_KEY = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS_KEY = "volcano.sh/hierarchy-weights"
HOSTNAME_KEY = "kubernetes.io/hostname"
_FIRST_ROLES = ("Master", "PS", "Chief")


class WorkloadFacts(NamedTuple):
    """Facts from an operator's object about the pods that the operator creates for it."""

    queue: str = ""
    suspended: bool = False
    replicas: Mapping[str, int] = {}
    """Role → number of pods."""
    after: Mapping[str, str] = {}
    """Role → role whose pods must run before the first role's pods are created."""
    owners: tuple[str, ...] = ()
    """Names of the objects that own it, such as the RayJob of a RayCluster."""
    ended: str = ""
    """The state in which it has ended, as its status names it, such as Complete; empty if it has not."""
    minimum: int = 0
    """The minAvailable of its schedulingPolicy; 0 if it states none."""

    @classmethod
    def of_manifest(cls, manifest: JsonObject) -> WorkloadFacts:
        """Read them from a manifest that has not been checked."""
        spec, metadata = object_in(manifest.get("spec")), object_in(manifest.get("metadata"))
        policy = object_in(spec.get("runPolicy"))
        queue_names = [
            object_in(metadata.get("annotations")).get(QUEUE_ANNOTATION),
            object_in(metadata.get("labels")).get(QUEUE_LABEL),
            object_in(spec.get("batchSchedulerOptions")).get("queue"),
            object_in(policy.get("schedulingPolicy")).get("queue"),
        ]
        tasks = [(str(entry.get("name")), entry) for entry in object_list(spec.get("tasks"))]
        templates = (object_in(object_in(entry.get("template")).get("metadata")) for _, entry in tasks)
        queue_names += [object_in(each.get("annotations")).get(QUEUE_ANNOTATION) for each in templates]
        parts = [object_in(value) for key, value in spec.items() if str(key).endswith("ReplicaSpecs")]
        roles = [*tasks, *((role, object_in(entry)) for part in parts for role, entry in part.items())]
        replicas = {str(role): entry.get("replicas", 1) for role, entry in roles}
        waits = [(role, object_in(entry.get("dependsOn")).get("name")) for role, entry in tasks]
        after = {role: names[0] for role, names in waits if isinstance(names, list) and names}
        first = next((role for role in _FIRST_ROLES if role in replicas), "")
        # KubeDL starts the first role before all others by default.
        if first and str(manifest.get("apiVersion")).startswith("training.kubedl.io/"):
            after = {role: first for role in replicas if role != first}
        if "driver" in spec and "executor" in spec:
            # The driver of a SparkApplication creates its executors.
            replicas = {"driver": 1, "executor": object_in(spec["executor"]).get("instances", 1)}
            after = {"executor": "driver"}
        if spec.get("launcherCreationPolicy") == "WaitForWorkersReady":
            after = {"Launcher": "Worker"}
        suspended = spec.get("suspend") is True or policy.get("suspend") is True
        queue = next(filter(None, queue_names), "")
        owners = [owner.get("name") for owner in object_list(metadata.get("ownerReferences"))]
        facts = {"queue": queue, "suspended": suspended, "replicas": replicas, "after": after, "owners": owners}
        facts["minimum"] = object_in(policy.get("schedulingPolicy")).get("minAvailable")
        return cls.of_document({**facts, "ended": _ended_state(object_in(manifest.get("status")))})

    @classmethod
    def of_document(cls, document: JsonObject) -> WorkloadFacts:
        """Reads the facts in a JSON document; invalid values are ignored."""
        queue, replicas, after = document.get("queue"), document.get("replicas"), document.get("after")
        owners, ended, minimum = document.get("owners"), document.get("ended"), document.get("minimum")
        return cls(
            queue if isinstance(queue, str) else "",
            document.get("suspended") is True,
            {role: count for role, count in object_in(replicas).items() if type(count) is int},
            {role: first for role, first in object_in(after).items() if isinstance(first, str)},
            tuple(name for name in owners if isinstance(name, str)) if isinstance(owners, list | tuple) else (),
            ended if isinstance(ended, str) else "",
            minimum if type(minimum) is int else 0,
        )


_ENDED_STATES = ("complete", "completed", "succeeded", "failed", "finished", "terminated", "aborted")


def _ended_state(status: JsonObject) -> str:
    """The state of an operator's object that has ended, wherever its status has it; empty for another one."""
    stated = [status.get(name) for name in ("jobDeploymentStatus", "phase", "state", "jobStatus")]
    stated += [object_in(status.get("applicationState")).get("state"), object_in(status.get("state")).get("phase")]
    stated += [one.get("type") for one in object_list(status.get("conditions")) if one.get("status") == "True"]
    return next((text for text in stated if isinstance(text, str) and text.lower() in _ENDED_STATES), "")


def workload_key(namespace: object, kind: object, name: object) -> str:
    """`namespace/Kind name`: how a snapshot names the object of an operator."""
    return f"{namespace or ''}/{kind} {name}"


def split_workload_key(key: str) -> tuple[str, str, str]:
    """(namespace, kind, name) of a workload_key."""
    namespace, _, rest = key.partition("/")
    kind, _, name = rest.partition(" ")
    return namespace, kind, name


def facts_by_name(manifests: Iterable[JsonObject]) -> dict[str, WorkloadFacts]:
    """`namespace/Kind name` → facts of the objects that answers use: those of known operators, or with some fact."""
    workloads = {}
    for manifest in manifests:
        facts, kind = WorkloadFacts.of_manifest(manifest), manifest.get("kind")
        metadata = object_in(manifest.get("metadata"))
        if metadata.get("name") and (kind in WORKLOAD_NAMES or facts != WorkloadFacts()):
            workloads[workload_key(metadata.get("namespace"), kind, metadata["name"])] = facts
    return workloads


# Types of parsed documents: Any, since users write them and nothing is checked yet.

Json = Any
"""Any value of a document."""
JsonObject = Mapping[str, Any]
"""An object of a document, read only."""
JsonDict = dict[str, Any]
"""An object of a document that may be changed."""
