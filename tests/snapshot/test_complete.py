"""Completion sets the fields that the API server and Volcano's webhooks would set in hand-written manifests."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.builders import snapshot_from_objects
from tests.snapshot.manifests import cluster
from vcdebug.snapshot.loader import load_snapshot
from vcdebug.snapshot.manifest import annotations_of, name_of
from vcdebug.snapshot.snapshot import Manifest

CLASSES: list[Manifest] = [
    {"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"},
    {"kind": "PriorityClass", "metadata": {"name": "usual"}, "value": 5, "globalDefault": True},
]


def completed(*objects: Manifest, **meta: Any) -> dict[str, list[Manifest]]:
    snapshot = snapshot_from_objects(objects, complete=True, **meta)
    assert [] == [problem.format_line() for problem in snapshot.problems]
    return snapshot.objects


def test_completion_is_off_by_default() -> None:
    bare: Manifest = {"kind": "Node", "metadata": {"name": "a"}, "status": {"capacity": {"cpu": "1"}}}
    assert {"cpu": "1"} == completed(bare)["Node"][0]["status"]["allocatable"]
    assert "allocatable" not in snapshot_from_objects([bare]).objects_of("Node")[0]["status"]


def test_meta_json_asks_for_it_and_the_argument_has_the_last_word(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text('{"complete": true}', encoding="utf-8")
    (tmp_path / "pods.yaml").write_text("kind: Pod\nmetadata: {name: a}\nspec: {containers: [{}]}\n", encoding="utf-8")
    namespaces = [
        [manifest["metadata"].get("namespace") for manifest in snapshot.objects_of("Pod")]
        for snapshot in (load_snapshot(tmp_path), load_snapshot(tmp_path, complete=False))
    ]
    assert [["default"], [None]] == namespaces


def test_a_bare_pod_gets_namespace_uid_phase_scheduler_priority_and_requests() -> None:
    container = {"name": "c", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}}
    bare = {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [container]}}
    pod = completed(bare, *CLASSES)["Pod"][0]
    assert {"name": "a", "namespace": "default", "uid": "default-a"} == pod["metadata"]
    assert "Pending" == pod["status"]["phase"]
    spec = pod["spec"]
    assert ("default-scheduler", 5, "usual") == (spec["schedulerName"], spec["priority"], spec["priorityClassName"])
    assert {"cpu": "1", "memory": "1Gi"} == spec["containers"][0]["resources"]["requests"]


def test_a_pods_priority_and_policy_come_from_its_class() -> None:
    bare = {"kind": "Pod", "metadata": {"name": "a"}, "spec": {"priorityClassName": "high", "containers": [{}]}}
    spec = completed(bare, *CLASSES)["Pod"][0]["spec"]
    assert (1000, "Never") == (spec["priority"], spec["preemptionPolicy"])


def test_the_schedulers_own_queues_are_there() -> None:
    queues = completed({"kind": "Queue", "metadata": {"name": "q"}}, flags={"default_queue": "main"})["Queue"]
    shown = [
        (q["metadata"]["name"], q["spec"]["weight"], q["spec"]["reclaimable"], q["status"]["state"]) for q in queues
    ]
    assert [("q", 1, True, "Open"), ("root", 1, False, "Open"), ("main", 1, True, "Open")] == shown


ASSUMED = "is not in the snapshot, and the scheduler creates it at its start; added as the scheduler creates it"


@pytest.mark.parametrize(
    ("conf", "parent", "queue", "added"),
    [
        ("- name: capacity\n    enableHierarchy: true", "", "q", ["root"]),
        ("- name: capacity\n    enableHierarchy: false", "", "q", []),
        ("- name: capacity\n  - name: drf\n    enableHierarchy: true", "", "q", []),
        ("- name: capacity", "root", "q", ["root"]),
        ("- name: proportion", "", "", ["default"]),
        ("- name: proportion", "", "q", []),
    ],
)
def test_a_tree_of_queues_and_a_pod_group_get_the_queue_that_the_scheduler_creates(
    tmp_path: Path, conf: str, parent: str, queue: str, added: list[str]
) -> None:
    (tmp_path / "volcano-scheduler.conf").write_text(f"tiers:\n- plugins:\n  {conf}\n", encoding="utf-8")
    objects = [
        {"kind": "Queue", "metadata": {"name": "q"}, "spec": {"weight": 1, "parent": parent}},
        {"kind": "PodGroup", "metadata": {"name": "a", "namespace": "ns"}, "spec": {"queue": queue}},
    ]
    (tmp_path / "objects.json").write_text(json.dumps(objects), encoding="utf-8")
    snapshot = load_snapshot(tmp_path)
    assert ["q", *added] == [name_of(one) for one in snapshot.objects_of("Queue")]
    assert [f"Queue {name}: {ASSUMED}" for name in added] == [one.format_line() for one in snapshot.problems]
    assert ["q"] == [name_of(one) for one in load_snapshot(tmp_path, complete=False).objects_of("Queue")]


def test_a_hierarchy_gets_its_root() -> None:
    annotations = {"volcano.sh/hierarchy": "a/b", "volcano.sh/hierarchy-weights": "2/3"}
    queue = completed({"kind": "Queue", "metadata": {"name": "q", "annotations": annotations}})["Queue"][0]
    expected = {"volcano.sh/hierarchy": "root/a/b", "volcano.sh/hierarchy-weights": "1/2/3"}
    assert expected == queue["metadata"]["annotations"]


def test_a_pod_group_gets_queue_phase_and_topology_defaults() -> None:
    spec = {"networkTopology": {"highestTierAllowed": 1}, "subGroupPolicy": [{"name": "p", "networkTopology": {}}]}
    namespace = {
        "kind": "Namespace",
        "metadata": {"name": "ns", "annotations": {"scheduling.volcano.sh/queue-name": "q"}},
    }
    queue = {"kind": "Queue", "metadata": {"name": "q"}}
    groups = [
        {"kind": "PodGroup", "metadata": {"name": "a"}, "spec": {}},
        {"kind": "PodGroup", "metadata": {"name": "b", "namespace": "ns"}, "spec": spec},
    ]
    first, second = completed(namespace, queue, *groups)["PodGroup"]
    assert ("default", "Pending") == (first["spec"]["queue"], first["status"]["phase"])
    assert ("q", "hard") == (second["spec"]["queue"], second["spec"]["networkTopology"]["mode"])
    policy = {"name": "p", "networkTopology": {"mode": "hard"}, "subGroupSize": 1, "minSubGroups": 0}
    assert [policy] == second["spec"]["subGroupPolicy"]


def test_objects_of_a_cluster_are_unchanged_except_root_queue_and_copied_limits() -> None:
    done = snapshot_from_objects(cluster(), complete=True)
    plain = snapshot_from_objects(cluster())
    assert plain.objects_of("Node") == done.objects_of("Node")
    assert plain.objects_of("PodGroup") == done.objects_of("PodGroup")
    assert ["research", "default", "root"] == [queue["metadata"]["name"] for queue in done.objects_of("Queue")]


@pytest.mark.parametrize(
    ("phase", "volume", "bound"), [("Bound", "pv-1", True), ("Pending", "pv-1", False), ("Bound", "", False)]
)
def test_a_bound_claim_has_the_annotation_without_which_the_scheduler_takes_it_as_unbound(
    phase: str, volume: str, bound: bool
) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {"volumeName": volume},
        "status": {"phase": phase},
    }
    (filled,) = completed(claim)["PersistentVolumeClaim"]
    assert bound is (annotations_of(filled).get("pv.kubernetes.io/bind-completed") == "yes")
