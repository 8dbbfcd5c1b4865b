"""A Volcano Job whose PodGroup is admitted before the controller has created the pods."""

from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods
from tests.pending.situations import CLASSES, PLAIN, WANTED, conf, running
from vcdebug.explain.answer import Explanation
from vcdebug.explain.job_view import NotFoundError
from vcdebug.explain.pending.explanation import explain_by_name, survey_jobs
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle

VOLCANO_JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "wanted", "uid": "1"}


def recorded(cpu: str = "4", min_member: int = 2, phase: str = "Pending", owner: Any = VOLCANO_JOB) -> Recording:
    group = pod_group("wanted", min_member=min_member, phase=phase, min_resources={"cpu": cpu} if cpu else None)
    group["metadata"]["ownerReferences"] = [owner] if owner else []
    objects = [*CLASSES, node("n1", cpu="8"), node("n2", cpu="8"), group]
    return replay_cycle(cluster(objects, conf=conf(PLAIN)))


def asked(**how: Any) -> Explanation:
    return explain_by_name(recorded(**how), WANTED)


@pytest.mark.parametrize(
    ("cpu", "min_member", "fact"),
    [
        ("4", 2, "2 pods of 2 cpu (minResources / minMember) would fit on n1."),
        ("15", 3, "3 pods of 5 cpu (minResources / minMember) would not fit now: the nodes have room for 2."),
        ("12", 2, "2 pods of 6 cpu (minResources / minMember) would fit on n1, n2."),
        ("", 2, "Its PodGroup has no minResources, so whether the pods would fit is unknown."),
    ],
)
def test_an_admitted_volcano_job_without_pods_is_healthy(cpu: str, min_member: int, fact: str) -> None:
    found = asked(cpu=cpu, min_member=min_member)
    assert ("admitted", True) == (found.cause_code, found.scheduled)
    assert f"{WANTED} is admitted in this cycle: its controller creates its pods next." == found.sentence
    assert (fact,) == found.dominant.facts


@pytest.mark.parametrize("how", [{"phase": "Inqueue"}, {"owner": None}])
def test_a_job_that_nothing_gives_pods_in_this_cycle_still_lacks_them(how: dict[str, Any]) -> None:
    found = asked(**how)
    assert ("not-enough-pods", False) == (found.cause_code, found.scheduled)


def test_the_survey_counts_an_admitted_job_neither_as_unscheduled_nor_as_partly_waiting() -> None:
    found = survey_jobs(recorded())
    assert ([], []) == (found.unscheduled_jobs, found.partly_waiting_jobs)


def test_a_running_pod_of_a_job_with_pending_pods_is_answered_for_itself() -> None:
    more = pods("a", 1, cpu="16")
    more[0]["metadata"] |= {"name": "a-late", "uid": "a-late"}
    objects = [*CLASSES, node("n1", cpu="8"), *running("a", "n1"), *more]
    recording = replay_cycle(cluster(objects, conf=conf(PLAIN)))
    running_pod, late = (explain_by_name(recording, f"default/{name}") for name in ("a-0", "a-late"))
    assert "default/a-0 is not Pending: it was already Running when the cycle began." == running_pod.sentence
    assert (True, False) == (running_pod.scheduled, late.scheduled)


@pytest.mark.parametrize("word", ["train", "default/train"])
def test_a_job_is_found_by_its_owners_name_before_its_pods_exist(word: str) -> None:
    recording = recorded(owner=VOLCANO_JOB | {"name": "train"})
    assert WANTED == explain_by_name(recording, word).job


def test_an_owner_of_another_namespace_is_not_found() -> None:
    with pytest.raises(NotFoundError):
        explain_by_name(recorded(owner=VOLCANO_JOB | {"name": "train"}), "other/train")


