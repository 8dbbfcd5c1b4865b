"""Answers about labels that no node has, nodes that a queue excludes, and the holders of a resource."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.builders import WINDOWS, cluster, conf_of, hyper_node, node, pod_group, pods, priority_class, queue
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.snapshot import Manifest

GPU = "nvidia.com/gpu"
CONF = conf_of(
    "priority gang conformance",
    "overcommit drf predicates proportion nodeorder",
    actions="enqueue, allocate, preempt, backfill",
)
HIERARCHY = conf_of(
    "priority gang",
    "predicates capacity",
    actions="enqueue, allocate",
    arguments={"capacity": {"enableHierarchy": "true"}},
)


def asked(*objects: Manifest | list[Manifest], conf: str = CONF, **of_pods: Any) -> Explanation:
    """The answer about a job with one pod of 4 cores in a cluster of these objects."""
    wanted = {"cpu": "4", **of_pods}
    snapshot = cluster(*objects, pod_group("train"), pods("train", 1, **wanted), conf=conf)
    return explain_by_name(replay_cycle(snapshot), "default/train")


def gpus(count: int) -> dict[str, str]:
    return {"cpu": "1", GPU: str(count)}


def test_a_label_that_is_spelt_otherwise_is_found() -> None:
    nodes = [node("n1", labels={"gpu-type": "A100"}), node("n2", labels={"gpu-type": "V100"})]
    found = asked(nodes, nodeSelector={"gpu-type": "a100"})
    assert "No node in the snapshot has gpu-type=a100: gpu-type is A100 on n1, V100 on n2" in found.full_text
    assert found.advice_texts[0].startswith("Did you mean gpu-type=A100?")


def test_a_label_that_no_node_has_is_named() -> None:
    found = asked(node("n1", labels={"disktype": "ssd"}), nodeSelector={"disk-type": "ssd"})
    assert "No node in the snapshot has disk-type=ssd, and none has label disk-type at all" in found.full_text
    assert "Use label disktype instead of disk-type in the pods." in found.advice_texts


def test_a_required_node_affinity_is_told_like_a_selector() -> None:
    terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b", "c"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    found = asked(node("n1", labels={"zone": "a"}), affinity={"nodeAffinity": required})
    assert "No node in the snapshot has zone in (b, c): zone is a on n1" in found.full_text


def spread(key: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    constraint = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}
    return {"topologySpreadConstraints": [constraint]}


def test_a_spread_over_a_label_that_no_node_has_names_the_label_and_the_closest_one() -> None:
    found = asked(node("n1", labels={"topology.kubernetes.io/zone": "a"}), **spread("topology.kubernetes.io/zones"))
    assert "No node in the snapshot has the label topology.kubernetes.io/zones, which" in found.full_text
    assert "the closest label of the nodes is topology.kubernetes.io/zone" in found.full_text
    assert (
        "Use label topology.kubernetes.io/zone instead of topology.kubernetes.io/zones in the pods."
        in found.advice_texts
    )


def test_a_spread_names_the_only_domain_that_it_allows_and_the_pods_of_the_others() -> None:
    nodes = [node("n1", labels={"zone": "a"}), node("n2", labels={"zone": "b"}, cpu="1"), node("n3")]
    full = [pod_group("full", phase="Running"), *pods("full", 1, on="n2")]
    web = [*pods("web", 1, on="n1", **spread("zone")), *pods("web", 1, cpu="4", prefix="next", **spread("zone"))]
    for each in web:
        each["metadata"]["labels"] = {"app": "web"}
    snapshot = cluster(nodes, full, pod_group("web", phase="Running"), web, conf=CONF)
    found = explain_by_name(replay_cycle(snapshot), "default/web")
    assert "topologySpreadConstraints (maxSkew 1) allows only zone b; matching pods: a 1, b 0." in found.full_text
    assert "n3 lacks the label zone, which topologySpreadConstraints requires (DoNotSchedule)." in found.full_text


def test_a_spread_over_more_domains_than_there_are_names_min_domains() -> None:
    wish = spread("zone")
    wish["topologySpreadConstraints"][0]["minDomains"] = 3
    nodes = [node("n1", labels={"zone": "a"}), node("n2", labels={"zone": "b"})]
    web = [*pods("web", 1, on="n1"), *pods("web", 1, on="n2", prefix="two"), *pods("web", 1, prefix="next", **wish)]
    for each in web:
        each["metadata"]["labels"] = {"app": "web"}
    found = explain_by_name(
        replay_cycle(cluster(nodes, pod_group("web", phase="Running"), web, conf=CONF)), "default/web"
    )
    allows = "topologySpreadConstraints (maxSkew 1) allows no zone; matching pods: a 1, b 1"
    assert f"{allows}; minDomains 3, but nodes have 2." in found.full_text


def test_neighbours_that_do_not_run_are_named_by_their_labels() -> None:
    term = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "zone"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = asked(node("n1", labels={"zone": "a"}), affinity=affinity)
    assert (
        "Its required podAffinity needs pods with app=db in the same zone; no such pod runs on any node"
        in found.full_text
    )
    assert "change the pod's nodeSelector" not in " ".join(found.advice_texts)


def test_a_resource_that_is_spelt_otherwise_is_found() -> None:
    found = asked(node("n1", gpu="4"), requests={"cpu": "1", "nvidia.com/gpus": "1"})
    assert "Did you mean nvidia.com/gpu, which n1 provides?" in found.dominant.facts
    assert [] == [line for line in found.advice_texts if line.startswith("ask for less")]


def test_explain_states_that_free_amounts_are_spread_over_nodes() -> None:
    nodes = [node(f"n{number}", gpu="4") for number in range(4)]
    old = [one for at in range(4) for one in (pod_group(f"o{at}", phase="Running"), *_on(f"o{at}", f"n{at}", gpus(2)))]
    found = asked(nodes, old, conf=conf_of("gang", "predicates"), requests=gpus(4))
    assert "8 nvidia.com/gpu is free in total, but spread over 4 nodes" in found.full_text


def _on(group: str, where: str, requests: dict[str, str], **more: Any) -> list[Manifest]:
    return pods(group, 1, requests=requests, on=where, **more)


def test_unused_guarantee_is_named_with_its_queue() -> None:
    found = asked(node("n1", cpu="16"), queue("idle", guarantee={"cpu": "14"}))
    assert "Of the cluster's 16 cpu, queue idle is guaranteed 14 and uses 0." in found.full_text
    assert ("Queue idle: lower spec.guarantee.",) == found.advice_texts


def test_a_gang_that_asks_more_than_a_capability_is_told_what_it_asks_in_all() -> None:
    objects = [node("n1", cpu="16"), queue("small", capability={"cpu": "6"})]
    group = [pod_group("train", queue="small", min_member=2), *pods("train", 2, cpu="4")]
    found = explain_by_name(replay_cycle(cluster(*objects, group, conf=CONF)), "default/train")
    assert "queue-not-allocatable" == found.cause_code
    assert "The 2 pods still missing from the gang ask 8 cpu in total; the queue's hard limit is 6." in found.full_text
    assert "make room" not in " ".join(found.advice_texts)


def test_a_tree_of_queues_that_is_spoilt_is_the_answer() -> None:
    tree = [queue("org", parent="nowhere"), queue("team", parent="org")]
    snapshot = cluster(node("n1"), *tree, pod_group("train", queue="team"), pods("train", 1), conf=HIERARCHY)
    found = explain_by_name(replay_cycle(snapshot), "default/train")
    assert "queue-tree-broken" == found.cause_code


def test_a_full_ancestor_says_which_queue_below_it_holds_it() -> None:
    tree = [queue("root"), queue("org", parent="root", capability={"cpu": "8"})]
    leaves = [queue("a", parent="org"), queue("b", parent="org")]
    old = [pod_group("old", queue="b", phase="Running"), *pods("old", 2, cpu="4", on="n1")]
    wanted = [pod_group("train", queue="a"), *pods("train", 1, cpu="4")]
    found = explain_by_name(
        replay_cycle(cluster(node("n1", cpu="32"), tree, leaves, old, wanted, conf=HIERARCHY)), "default/train"
    )
    assert "parent queue org uses 8 of its capability 8" in found.full_text
    assert "Queue b uses 8 cpu and deserves 0." in found.full_text


def test_the_same_priority_is_what_keeps_victims_and_a_switch_of_drf_is_not_advised() -> None:
    high = priority_class("high", 1000)
    old = [
        pod_group("old", phase="Running", priority_class="high"),
        *pods("old", 1, cpu="4", on="n1", priority=1000),
    ]
    wanted = [pod_group("train", priority_class="high"), *pods("train", 1, cpu="4", priority=1000)]
    found = explain_by_name(replay_cycle(cluster(node("n1", cpu="4"), high, old, wanted, conf=CONF)), "default/train")
    assert "default/train has priority 1000, and the lowest candidate's job, default/old, has 1000" in found.full_text
    assert "Give default/train a PriorityClass above 1000." == found.advice_texts[0]
    assert "enablePreemptable of drf" not in " ".join(found.advice_texts)


def test_pod_of_another_queue_gives_missing_reclaim_as_cause() -> None:
    old = [pod_group("old", queue="a", phase="Running"), *pods("old", 1, cpu="4", on="n1", priority=1)]
    wanted = [pod_group("train", queue="b"), *pods("train", 1, cpu="4", priority=9)]
    snapshot = cluster(node("n1", cpu="4"), queue("a"), queue("b"), old, wanted, conf=CONF)
    advice = " ".join(explain_by_name(replay_cycle(snapshot), "default/train").advice_texts)
    assert "Add reclaim to actions (enqueue, allocate, preempt, backfill): it evicts in other queues" in advice


def test_a_gang_for_which_no_hypernode_is_large_enough_is_told_so_without_min_resources() -> None:
    nodes = [node(f"n{number}", cpu="8") for number in range(4)]
    tree = [hyper_node("l1", 1, nodes=["n0", "n1"]), hyper_node("l2", 1, nodes=["n2", "n3"])]
    top = hyper_node("top", 2, children=["l1", "l2"])
    topology = {"mode": "hard", "highestTierAllowed": 1}
    wanted = [pod_group("train", min_member=4, networkTopology=topology), *pods("train", 4, cpu="8")]
    conf = conf_of("priority gang network-topology-aware", "predicates proportion", actions="enqueue, allocate")
    found = explain_by_name(replay_cycle(cluster(nodes, tree, top, wanted, conf=conf)), "default/train")
    assert "no-hypernode" == found.cause_code
    assert "no HyperNode up to tier 1 has room for its 4 pods (minMember) (32 cpu" in found.full_text


@pytest.mark.parametrize("release", ["v1.12.0", "v1.13.0", "v1.14.1", "master"])
@pytest.mark.parametrize("tiers", [(2,), (2, 3)])
def test_a_hard_topology_without_a_hyper_node_of_its_tiers_is_named(release: str, tiers: tuple[int, ...]) -> None:
    """Older releases try no pod then, as newer ones; each says which nodes are in no such HyperNode."""
    tree = [hyper_node(f"s{tier}", tier, nodes=["n0", "n1"]) for tier in tiers]
    group = pod_group("train", networkTopology={"mode": "hard", "highestTierAllowed": 1})
    conf = conf_of("priority gang network-topology-aware", "predicates proportion", actions="enqueue, allocate")
    snapshot = cluster([node("n0"), node("n1")], tree, group, pods("train", 1), conf=conf)
    found = explain_by_name(replay_cycle(snapshot.with_release(resolve_release(release).release)), "default/train")
    assert "no-hypernode" == found.cause_code
    assert "n0, n1 have room for it, but are in no HyperNode up to tier 1." in found.dominant.facts
    assert "Put n0, n1 into a HyperNode of tier 1, if they share its network." in found.advice_texts


@pytest.mark.parametrize("now", ["2026-11-01T00:00:00Z", "2026-11-01T19:00:00Z"])
@pytest.mark.parametrize("allowed", [False, True])
def test_a_revocable_node_that_never_takes_the_pod_is_named_whatever_its_window(now: str, allowed: bool) -> None:
    revocable = node("n1", labels={"volcano.sh/revocable-zone": "rz1"})
    given: dict[str, Any] = {"annotations": {"volcano.sh/revocable-zone": "*"}} if allowed else {}
    snapshot = cluster(revocable, pod_group("train"), pods("train", 1, **given), conf=WINDOWS)
    snapshot.now = datetime.fromisoformat(now)
    found = explain_by_name(replay_cycle(snapshot), "default/train")
    words = "n1 of a revocable zone takes only pods with annotation volcano.sh/revocable-zone, which train-0 lacks."
    assert (not allowed) is (words in found.dominant.facts)
    assert (not allowed) is any(text.startswith("Set annotation volcano.sh/r") for text in found.advice_texts)
    assert ("T00" in now) is any(text.startswith("Wait until 18:00") for text in found.advice_texts)


def test_closed_tdm_window_is_named_with_its_hours() -> None:
    revocable = node("n1", labels={"volcano.sh/revocable-zone": "rz1"})
    found = asked(revocable, conf=WINDOWS, annotations={"volcano.sh/revocable-zone": "*"})
    assert "ever" not in found.full_text.split()
    assert "n1 is in revocable zone rz1, open only 18:00-20:00" in found.full_text
    assert found.advice_texts[0].startswith("Wait until 18:00, when revocable zone rz1 opens")


def test_a_class_that_does_not_exist_is_named_with_those_that_do() -> None:
    claim: Manifest = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default", "uid": "claim"},
        "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"]},
        "status": {"phase": "Pending"},
    }
    slow: Manifest = {"kind": "StorageClass", "metadata": {"name": "slow", "uid": "slow"}, "provisioner": "x"}
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    found = asked(node("n1"), claim, slow, volumes=volumes)
    assert "StorageClass fast is not in this snapshot (it has slow)" in found.full_text
    assert "Create StorageClass fast, or name an existing one in the claim." in found.advice_texts


@pytest.mark.parametrize(
    ("window", "words"),
    [
        ("10:00", "the window '10:00' of which cannot be read in plugin tdm"),
        ("ten-twelve", "the window 'ten-twelve' of which cannot be read in plugin tdm"),
        ("25:00-26:00", "the window '25:00-26:00' of which cannot be read in plugin tdm"),
        (None, "which has no tdm.revocable-zone.rz1 in plugin tdm"),
    ],
)
def test_a_revocable_zone_without_a_window_that_can_be_read_is_named(window: str | None, words: str) -> None:
    conf = WINDOWS.replace("18:00-20:00", window) if window else WINDOWS.replace("zone.rz1", "zone.rz2")
    revocable = node("n1", labels={"volcano.sh/revocable-zone": "rz1"})
    found = asked(revocable, conf=conf, annotations={"volcano.sh/revocable-zone": "*"})
    assert f"n1 is in revocable zone rz1, {words}" in found.full_text
    assert "Set tdm.revocable-zone.rz1 of plugin tdm to a window such as 00:00-23:59." in found.advice_texts


def test_a_pod_without_a_zone_waits_for_a_closed_window_too() -> None:
    revocable = node("n1", labels={"volcano.sh/revocable-zone": "rz1"})
    found = asked(revocable, conf=WINDOWS)
    allow = next(text for text in found.advice_texts if "volcano.sh/revocable-zone" in text)
    assert allow.endswith("and wait until 18:00, when a revocable zone opens.")


def test_a_preemptable_job_may_not_evict_where_tdm_decides_who_starves() -> None:
    conf = WINDOWS.replace("allocate", "allocate, preempt")
    preemptable = {"volcano.sh/preemptable": "true"}
    busy = [pod_group("busy"), *pods("busy", 1, cpu="8", on="n1")]
    group = pod_group("train")
    group["metadata"]["annotations"] = preemptable
    snapshot = cluster(node("n1", cpu="8"), busy, group, pods("train", 1, cpu="4", annotations=preemptable), conf=conf)
    found = explain_by_name(replay_cycle(snapshot), "default/train")
    assert "not-starving" == found.cause_code
    assert 'volcano.sh/preemptable is "true" and tdm lets no such job evict' in found.full_text
    assert "it has its minMember" not in found.full_text


@pytest.mark.parametrize(
    ("actions", "priority", "words"),
    [
        ("allocate", None, "taking those back needs action preempt and a PriorityClass above 0 (it has 0)."),
        ("allocate", 5, ""),
        ("allocate, preempt", None, ""),
    ],
)
def test_pods_above_the_minimum_of_another_gang_are_named(actions: str, priority: int | None, words: str) -> None:
    conf = conf_of("priority gang", "predicates nodeorder", actions=actions)
    elastic = [pod_group("elastic", min_member=2), *pods("elastic", 4, cpu="2", on="n1")]
    classes = [priority_class("high", priority)] if priority else []
    wanted = [pod_group("train", priority_class="high" if priority else None), *pods("train", 1, cpu="4")]
    snapshot = cluster(node("n1", cpu="8"), classes, elastic, wanted, conf=conf)
    found = explain_by_name(replay_cycle(snapshot), "default/train")
    said = "default/elastic runs 2 pods more than its minMember 2; "
    assert (said in found.full_text) is bool(words)
    assert words in found.full_text


@pytest.mark.parametrize(
    ("resources", "switch", "used", "said"),
    [
        ("", "true", 2, True),
        (GPU, "true", 2, False),
        ("", "false", 2, False),
        ("", "true", 0, False),
        ("", "true", 4, False),
    ],
)
def test_a_device_that_binpack_does_not_weigh_is_named_where_it_would_decide(
    resources: str, switch: str, used: int, *, said: bool
) -> None:
    options = {"arguments": f"{{binpack.resources: '{resources}'}}", "enableNodeOrder": switch}
    conf = conf_of("gang", "predicates binpack", actions="allocate", arguments={"binpack": options})
    busy = [pod_group("busy"), *pods("busy", 1, requests=gpus(used) if used else {"cpu": "1"}, on="n1")]
    full = [pod_group("full"), *pods("full", 1, cpu="8", on="n2")]
    card = {GPU: "4"}
    found = asked(node("n1", **card), node("n2", **card), busy, full, conf=conf, requests=gpus(1))
    told = f"binpack gives {GPU} no weight (binpack.resources does not list it): n1, with more of it in use, gets"
    assert (told in found.full_text) is said


def test_a_gang_that_lost_a_pod_is_not_said_to_be_admitted_before_itself() -> None:
    conf = conf_of("gang", "overcommit predicates", actions="enqueue, allocate")
    group = pod_group("train", min_member=2, phase="Pending", min_resources={"cpu": "4"})
    busy = [pod_group("busy"), *pods("busy", 1, cpu="3", on="n1")]
    snapshot = cluster(node("n1", cpu="4"), busy, group, pods("train", 1, cpu="1", on="n1"), conf=conf)
    found = explain_by_name(replay_cycle(snapshot), "default/train")
    assert "enqueue-overcommit" == found.cause_code
    assert "Admitted before it" not in found.full_text


@pytest.mark.parametrize(("release", "gang"), [("v1.10.0", 1), ("v1.10.0", 2), ("v1.14.0", 1), ("v1.14.0", 2)])
def test_a_volume_of_another_node_is_named_in_the_answer_of_each_release(release: str, gang: int) -> None:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["gone"]}
    volume: Manifest = {
        "kind": "PersistentVolume",
        "metadata": {"name": "pv1", "uid": "pv1"},
        "spec": {
            "claimRef": {"kind": "PersistentVolumeClaim", "name": "data", "namespace": "default", "uid": "claim"},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}},
        },
        "status": {"phase": "Bound"},
    }
    claim: Manifest = {
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": "data",
            "namespace": "default",
            "uid": "claim",
            "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
        },
        "spec": {"volumeName": "pv1", "accessModes": ["ReadWriteOnce"]},
        "status": {"phase": "Bound"},
    }
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    mounting = pods("train", 1, volumes=volumes)
    others = pods("train", gang - 1, prefix="other")
    conf = conf_of("priority gang", "predicates nodeorder", actions="allocate")
    group = pod_group("train", min_member=gang)
    snapshot = cluster(node("n1"), volume, claim, group, mounting, others, conf=conf)
    found = explain_by_name(replay_cycle(snapshot.with_release(resolve_release(release).release)), "default/train")
    assert "train-0" in found.full_text
    assert "data is bound to pv1 (kubernetes.io/hostname gone)" in found.full_text


@pytest.mark.parametrize(
    ("skew", "when", "said"), [(2, "DoNotSchedule", True), (1, "DoNotSchedule", False), (2, "", False)]
)
def test_pods_that_share_a_node_within_the_max_skew_are_explained(skew: int, when: str, *, said: bool) -> None:
    rule = {"maxSkew": skew, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": when or "ScheduleAnyway"}
    rule["labelSelector"] = {"matchLabels": {"app": "web"}}
    members = pods("web", 4, cpu="1", topologySpreadConstraints=[rule])
    for member in members:
        member["metadata"]["labels"] = {"app": "web"}
    conf = conf_of("gang", "predicates binpack", actions="allocate")
    nodes = [node(f"n{number}") for number in range(4)]
    found = explain_by_name(replay_cycle(cluster(nodes, pod_group("web"), members, conf=conf)), "default/web")
    text = "maxSkew 2 allows a difference of 2 pods: 2 of its pods share a kubernetes.io/hostname, and 2 more have none"
    assert said is (text in found.full_text)
