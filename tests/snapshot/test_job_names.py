"""Texts for people name the workload of a job, where a controller generated the name of its PodGroup."""

import pytest

from tests.builders import cluster, node, pod_group, pods, queue
from vcdebug.snapshot.job_names import JobNames, job_names
from vcdebug.snapshot.manifest import WorkloadFacts
from vcdebug.snapshot.snapshot import Manifest, Snapshot

VOLCANO, BATCH = "batch.volcano.sh/v1alpha1", "batch/v1"


def owner(kind: str, name: str, uid: str = "", version: str = "apps/v1") -> Manifest:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": uid or f"{name}-uid", "controller": True}


def owned_group(name: str, *owners: Manifest) -> Manifest:
    group = pod_group(name)
    group["metadata"]["ownerReferences"] = list(owners)
    return group


def replica_set(name: str, deployment: str) -> Manifest:
    owners = [owner("Deployment", deployment)]
    return {"kind": "ReplicaSet", "metadata": {"name": name, "uid": f"{name}-uid", "ownerReferences": owners}}


def names_of(*parts: Manifest | list[Manifest], workloads: dict[str, WorkloadFacts] | None = None) -> JobNames:
    snapshot = cluster(node("n1"), queue(), *parts)
    snapshot.workloads = workloads or {}
    return job_names(snapshot)


def owned_by(name: str) -> dict[str, WorkloadFacts]:
    return {"default/Job set-a-0": WorkloadFacts(owners=(name,))}


def runs_of(inner: str, outer: str) -> dict[str, WorkloadFacts]:
    return {f"default/{inner}": WorkloadFacts(owners=(outer.partition(" ")[2],)), f"default/{outer}": WorkloadFacts()}


@pytest.mark.parametrize(
    ("reference", "others", "workloads", "title"),
    [
        (owner("ReplicaSet", "web-7d"), [replica_set("web-7d", "web")], {}, "Deployment default/web"),
        (owner("ReplicaSet", "web-7d"), [], {}, "ReplicaSet default/web-7d"),
        (owner("StatefulSet", "db"), [], {}, "StatefulSet default/db"),
        (owner("Job", "train", version=VOLCANO), [], {}, "default/train"),
        (owner("Job", "once", version=BATCH), [], {}, "Job default/once"),
        (owner("Job", "etl-2926", version=BATCH), [], runs_of("Job etl-2926", "CronJob etl"), "CronJob default/etl"),
        (owner("Job", "set-a-0", version=BATCH), [], owned_by("set"), "default/set"),
        (owner("RayCluster", "r-x1"), [], runs_of("RayCluster r-x1", "RayJob r"), "RayJob default/r"),
        (owner("SparkApplication", "pi"), [], {}, "SparkApplication default/pi"),
        (owner("Pod", "lone"), [], {}, "Pod default/lone"),
    ],
)  # fmt: skip
def test_a_job_has_the_name_of_the_workload_that_people_know(
    reference: Manifest, others: list[Manifest], workloads: dict[str, WorkloadFacts], title: str
) -> None:
    group = f"podgroup-{reference['uid']}"
    names = names_of(owned_group(group, reference), *others, workloads=workloads)
    assert title == names.title_of(f"default/{group}")
    shown = title.rpartition(" ")[2]
    assert f"{shown} is next, then {shown[8:]}." == names.in_text(f"default/{group} is next, then {group}.")
    assert f"default/{group}" == names.to_ids(shown) == names.typed_names[shown]
    assert names.group_facts[f"default/{group}"].startswith(f"PodGroup {group} belongs to {reference['kind']} ")


@pytest.mark.parametrize("name", ["train", "web"])
def test_a_pod_group_that_people_named_keeps_its_name(name: str) -> None:
    names = names_of(
        owned_group(name, owner("Job", "train")), pod_group("lone"), owned_group("web", owner("ReplicaSet", "web-7d"))
    )
    assert JobNames() == names
    assert f"default/{name}" == names.name_of(f"default/{name}") == names.title_of(f"default/{name}")


def test_two_revisions_of_a_deployment_are_told_apart_by_their_replica_sets() -> None:
    sets = [replica_set("web-1a", "web"), replica_set("web-2b", "web")]
    names = names_of(
        *(owned_group(f"podgroup-{name}-uid", owner("ReplicaSet", name)) for name in ("web-1a", "web-2b")), *sets
    )
    assert ["default/web-1a", "default/web-2b"] == list(names.typed_names)


def test_two_owners_of_one_name_are_told_apart_by_their_uids() -> None:
    uids = ("5b3f1c2d-77aa", "6c4a2d3e-88bb")
    names = names_of(*(owned_group(f"train-{uid}", owner("Job", "train", uid, VOLCANO)) for uid in uids))
    assert ["default/train-5b3f1c2d", "default/train-6c4a2d3e"] == list(names.typed_names)


def test_groups_that_share_all_owners_keep_their_names() -> None:
    names = names_of(*(owned_group(f"podgroup-{role}", owner("PyTorchJob", "mnist")) for role in ("master", "worker")))
    assert JobNames() == names


def test_a_name_that_another_job_has_is_not_taken() -> None:
    names = names_of(owned_group("podgroup-u1", owner("Job", "train", "u1")), pod_group("train"))
    assert "default/train" == names.name_of("default/train")
    assert "default/train-u1" == names.name_of("default/podgroup-u1")


def test_the_name_of_a_pod_stays_the_name_of_the_pod() -> None:
    group = owned_group("serving-0", owner("ModelServing", "serving"))
    assert JobNames() == names_of(group, pods("serving", 1))


def bound_snapshot() -> Snapshot:
    return cluster(node("n1"), queue(), owned_group("train-u1", owner("Job", "train", "u1")), pods("train-u1", 1))


@pytest.mark.parametrize(
    "text",
    [
        "kubectl delete podgroup train-u1 -n default",
        "--set PodGroup/default/train-u1:spec.minMember=1",
        "Create PodGroup default/train-u1",
        "Delete 1 of 2 Inqueue PodGroups of ended pods (other, default/train-u1)",
        "Delete Inqueue PodGroups without pods: default/other, default/train-u1.",
        "Bypass: remove spec.minResources of default/train-u1 (skips the admission check).",
        'Job <default/train-u1> "group-name": "train-u1"',
        "default/train-u1-0 and default/train-u1/x and my-train-u1",
    ],
)
def test_objects_and_quotations_keep_the_name_of_the_pod_group(text: str) -> None:
    assert text == job_names(bound_snapshot()).in_text(text)


def test_a_condition_may_name_the_workload() -> None:
    names = job_names(bound_snapshot())
    assert 'job == "default/train-u1"' == names.to_ids('job == "default/train"')
    assert 'job == "default/train"' == names.in_text('job == "default/train-u1"')


@pytest.mark.parametrize("own", [True, False])
def test_a_pod_that_owns_the_pod_group_of_others_does_not_lend_it_its_name(own: bool) -> None:
    """The executors of a Spark driver: the driver's name stands for the driver's own PodGroup."""
    (driver,) = pods("podgroup-9a" if not own else "podgroup-drv", 1, prefix="pi-driver")
    names = names_of(
        owned_group("podgroup-drv", owner("Pod", "pi-driver-0", version="v1")), pod_group("podgroup-9a"), driver
    )
    assert ("default/pi-driver-0" if own else "default/podgroup-drv") == names.name_of("default/podgroup-drv")
