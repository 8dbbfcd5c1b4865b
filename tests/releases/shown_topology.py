"""Small clusters on which changes of allocate and of network topology decide something."""

from collections.abc import Callable
from typing import Any

from tests.builders import cluster, conf_of, hyper_node, node, pod, pod_group, pods
from vcdebug.snapshot.snapshot import Manifest, Snapshot

HELD = "volcano.sh/job-allocated-hypernode"
TOPOLOGY = conf_of("priority gang", "predicates nodeorder network-topology-aware")


def roles(*requests: tuple[str, str]) -> list[Manifest]:
    return [
        pod(f"j-{at}", "j", requests={"cpu": cpu, "memory": "1G"}, role=role) for at, (role, cpu) in enumerate(requests)
    ]


def gang_behind_a_large_task() -> Snapshot:
    """A large first task that fits no node, and two tasks behind it that could form a gang."""
    members = roles(("a", "9"), ("b", "1"), ("c", "1"))
    group = pod_group("j", min_member=2, minTaskMember={"a": 1, "b": 1})
    return cluster(node("n1", cpu="4"), group, members, conf=conf_of("priority gang", "predicates nodeorder"))


def fewer_tasks_than_the_minimum() -> Snapshot:
    members = roles(("a", "9"), ("b", "1"), ("c", "1"))
    return cluster(node("n1", cpu="4"), pod_group("j", min_member=5), members, conf=conf_of("predicates nodeorder"))


def racks(*, cpu: str = "8", **more: str) -> list[Manifest]:
    """Two racks of two nodes each, and one node outside the racks."""
    nodes = [node(name, cpu=more.get(name, cpu)) for name in ("a1", "a2", "b1", "b2", "z")]
    return [*nodes, hyper_node("a", 1, nodes=["a1", "a2"]), hyper_node("b", 1, nodes=["b1", "b2"])]


def with_topology(mode: str, tier: int | None = 1, **group: Any) -> Manifest:
    topology = {"mode": mode, **({} if tier is None else {"highestTierAllowed": tier})}
    return pod_group("j", min_member=2, networkTopology=topology, **group)


def hard_job() -> Snapshot:
    return cluster(racks(), with_topology("hard"), pods("j", 2), conf=TOPOLOGY)


def hard_job_where_one_rack_is_fuller() -> Snapshot:
    """A job that fits into both racks; the nodes of one rack score higher."""
    busy = [pod_group("busy", min_member=0, phase="Running"), *pods("busy", 4, on="a1"), *pods("busy2", 3, on="a2")]
    return cluster(racks(), busy, with_topology("hard"), pods("j", 2), conf=TOPOLOGY)


def job_that_says_where_it_is() -> Snapshot:
    group = with_topology("hard")
    group["metadata"]["annotations"] = {HELD: "b"}
    return cluster(racks(), group, pods("j", 2), conf=TOPOLOGY)


def hard_job_without_racks() -> Snapshot:
    return cluster(racks()[:5], with_topology("hard"), pods("j", 2), pod_group("k"), pods("k", 1), conf=TOPOLOGY)


def sub_groups() -> Snapshot:
    policy = {"name": "p", "labelSelector": {"matchLabels": {"app": "x"}}, "matchLabelKeys": ["app"], "subGroupSize": 2}
    members = pods("j", 2)
    for member in members:
        member["metadata"]["labels"] = {"app": "x"}
    return cluster(racks(), pod_group("j", min_member=2, subGroupPolicy=[policy]), members, conf=TOPOLOGY)


ON_TOPOLOGY: dict[str, Callable[[], Snapshot]] = {
    "allocate-flat-retry": gang_behind_a_large_task,
    "fit-roles-per-job": fewer_tasks_than_the_minimum,
    "allocate-topology-tiers": hard_job,
    "hypernode-sum-of-node-scores": hard_job_where_one_rack_is_fuller,
    "allocated-hypernode-annotation": job_that_says_where_it_is,
    "hypernodes-not-ready": hard_job_without_racks,
    "nta-node-score-only": hard_job,
    "subjobs-absent": sub_groups,
}
BESIDE_ON_TOPOLOGY = {
    "allocate-topology-tiers": "allocate-flat-retry",
    "hypernode-sum-of-node-scores": "allocate-flat-retry,+allocate-topology-tiers",
    "allocated-hypernode-annotation": "allocate-flat-retry,+allocate-topology-tiers",
}