def test_a_job_is_found_by_the_name_of_its_pods_owner() -> None:
    group = pod_group("podgroup-1234", min_member=1)
    members = pods("podgroup-1234", 1)
    members[0]["metadata"]["ownerReferences"] = [{"kind": "StatefulSet", "apiVersion": "apps/v1", "name": "web"}]
    recording = replay_cycle(cluster([node("n1"), group, *members], conf=conf(PLAIN)))
    assert "default/podgroup-1234" == explain_by_name(recording, "web").job


def templated(cpu: str, **spec: Any) -> list[Any]:
    """A Volcano Job of a master and two workers without pods, and its Pending PodGroup."""
    tasks = [
        {
            "name": name,
            "replicas": count,
            "template": {"spec": {**pods("t", 1, cpu=each, memory=None)[0]["spec"], **spec}},
        }
        for name, count, each in (("master", 1, "1"), ("worker", 2, cpu))
    ]
    job = {
        "kind": "Job",
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "metadata": {"name": "wanted", "namespace": "default"},
    }
    group = pod_group("wanted", min_member=3, phase="Pending", min_resources={"cpu": "3"})
    group["metadata"]["ownerReferences"] = [VOLCANO_JOB]
    return [*CLASSES, node("n1", cpu="8"), node("n2", cpu="8"), {**job, "spec": {"tasks": tasks}}, group]


@pytest.mark.parametrize(
    ("cpu", "spec", "fact"),
    [
        ("3", {}, "1 pod of 1 cpu, 2 pods of 3 cpu (pod template) would fit on n1."),
        ("6", {}, "1 pod of 1 cpu, 2 pods of 6 cpu (pod template) would fit on n1, n2."),
        ("8", {}, "1 pod of 1 cpu, 2 pods of 8 cpu (pod template) would not fit now: the nodes have room for 2."),
        (
            "1",
            {"nodeSelector": {"pool": "a"}},
            "1 pod of 1 cpu, 2 pods of 1 cpu (pod template) would not fit now: node(s) didn't match",
        ),
    ],
)
def test_the_pods_to_come_are_those_of_the_jobs_templates(cpu: str, spec: dict[str, Any], fact: str) -> None:
    found = explain_by_name(replay_cycle(cluster(templated(cpu, **spec), conf=conf(PLAIN))), WANTED)
    assert "admitted" == found.cause_code
    assert found.dominant.facts[0].startswith(fact)


# What the PodGroup's minResources say to enqueue

ENQUEUE = conf_of("gang", "overcommit predicates nodeorder", actions="enqueue, allocate")


@pytest.mark.parametrize(("asked", "told"), [("11", True), ("9", False)])
def test_pods_of_a_job_that_was_admitted_with_more_than_the_cluster_has_are_told_so(asked: str, told: bool) -> None:
    job = [pod_group("j", phase="Running", min_resources={"cpu": asked}), *pods("j", 1, cpu="6", on="n1")]
    snapshot = cluster(node("n1"), job, pods("j", 1, cpu="5", prefix="more"), conf=ENQUEUE)
    found = explain_by_name(replay_cycle(snapshot), "default/j")
    assert told is (
        f"The PodGroup was admitted with minResources of {asked} cpu; the cluster has 10." in found.whole_text
    )
    assert told is any(line.text.startswith("Set overcommit-factor to 1: ") for line in found.advised)


@pytest.mark.parametrize(("cpu", "told"), [("20", True), ("8", False)])
def test_what_no_node_has_is_not_admitted_and_a_cluster_autoscaler_needs_pods(cpu: str, told: bool) -> None:
    full = [pod_group("old", phase="Running"), *pods("old", 1, cpu="9", on="n1")]
    snapshot = cluster(node("n1"), full, pod_group("j", phase="Pending", min_resources={"cpu": cpu}), conf=ENQUEUE)
    found = explain_by_name(replay_cycle(snapshot), "default/j")
    assert "enqueue-overcommit" == found.cause_code
    assert told is any(line.text.startswith("For a cluster autoscaler, drop enqueue") for line in found.advised)
