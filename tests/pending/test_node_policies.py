"""Nodes that a plugin refuses by load or running pods: the answer has the figures, and the fix changes them."""

import pytest

from tests.builders import cluster, conf_of, metadata, node, pod, pod_group
from tests.debugger.test_remedies import proven
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.snapshot import Manifest, Snapshot

NUMA = conf_of("gang", "predicates numa-aware")
WHOLE_CPUS = {"cpu": "2", "memory": "1Gi"}


def explained(snapshot: Snapshot) -> Explanation:
    return explain_by_name(replay_cycle(snapshot), "default/j")


def topology(name: str, policy: str, manager: str = "static") -> Manifest:
    detail = {str(cpu): {"numa": cpu // 4, "socket": cpu // 4, "core": cpu // 2} for cpu in range(8)}
    return {
        "apiVersion": "nodeinfo.volcano.sh/v1alpha1",
        "kind": "Numatopology",
        "metadata": metadata(name),
        "spec": {
            "policies": {"CPUManagerPolicy": manager, "TopologyManagerPolicy": policy},
            "numares": {"cpu": {"allocatable": "0-7", "capacity": 8}},
            "cpuDetail": detail,
        },
    }


def asking(policy: str, *objects: Manifest) -> Snapshot:
    waits = pod("j-0", "j", requests=WHOLE_CPUS, annotations={"volcano.sh/numa-topology-policy": policy})
    waits["spec"]["containers"][0]["resources"]["limits"] = WHOLE_CPUS
    return cluster(pod_group("j"), waits, *objects, conf=NUMA)


def test_a_pod_of_another_numa_policy_than_the_kubelets_takes_theirs_or_they_take_its() -> None:
    nodes = [node(name, cpu="8") for name in ("n1", "n2")]
    snapshot = asking("single-numa-node", *nodes, topology("n1", "restricted"), topology("n2", "restricted"))
    said = "The kubelets of n1, n2 run NUMA policy restricted; j-0 asks for single-numa-node."
    assert said in explained(snapshot).dominant.facts
    own, kubelet, *_, last = proven(snapshot, "default/j")
    assert "1 pod: NUMA policy single-numa-node -> restricted (the policy of n1, n2)" == own
    assert "Drain n1, then configure its kubelet: TopologyManagerPolicy restricted -> single-numa-node" == kubelet
    assert "Bypass: remove the NUMA policy of 1 pod (single-numa-node is then not kept)" == last


def test_a_kubelet_without_exclusive_cpus_is_told_apart_from_a_node_that_reports_nothing() -> None:
    snapshot = asking("restricted", node("n1", cpu="8"), node("n2", cpu="8"), topology("n1", "restricted", "none"))
    facts = explained(snapshot).dominant.facts
    assert "The kubelet of n1 runs CPU manager policy none, not static." in facts
    assert "Nothing in the snapshot says which policies n2 follow (no Numatopology object)." in facts
    first = next(iter(proven(snapshot, "default/j")))
    assert "Drain n1, then configure its kubelet: CPUManagerPolicy none -> static" == first


@pytest.mark.parametrize(("measured", "raised"), [((4.5, 12.0), 5), ((40.0, 12.0), 12)])
def test_a_threshold_that_keeps_pods_off_every_node_is_named_with_the_loads(
    measured: tuple[float, float], raised: int
) -> None:
    thresholds = {"usage": {"arguments": "{thresholds: {cpu: 3, mem: 80}}"}}
    conf = conf_of("gang", "predicates usage", arguments=thresholds)
    waits = pod("j-0", "j", requests={"cpu": "1"})
    snapshot = cluster(node("n0"), node("n1"), pod_group("j"), waits, conf=conf)
    time = snapshot.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    usage = {f"n{at}": {"time": time, "cpu": {"10m": load}, "mem": {"10m": 1}} for at, load in enumerate(measured)}
    snapshot.usage = usage
    found = explained(snapshot)
    assert "currently fits" in found.sentence
    lowest = ", ".join(f"{name} {load:g} %" for load, name in sorted(zip(measured, usage, strict=True)))
    assert f"Plugin usage rejects nodes with a measured cpu load above 3 %: {lowest}." in found.dominant.facts
    assert f"usage: thresholds.cpu 3 -> {raised} percent" == next(iter(proven(snapshot, "default/j")))
