"""Answers about the whole workload: the owner of its pods, what its PodGroups reserve, broken rules of queues."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, priority_class, queue
from tests.debugger.test_remedies import proven
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.subject_names import find_subject
from vcdebug.recording.replay import replay_cycle
from vcdebug.releases.release_names import resolve_release
from vcdebug.snapshot.manifest import WorkloadFacts
from vcdebug.snapshot.snapshot import Manifest, Snapshot

ENQUEUE = conf_of("gang", "overcommit predicates nodeorder", actions="enqueue, allocate")


def owned(objects: list[Manifest], kind: str, name: str) -> list[Manifest]:
    """Set a controller as the owner of these objects."""
    for each in objects:
        each["metadata"]["ownerReferences"] = [{"kind": kind, "name": name, "uid": name, "controller": True}]
    return objects


def explained(snapshot: Snapshot, job: str = "default/j") -> Explanation:
    return explain_by_name(replay_cycle(snapshot), job)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
@pytest.mark.parametrize("count", [1, 3])
def test_a_pod_group_whose_pods_have_ended_is_named_and_deleted(phase: str, count: int) -> None:
    done = [pod_group("done", min_resources={"cpu": "10"}), *pods("done", count, on="n1", phase=phase)]
    waits = pod_group("j", phase="Pending", min_resources={"cpu": "6"})
    snapshot = cluster(node("n1"), done, waits, conf=ENQUEUE)
    found = explained(snapshot)
    assert "enqueue-held-by-inqueue" == found.cause_code
    assert "default/done is Inqueue, but all pods have ended, and reserves 10 cpu." in found.sentence
    first, tried = next(iter(proven(snapshot, "default/j").items()))
    assert "Delete 1 of 1 Inqueue PodGroups of ended pods (default/done)" == first
    assert () == tried.outcome.costs


@pytest.mark.parametrize(("asks", "told"), [("5", True), ("3", False)])
def test_inqueue_job_without_a_fitting_node_is_named_as_reserving_in_vain(asks: str, told: bool) -> None:
    held = [pod_group("held", min_resources={"cpu": asks}), *pods("held", 1, cpu=asks)]
    full = [pod_group("old", phase="Running"), *pods("old", 1, cpu="6", on="n1"), *pods("old", 1, prefix="o", on="n2")]
    waits = [pod_group("j", phase="Pending", min_resources={"cpu": "9"}), *pods("j", 1, cpu="9")]
    snapshot = cluster(node("n1"), node("n2", cpu="4"), held, full, waits, conf=ENQUEUE)
    vain = f"default/held has no place now: default/held-0 asks {asks} cpu, and no node has more free than 4."
    assert told is (vain in explained(snapshot).dominant.facts)


@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet"])
@pytest.mark.parametrize(("resource", "was", "now"), [("cpu", "40", "2"), ("memory", "400Gi", "2Gi")])
def test_a_minimum_that_does_not_follow_its_pods_is_set_to_what_they_ask(
    kind: str, resource: str, was: str, now: str
) -> None:
    group = owned([pod_group("j", phase="Pending", min_resources={resource: was})], kind, "web")
    snapshot = cluster(node("n1"), group, pods("j", 1, cpu="2", memory="2Gi"), conf=ENQUEUE)
    less = f"Its 1 pod asks only {now} {resource}"
    assert explained(snapshot).dominant.facts[0].startswith(less)
    words = f"default/j: minResources.{resource} {was} -> {now} (as its pods ask)"
    assert words == next(iter(proven(snapshot, "default/j")))


def test_a_minimum_that_counts_pods_to_come_is_left_alone() -> None:
    group = owned([pod_group("j", phase="Pending", min_resources={"cpu": "40"})], "SparkApplication", "pi")
    snapshot = cluster(node("n1"), group, pods("j", 1, cpu="2"), conf=ENQUEUE)
    assert "does not follow" not in explained(snapshot).full_text
    assert not any("as its pods ask" in words for words in proven(snapshot, "default/j"))


def workers(count: int, kind: str, owner: str) -> list[Manifest]:
    """Plain pods, each with its own PodGroup, as Volcano's controller creates them."""
    groups = [pod_group(f"podgroup-{owner}-{number}") for number in range(count)]
    each = [pods(f"podgroup-{owner}-{number}", 1, cpu="6", prefix=f"{owner}-{number}") for number in range(count)]
    return [*groups, *owned([one for some in each for one in some], kind, owner)]


