"""The cluster of the fake server: three nodes, two queues, a running and a Pending job."""

from __future__ import annotations

from typing import Any

from tests.capture.fake_server import FakeApi
from vcdebug.snapshot.kinds import KINDS

Body = dict[str, Any]

CONF = 'actions: "enqueue, allocate, preempt"\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n'
SCHEDULER = "/apis/apps/v1/namespaces/volcano-system/deployments"
CONFIG_MAP = "/api/v1/namespaces/volcano-system/configmaps/volcano-scheduler-configmap"
PODS = "/api/v1/pods"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"
HYPERNODES = "/apis/topology.volcano.sh/v1alpha1/hypernodes"
BUDGETS = "/apis/policy/v1/poddisruptionbudgets"
FIELDS = [{"manager": "kubectl", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {}}]


def small_cluster() -> FakeApi:
    """A fake server with every kind that a snapshot lists."""
    lists: dict[str, list[Body]] = {kind.api_path: [] for kind in KINDS if not kind.settings} | _objects()
    groups: dict[str, list[str]] = {}
    for kind in KINDS:
        if kind.group:
            groups.setdefault(kind.group, []).append(kind.version)
    objects: dict[str, Body] = {
        kind.api_path: {
            "kind": f"{kind.name}List",
            "apiVersion": kind.api_version,
            "metadata": {"resourceVersion": "90"},
            "items": lists[kind.api_path],
        }
        for kind in KINDS
        if not kind.settings
    }
    objects["/version"] = {"major": "1", "minor": "34+", "gitVersion": "v1.34.2-eks-abc"}
    objects[CONFIG_MAP] = config_map("volcano-scheduler-configmap", {"volcano-scheduler.conf": CONF})
    objects[SCHEDULER] = deployments(deployment(["--scheduler-conf=/volcano.scheduler/volcano-scheduler.conf"]))
    return FakeApi(objects, groups)


def _objects() -> dict[str, list[Body]]:
    queues = [_volcano("Queue", name, {"weight": weight}) for name, weight in (("default", 1), ("research", 4))]
    groups = [
        _volcano("PodGroup", name, {"minMember": count, "queue": "research"}, namespace="team-a")
        for name, count in (("train", 3), ("waiting", 2))
    ]
    return {
        "/api/v1/nodes": [_node(f"node-{row}") for row in range(3)],
        PODS: [_pod(f"train-{row}", "train", f"node-{row}") for row in range(3)]
        + [_pod(f"waiting-{row}", "waiting", "") for row in range(2)],
        QUEUES: queues,
        "/apis/scheduling.volcano.sh/v1beta1/podgroups": groups,
        "/api/v1/namespaces": [{"metadata": _metadata("team-a")}],
        "/apis/scheduling.k8s.io/v1/priorityclasses": [{"metadata": _metadata("high"), "value": 1000}],
    }


def _metadata(name: str, **more: Any) -> Body:
    return {
        "name": name,
        "uid": f"uid-{name}",
        "creationTimestamp": "2026-11-01T10:00:00Z",
        "managedFields": FIELDS,
    } | more


def _node(name: str) -> Body:
    room = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    ready = {"type": "Ready", "status": "True"}
    labels = {"kubernetes.io/hostname": name}
    return {
        "metadata": _metadata(name, labels=labels),
        "spec": {},
        "status": {"allocatable": room, "capacity": room, "conditions": [ready]},
    }


def _pod(name: str, group: str, node: str) -> Body:
    container = {
        "name": "main",
        "image": "registry.example/train:1",
        "env": [{"name": "TOKEN", "value": "hunter2"}],
        "resources": {"requests": {"cpu": "2", "memory": "1Gi"}},
    }
    spec = {"schedulerName": "volcano", "priority": 0, "containers": [container]}
    return {
        "metadata": _metadata(name, namespace="team-a", annotations={"scheduling.k8s.io/group-name": group}),
        "spec": spec | ({"nodeName": node} if node else {}),
        "status": {"phase": "Running" if node else "Pending"},
    }


def _volcano(kind: str, name: str, spec: Body, **more: Any) -> Body:
    """A custom resource; unlike built-in kinds, its list items have kind and apiVersion."""
    state = {"state": "Open"} if kind == "Queue" else {"phase": "Running" if name == "train" else "Pending"}
    metadata = _metadata(name, **more)
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
        "status": state,
    }


def config_map(name: str, data: dict[str, str]) -> Body:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": data}


def deployments(*items: Body) -> Body:
    return {"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": {"resourceVersion": "90"}, "items": [*items]}


def deployment(args: list[str], namespace: str = "volcano-system", **container: Any) -> Body:
    """The scheduler's Deployment as its Helm chart writes it."""
    scheduler = {
        "name": "volcano-scheduler",
        "image": "docker.io/volcanosh/vc-scheduler:v1.15.1",
        "args": [*args, "-v=3", "2>&1"],
        "volumeMounts": [{"name": "scheduler-config", "mountPath": "/volcano.scheduler"}],
    }
    volume = {"name": "scheduler-config", "configMap": {"name": "volcano-scheduler-configmap"}}
    spec = {"containers": [scheduler | container], "volumes": [volume]}
    metadata = {"name": "volcano-scheduler", "namespace": namespace, "labels": {"app": "volcano-scheduler"}}
    return {"metadata": metadata, "spec": {"template": {"spec": spec}}}
