"""The first two lines of an answer: the evicted pods, the holders of the resource, and the deciding rule."""

import re
from typing import Any

import pytest

from tests.builders import cluster, conf_of, hyper_node, metadata, node, pod, pod_group, pods, priority_class, queue
from tests.debugger.test_remedies import proven
from tests.pending.situations import OVERCOMMIT, PLAIN, WANTED, conf, nodes, running, wanted
from tests.pending.test_gates import TOPOLOGY
from tests.pending.test_words import CAPACITY, asked
from tests.pending.test_workloads import ALL, explained
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest


def test_the_first_line_names_the_victims_and_the_evidence_the_final_placement() -> None:
    found = asked([*nodes("n1"), *running("a", "n1"), *wanted()], "enqueue, allocate, preempt")
    assert re.search(r": preempt evicts default/a-\d for wanted-0 on n1 \(pipelined\)\.$", found.sentence)
    assert any(
        re.fullmatch(r"The pod is bound after default/a-\d has terminated\.", one) for one in found.dominant.facts
    )
    placements = [text for _, text in found.dominant.evidence if text.startswith("pipeline ")]
    assert ["pipeline default/wanted-0 on n1"] == placements


def test_room_that_is_spread_over_nodes_is_listed_with_the_user_of_the_nearest_node() -> None:
    small = [node("n1", cpu="5"), node("n2", cpu="6"), *running("a", "n2", 1, cpu="4")]
    found = asked([*small, *wanted(cpu="6", phase="Pending", min_resources={"cpu": "6"})], PLAIN, second=OVERCOMMIT)
    told = (
        "7 cpu is free in total, but spread over 2 nodes (n1 5, n2 2); enqueue compares minResources with totals only."
    )
    assert told in found.dominant.facts[0]
    assert "In use on n2 (cpu): default/a-0 4." in found.dominant.facts[0]


def test_the_only_node_that_is_too_small_is_named_beside_the_nodes_that_refuse() -> None:
    unready = node("big", cpu="64")
    unready["spec"] = {"taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]}
    found = asked([node("small", cpu="2"), unready, *wanted(cpu="4")], PLAIN)
    said = "big is NotReady (taint node.kubernetes.io/not-ready:NoSchedule); small has 2 cpu in total."
    assert said == found.dominant.facts[0]


@pytest.mark.parametrize(("size", "used", "asks"), [("2", "", True), ("8", "6", False)])
@pytest.mark.parametrize("tainted", [True, False])
def test_what_a_pod_asks_is_in_the_first_line_if_a_node_is_too_small_for_it(
    size: str, used: str, asks: bool, tainted: bool
) -> None:
    taints = [{"key": "team", "value": "b", "effect": "NoSchedule"}]
    other = node("big", cpu="8", taints=taints) if tainted else node("big", cpu="8")
    users = running("a", "n1", 1, cpu=used) if used else []
    full = [] if tainted else running("b", "big", 1, cpu="6")
    found = asked([other, node("n1", cpu=size), *users, *full, *wanted()], PLAIN)
    assert asks is ("wanted-0 (asks 4 cpu)" in found.sentence and "1 too small (cpu)" in found.sentence)
    assert 1 == found.full_text.count("asks 4 cpu")


@pytest.mark.parametrize(
    ("used", "says"), [("8", "No cpu is free."), ("6", "big comes closest with 2 free (2 short).")]
)
def test_the_nearest_node_has_a_sentence_of_its_own_where_the_first_line_says_what_the_pod_asks(
    used: str, says: str
) -> None:
    objects = [
        node("big", cpu="8"),
        node("n1", cpu="2"),
        *running("b", "big", 1, cpu=used),
        *running("a", "n1", 1, cpu="2"),
    ]
    found = asked([*objects, *wanted()], PLAIN)
    assert "wanted-0 (asks 4 cpu)" in found.sentence
    assert says in found.dominant.facts[0]


def test_inqueue_jobs_that_no_node_can_hold_are_named_with_their_figures() -> None:
    large = wanted_as("large", cpu="9", phase="Inqueue", min_resources={"cpu": "9"})
    limited = [queue("default", capability={"cpu": "10"})]
    found = asked([*nodes("n1"), *limited, *large, *wanted(phase="Pending", min_resources={"cpu": "4"})], PLAIN)
    assert "enqueue-held-by-inqueue" == found.cause_code
    told = "default/large cannot be placed: default/large-0 asks 9 cpu, and no node has more than 8."
    assert told == found.dominant.facts[0]


def replica_set(name: str, replicas: int) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": metadata(name, "default"),
        "spec": {"replicas": replicas},
    }