def test_pods_of_one_workload_that_have_a_pod_group_each_are_no_gang_whatever_blocks_them() -> None:
    told = "Each pod of PyTorchJob a has a PodGroup of its own (minMember 1), so its pods are not a gang."
    conf = conf_of("gang", "predicates nodeorder")
    both = cluster(node("n1"), workers(2, "PyTorchJob", "a"), conf=conf)
    assert explained(both, "default/podgroup-a-1").dominant.facts[0].startswith(told)
    apart = cluster(node("n1", cpu="1"), workers(1, "PyTorchJob", "a"), workers(1, "PyTorchJob", "b"), conf=conf)
    assert told not in explained(apart, "default/podgroup-a-0").dominant.facts


@pytest.mark.parametrize(("kind", "app"), [("SparkApplication", "pi"), ("RayCluster", "pi")])
def test_the_pod_group_that_was_made_for_the_workload_and_has_no_pods_is_named(kind: str, app: str) -> None:
    made = owned([pod_group(f"for-{app}", queue="test")], kind, app)
    pod = pods("podgroup-x", 1, cpu="20", prefix=f"{app}-driver")
    objects = [node("n1"), queue("test"), *made, pod_group("podgroup-x"), *pod]
    found = explained(cluster(objects, conf=conf_of("gang", "predicates")), "default/podgroup-x")
    there = f"PodGroup for-{app} (queue test) of {kind} {app} has no pods"
    assert f"{there}; {app}-driver-0 names PodGroup podgroup-x instead." in found.dominant.facts
    edit = f"Pod/default/{app}-driver-0:metadata.annotations[scheduling.k8s.io/group-name]=for-{app}"
    assert any((edit,) == line.edits for line in found.advised)


HIERARCHY = conf_of("gang", "predicates capacity nodeorder", arguments={"capacity": {"enableHierarchy": "true"}})


@pytest.mark.parametrize(("resource", "stated", "most"), [("cpu", "50", "10"), ("memory", "500G", "100G")])
@pytest.mark.parametrize("parent", ["root", "org"])
def test_a_capability_above_that_of_its_parent_is_named_and_lowered(
    resource: str, stated: str, most: str, parent: str
) -> None:
    above = [] if parent == "root" else [queue("org", parent="root", capability={resource: most})]
    leaf = queue("leaf", parent=parent, capability={resource: stated})
    waits = [pod_group("j", queue="leaf"), *pods("j", 1)]
    snapshot = cluster(node("n1"), queue("root"), above, leaf, waits, conf=HIERARCHY)
    # The latest rules accept such a capability.
    snapshot.flags = replace(snapshot.flags, release=resolve_release("v1.11.2").release)
    found = explained(snapshot)
    assert "queue-tree-broken" == found.cause_code
    assert found.dominant.facts[0].startswith("Queue leaf states capability ")
    assert f"Queue leaf: capability.{resource} " in next(iter(proven(snapshot, "default/j")))


def starving(**switches: dict[str, str]) -> Snapshot:
    """A high-priority job and preempt; `switches` may keep plugins from reporting the job as starving."""
    conf = conf_of("priority gang", "predicates", actions="allocate, preempt", arguments=switches)
    old = [pod_group("old", phase="Running"), *pods("old", 2, cpu="5", on="n1", priority=1)]
    waits = [pod_group("j", priority_class="high"), *pods("j", 1, cpu="5", priority=9)]
    return cluster(node("n1"), priority_class("high", 9), old, waits, conf=conf)


