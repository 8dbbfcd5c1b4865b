"""Answers about pods that name a PodGroup or a queue which is not the one that counts for them."""

from __future__ import annotations

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, queue
from tests.pending.test_component_reports import volcano_job
from tests.pending.test_workloads import ENQUEUE, LACKS, explained, owned
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.snapshot.workloads import FOREIGN_GANGS

ANNOTATION, LABEL = "scheduling.volcano.sh/queue-name", "volcano.sh/queue-name"


@pytest.mark.parametrize(
    ("made", "owner", "used", "told"),
    [
        ("podgroup-web", "web", "mine", "Volcano's controller makes one for each ReplicaSet"),
        ("web-pg", "web", "podgroup-web", "It was made for ReplicaSet web, and its pods do not name it"),
        ("podgroup-other", "other", "mine", ""),
        ("web-1", "web", "web-0", ""),
    ],
)
def test_a_pod_group_without_pods_whose_owner_has_its_pods_in_another_one_says_where_they_are(
    made: str, owner: str, used: str, told: str
) -> None:
    """Controllers such as kthena's make several PodGroups for one object, whose pods may not exist yet."""
    mine = [pod_group(used, phase="Running"), *owned(pods(used, 1, on="n1", prefix="web"), "ReplicaSet", "web")]
    empty = owned([pod_group(made, min_resources={"cpu": "2"})], "ReplicaSet", owner)
    waits = pod_group("j", phase="Pending", min_resources={"cpu": "60"})
    found = explained(cluster(node("n1"), mine, empty, waits, conf=ENQUEUE), f"default/{made}")
    if told:
        assert f"PodGroup default/{made} has no pods: web-0 names {used}." == found.sentence
        assert found.dominant.facts[0].startswith(told)
        assert "It is Inqueue and reserves 2 cpu of queue default." == found.dominant.facts[1]
        step = "Delete PodGroup podgroup-web: " if made.startswith("podgroup-") else "Create web-0 with PodGroup web-pg"
        assert found.advice_texts[0].startswith(step)
    else:
        assert f"names {used}" not in found.full_text