def left_over(name: str) -> list[Manifest]:
    """The Inqueue PodGroup of a ReplicaSet that an update has scaled to 0."""
    group = pod_group(name, min_resources={"cpu": "4"})
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{name}-rs", "uid": name, "controller": True}
    group["metadata"]["ownerReferences"] = [owner]
    return [replica_set(f"{name}-rs", 0), group]


def test_pod_groups_that_an_update_left_behind_are_told_by_their_replica_sets_and_deleted() -> None:
    limited = [queue("default", capability={"cpu": "9"})]
    left = [*left_over("podgroup-a"), *left_over("podgroup-b")]
    waiting = wanted(phase="Pending", min_resources={"cpu": "4"})
    situation = [*nodes("n1"), *limited, *left, *waiting]
    found = asked(situation, PLAIN)
    assert found.sentence.endswith(
        "podgroup-b are Inqueue without pods, and reserve 8 cpu; limit of queue default: 8 cpu."
    )
    belongs = "They belong to ReplicaSets that want 0 replicas: default/podgroup-a-rs, default/podgroup-b-rs."
    assert belongs == found.dominant.facts[0]
    fixes = proven(cluster(situation, conf=conf(PLAIN)), WANTED)
    assert "Delete 1 of 2 Inqueue PodGroups without pods (default/podgroup-a, default/podgroup-b)" == next(iter(fixes))


def test_pods_that_share_a_pod_group_are_not_said_to_have_one_each() -> None:
    shared = [pod_group("podgroup-a", phase="Running"), *pods("podgroup-a", 3, cpu="1", on="n1")]
    alone = [pod_group("podgroup-b", phase="Pending", min_resources={"cpu": "40"}), *pods("podgroup-b", 1, cpu="40")]
    told = "Each pod of application etl has a PodGroup of its own (minMember 1), so its pods are not a gang."
    other = [pod_group("podgroup-c", phase="Running"), *pods("podgroup-c", 1, cpu="1", on="n1")]
    # Pods with the same component need no gang; pods of different components need each other.
    for component, beside, needed in (("taskmanager", other, True), ("jobmanager", other, False), ("x", shared, False)):
        alone[1]["metadata"]["labels"] = {"app": "etl", "component": component}
        beside[1]["metadata"]["labels"] = {"app": "etl", "component": "jobmanager"}
        facts = explained_job("default/podgroup-b", [*nodes("n1"), *beside, *alone])
        assert needed is any(fact.startswith(told) for fact in facts)


def explained_job(job: str, objects: list[Manifest]) -> tuple[str, ...]:
    """The facts of the answer about a given job."""
    return explain_by_name(replay_cycle(cluster(objects, conf=conf(PLAIN))), job).dominant.facts


def wanted_as(name: str, **more: Any) -> list[Manifest]:
    """A job with this name, one pod, and these settings."""
    group = {key: more.pop(key) for key in ("phase", "min_resources", "priority_class") if key in more}
    return [pod_group(name, **group), *pods(name, 1, **more)]


def test_the_queue_that_reclaim_would_take_from_is_named_with_its_figures() -> None:
    queues = [queue("mine", deserved={"cpu": "6"}), queue("theirs", deserved={"cpu": "2"})]
    full = [*nodes("n1"), *running("a", "n1", queue="theirs")]
    found = asked([*queues, *full, *wanted(queue="mine")], PLAIN, **CAPACITY)
    assert "action-not-configured" == found.cause_code
    assert found.dominant.facts[0].endswith("(queue theirs uses 8 cpu and deserves 2).")


def test_a_deadlock_names_the_pods_that_fill_the_queue() -> None:
    limited = [queue("default", capability={"cpu": "8"})]
    other = [pod_group("other"), *pods("other", 1, cpu="4", on="n1"), pod("other-9", "other", requests={"cpu": "4"})]
    mine = [pod_group("wanted"), *pods("wanted", 1, cpu="4", on="n2"), pod("wanted-9", "wanted", requests={"cpu": "4"})]
    found = asked([*nodes("n1", "n2"), *limited, *other, *mine])
    both = "Possible deadlock: default/other and this job have running pods, and both have Pending pods."
    holders = "In use in queue default (cpu): default/other-0 4, default/wanted-0 4 (this job)."
    assert f"{both} {holders}" == found.dominant.facts[0]