OFF: dict[str, Any] = {"enableJobStarving": "false"}


@pytest.mark.parametrize("names", [("priority", "gang"), ("gang",), ("priority",)])
def test_a_switch_that_keeps_plugins_from_reporting_starvation_is_turned_on(names: tuple[str, ...]) -> None:
    snapshot = starving(**dict.fromkeys(names, OFF))
    found = explained(snapshot)
    if names == ("priority", "gang"):
        assert "not-starving" == found.cause_code
        assert "enableJobStarving -> true" in next(iter(proven(snapshot, "default/j")))
    else:
        assert found.scheduled


def test_a_gang_that_loses_pods_to_a_later_tier_is_said_to_fall_below_its_minimum() -> None:
    conf = conf_of("gang", "drf predicates", actions="allocate, preempt")
    old = [pod_group("old", min_member=2, phase="Running"), *pods("old", 2, cpu="5", on="n1")]
    snapshot = cluster(node("n1"), old, pod_group("j"), pods("j", 1, cpu="2"), conf=conf)
    found = explained(snapshot)
    assert found.scheduled
    rule = "gang: old has 2 ready and needs 2: it would break the gang"
    assert f"Tier 1 ({rule}) allows no victim, so tier 2 decided." in found.dominant.facts
    assert "default/old keeps 1 pod, fewer than its minMember 2." in found.dominant.facts


