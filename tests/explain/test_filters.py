"""Why a filter refused a node: the pod's request against the node's properties."""

from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, pod, pod_group
from vcdebug.explain.decisions.dry_runs import checks_of_node
from vcdebug.explain.equation import Term
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.predicate_reasons import refusal_reasons
from vcdebug.framework.record import OpEvent, PredicateEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.views.nodes import node_page
from vcdebug.views.pieces import text_of
from vcdebug.views.statement import operation_table

PORTS = [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 8080}], "resources": {"requests": {"cpu": "1"}}}]


def zones(*values: str) -> Manifest:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def refused(on: Manifest, *others: Manifest, **spec: Any) -> tuple[Recording, int, tuple[str, ...]]:
    asking = pod("j-0", "j", requests={"cpu": "1"}, **spec)
    recording = replay_cycle(cluster(on, pod_group("j"), asking, *others, conf=conf_of("gang", "predicates")))
    seq = recording.index.seqs_of_type(PredicateEvent)[0]
    event = recording.event_at(seq)
    assert isinstance(event, PredicateEvent)
    return recording, seq, refusal_reasons(recording, seq, event, "n1")


@pytest.mark.parametrize(
    ("on", "spec", "why"),
    [
        (
            node("n1", labels={"zone": "c"}),
            {"affinity": zones("a", "b")},
            "affinity term 1: zone In (a, b), the node has zone=c",
        ),
        (node("n1"), {"nodeSelector": {"disk": "ssd"}}, "nodeSelector disk In (ssd), the node has no such label"),
        (
            node("n1", taints=[{"key": "gpu", "value": "a100", "effect": "NoSchedule"}]),
            {"tolerations": [{"key": "gpu", "operator": "Equal", "value": "h100"}]},
            "taint gpu=a100:NoSchedule; tolerations: gpu Equal h100",
        ),
        (
            node("n1", unschedulable=True),
            {},
            "the node is cordoned, and no toleration accepts node.kubernetes.io/unschedulable",
        ),
    ],
    ids=["affinity", "selector", "taint", "cordon"],
)
def test_filter_reason_names_the_pod_side_and_the_node_side(on: Manifest, spec: Any, why: str) -> None:
    assert (why,) == refused(on, **spec)[2]


