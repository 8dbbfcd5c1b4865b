"""Answers about what is made or failed outside the scheduler: operators, flows, kubelets, provisioners, budgets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class
from tests.debugger.test_remedies import proven
from tests.pending.test_workloads import explained, owned
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.manifest import WorkloadFacts


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


@pytest.mark.parametrize("known", [True, False])
def test_a_provisioner_that_is_no_csi_driver_is_ignored_before_a_driver_is_run(known: bool) -> None:
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
    snapshot = cluster(node("n1"), local, driver, claim, pod_group("j"), pods("j", 1, volumes=mount))
    words = f"Start the scheduler with --ignored-provisioners={name}, since no CSIDriver has this name"
    first = next(iter(proven(snapshot, "default/j")))
    assert (not known) is (words == first)


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
    assert not any(words.startswith("Delete") for words in found)


def test_an_inqueue_pod_group_without_pods_is_said_to_be_admitted_with_the_nodes_that_its_pods_would_fit() -> None:
    group = pod_group("j", min_member=2, min_resources={"cpu": "2"})
    found = explained(cluster(node("n1"), owned([group], "PyTorchJob", "mnist")))
    admitted = "It is admitted (Inqueue), so its controller may create them."
    assert any(
        fact.startswith(f"{admitted} 2 pods of 1 cpu") and fact.endswith("on n1.") for fact in found.dominant.facts
    )