@pytest.mark.parametrize(
    ("minimum", "runs", "told"),
    [
        (2, 0, "(cpu): nothing; in this cycle wanted-0 took 4 first and was rolled back."),
        (2, 2, "(cpu): default/a-0 2; in this cycle wanted-0 took 4 first and was rolled back."),
        (1, 0, "(cpu): default/wanted-0 4 (this job)."),
        (1, 2, "(cpu): default/wanted-0 4 (this job), default/a-0 2."),
    ],
)
def test_a_placement_that_is_rolled_back_is_not_told_as_in_use(minimum: int, runs: int, told: str) -> None:
    limited = queue("default", capability={"cpu": f"{6 + runs}"})
    busy = running("a", "n1", count=1, cpu="2") if runs else []
    found = asked([*nodes("n1", "n2"), limited, *busy, *wanted(2, min_member=minimum)])
    findings = (found.dominant, *found.contributing)
    (refused,) = [one for one in findings if one.cause == "queue-not-allocatable"]
    assert any(fact.endswith(told) for fact in refused.facts)
    assert (minimum == 2) is ("queue default used " in refused.sentence)
    told_by_gang = [fact for one in findings if one.cause == "gang-discard" for fact in one.facts]
    assert (minimum == 2) is any("in this cycle wanted-0 took 4 first" in fact for fact in told_by_gang)


def test_a_gang_without_room_says_how_much_each_role_found() -> None:
    names = [(role, number) for role in ("a", "b") for number in (0, 1)]
    roles = [pod(f"wanted-{role}-{number}", "wanted", role=role, requests={"cpu": "4"}) for role, number in names]
    found = asked([*nodes("n1"), pod_group("wanted", min_member=4), *roles])
    assert found.sentence.endswith("found room for 2 of the 4 pods it needs at once (a 1 of 2, b 1 of 2).")


def test_the_jobs_that_are_tried_before_it_are_named_with_what_decides() -> None:
    full = [*nodes("n1"), *running("a", "n1")]
    others = [*wanted_as("urgent", priority_class="top"), *wanted_as("later", priority_class="low")]
    top = priority_class("top", 5000)
    mine = asked([*full, top, *others, *wanted()]).dominant.facts
    assert "Before it, default/urgent (priority 5000 before 1000) of the same queue is tried." == mine[-1]
    first = asked([*full, *wanted_as("later", priority_class="low"), *wanted()]).dominant.facts
    tried = "It is tried before default/later of the same queue (priority 1000 before 10)."
    # An action that is missing is named in the first line already, so the order comes before what it would do.
    assert tried == first[0]
    alone = asked([*full, *wanted()]).dominant.facts
    assert [] == [fact for fact in alone if "tried" in fact]


@pytest.mark.parametrize(
    ("other", "count", "min_member", "cpu", "waits"),
    [
        ("low", 1, None, "4", True),
        ("top", 1, None, "4", False),
        ("low", 2, 1, "4", True),
        ("low", 2, 2, "4", False),
        ("low", 1, None, "9", False),
    ],
)
def test_the_next_job_that_needs_one_pod_is_told_that_it_can_wait(
    other: str, count: int, min_member: int | None, cpu: str, waits: bool
) -> None:
    full = [*nodes("n1"), *running("a", "n1"), priority_class("top", 5000)]
    later = wanted_as("later", priority_class=other)
    found = asked([*full, *later, *wanted(count, min_member=min_member, cpu=cpu)])
    turn = "default/wanted is the first of its queue to be tried when 4 cpu is free on n1"
    said = f"Nothing has to change: {turn} (forecast: vcdebug ask when)."
    assert ([said] if waits else []) == [line.text for line in found.outside_advice(first=True)]


