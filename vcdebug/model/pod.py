"""A pod as the scheduler reads it: identity, flags, and the raw spec for Kubernetes' checks. Upstream: api/pod_info."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vcdebug.gomath import DECIMAL_INTEGER
from vcdebug.grouping import split_names
from vcdebug.model.names import NodeName
from vcdebug.snapshot.manifest import GROUP_ANNOTATION, REVOCABLE_ZONE_KEY, JsonObject, annotations_of, find_condition
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.settings import parse_bool
from vcdebug.snapshot.snapshot import Snapshot

TASK_SPEC_KEY = "volcano.sh/task-spec"
TASK_PRIORITY_KEY = "volcano.sh/task-priority"
PREEMPTABLE_KEY = "volcano.sh/preemptable"
VOLCANO_GATE = "scheduling.volcano.sh/queue-allocation-gate"
QUEUE_GATE = "SchedulingGatesQueueAdmission"
"""The feature gate with which the scheduler removes VOLCANO_GATE from pods that ask for it by an annotation."""
ENDED_PHASES = ("Succeeded", "Failed")
"""Phases of pods that have terminated."""

_EMPTY: JsonObject = {}
TaskSubject = tuple[tuple[str, str]]


class Pod:
    """One pod object, shared by every copy of its task, as upstream shares the pointer."""

    __slots__ = split_names(
        "_policy_known _requesting _subject annotations creation_timestamp deleting key labels manifest name namespace "
        "node_name nominated_node_name shape spec status uid volcano_gate_known"
    )

    def __init__(self, manifest: JsonObject, *, volcano_gate_known: bool = True, policy_known: bool = True) -> None:
        metadata: JsonObject = manifest.get("metadata") or _EMPTY
        spec: JsonObject = manifest.get("spec") or _EMPTY
        status: JsonObject = manifest.get("status") or _EMPTY
        name: str = metadata.get("name", "")
        namespace: str = metadata.get("namespace", "")
        self.manifest, self.spec, self.status = manifest, spec, status
        self.volcano_gate_known = volcano_gate_known
        """False for releases that do not know Volcano's own scheduling gate."""
        self._policy_known = policy_known
        self.name, self.namespace = name, namespace
        self.key = f"{namespace}/{name}" if namespace else name
        """`namespace/name`, or the bare name without a namespace."""
        self.uid: str = metadata.get("uid", "")
        self.labels: Mapping[str, str] = metadata.get("labels") or _EMPTY
        self.annotations: Mapping[str, str] = metadata.get("annotations") or _EMPTY
        self.creation_timestamp: str = metadata.get("creationTimestamp") or ""
        self.deleting = "deletionTimestamp" in metadata and bool(metadata["deletionTimestamp"])
        """Whether deletionTimestamp is set."""
        self.node_name: str = spec.get("nodeName") or ""
        """Written by Statement.Allocate and never restored."""
        self._requesting: tuple[object, ...] | None = None
        self._subject: TaskSubject | None = None
        self.shape: object | None = None
        """The PodShape of the view that parsed the pod (kube/pod_shape); typed as object to keep kube above model."""
        self.nominated_node_name: str = status.get("nominatedNodeName") or ""

    def clone_initial(self) -> Pod:
        """A copy of the pod in its initial state, for another cycle."""
        copy = Pod.__new__(Pod)
        copy.manifest, copy.spec, copy.status = self.manifest, self.spec, self.status
        copy.name, copy.namespace, copy.key, copy.uid = self.name, self.namespace, self.key, self.uid
        copy._subject, copy.labels, copy.annotations = self._subject, self.labels, self.annotations
        copy.creation_timestamp, copy.deleting = self.creation_timestamp, self.deleting
        copy.volcano_gate_known, copy._requesting = self.volcano_gate_known, self._requesting
        copy._policy_known = self._policy_known
        copy.node_name, copy.shape = self.stated_node, self.shape
        copy.nominated_node_name = self.status.get("nominatedNodeName") or ""
        return copy

    @property
    def subject(self) -> TaskSubject:
        """How a record names its task; one tuple for all records, made on first use."""
        subject = self._subject
        if subject is None:
            subject = self._subject = (("task", self.key),)
        return subject

    @property
    def request_sources(self) -> tuple[object, ...]:
        """The objects that the request is read from.

        Loaders share equal parts of manifests, so that all pods of one template have the same objects here.
        """
        sources = self._requesting
        if sources is None:
            get, status = self.spec.get, self.status
            started, initial = status.get("containerStatuses"), status.get("initContainerStatuses")
            parts = get("containers"), get("initContainers"), get("resources"), get("overhead")
            sources = self._requesting = (
                *parts,
                started,
                initial,
                bool(started or initial) and is_resize_infeasible(status),
            )
        return sources

    def share_request_sources(self, requesting: tuple[object, ...]) -> None:
        """Replace the pod's tuple by another pod's equal one: pods with equal requests then share one identity."""
        self._requesting = requesting

    @property
    def has_resized_container(self) -> bool:
        """Whether the status states resources of a container, which may differ from its spec after a resize."""
        status = self.status
        return _has_resources(status.get("containerStatuses")) or _has_resources(status.get("initContainerStatuses"))

    @property
    def resources_text(self) -> str:
        """All resources of the spec as one text, equal for pods of one template."""
        spec = self.spec
        containers = [container.get("resources") for container in spec.get("containers") or ()]
        initial = [(c.get("resources"), c.get("restartPolicy")) for c in spec.get("initContainers") or ()]
        return repr((containers, initial, spec.get("resources"), spec.get("overhead")))

    @property
    def resized_text(self) -> str:
        """All resources of the status as one text; empty where it states none."""
        if not self.has_resized_container:
            return ""
        spec, status = self.spec, self.status
        names = [[item.get("name") for item in spec.get(field) or ()] for field in ("containers", "initContainers")]
        statuses = [
            [
                (item.get("name"), item.get("resources"), item.get("allocatedResources"))
                for item in status.get(field) or ()
            ]
            for field in ("containerStatuses", "initContainerStatuses")
        ]
        return repr((names, statuses, is_resize_infeasible(status)))

    @property
    def stated_node(self) -> str:
        """spec.nodeName, empty when missing: where the cycle found the pod."""
        return self.spec.get("nodeName") or ""

    @property
    def phase(self) -> str:
        """status.phase, empty when missing."""
        return self.status.get("phase") or ""

    @property
    def priority(self) -> int | None:
        """spec.priority; None when the manifest does not state it."""
        return self.spec.get("priority")

    @property
    def priority_class_name(self) -> str:
        """spec.priorityClassName."""
        return self.spec.get("priorityClassName") or ""

    @property
    def preemption_policy(self) -> str:
        """spec.preemptionPolicy, empty when missing or in a release that does not read it."""
        return self.spec.get("preemptionPolicy") or "" if self._policy_known else ""

    @property
    def scheduler_name(self) -> str:
        """spec.schedulerName, empty when missing."""
        return self.spec.get("schedulerName") or ""

    @property
    def scheduling_gates(self) -> list[str]:
        """Names of spec.schedulingGates."""
        return [gate.get("name", "") for gate in self.spec.get("schedulingGates") or ()]

    @property
    def job_id(self) -> str:
        """`namespace/group` from the group annotation, else empty. Upstream: api/job_info.getJobID."""
        group = self.annotations.get(GROUP_ANNOTATION)
        return f"{self.namespace}/{group}" if group else ""

    @property
    def task_role(self) -> str:
        """The role from annotation or label `volcano.sh/task-spec`. Upstream: api/job_info.getTaskRole."""
        return self.annotations.get(TASK_SPEC_KEY) or self.labels.get(TASK_SPEC_KEY) or ""

    @property
    def annotated_priority(self) -> int | None:
        """The annotation `volcano.sh/task-priority` where it is an int32."""
        text = self.annotations.get(TASK_PRIORITY_KEY)
        if text and DECIMAL_INTEGER.fullmatch(text) and -(2**31) <= int(text) < 2**31:
            return int(text)
        return None

    @property
    def preemptable(self) -> bool:
        """`volcano.sh/preemptable`; True if absent, False if unparsable. Upstream: api/pod_info.GetPodPreemptable."""
        text = self.annotations.get(PREEMPTABLE_KEY)
        if text is None:
            text = self.labels.get(PREEMPTABLE_KEY)
        return True if text is None else parse_bool(text) is True

    @property
    def has_only_volcano_gate(self) -> bool:
        """Whether Volcano's own scheduling gate is the only one. Upstream: api/helpers.HasOnlyVolcanoSchedulingGate."""
        return self.volcano_gate_known and self.scheduling_gates == [VOLCANO_GATE]

    @property
    def has_restartable_init_container(self) -> bool:
        """Whether some init container is a sidecar. Upstream: api/job_info.hasRestartableInitContainer."""
        initial: list[JsonObject] = self.spec.get("initContainers") or []
        return bool(initial) and any(c.get("restartPolicy") == "Always" for c in initial)


