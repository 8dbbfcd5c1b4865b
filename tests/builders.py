"""Short builders for manifests as the API server returns them, and for an open session over them.

ssn = open_session(
    cluster(
        node("n1", cpu="10"),
        queue("q1", weight=2),
        pod_group("j1", queue="q1", min_member=2),
        pods("j1", 2, cpu="1"),
    ),
    "gang",
)
"""

from __future__ import annotations

import copy
import marshal
from collections.abc import Iterable, Mapping
from typing import Any

from vcdebug.framework.conf import SchedulerConf
from vcdebug.framework.cycle import open_plugins, read_cluster
from vcdebug.framework.record import Record
from vcdebug.framework.registry import registry_for
from vcdebug.framework.replay_options import AskExtender
from vcdebug.framework.session import Session
from vcdebug.framework.topology import open_topology
from vcdebug.model.pod import Pod
from vcdebug.model.pod_resources import get_pod_resource_request
from vcdebug.model.resource_list import ignored_names
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import OTHER_FORMS, PLUGINS
from vcdebug.recording.replay import parse_conf
from vcdebug.snapshot.gathered_objects import GatheredObjects
from vcdebug.snapshot.loader import build_snapshot
from vcdebug.snapshot.problems import ProblemReport
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot

CREATED = "2026-10-31T12:00:00Z"
GROUP_ANNOTATION = "scheduling.k8s.io/group-name"
ROLE_ANNOTATION = "volcano.sh/task-spec"
WINDOWS = """actions: "allocate"
tiers:
- plugins:
  - name: gang
  - name: tdm
    arguments:
      tdm.revocable-zone.rz1: 18:00-20:00
  - name: predicates
"""
"""A configuration in which the tdm plugin has a time window in the evening."""


def amounts(cpu: str | None = None, memory: str | None = None, **scalars: str) -> dict[str, str]:
    """A resource list; scalars by keyword, `gpu` for nvidia.com/gpu and `_` for `-`."""
    named = {"cpu": cpu, "memory": memory}
    named |= {"nvidia.com/gpu" if key == "gpu" else key.replace("_", "-"): text for key, text in scalars.items()}
    return {name: text for name, text in named.items() if text is not None}


def metadata(name: str, namespace: str | None = None, **more: Any) -> dict[str, Any]:
    """Metadata with a UID and a creation time; None leaves a field out."""
    fields = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "creationTimestamp": CREATED, **more}
    return {key: value for key, value in fields.items() if value is not None}


def node(name: str, cpu: str = "10", memory: str = "100G", pods: str | None = "110", **more: Any) -> Manifest:
    """A ready node; further keywords are scalars, or `labels`, `taints`, `unschedulable`."""
    spec = {key: more.pop(key) for key in ("taints", "unschedulable") if key in more}
    labels = {"kubernetes.io/hostname": name, **more.pop("labels", {})}
    scalars = {**more, **({"pods": pods} if pods is not None else {})}
    total = amounts(cpu, memory, **scalars)
    conditions = [{"type": "Ready", "status": "True"}]
    return {
        "kind": "Node",
        "metadata": metadata(name, labels=labels),
        "spec": spec,
        "status": {"capacity": total, "allocatable": total, "conditions": conditions},
    }


def pod(
    name: str,
    group: str | None = None,
    *,
    on: str = "",
    phase: str = "",
    namespace: str = "default",
    requests: Mapping[str, str] | None = None,
    role: str | None = None,
    annotations: Mapping[str, str] | None = None,
    created: str = CREATED,
    deleting: bool = False,
    **spec: Any,
) -> Manifest:
    """A pod of a PodGroup: Pending, or Running when it is `on` a node; further keywords go into the spec."""
    stated = {GROUP_ANNOTATION: group, ROLE_ANNOTATION: role, **(annotations or {})}
    container = {"name": "main", "image": "train:1", "resources": {"requests": dict(requests or {})}}
    fields = {"creationTimestamp": created, "deletionTimestamp": CREATED if deleting else None}
    return {
        "kind": "Pod",
        "metadata": metadata(
            name, namespace, annotations={key: text for key, text in stated.items() if text is not None}, **fields
        ),
        "spec": {
            "schedulerName": "volcano",
            "containers": [container],
            **({"nodeName": on} if on else {}),
            **spec,
        },
        "status": {"phase": phase or ("Running" if on else "Pending")},
    }


def task_of_pod(manifest: Manifest) -> TaskInfo:
    """A task with the request that its pod states."""
    pod_of_task, flags = Pod(manifest), SchedulerFlags()
    return TaskInfo(pod_of_task, get_pod_resource_request(pod_of_task, flags, ignored_names(flags.release)))


def pods(group: str, count: int, cpu: str | None = "1", memory: str | None = "1G", **more: Any) -> list[Manifest]:
    """Create `count` pods of equal form, `<group>-0`, `<group>-1` ...; `prefix` replaces the group in their names."""
    prefix = more.pop("prefix", group)
    requests = more.pop("requests", None) or amounts(cpu, memory)
    return [pod(f"{prefix}-{index}", group, requests=requests, **more) for index in range(count)]