def test_the_pod_that_anti_affinity_excludes_is_named_where_it_runs() -> None:
    zones = [node("n1", labels={"zone": "a"}), node("n2", labels={"zone": "a"})]
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
    web = [pod_group("web", phase="Running"), *pods("web", 1, on="n1")]
    web[1]["metadata"]["labels"] = {"app": "web"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    snapshot = cluster(zones, web, pod_group("j"), pods("j", 1, affinity=affinity), conf=conf_of("gang", "predicates"))
    assert "Its required podAntiAffinity conflicts with web-0 on n1." in explained(snapshot).dominant.facts


@pytest.mark.parametrize(("written", "meant"), [("Preempt", "preempt"), ("preemt", "preempt"), ("evictAll", "")])
def test_a_configuration_that_an_unknown_action_makes_void_is_told_first_and_corrected(
    written: str, meant: str
) -> None:
    old = [pod_group("old", phase="Running"), *pods("old", 2, cpu="5", on="n1", priority=1)]
    waits = [pod_group("j", priority_class="high"), *pods("j", 1, cpu="5", priority=9)]
    conf = conf_of("priority conformance", "predicates", actions=f"allocate, {written}")
    snapshot = cluster(node("n1"), priority_class("high", 9), old, waits, conf=conf)
    told = f"The configuration is rejected (failed to find Action {written}); the built-in one is in force: "
    assert explained(snapshot).dominant.facts[0] == f"{told}enqueue, allocate, backfill."
    fixes = proven(snapshot, "default/j")
    change = f"Configuration: actions: {written} -> {meant} (the scheduler then accepts it)"
    assert (change in fixes) is bool(meant)


@pytest.mark.parametrize("phase", ["Pending", "Running"])
def test_pods_that_are_bound_and_never_started_are_deleted_where_the_action_may_not_evict_them(phase: str) -> None:
    queues = [queue("a", deserved={"cpu": "5"}), queue("b", deserved={"cpu": "5"})]
    over = [pod_group("over", queue="a", phase="Running"), *pods("over", 2, cpu="5", on="n1", phase=phase)]
    waits = [pod_group("j", queue="b"), *pods("j", 1, cpu="5")]
    conf = conf_of("priority conformance", "predicates capacity", actions="allocate, reclaim")
    snapshot = cluster(node("n1"), queues, over, waits, conf=conf)
    if phase == "Running":
        assert explained(snapshot).scheduled
    else:
        assert "End 1 of 2 bound pods of default/over" == next(iter(proven(snapshot, "default/j")))


@pytest.mark.parametrize(("zone", "told"), [("z9", True), ("z1", False)])
def test_an_inqueue_job_that_no_node_matches_is_said_to_reserve_in_vain(zone: str, told: bool) -> None:
    held = [pod_group("held", min_resources={"cpu": "6"}), *pods("held", 1, cpu="6", nodeSelector={"zone": zone})]
    full = [pod_group("old", phase="Running"), *pods("old", 1, cpu="6", on="n1")]
    waits = [pod_group("j", phase="Pending", min_resources={"cpu": "2"}), *pods("j", 1, cpu="2")]
    snapshot = cluster(node("n1", labels={"zone": "z1"}), held, full, waits, conf=ENQUEUE)
    why = "default/held cannot be placed: held-0 fits no node (1 node: node(s) didn't match Pod's node affinity"
    assert told is any(fact.startswith(why) for fact in explained(snapshot).dominant.facts)


@pytest.mark.parametrize("switch", ["true", "false"])
def test_enqueue_is_dropped_together_with_the_veto_that_would_follow(switch: str) -> None:
    conf = conf_of(
        "priority gang conformance",
        "overcommit predicates",
        actions="enqueue, allocate, preempt",
        arguments={"gang": {"enablePreemptable": switch}},
    )
    old = [pod_group("old", phase="Running"), *pods("old", 1, cpu="8", on="n1", priority=1)]
    waits = [
        pod_group("j", phase="Pending", priority_class="high", min_resources={"cpu": "8"}),
        *pods("j", 1, cpu="8", priority=9),
    ]
    first = next(iter(proven(cluster(node("n1"), priority_class("high", 9), old, waits, conf=conf), "default/j")))
    assert "drops enqueue" in first
    assert (switch == "true") is ("gang: enablePreemptable -> false" in first)


def stated_by(kind: str, name: str, objects: list[Manifest], **facts: Any) -> Snapshot:
    """A cluster of one node with facts about the owner of these objects."""
    snapshot = cluster(node("n1"), queue("test"), objects, conf=conf_of("gang", "overcommit predicates", actions=ALL))
    snapshot.workloads = {f"default/{kind} {name}": WorkloadFacts(**facts)}
    return snapshot


ALL = "enqueue, allocate"
ROLES = {"replicas": {"Launcher": 1, "Worker": 2}}


@pytest.mark.parametrize("after", [{}, {"Launcher": "Worker"}])
def test_a_role_that_has_no_pod_is_named_and_where_it_waits_for_another_the_minimum_is_lowered(
    after: dict[str, str],
) -> None:
    group = owned([pod_group("j", min_member=3)], "MPIJob", "pi")
    snapshot = stated_by("MPIJob", "pi", [*group, *pods("j", 2, prefix="pi-worker")], **ROLES, after=after)
    found, fixes = explained(snapshot), proven(snapshot, "default/j")
    assert "not-enough-pods" == found.cause_code
    if after:
        assert found.dominant.facts[0].startswith("MPIJob pi creates its role Launcher (1 pod) only once Worker runs, ")
        by_field = "by schedulingPolicy.minAvailable of MPIJob pi"
        assert [f"default/j: minMember 3 -> 2, {by_field} (Worker then starts, and Launcher is created)"] == list(fixes)
        assert "without waiting for Worker (launcherCreationPolicy: AtStartup)." in " ".join(found.advice_texts)
    else:
        assert "MPIJob pi has created no pod of its role Launcher (1 pod)." == found.dominant.facts[0]
        assert "Create the 1 missing pod of the gang (like pi-worker-0)" == next(iter(fixes))


def test_a_volcano_job_whose_task_depends_on_another_of_the_same_gang_is_told_so() -> None:
    tasks = [{"name": "master", "replicas": 1, "dependsOn": {"name": ["worker"]}}, {"name": "worker", "replicas": 2}]
    job = {"kind": "Job", "apiVersion": "batch.volcano.sh/v1alpha1", "spec": {"minAvailable": 3, "tasks": tasks}}
    job |= {"metadata": {"name": "hvd", "namespace": "default", "uid": "hvd"}}
    group = owned([pod_group("j", min_member=3)], "Job", "hvd")
    snapshot = cluster(node("n1"), [job], group, pods("j", 2, role="worker"), conf=ENQUEUE)
    assert explained(snapshot).dominant.facts[0].startswith("Job hvd creates its role master (1 pod) only once worker ")


@pytest.mark.parametrize("ready", [True, False])
def test_pods_that_are_created_after_another_role_are_said_to_follow_its_pods_that_are_not_ready(ready: bool) -> None:
    tasks = [{"name": "first", "replicas": 1}, {"name": "audio", "replicas": 2, "dependsOn": {"name": ["first"]}}]
    metadata = {"name": "app", "namespace": "default", "uid": "app"}
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": {"tasks": tasks}}
    runs = pods("j", 1, on="n1", role="first", prefix="app-first")
    runs[0]["status"]["conditions"] = [{"type": "Ready", "status": str(ready), "reason": "ContainersNotReady"}]
    found = explained(cluster(node("n1"), job, owned([pod_group("j", phase="Running")], "Job", "app"), runs))
    created = "default/j has 1 of the 3 pods that app asks for: Job app creates its role audio (2 pods) only once first"
    assert f"{created} {'runs' if ready else 'is Ready'}." == found.sentence
    unready = "app-first-0 is Running but not Ready (ContainersNotReady)."
    assert (not ready) is (unready in found.dominant.facts)


@pytest.mark.parametrize("phase", ["Succeeded", "Running"])
def test_a_role_that_waits_for_pods_that_have_ended_is_said_to_wait_in_vain(phase: str) -> None:
    tasks = [{"name": "first", "replicas": 1}, {"name": "audio", "replicas": 2, "dependsOn": {"name": ["first"]}}]
    metadata = {"name": "app", "namespace": "default", "uid": "app"}
    job = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": metadata, "spec": {"tasks": tasks}}
    done = pods("j", 1, on="n1", role="first", prefix="app-first", phase=phase)
    found = explained(cluster(node("n1"), job, owned([pod_group("j", phase="Running")], "Job", "app"), done))
    assert (phase == "Succeeded") is found.sentence.endswith("first runs, and first has ended (Succeeded).")
    assert (phase == "Succeeded") is any("make audio a Job of its own" in words for words in found.advice_texts)


def test_a_queue_without_a_state_is_left_to_its_controller() -> None:
    stateless = queue("q", state="")
    waits = pod_group("j", queue="q", phase="Pending", min_resources={"cpu": "1"})
    conf = conf_of("gang", "predicates proportion", actions="enqueue, allocate")
    found = explained(cluster(node("n1"), stateless, waits, pods("j", 1), conf=conf))
    assert "queue q has no status.state" in found.sentence
    assert any("volcano-controllers, which sets status.state" in text for text in found.advice_texts)


@pytest.mark.parametrize("driver", ["disk.example.com", "example.com/disk"])
@pytest.mark.parametrize("other", ["data", "else"])
def test_a_volume_that_is_attached_once_and_counted_per_pod_is_named_with_the_flag(other: str, driver: str) -> None:
    names = ("data", "else")
    limit = {"name": driver, "nodeID": "n1", "allocatable": {"count": 1}}
    volumes = [
        {
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{name}", "uid": f"pv-{name}"},
            "spec": {
                "csi": {"driver": driver, "volumeHandle": name},
                "claimRef": {"namespace": "default", "name": name},
            },
        }
        for name in names
    ]
    claims = [
        {
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": name,
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            },
            "spec": {"volumeName": f"pv-{name}"},
            "status": {"phase": "Bound"},
        }
        for name in names
    ]
    csi = {"kind": "CSINode", "metadata": {"name": "n1", "uid": "n1"}, "spec": {"drivers": [limit]}}
    mounts = {name: [{"name": "d", "persistentVolumeClaim": {"claimName": name}}] for name in names}
    used = [pod_group("r", phase="Running"), *pods("r", 1, on="n1", volumes=mounts[other])]
    waits = [pod_group("j"), *pods("j", 1, volumes=mounts["data"])]
    snapshot = cluster(node("n1"), csi, volumes, claims, used, waits)
    shared = "PersistentVolumeClaim data is already mounted by r-0 on n1; Volcano counts an attachment for each pod"
    assert (other == "data") is (shared in explained(snapshot).dominant.full_text)
    flag = f"Start the scheduler with --ignored-provisioners={driver} (only predicates then count its volumes)"
    assert (other == "data") is (flag in proven(snapshot, "default/j"))


