"""Checks across objects: dangling names, duplicates, UIDs, and fields that every server sets."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from vcdebug.amount_text import count_noun
from vcdebug.snapshot.gathered_objects import GatheredObjects, object_name
from vcdebug.snapshot.kinds import KIND_BY_NAME, ResourceKind
from vcdebug.snapshot.manifest import (
    GROUP_ANNOTATION,
    JsonObject,
    key_of,
    name_of,
    namespace_of,
    object_in,
    object_list,
    owners_of,
    spec_of,
    status_of,
)
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.reported_events import ENDED_JOB_PHASES
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot

SYSTEM_CLASSES = ("system-node-critical", "system-cluster-critical")

_NO_JOB = "no job for this pod: if Pending it is not scheduled, if running it uses resources that no queue counts"
_NO_QUEUE = "the job is not in the session"
_NO_CLASS = "its priority is the default one"
_NO_PRIORITY = "an API server would reject this pod; priority 1 is used, as for pods without a priority"
_NO_NODE = "the pod's node is unknown"
_NO_CLAIM = "its volumes are not counted, and the volume checks reject every node"


class _DanglingNames:
    """Collects names of missing objects: one Problem per target, with a count."""

    def __init__(self, gathered: GatheredObjects) -> None:
        self._gathered = gathered
        self._names: dict[tuple[str, str, str], list[Any]] = {}

    def add_name(self, kind: str, index: int, field: str, target: str, effect: str) -> None:
        """Note that a field of the object at `index` names a missing target."""
        entry = self._names.setdefault((kind, field, target), [index, 0, effect])
        entry[1] += 1

    def add_problems(self) -> None:
        for (kind, field, target), (index, count, effect) in self._names.items():
            manifest = self._gathered.objects[kind][index]
            references = f" (referenced by {count} {kind} objects)" if count > 1 else ""
            self._gathered.report.add_problem(
                f"{target} is not in the snapshot{references}",
                effect,
                file=self._gathered.files[kind][index],
                object=f"{kind} {object_name(manifest)}",
                field=field,
            )


def note_dangling(gathered: GatheredObjects, flags: SchedulerFlags) -> None:
    """Add a Problem for every queue, PodGroup, class, node or claim that is named and missing."""
    dangling = _DanglingNames(gathered)
    _check_pod_groups(gathered, flags, dangling)
    _check_pods(gathered, flags, dangling)
    dangling.add_problems()


def _check_pod_groups(gathered: GatheredObjects, flags: SchedulerFlags, dangling: _DanglingNames) -> None:
    queues = _names_of_kind(gathered, "Queue")
    classes = _known_classes(gathered, flags)
    for index, manifest in enumerate(gathered.objects.get("PodGroup", ())):
        spec = spec_of(manifest)
        queue = spec.get("queue") or flags.default_queue
        if queue not in queues:
            dangling.add_name("PodGroup", index, "spec.queue", f"queue {queue}", _NO_QUEUE)
        name = spec.get("priorityClassName")
        if name and classes is not None and name not in classes:
            dangling.add_name("PodGroup", index, "spec.priorityClassName", f"PriorityClass {name}", _NO_CLASS)


def _check_pods(gathered: GatheredObjects, flags: SchedulerFlags, dangling: _DanglingNames) -> None:
    nodes = _names_of_kind(gathered, "Node")
    groups = _keys_of_kind(gathered, "PodGroup")
    claims = _keys_of_kind(gathered, "PersistentVolumeClaim")
    classes = _names_of_kind(gathered, "PriorityClass") | dict.fromkeys(SYSTEM_CLASSES)
    for index, manifest in enumerate(gathered.objects.get("Pod", ())):
        metadata, spec = manifest["metadata"], spec_of(manifest)
        node = spec.get("nodeName")
        # With --node-selector the missing node may simply not be selected.
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


def _claim_names(manifest: JsonObject, spec: JsonObject) -> list[str]:
    names = []
    for volume in spec.get("volumes") or ():
        claim = volume.get("persistentVolumeClaim") or {}
        if claim.get("claimName"):
            names.append(claim["claimName"])
        elif volume.get("ephemeral"):
            names.append(f"{manifest['metadata']['name']}-{volume.get('name', '')}")
    return names


def _known_classes(gathered: GatheredObjects, flags: SchedulerFlags) -> dict[str, None] | None:
    """Known priority classes; None if the scheduler does not read them."""
    if not (flags.priority_class and flags.is_gate_on("PriorityClass")):
        return None
    return _names_of_kind(gathered, "PriorityClass") | dict.fromkeys(SYSTEM_CLASSES)


def _names_of_kind(gathered: GatheredObjects, kind: str) -> dict[str, None]:
    return {name_of(manifest): None for manifest in gathered.objects.get(kind, ())}


def _keys_of_kind(gathered: GatheredObjects, kind: str) -> dict[tuple[str, str], None]:
    return {(namespace_of(manifest), name_of(manifest)): None for manifest in gathered.objects.get(kind, ())}


def drop_duplicates(gathered: GatheredObjects) -> None:
    """Keep the last of several objects with one kind, namespace and name, at the position of the first.

    Archives of support data contain many equal copies, which become one Problem.
    """
    copied, holders = 0, list[str]()
    for kind, manifests in gathered.objects.items():
        # Building the dicts only for kinds with duplicates: most snapshots have none.
        if len(set(map(_object_key, manifests))) == len(manifests):
            continue
        last = {_object_key(manifest): index for index, manifest in enumerate(manifests)}
        same = dict.fromkeys(last.values(), 0)
        for index, manifest in enumerate(manifests):
            winner = last[_object_key(manifest)]
            if index != winner and manifest == manifests[winner]:
                same[winner] += 1
                holders.append(gathered.files[kind][index])
            elif index != winner:
                _note_replaced(gathered, kind, index, winner)
        copied += len([count for count in same.values() if count])
        files = gathered.files[kind]
        gathered.objects[kind] = [manifests[index] for index in last.values()]
        gathered.files[kind] = [files[index] for index in last.values()]
    if holders:
        _note_copies(gathered, copied, holders)


def _note_copies(gathered: GatheredObjects, objects: int, holders: list[str]) -> None:
    """Add one Problem for all equal copies; `holders` has the file of each copy."""
    files = list(dict.fromkeys(holders))
    copies = "1 copy" if len(holders) == 1 else f"{len(holders)} copies"
    of = "1 object" if objects == 1 else f"{objects} objects"
    in_files = f", in {len(files)} files," if len(files) > 1 else ""
    fault = f"{copies} of {of}{in_files} {'says' if len(holders) == 1 else 'say'} the same"
    effect = "identical copies are used once"
    gathered.report.add_problem(fault, effect, file=files[0] if len(files) == 1 else "")


def _note_replaced(gathered: GatheredObjects, kind: str, index: int, winner: int) -> None:
    files = gathered.files[kind]
    fault = f"duplicate, also in {files[winner]}" if files[winner] != files[index] else "duplicate"
    name = f"{kind} {object_name(gathered.objects[kind][index])}"
    gathered.report.add_problem(fault, "the last one is used", file=files[index], object=name)


def note_pod_uids(gathered: GatheredObjects) -> None:
    """Add Problems for missing and repeated pod UIDs, by which the scheduler identifies tasks."""
    pods = gathered.objects.get("Pod", ())
    uids = {manifest["metadata"].get("uid") or "" for manifest in pods}
    if len(uids) == len(pods) and "" not in uids:
        return
    owners: dict[str, Manifest] = {}
    for index, manifest in enumerate(pods):
        uid = manifest["metadata"].get("uid") or ""
        if uid and uid not in owners:
            owners[uid] = manifest
            continue
        fault = f"duplicate uid, also of Pod {object_name(owners[uid])}" if uid else "is missing"
        effect = "the later pod replaces the earlier one" if uid else "pods without uid replace each other"
        file, pod = gathered.files["Pod"][index], f"Pod {object_name(manifest)}"
        gathered.report.add_problem(fault, effect, file=file, object=pod, field="metadata.uid")


def _object_key(manifest: Manifest) -> tuple[str, str]:
    metadata = manifest["metadata"]
    return metadata.get("namespace") or "", metadata["name"]


class _ExpectedField(Struct, frozen=True):
    kind: str
    part: str
    field: str
    effect: str


EXPECTED_FIELDS = (
    _ExpectedField(
        "Node", "status", "allocatable", "the node has no allocatable resources; --complete uses its capacity"
    ),
    _ExpectedField("Pod", "status", "phase", "the pod is Unknown; --complete sets it to Pending"),
    _ExpectedField("Pod", "spec", "containers", "the pod requests nothing"),
    _ExpectedField("Queue", "spec", "weight", "the queue has weight 0; --complete sets it to 1"),
    _ExpectedField("PriorityClass", "", "value", "the value of the class is 0"),
)

_NO_GROUP = "its controller has made no pods of it, and it takes no part; vcdebug submit adds what would be made"
_NO_NAMESPACE = "the object has no namespace; --complete uses default"
_NO_SCHEDULER = "the scheduler does not see this pod"
_LEFT = 'for hand-written manifests use --complete (or "complete": true in meta.json)'
_COMPLETED = 'they were completed; "complete": false in meta.json disables this'


def is_hand_written(gathered: GatheredObjects) -> bool:
    """Whether objects lack a UID or namespace, which every server sets."""
    uids = [manifest["metadata"].get("uid") for manifest in gathered.objects.get("Pod", ())]
    return not all(uids) or any(_without_namespace(gathered))


def note_hand_written(gathered: GatheredObjects, *, completed: bool) -> None:
    """Add one Problem for all objects without fields that every API server sets."""
    incomplete = dict.fromkeys(_without_namespace(gathered))
    for index, manifest in enumerate(gathered.objects.get("Pod", ())):
        if not manifest["metadata"].get("uid") or not status_of(manifest).get("phase"):
            incomplete["Pod", index] = None
    if incomplete:
        lack = f"{count_noun(len(incomplete), 'object')} {'lacks' if len(incomplete) == 1 else 'lack'}"
        gathered.report.add_problem(
            f"{lack} server-set fields (uid, phase, namespace)", _COMPLETED if completed else _LEFT
        )


def note_missing_namespaces(gathered: GatheredObjects) -> None:
    """Add a Problem for each namespaced object without a namespace."""
    for kind, index in _without_namespace(gathered):
        name = f"{kind} {object_name(gathered.objects[kind][index])}"
        gathered.report.add_problem(
            "is missing", _NO_NAMESPACE, file=gathered.files[kind][index], object=name, field="metadata.namespace"
        )


def _without_namespace(gathered: GatheredObjects) -> Iterator[tuple[str, int]]:
    """(kind, index) of namespaced objects without a namespace."""
    for kind, manifests in gathered.objects.items():
        if KIND_BY_NAME[kind].namespaced:
            namespaces = [manifest["metadata"].get("namespace") for manifest in manifests]
            if not all(namespaces):
                yield from ((kind, index) for index, namespace in enumerate(namespaces) if not namespace)


def note_missing_fields(gathered: GatheredObjects) -> None:
    """Add a Problem for each missing field whose absence its author probably did not intend."""
    for expected in EXPECTED_FIELDS:
        manifests = gathered.objects.get(expected.kind, [])
        parts = [manifest.get(expected.part) or {} for manifest in manifests] if expected.part else manifests
        values = [part.get(expected.field) for part in parts]
        for index, value in enumerate(values):
            if value is None:
                _note_missing(gathered, expected, index, manifests[index])
    for index, manifest in enumerate(gathered.objects.get("Pod", ())):
        spec = spec_of(manifest)
        if not spec.get("schedulerName") and not spec.get("nodeName"):
            _note_missing(gathered, _ExpectedField("Pod", "spec", "schedulerName", _NO_SCHEDULER), index, manifest)


def _note_missing(gathered: GatheredObjects, expected: _ExpectedField, index: int, manifest: Manifest) -> None:
    field = ".".join(part for part in (expected.part, expected.field) if part)
    name = f"{expected.kind} {object_name(manifest)}"
    gathered.report.add_problem(
        "is missing", expected.effect, file=gathered.files[expected.kind][index], object=name, field=field
    )


def jobs_without_group(jobs: Iterable[Manifest], groups: Iterable[Manifest]) -> list[Manifest]:
    """The Volcano Jobs that have no PodGroup and have not ended."""
    owners = {(group["metadata"].get("namespace"), owner.get("name")) for group in groups for owner in owners_of(group)}
    return [
        job
        for job in jobs
        if object_in(status_of(job).get("state")).get("phase") not in ENDED_JOB_PHASES
        and (job["metadata"].get("namespace"), name_of(job)) not in owners
    ]


def note_unmade_groups(gathered: GatheredObjects) -> None:
    """Add a Problem for Volcano Jobs that have no PodGroup and have not ended."""
    if unmade := jobs_without_group(gathered.objects.get("Job", ()), gathered.objects.get("PodGroup", ())):
        fault = f"{count_noun(len(unmade), 'Volcano Job')} without a PodGroup, such as {object_name(unmade[0])}"
        gathered.report.add_problem(fault, _NO_GROUP, file=gathered.files["Job"][0], object="Job")


# Checks for the kinds without which no cause can be determined.

NEEDED: Final = ("Node", "Queue", "PodGroup")
EFFECT: Final = "no cause can be determined for a job"


def missing_kinds(snapshot: Snapshot) -> tuple[ResourceKind, ...]:
    """Required kinds of which the snapshot has no objects, except kinds that a capture read and found empty.

    Pods are among them only together with another kind or where an object says that pods exist: a PodGroup may be
    waiting for its pods.
    """
    absent = [name for name in (*NEEDED, "Pod") if is_unknown(snapshot, name)]
    return (
        tuple(KIND_BY_NAME[name] for name in absent) if absent != ["Pod"] or object_that_counts_pods(snapshot) else ()
    )


def was_read(snapshot: Snapshot, kind: str) -> bool:
    """Whether a capture read this kind, so that no objects of it in the snapshot means none in the cluster."""
    return snapshot.provenance is not None and kind in snapshot.provenance.resource_versions


def is_unknown(snapshot: Snapshot, kind: str) -> bool:
    """Whether the snapshot has no object of this kind, although the cluster may have some."""
    return not snapshot.objects_of(kind) and not was_read(snapshot, kind)


_GANG_COUNT: Final = re.compile(r"\d+/[1-9]\d* tasks in gang")
"""The scheduler's count of a job's pods; 1/0 is a job whose pods do not exist yet."""


def object_that_counts_pods(snapshot: Snapshot) -> str:
    """The first object that says that pods exist, such as `PodGroup team/train is Running`; empty for none."""
    for group in snapshot.objects_of("PodGroup"):
        status, name = status_of(group), f"PodGroup {object_name(group)}"
        if status.get("phase") in ("Running", "Unknown") or status.get("running"):
            return f"{name} is {status.get('phase')}"
        messages = [str(condition.get("message") or "") for condition in object_list(status.get("conditions"))]
        if counted := next(filter(None, map(_GANG_COUNT.search, messages)), None):
            return f'{name} states "{counted[0]}"'
    counting = [job for job in snapshot.objects_of("Job") if any(map(status_of(job).get, ("running", "pending")))]
    return f"Volcano Job {object_name(counting[0])} counts pods in its status" if counting else ""


def _topology_of(group: JsonObject) -> str:
    """`networkTopology`, if the PodGroup or a part of it states one."""
    spec = spec_of(group)
    stated = [spec, *object_list(spec.get("subGroupPolicy"))]
    return "networkTopology" if any(part.get("networkTopology") for part in stated) else ""


def _class_of_group(group: JsonObject) -> str:
    name = str(spec_of(group).get("priorityClassName") or "")
    return "" if not name or name in SYSTEM_CLASSES else f"priorityClassName {name}"


def _claim_of_pod(pod: JsonObject) -> str:
    return next((f"claimName {name}" for name in _claim_names(pod, spec_of(pod))), "")


_NAMERS: Final[tuple[tuple[str, str, Callable[[JsonObject], str]], ...]] = (
    ("PriorityClass", "PodGroup", _class_of_group),
    ("HyperNode", "PodGroup", _topology_of),
    ("PersistentVolumeClaim", "Pod", _claim_of_pod),
)
"""(kind, kind of objects that need it, what such an object states), for kinds whose absence changes decisions."""


def needed_kinds(snapshot: Snapshot, objects: Mapping[str, Sequence[JsonObject]]) -> list[tuple[ResourceKind, str]]:
    """(kind, what needs it) for kinds of which the snapshot has no objects, though some of these objects name one."""
    found = []
    for kind, namer, read_name in _NAMERS:
        if is_unknown(snapshot, kind):
            named = ((one, read_name(one)) for one in objects.get(namer, ()))
            words = next((f"{namer} {key_of(one)} states {name}" for one, name in named if name), "")
            found += [(KIND_BY_NAME[kind], words)] if words else []
    return found


def join_kinds(kinds: tuple[ResourceKind, ...]) -> str:
    """The kinds in words, such as `no Queue, no PodGroup and no Pod`."""
    *first, last = [f"no {kind.name}" for kind in kinds]
    return f"{', '.join(first)} and {last}" if first else last


def supplying_command(kinds: tuple[ResourceKind, ...]) -> str:
    """The kubectl command that prints the objects of these kinds."""
    return f"kubectl get {','.join(kind.kubectl_resource for kind in kinds)} -A -o json"


def completeness_problems(snapshot: Snapshot) -> tuple[Problem, ...]:
    """One Problem for all kinds that are missing; none for a complete snapshot."""
    kinds = missing_kinds(snapshot)
    if not kinds:
        return ()
    fault = f"the snapshot has {join_kinds(kinds)}"
    return (Problem("", "", "", fault, f"{EFFECT}: add the output of `{supplying_command(kinds)}`"),)