def pod_group(
    name: str,
    *,
    queue: str = "default",
    min_member: int = 1,
    phase: str = "Inqueue",
    min_resources: Mapping[str, str] | None = None,
    min_task_member: Mapping[str, int] | None = None,
    priority_class: str | None = None,
    namespace: str = "default",
    **spec: Any,
) -> Manifest:
    """A PodGroup; further keywords go into the spec."""
    fields = {
        "queue": queue,
        "minMember": min_member,
        "minResources": min_resources,
        "minTaskMember": min_task_member,
        "priorityClassName": priority_class,
        **spec,
    }
    return {
        "kind": "PodGroup",
        "metadata": metadata(name, namespace),
        "spec": {key: value for key, value in fields.items() if value is not None},
        "status": {"phase": phase},
    }


def queue(
    name: str = "default",
    *,
    weight: int = 1,
    state: str = "Open",
    guarantee: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Manifest:
    """An open queue; further keywords go into the spec."""
    limits = {"guarantee": {"resource": guarantee}} if guarantee else {}
    return {
        "kind": "Queue",
        "metadata": metadata(name, annotations=annotations),
        "spec": {"weight": weight, **limits, **spec},
        "status": {"state": state},
    }


def hyper_node(name: str, tier: int, *, nodes: Iterable[str] = (), children: Iterable[str] = ()) -> Manifest:
    """A HyperNode over nodes or other HyperNodes, by name."""
    members = [("Node", member) for member in nodes] + [("HyperNode", member) for member in children]
    listed = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for kind, member in members]
    return {"kind": "HyperNode", "metadata": metadata(name), "spec": {"tier": tier, "members": listed}}


def priority_class(name: str, value: int, *, default: bool = False) -> Manifest:
    """A PriorityClass."""
    return {"kind": "PriorityClass", "metadata": metadata(name), "value": value, "globalDefault": default}


def cluster(*objects: Manifest | Iterable[Manifest], conf: str | None = None) -> Snapshot:
    """A snapshot of these objects (or lists of them); adds a queue `default` unless one is given."""
    snapshot = Snapshot("test", scheduler_conf=conf)
    for item in objects:
        for manifest in [item] if isinstance(item, dict) else item:
            snapshot.objects.setdefault(manifest["kind"], []).append(manifest)
    if not any(manifest["metadata"]["name"] == "default" for manifest in snapshot.objects_of("Queue")):
        snapshot.objects.setdefault("Queue", []).append(queue())
    return snapshot


def conf_of(*tiers: str, actions: str = "allocate", arguments: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """Configuration text: one string of plugin names per tier; `arguments` are further lines per plugin."""
    lines = [f'actions: "{actions}"', "tiers:"]
    for tier in tiers:
        lines.append("- plugins:")
        for name in tier.split():
            lines.append(f"  - name: {name}")
            lines += [f"    {key}: {value}" for key, value in (arguments or {}).get(name, {}).items()]
    return "\n".join(lines) + "\n"


def open_session(snapshot: Snapshot, *tiers: str, ask_extender: AskExtender | None = None, **settings: Any) -> Session:
    """Open a session with these plugins; no action has run yet."""
    conf: SchedulerConf = parse_conf(snapshot.scheduler_conf or conf_of(*tiers, **settings), snapshot.release)
    assert not conf.built_in, conf.problems
    plugins = registry_for(snapshot.release, PLUGINS, OTHER_FORMS)
    ssn = Session(read_cluster(snapshot, conf, plugins), conf, Record())
    ssn.ask_extender = ask_extender
    open_topology(ssn)
    open_plugins(ssn, plugins)
    return ssn


def task(ssn: Session, name: str, namespace: str = "default") -> TaskInfo:
    """A task of the session by its pod's name."""
    found = [t for job in ssn.jobs.values() for t in job.tasks.values() if (t.namespace, t.name) == (namespace, name)]
    return found[0]


def ledger(ssn: Session, about: TaskInfo, plugin: str) -> dict[str, Any]:
    """The figures that an operation on the task would record for a plugin, by name."""
    heads, values = ssn.open_accounts.changed_by_operation(about)
    rest = iter(values)
    found = [(head, {name: next(rest) for name in head.names}) for head in heads]
    return next(figures for head, figures in found if head.plugin == plugin and not head.ripple)


def tasks(ssn: Session, *names: str) -> list[TaskInfo]:
    """Copies of tasks by pod name, in the form that victim hooks receive."""
    return [task(ssn, name).clone() for name in names]


def names(listed: Iterable[TaskInfo] | None) -> list[str]:
    """The pod names of these tasks."""
    return [t.name for t in listed or ()]


def snapshot_from_objects(
    objects: Iterable[Manifest],
    *,
    conf: str | None = None,
    name: str = "",
    complete: bool | None = None,
    usage: Manifest | None = None,
    extender: Manifest | None = None,
    **meta: Any,
) -> Snapshot:
    """A snapshot of copies of these manifests; further arguments are keys of meta.json."""
    gathered = GatheredObjects(ProblemReport())
    for number, manifest in enumerate(_own_copy(list(objects)), start=1):
        gathered.add_document(manifest, "", f"item {number}")
    gathered.meta = ("", {"name": name, **meta})
    gathered.usage = ("", usage or {})
    gathered.extender = ("", extender or {})
    if conf is not None:
        gathered.confs.append(("", conf))
    return build_snapshot(gathered, complete)


def _own_copy(objects: list[Manifest]) -> list[Manifest]:
    # marshal copies plain data several times as fast as deepcopy; it refuses any other type.
    try:
        copied: list[Manifest] = marshal.loads(marshal.dumps(objects, 2))
    except ValueError:
        return copy.deepcopy(objects)
    return copied
