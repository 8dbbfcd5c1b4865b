"""Nodes that a plugin refuses by load or running pods: the answer has the figures, and the fix changes them."""

import pytest

from tests.builders import cluster, conf_of, metadata, node, pod, pod_group, pods, queue
from tests.debugger.test_remedies import proven
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.manifest import name_of
from vcdebug.snapshot.snapshot import Manifest, Snapshot
from vcdebug.whatif.branch import edited_snapshot

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


def loaded(*nodes: Manifest, loads: dict[str, float], threshold: int = 80, **options: str) -> Snapshot:
    """A gang of two pods and these nodes with their measured cpu load in percent."""
    usage = {"usage": {"arguments": f"{{thresholds: {{cpu: {threshold}, mem: 90}}}}", **options}}
    conf = conf_of("gang", "predicates usage", arguments=usage)
    snapshot = cluster(*nodes, pod_group("j", min_member=2), pods("j", 2, cpu="3"), conf=conf)
    time = snapshot.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    snapshot.usage = {name: {"time": time, "cpu": {"10m": load}, "mem": {"10m": 1}} for name, load in loads.items()}
    return snapshot


@pytest.mark.parametrize("switch", ["true", "false"])
def test_a_filter_that_is_switched_off_rejects_no_node(switch: str) -> None:
    """The node lacks room as well, which is no reason to name its load."""
    snapshot = loaded(node("n1", cpu="4"), loads={"n1": 95}, enablePredicate=switch)
    held = cluster(pod_group("b", phase="Running"), pods("b", 1, cpu="2", on="n1")).objects
    for kind in ("PodGroup", "Pod"):
        snapshot.objects[kind] = [*snapshot.objects[kind], *held[kind]]
    assert ("Plugin usage rejects" in explained(snapshot).full_text) is (switch == "true")


@pytest.mark.parametrize(("load", "left"), [(95, "n1 has 1 left"), (60, "")])
def test_the_pod_that_a_gang_lacks_is_explained_by_the_plugin_that_rejects_it(load: float, left: str) -> None:
    """Node n2 has more room than n1, which then is not the node with the most left."""
    found = explained(loaded(node("n1", cpu="4"), node("n2", cpu="4"), loads={"n1": 10, "n2": load}))
    assert found.scheduled is (not left)
    rejects = "Plugin usage rejects nodes with a measured cpu load above 80 %: n2 95 %."
    assert bool(left) is (rejects in found.dominant.facts)
    assert left in found.full_text
    assert "n1 has the most left" not in found.full_text


