"""Answers about what is made or failed outside the scheduler: operators, flows, kubelets, provisioners, budgets."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from tests.debugger.test_remedies import proven
from tests.pending.test_workloads import explained, owned, stated_by
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.manifest import WorkloadFacts
from vcdebug.snapshot.snapshot import Manifest, Snapshot


@pytest.mark.parametrize("suspended", [True, False])
def test_an_operators_object_without_a_pod_group_is_known_by_its_name(suspended: bool) -> None:
    other = [pod_group("j", phase="Running"), *pods("j", 1, on="n1")]
    facts = WorkloadFacts(suspended=suspended)
    snapshot = replace(cluster(node("n1"), other), workloads={"ml/SparkApplication etl": facts})
    found = explain_by_name(replay_cycle(snapshot), "ml/etl")
    reason = "it is suspended" if suspended else "its operator has made no PodGroup and no pods for it"
    assert f"SparkApplication ml/etl is Pending: {reason}, so no scheduler knows it." == found.sentence
    assert suspended is (found.advice_texts == ("Resume it (suspend: false).",))


@pytest.mark.parametrize(
    ("targets", "told"),
    [
        ({"a": ["a"], "b": ["a"]}, "flow a depends on itself"),
        ({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}, "flows a, b, c depend on themselves or each other"),
        ({"a": [], "b": ["a"]}, "its controller has made no Job for it"),
    ],
)
def test_flows_that_depend_on_themselves_are_named(targets: dict[str, list[str]], told: str) -> None:
    flows = [{"name": name, "dependsOn": {"targets": needed}} for name, needed in targets.items()]
    metadata = {"name": "flow", "namespace": "default", "uid": "flow"}
    job_flow = {"apiVersion": "flow.volcano.sh/v1alpha1", "kind": "JobFlow", "metadata": metadata}
    snapshot = cluster(node("n1"), {**job_flow, "spec": {"flows": flows}})
    assert f"jobflow default/flow is Pending: {told}" in explain_by_name(replay_cycle(snapshot), "flow").sentence


@pytest.mark.parametrize(
    ("reason", "rejected"), [("OutOfcpu", True), ("UnexpectedAdmissionError", True), ("Error", False)]
)
def test_a_failed_pod_is_shown_with_its_reason_and_the_kubelet_that_rejected_it(reason: str, rejected: bool) -> None:
    failed, *_ = pods("j", 1, on="n1", phase="Failed")
    failed["status"].update({"reason": reason, "message": "no room"})
    foreign = pods("other", 2, on="n1", prefix="web")
    for each in foreign:
        each["spec"]["schedulerName"] = "default-scheduler"
    found = explained(cluster(node("n1"), pod_group("j", phase="Running"), failed, foreign), "default/j-0")
    assert f"default/j-0 is not Pending: it was already Failed when the cycle began ({reason})." == found.sentence
    assert 'The status of j-0 says: "no room".' == found.dominant.facts[0]
    kubelet = (
        "The kubelet of n1 rejected it after the scheduler had bound it; 2 pods of default-scheduler share the node."
    )
    assert rejected is (kubelet in found.dominant.facts)


@pytest.mark.parametrize("release", ["v1.10.0", "v1.13.3", "v1.15.1"])
@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            "enough resource: cpu, requested: 4000, used: 7500, capacity: 8000",
            "counts 4 cpu of other pods on n1, 3.5",
        ),
        (
            "enough resource: memory, requested: 1, used: 6442450944, capacity: 8",
            "counts 2Gi memory of other pods",
        ),
        (
            "enough resource: pods, requested: 1, used: 110, capacity: 110",
            "counts 2 pods of other pods on n1, 108",
        ),
        ("enough resource: cpu, requested: 4000, used: 4000, capacity: 8000", ""),
        ("no room", ""),
    ],
)
def test_a_kubelet_that_counts_more_than_the_scheduler_is_told_with_the_difference(
    release: str, message: str, told: str
) -> None:
    failed, *_ = pods("j", 1, on="n1", phase="Failed", cpu="4")
    failed["status"].update({"reason": "OutOfcpu", "message": f"Node didn't have {message}"})
    others = pods("o", 2, on="n1", cpu="2")
    for each in others:
        each["spec"]["containers"][0]["resources"]["requests"]["memory"] = "1Gi"
    snapshot = cluster(node("n1"), pod_group("j", phase="Running"), failed, pod_group("o"), others)
    found = explained(snapshot_at_release(snapshot, release), "default/j-0")
    facts = [fact for fact in found.dominant.facts if fact.startswith("Volcano counts ")]
    assert bool(told) is bool(facts)
    assert told in "".join(facts)


@pytest.mark.parametrize("reported", [True, False])
@pytest.mark.parametrize("known", [True, False])
def test_a_provisioner_that_is_no_csi_driver_is_ignored_before_a_driver_is_run(known: bool, reported: bool) -> None:
    """Without any CSINode the snapshot may lack those of the cluster."""
    name = "rancher.io/local"
    local = {"kind": "StorageClass", "metadata": {"name": "local", "uid": "l"}, "provisioner": name}
    driver = [{"kind": "CSIDriver", "metadata": {"name": name, "uid": "d"}, "spec": {}}] if known else []
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default", "uid": "data"},
        "spec": {"storageClassName": "local", "accessModes": ["ReadWriteOnce"]},
        "status": {"phase": "Pending"},
    }
    local["volumeBindingMode"] = "WaitForFirstConsumer"
    mount = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    own = {"kind": "CSINode", "metadata": {"name": "n1", "uid": "c"}, "spec": {"drivers": []}}
    objects = [node("n1"), local, *driver, claim, pod_group("j"), *pods("j", 1, volumes=mount)]
    snapshot = cluster(objects, [own] if reported else [])
    words = f"Start the scheduler with --ignored-provisioners={name}, since no CSIDriver has this name"
    first = next(iter(proven(snapshot, "default/j")), "")
    assert (reported and not known) is (words == first)
    assert reported is (f"Run CSI driver {name} on 1 node" in proven(snapshot, "default/j"))
    reason, found = f"j-0 mounts a volume of {name}, and no CSINode lists this driver", explained(snapshot)
    doubt = "" if reported else " (may change: the snapshot has no CSINode)"
    assert found.sentence == f"default/j is Pending{doubt}: {reason}."
    assert reported is ("kubectl get csinodes" not in found.doubt)
    assert reported is not any("kubectl get csinodes" in text for text in found.advice_texts)


@pytest.mark.parametrize(
    ("label", "cpu", "said"),
    [("karpenter.sh/nodepool", "3", True), ("karpenter.sh/nodepool", "1", False), ("example.com/pool", "3", False)],
)
def test_karpenter_is_named_where_its_nodes_are_full(label: str, cpu: str, said: bool) -> None:
    full = node("n1", cpu="4", labels={label: "a", "kind": "app"})
    running = [pod_group("old", phase="Running"), *pods("old", 1, cpu="3", on="n1")]
    job = [pod_group("j"), *pods("j", 1, cpu=cpu, nodeSelector={"kind": "app"})]
    fact = (
        "Karpenter can add nodes from a NodePool with kind=app, if there is one: the condition of 1 Pending pod says "
        '"Unschedulable".'
    )
    assert said is (fact in explained(cluster(full, node("n2", labels={"kind": "x"}), running, job)).dominant.facts)


@pytest.mark.parametrize("label", ["karpenter.sh/nodepool", "example.com/pool"])
def test_nodes_that_karpenter_adds_in_vain_are_told_where_the_queue_refuses(label: str) -> None:
    full = {**queue(), "spec": {"weight": 1, "capability": {"cpu": "2"}}}
    runs = pods("j", 1, cpu="2", on="n1", prefix="r")
    conf = conf_of("gang", "predicates proportion", actions="allocate")
    found = explained(
        cluster(node("n1", labels={label: "a"}), full, pod_group("j", phase="Running"), runs, pods("j", 1), conf=conf)
    )
    assert "queue-not-allocatable" == found.cause_code
    is_named = any(fact.startswith("New nodes do not help.") for fact in found.dominant.facts)
    assert label.startswith("karpenter") is is_named


def test_no_pod_that_a_disruption_budget_protects_is_deleted_and_the_budget_is_lowered() -> None:
    budget = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default", "uid": "web"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
        "status": {"disruptionsAllowed": 0},
    }
    web = [pod_group("web", phase="Running"), *pods("web", 2, cpu="2", on="n1", priority=1)]
    for each in web:
        each["metadata"]["labels"] = {"app": "web"}
    urgent = [pod_group("j", priority_class="top"), *pods("j", 1, cpu="2", priority=9)]
    conf = conf_of("priority pdb", "predicates", actions="allocate, preempt")
    found = list(
        proven(cluster(node("n1", cpu="4"), priority_class("top", 9), budget, *web, *urgent, conf=conf), "default/j")
    )
    assert "PodDisruptionBudget web: minAvailable 2 -> 1" in found
    assert not any(words.startswith("End") for words in found)


def test_an_inqueue_pod_group_without_pods_is_said_to_be_admitted_with_the_nodes_that_its_pods_would_fit() -> None:
    group = pod_group("j", min_member=2, min_resources={"cpu": "2"})
    found = explained(cluster(node("n1"), owned([group], "PyTorchJob", "mnist")))
    admitted = "It is admitted (Inqueue), so its controller may create them."
    assert any(
        fact.startswith(f"{admitted} 2 pods of 1 cpu") and fact.endswith("on n1.") for fact in found.dominant.facts
    )


VOLCANO_JOB = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
GROUP_NAME = "scheduling.k8s.io/group-name"


def volcano_job(name: str, policies: list[dict[str, str]] | None = None, group: str = "") -> Manifest:
    """A Volcano Job of one task whose template may name a PodGroup."""
    template = {"metadata": {"annotations": {GROUP_NAME: group}} if group else {}}
    spec = {"tasks": [{"name": "t", "replicas": 2, "template": template, "policies": policies or []}]}
    return {**VOLCANO_JOB, "metadata": {"name": name, "namespace": "default", "uid": name}, "spec": spec}


@pytest.mark.parametrize(
    ("kind", "events", "told"),
    [
        ("Job", [], "Job j has no policy for PodFailed, so j-0 stays Failed: add policies"),
        ("Job", ["PodEvicted"], "Job j has no policy for PodFailed"),
        ("Job", ["PodFailed"], "Job j has a policy for PodFailed"),
        ("Job", ["*"], "Job j has a policy for PodFailed"),
        ("PyTorchJob", [], "Its owner has to create it again."),
    ],
)
def test_a_gang_below_its_minimum_names_the_pod_that_its_kubelet_rejected(
    kind: str, events: list[str], told: str
) -> None:
    owner = "j" if kind == "Job" else "mnist"
    failed = owned(pods("j", 1, on="n1", phase="Failed", role="t"), kind, owner)
    failed[0]["status"].update({"reason": "UnexpectedAdmissionError", "message": "Requested: 1, Available: 0"})
    daemon = owned(pods("d", 1, on="n1"), "DaemonSet", "d")
    daemon[0]["spec"]["schedulerName"] = "default-scheduler"
    job = volcano_job("j", [{"event": event, "action": "RestartTask"} for event in events])
    found = explained(cluster(node("n1"), job, owned([pod_group("j")], kind, owner), failed, daemon))
    assert found.sentence.endswith("minMember requires; 1 is Failed (UnexpectedAdmissionError).")
    status = 'The status of j-0 says: "Requested: 1, Available: 0".'
    kubelet = "The kubelet of n1 rejected it after the scheduler had bound it."
    assert f"{status} {kubelet}" == found.dominant.facts[0]
    assert found.advice_texts[0].startswith(told)


@pytest.mark.parametrize("kind", ["StatefulSet", "ReplicaSet"])
@pytest.mark.parametrize("leader", ["Pending", "Running"])
def test_pods_below_a_leader_that_are_in_a_made_pod_group_are_recreated_in_the_leaders(kind: str, leader: str) -> None:
    head = pods("j", 1, on="n1" if leader == "Running" else "")
    below = owned([{"kind": kind, "metadata": {"name": "w", "namespace": "default", "uid": "w"}}], "Pod", "j-0")
    below[0]["metadata"]["ownerReferences"][0]["uid"] = head[0]["metadata"]["uid"]
    workers = owned(pods("podgroup-w", 2, on="n1", prefix="w"), kind, "w")
    groups = [pod_group("j", min_member=3), pod_group("podgroup-w", phase="Running")]
    snapshot = cluster(node("n1"), groups, head, below, workers)
    found = explained(snapshot)
    assert found.sentence.endswith("of the 3 pods that minMember requires; 2 more are in PodGroup podgroup-w.")
    assert found.dominant.facts[0].startswith(
        f"Volcano's controller made that PodGroup for {kind} w, since its pods w-0"
    )
    first, tried = next(iter(proven(snapshot, "default/j").items()))
    assert f"Recreate w-0, w-1 with PodGroup j as {GROUP_NAME} (template of {kind} w)" == first
    assert () == tried.outcome.costs


@pytest.mark.parametrize("named", [True, False])
def test_a_pod_group_that_only_a_template_of_a_volcano_job_names_is_to_be_deleted(named: bool) -> None:
    own = owned([pod_group("job-uid", phase="Running"), *pods("job-uid", 2, on="n1")], "Job", "job")
    job = volcano_job("job", group="mine" if named else "")
    snapshot = cluster(node("n1"), job, own, pod_group("mine", min_member=2, phase="Pending"))
    found = explained(snapshot, "default/mine")
    told = "it has 0 of the 2 pods that minMember requires; 2 more are in PodGroup job-uid."
    assert named is found.sentence.endswith(told)
    deleted = "Delete PodGroup mine; set minAvailable, queue and priorityClassName in Job job itself."
    assert named is ((deleted,) == found.advice_texts)
    if named:
        assert not proven(snapshot, "default/mine")


@pytest.mark.parametrize("nominated", [True, False])
def test_a_nominated_node_keeps_a_cluster_autoscaler_from_adding_one(nominated: bool) -> None:
    old = [pod_group("old", phase="Running"), *pods("old", 1, cpu="8", on="n1", deleting=True)]
    waits = pods("j", 1, cpu="8")
    waits[0]["status"] = {"phase": "Pending", **({"nominatedNodeName": "n1"} if nominated else {})}
    found = explained(cluster(node("n1"), old, pod_group("j"), waits))
    assert "pipelined" == found.cause_code
    assert nominated is any(
        fact.startswith("j-0: status.nominatedNodeName is set, so a cluster autoscaler")
        for fact in found.dominant.facts
    )


@pytest.mark.parametrize("has_class", [True, False])
@pytest.mark.parametrize("volume", ["", "pv-1"])
def test_a_bound_pod_whose_claim_has_no_volume_names_the_provisioner(has_class: bool, volume: str) -> None:
    found = bound_with_claim({"volumeName": volume} if volume else {}, *([{}] if has_class else []))
    assert (not volume) is found.sentence.endswith("on n1: PersistentVolumeClaim data has no volume yet.")
    maker = "provisioner local/nfs" if has_class else "the provisioner of StorageClass nfs"
    advice = f"Find out why {maker} makes none: kubectl -n default describe pvc data"
    assert (not volume) is (advice in found.advice_texts)


@pytest.mark.parametrize(
    ("mode", "annotation", "told"),
    [("WaitForFirstConsumer", "", True), ("WaitForFirstConsumer", "n1", False), ("Immediate", "", False)],
)
def test_a_claim_for_which_no_scheduler_has_named_the_node_is_not_the_provisioners(
    mode: str, annotation: str, told: bool
) -> None:
    annotations = {"volume.kubernetes.io/selected-node": annotation} if annotation else {}
    found = bound_with_claim({}, {"volumeBindingMode": mode}, annotations=annotations)
    assert told is any(
        "waits for annotation volume.kubernetes.io/selected-node" in words for words in found.advice_texts
    )
    assert told is not any("makes none" in words for words in found.advice_texts)


def bound_with_claim(
    spec: dict[str, str], *classes: dict[str, str], annotations: dict[str, str] | None = None
) -> Explanation:
    """The answer about a bound pod whose containers are created, with a claim of StorageClass nfs."""
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default", "uid": "data", "annotations": annotations or {}},
        "spec": {"storageClassName": "nfs", **spec},
        "status": {"phase": "Bound" if spec else "Pending"},
    }
    nfs = {"kind": "StorageClass", "metadata": {"name": "nfs", "uid": "nfs"}, "provisioner": "local/nfs"}
    mount = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    bound = pods("j", 1, on="n1", phase="Pending", volumes=mount)
    bound[0]["status"]["containerStatuses"] = [{"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}]
    involved = {"kind": "Pod", "namespace": "default", "name": "j-0"}
    event = {"kind": "Event", "metadata": {"name": "e", "namespace": "default", "uid": "e"}, "involvedObject": involved}
    event |= {"reason": "FailedMount", "message": "timed out", "source": {"component": "kubelet"}}
    made = [{**nfs, **one} for one in classes]
    return explained(cluster(node("n1"), made, claim, pod_group("j", phase="Running"), bound, event))


@pytest.mark.parametrize(("ends", "told"), [("2026-11-01T00:10:00Z", True), ("2026-11-01T00:00:20Z", False)])
def test_a_pod_that_terminates_for_long_is_said_to_be_waited_for_or_shortened(ends: str, told: bool) -> None:
    old = [pod_group("old", phase="Running"), *pods("old", 1, cpu="8", on="n1", deleting=True)]
    old[1]["metadata"]["deletionTimestamp"] = ends
    found = explained(cluster(node("n1"), old, pod_group("j"), pods("j", 1, cpu="8")))
    assert told is any(text.startswith("Wait up to 10m for old-0, or shorten") for text in found.advice_texts)


@pytest.mark.parametrize(
    ("kind", "count", "stated", "is_stale"),
    [
        ("TrainJob", 2, {}, True),
        ("PyTorchJob", 2, {"Master": 1, "Worker": 1}, True),
        ("Job", 3, {}, True),
        ("PyTorchJob", 2, {"Master": 1, "Worker": 8}, False),
        ("TrainJob", 1, {}, False),
    ],
)
def test_the_minimum_of_a_gang_whose_pods_all_exist_is_held_against_what_they_ask(
    kind: str, count: int, stated: dict[str, int], is_stale: bool
) -> None:
    """Nothing is said as long as pods are missing, by minMember or by what the owner states."""
    minimum = pod_group("j", min_member=2, phase="Pending", min_resources={"cpu": "40", "memory": "1Gi"})
    group = owned([minimum], kind, "llm")
    snapshot = stated_by(kind, "llm", [*group, *pods("j", count, cpu="1", memory="1Gi")], replicas=stated)
    found, fixes = explained(snapshot), proven(snapshot, "default/j")
    computed = "" if kind == "Job" else f", which the operator of {kind} llm computes,"
    fact = f"Its {count} pods ask only {count} cpu: minResources{computed} does not follow what the pods ask."
    assert is_stale == (fact in found.dominant.facts)
    assert is_stale == ("does not follow" in found.full_text)
    assert is_stale == (f"default/j: minResources.cpu 40 -> {count} (as its pods ask)" in fixes)
    reserved = [tried.outcome.reserved for words, tried in fixes.items() if "minResources" in words]
    assert is_stale == (bool(reserved) and not any(reserved))


def replicated(count: int, size: int, running: int, whole: int = 0) -> Snapshot:
    """Replicas of a LeaderWorkerSet on full nodes: the leaders in one PodGroup, each worker in its own.

    The last `whole` ones run all of their pods.
    """
    labels = "leaderworkerset.sigs.k8s.io"
    objects: list[Any] = [node(f"n{number}", cpu="1") for number in range(running)]
    objects += [node("big", cpu=str(whole * size))] if whole else []
    for index in range(count):
        on = "big" if index >= count - whole else f"n{index}" if index < running else ""
        leader, *workers = (f"vllm-{index}", *(f"vllm-{index}-{number}" for number in range(1, size)))
        made = [*pods("leaders", 1, prefix=leader, cpu="1", on=on)]
        for worker in workers:
            objects.append(pod_group(worker))
            made += pods(worker, 1, prefix=worker, cpu="1", on="big" if on == "big" else "")
        for each in made:
            each["metadata"]["labels"] = {f"{labels}/name": "vllm", f"{labels}/group-index": str(index)}
        objects += made
    return cluster(pod_group("leaders", phase="Running"), objects, conf=conf_of("gang", "predicates"))


@pytest.mark.parametrize(("count", "size", "running", "whole"), [(4, 2, 4, 2), (3, 2, 2, 1), (4, 3, 3, 1)])
def test_leaders_that_hold_the_room_of_workers_in_other_pod_groups_are_named(
    count: int, size: int, running: int, whole: int
) -> None:
    snapshot = replicated(count, size, running)
    found = explained(snapshot, "default/vllm-0-1")
    names = ", ".join(["vllm-0-0", *(f"vllm-0-{number}-0" for number in range(1, size))])
    fact = f"{names}, a replica of LeaderWorkerSet vllm, are in several PodGroups, so they are not a gang: "
    half = f"{running} of its {count} replicas run only some of their pods, and hold {running} cpu, "
    assert found.dominant.facts[0].startswith(f"{fact}{half}")
    advice = next(words for words in found.advice_texts if "schedulerProvider: volcano" in words)
    assert f"until then scale LeaderWorkerSet vllm to {whole}, since its {running} running pods" in advice
    assert not any("End" in words and "default/leaders" in words for words in proven(snapshot, "default/vllm-0-1"))


@pytest.mark.parametrize(("running", "whole", "target", "pods_running"), [(2, 1, 2, 4), (1, 1, 1, 3), (1, 2, 2, 5)])
def test_replicas_that_run_whole_count_for_the_scale_that_is_left(
    running: int, whole: int, target: int, pods_running: int
) -> None:
    found = explained(replicated(4, 2, running, whole), "default/vllm-0-1")
    verbs = "run only some of their pods, and hold" if running > 1 else "runs only some of their pods, and holds"
    assert f"{running} of its 4 replicas {verbs} {running} cpu, " in found.dominant.facts[0]
    (advice,) = [words for words in found.advice_texts if "schedulerProvider: volcano" in words]
    assert f"scale LeaderWorkerSet vllm to {target}, since its {pods_running} running pods make no more" in advice


def test_a_replica_in_one_pod_group_and_one_that_runs_nothing_hold_no_room() -> None:
    whole = replicated(2, 1, 1)
    assert "not a gang" not in explained(whole, "default/leaders").full_text
    found = explained(replicated(2, 2, 0), "default/vllm-0-1")
    assert "are in several PodGroups, so they are not a gang." in found.full_text
    assert "until then scale" not in " ".join(found.advice_texts)


@pytest.mark.parametrize("key", ["app", "app.kubernetes.io/instance"])
@pytest.mark.parametrize(("size", "deleted"), [(1, False), (2, True)])
def test_a_gang_that_shares_only_a_label_with_the_pod_can_make_room(key: str, size: int, deleted: bool) -> None:
    holders = [each for at in range(size) for each in pods("low", 1, prefix=f"low-{at}", cpu="1", on=f"n{at}")]
    made = [*holders, *pods("high", 1, cpu="1")]
    for each in made:
        each["metadata"]["labels"] = {key: "x"}
    groups = [pod_group("low", phase="Running"), pod_group("high")]
    hosts = [node(f"n{at}", cpu="1") for at in range(size)]
    fixes = proven(cluster(hosts, *groups, *made, conf=conf_of("gang", "predicates")), "default/high")
    assert deleted is any("End" in words and "default/low" in words for words in fixes)
