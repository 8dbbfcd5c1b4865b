"""Problems of an input besides its manifests: unread arguments, unhealthy nodes."""

from typing import Any

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, queue
from vcdebug.recording.input_problems import input_problems
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Manifest
from vcdebug.views.conf import conf_table
from vcdebug.views.nodes import nodes_table


def lines(*objects: Manifest, conf: str | None = None) -> list[str]:
    return [problem.format_line() for problem in input_problems(replay_cycle(cluster(*objects, conf=conf)))]


def unready(name: str) -> Manifest:
    manifest = node(name)
    manifest["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    return manifest


def test_an_argument_that_its_plugin_does_not_read_is_a_problem() -> None:
    arguments = {"arguments": {"predicate.ProportionalEnable": True, "predicate.CacheEnable": True}}
    problems = lines(node("n1"), conf=conf_of("predicates", arguments={"predicates": arguments}))
    expected = "volcano-scheduler.conf: plugin predicates: arguments.predicate.ProportionalEnable: "
    assert [expected] == [line[: len(expected)] for line in problems]


@pytest.mark.parametrize("release", ["v1.10.0", "v1.13.0", "v1.15.1", ""])
@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ({"cpu": 3, "mem": 20}, ""),
        (
            {"CPUUsageAvg.5m": 3},
            "thresholds.CPUUsageAvg.5m: the plugin does not read it, but cpu (80 by default), mem (8",
        ),
        ({"CPUUsageAvg.5m": 3, "m": 9}, "thresholds.CPUUsageAvg.5m, m: the plugin does not read them, but cpu"),
        ({"cpu": 3, "memory": 20}, "thresholds.memory: the plugin does not read it, but mem (80 by default); misspelt"),
    ],
)
def test_a_key_in_a_map_that_its_plugin_does_not_read_is_a_problem(
    release: str, section: dict[str, int], expected: str
) -> None:
    """A plugin without the threshold that a user means to set accepts nodes above it."""
    conf = conf_of("usage", arguments={"usage": {"arguments": {"thresholds": section}}})
    snapshot = cluster(node("n1"), conf=conf)
    recording = replay_cycle(snapshot_at_release(snapshot, release) if release else snapshot)
    told = [one.format_line() for one in input_problems(recording) if "arguments." in one.format_line()]
    assert bool(expected) is bool(told)
    assert expected in "".join(told)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"capability": {"cpu": "4", "mem": "8Gi"}},
            "spec.capability: mem is not the name of a resource (did you mean memory?)",
        ),
        ({"deserved": {"gpu": "4"}}, "spec.deserved: gpu is not the name of a resource (did you mean nvidia.com/gpu?)"),
        ({"guarantee": {"CPU": "1"}}, "spec.guarantee.resource: CPU is not the name of a resource (did you mean cpu?)"),
        (
            {"capability": {"xyz": "1"}},
            "spec.capability: xyz is not the name of a resource; the scheduler ignores this amount",
        ),
        ({"capability": {"cpu": "1", "memory": "1", "pods": "1", "nvidia.com/gpu": "1", "hugepages-2Mi": "1"}}, ""),
        ({"capability": {"ephemeral-storage": "1", "attachable-volumes-ebs": "0", "volcano.sh/vgpu-number": "1"}}, ""),
    ],
)
def test_an_amount_of_a_queue_under_a_name_of_no_resource_is_a_problem(fields: dict[str, Any], expected: str) -> None:
    """A limit of `mem` limits nothing."""
    told = lines(node("n1", gpu="8"), queue("q", **fields), conf=conf_of("gang"))
    assert ([f"Queue q: {expected}"] if expected else []) == [line[: len(f"Queue q: {expected}")] for line in told]