@pytest.mark.parametrize(
    ("group", "kind", "named", "queue_words"),
    [
        (
            "qwen",
            "ModelServing",
            ["test", "test"],
            "annotation scheduling.volcano.sh/queue-name (kthena v1.0 or later)",
        ),
        ("etl", "SparkApplication", ["test", "test"], "spec.batchSchedulerOptions.queue"),
        ("flow", "Workflow", ["test", "test"], "the queue"),
        ("podgroup-x", "ReplicaSet", ["test", "test"], ""),
        ("qwen", "ModelServing", ["test", "default"], None),
        ("qwen", "ModelServing", ["default", "default"], None),
        ("qwen", "ModelServing", ["unknown", "unknown"], None),
    ],
)
def test_a_queue_that_only_the_pods_name_is_put_on_their_pod_group(
    group: str, kind: str, named: list[str], queue_words: str | None
) -> None:
    mine = owned([pod_group(group, min_member=2), *pods(group, 2, cpu="4")], kind, "hello")
    for each, queue_name in zip(mine[1:], named, strict=True):
        each["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] = queue_name
    full = [pod_group("old", phase="Running"), *pods("old", 1, cpu="8", on="n1")]
    found = explained(cluster(node("n1"), queue("default"), queue("test"), full, mine), f"default/{group}")
    told = "Its pods name queue test (scheduling.volcano.sh/queue-name), but only that of PodGroup "
    told += f"{group} counts: default."
    assert (queue_words is not None) is (told in found.dominant.facts)
    lasting = f", and {queue_words} in {kind} hello, from which it is made" if queue_words else ""
    advice = f"Set spec.queue of PodGroup {group} to test{lasting}."
    assert (queue_words is not None) is (advice in [line.text for line in found.advised if line.repairs])


@pytest.mark.parametrize("also_annotated", [False, True])
@pytest.mark.parametrize(("group", "kind"), [("podgroup-db", "StatefulSet"), ("ray-pg", "RayCluster")])
def test_a_queue_that_only_a_label_of_the_pods_names_becomes_an_annotation_where_volcano_makes_the_pod_group(
    group: str, kind: str, also_annotated: bool
) -> None:
    """The annotation goes before the label, here with the queue that the PodGroup has."""
    mine = owned([pod_group(group), *pods(group, 1, cpu="4")], kind, "db")
    mine[1]["metadata"]["labels"] = {LABEL: "test"}
    mine[1]["metadata"]["annotations"] |= {ANNOTATION: "default"} if also_annotated else {}
    full = [pod_group("old", phase="Running"), *pods("old", 1, cpu="8", on="n1")]
    found = explained(cluster(node("n1"), queue("default"), queue("test"), full, mine), f"default/{group}")
    told = f"Its pods name queue test ({LABEL}), but only that of PodGroup {group} counts: default."
    assert (not also_annotated) is (told in found.dominant.facts)
    step = (
        f"Put annotation {ANNOTATION}: test on" if kind == "StatefulSet" else f"Set spec.queue of PodGroup {group} to"
    )
    assert (not also_annotated) is any(words.startswith(step) for words in found.advice_texts)


@pytest.mark.parametrize(("named", "told"), [("test", True), ("default", False), ("unknown", False)])
def test_the_queue_annotation_of_a_volcano_jobs_template_is_said_not_to_count(named: str, told: bool) -> None:
    job = volcano_job(state={"phase": "Pending"})
    job["spec"]["tasks"] = [{"name": "w", "template": {"metadata": {"annotations": {ANNOTATION: named}}}}]
    group = owned([pod_group("j-uid", phase="Pending", min_resources={"cpu": "60"})], "Job", "j")
    found = explained(cluster(node("n1"), queue("default"), queue("test"), job, group, conf=ENQUEUE), "default/j-uid")
    fact = "Job j names queue test, but its PodGroup j-uid is in queue default: only the spec.queue of a Volcano Job "
    assert told is any(one.startswith(fact) for one in found.dominant.facts)
    assert told is any("or submit Job j again with spec.queue test." in words for words in found.advice_texts)


@pytest.mark.parametrize("has_owner", [False, True])
def test_the_pods_of_a_pod_group_made_by_hand_are_to_be_annotated(has_owner: bool) -> None:
    mine = [pod_group("mine", min_member=2)]
    found = explained(cluster(node("n1"), owned(mine, "RayCluster", "ray") if has_owner else mine), "default/mine")
    fact = "No pod of this snapshot names it in annotation scheduling.k8s.io/group-name, and no object owns it."
    assert (not has_owner) is (fact in found.dominant.facts)
    advice = "Annotate the pods that belong to it (their template): scheduling.k8s.io/group-name: mine; "
    advice += "or find out why they are not created."
    assert (not has_owner) is (advice in found.advice_texts)


@pytest.mark.parametrize(
    ("limited", "stated", "scopes", "told"),
    [
        ("limits.cpu", {"requests": {"cpu": "1"}}, [], True),
        ("limits.cpu", {"limits": {"cpu": "1"}}, [], False),
        ("requests.memory", {"requests": {"cpu": "1"}}, [], True),
        ("requests.cpu", {"limits": {"cpu": "1"}}, [], False),
        ("requests.nvidia.com/gpu", {"requests": {"cpu": "1"}}, [], False),
        ("limits.cpu", {"requests": {"cpu": "1"}}, ["Terminating"], False),
    ],
)
@pytest.mark.parametrize("ended", [False, True])
def test_what_a_quota_limits_and_a_container_does_not_state_is_named(
    limited: str, stated: dict[str, dict[str, str]], scopes: list[str], told: bool, ended: bool
) -> None:
    job = volcano_job(state={"phase": "Terminated" if ended else "Pending"})
    template = {"spec": {"containers": [{"name": "main", "resources": stated}]}}
    job["spec"]["tasks"] = [{"name": "w", "replicas": 1, "template": template}]
    quota = {"kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default", "uid": "q"}}
    quota |= {
        "spec": {"hard": {limited: "9"}, "scopes": scopes},
        "status": {"hard": {limited: "9"}, "used": {limited: "0"}},
    }
    group = [] if ended else owned([pod_group("j-uid")], "Job", "j")
    name = "default/j" if ended else "default/j-uid"
    found = explained(cluster(node("n1"), job, quota, group, conf=conf_of("gang", "predicates")), name)
    fact = f"ResourceQuota q limits {limited}, which container main does not state: "
    assert told is any(one.startswith(fact) for one in found.dominant.facts)
    assert told is any(words.startswith(f"State {limited} for each container") for words in found.advice_texts)