def is_resize_infeasible(status: JsonObject) -> bool:
    """Whether a pod's status reports that its node cannot carry out the pending resize."""
    return bool(find_condition(status, "PodResizePending").get("reason") == "Infeasible")


def _has_resources(statuses: list[JsonObject] | None) -> bool:
    for container in statuses or ():  # noqa: SIM110 - a generator would take twice the time here
        if container.get("resources") is not None:
            return True
    return False


class PodAttributes(NamedTuple):
    """Attributes from annotations and labels, which are equal for all pods of one template."""

    job: str
    task_role: str
    priority: int | None
    """Priority from the annotation; None without a valid one."""
    preemptable: bool
    revocable_zone: str

    @classmethod
    def of_pod(cls, pod: Pod) -> PodAttributes:
        zone = revocable_zone(pod.annotations)
        return cls(pod.job_id, pod.task_role, pod.annotated_priority, pod.preemptable, zone)


class PodIdentity(NamedTuple):
    """Key, job, node and scheduler of a manifest, read without making a Pod: enough to filter thousands."""

    key: str
    job: str
    """`namespace/group`, empty without a group."""
    node: str
    scheduler: str

    @classmethod
    def of_manifest(cls, manifest: JsonObject) -> PodIdentity:
        """Reads the same values as the attributes of Pod."""
        metadata, spec = manifest.get("metadata") or _EMPTY, manifest.get("spec") or _EMPTY
        namespace, name = metadata.get("namespace", ""), metadata.get("name", "")
        group = (metadata.get("annotations") or _EMPTY).get(GROUP_ANNOTATION)
        key = f"{namespace}/{name}" if namespace else name
        job = f"{namespace}/{group}" if group else ""
        return cls(key, job, spec.get("nodeName") or "", spec.get("schedulerName") or "")


