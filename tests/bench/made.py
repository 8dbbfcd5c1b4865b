"""Generated clusters for benchmarks: mostly running pods, some thousands pending, four queues, room for preemption."""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Manifest = dict[str, Any]

CREATED = "2026-10-31T12:00:00Z"
QUEUES = ("default", "research", "training", "serving")
ZONE = "topology.kubernetes.io/zone"
NODES_PER_ZONE = 50
GANG = 5
MOST_PENDING = 3000
PREEMPTORS = 20
CONF = """actions: "enqueue, allocate, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
  - name: binpack
"""


class Size(NamedTuple):
    """Nodes and pods of a cluster."""

    nodes: int
    pods: int

    @property
    def name(self) -> str:
        return f"made-{self.nodes}-{self.pods}"


SMALL = Size(100, 1_000)
SIZES = (SMALL, Size(1_000, 10_000), Size(5_000, 50_000), Size(10_000, 100_000))


def write(size: Size, folder: Path) -> Path:
    """The cluster as a snapshot folder."""
    target = folder / size.name
    target.mkdir(parents=True)
    (target / "cluster.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects(size))}), encoding="utf-8"
    )
    (target / "scheduler.conf").write_text(CONF, encoding="utf-8")
    meta = {"name": size.name, "now": "2026-11-01T00:00:00Z"}
    (target / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return target


def objects(size: Size) -> Iterator[Manifest]:
    """All manifests; the same for the same size."""
    draw = random.Random(size.nodes)
    yield from fixed(size)
    pending = min(MOST_PENDING, size.pods // 4)
    yield from _running(size, size.pods - pending, draw)
    yield from waiting(pending - PREEMPTORS, draw)
    yield from _preemptors(size)


def fixed(size: Size) -> Iterator[Manifest]:
    """All objects except pods and their PodGroups."""
    yield make_object("v1", "Namespace", "default", None)
    for name, value in (("low", 10), ("high", 1000)):
        yield {**make_object("scheduling.k8s.io/v1", "PriorityClass", name, None), "value": value}
    for queue in QUEUES:
        spec = {"weight": 1, "reclaimable": True}
        yield {
            **make_object("scheduling.volcano.sh/v1beta1", "Queue", queue, None),
            "spec": spec,
            "status": {"state": "Open"},
        }
    for number in range(size.nodes):
        yield node(number)


def _running(size: Size, pods: int, draw: random.Random) -> Iterator[Manifest]:
    for job in range(pods // GANG):
        yield group(f"run-{job}", draw.choice(QUEUES), "low", 1, "Running")
        for member in range(GANG):
            node = (job * GANG + member) % size.nodes  # exact: ints
            cpu, memory = draw.choice((("1", "2Gi"), ("1500m", "4Gi"), ("2", "4Gi")))
            yield pod(f"run-{job}", member, cpu, memory, "low", f"node-{node:05}")


def waiting(pods: int, draw: random.Random) -> Iterator[Manifest]:
    """Pending gangs."""
    for job in range(pods // GANG):
        yield group(f"new-{job}", draw.choice(QUEUES), "low", GANG, "Inqueue")
        cpu, memory = draw.choice((("500m", "1Gi"), ("1", "2Gi"), ("2", "8Gi"), ("250m", "512Mi")))
        for member in range(GANG):
            yield pod(f"new-{job}", member, cpu, memory, "low")


def _preemptors(size: Size) -> Iterator[Manifest]:
    for number in range(PREEMPTORS):
        yield group(f"big-{number}", QUEUES[number % len(QUEUES)], "high", 1, "Inqueue")  # exact: ints
        zone = f"zone-{number % -(-size.nodes // NODES_PER_ZONE)}"  # exact: ints
        yield pod(f"big-{number}", 0, "15", "32Gi", "high", selector={ZONE: zone})


def make_object(api: str, kind: str, name: str, namespace: str | None = "default") -> Manifest:
    metadata = {"name": name, "uid": f"{kind}-{name}", "creationTimestamp": CREATED}
    if namespace is not None:
        metadata["namespace"] = namespace
    return {"apiVersion": api, "kind": kind, "metadata": metadata}


def node(number: int) -> Manifest:
    name = f"node-{number:05}"
    body = make_object("v1", "Node", name, None)
    body["metadata"]["labels"] = {"kubernetes.io/hostname": name, ZONE: f"zone-{number // NODES_PER_ZONE}"}
    total = {"cpu": "20", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    ready = [{"type": "Ready", "status": "True"}]
    return {**body, "spec": {}, "status": {"capacity": total, "allocatable": total, "conditions": ready}}


def group(name: str, queue: str, priority: str, least: int, phase: str) -> Manifest:
    spec = {"minMember": least, "queue": queue, "priorityClassName": priority}
    body = make_object("scheduling.volcano.sh/v1beta1", "PodGroup", name)
    return {**body, "spec": spec, "status": {"phase": phase}}


def pod(
    group: str,
    member: int,
    cpu: str,
    memory: str,
    priority: str,
    node: str = "",
    selector: dict[str, str] | None = None,
) -> Manifest:
    body = make_object("v1", "Pod", f"{group}-worker-{member}")
    body["metadata"]["labels"] = {"app": group, "volcano.sh/task-spec": "worker"}
    body["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": group, "volcano.sh/task-spec": "worker"}
    requests = {"cpu": cpu, "memory": memory}
    spec: Manifest = {
        "schedulerName": "volcano",
        "containers": [{"name": "main", "image": "train:2", "resources": {"requests": requests}}],
        "priorityClassName": priority,
        "priority": 1000 if priority == "high" else 10,
        "nodeSelector": selector or {},
    }
    if node:
        spec["nodeName"] = node
    return {**body, "spec": spec, "status": {"phase": "Running" if node else "Pending"}}
