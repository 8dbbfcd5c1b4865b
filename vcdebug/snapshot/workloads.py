"""PodGroups and pods that controllers create for a workload: a Volcano Job, a Deployment, a Job and so on.

Upstream: controllers/job (createOrUpdatePodGroup, createJobPod), controllers/podgroup (buildPodGroupFromPod).
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.errors import SnapshotError
from vcdebug.gotime import api_time_text
from vcdebug.snapshot.manifest import (
    GROUP_ANNOTATION,
    JOB_NAME_KEY,
    MADE_GROUP_PREFIX,
    NUMA_POLICY_KEY,
    QUEUE_ANNOTATION,
    REVOCABLE_ZONE_KEY,
    JsonObject,
    annotations_of,
    labels_of,
    metadata_of,
    name_of,
    object_in,
    object_list,
    owner_keys,
    owner_names,
    spec_of,
)
from vcdebug.snapshot.quantity import milli_value, whole_value
from vcdebug.snapshot.reported_events import CONTROLLER_KINDS
from vcdebug.snapshot.snapshot import Manifest, Snapshot

FOREIGN_GANGS: Final = (
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io/name",
    "pod-group.scheduling.sigs.k8s.io",
    "gang.scheduling.koordinator.sh/name",
    "kueue.x-k8s.io/pod-group-name",
)
"""Labels and annotations that name a gang for other schedulers."""
MIN_MEMBER: Final = "scheduling.volcano.sh/group-min-member"
TASK_SPEC: Final = "volcano.sh/task-spec"
TASK_INDEX: Final = "volcano.sh/task-index"
INHERITED_ANNOTATIONS: Final = ("volcano.sh/preemptable", "volcano.sh/cooldown-time", REVOCABLE_ZONE_KEY)
"""Annotations of a Volcano Job that are copied to its pods."""
MOST_PODS: Final = 100_000
_PREFIX: Final = "volcano.sh/"
_LIST_KINDS: Final = ("List", "PodList", "JobList")


class SubmittedWorkloads(Struct, frozen=True):
    """A snapshot with added workloads, and the new PodGroups."""

    snapshot: Snapshot
    jobs: tuple[str, ...]
    """`namespace/name` of each PodGroup."""


def submit_workloads(snapshot: Snapshot, manifests: Sequence[Manifest]) -> SubmittedWorkloads:
    """The snapshot right after the controllers have handled the workloads; raises SnapshotError for other kinds."""
    created = [item for manifest in _flatten_lists(manifests) for item in _make_objects(snapshot, manifest)]
    objects = {kind: list(present) for kind, present in snapshot.objects.items()}
    for item in created:
        names = [_object_key(other) for other in objects.setdefault(item["kind"], [])]
        if _object_key(item) in names:
            raise SnapshotError("already in the snapshot", "rename one of them", f"{item['kind']} {_object_key(item)}")
        objects[item["kind"]].append(item)
    jobs = tuple(_object_key(item) for item in created if item["kind"] == "PodGroup")
    if not jobs:
        raise SnapshotError("nothing to schedule", f"supported kinds: {', '.join(WORKLOADS)}")
    return SubmittedWorkloads(replace(snapshot, objects=objects), jobs)


def _flatten_lists(manifests: Sequence[Manifest]) -> Iterator[Manifest]:
    for manifest in manifests:
        if manifest.get("kind") in _LIST_KINDS:
            yield from manifest.get("items") or ()
        else:
            yield manifest


def _make_objects(snapshot: Snapshot, manifest: Manifest) -> Iterator[Manifest]:
    kind = manifest.get("kind") or ""
    volcano = str(manifest.get("apiVersion") or "").startswith("batch.volcano.sh/")
    maker = _volcano_job if kind == "Job" and volcano else WORKLOADS.get(kind)
    if maker is None:
        raise SnapshotError(
            f"unsupported kind {kind or '(none)'}", f"supported kinds: {', '.join(WORKLOADS)}", _object_key(manifest)
        )
    yield from maker(snapshot, manifest)


def _object_key(manifest: Manifest) -> str:
    metadata = metadata_of(manifest)
    return f"{metadata.get('namespace') or 'default'}/{metadata.get('name') or ''}"


def _volcano_job(snapshot: Snapshot, job: Manifest) -> Iterator[Manifest]:
    """A PodGroup for the job, and the pods of each task."""
    spec, tasks = spec_of(job), _named_tasks(job)
    _refuse_too_many(job, sum(int(task.get("replicas") or 0) for task in tasks))  # exact: ints
    minimums = {task["name"]: _task_minimum(task) for task in tasks}
    minimum = spec.get("minAvailable") or sum(minimums.values())  # exact: ints
    group = {
        "minMember": minimum,
        "minTaskMember": minimums,
        "queue": spec.get("queue") or "default",
        "minResources": _min_resources(snapshot, tasks, minimum),
        "priorityClassName": spec.get("priorityClassName"),
        "networkTopology": spec.get("networkTopology"),
    }
    name = f"{name_of(job)}-{metadata_of(job).get('uid') or 'submitted'}"
    yield _make_pod_group(snapshot, job, name, group, annotations_of(job), labels_of(job))
    for task in tasks:
        for index in range(int(task.get("replicas") or 0)):
            yield _volcano_pod(snapshot, job, task, index, name)


def _volcano_pod(snapshot: Snapshot, job: Manifest, task: Mapping[str, Any], index: int, group: str) -> Manifest:
    spec, template, annotations = spec_of(job), task.get("template") or {}, annotations_of(job)
    pod_annotations = {
        **annotations_of(template),
        TASK_INDEX: str(index),
        TASK_SPEC: task["name"],
        GROUP_ANNOTATION: group,
        JOB_NAME_KEY: name_of(job),
        "volcano.sh/queue-name": str(spec.get("queue") or "default"),
        **({NUMA_POLICY_KEY: task["topologyPolicy"]} if task.get("topologyPolicy") else {}),
        **{key: annotations[key] for key in INHERITED_ANNOTATIONS if key in annotations},
    }
    pod_spec = dict(spec_of(template))
    pod_spec.setdefault("schedulerName", spec.get("schedulerName") or "volcano")
    if spec.get("priorityClassName"):
        pod_spec.setdefault("priorityClassName", spec["priorityClassName"])
    labels = {**labels_of(template), JOB_NAME_KEY: name_of(job), TASK_SPEC: task["name"]}
    return _make_pod(snapshot, job, f"{name_of(job)}-{task['name']}-{index}", pod_spec, pod_annotations, labels)


class TaskPods(NamedTuple):
    """The pods of a task that a Volcano Job's controller creates."""

    pod: Manifest
    """The first of them."""
    replicas: int


