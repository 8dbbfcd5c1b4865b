"""Clusters for what the recordings lack: several candidates of a dry run, trials that overlap, tiers in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.builders import cluster, conf_of, hyper_node, node, pod, pod_group, pods, priority_class, queue
from vcdebug.snapshot.manifest import name_of
from vcdebug.snapshot.snapshot import Manifest, Snapshot

DRY_RUN = {"enableTopologyAwarePreemption": True, "minCandidateNodesAbsolute": 9, "minCandidateNodesPercentage": 100}
CLASSES = [priority_class(f"p{value}", value) for value in (1, 50, 100)]


def dry_run(victims: Mapping[str, Sequence[tuple[int, str]]]) -> Snapshot:
    """A pod that needs a whole node, and for each node the (priority, start) of the pods that fill it."""
    running = [
        pod(f"{name}-{at}", "low", on=name, requests={"cpu": str(4 // len(pods))}, priority=priority)
        | {"status": {"phase": "Running", "startTime": start}}
        for name, pods in victims.items()
        for at, (priority, start) in enumerate(pods)
    ]
    return cluster(
        [node(name, cpu="4") for name in victims],
        CLASSES,
        pod_group("low", priority_class="p1", min_member=0),
        running,
        pod_group("high", priority_class="p100"),
        pods("high", 1, cpu="4", priority=100),
        conf=conf_of("priority gang predicates", actions="allocate, preempt").replace(
            "tiers:", f"configurations:\n- name: preempt\n  arguments: {DRY_RUN}\ntiers:"
        ),
    )


def over_priorities(*tiers: str, action: str) -> Snapshot:
    """Pods of three priorities in two queues fill a node; one of the first queue needs the room of two."""
    running = [
        manifest
        for at, value in enumerate((1, 50, 1))
        for manifest in (
            pod_group(f"r{at}", queue="second", priority_class=f"p{value}"),
            pod(f"r{at}-0", f"r{at}", on="n1", requests={"cpu": "2"}, priority=value),
        )
    ]
    queues = [queue("default", weight=3), queue("second")]
    waiting: list[Manifest] = [pod_group("w", priority_class="p100"), *pods("w", 1, cpu="4", priority=100)]
    if action == "preempt":
        for manifest in running:
            manifest["spec"].pop("queue", None)
    return cluster(node("n1", cpu="6"), CLASSES, queues, running, waiting, conf=conf_of(*tiers, actions=action))


def dry_run_of_two_dimensions() -> Snapshot:
    """A pod that needs cpu and memory of a node: with either victim there, another of the two would be short."""
    snapshot = dry_run({"n1": [(1, EARLY), (1, EARLY)]})
    for name, requests in (
        ("n1-0", {"cpu": "4", "memory": "1Gi"}),
        ("n1-1", {"cpu": "0", "memory": "90Gi"}),
        ("high-0", {"cpu": "2", "memory": "50Gi"}),
    ):
        (found,) = (one for one in snapshot.objects_of("Pod") if name_of(one) == name)
        found["spec"]["containers"][0]["resources"]["requests"] = requests
    return snapshot


def capped_parent() -> Snapshot:
    """A queue's sibling uses up what their parent may have; the node has room."""
    return cluster(
        node("n1", cpu="20"),
        queue("top", capability={"cpu": "4"}, parent="root"),
        [queue("root"), queue("a", parent="top"), queue("b", parent="top"), queue("c", parent="root")],
        pod_group("holder", queue="b"),
        pods("holder", 1, cpu="4", on="n1"),
        pod_group("beside", queue="c"),
        pods("beside", 1, cpu="1", on="n1"),
        pod_group("w", queue="a"),
        pods("w", 1, cpu="2"),
        conf=conf_of("gang", "capacity predicates", arguments={"capacity": {"enableHierarchy": "true"}}),
    )


def overlapping_trials() -> Snapshot:
    """A gang that fits both of two HyperNodes that share a node: each is tried, and one plan is carried out."""
    return cluster(
        [node("n1", cpu="4"), node("n2", cpu="6"), node("n3", cpu="8")],
        hyper_node("h1", 1, nodes=("n1", "n2")),
        hyper_node("h2", 1, nodes=("n2", "n3")),
        pod_group("j", min_member=2, min_resources={"cpu": "4"}, networkTopology=TIER_1),
        pods("j", 2, cpu="2"),
        conf=conf_of("gang", "predicates nodeorder binpack network-topology-aware"),
    )


TIER_1 = {"mode": "hard", "highestTierAllowed": 1}
EARLY, LATE = "2026-10-31T10:00:00Z", "2026-10-31T11:00:00Z"
MADE = {
    "lowest top priority": dry_run({"n1": [(50, EARLY)], "n2": [(1, EARLY), (1, EARLY)]}),
    "lowest sum": dry_run({"n1": [(50, EARLY), (50, EARLY)], "n2": [(50, EARLY), (1, EARLY)]}),
    "fewest in the sum": dry_run({"n1": [(50, EARLY), (1, EARLY)], "n2": [(50, EARLY)]}),
    "latest start": dry_run({"n1": [(50, EARLY)], "n2": [(50, LATE)]}),
    "latest start of three": dry_run({"n1": [(50, EARLY)], "n2": [(50, LATE)], "n3": [(90, EARLY)]}),
    "first name": dry_run({"n1": [(50, EARLY)], "n2": [(50, EARLY)]}),
    "preempt in the second tier": over_priorities("priority gang", "conformance", action="preempt"),
    "preempt in the first of two tiers": over_priorities("priority conformance", "drf", action="preempt"),
    "reclaim in the second tier": over_priorities("conformance gang", "proportion", action="reclaim"),
    "reclaim in the first tier": over_priorities("conformance", "proportion", action="reclaim"),
    "two dimensions short": dry_run_of_two_dimensions(),
    "capability of a queue above": capped_parent(),
    "overlapping trials": overlapping_trials(),
}
"""By what each is for."""