@pytest.mark.parametrize("key", ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable", "own/taint"])
def test_a_node_that_is_not_ready_is_no_problem_with_the_taint_that_says_so(key: str) -> None:
    manifest = unready("n1")
    manifest["spec"]["taints"] = [{"key": key, "effect": "NoSchedule"}]
    assert (key == "own/taint") is bool(lines(manifest, node("n2"), conf=conf_of("predicates")))


def test_a_node_that_is_not_ready_is_remarked() -> None:
    problems = lines(unready("n1"), node("n2"), conf=conf_of("predicates"))
    assert ["Node n1: status.conditions: the condition Ready is Unknown"] == [
        line.partition(";")[0] for line in problems
    ]
    assert "Ready is Unknown" in nodes_table(replay_cycle(cluster(unready("n1"))), 1).rows[0].cells[-1].text


def test_a_node_whose_pods_hold_more_than_it_has_is_remarked() -> None:
    objects = node("n1", cpu="2"), pod_group("j"), pods("j", 3, cpu="1", on="n1")
    recording = replay_cycle(cluster(*objects, conf=conf_of("predicates")))
    assert ["Node n1: status.allocatable: pods hold more cpu than the node has"] == [
        problem.format_line().partition(";")[0] for problem in input_problems(recording)
    ]
    assert "idle below 0: cpu" == nodes_table(recording, 1).rows[0].cells[-1].text


def test_the_nodes_are_looked_through_once() -> None:
    recording = replay_cycle(cluster(unready("n1"), conf=conf_of("predicates")))
    assert input_problems(recording) is input_problems(recording)


def claiming() -> list[Manifest]:
    """A pod with an unallocated claim, two devices of which one is tainted, and a taint rule."""
    claim = {"kind": "ResourceClaim", "metadata": {"name": "c", "namespace": "default"}, "spec": {"devices": {}}}
    taint = {"key": "broken", "effect": "NoSchedule"}
    devices = [{"name": "a", "taints": [taint]}, {"name": "b", "taints": [{"key": "noted", "effect": "None"}]}]
    slices = {"kind": "ResourceSlice", "metadata": {"name": "s"}, "spec": {"devices": devices}}
    rule = {"kind": "DeviceTaintRule", "metadata": {"name": "r"}, "spec": {"taint": taint}}
    asking = pod("j-0", "j", requests={"cpu": "1"}, resourceClaims=[{"name": "g", "resourceClaimName": "c"}])
    return [node("n1"), pod_group("j"), asking, claim, slices, rule]


@pytest.mark.parametrize(
    ("server", "gates", "slices", "rules"),
    [
        ((1, 36), {}, "", "its feature gate DRADeviceTaintRules is off"),
        ((1, 36), {"DRADeviceTaintRules": True}, "", "the scheduler uses it; the replay does not"),
        ((1, 35), {}, "its feature gate DRADeviceTaints is off", "its feature gate DRADeviceTaints is off"),
    ],
)
def test_taints_that_do_not_count_are_named_where_claims_wait(
    server: tuple[int, int], gates: dict[str, bool], slices: str, rules: str
) -> None:
    snapshot = cluster(*claiming(), conf=conf_of("predicates", actions="allocate"))
    snapshot.flags = replace(snapshot.flags, server_version=server, feature_gates=gates)
    *first, last = [problem.format_line() for problem in input_problems(replay_cycle(snapshot))]
    assert bool(slices) is bool(first)
    assert all(line.startswith("ResourceSlice s: spec.devices: 1 of 2 devices have taints") for line in first)
    assert all(slices in line for line in first)
    assert last.startswith("DeviceTaintRule r: spec.taint: it taints devices")
    assert rules in last


def test_tainted_devices_are_no_problem_where_no_claim_waits() -> None:
    assert [] == lines(*(one for one in claiming() if one["kind"] != "Pod"), conf=conf_of("predicates"))


def test_pods_that_the_scheduler_does_not_see_are_named_with_what_they_lack() -> None:
    lost = pod("j-0", "j", resourceClaims=[{"name": "c", "resourceClaimName": "gone"}])
    nameless = pod("j-1", "j", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": ""}}])
    said = lines(node("n1"), pod_group("j"), lost, nameless, conf=conf_of("gang"))
    assert "Pod default/j-0: spec: ResourceClaim default/gone does not exist" in said[0]
    assert "Pod default/j-1: spec: a PersistentVolumeClaim has no name" in said[1]
    assert "the scheduler does not see the pod at all" in said[0]


CONF_WITH_REPLACED_VALUES = """\
actions: "enqueue, allocate, preempt"
configurations:
- name: preempt
  arguments: {enableTopologyAwarePreemption: "yes"}
tiers:
- plugins:
  - name: sla
    arguments: {sla-waiting-time: abc}
  - name: overcommit
    arguments: {overcommit-factor: 0.5}
  - name: nodeorder
    arguments: {leastrequested.weight: abc, nodeaffinity.weight: 3}
  - name: binpack
    arguments: {binpack.weight: -4, binpack.cpu: -1, binpack.memory: 2}
"""
REPLACED = {
    "arguments.enableTopologyAwarePreemption": "false",
    "arguments.sla-waiting-time": "none",
    "arguments.overcommit-factor": "1.2",
    "arguments.leastrequested.weight": "1",
    "arguments.binpack.cpu": "1",
}


def test_values_that_the_scheduler_does_not_use_are_named_with_what_is_in_force() -> None:
    job = [pod_group("job"), *pods("job", 1)]
    recording = replay_cycle(cluster(node("n1"), queue("default"), job, conf=CONF_WITH_REPLACED_VALUES))
    found = {problem.field: problem.effect for problem in input_problems(recording)}
    assert {field: f"{value} is in force" for field, value in REPLACED.items()} == {
        field: effect for field, effect in found.items() if field.startswith("arguments.")
    }
    shown = "\n".join(row.cells[2].text for row in conf_table(recording).rows if row.cells[0].text == "in force")
    assert all(f"{field.removeprefix('arguments.')}: {value}, since" in shown for field, value in REPLACED.items())