def next_pods_of(snapshot: Snapshot, group: JsonObject) -> list[TaskPods]:
    """The pods of each task of the Volcano Job that owns a PodGroup; empty if the snapshot lacks a pod template."""
    job = volcano_job_of(snapshot, group)
    tasks = [] if job is None else _named_tasks(job)
    templates = [spec_of(task.get("template") or {}) for task in tasks]
    if job is None or not all(each.get("containers") for each in templates):
        return []
    counts = [int(task.get("replicas") or 0) for task in tasks]
    pods = [_volcano_pod(snapshot, job, task, 0, name_of(group)) for task in tasks]
    return [TaskPods(pod, count) for pod, count in zip(pods, counts, strict=True) if count > 0]


def volcano_job_of(snapshot: Snapshot, group: JsonObject) -> Manifest | None:
    """The Volcano Job that owns a PodGroup; None if the snapshot has none."""
    return next(filter(None, (snapshot.find_object("Job", key) for key in owner_keys(group))), None)


def owner_objects(snapshot: Snapshot, group: JsonObject) -> Iterator[JsonObject]:
    """The owners of a PodGroup among Volcano Jobs and Kubernetes' controllers."""
    owners = zip(owner_names(group), owner_keys(group), strict=True)
    kinds = ((name.partition(" ")[0], key) for name, key in owners)
    found = (snapshot.find_object(kind, key) for kind, key in kinds if kind in ("Job", *CONTROLLER_KINDS))
    return filter(None, found)


def policies_of(job: JsonObject) -> list[tuple[str, str]]:
    """(event, action) of each policy of a Volcano Job and its tasks, such as (PodEvicted, RestartJob)."""
    parts = (spec_of(job), *object_list(spec_of(job).get("tasks")))
    policies = [each for part in parts for each in object_list(part.get("policies"))]
    events = ((one, (one.get("event"), *(one.get("events") or ()))) for one in policies)
    return [(str(event), str(one.get("action"))) for one, names in events for event in names if event]


def circular_flows(owner: JsonObject) -> list[str]:
    """The flows of a JobFlow that depend on themselves, directly or through others."""
    flows = object_list(spec_of(owner).get("flows"))
    targets = {str(flow.get("name")): object_in(flow.get("dependsOn")).get("targets") or [] for flow in flows}
    return [name for name in targets if name in _reached_flows(targets, name)]


