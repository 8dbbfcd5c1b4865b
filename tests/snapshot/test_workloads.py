"""Workloads are expanded to the PodGroups and pods that their controllers would create."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import cluster, node, priority_class, queue
from vcdebug.errors import SnapshotError
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.snapshot.workloads import submit_workloads

CONF = "actions: 'enqueue, allocate'\ntiers:\n- plugins: [{name: gang}, {name: predicates}, {name: proportion}]\n"


def template(cpu: str, **spec: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": cpu}}}], **spec}}


def volcano_job(**spec: Any) -> Manifest:
    tasks = [
        {"name": "ps", "replicas": 1, "template": template("1")},
        {"name": "worker", "replicas": 3, "minAvailable": 2, "template": template("2")},
    ]
    metadata = {"name": "train", "namespace": "team", "annotations": {"volcano.sh/preemptable": "true"}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"queue": "default", "tasks": tasks, **spec},
    }


def workload(kind: str, **spec: Any) -> Manifest:
    return {
        "kind": kind,
        "metadata": {"name": "web"},
        "spec": {"template": template("1", schedulerName="volcano"), **spec},
    }


def made(manifest: Manifest, *more: Manifest) -> tuple[Manifest, list[Manifest]]:
    added = submit_workloads(cluster(node("n1"), queue("default"), *more, conf=CONF), [manifest])
    return added.snapshot.objects_of("PodGroup")[0], list(added.snapshot.objects_of("Pod"))


def test_a_volcano_job_becomes_a_pod_group_with_the_minimum_of_each_task() -> None:
    group, pods = made(volcano_job())
    assert {"ps": 1, "worker": 2} == group["spec"]["minTaskMember"]
    assert (3, "default") == (group["spec"]["minMember"], group["spec"]["queue"])
    assert ["train-ps-0", "train-worker-0", "train-worker-1", "train-worker-2"] == [
        pod["metadata"]["name"] for pod in pods
    ]
    said = pods[1]["metadata"]["annotations"]
    assert ("worker", group["metadata"]["name"], "true") == (
        said["volcano.sh/task-spec"],
        said["scheduling.k8s.io/group-name"],
        said["volcano.sh/preemptable"],
    )


def test_min_resources_are_those_of_the_minimum() -> None:
    group, _ = made(volcano_job())
    assert ("5000m", "3") == tuple(group["spec"]["minResources"][name] for name in ("cpu", "pods"))
    less, _ = made(volcano_job(minAvailable=2))
    assert ("3000m", "2") == tuple(less["spec"]["minResources"][name] for name in ("cpu", "pods"))
    more, _ = made(volcano_job(minAvailable=4))
    assert ("7000m", "4") == tuple(more["spec"]["minResources"][name] for name in ("cpu", "pods"))


def test_tasks_of_a_higher_priority_make_up_the_minimum_first() -> None:
    manifest = volcano_job(minAvailable=1)
    manifest["spec"]["tasks"][1]["template"]["spec"]["priorityClassName"] = "high"
    group, pods = made(manifest, priority_class("high", 7))
    assert "2000m" == group["spec"]["minResources"]["cpu"]
    assert [0, 7, 7, 7] == [pod["spec"]["priority"] for pod in pods]


@pytest.mark.parametrize(
    ("manifest", "pods"),
    [
        (workload("Deployment", replicas=3), 3),
        (workload("StatefulSet"), 1),
        (workload("Job", parallelism=4, completions=2), 2),
    ],
)
def test_pods_of_other_owners_share_a_pod_group_of_one(manifest: Manifest, pods: int) -> None:
    group, made_pods = made(manifest)
    names = dict.fromkeys(pod["metadata"]["annotations"]["scheduling.k8s.io/group-name"] for pod in made_pods)
    assert (1, pods, [group["metadata"]["name"]]) == (group["spec"]["minMember"], len(made_pods), list(names))


def test_submitted_workload_is_scheduled_or_explained_in_the_same_cycle() -> None:
    small = submit_workloads(cluster(node("n1", cpu="9"), queue("default"), conf=CONF), [volcano_job()])
    assert explain_by_name(replay_cycle(small.snapshot), small.jobs[0]).scheduled
    large = submit_workloads(cluster(node("n1", cpu="1"), queue("default"), conf=CONF), [volcano_job()])
    assert "enqueue-queue-quota" == explain_by_name(replay_cycle(large.snapshot), large.jobs[0]).cause_code


def test_a_workload_that_is_there_already_and_an_unknown_kind_are_refused() -> None:
    snapshot = submit_workloads(cluster(node("n1"), queue("default"), conf=CONF), [volcano_job()]).snapshot
    with pytest.raises(SnapshotError, match="already in the snapshot"):
        submit_workloads(snapshot, [volcano_job()])
    with pytest.raises(SnapshotError, match="unsupported kind CronTab"):
        submit_workloads(snapshot, [{"kind": "CronTab", "metadata": {"name": "x"}}])


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_workload_of_more_pods_than_memory_holds_is_refused(kind: str) -> None:
    workload = {"kind": kind, "metadata": {"name": "w"}, "spec": {"replicas": 2**31 - 1, "template": {}}}
    with pytest.raises(SnapshotError, match="asks for 2147483647 pods; at most 100000 pods are created for a workload"):
        submit_workloads(cluster(), [workload])


@pytest.mark.parametrize(("on_template", "expected"), [(True, "q"), (False, None)])
def test_only_the_queue_that_the_pods_state_is_that_of_their_pod_group(on_template: bool, expected: str | None) -> None:
    deployment, stated = workload("Deployment", replicas=1), {"annotations": {"scheduling.volcano.sh/queue-name": "q"}}
    if on_template:
        deployment["spec"]["template"]["metadata"] = stated
    else:
        deployment["metadata"] |= stated
    assert expected == made(deployment)[0]["spec"].get("queue")
