"""A small cluster as manifests: three nodes, two queues, a running and a Pending job, one claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vcdebug.snapshot.schema import SHAPES

Manifest = dict[str, Any]

CONF = """actions: "enqueue, allocate, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
- plugins:
  - name: predicates
  - name: proportion
  - name: nodeorder
"""

CREATED = "2026-10-31T08:00:00Z"


def cluster() -> list[Manifest]:
    """All objects, as a new copy on each call."""
    return [
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in ("team-a", "team-b")),
        *(node(f"gpu-{number}") for number in range(3)),
        queue("research", 3),
        queue("default", 1),
        priority_class("high", 1000),
        pod_group("team-a", "train", "research", 2),
        pod_group("team-b", "serve", "default", 1),
        *(pod("team-a", f"train-{number}", "train") for number in range(2)),
        pod("team-b", "serve-0", "serve", node_name="gpu-0"),
        *storage(),
    ]


def node(name: str) -> Manifest:
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110", "nvidia.com/gpu": "4"}
    labels = {"kubernetes.io/hostname": name, "zone": "z1"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"node-{name}", "labels": labels, "creationTimestamp": CREATED},
        "spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "PreferNoSchedule"}]},
        "status": {
            "allocatable": dict(amounts),
            "capacity": dict(amounts),
            "conditions": [{"type": "Ready", "status": "True"}],
            "images": [{"names": ["registry/train:1"], "sizeBytes": 1234567890}],
        },
    }


def queue(name: str, weight: int) -> Manifest:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name, "creationTimestamp": CREATED},
        "spec": {"weight": weight, "reclaimable": True, "capability": {"cpu": "16"}},
        "status": {"state": "Open"},
    }


def priority_class(name: str, value: int) -> Manifest:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
    }


def pod_group(namespace: str, name: str, queue_name: str, members: int) -> Manifest:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": CREATED},
        "spec": {
            "minMember": members,
            "minTaskMember": {"worker": members},
            "minResources": {"cpu": "2"},
            "queue": queue_name,
            "priorityClassName": "high",
        },
        "status": {"phase": "Inqueue"},
    }


def pod(namespace: str, name: str, group: str, node_name: str = "") -> Manifest:
    container = {
        "name": "main",
        "image": "registry/train:1",
        "env": [{"name": "TOKEN", "value": "s3cret"}],
        "resources": {"requests": {"cpu": "1", "memory": "2Gi", "nvidia.com/gpu": "1"}, "limits": {"cpu": "2"}},
        "ports": [{"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}],
    }
    annotations = {"scheduling.k8s.io/group-name": group, "volcano.sh/task-spec": "worker", "owner.example/mail": "a@b"}
    spec = {
        "schedulerName": "volcano",
        "priority": 1000,
        "priorityClassName": "high",
        "containers": [container],
        "nodeSelector": {"zone": "z1"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "affinity": _affinity(),
        "topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
        ],
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
    }
    if node_name:
        spec["nodeName"] = node_name
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "labels": {"app": group}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "annotations": annotations, "creationTimestamp": CREATED},
        "spec": spec,
        "status": {"phase": "Running" if node_name else "Pending"},
    }


def _affinity() -> Manifest:
    zones = {"key": "zone", "operator": "In", "values": ["z1", "z2"]}
    term = {"labelSelector": {"matchLabels": {"app": "train"}}, "topologyKey": "kubernetes.io/hostname"}
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [zones]}]}
        },
        "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "podAffinityTerm": term}]
        },
    }


def storage() -> list[Manifest]:
    """One bound claim per namespace, their volumes and their StorageClass."""
    claims = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "data", "namespace": namespace, "uid": f"claim-{namespace}"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "10Gi"}},
                "storageClassName": "fast",
                "volumeName": f"pv-{namespace}",
            },
            "status": {"phase": "Bound"},
        }
        for namespace in ("team-a", "team-b")
    ]
    volumes = [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{namespace}"},
            "spec": {
                "capacity": {"storage": "10Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "fast",
                "claimRef": {"namespace": namespace, "name": "data", "uid": f"claim-{namespace}"},
                "csi": {"driver": "csi.example", "volumeHandle": namespace, "volumeAttributes": {"password": "s3cret"}},
            },
        }
        for namespace in ("team-a", "team-b")
    ]
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "csi.example",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    return [*claims, *volumes, storage_class]


def config_map(conf: str = CONF) -> Manifest:
    """The scheduler's ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "volcano-scheduler-configmap", "namespace": "volcano-system"},
        "data": {"volcano-scheduler.conf": conf},
    }


def as_list(items: list[Manifest]) -> Manifest:
    """A v1 List of manifests."""
    return {"apiVersion": "v1", "kind": "List", "items": items}


def as_read(objects: Mapping[str, Sequence[Manifest]]) -> dict[str, list[Manifest]]:
    """The loaded form of these objects: only fields that vcdebug reads."""
    return {kind: [SHAPES[kind].keep_named(manifest) for manifest in found] for kind, found in objects.items()}
