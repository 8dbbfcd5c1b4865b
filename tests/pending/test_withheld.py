"""Answers about room that is withheld: by a shard, zone, gate or used quota; and budgets that evictions ignore."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import amounts, cluster, conf_of, metadata, pod_group, pods, queue
from tests.debugger.test_remedies import proven
from tests.pending.situations import CLASSES, PREEMPT, WANTED, conf, nodes, of, running, wanted
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.model.pod import QUEUE_GATE, VOLCANO_GATE
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot

GPU = "nvidia.com/gpu"
CAPACITY = conf_of("gang", "predicates capacity nodeorder", actions="enqueue, allocate")


def answer(snapshot: Snapshot, job: str = WANTED) -> Explanation:
    return explain_by_name(replay_cycle(snapshot), job)


def budget(allowed: int) -> Manifest:
    spec = {"selector": {"matchLabels": {"app": "a"}}}
    status = {"disruptionsAllowed": allowed}
    return {"kind": "PodDisruptionBudget", "metadata": metadata("keep", "default"), "spec": spec, "status": status}


@pytest.mark.parametrize(("allowed", "first"), [(0, "priority conformance"), (1, "priority"), (0, "priority pdb")])
def test_an_eviction_says_which_budget_it_exceeds_because_no_plugin_reads_budgets(allowed: int, first: str) -> None:
    group, *members = running("a", "n1")
    for member in members:
        member["metadata"]["labels"] = {"app": "a"}
    objects = of(nodes("n1"), [group, *members], wanted(), [budget(allowed)])
    found = answer(cluster(objects, conf=conf(PREEMPT, first=first)), "default/a")
    unheeded = "evictions keep to it only with plugin pdb, which is not configured."
    told = f"PodDisruptionBudget keep allows 0 disruptions; {unheeded}"
    exceeded = not allowed and "pdb" not in first
    assert exceeded is (told in found.dominant.facts)
    assert exceeded is ("Add plugin pdb to the tier that decides (tier 1)." in found.advice_texts)
    edit = "conf:tiers[0].plugins[+]={name: pdb}"
    assert exceeded is any(edit in line.edits for line in found.dominant.advice)


def test_evictions_for_several_pods_exceed_a_budget_since_each_call_starts_anew() -> None:
    group, *members = running("a", "n1", 2)
    for member in members:
        member["metadata"]["labels"] = {"app": "a"}
    objects = of(nodes("n1"), [group, *members], wanted(2), [budget(1)])
    for first, said in (("priority pdb", True), ("priority", False)):
        found = answer(cluster(objects, conf=conf(PREEMPT, first=first)), "default/a")
        anew = "allows 1 disruption; plugin pdb counts from the whole budget for each pod that asks for room."
        assert said is any(fact.endswith(anew) for fact in found.dominant.facts)
        assert said is not ("Add plugin pdb to the tier that decides (tier 1)." in found.advice_texts)


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_a_plugin_that_would_protect_but_was_not_asked_is_advised_into_the_deciding_tier(action: str) -> None:
    """Also for hooks of gang actions, which no switch turns off."""
    queues = [queue("rich", deserved=amounts("8")), queue("poor", deserved=amounts("8"))]
    objects = [*CLASSES, *queues, *nodes("n1"), *running("a", "n1", queue="rich"), *wanted(queue="poor")]
    tiers = conf_of("priority conformance", "gang predicates capacity nodeorder", actions=f"allocate, {action}")
    found = answer(cluster(objects, conf=tiers), "default/a")
    holds = "queue rich holds no more than it deserves: 8 of 8 cpu"
    assert (
        f"capacity (tier 2) would protect it ({holds}), but was not consulted: tier 1 decided." in found.dominant.facts
    )
    assert "Move capacity to the tier that decides (tier 1)." in found.advice_texts


@pytest.mark.parametrize(("of_pods", "advised"), [(None, True), (1000, False)])
def test_pods_without_the_priority_of_their_pod_group_are_advised_to_state_it(
    of_pods: int | None, advised: bool
) -> None:
    preemptor = wanted() if of_pods is None else wanted(priority=of_pods)
    objects = of(nodes("n1"), running("a", "n1"), preemptor)
    found = answer(cluster(objects, conf=conf(PREEMPT)))
    assert found.scheduled
    lines = [text for text in found.advice_texts if text.startswith("Set priorityClassName high in the pod templates")]
    assert advised == bool(lines)


@pytest.mark.parametrize("owner", ["agent", ""])
def test_nodes_outside_the_shard_are_named_with_their_shard_and_soft_sharding_is_tried(owner: str) -> None:
    shards = {"volcano": ["n1"], **({owner: ["n2", "n3"]} if owner else {})}
    made: list[Manifest] = [
        {"kind": "NodeShard", "metadata": metadata(name), "spec": {"nodesDesired": members}}
        for name, members in shards.items()
    ]
    snapshot = cluster(*CLASSES, made, nodes("n1", "n2", "n3"), running("a", "n1"), wanted(), conf=conf("allocate"))
    snapshot.flags = SchedulerFlags(sharding_mode="hard")
    place = f"shard {owner}" if owner else "no shard"
    fact = f"n2, n3 are in {place}; in hard mode this scheduler uses only shard volcano."
    assert fact in answer(snapshot).dominant.facts
    soft = "Set --scheduler-sharding-mode=soft: with a full shard it then uses nodes outside it"
    assert soft in proven(snapshot, WANTED)


def gated(annotation: str, *, limit: str, gate_on: bool) -> Snapshot:
    """A pod behind Volcano's own gate, and a running pod of 4 cpu in its queue."""
    held = pods("wanted", 1, cpu="4", schedulingGates=[{"name": VOLCANO_GATE}], annotations={VOLCANO_GATE: annotation})
    other = [pod_group("a", phase="Running"), *pods("a", 1, cpu="4", on="n1")]
    limited = [queue("root"), queue(capability={"cpu": limit})]
    snapshot = cluster(limited, nodes("n1", "n2"), other, pod_group("wanted"), held, conf=CAPACITY)
    snapshot.flags = SchedulerFlags(feature_gates={QUEUE_GATE: gate_on})
    return snapshot