@pytest.mark.parametrize("suspended", [True, False])
def test_a_suspended_owner_is_named_for_its_job_and_for_one_that_its_pod_group_blocks(suspended: bool) -> None:
    idle = owned([pod_group("idle", min_resources={"cpu": "10"})], "RayCluster", "ray")
    waits = pod_group("j", phase="Pending", min_resources={"cpu": "6"})
    snapshot = stated_by("RayCluster", "ray", [*idle, waits], suspended=suspended, queue="q")
    blocked, own = explained(snapshot), explained(snapshot, "default/idle")
    belongs = "PodGroup idle belongs to RayCluster ray, which is suspended."
    assert suspended is (belongs in blocked.dominant.facts)
    assert suspended is ("RayCluster ray is suspended: no pods are created until it is resumed." in own.dominant.facts)
    if suspended:
        first = next(iter(proven(snapshot, "default/j")))
        assert "Delete 1 of 1 Inqueue PodGroups without pods (default/idle)" == first


LACKS = "its pods lack annotation scheduling.volcano.sh/queue-name, so their PodGroup is in queue default"


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize(
    ("group", "kind", "stated", "fact"),
    [
        ("podgroup-x", "Workflow", "test", f"Workflow hello names queue test, but {LACKS}."),
        ("spark-pg", "SparkApplication", "test", "but its PodGroup spark-pg is in queue default."),
        ("mnist", "PyTorchJob", "test", "but its PodGroup mnist is in queue default."),
        ("mnist", "PyTorchJob", "default", ""),
        ("mnist", "PyTorchJob", "unknown", ""),
    ],
)
def test_another_queue_that_only_the_owner_names_comes_first_and_is_the_first_fix(
    group: str, kind: str, stated: str, fact: str, *, runs: bool
) -> None:
    on = "n1" if runs else ""
    mine = owned(
        [pod_group(group, phase="Running" if runs else "Inqueue"), *pods(group, 1, cpu="6", on=on)], kind, "hello"
    )
    full = [] if runs else [pod_group("old", phase="Running"), *pods("old", 1, cpu="8", on="n1")]
    snapshot = stated_by(kind, "hello", [*mine, *full], queue=stated)
    found = explained(snapshot, f"default/{group}")
    assert bool(fact) is any(line.repairs for line in found.advised)
    assert bool(fact) is "".join(found.dominant.facts[:1]).endswith(fact or "names queue")


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler-7d9", "karpenter.sh/nodepool", ""])
def test_an_autoscaler_of_the_cluster_is_said_to_miss_the_pods_of_a_gang_that_found_places(
    count: int, autoscaler: str
) -> None:
    gang = [pod_group("j", min_member=count + 1), *pods("j", count + 1, cpu="6")]
    labels = {autoscaler: "default"} if "/" in autoscaler else {}
    nodes = [node(f"n{number}", labels=labels) for number in range(count)]
    other = [pod(autoscaler, on="n0", cpu="100m")] if autoscaler.startswith("cluster") else []
    snapshot = cluster(nodes, gang, other, conf=conf_of("gang", "predicates"))
    pods_words = f"After this cycle only 1 of the {count + 1} Pending pods has the condition's reason "
    said = [fact for fact in explained(snapshot).dominant.facts if fact.startswith(pods_words)]
    assert bool(autoscaler) is bool(said)
    assert all(fact.endswith("so the cluster's autoscaler adds nodes for 1 only.") for fact in said)