def revocable_zone(annotations: Mapping[str, str]) -> str:
    """`*` or empty, from the annotations of a pod or PodGroup. Upstream: api/pod_info.GetPodRevocableZone."""
    zone = annotations.get(REVOCABLE_ZONE_KEY)
    if zone is not None:
        return "*" if zone == "*" else ""
    preemptable = annotations.get(PREEMPTABLE_KEY)
    return "*" if preemptable and parse_bool(preemptable) else ""


# Annotations with a cycle's pipelined tasks for the next cycle ("task state persistence across sessions").

STATUS_ANNOTATION = "volcano.sh/pipelined-status"
NODE_ANNOTATION = "volcano.sh/pipelined-node"
EVICTION_ANNOTATION = "volcano.sh/eviction-occurred"
ANNOTATIONS = (STATUS_ANNOTATION, NODE_ANNOTATION, EVICTION_ANNOTATION)
TRUE = "true"
_PENDING_EFFECT = "the task counts as Pending"


class PersistedPlacement(NamedTuple):
    """Where a task was pipelined, and whether victims had been evicted for it."""

    node: NodeName
    eviction: bool


def _count_carriers(snapshot: Snapshot) -> int:
    """Number of pods with one of the annotations."""
    # Pods of one template share their annotations: each distinct object is examined once.
    annotations = [annotations_of(manifest) for manifest in snapshot.objects_of("Pod")]
    distinct = {id(notes): notes for notes in annotations}
    carries = {number: any(name in notes for name in ANNOTATIONS) for number, notes in distinct.items()}
    return sum(carries[id(notes)] for notes in annotations) if any(carries.values()) else 0  # exact: ints


class TaskStatePersistence:
    """Whether pipelined tasks are restored, why, and the problems of their annotations."""

    __slots__ = ("nodes", "is_on", "problems", "reason")

    def __init__(self, snapshot: Snapshot, nodes: Mapping[NodeName, object]) -> None:
        self.nodes = nodes
        self.problems: list[Problem] = []
        carriers = _count_carriers(snapshot)
        self.is_on = snapshot.persistence == "on" or (snapshot.persistence == "auto" and carriers > 0)
        pods = "1 pod carries" if carriers == 1 else f"{carriers or 'no'} pods carry"
        origin = "set in meta.json" if not snapshot.process.sessions else "as in the cycles before"
        self.reason = f"{pods} its annotations" if snapshot.persistence == "auto" else origin

    @property
    def setting_text(self) -> str:
        """The setting in words."""
        return f"task state persistence: {'on' if self.is_on else 'off'} ({self.reason})"

    def find_placement(self, pod: Pod) -> PersistedPlacement | None:
        """The placement of an unbound pod that has not terminated; None means that its phase decides."""
        notes = pod.annotations
        if (
            not self.is_on
            or pod.node_name
            or pod.deleting
            or pod.phase in ENDED_PHASES
            or not (STATUS_ANNOTATION in notes or NODE_ANNOTATION in notes)
        ):
            return None
        if notes.get(STATUS_ANNOTATION) != TRUE:
            self._add_problem(
                pod,
                STATUS_ANNOTATION,
                f"is {notes[STATUS_ANNOTATION]!r}, not 'true'" if STATUS_ANNOTATION in notes else "is missing",
            )
            return None
        node = notes.get(NODE_ANNOTATION, "")
        if node not in self.nodes:
            self._add_problem(
                pod, NODE_ANNOTATION, f"names {node}, which is not a node of the snapshot" if node else "is missing"
            )
            return None
        return PersistedPlacement(node, notes.get(EVICTION_ANNOTATION) == TRUE)

    def _add_problem(self, pod: Pod, annotation: str, fault: str) -> None:
        field = f"metadata.annotations[{annotation}]"
        self.problems.append(Problem("", f"Pod {pod.key}", field, fault, _PENDING_EFFECT))