@pytest.mark.parametrize("pods_too", [False, True])
@pytest.mark.parametrize(
    ("kind", "above", "named"),
    [("ReplicaSet", "Deployment web", "Deployment web"), ("StatefulSet", "", "StatefulSet x")],
)
def test_a_queue_that_only_the_controller_of_the_pods_states_is_said_not_to_count(
    kind: str, above: str, named: str, *, pods_too: bool
) -> None:
    mine = owned([pod_group("podgroup-x"), *pods("podgroup-x", 1, cpu="6")], kind, "x")
    if pods_too:
        mine[0]["spec"]["queue"] = mine[1]["metadata"]["annotations"][ANNOTATION] = "test"
    maker: Manifest = {"kind": kind, "apiVersion": "apps/v1", "spec": {"replicas": 1}}
    maker["metadata"] = {"name": "x", "namespace": "default", "uid": "x", "annotations": {ANNOTATION: "test"}}
    if above:
        owned([maker], *above.split())
    full = [pod_group("old", phase="Running"), *pods("old", 1, cpu="8", on="n1")]
    found = explained(cluster(node("n1"), queue("default"), queue("test"), maker, mine, full), "default/podgroup-x")
    assert pods_too is not (f"{named} names queue test, but {LACKS}." in found.dominant.facts)
    step = f"Put annotation {ANNOTATION}: test on the pods of {named} (their template)."
    assert pods_too is not (step in found.advice_texts)


def test_a_leader_that_owns_the_pod_group_is_one_of_the_pods_of_another_scheduler() -> None:
    plain = pods("lws", 3, on="n1")
    for each in plain:
        each["metadata"]["annotations"].pop("scheduling.k8s.io/group-name")
        each["spec"]["schedulerName"] = "default-scheduler"
    group = pod_group("lws-pg", min_member=3)
    for each in (*plain[1:], group):
        owner = {"kind": "Pod", "name": "lws-0", "uid": plain[0]["metadata"]["uid"]}
        each["metadata"]["ownerReferences"] = [owner]
    found = explain_by_name(replay_cycle(cluster(node("n1"), group, plain)), "default/lws-pg")
    assert "Pod default/lws-0 is not scheduled by Volcano: 3 pods use schedulerName default-scheduler" in found.sentence
    # Its pods exist: no controller has to be asked why it created none.
    assert 1 == len(found.advice_texts)


@pytest.mark.parametrize("key", FOREIGN_GANGS)
@pytest.mark.parametrize("shared", [True, False])
def test_a_gang_that_is_named_for_another_scheduler_is_no_gang_of_volcano(key: str, shared: bool) -> None:
    groups = ["podgroup-0", "podgroup-0" if shared else "podgroup-1"]
    members = [pods(group, 1, cpu="6", prefix=f"w{number}")[0] for number, group in enumerate(groups)]
    for member in members:
        kind = "annotations" if key.startswith("gang.") else "labels"
        member["metadata"].setdefault(kind, {})[key] = "tf-work"
    objects = [node("n1"), *map(pod_group, dict.fromkeys(groups)), *members]
    found = explained(cluster(objects, conf=conf_of("gang", "predicates nodeorder")), f"default/{groups[1]}")
    told = f"Each pod of group tf-work ({key}, which Volcano does not read) has a PodGroup of its own (minMember 1)"
    assert shared is not any(fact.startswith(told) for fact in found.dominant.facts)