@pytest.mark.parametrize("release", ["master", "v1.12.0", "v1.13.2"])
def test_a_pod_that_is_bound_to_the_hypernode_of_its_job_names_it_and_the_other_jobs_there(release: str) -> None:
    """Older releases ask no plugin: they search the HyperNodes that the PodGroup's annotation leaves."""
    mode = {"mode": "hard", "highestTierAllowed": 1}
    group, *members = wanted(1, min_member=2, phase="Running")
    group["spec"]["networkTopology"] = mode
    group["metadata"]["annotations"] = {"volcano.sh/job-allocated-hypernode": "r1"}
    placed = pods("wanted", 1, cpu="4", on="n1", prefix="first")
    racks = [hyper_node("r1", 1, nodes=["n1", "n2"]), hyper_node("r2", 1, nodes=["n3"])]
    tree = [*racks, hyper_node("top", 2, children=["r1", "r2"])]
    four = [node(name, cpu="4") for name in ("n1", "n2", "n3")]
    found = asked([*four, *tree, group, *placed, *members, *running("a", "n2", 1)], first=TOPOLOGY, release=release)
    where = "may use only HyperNode r1, where its 1 placed pod is (networkTopology hard, tier 1)"
    assert f"default/wanted is Pending: wanted-0 {where}, and no node there fits it." == found.sentence
    assert "no-hypernode" == found.cause_code
    assert any(
        fact.startswith("In use by other jobs in HyperNode r1 (cpu): default/a-0 ") for fact in found.dominant.facts
    )
    assert "n3 has room for it outside." in found.dominant.facts
    filled = [*four, *tree, group, *placed, *members, *running("a", "n2", 1), *running("b", "n3", 1)]
    full = asked(filled, first=TOPOLOGY, second="predicates nodeorder", release=release)
    assert found.sentence == full.sentence, "full nodes outside change nothing"


def test_a_subgroup_that_no_hypernode_holds_is_named_with_its_own_tier() -> None:
    group, *members = wanted(2)
    topology = {"mode": "hard", "highestTierName": "rack"}
    policy = {"name": "t", "subGroupSize": 2, "matchLabelKeys": ["part"], "networkTopology": topology}
    group["spec"]["subGroupPolicy"] = [policy]
    for member in members:
        member["metadata"]["labels"] = {"part": "0"}
    racks = [hyper_node("r1", 1, nodes=["n1"]), hyper_node("r2", 1, nodes=["n2"])]
    for rack in racks:
        rack["spec"]["tierName"] = "rack"
    one_each = [node(name, cpu="4") for name in ("n1", "n2")]
    found = asked([*one_each, *racks, hyper_node("top", 2, children=["r1", "r2"]), group, *members], first=TOPOLOGY)
    sentence = "no HyperNode up to tier 1 has room for the 2 pods of subgroup t-0 (8 cpu, 1.86Gi memory)."
    assert found.sentence.endswith(sentence)
    ignore = "older releases ignore it (fixed in v1.14.2, v1.15.0: #5190)"
    means = f"highestTierName rack of the subGroupPolicy means tier 1; {ignore}."
    closest = "closest is r1: 4 cpu idle of 4 cpu, 4 cpu short"
    none = f"network-topology-aware checked 2 HyperNodes and found none with room ({closest})"
    checked = f"{none}, so no pod was tried on a node."
    assert (means, checked) == found.dominant.facts[:2]


def test_pods_that_volcano_groups_one_by_one_are_advised_to_share_a_podgroup() -> None:
    limited = [queue("default", capability={"cpu": "4"}), *nodes("n1")]
    jm = [
        pod_group("podgroup-jm", min_resources={"cpu": "4"}),
        pod("jm", "podgroup-jm", on="n1", requests={"cpu": "4"}),
    ]
    tm = [
        pod_group("podgroup-tm", phase="Pending", min_resources={"cpu": "2"}),
        pod("tm", "podgroup-tm", requests={"cpu": "2"}),
    ]
    for made, component in ((jm, "jobmanager"), (tm, "taskmanager")):
        made[-1]["metadata"]["labels"] = {"app": "etl", "component": component}
    found = explain_by_name(replay_cycle(cluster([*limited, *jm, *tm], conf=conf(PLAIN))), "tm")
    (advice,) = (line for line in found.advised if line.cannot_be_replayed)
    share = "Give the pods of one workload one PodGroup, named in annotation scheduling.k8s.io/group-name"
    assert advice.text.startswith(share)


def test_missing_action_is_named_with_the_victims_for_this_job_only() -> None:
    full = [*running("a", "n1"), *running("b", "n2")]
    found = asked([*nodes("n1", "n2"), *full, *wanted_as("other", priority_class="high"), *wanted()])
    assert "action-not-configured" == found.cause_code
    placed = r"With preempt \(replayed\): reserves room for 1 pod on (n\d)"
    told = rf"{placed}; evicts default/([ab])-\d for it, and 1 pod for other jobs\."
    match = re.fullmatch(told, found.dominant.facts[1])
    assert match is not None, found.dominant.facts
    assert {"a": "n1", "b": "n2"}[match[2]] == match[1]