GROUPED = {"volcano.sh/nodegroup-name": "g1"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def grouped(affinity: dict[str, dict[str, list[str]]], limits: str = "", count: int = 2) -> Snapshot:
    """A gang in a queue with this affinity, two nodes of group g1 and one of g2."""
    stated = {"volcano.sh/nodegroup-resource-limits": limits} if limits else {}
    others = [node("m1", cpu="2", labels={"volcano.sh/nodegroup-name": "g2"})]
    nodes = [node(name, cpu="4", labels=GROUPED) for name in ("n1", "n2")]
    asks = [pod_group("j", queue="q", min_member=count), *pods("j", count, cpu="3")]
    conf = conf_of("gang", "predicates nodegroup")
    return cluster(nodes, others, queue("q", affinity=affinity, annotations=stated), asks, conf=conf)


IN_G1 = {"nodeGroupAffinity": {REQUIRED: ["g1"]}}


def test_a_limit_of_a_node_group_is_named_with_what_uses_it_up() -> None:
    snapshot = grouped(IN_G1, '{"g1": {"memory": "64Gi", "cpu": "4"}}')
    annotation = "(annotation volcano.sh/nodegroup-resource-limits)"
    used = f"Queue q may use 4 cpu of node group g1 {annotation}; its pods use 3 cpu there, and j-1 asks 3 cpu."
    assert used in explained(snapshot).dominant.facts
    assert "Queue q: raise its limit of node group g1 from 4 cpu to 6" in proven(snapshot, "default/j")
    assert explained(grouped(IN_G1, '{"g1": {"cpu": "6"}}')).scheduled


@pytest.mark.parametrize("limits", ['{"g1": {"cpu": "x"}}', "g1: 4", "[]"])
def test_limits_of_node_groups_that_cannot_be_read_are_the_cause(limits: str) -> None:
    snapshot, annotation = grouped(IN_G1, limits), "volcano.sh/nodegroup-resource-limits"
    invalid = f"Annotation {annotation} of queue q is invalid, so nodegroup rejects every node."
    assert invalid in explained(snapshot).dominant.facts
    assert {f"Correct annotation {annotation} of queue q, or remove it (lifts its limits)"} == {
        *proven(snapshot, "default/j")
    }


@pytest.mark.parametrize(
    ("affinity", "allowed", "reads"),
    [
        ({"nodeGroupAntiAffinity": {REQUIRED: ["g2"]}}, ["g1"], "Queue q has nodeGroupAntiAffinity only"),
        ({"nodeGroupAffinity": {REQUIRED: ["g2"]}}, ["g2", "g1"], "Queue q may use node group g2 only"),
    ],
)
def test_a_queue_keeps_its_own_rules_when_it_may_use_one_more_node_group(
    affinity: dict[str, dict[str, list[str]]], allowed: list[str], reads: str
) -> None:
    snapshot = grouped(affinity)
    assert reads in explained(snapshot).full_text
    (plan,) = [one.plan for words, one in proven(snapshot, "default/j").items() if "spec.affinity allows" in words]
    edited = edited_snapshot(snapshot, map(parse_edit, plan.all_edits))
    stated = next(each for each in edited.objects_of("Queue") if name_of(each) == "q")["spec"]["affinity"]
    assert {**affinity, "nodeGroupAffinity": {REQUIRED: allowed}} == stated


@pytest.mark.parametrize(("cpu", "memory", "kept"), [(1.5, 0, "6 cpu"), (0, 20, "74.5Gi memory")])
def test_what_a_node_keeps_free_for_idle_devices_is_named(cpu: float, memory: float, kept: str) -> None:
    rates = f'{{"nvidia.com/gpu.cpu": {cpu}, "nvidia.com/gpu.memory": {memory}}}'
    listed = f'{{proportional: {{enable: true, resources: "nvidia.com/gpu", resourceProportion: {rates}}}}}'
    plugin = "resource-strategy-fit"
    conf = conf_of("gang", f"predicates {plugin}", arguments={plugin: {"arguments": listed}})
    large = node("n1", cpu="8", memory="64Gi", **{"nvidia.com/gpu": "4"})
    found = explained(cluster(large, pod_group("j"), pods("j", 1, cpu="4", memory="4Gi"), conf=conf))
    assert f"On n1 {plugin} keeps {kept} free for 4 idle nvidia.com/gpu" in found.full_text
    assert any("resourceProportion" in text for text in found.advice_texts)


@pytest.mark.parametrize("reports", [True, False])
def test_an_added_node_follows_the_numa_policy_of_the_one_that_it_copies(reports: bool) -> None:
    """A pod that no NUMA node holds fits a like node only where nothing reports its NUMA nodes."""
    limited = {"cpu": "6", "memory": "1Gi"}
    waits = pod("j-0", "j", requests=limited)
    waits["spec"]["containers"][0]["resources"]["limits"] = limited
    others = [pod_group("b", phase="Running"), *pods("b", 1, cpu="4", on="n1")]
    own = [topology("n1", "single-numa-node")] if reports else others
    snapshot = cluster(node("n1", cpu="8"), own, pod_group("j"), waits, conf=NUMA)
    assert reports is ("Add 1 node like n1" not in proven(snapshot, "default/j"))


@pytest.mark.parametrize("used", ["1", "4", "6"])
def test_cpus_that_no_pod_requests_but_a_numatopology_counts_are_said_to_be_possibly_out_of_date(used: str) -> None:
    listed = topology("n1", "single-numa-node")
    listed["spec"]["numares"]["cpu"]["allocatable"] = "0-1,4-5"
    runs = [pod_group("r", phase="Running"), pod("r-0", "r", on="n1", requests={"cpu": used, "memory": "1Gi"})]
    snapshot = asking("single-numa-node", node("n1", cpu="8"), listed, *runs)
    for container in snapshot.objects["Pod"][0]["spec"]["containers"]:
        container["resources"] = {key: {"cpu": "3", "memory": "1Gi"} for key in ("limits", "requests")}
    facts = " ".join(explained(snapshot).dominant.facts)
    stale = f"Numatopology n1 counts 4 CPUs as taken, and the pods there request {used} cpu: it can be out of date"
    assert (used == "1") is (stale in facts)


@pytest.mark.parametrize(
    ("policy", "cpus", "free", "held"),
    [
        ("single-numa-node", "2", "0,4", True),
        ("single-numa-node", "5", "0,4-7", False),
        ("single-numa-node", "5", "0-7", False),
        ("restricted", "2", "0", True),
    ],
)
def test_evictions_cannot_help_is_not_said_where_running_pods_hold_the_cpus(
    policy: str, cpus: str, free: str, *, held: bool
) -> None:
    listed = topology("n1", policy)
    listed["spec"]["numares"]["cpu"]["allocatable"] = free
    whole = {"cpu": cpus, "memory": "1Gi"}
    waits = pod("j-0", "j", requests=whole, annotations={"volcano.sh/numa-topology-policy": policy})
    waits["spec"]["containers"][0]["resources"]["limits"] = whole
    found = explained(cluster(pod_group("j"), waits, node("n1", cpu="8"), listed, conf=NUMA))
    assert f"asks {cpus} whole CPUs under policy {policy}" in found.full_text
    assert held is ("Evictions cannot help." not in found.full_text)
