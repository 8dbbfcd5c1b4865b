"""Why a filter refused a node: what the pod asks against what the node is."""

from typing import Any

import pytest

from tests.builders import cluster, conf_of, node, pod, pod_group
from vcdebug.explain.searches import why_refused
from vcdebug.framework.record import PredicateEvent
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay
from vcdebug.views.base import text_of
from vcdebug.views.node_page import node_page

PORTS = [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 8080}], "resources": {"requests": {"cpu": "1"}}}]


def zones(*values: str) -> Manifest:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": list(values)}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def refused(on: Manifest, *others: Manifest, **spec: Any) -> tuple[Recording, int, tuple[str, ...]]:
    asking = pod("j-0", "j", requests={"cpu": "1"}, **spec)
    recording = replay(cluster(on, pod_group("j"), asking, *others, conf=conf_of("gang", "predicates")))
    seq = recording.index.of_type(PredicateEvent)[0]
    event = recording.event(seq)
    assert isinstance(event, PredicateEvent)
    return recording, seq, why_refused(recording, seq, event, "n1")


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
def test_the_two_sides_that_do_not_go_together_are_named(on: Manifest, spec: Any, why: str) -> None:
    assert (why,) == refused(on, **spec)[2]


def test_the_pod_that_holds_a_port_is_named() -> None:
    holder = pod("h-0", "h", on="n1", containers=PORTS)
    recording, seq, why = refused(node("n1"), pod_group("h"), holder, containers=PORTS)
    assert ("host port 8080/TCP is taken by default/h-0",) == why
    assert any("taken by default/h-0" in text_of(line) for line in node_page(recording, seq, "n1").head)