@pytest.mark.parametrize("release", ["v1.11.2", "v1.12.0"])
def test_a_release_that_asks_no_parent_queue_at_admission_is_named_with_the_pull_request(release: str) -> None:
    org = [queue("root"), queue("org", parent="root", capability={"cpu": "4"})]
    leaves = [queue(name, parent="org", capability={"cpu": "4"}) for name in ("a", "b")]
    full = [pod_group("old", queue="a", phase="Running"), *pods("old", 1, cpu="4", on="n1")]
    waits = [pod_group("j", queue="b"), *pods("j", 1, cpu="2")]
    snapshot = cluster(node("n1"), org, leaves, full, waits, conf=HIERARCHY)
    snapshot.flags = replace(snapshot.flags, release=resolve_release(release).release)
    found = explained(snapshot)
    assert "queue-not-allocatable" == found.cause_code
    told = "v1.11.2 admits jobs by their own queue alone; parents are asked at admission since v1.12.0 (#4119), "
    assert (release == "v1.11.2") is found.dominant.facts[0].startswith(told)


@pytest.mark.parametrize("group", ["podgroup-of-the-old-one", "podgroup-web", "made-by-hand"])
def test_a_pod_that_names_a_pod_group_that_volcanos_controller_made_and_is_gone_is_deleted(group: str) -> None:
    """The controller names the PodGroup by the owner's uid, here web."""
    pod = owned(pods(group, 1, cpu="1", prefix="web"), "StatefulSet", "web")
    other = [pod_group("other", phase="Running"), *pods("other", 1, on="n1")]
    snapshot = cluster(node("n1"), other, pod, conf=ENQUEUE)
    first = next(iter(proven(snapshot, "default/web-0")))
    again = "Delete web-0: StatefulSet web creates it again, with a PodGroup (Volcano's controller makes none for "
    assert first.startswith(again if group.startswith("podgroup-") else f"Create PodGroup default/{group}")
    own = "Volcano's controller makes a PodGroup of this name for StatefulSet web, which web-0 names"
    facts = explained(snapshot, "default/web-0").dominant.facts
    assert (group == "podgroup-web") is any(fact.startswith(own) for fact in facts)


