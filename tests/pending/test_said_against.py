"""What the cluster says against an answer: refusals, states, policies, and settings that nothing reads or checks."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, hyper_node, node, pod, pod_group, pods, priority_class, queue
from tests.effort import at_most
from tests.pending.test_component_reports import report, volcano_job
from tests.pending.test_scheduler_down import seen_node
from tests.pending.test_workloads import explained, owned
from tests.plugins.test_deviceshare import cards, limited, vgpu
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Manifest, Snapshot

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PLAIN = conf_of("gang", "predicates nodeorder", actions="allocate")


def refused(since: str, message: str = "1 numa policy failed.") -> Manifest:
    made = pods("j", 1)[0]
    said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    made["status"]["conditions"] = [{**said, "lastTransitionTime": since}]
    return made


@pytest.mark.parametrize(
    ("since", "age"), [("2026-10-31T23:45:00Z", "10m"), ("2026-10-31T23:51:00Z", ""), ("2026-10-31T20:55:00Z", "3h")]
)
def test_a_placement_that_the_running_scheduler_has_long_refused_says_so(since: str, age: str) -> None:
    found = explained(cluster(seen_node(), pod_group("j"), refused(since), conf=PLAIN))
    assert found.scheduled
    assert bool(age) is found.is_refused
    assert bool(age) is (f"but has been refused for {age}:" in found.sentence)
    said = 'The running scheduler\'s last words about j-0: "1 numa policy failed".'
    assert bool(age) is (said in found.dominant.facts)
    assert bool(age) is any("restart the scheduler" in words for words in found.advice_texts)


def test_a_claim_that_the_running_scheduler_calls_reserved_stays_so_until_it_restarts() -> None:
    """A capture does not show what the scheduler has reserved in memory; its message does."""
    message = "0/1 nodes are unavailable: 1 resource claim default/c is in the process of being allocated."
    found = explained(cluster(seen_node(), pod_group("j"), refused("2026-10-31T23:45:00Z", message), conf=PLAIN))
    reserved = "A claim that was reserved for a gang that was not bound stays reserved"
    assert any(fact.startswith(reserved) for fact in found.dominant.facts)
    assert any("rollout restart" in words for words in found.advice_texts)


@pytest.mark.parametrize("since", ["yesterday", "2026-10-31", "", 5])
def test_a_refusal_without_a_time_changes_no_answer(since: Any) -> None:
    found = explained(cluster(seen_node(), pod_group("j"), refused(since), conf=PLAIN))
    assert found.scheduled
    assert "refused for" not in found.sentence


def test_a_refusal_is_not_told_of_a_pod_that_the_cycle_refuses_too_or_without_a_message() -> None:
    fits = explained(cluster(seen_node(), pod_group("j"), refused("2026-10-31T20:00:00Z", ""), conf=PLAIN))
    assert "refused for" not in fits.sentence
    large = refused("2026-10-31T20:00:00Z")
    large["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "99"}
    found = explained(cluster(seen_node(), pod_group("j"), large, conf=PLAIN))
    assert not found.scheduled
    assert not any("last words" in fact for fact in found.dominant.facts)


@pytest.mark.parametrize(
    ("key", "plugin", "on_pod"),
    [
        ("volcano.sh/task-topology-anti-affinity", "task-topology", False),
        ("sla-waiting-time", "sla", False),
        ("volcano.sh/numa-topology-policy", "numa-aware", True),
        ("volcano.sh/cooldown-time", "cdp", True),
        ("volcano.sh/jdb-min-available", "tdm", False),
    ],
)
def test_an_annotation_that_no_plugin_reads_is_named(key: str, plugin: str, on_pod: bool) -> None:
    group, made = pod_group("j"), pods("j", 1)[0]
    (made if on_pod else group)["metadata"].setdefault("annotations", {})[key] = "1"
    told = f"Nothing reads {key}: plugin {plugin} is not configured"
    for reads in (False, True):
        conf = conf_of("gang", f"predicates{f' {plugin}' if reads else ''}", actions="allocate")
        facts = explained(cluster(node("n1"), group, made, conf=conf)).dominant.facts
        assert reads is not any(fact.startswith(told) for fact in facts)


@pytest.mark.parametrize("enqueue", [True, False])
@pytest.mark.parametrize("runs", [True, False])
def test_minimum_resources_above_the_cluster_are_told_where_nothing_compares_them(enqueue: bool, runs: bool) -> None:
    conf = conf_of("gang", "overcommit predicates", actions="enqueue, allocate" if enqueue else "allocate")
    group = pod_group("j", min_resources={"cpu": "1000"}, phase="Running" if runs else "Inqueue")
    found = explained(cluster(node("n1"), group, pods("j", 1, on="n1" if runs else ""), conf=conf))
    told = "minResources of 1000 cpu exceed the whole cluster (10), and nothing compares them"
    assert enqueue is not any(told in fact for fact in found.dominant.facts)


def _beside(conf: str, release: str) -> Snapshot:
    labelled, tainted = node("n1", labels={"volcano.sh/nodegroup-name": "g"}), {"key": "k", "effect": "NoSchedule"}
    labelled["spec"]["taints"] = [tainted]
    default = {**queue(), "spec": {"weight": 1, "affinity": {"nodeGroupAffinity": {REQUIRED: ["g"]}}}}
    snapshot = cluster(labelled, default, pod_group("j"), pod("j-0", "j", requests={"cpu": "1"}), conf=conf)
    return replace(snapshot, flags=replace(snapshot.flags, release=resolve_release(release).release))


@pytest.mark.parametrize(
    ("plugins", "release", "told"),
    [
        ("nodeorder", "v1.15.1", "plugin predicates is not configured"),
        ("nodegroup predicates", "v1.10.2", "nodegroup ends the check before predicates"),
    ],
)
def test_a_node_that_does_not_fit_and_that_nothing_has_checked_is_named(plugins: str, release: str, told: str) -> None:
    found = explained(_beside(conf_of("gang", plugins, actions="allocate"), release))
    assert found.scheduled
    fact = next(fact for fact in found.dominant.facts if fact.startswith("n1 has a taint that j-0 does not tolerate"))
    assert told in fact


def test_pods_that_have_ended_use_nothing_of_their_node() -> None:
    ended = [pod_group("old"), *pods("old", 3, cpu="9", on="n1", phase="Succeeded")]
    runs = [pod_group("r", phase="Running"), *pods("r", 1, cpu="9", on="n1")]
    found = explained(cluster(node("n1"), ended, runs, pod_group("j"), pods("j", 1, cpu="2"), conf=PLAIN))
    assert "In use on n1 (cpu): default/r-0 9." in found.dominant.facts


def _owned_by_job(objects: list[Manifest]) -> list[Manifest]:
    return owned(objects, "Job", "j")


def _job(phase: str, *policies: tuple[str, str], **status: Any) -> Manifest:
    made = volcano_job(state={"phase": phase}, **status)
    made["spec"]["policies"] = [{"event": event, "action": action} for event, action in policies]
    return made


@pytest.mark.parametrize(
    ("phase", "policies", "told", "advised"),
    [
        ("Terminated", [("PodFailed", "TerminateJob")], "Its policy PodFailed: TerminateJob can have led to that.", ""),
        (
            "Terminated",
            [("PodFailed", "TerminateJob"), ("PodEvicted", "RestartJob")],
            "not PodEvicted: RestartJob",
            "too",
        ),
        ("Failed", [("PodEvicted", "RestartJob")], "Its policy PodEvicted: RestartJob did not act", "Create the job"),
        ("Completed", [("TaskCompleted", "CompleteJob")], "Its policy TaskCompleted: CompleteJob can have led", ""),
        ("Aborted", [("PodFailed", "RestartJob")], "", ""),
    ],
)
@pytest.mark.parametrize("group", [True, False])
def test_an_ended_job_names_the_policies_that_can_have_ended_it(
    phase: str, policies: list[tuple[str, str]], told: str, advised: str, group: bool
) -> None:
    left = _owned_by_job([pod_group("j", phase="Completed")]) if group else []
    found = explain_by_name(replay_cycle(cluster(node("n1"), _job(phase, *policies), left)), "j")
    assert "has ended: its state is " in found.sentence
    assert "is left" not in found.sentence, "the PodGroup of an ended Volcano Job goes with it"
    assert bool(told) is any(told in fact for fact in found.dominant.facts if told)
    assert not advised or any(advised in words for words in found.advice_texts)


@pytest.mark.parametrize(("action", "ends"), [("RestartJob", True), ("RestartTask", False), ("", False)])
def test_an_eviction_that_makes_a_policy_end_all_pods_is_told(action: str, ends: bool) -> None:
    conf = conf_of("priority conformance", "predicates", actions="allocate, preempt")
    mine = [priority_class("high", 9), pod_group("h", priority_class="high"), *pods("h", 1, cpu="4", priority=9)]
    victims = _owned_by_job([pod_group("j", phase="Running"), *pods("j", 2, cpu="4", on="n1", priority=1)])
    job = _job("Running", *([("PodEvicted", action)] if action else []))
    found = explained(cluster(node("n1"), job, victims, mine, conf=conf), "default/h")
    assert found.scheduled
    assert ends is any(f"Its policy PodEvicted: {action} ends" in fact for fact in found.dominant.facts)


@pytest.mark.parametrize(
    ("phase", "running", "succeeded", "waiting", "told"),
    [
        ("Running", 0, 0, 1, "State Running of Job j is older than its pods"),
        ("Running", 0, 0, 2, "State Running of Job j needs no running pod: its minAvailable is 0"),
        (
            "Pending",
            1,
            2,
            1,
            "State Pending of Job j is its controller's alone and holds nothing up: 1 pod",
        ),
        ("Running", 1, 0, 1, ""),
        ("Pending", 0, 0, 1, ""),
    ],
)
def test_a_state_of_a_job_that_contradicts_its_pods_is_explained(
    phase: str, running: int, succeeded: int, waiting: int, told: str
) -> None:
    made = [
        *pods("j", running, prefix="r", on="n1"),
        *pods("j", succeeded, prefix="s", on="n1", phase="Succeeded"),
        *pods("j", waiting, prefix="w", cpu="99"),
    ]
    group = pod_group("j", phase="Running" if running else "Inqueue", min_member=0 if waiting == 2 else 1)
    found = explained(cluster(node("n1"), _job(phase), _owned_by_job([group, *made]), conf=PLAIN))
    states = [fact for fact in found.dominant.facts if fact.startswith("State ")]
    assert bool(told) is bool(states)
    assert not told or told in states[0]


@pytest.mark.parametrize(("phase", "told"), [("Inqueue", True), ("Running", False)])
def test_a_phase_that_an_earlier_cycle_wrote_is_told_where_all_pods_run(phase: str, told: bool) -> None:
    found = explained(cluster(node("n1"), pod_group("j", phase=phase), pods("j", 2, on="n1"), conf=PLAIN))
    assert told is any(fact.startswith("Its PodGroup is still Inqueue") for fact in found.dominant.facts)


def replica_set(name: str, wanted: int, have: int = 0) -> Manifest:
    metadata = {"name": name, "namespace": "volcano-system", "uid": name}
    return {"kind": "ReplicaSet", "metadata": metadata, "spec": {"replicas": wanted}, "status": {"replicas": have}}


@pytest.mark.parametrize(
    ("sets", "told"),
    [
        ([replica_set("volcano-scheduler-a", 1)], "ReplicaSet volcano-scheduler-a has 0 of 1 pod"),
        ([replica_set("volcano-scheduler-a", 0)], "volcano-scheduler is scaled to 0 replicas"),
        ([replica_set("volcano-scheduler-a", 1, 1), replica_set("volcano-scheduler-b", 0)], ""),
        ([replica_set("web-a", 1)], ""),
    ],
)
def test_a_scheduler_without_any_pod_explains_every_pending_job(sets: list[Manifest], told: str) -> None:
    message = 'pods is forbidden: serviceaccount "volcano-scheduler" not found'
    event = report(message, "ReplicaSet", "volcano-scheduler-a")
    event["involvedObject"]["namespace"] = "volcano-system"
    found = explained(cluster(node("n1"), sets, event, pod_group("j"), pods("j", 1), conf=PLAIN))
    assert bool(told) is ("scheduler-down" == found.cause_code)
    assert told in found.sentence
    assert not told or any("ServiceAccount volcano-scheduler" in words for words in found.advice_texts)


@pytest.mark.parametrize("wanted", [0, 1])
def test_a_webhook_without_pods_is_told_where_it_does_not_answer(wanted: int) -> None:
    failed = 'Internal error occurred: failed calling webhook "mutatepod.volcano.sh": no endpoints available'
    web = {**replica_set("web-a", 1), "metadata": {"name": "web-a", "namespace": "default", "uid": "uid-web-a"}}
    webhook = replica_set("volcano-admission-x", wanted)
    snapshot = cluster(node("n1"), web, webhook, report(failed, "ReplicaSet", "web-a"))
    found = explain_by_name(replay_cycle(snapshot), "web-a")
    assert any(fact.startswith("Volcano's webhook has no pod: ") for fact in found.dominant.facts)


@pytest.mark.parametrize(("mode", "spread"), [("soft", True), ("soft", False), ("hard", True)])
def test_pods_that_a_soft_topology_spreads_are_listed_by_hyper_node(mode: str, spread: bool) -> None:
    racks = [hyper_node("r1", 1, nodes=["n1"]), hyper_node("r2", 1, nodes=["n2"])]
    group = pod_group("j", min_member=2, networkTopology={"mode": mode, "highestTierAllowed": 3})
    large = "6" if spread else "4"
    nodes = [node("n1"), node("n2", cpu="10" if spread else "1")]
    tree = [*racks, hyper_node("top", 2, children=["r1", "r2"])]
    found = explained(cluster(nodes, tree, group, pods("j", 2, cpu=large), conf=PLAIN))
    assert found.scheduled
    told = [fact for fact in found.dominant.facts if fact.startswith("spec.networkTopology is soft, so without plugin")]
    assert (mode == "soft" and spread) is bool(told)
    assert not told or "(1 pod)" in told[0]


@pytest.mark.parametrize(("release", "tries"), [("v1.14.1", False), ("v1.15.1", True)])
def test_a_release_that_tries_no_hyper_node_for_a_soft_job_is_named_with_those_that_do(
    release: str, tries: bool
) -> None:
    racks = [hyper_node("r1", 1, nodes=["n1"]), hyper_node("r2", 1, nodes=["n2"])]
    group = pod_group("j", min_member=2, networkTopology={"mode": "soft", "highestTierAllowed": 3})
    objects = [node("n1"), node("n2"), *racks, hyper_node("top", 2, children=["r1", "r2"]), group]
    conf = conf_of("gang", "predicates nodeorder network-topology-aware", actions="allocate")
    found = explained(snapshot_at_release(cluster(*objects, pods("j", 2, cpu="6"), conf=conf), release))
    assert found.scheduled
    (fact,) = [one for one in found.dominant.facts if one.startswith("spec.networkTopology is soft")]
    assert tries is ("HyperNodes only add to the scores of nodes" in fact)
    words = "v1.14.1 tries no HyperNode for all of its pods together (v1.15.0, v1.14.3 do, #5206)"
    assert tries is not (words in fact)


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("RestartTask", "RestartTask deletes other pods"),
        ("RestartJob", "led to that; each eviction counts as a retry."),
    ],
)
def test_a_job_that_evictions_have_restarted_too_often_says_so(action: str, told: str) -> None:
    job = _job("Failed", ("PodEvicted", action), retryCount=3)
    found = explain_by_name(replay_cycle(cluster(node("n1"), job)), "j")
    assert "since retryCount 3 has reached spec.maxRetry 3" in found.sentence
    assert any(told in fact for fact in found.dominant.facts)


@pytest.mark.parametrize(("cpu", "told"), [("8", True), ("99", False)])
@pytest.mark.parametrize("selector", [("pool:a",), ()])
def test_a_node_with_room_that_the_node_selector_leaves_out_is_named(
    cpu: str, told: bool, selector: tuple[str, ...]
) -> None:
    nodes = [node("n1", cpu="4", labels={"pool": "a"}), node("n2", labels={"pool": "b"})]
    users = [pod_group("r", phase="Running"), *pods("r", 1, cpu="1", on="n2")]
    snapshot = cluster(nodes, users, pod_group("j"), pods("j", 1, cpu=cpu), conf=PLAIN)
    snapshot.flags = replace(snapshot.flags, node_selector=selector)
    found = explained(snapshot)
    fact = "n2 has room for j-0, but this scheduler leaves it out: --node-selector=pool:a."
    assert (told and bool(selector)) is (fact in found.dominant.facts)
    assert (told and bool(selector)) is any("Label n2 pool=a" in words for words in found.advice_texts)


@pytest.mark.parametrize("asks", ["volcano.sh/vgpu-memory", "cpu"])
def test_a_limit_of_a_queue_that_the_scheduler_does_not_count_is_named(asks: str) -> None:
    limits = {"cpu": "8", "volcano.sh/vgpu-memory": "1000"}
    limited = {**queue(), "spec": {"weight": 1, "capability": limits}}
    conf = conf_of("gang", "predicates proportion")
    made = pods("j", 1, on="n1")
    made[0]["spec"]["containers"][0]["resources"]["limits"] = {asks: "5"}
    snapshot = cluster(node("n1"), limited, pod_group("j", phase="Running"), made, conf=conf)
    told = (
        "Nothing limits volcano.sh/vgpu-memory in queue default: the scheduler leaves it out; it counts cpu (from v1.13"
    )
    for release, counts in (("v1.11.0", False), ("v1.15.1", True)):
        snapshot.flags = replace(snapshot.flags, release=resolve_release(release).release)
        facts = explained(replace(snapshot)).dominant.facts
        assert (asks != "cpu" and not counts) is any(fact.startswith(told) for fact in facts)


@pytest.mark.parametrize(("minimum", "groups"), [(2, 2), (2, 1), (1, 2)])
def test_a_gang_that_nodegroup_spreads_over_groups_is_listed_by_group(minimum: int, groups: int) -> None:
    nodes = [node(f"n{i}", cpu="4", labels={"volcano.sh/nodegroup-name": f"g{i % groups}"}) for i in (1, 2)]
    both = {**queue(), "spec": {"weight": 1, "affinity": {"nodeGroupAffinity": {REQUIRED: ["g0", "g1"]}}}}
    conf = conf_of("gang", "predicates nodegroup", actions="allocate")
    group = pod_group("j", min_member=minimum)
    found = explained(cluster(nodes, both, group, pods("j", 2, cpu="3"), conf=conf))
    assert found.scheduled
    is_named = any(fact.startswith("Its pods are in node groups ") for fact in found.dominant.facts)
    assert (minimum == 2 and groups == 2) is is_named


@pytest.mark.parametrize(("message", "about_claim"), [("binding volumes: timed out", True), ("no room", False)])
def test_a_pod_whose_volume_is_never_made_is_sent_to_its_provisioner(message: str, about_claim: bool) -> None:
    made = refused("2026-10-31T23:00:00Z", message)
    made["spec"]["volumes"] = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "c", "namespace": "default", "uid": "c"}}
    claim |= {"spec": {"storageClassName": "late"}, "status": {"phase": "Pending"}}
    late = {"kind": "StorageClass", "metadata": {"name": "late", "uid": "late"}, "provisioner": "x.example.com"}
    late |= {"volumeBindingMode": "WaitForFirstConsumer"}
    conf = conf_of("gang", "predicates", actions="allocate")
    snapshot = cluster(seen_node(), claim, late, pod_group("j"), made, conf=conf)
    snapshot.flags = replace(snapshot.flags, ignored_provisioners=("x.example.com",))
    found = explained(snapshot)
    assert found.scheduled
    assert about_claim is any("PersistentVolumeClaim c has no volume yet" in fact for fact in found.dominant.facts)
    assert about_claim is any("x.example.com makes none" in words for words in found.advice_texts)


@pytest.mark.parametrize("phase", ["Failed", "Running"])
def test_an_ended_job_with_pods_that_still_run_has_ended(phase: str) -> None:
    left = [pod_group("j", min_member=2, phase="Running"), *pods("j", 1, cpu="4", on="n1")]
    failed = pods("j", 1, prefix="f", on="n1", phase="Failed")
    job = _job(phase, ("PodFailed", "RestartJob"), retryCount=3)
    found = explained(cluster(node("n1"), job, _owned_by_job([*left, *failed])))
    has_ended = phase == "Failed"
    assert has_ended is ("has ended: its state is Failed, since retryCount 3" in found.sentence)
    runs = [fact for fact in found.dominant.facts if fact.startswith("j-0 still runs on n1, with 4 cpu")]
    assert has_ended is bool(runs)
    assert has_ended is any("delete vcjob j" in words for words in found.advice_texts)


@pytest.mark.parametrize(("stated", "told"), [("hihg", "; did you mean high?"), ("xyz", ""), ("high", None)])
def test_a_class_that_does_not_exist_is_named_where_the_priority_decides(stated: str, told: str | None) -> None:
    conf = conf_of("priority conformance", "predicates", actions="allocate, preempt")
    old = [pod_group("old", phase="Running", priority_class="mid"), *pods("old", 2, cpu="5", on="n1", priority=5)]
    classes = [priority_class("high", 1), priority_class("mid", 5)]
    mine = [pod_group("j", priority_class=stated), *pods("j", 1, cpu="5")]
    found = explained(cluster(node("n1"), classes, old, mine, conf=conf))
    assert "priority" == found.cause_code
    text = f"(PriorityClass {stated} of its PodGroup does not exist{told})"
    assert (told is not None) is any(text in fact for fact in found.dominant.facts)


@pytest.mark.parametrize("kind", ["", "TrainJob", "Job"])
@pytest.mark.parametrize("stated", ["high", "low", None])
def test_a_class_that_pods_have_and_their_pod_group_lacks_is_put_on_the_pod_group(
    stated: str | None, kind: str
) -> None:
    """Nothing is said where both name the same class, whose value may have changed since the pods were created."""
    conf = conf_of("priority conformance", "predicates", actions="allocate, preempt")
    old = [pod_group("old", phase="Running", priority_class="mid"), *pods("old", 2, cpu="5", on="n1", priority=5)]
    classes = [priority_class("high", 1 if stated == "high" else 9), priority_class("mid", 5), priority_class("low", 1)]
    mine = [pod_group("j", priority_class=stated), *pods("j", 1, cpu="5", priority=9, priorityClassName="high")]
    mine = [*(owned(mine, kind, "j") if kind else mine), *([volcano_job()] if kind == "Job" else [])]
    found = explained(cluster(node("n1"), classes, old, mine, conf=conf))
    assert "priority" == found.cause_code
    has = f"priorityClassName {stated}" if stated else "no priorityClassName"
    told = f"(PodGroup j has {has}; priority 9 of j-0 does not count)"
    assert (stated != "high") is any(told in fact for fact in found.dominant.facts)
    place = {"Job": "Job j (spec)", "": "PodGroup j"}.get(kind, f"PodGroup j, and in {kind} j, from which it is made")
    advice = f"Set priorityClassName high on {place}, as j-0 has it."
    assert (stated != "high") is (advice in found.advice_texts)


@pytest.mark.parametrize("capability", ["8", "4"])
def test_pods_that_a_queue_at_its_limit_will_not_get_are_not_promised(capability: str) -> None:
    limited = {**queue(), "spec": {"weight": 1, "capability": {"cpu": capability}}}
    runs = [pod_group("r", phase="Running"), *pods("r", 1, cpu="4", on="n1")]
    # The capability states no memory, which then is not limited.
    group = pod_group("j", phase="Pending", min_resources={"cpu": "2", "memory": "1G"})
    arguments = {"proportion": {"enableJobEnqueued": "false"}}
    conf = conf_of("gang", "predicates proportion", actions="enqueue, allocate", arguments=arguments)
    facts = explained(cluster(node("n1"), limited, runs, group, conf=conf)).dominant.facts
    assert any("would fit on n1" in fact for fact in facts)
    assert (capability == "4") is any(
        "but queue default has 4 of its capability 4 cpu in use" in fact for fact in facts
    )
    assert "memory in use" not in " ".join(facts)


@pytest.mark.parametrize(("born", "told"), [("2026-10-31T12:00:30Z", False), ("2026-10-31T18:00:00Z", True)])
@pytest.mark.parametrize("index", [0, 2])
def test_a_recreated_pod_is_told_by_the_older_pods_behind_it(born: str, told: bool, index: int) -> None:
    made = [*pods("j", 1, cpu="99", created=born), *pods("j", 1, prefix="k", on="n1", phase="Succeeded")]
    made[0]["metadata"]["name"], made[1]["metadata"]["name"] = f"j-{index}", "j-1"
    found = explained(cluster(node("n1"), _job("Running"), _owned_by_job([pod_group("j"), *made]), conf=PLAIN))
    again = "j-0 is younger than j-1: Job j recreated it, since the earlier ones are gone"
    assert (told and index == 0) is any(fact.startswith(again) for fact in found.dominant.facts)


@pytest.mark.parametrize(("born", "told"), [("2026-10-31T12:00:30Z", False), ("2026-10-31T18:00:00Z", True)])
def test_a_pod_group_that_is_younger_than_its_pods_is_said_to_be_admitted_again(born: str, told: bool) -> None:
    group = pod_group("j", min_member=2, phase="Pending")
    group["metadata"]["creationTimestamp"] = born
    lost = [group, *pods("j", 1, on="n1")]
    conf = conf_of("gang", "predicates", actions="enqueue, allocate")
    found = explained(cluster(node("n1"), _job("Restarting"), _owned_by_job(lost), conf=conf))
    facts = [fact for fact in found.dominant.facts if fact.startswith("PodGroup j is 6h younger than its pod j-0")]
    assert told is bool(facts)
    assert not told or facts[0].endswith("after its admission, which is in this cycle.")


@pytest.mark.parametrize("dated", [True, False])
def test_pods_without_a_creation_time_are_older_than_nothing(dated: bool) -> None:
    made = [*pods("j", 1, cpu="99", created="2026-10-31T18:00:00Z"), *pods("j", 1, prefix="k", on="n1")]
    made[1]["metadata"]["name"] = "j-1"
    if not dated:
        del made[1]["metadata"]["creationTimestamp"]
    found = explained(cluster(node("n1"), _job("Running"), _owned_by_job([pod_group("j"), *made]), conf=PLAIN))
    assert dated is any("younger" in fact for fact in found.dominant.facts)


@pytest.mark.parametrize("name", ["j-0", f"j-{'9' * 5000}"])
def test_times_and_indexes_at_the_end_of_what_can_be_counted_are_compared(name: str) -> None:
    made = pods("j", 1, cpu="99", prefix="k") + pods("j", 1, cpu="99", created="9999-12-31T23:59:59Z")
    made[0]["metadata"]["name"], made[1]["metadata"]["name"] = "j-1", name
    for objects in (made, made[1:]):
        found = explained(cluster(node("n1"), _job("Running"), _owned_by_job([pod_group("j"), *objects]), conf=PLAIN))
        is_again = name == "j-0" and objects is made
        assert is_again is any(fact.startswith("j-0 is younger than j-1") for fact in found.dominant.facts)


def test_recreated_pods_of_several_roles_are_compared_with_the_oldest_pod_behind_them() -> None:
    hours = {"a-0": 18, "a-1": 13, "b-0": 14, "b-1": 12}
    made = [made for name in hours for made in pods("j", 1, cpu="99", prefix=name)]
    for each, (name, hour) in zip(made, hours.items(), strict=True):
        each["metadata"].update(name=name, creationTimestamp=f"2026-10-31T{hour}:00:00Z")
    found = explained(cluster(node("n1"), _job("Running"), _owned_by_job([pod_group("j"), *made]), conf=PLAIN))
    assert any(fact.startswith("a-0, b-0 are younger than b-1: Job j recreated them") for fact in found.dominant.facts)


def test_looking_for_recreated_pods_takes_no_square_of_the_pods() -> None:
    made = pods("j", 2000, cpu="99", created="2026-10-31T18:00:00Z")
    recording = replay_cycle(cluster(node("n1"), _job("Running"), _owned_by_job([pod_group("j"), *made]), conf=PLAIN))
    with at_most(1.5):
        explain_by_name(recording, "default/j")


@pytest.mark.parametrize(("release", "part", "told"), [("v1.10.0", "20", True), ("v1.10.0", "100", False)])
@pytest.mark.parametrize("memory", [None, "500"])
def test_a_part_of_a_cards_memory_that_the_release_counts_as_none_is_told(
    release: str, part: str, told: bool, memory: str | None
) -> None:
    limits = {**vgpu(memory=memory), "volcano.sh/vgpu-memory-percentage": part}
    arguments = {"deviceshare": {"arguments": {"deviceshare.VGPUEnable": True}}}
    conf = conf_of("gang", "predicates deviceshare", arguments=arguments)
    made, host = limited(limits), cards()
    host["metadata"]["annotations"]["volcano.sh/node-vgpu-handshake"] = "Reported 2026-10-31 23:59:50"
    made["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "1"}
    snapshot = cluster(host, pod_group("j"), made, conf=conf)
    snapshot.process = SchedulerProcess(started=snapshot.now - timedelta(hours=1))
    found = explained(snapshot_at_release(snapshot, release))
    assert found.scheduled
    assert (told and not memory) is ("but with no memory of its card" in found.sentence)
    amount = "volcano.sh/vgpu-memory (200 of 1000 on n1)"
    assert (told and not memory) is any(amount in words for words in found.advice_texts)