def test_minimums_of_roles_that_gang_does_not_check_are_named_with_the_roles_that_miss_them() -> None:
    roles = [*pods("wanted", 3, cpu="2", role="master"), pod("wanted-w", "wanted", requests={"cpu": "2"}, role="work")]
    group = pod_group("wanted", min_member=3, min_task_member={"master": 3, "work": 1})
    facts = asked([node("n1", cpu="6"), group, *roles], PLAIN).dominant.facts
    ignored = "gang ignores minTaskMember (total 4, above minMember 3)."
    assert [f"Below the minimum of their role: work (0 of 1); {ignored}"] == [one for one in facts if "role" in one]
    enough = asked([node("n1", cpu="8"), group, *roles], PLAIN).dominant.facts
    assert not [one for one in enough if "role" in one]


def ending(name: str, deleted: str) -> Manifest:
    """A terminating pod that fills a node of 8 cpu."""
    found = pod(name, "a", on="n1", requests={"cpu": "8"}, deleting=True)
    found["metadata"]["deletionTimestamp"] = deleted
    return found


def test_a_pod_that_should_have_ended_long_ago_is_to_be_looked_at_or_removed() -> None:
    waits = [*nodes("n1"), pod_group("a", phase="Running"), *wanted(cpu="4")]
    late = asked([*waits, ending("a-0", "2026-10-28T12:00:00Z")], PLAIN)
    assert ("pipelined", True) == (late.cause_code, late.dominant.facts[0].startswith("Terminating: default/a-0 ("))
    removal = "or remove it, if nothing of it runs: kubectl delete pod -n default a-0 --force"
    assert [f"Check the kubelet of n1 and the finalizers of a-0, {removal}"] == [one.text for one in late.advised]
    soon = asked([*waits, ending("a-0", "2026-11-01T00:00:30Z")], PLAIN)
    assert ("pipelined", ()) == (soon.cause_code, soon.advised)


def volcano_job(name: str, replicas: int) -> Manifest:
    """A Volcano Job with one role, worker."""
    spec = {"tasks": [{"name": "worker", "replicas": replicas}]}
    named = metadata(name, "default")
    return {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": named, "spec": spec, "status": {}}


def test_pods_that_a_quota_keeps_from_being_created_are_missed_even_where_all_others_run() -> None:
    group = pod_group("wanted", phase="Running", min_member=2)
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "train", "uid": "t", "controller": True}
    group["metadata"]["ownerReferences"] = [owner]
    limit = {"hard": {"requests.cpu": "2"}, "used": {"requests.cpu": "2"}}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata("q", "default"), "status": limit}
    running_pods = [group, *pods("wanted", 2, cpu="1", on="n1")]
    found = asked([*nodes("n1"), volcano_job("train", 5), {**quota, "spec": {"hard": limit["hard"]}}, *running_pods])
    full = "2 of 2 requests.cpu of ResourceQuota q are used, so no more can be created"
    assert f"default/wanted has 2 of the 5 pods that train asks for: {full}." == found.sentence
    assert ("Used by wanted-0 1, wanted-1 1.",) == found.dominant.facts
    assert ("ResourceQuota q: raise hard.requests.cpu 2 -> 5 for 3 more pods.",) == found.advice_texts
    assert () == asked([*nodes("n1"), volcano_job("train", 2), *running_pods]).dominant.facts


@pytest.mark.parametrize("name", ["j", "a-name-of-a-job" * 2 + "-number-1"])
def test_a_first_line_that_would_be_too_long_leaves_further_dimensions_to_a_fact(name: str) -> None:
    limited, asked = queue("q", capability={"cpu": "1", "memory": "1Gi"}), {"cpu": "2", "memory": "2Gi"}
    group = pod_group(name, queue="q", phase="Pending", min_resources=asked)
    conf = conf_of("gang", "predicates proportion", actions=ALL)
    found = explained(cluster(node("n1"), limited, group, conf=conf), f"default/{name}")
    assert len(found.sentence) <= 160
    assert (name == "j") is ("also: memory" in found.sentence)
    assert (name == "j") is ("Also short: memory." not in found.dominant.facts)


def test_pods_that_were_placed_first_are_counted_by_job() -> None:
    first = [pod_group("first", priority_class="high"), *pods("first", 3, cpu="3", priority=9)]
    conf = conf_of("priority gang", "predicates")
    snapshot = cluster(node("n1"), priority_class("high", 9), first, pod_group("j"), pods("j", 1, cpu="4"), conf=conf)
    assert any(
        "; 3 pods of default/first were placed there first" in fact for fact in explained(snapshot).dominant.facts
    )