def claiming(**request: Any) -> list[Manifest]:
    """The objects of a resource claim, and of a node with two devices, one of them allocated."""
    pool = {"name": "n1", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu", "nodeName": "n1", "pool": pool, "devices": [{"name": "a"}, {"name": "b"}]}
    wanted = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", **request}}]}}
    results = [{"driver": "gpu", "pool": "n1", "device": "a"}]
    taken = {"allocation": {"devices": {"results": results}}, "reservedFor": [{"resource": "pods", "name": "old"}]}
    return [
        {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": spec},
        {"kind": "DeviceClass", "metadata": {"name": "gpu"}},
        {"kind": "ResourceClaim", "metadata": {"name": "held", "namespace": "default"}, "status": taken},
        {"kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "default"}, "spec": wanted},
    ]


REFERS = [{"name": "g", "resourceClaimName": "c"}]


def test_devices_are_counted_where_too_few_are_free() -> None:
    recording, seq, _ = refused(node("n1"), *claiming(count=2), resourceClaims=REFERS)
    (check,) = [one.equation for one in checks_of_node(recording, seq, "n1") if "resource claims" in one.equation.title]
    assert [Term("default/c r", (2, 2, 1), None, "too few are free")] == list(check.terms)
    assert "cannot allocate all claims" == check.note
    found = explain_by_name(recording, "default/j").full_text
    assert "default/c requests 2 devices (request r); n1 has the most free: 1 of 2 matching devices (in use: " in found
    assert "(in use: default/old)." in found
    assert "the only node, n1, does not currently fit j-0" in found, "what is held comes back"


def test_freeing_devices_is_no_advice_where_no_node_has_enough_of_them() -> None:
    recording, _, _ = refused(node("n1"), *claiming(count=3), resourceClaims=REFERS)
    found = explain_by_name(recording, "default/j")
    assert "requests 3 devices (request r); the most matching devices on one node is 2 (n1)" in found.full_text
    assert "the only node, n1, does not fit j-0" in found.full_text
    assert any("Request 2 devices at most" in line for line in found.advice_texts)
    assert not any("free devices" in line for line in found.advice_texts)


def test_a_pool_that_its_driver_is_writing_is_no_obstacle_for_ever() -> None:
    objects = claiming(allocationMode="All")
    objects[0]["spec"]["pool"]["resourceSliceCount"] = 2
    recording, _, _ = refused(node("n1"), *objects, resourceClaims=REFERS)
    found = explain_by_name(recording, "default/j")
    assert "the only node, n1, does not currently fit j-0" in found.full_text
    assert any("Check the driver's ResourceSlices" in line for line in found.advice_texts)


@pytest.mark.parametrize(
    ("lacking", "advised"),
    [("ResourceSlice", "Check the selectors of the claim"), ("DeviceClass", "Create the DeviceClass")],
)
def test_devices_of_which_the_snapshot_lacks_a_kind_are_looked_for_first(lacking: str, advised: str) -> None:
    objects = [one for one in claiming(count=1) if one["kind"] != lacking]
    asking = pod("j-0", "j", requests={"cpu": "1"}, resourceClaims=REFERS)
    snapshot = cluster(node("n1"), pod_group("j"), asking, objects, conf=conf_of("gang", "predicates"))
    found = explain_by_name(replay_cycle(snapshot), "default/j")
    assert f"j-0 has resource claims, but the snapshot has no {lacking}: add the output of" in found.doubt
    assert any(advised in line for line in found.advice_texts)


@pytest.mark.parametrize(("count", "said"), [(1, "has no pods that the scheduler can read: 0"), (2, "has 1 of the 2")])
def test_a_pod_with_a_claim_that_does_not_exist_is_one_that_the_scheduler_leaves_out(count: int, said: str) -> None:
    pods = [pod(f"j-{number}", "j", requests={"cpu": "1"}) for number in range(count)]
    pods[0]["spec"]["resourceClaims"] = REFERS
    snapshot = cluster(node("n1"), pod_group("j", min_member=count), pods, conf=conf_of("gang", "predicates"))
    found = explain_by_name(replay_cycle(snapshot), "default/j")
    assert said in found.sentence
    assert ("The scheduler leaves out j-0: ResourceClaim default/c does not exist.",) == found.dominant.facts
    assert not any("Annotate" in line for line in found.advice_texts)


def test_explain_names_a_device_request_without_matching_nodes() -> None:
    nowhere = [{"cel": {"expression": "device.driver == 'tpu'"}}]
    recording, _, _ = refused(node("n1"), *claiming(selectors=nowhere), resourceClaims=REFERS)
    found = explain_by_name(recording, "default/j")
    assert "(request r); no node has a matching device" in found.full_text
    assert any("Check the selectors of the claim and its DeviceClass" in line for line in found.advice_texts)


def test_the_devices_that_a_claim_gets_are_named() -> None:
    recording, seq, _ = refused(node("n1"), *claiming(), resourceClaims=REFERS)
    (check,) = [one.equation for one in checks_of_node(recording, seq, "n1") if "resource claims" in one.equation.title]
    assert [Term("default/c r", (1, 2, 1), True, "takes n1/b")] == list(check.terms)
    (at,) = [at for at, one in enumerate(recording.events, 1) if isinstance(one, OpEvent) and one.op == "allocate"]
    event = recording.event_at(at)
    assert isinstance(event, OpEvent)
    assert "claim c gets n1/b" in [text_of(line) for line in operation_table(recording, at, event).footer]


def test_the_pod_that_holds_a_port_is_named() -> None:
    holder = pod("h-0", "h", on="n1", containers=PORTS)
    recording, seq, why = refused(node("n1"), pod_group("h"), holder, containers=PORTS)
    assert ("host port 8080/TCP is taken by default/h-0",) == why
    assert any("taken by default/h-0" in text_of(line) for line in node_page(recording, seq, "n1").header)
