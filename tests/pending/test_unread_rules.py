"""What a user states and the scheduler does not read, compare or evict: said where it decides, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import cluster, conf_of, hyper_node, node, pod, pod_group, pods, priority_class, queue
from tests.releases.shown_devices import asking, cards, held, sharing
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.questions.victims import explain_eviction
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.manifest import WorkloadFacts, workload_key
from vcdebug.snapshot.snapshot import Manifest, Snapshot

CLASSES = [priority_class("low", 1), priority_class("high", 10)]


def explained(snapshot: Snapshot, name: str = "default/j", release: str = "") -> Explanation:
    return explain_by_name(replay_cycle(snapshot_at_release(snapshot, release) if release else snapshot), name)


def against_low(*, actions: str, queues: tuple[str, str] = ("default", "default"), **spec: Any) -> Snapshot:
    """Two pods of a job of priority 1 fill a node; job j of priority 10 has no room there."""
    low = [pod_group("low", queue=queues[0], phase="Running", priority_class="low"), *pods("low", 2, "5", on="n1")]
    high = [pod_group("j", queue=queues[1], priority_class="high"), *pods("j", 1, "5", priority=10, **spec)]
    conf = conf_of("priority gang", "predicates", actions=actions)
    return cluster(node("n1"), queue("other", reclaimable=True), CLASSES, low, high, conf=conf)


@pytest.mark.parametrize(
    ("release", "policy", "told"), [("v1.10.2", "Never", True), ("v1.10.2", "PreemptLowerPriority", False)]
)
def test_an_eviction_for_a_pod_whose_policy_forbids_it_names_the_release_that_reads_it(
    release: str, policy: str, told: bool
) -> None:
    found = explained(against_low(actions="allocate, preempt", preemptionPolicy=policy), release=release)
    assert found.scheduled
    assert told is any(
        fact.startswith("v1.10.2 does not read preemptionPolicy Never of j-0") for fact in found.dominant.facts
    )
    assert told is any(one.text.startswith("Upgrade Volcano to v1.11.0 ") for one in found.advised)
    assert told is not any(one.text.startswith("Nothing has to change") for one in found.advised)


def test_a_release_that_reads_the_policy_evicts_nothing() -> None:
    snapshot = against_low(actions="allocate, preempt", preemptionPolicy="Never")
    assert not explained(snapshot, release="v1.12.1").scheduled


@pytest.mark.parametrize("actions", ["allocate", "allocate, preempt"])
@pytest.mark.parametrize(("queues", "told"), [(("other", "default"), True), (("default", "default"), False)])
def test_a_priority_is_said_to_count_only_within_its_queue(actions: str, queues: tuple[str, str], told: bool) -> None:
    found = explained(against_low(actions=actions, queues=queues))
    words = "Of lower priority there: default/low (1, queue other); priority 10 counts only within queue default."
    texts = [*found.dominant.facts, *(fact for one in found.contributing for fact in one.facts)]
    assert told is any(fact.startswith(words) for fact in texts)


def test_a_job_of_another_queue_with_the_same_priority_is_no_reason() -> None:
    snapshot = against_low(actions="allocate", queues=("other", "default"))
    snapshot.objects["PriorityClass"] = [priority_class("low", 10), priority_class("high", 10)]
    assert not any("counts only within" in fact for fact in explained(snapshot).dominant.facts)


def evict_event(group: Manifest, message: str) -> Manifest:
    about = {"kind": "PodGroup", "uid": group["metadata"]["uid"]}
    event: Manifest = {"kind": "Event", "reason": "Evict", "message": message, "type": "Normal"}
    return event | {"metadata": {"name": "e"}, "involvedObject": about}


@pytest.mark.parametrize("pending", [0, 1])
@pytest.mark.parametrize(
    ("message", "rule"),
    [
        ("reclaim", "; reclaim compares what queues use and what they deserve, and no priorities."),
        ("preempt", "; preempt evicts for jobs of the same queue."),
        ("rescheduling", "."),
    ],
)
def test_an_eviction_that_the_scheduler_reported_is_told_with_its_rule(message: str, rule: str, pending: int) -> None:
    group = pod_group("j", phase="Running")
    own = [group, *pods("j", 1, "6", on="n1"), *pods("j", pending, "6", prefix="late")]
    conf = conf_of("priority gang", "predicates proportion", actions="allocate, preempt, reclaim")
    fact = f"The scheduler has evicted a pod of default/j (event Evict: {message}){rule}"
    for event in ([], [evict_event(group, message)], [evict_event(pod_group("another"), message)]):
        found = explained(cluster(node("n1"), own, event, conf=conf))
        is_own = bool(event) and event[0]["involvedObject"]["uid"] == group["metadata"]["uid"]
        assert is_own is (fact in found.dominant.facts[:2])
        kept = any(one.text.startswith("To keep its pods: ") for one in found.advised)
        assert kept is (is_own and message == "reclaim")


OWNERS = {"ReplicaSet": "ReplicaSet default/vllm", "DaemonSet": "", None: "Pod default/f-0, Pod default/f-1"}


@pytest.mark.parametrize("owner", list(OWNERS))
@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_pods_of_another_scheduler_are_named_with_their_owner(owner: str | None, action: str) -> None:
    foreign = pods("f", 2, "5", on="n1", schedulerName="default-scheduler")
    for one in foreign:
        one["metadata"]["ownerReferences"] = [{"kind": owner, "name": "vllm", "uid": "o"}] if owner else []
        del one["metadata"]["annotations"]["scheduling.k8s.io/group-name"]
    conf = conf_of("priority gang", "predicates proportion", actions=f"allocate, {action}")
    found = explained(cluster(node("n1"), foreign, pod_group("j"), pods("j", 1, "5"), conf=conf))
    named = OWNERS[owner]
    whose = f" (default-scheduler: {named})" if named else ""
    assert f"2 pods are there: 2 not managed by Volcano{whose}." in found.dominant.facts
    steps = [one.text for one in found.advised if "Volcano evicts only pods of PodGroups" in one.text]
    assert bool(named) is any(step.startswith("Give the pods of ") and action in step for step in steps)


def test_candidates_in_another_queue_are_told_with_the_queue_of_the_action() -> None:
    found = explained(against_low(actions="allocate, preempt", queues=("other", "default")))
    fact = "2 pods are there: 2 in queue other; preempt evicts only in queue default."
    assert fact in [fact for one in (found.dominant, *found.contributing) for fact in one.facts]


def made_for(kind: str, name: str, group: Manifest) -> Manifest:
    group["metadata"]["ownerReferences"] = [{"kind": kind, "name": name, "uid": "o", "controller": True}]
    return group


@pytest.mark.parametrize(("stated", "member", "told"), [(1, 3, True), (3, 3, False), (5, 3, False), (0, 3, False)])
def test_a_minimum_that_the_operator_did_not_copy_is_told(stated: int, member: int, told: bool) -> None:
    group = made_for("MPIJob", "bert", pod_group("j", min_member=member))
    snapshot = cluster(node("n1"), group, pods("j", 3, "5"), conf=conf_of("gang", "predicates"))
    policy = {"schedulingPolicy": {"minAvailable": stated} if stated else {}}
    facts = WorkloadFacts.of_manifest({"metadata": {"name": "bert"}, "spec": {"runPolicy": policy}})
    assert facts == WorkloadFacts.of_document(facts._asdict())
    snapshot.workloads = {workload_key("default", "MPIJob", "bert"): facts}
    found = explained(snapshot)
    states = "MPIJob bert states schedulingPolicy.minAvailable 1, but its PodGroup has minMember 3"
    fact = f"{states}, the only one that counts."
    assert told is (fact in found.dominant.facts)
    repair = [one for one in found.advised if one.text.startswith("Set minMember of PodGroup j to 1")]
    assert told is bool(repair)
    assert not told or ("PodGroup/default/j:spec.minMember=1",) == repair[0].edits


@pytest.mark.parametrize(
    ("kind", "step"),
    [
        ("PyTorchJob", "Delete PyTorchJob old with its PodGroup default/old; this releases 9 cpu."),
        ("StatefulSet", "Delete PodGroup default/old; this releases 9 cpu."),
        ("", "Delete PodGroup default/old; this releases 9 cpu."),
    ],
)
def test_an_owner_that_would_make_the_podgroup_again_is_deleted_with_it(kind: str, step: str) -> None:
    old = pod_group("old", min_resources={"cpu": "9"})
    waits = pod_group("j", phase="Pending", min_resources={"cpu": "9"})
    conf = conf_of("priority gang", "overcommit predicates", actions="enqueue, allocate")
    objects = [made_for(kind, "old", old) if kind else old, waits]
    assert step in [one.text for one in explained(cluster(node("n1"), objects, conf=conf)).advised]


ANTI = {
    "requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector": {}, "topologyKey": "kubernetes.io/hostname"}]
}


def test_a_reservation_beside_an_obstacle_is_told_why_it_evicts_nobody() -> None:
    low = [pod_group("low", phase="Running", priority_class="low"), *pods("low", 1, "2", on="n1")]
    high = [pod_group("j", priority_class="high"), *pods("j", 1, "2", affinity={"podAntiAffinity": ANTI})]
    conf = conf_of("priority gang", "predicates", actions="allocate, preempt")
    found = explained(cluster(node("n1"), CLASSES, low, high, conf=conf), release="v1.10.0")
    assert "phantom-pipelined" == found.cause_code
    assert any(fact.startswith("n1 has room for it, so preempt evicts no pod there.") for fact in found.dominant.facts)


@pytest.mark.parametrize(("weight", "told"), [("0", True), ("10", False)])
def test_a_policy_of_cards_that_scores_no_node_is_told(weight: str, *, told: bool) -> None:
    objects = [cards(1), cards(1, name="n2"), pod_group("r"), held("r-0", "a"), pod_group("j"), asking("j-0")]
    found = explained(sharing(*objects, SchedulePolicy="binpack", ScheduleWeight=weight))
    assert found.scheduled
    fact = (
        "deviceshare.SchedulePolicy (binpack) is about cards and scores no node: deviceshare.ScheduleWeight is not set"
    )
    assert told is any(one.startswith(fact) for one in found.dominant.facts)


def test_a_pod_without_cards_is_not_told_of_their_policy() -> None:
    snapshot = sharing(
        cards(1), pod_group("j"), pod("j-0", "j", requests={"cpu": "1"}), SchedulePolicy="binpack", ScheduleWeight=0
    )
    assert not any("scores no node" in fact for fact in explained(snapshot).dominant.facts)


def test_the_plugin_that_protects_stands_before_the_quota_that_refuses() -> None:
    """preempt comes later and has no candidate: it says nothing about why reclaim frees no quota."""
    parent = [queue("root"), queue("top", parent="root", capability={"cpu": "6"}, deserved={"cpu": "4"})]
    leaves = [
        queue(name, parent="top", reclaimable=True, deserved={"cpu": cpu}) for name, cpu in (("a", "1"), ("b", "3"))
    ]
    used = [pod_group("used", queue="a", phase="Running", min_member=6), *pods("used", 6, "1", None, on="n1")]
    waits = [pod_group("j", queue="b"), *pods("j", 2, "1", None)]
    conf = conf_of("gang", "predicates proportion capacity", actions="allocate, reclaim, preempt")
    conf = conf.replace("  - name: capacity\n", "  - name: capacity\n    enableHierarchy: true\n")
    found = explained(cluster(node("n1", cpu="64"), parent, leaves, used, waits, conf=conf), release="v1.11.0")
    assert found.dominant.headline.reason.startswith("reclaim may evict no pod for j-0; proportion protects all 6")
    assert "queue-not-allocatable" in [one.cause for one in found.contributing]


@pytest.mark.parametrize(("plugin", "told"), [("proportion", True), ("capacity", False)])
def test_what_a_queue_states_as_deserved_is_said_not_to_be_read_by_another_plugin(plugin: str, *, told: bool) -> None:
    share = {"cpu": "9", "memory": "100G"}
    queues = [queue("a", reclaimable=True, deserved=share), queue("b", reclaimable=True, deserved=share)]
    runs = [pod_group("r", queue="a", phase="Running"), *pods("r", 1, "5", on="n1")]
    own = [pod_group("own", queue="b", phase="Running"), *pods("own", 1, "5", on="n1")]
    own += [pod_group("j", queue="b"), *pods("j", 1, "5", priority=10)]
    conf = conf_of("gang", f"predicates {plugin}", actions="allocate, reclaim")
    found = explained(cluster(node("n1"), queues, runs, own, conf=conf))
    texts = [fact for one in (found.dominant, *found.contributing) for fact in one.facts]
    assert told is ("proportion ignores spec.deserved of queue b (9 cpu): it shares by weight." in texts)
    assert told is ("No other queue uses more cpu than it deserves either." in texts)


def test_a_queue_above_its_share_is_not_said_to_keep_it() -> None:
    shares = [queue("a", reclaimable=True, deserved={"cpu": "1"}), queue("b", deserved={"cpu": "5"})]
    runs = [pod_group("r", queue="a", phase="Running"), *pods("r", 1, "5", None, on="n1")]
    own = [pod_group("own", queue="b", phase="Running"), *pods("own", 1, "5", None, on="n1")]
    own += [pod_group("j", queue="b"), *pods("j", 1, "5", None)]
    conf = conf_of("gang", "predicates capacity", actions="allocate, reclaim")
    found = explained(cluster(node("n1"), shares, runs, own, conf=conf))
    assert "preemptive" in [one.cause for one in (found.dominant, *found.contributing)]
    assert "No other queue uses more" not in found.full_text


@pytest.mark.parametrize("place", ["pods", "nowhere"])
def test_a_minimum_that_only_the_pods_state_is_said_to_belong_to_their_owner(place: str) -> None:
    notes = {"scheduling.volcano.sh/group-min-member": "3"} if place == "pods" else {}
    group = pod_group("podgroup-web", phase="Running")
    own = [group, *pods("podgroup-web", 1, "6", on="n1", prefix="web", annotations=notes)]
    late = pods("podgroup-web", 1, "6", prefix="late", annotations=notes)
    found = explained(cluster(node("n1"), own, late, conf=conf_of("gang", "predicates")), "default/podgroup-web")
    where = "on its owner, not on its pods, read" if place == "pods" else "on its owner, read"
    assert any(where in fact for fact in found.dominant.facts)


@pytest.mark.parametrize("reported", [True, False])
def test_the_question_why_a_pod_was_evicted_names_an_earlier_eviction(*, reported: bool) -> None:
    group = pod_group("j", phase="Running")
    events = [evict_event(group, "reclaim")] * reported
    conf = conf_of("priority gang", "predicates proportion", actions="allocate, reclaim")
    recording = replay_cycle(cluster(node("n1"), group, pods("j", 1, "6", on="n1"), events, conf=conf))
    lines = explain_eviction(recording, "default/j-0").lines
    said = [line.startswith("The scheduler has evicted a pod of default/j (event Evict: reclaim);") for line in lines]
    assert reported is any(said) is any(line.startswith("To keep its pods: ") for line in lines)


@pytest.mark.parametrize(("reason", "told"), [("Evicted", True), ("Error", False)])
def test_a_pod_that_its_kubelet_evicted_is_told_apart_from_an_eviction_by_the_scheduler(
    reason: str, *, told: bool
) -> None:
    failed = pods("j", 1, "1", on="n1", phase="Failed", prefix="late")
    failed[0]["status"] |= {"reason": reason, "message": "The node was low on resource: memory."}
    own = [pod_group("j", min_member=2, phase="Running"), *pods("j", 1, "1", on="n1"), *failed]
    found = explained(cluster(node("n1"), own, conf=conf_of("gang", "predicates")))
    assert told is ("The kubelet of n1 evicted it, not the scheduler." in found.full_text)


@pytest.mark.parametrize("stated", ["queue", "Job", "PodGroup", "nothing"])
@pytest.mark.parametrize("action", ["preempt", "reclaim"])
def test_a_protection_that_the_action_does_not_read_is_told_to_the_job_that_loses_a_pod(
    stated: str, action: str
) -> None:
    note = {"annotations": {"volcano.sh/preemptable": "false"}}
    low = made_for("Job", "old", pod_group("low", queue="a", phase="Running", priority_class="low"))
    job: Manifest = {"kind": "Job", "metadata": {"name": "old", "namespace": "default"}, "spec": {"tasks": []}}
    for one in (low, job):
        one["metadata"] |= note if stated == one["kind"] else {}
    high = pod_group("j", queue="a" if action == "preempt" else "b", priority_class="high")
    is_kept = stated == "queue" and action == "preempt"
    queues = [queue("a", reclaimable=not is_kept), queue("b", weight=9)]
    running = [low, job, *pods("low", 2, "5", on="n1")]
    conf = conf_of("priority gang", "predicates", actions=f"allocate, {action}")
    found = explained(
        cluster(node("n1"), queues, CLASSES, running, high, pods("j", 1, "5", priority=10), conf=conf), "default/low"
    )
    assert " loses 1 pod in this cycle" in found.sentence
    facts = " ".join(found.dominant.facts)
    assert is_kept is ("Queue a states reclaimable: false, which preempt does not read." in facts)
    name = {"Job": "Job old", "PodGroup": "PodGroup low"}.get(stated, "")
    unread = f'{name} states volcano.sh/preemptable: "false", and its pods do not: {action} does not read it there.'
    assert bool(name) is (unread in facts)


@pytest.mark.parametrize("stated", ["1", "3", ""])
@pytest.mark.parametrize("cpu", ["4", "40"])
def test_a_minimum_that_only_the_owner_of_the_pod_group_states_is_said_to_have_no_effect(stated: str, cpu: str) -> None:
    annotations = {"scheduling.volcano.sh/group-min-member": stated} if stated else {}
    owner = {"kind": "ReplicaSet", "metadata": {"name": "web-1", "namespace": "default", "annotations": annotations}}
    group = pod_group("podgroup-1", min_member=1)
    group["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "web-1", "uid": "w", "controller": True}]
    conf = conf_of("gang", "predicates")
    found = explained(cluster(node("n1"), owner, group, pods("podgroup-1", 3, cpu), conf=conf), "default/podgroup-1")
    states = "ReplicaSet web-1 states scheduling.volcano.sh/group-min-member 3, but its PodGroup has minMember 1; "
    assert (stated == "3") is any(fact.startswith(states) for fact in found.dominant.facts)


@pytest.mark.parametrize(
    ("mode", "count", "release", "what"),
    [
        ("soft", 1, "v1.12.1", "node a score for j-0"),
        ("soft", 2, "v1.12.1", ""),
        ("hard", 2, "v1.12.1", "HyperNode a score for default/j"),
        ("hard", 2, "v1.13.0", ""),
        ("soft", 1, "master", ""),
    ],
)
def test_a_release_that_packs_no_hypernodes_is_said_to_score_none_for_a_new_job(
    mode: str, count: int, release: str, what: str
) -> None:
    hosts = [node(f"n{at}", cpu="4") for at in range(4)]
    domains = [hyper_node("a", 1, nodes=("n0", "n1")), hyper_node("b", 1, nodes=("n2", "n3"))]
    job = pod_group("j", min_member=count, networkTopology={"mode": mode, "highestTierAllowed": 1})
    conf = conf_of("gang", "predicates nodeorder network-topology-aware")
    found = explained(cluster(hosts, domains, job, pods("j", count), conf=conf), release=release)
    said = [fact for fact in found.dominant.facts if fact.startswith("Plugin network-topology-aware gave no")]
    assert [what] * bool(what) == [fact.partition(":")[0].partition(" gave no ")[2] for fact in said]


@pytest.mark.parametrize("idle", [0, 1, 2])
def test_pods_without_requests_count_toward_a_gang_and_need_no_room(idle: int) -> None:
    members = [*pods("j", 2, "6", role="w"), *(pod(f"idle-{at}", "j", role="idle") for at in range(idle))]
    conf = conf_of("gang", "predicates", actions="allocate, backfill")
    found = explained(cluster(node("n1"), pod_group("j", min_member=2 + idle), members, conf=conf))
    counts = {0: "", 1: " (1 pod without requests counts too)", 2: " (2 pods without requests count too)"}[idle]
    assert f"allocate found room for 1 of the 2 pods it needs at once{counts}" == found.dominant.reason
    assert "The 2 pods ask 12 cpu in total; 10 is free on all nodes together (2 short)." in found.dominant.facts


@pytest.mark.parametrize("whole", [True, False])
def test_an_eviction_that_leaves_the_gang_incomplete_is_not_called_a_benefit(whole: bool) -> None:
    """reclaim up to v1.15 evicts for one pod after another, as far as the queue may."""
    victims = [
        each
        for at in range(4)
        for each in (pod_group(f"v{at}", queue="rich", phase="Running"), *pods(f"v{at}", 1, "2", on=f"n{at // 2}"))
    ]
    job = [pod_group("j", queue="poor", min_member=2 if whole else 3), *pods("j", 3, "2")]
    conf = conf_of("gang", "predicates proportion", actions="allocate, reclaim")
    queues = [queue("rich", reclaimable=True), queue("poor")]
    snapshot = cluster([node(f"n{at}", cpu="4") for at in range(2)], queues, victims, job, conf=conf)
    recording = replay_cycle(snapshot_at_release(snapshot, "v1.10.0"))
    victim = cycle_effects(recording).evicted[0].task
    said = " ".join(explain_eviction(recording, victim).lines)
    assert whole is ("default/j benefited: " in said)
    assert whole is not ("2 of its 3 pods (minMember) ready or reserved; reclaim does not undo the eviction" in said)
