"""Fills the running cluster with texts that a tenant may write: control sequences, secrets and numbers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from tests.builders import pod, pod_group
from tests.hostile import HOSTILE
from tests.live.cluster import Body, Cluster, Refused, path_of

SPACE = "team-b"
JOB = f"{SPACE}/odd-0"
WORKLOAD = f"{SPACE}/made"


class HostileTexts:
    """Writes distinct texts with control sequences wherever the API server accepts them."""

    def __init__(self) -> None:
        self._numbers = itertools.count()
        self.refused: list[str] = []

    @property
    def count(self) -> int:
        return next(self._numbers)

    def text(self) -> str:
        return f"{HOSTILE}-{next(self._numbers)}"

    def annotations(self, count: int) -> Body:
        return {f"team.example/note-{row}": self.text() for row in range(count)}

    def conditions(self, count: int) -> list[Body]:
        return [self._condition() for _ in range(count)]

    def _condition(self) -> Body:
        words = {name: self.text() for name in ("type", "reason", "message")}
        return {**words, "status": "True", "lastTransitionTime": "2026-11-01T00:00:00Z"}

    def container(self, name: str, count: int) -> Body:
        variables = [{"name": f"NAME_{row}", "value": self.text()} for row in range(count)]
        words = {"command": [self.text(), self.text()], "args": [self.text() for _ in range(4)]}
        return {"name": name, "image": self.text(), "env": variables, "workingDir": self.text(), **words}

    def plant(self, cluster: Cluster, groups: int) -> None:
        """Pods and PodGroups of every kind of trouble, Volcano Jobs, events, and the nodes' and the queue's texts."""
        self._plant_cluster_objects(cluster)
        for row in range(groups):
            self._plant_group(cluster, f"odd-{row}", row)
        self._put(cluster, self._volcano_job("made"))

    def _put(self, cluster: Cluster, manifest: Body) -> bool:
        try:
            cluster.put(manifest)
        except Refused as refused:
            self.refused.append(str(refused))
            return False
        return True

    def _plant_group(self, cluster: Cluster, name: str, row: int) -> None:
        queue = self.text() if row % 4 == 1 else "default"
        group = pod_group(name, namespace=SPACE, min_member=1 + row % 2, queue=queue, priority_class=self.text())
        group["metadata"] |= {"annotations": self.annotations(40)}
        # Volcano's definition has no status of its own: who may write the object may write that too.
        group["status"] = {"phase": "Inqueue", "conditions": self.conditions(4)}
        self._put(cluster, group)
        # More CPUs than a node has, so that half of them are Pending for some cause.
        body = pod(f"{name}-0", name, namespace=SPACE, requests={"cpu": ("1", "20")[row % 2], "memory": "1Gi"})
        body["metadata"].setdefault("annotations", {}).update(self.annotations(100))
        (container,) = body["spec"]["containers"]
        body["spec"]["containers"] = [{**container, **self.container("main", 60)}]
        body["spec"]["initContainers"] = [self.container("init", 20)]
        body["spec"]["volumes"] = [{"name": "claim", "hostPath": {"path": self.text()}}]
        if self._put(cluster, body):
            waiting = {"name": "main", "image": self.text(), "imageID": self.text(), "ready": False, "restartCount": 3}
            state = {"waiting": {"reason": self.text(), "message": self.text()}}
            # The server checks the types of a pod's conditions.
            conditions = [{**each, "type": f"team.example/odd-{row}"} for row, each in enumerate(self.conditions(4))]
            found = {"conditions": conditions, "message": self.text(), "reason": self.text()}
            status = {"phase": "Pending", **found, "containerStatuses": [{**waiting, "state": state}]}
            cluster.write_status(path_of("v1", "Pod", SPACE), {**body, "status": status})
        for kind in ("Pod", "PodGroup"):
            self._put(cluster, self._event(kind, f"{name}-0" if kind == "Pod" else name))

    def _event(self, kind: str, name: str) -> Body:
        subject = {"kind": kind, "namespace": SPACE, "name": name}
        stamp = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        said = {"reason": self.text(), "message": self.text(), "source": {"component": self.text()}, "type": "Warning"}
        metadata = {"name": f"{name}.{kind.lower()}", "namespace": SPACE}
        times = {"firstTimestamp": stamp, "lastTimestamp": stamp, "count": 1}
        return {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": subject, **said, **times}

    def _volcano_job(self, name: str) -> Body:
        container = {**self.container("main", 6), "resources": {"requests": {"cpu": "30"}}}
        template = {"metadata": {"annotations": self.annotations(6)}, "spec": {"containers": [container]}}
        task = {"name": "worker", "replicas": 1, "minAvailable": 1, "template": template}
        spec = {"minAvailable": 1, "schedulerName": "volcano", "queue": "default", "tasks": [task]}
        metadata = {"name": name, "namespace": SPACE, "annotations": self.annotations(6)}
        return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": spec}

    def _plant_cluster_objects(self, cluster: Cluster) -> None:
        described = {"value": 7, "description": self.text()}
        names = {"name": "odd", "annotations": self.annotations(6)}
        self._put(
            cluster, {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": names, **described}
        )
        spec = {"weight": 1, "parent": self.text(), "reclaimable": True}
        version = "scheduling.volcano.sh/v1beta1"
        self._put(cluster, {"apiVersion": version, "kind": "Queue", "metadata": names, "spec": spec})
        for path, name in (("/api/v1/nodes", "n0"), ("/api/v1/nodes", "n1"), ("/api/v1/namespaces", SPACE)):
            body = {"metadata": {"annotations": self.annotations(6)}}
            cluster.call("PATCH", f"{path}/{name}", body, patch=True)
        for name in ("n0", "n1"):
            conditions = [{"type": "Ready", "status": "True"}, *self.conditions(2)]
            cluster.write_status("/api/v1/nodes", {"metadata": {"name": name}, "status": {"conditions": conditions}})

    def remove(self, cluster: Cluster) -> None:
        """Remove what outlives `Cluster.clear`."""
        cluster.delete("v1", "Event", SPACE)
        cluster.delete("scheduling.k8s.io/v1", "PriorityClass", "", "odd")
        cluster.delete("scheduling.volcano.sh/v1beta1", "Queue", "", "odd")
        for path, name in (("/api/v1/nodes", "n0"), ("/api/v1/nodes", "n1"), ("/api/v1/namespaces", SPACE)):
            cluster.call("PATCH", f"{path}/{name}", {"metadata": {"annotations": None}}, patch=True)
        for name in ("n0", "n1"):
            status = {"conditions": [{"type": "Ready", "status": "True"}]}
            cluster.write_status("/api/v1/nodes", {"metadata": {"name": name}, "status": status})


class PlantedSecrets:
    """Distinct secrets in fields that decide nothing, and distinct numbers in names, labels, images and texts."""

    def __init__(self, seed: int = 5) -> None:
        self._draws = random.Random(seed)
        self.secrets: list[str] = []
        self.numbers: list[str] = []

    def secret(self) -> str:
        self.secrets.append(f"s3cr3t-{self._draws.getrandbits(64):016x}")
        return self.secrets[-1]

    def number(self) -> str:
        self.numbers.append(str(self._draws.randrange(10**11, 10**12)))
        return self.numbers[-1]

    def plant(self, cluster: Cluster, count: int) -> None:
        for manifest in self._iter_manifests(count):
            cluster.put(manifest)

    def _iter_manifests(self, count: int) -> Iterator[Body]:
        for row in range(count):
            group = f"run-{self.number()}"
            yield pod_group(group, namespace=SPACE, min_member=1)
            yield self._pod(group, row)

    def _pod(self, group: str, row: int) -> Body:
        body: dict[str, Any] = pod(f"{group}-{self.number()}", group, namespace=SPACE, requests={"cpu": "20"})
        secrets = {
            "env": [{"name": f"NAME_{place}", "value": self.secret()} for place in range(6)],
            "command": ["sh", self.secret()],
            "args": [f"--token={self.secret()}", self.secret()],
            "lifecycle": {"preStop": {"exec": {"command": [self.secret()]}}},
        }
        image = f"{self.number()}.registry.example/team-{self.number()}/train:2024-{self.number()}"
        (container,) = body["spec"]["containers"]
        body["spec"]["containers"] = [{**container, **secrets, "image": image}]
        notes = {"team.example/note": self.secret(), f"team.example/{row}": self.secret()}
        copied = {"kubectl.kubernetes.io/last-applied-configuration": self.secret()}
        body["metadata"].setdefault("annotations", {}).update({**notes, **copied})
        labels = {"customer": f"c-{self.number()}", f"account-{self.number()}": self.number()}
        body["metadata"]["labels"] = {**body["metadata"].get("labels", {}), **labels}
        body["spec"]["nodeSelector"] = {f"rack-{self.number()}": f"r{self.number()}"}
        return body