def _reached_flows(targets: Mapping[str, Sequence[str]], name: str) -> list[str]:
    """The flows on which a flow depends, directly or through others."""
    reached: dict[str, None] = {}
    pending = [*targets[name]]
    while pending:
        each = pending.pop()
        if each in targets and each not in reached:
            reached[each] = None
            pending += targets[each]
    return list(reached)


def _named_tasks(job: Manifest) -> list[dict[str, Any]]:
    return [
        {**task, "name": task.get("name") or f"default{at}"} for at, task in enumerate(spec_of(job).get("tasks") or ())
    ]


def _refuse_too_many(owner: Manifest, pods: int) -> None:
    """Raise SnapshotError for too many pods, before they are created in memory."""
    if pods > MOST_PODS:
        raise SnapshotError(
            f"asks for {pods} pods", f"at most {MOST_PODS} pods are created for a workload", _object_key(owner)
        )


def _task_minimum(task: Mapping[str, Any]) -> int:
    minimum = task.get("minAvailable")
    return int(minimum if minimum is not None else task.get("replicas") or 0)


def _min_resources(snapshot: Snapshot, tasks: Sequence[Mapping[str, Any]], minimum: int) -> dict[str, str]:
    """Resources of the first `minimum` pods by priority, beginning with each task's own minimum if that suffices."""
    # sorted is stable: tasks of equal priority stay in their order, as in upstream's sort by (priority, index).
    ordered = sorted(tasks, key=lambda task: -_pod_priority(snapshot, (task.get("template") or {}).get("spec") or {}))
    by_task = minimum >= sum(_task_minimum(task) for task in tasks)  # exact: ints
    counts = [_task_minimum(task) if by_task else int(task.get("replicas") or 0) for task in ordered]
    remaining, counts_by_task = minimum, []
    for task, count in zip(ordered, counts, strict=True):
        counts_by_task.append((task, min(remaining, count)))
        remaining -= min(remaining, count)
    for place, (task, count) in enumerate(counts_by_task if by_task else ()):
        extra = min(remaining, int(task.get("replicas") or 0) - count)
        counts_by_task[place] = (task, count + extra)
        remaining -= extra
    return _sum_resources(
        [((task.get("template") or {}).get("spec") or {}, count) for task, count in counts_by_task if count > 0]
    )


def _sum_resources(pods: Sequence[tuple[Mapping[str, Any], int]]) -> dict[str, str]:
    """Requests, limits and numbers of pods as a ResourceQuota names them."""
    totals = Counter[str]()
    for spec, count in pods:
        totals["pods"] += count
        for container in spec.get("containers") or ():
            resources = container.get("resources") or {}
            limits = resources.get("limits") or {}
            for resource, amount in {**limits, **(resources.get("requests") or {})}.items():
                totals[resource] += _units_of(resource, amount) * count
                totals[f"requests.{resource}"] += _units_of(resource, amount) * count
            for resource in ("cpu", "memory"):
                if resource in limits:
                    totals[f"limits.{resource}"] += _units_of(resource, limits[resource]) * count
    return {name: f"{total}m" if name.endswith("cpu") else str(total) for name, total in totals.items()}


def _units_of(resource: str, amount: object) -> int:
    return milli_value(amount) if resource == "cpu" else whole_value(amount)


def _replicated_pods(snapshot: Snapshot, owner: Manifest) -> Iterator[Manifest]:
    """Pods of a Deployment, ReplicaSet or StatefulSet, which share one PodGroup."""
    yield from _owned_pods(snapshot, owner, int(spec_of(owner).get("replicas", 1)))


def _kubernetes_job(snapshot: Snapshot, owner: Manifest) -> Iterator[Manifest]:
    """Pods of a Job: as many as parallelism and completions allow to run at once."""
    spec = spec_of(owner)
    parallel = int(spec.get("parallelism", 1))
    yield from _owned_pods(snapshot, owner, min(parallel, int(spec.get("completions") or parallel)))


def _owned_pods(snapshot: Snapshot, owner: Manifest, count: int) -> Iterator[Manifest]:
    _refuse_too_many(owner, count)
    template = spec_of(owner).get("template") or {}
    name, spec, annotations = name_of(owner), dict(spec_of(template)), dict(annotations_of(template))
    if spec.get("schedulerName") in snapshot.flags.scheduler_names:
        yield _build_pod_group_from_pod(snapshot, owner, spec, annotations, annotations_of(owner))
    for index in range(count):
        yield _make_pod(snapshot, owner, f"{name}-{index}", spec, annotations, labels_of(template))