def test_a_gate_that_the_scheduler_keeps_shut_for_a_full_queue_names_the_queue() -> None:
    snapshot = gated("true", limit="4", gate_on=True)
    assert "queue-not-allocatable" == answer(snapshot).cause_code
    raised = "Queue default: capability.cpu 4 -> 8; Next cycle: the scheduler itself removes its gate from 1 pod"
    assert raised in proven(snapshot, WANTED)


@pytest.mark.parametrize(
    ("annotation", "gate_on", "words"),
    [
        ("true", True, "Wait for the next cycle: the queue has room, so the scheduler removes the gate."),
        ("true", False, f"Start the scheduler with --feature-gates={QUEUE_GATE}=true, to remove the gate."),
        ("", True, f'Annotate the pods with {VOLCANO_GATE}: "true"; else no scheduler removes the gate.'),
    ],
)
def test_a_gate_of_volcano_says_what_has_to_happen_for_the_scheduler_to_remove_it(
    annotation: str, gate_on: bool, words: str
) -> None:
    found = answer(gated(annotation, limit="12", gate_on=gate_on))
    assert ("scheduling-gate", words) == (found.cause_code, found.advice_texts[0])


def test_a_pod_of_revocable_zones_evicts_once_its_annotation_is_removed() -> None:
    zoned = {"volcano.sh/revocable-zone": "*", "volcano.sh/preemptable": "false"}
    lower = running("a", "n1", annotations={"volcano.sh/preemptable": "true"})
    text = conf(PREEMPT, first="tdm priority conformance")
    snapshot = cluster(*CLASSES, nodes("n1"), lower, wanted(annotations=zoned), conf=text)
    found = answer(snapshot)
    assert "tdm" == found.cause_code
    assert "the preemptor has volcano.sh/revocable-zone" in found.full_text
    assert "1 pod: remove volcano.sh/revocable-zone (tdm then lets it evict)" in proven(snapshot, WANTED)


@pytest.mark.parametrize("size", ["2", "1"])
def test_a_pod_larger_than_any_node_that_uses_up_a_quota_is_named_and_to_be_deleted(size: str) -> None:
    hosts = nodes("n1", "n2")
    for host in hosts:
        host["status"]["allocatable"][GPU] = "1"
    big = [pod_group("big"), *pods("big", 1, requests={**amounts("1", "1G"), GPU: size})]
    used: dict[str, Any] = {"hard": {f"requests.{GPU}": size}, "used": {f"requests.{GPU}": size}}
    quota: Manifest = {"kind": "ResourceQuota", "metadata": metadata("q", "default"), "spec": used, "status": used}
    small = pod_group("wanted", min_resources={"cpu": "1", GPU: "1"})
    found = answer(cluster(hosts, big, quota, small, conf=conf("allocate")))
    waits = "Pending, larger than any node" if size == "2" else "Pending"
    assert f"used by big-0 {size} ({waits})" in found.full_text
    words = "Delete what can never run but counts in ResourceQuota q, or make it smaller: big-0."
    assert (size == "2") is (words in found.advice_texts)


@pytest.mark.parametrize("limit", ["8", "80"])
def test_gangs_vote_against_a_higher_priority_is_switched_off_before_pods_are_deleted(limit: str) -> None:
    held = [manifest for at in "ab" for manifest in running(at, "n1", count=1)]
    text = conf(PREEMPT, second="drf predicates capacity nodeorder")
    limited = [queue("root"), queue(capability={"cpu": limit})]
    plans = list(proven(cluster(*CLASSES, limited, nodes("n1"), held, wanted(), conf=text), WANTED))
    first_deletion = next(at for at, words in enumerate(plans) if words.startswith("End"))
    assert "gang: enablePreemptable -> false (no veto in preempt)" in plans[:first_deletion]