@pytest.mark.parametrize(("stated", "first"), [("reserch", "set spec.queue to research"), ("xyz", "Create queue xyz")])
def test_a_queue_name_that_is_nearly_right_is_corrected_before_a_queue_is_created(stated: str, first: str) -> None:
    job = [pod_group("j", queue=stated), *pods("j", 1)]
    snapshot = cluster(node("n1"), queue("default"), queue("research"), job, conf=ENQUEUE)
    assert first in next(iter(proven(snapshot, "default/j")))


def test_a_job_in_a_queue_with_children_is_moved_to_one_of_them_first() -> None:
    tree = [queue("root"), queue("aaa", parent="root"), queue("org", parent="root"), queue("leaf", parent="org")]
    job = [pod_group("j", queue="org", phase="Pending", min_resources={"cpu": "1"}), *pods("j", 1)]
    conf = conf_of("gang", "predicates capacity", actions=ALL, arguments={"capacity": {"enableHierarchy": "true"}})
    first = next(iter(proven(cluster(node("n1"), tree, job, conf=conf), "default/j")))
    assert "Move default/j to queue leaf, a child of org" == first


@pytest.mark.parametrize(("known", "meant"), [("data", True), ("logs", False)])
def test_a_claim_that_does_not_exist_is_named_with_the_closest_one_of_the_namespace(known: str, meant: bool) -> None:
    metadata = {"name": known, "namespace": "default", "uid": known}
    claim = {"kind": "PersistentVolumeClaim", "apiVersion": "v1", "metadata": metadata, "status": {"phase": "Bound"}}
    mounts = [{"name": "empty", "emptyDir": {}}, {"name": "v", "persistentVolumeClaim": {"claimName": "dta"}}]
    job = [pod_group("j"), *pods("j", 1, volumes=mounts)]
    found = explained(cluster(node("n1"), [claim], job, conf=conf_of("gang", "predicates")))
    told = f"PersistentVolumeClaim dta is not in this snapshot (the namespace has {known}"
    assert f"{told}{'; did you mean data?' if meant else ''})." in found.dominant.facts
    edits = ("Pod/default/j-0:spec.volumes[1].persistentVolumeClaim.claimName=data",)
    assert meant is any(edits == line.edits for line in found.advised)