def _build_pod_group_from_pod(
    snapshot: Snapshot, owner: Manifest, spec: Mapping[str, Any], annotations: dict[str, str], above: Mapping[str, str]
) -> Manifest:
    """The PodGroup of a pod, whose annotations then name it; `above` are the annotations of the pod's owner."""
    name = annotations[GROUP_ANNOTATION] = f"{MADE_GROUP_PREFIX}{name_of(owner)}"
    min_member = str(above.get(MIN_MEMBER) or "1")
    minimum = int(min_member) if min_member.isdecimal() else 1
    group = {
        "minMember": minimum,
        "minResources": _sum_resources([(spec, minimum)]),
        "queue": annotations.get(QUEUE_ANNOTATION),
        "priorityClassName": spec.get("priorityClassName"),
    }
    inherited = {key: text for key, text in {**above, **annotations}.items() if _PREFIX in key}
    return _make_pod_group(snapshot, owner, name, group, inherited, {})


def _single_pod(snapshot: Snapshot, pod: Manifest) -> Iterator[Manifest]:
    """A pod, with a PodGroup of its own if it names none."""
    spec, annotations = dict(spec_of(pod)), dict(annotations_of(pod))
    # Pods of other schedulers get no PodGroup.
    if GROUP_ANNOTATION not in annotations and spec.get("schedulerName") in snapshot.flags.scheduler_names:
        yield _build_pod_group_from_pod(snapshot, pod, spec, annotations, {})
    yield _make_pod(snapshot, pod, name_of(pod), spec, annotations, labels_of(pod))


def _group_of_pod(snapshot: Snapshot, group: Manifest) -> Iterator[Manifest]:
    yield _make_pod_group(snapshot, group, name_of(group), spec_of(group), annotations_of(group), labels_of(group))


_Texts = Mapping[str, str]


def _make_pod_group(
    snapshot: Snapshot, owner: Manifest, name: str, spec: Mapping[str, Any], annotations: _Texts, labels: _Texts
) -> Manifest:
    fields = {key: value for key, value in spec.items() if value is not None}
    kind = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
    return {**kind, **_make_object(snapshot, owner, name, fields, annotations=annotations, labels=labels)}


def _make_pod(
    snapshot: Snapshot, owner: Manifest, name: str, spec: Mapping[str, Any], annotations: _Texts, labels: _Texts
) -> Manifest:
    """A pod after admission: requests from limits, and the priority of its class."""
    containers = [_with_requests(container) for container in spec.get("containers") or ()]
    complete = {**spec, "containers": containers, "priority": _pod_priority(snapshot, spec)}
    kind = {"apiVersion": "v1", "kind": "Pod"}
    return {**kind, **_make_object(snapshot, owner, name, complete, annotations=annotations, labels=labels)}


def _make_object(
    snapshot: Snapshot, owner: Manifest, name: str, spec: Mapping[str, Any], **words: Mapping[str, str]
) -> dict[str, Any]:
    """Metadata, spec and status of an object that a controller creates."""
    namespace = metadata_of(owner).get("namespace") or "default"
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": f"submitted-{namespace}-{name}",
        "creationTimestamp": api_time_text(snapshot.now),
        **{key: dict(texts) for key, texts in words.items() if texts},
    }
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Pending"}}


def _with_requests(container: Mapping[str, Any]) -> dict[str, Any]:
    resources = container.get("resources") or {}
    requests = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {**container, "resources": {**resources, "requests": requests}} if requests else dict(container)


def _pod_priority(snapshot: Snapshot, spec: Mapping[str, Any]) -> int:
    if spec.get("priority") is not None:
        return int(spec["priority"])
    classes = {name_of(manifest): manifest for manifest in snapshot.objects_of("PriorityClass")}
    chosen = classes.get(spec.get("priorityClassName") or "")
    if chosen is None:
        chosen = next((manifest for manifest in classes.values() if manifest.get("globalDefault")), {})
    return int(chosen.get("value") or 0)


WORKLOADS: Final[Mapping[str, Callable[[Snapshot, Manifest], Iterator[Manifest]]]] = {
    "Job": _kubernetes_job,
    "Deployment": _replicated_pods,
    "ReplicaSet": _replicated_pods,
    "StatefulSet": _replicated_pods,
    "Pod": _single_pod,
    "PodGroup": _group_of_pod,
}
"""Kinds that can be submitted; a Job of batch.volcano.sh is Volcano's own."""
