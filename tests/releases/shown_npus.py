"""Small clusters with Ascend NPUs on which a change decides something."""

import json
from collections.abc import Callable
from typing import Any

from tests.builders import node, pod, pod_group
from tests.releases.shown_devices import OLD, sharing
from vcdebug.snapshot.snapshot import Manifest, Snapshot

RESOURCE = "huawei.com/Ascend310P"
MEMORY, CORES = f"{RESOURCE}-memory", f"{RESOURCE}-core"
ALLOCATED, TO_ALLOCATE = "hami.io/Ascend310P-devices-allocated", "hami.io/Ascend310P-devices-to-allocate"


def npus(name: str = "n1", users: int = 4, allocatable: str = "4", **notes: str) -> Manifest:
    """A node that registers one NPU of eight cores."""
    manifest = node(name, **{RESOURCE: allocatable})
    card = {"id": f"{name}-a", "count": users, "devmem": 21527, "devcore": 8, "type": "Ascend310P", "health": True}
    register = {"hami.io/node-register-Ascend310P": json.dumps([card])}
    manifest["metadata"]["annotations"] = {**register, **{key.replace("_", "-"): text for key, text in notes.items()}}
    return manifest


def of_npus(name: str, group: str = "j", on: str = "", notes: dict[str, str] | None = None, **limits: str) -> Manifest:
    """A pod with one container: `number`, `memory` and `cores` of an NPU."""
    names = {"number": RESOURCE, "memory": MEMORY, "cores": CORES}
    amounts = {names[key]: text for key, text in (limits or {"memory": "12288"}).items()}
    resources = {"requests": {"cpu": "1"}, "limits": amounts}
    containers = [{"name": "c", "image": "train:1", "resources": resources}]
    return pod(name, group, on=on, containers=containers, annotations=notes)


def holding(name: str, group: str = "r", memory: int = 12288, on: str = "n1", **more: str) -> Manifest:
    held = f"{on}-a,Ascend310P,{memory},0:;"
    return of_npus(name, group, on=on, notes={ALLOCATED: held, TO_ALLOCATE: more.get("to_allocate", held)})


def placing(*objects: Any, **more: Any) -> Snapshot:
    return sharing(*objects, **{"VGPUEnable": "false", "AscendHAMiVNPUEnable": "true", **more})


def preempting_for_npus(*more: Any, users: int = 1, actions: str = "preempt") -> Snapshot:
    """A low-priority pod uses the only NPU, which a high-priority pod requests."""
    runs = holding("l-0", "l")
    runs["spec"]["priority"] = 1
    group = pod_group("l", priority_class="low", phase="Running", min_member=0)
    waits = [pod_group("h", priority_class="high"), of_npus("h-0", "h")]
    return placing(npus(users=users), group, runs, waits, *more, actions=actions)


def cores_of_npus() -> Snapshot:
    return placing(npus(), pod_group("j"), of_npus("j-0", memory="3072", cores="9"))


def unused_npu() -> Snapshot:
    """Two nodes with one NPU each; the first NPU is in use."""
    runs = [pod_group("r"), holding("r-0")]
    return placing(npus(), npus("n2"), runs, pod_group("j"), of_npus("j-0", memory="3072"), SchedulePolicy="spread")


def one_npu_twice() -> Snapshot:
    """A gang of two for an NPU with room for one pod; after its rollback, another job requests the NPU."""
    gang = [pod_group("j", min_member=2), of_npus("j-0"), of_npus("j-1")]
    gang[0]["metadata"]["creationTimestamp"] = OLD
    return placing(npus(users=1), gang, pod_group("k"), of_npus("k-0", "k"))


def consumed_annotation() -> Snapshot:
    """A running pod whose to-allocate annotation the device plugin has cleared."""
    runs = [pod_group("r"), holding("r-0", memory=21527, to_allocate=";")]
    return placing(npus(), runs, pod_group("j"), of_npus("j-0"))


def absent_plugin() -> Snapshot:
    """A node that registers an NPU with 0 allocatable."""
    return placing(npus(allocatable="0"), pod_group("j"), of_npus("j-0", number="5"))


def promised_npu() -> Snapshot:
    """The first pod of a gang is pipelined on the low-priority pod's NPU; the gang is rolled back."""
    behind = [pod_group("k", priority_class="low"), of_npus("k-0", "k", memory="3072")]
    snapshot = preempting_for_npus(of_npus("h-1", "h"), behind, users=2, actions="preempt, allocate")
    group = next(one for one in snapshot.objects_of("PodGroup") if one["metadata"]["name"] == "h")
    group["spec"]["minMember"] = 2
    return snapshot


def wrapped_kinds() -> Snapshot:
    """A device configuration that defines only another kind of NPU."""
    snapshot = placing(npus(), pod_group("j"), of_npus("j-0", number="5"))
    snapshot.device_config = "vnpus:\n  configs:\n  - commonWord: Ascend910A\n    resourceName: huawei.com/Ascend910A\n"
    return snapshot


ON_NPUS: dict[str, Callable[[], Snapshot]] = {
    "hami-ascend-filter-code": preempting_for_npus,
    "hami-ascend-core-mode": cores_of_npus,
    "hami-ascend-spread-score": unused_npu,
    "hami-ascend-release-leaks": one_npu_twice,
    "hami-ascend-ledger": consumed_annotation,
    "hami-ascend-unallocatable": absent_plugin,
    "hami-ascend-no-release": promised_npu,
    "vnpus-wrapper": wrapped_kinds,
    "ascend-absent": cores_of_npus,
}
"""Change -> builder of a cluster whose recording the change alters."""