@pytest.mark.parametrize("labels", [{"app": "web"}, {"app": "other"}])
def test_preempt_is_not_the_cause_of_a_predicate_refusal(labels: dict[str, str]) -> None:
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    rules = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    replicas = [*pods("j", 1, on="n1"), *pods("j", 1, prefix="more", affinity=rules)]
    for each in replicas:
        each["metadata"]["labels"] = labels
    conf = conf_of("priority gang", "predicates", actions="allocate, preempt")
    hosts = [node("n1", labels={"kubernetes.io/hostname": "n1"})]
    found = explained(cluster(hosts, pod_group("j", phase="Running"), replicas, conf=conf))
    if labels["app"] == "web":
        assert "more-0 does not fit the only node: node(s) didn't match pod anti-affinity rules" in found.sentence
        assert "Its required podAntiAffinity conflicts with j-0 on n1." in found.dominant.facts
    else:
        assert found.scheduled


@pytest.mark.parametrize(("kind", "minimum"), [("SparkApplication", None), ("SparkApplication", "3"), ("MPIJob", None)])
def test_a_spark_application_without_a_minimum_is_told_where_to_state_it(kind: str, minimum: str | None) -> None:
    group = owned([pod_group("j", phase="Running", min_resources={"cpu": minimum} if minimum else None)], kind, "pi")
    snapshot = stated_by(kind, "pi", [*group, *pods("j", 1, on="n1"), *pods("j", 1, prefix="e", cpu="20")])
    advised = [line.text for line in explained(snapshot).advised if line.cannot_be_replayed]
    assert (kind == "SparkApplication" and not minimum) is any(
        "batchSchedulerOptions.resources" in one for one in advised
    )


@pytest.mark.parametrize(("asked", "vain"), [("9", True), ("8", False)])
def test_no_advice_to_wait_if_minresources_alone_exceed_the_queue_limit(asked: str, vain: bool) -> None:
    limited = queue("q", capability={"cpu": "8"})
    used = [pod_group("old", queue="q", phase="Running", min_resources={"cpu": "1"}), *pods("old", 1, cpu="1", on="n1")]
    waits = pod_group("j", queue="q", phase="Pending", min_resources={"cpu": asked})
    conf = conf_of("gang", "predicates proportion", actions=ALL)
    found = explained(cluster(node("n1"), limited, used, waits, conf=conf))
    assert "enqueue-queue-quota" == found.cause_code
    assert vain is ("minResources alone exceeds that, so waiting cannot help." in found.dominant.facts)
    assert vain is not ("Wait until jobs in queue q finish." in found.advice_texts)


@pytest.mark.parametrize("word", ["train", "default/train-x1"])
def test_a_rayjob_is_known_by_its_name_where_the_pod_group_names_its_raycluster(word: str) -> None:
    group = owned([pod_group("j")], "RayCluster", "train-x1")
    snapshot = stated_by("RayCluster", "train-x1", [*group, *pods("j", 1)], owners=("train",))
    assert "default/j" == find_subject(replay_cycle(snapshot), word).job
