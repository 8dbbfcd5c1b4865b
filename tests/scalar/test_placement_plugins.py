"""The vectorised topology, group, strategy and load plugins agree bit for bit with their simple implementations."""

import json
from datetime import UTC, datetime
from random import Random
from typing import Any

from tests.builders import amounts, cluster, conf_of, hyper_node, node, open_session, pod, pod_group, queue, task
from tests.rows import over
from tests.scalar import placement_twin as twin
from vcdebug.framework.hooks import BATCH_NODE_ORDER, NODE_ORDER, PREDICATE
from vcdebug.framework.session import Session
from vcdebug.model.node_table import NodeRows
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.snapshot.snapshot import Manifest

SEEDS = range(80)
NOW = "2026-11-01T00:00:00Z"
GPU = "nvidia.com/gpu"
LIMITS = {"g1": 3000.0, "g2": 500.0}
STRATEGIES = {"cpu": ("LeastAllocated", 1), "memory": ("MostAllocated", 3), GPU: ("MostAllocated", 2)}
TOPOLOGY, GROUPS, STRATEGY, LOAD, BUCKETS = (
    "network-topology-aware",
    "nodegroup",
    "resource-strategy-fit",
    "usage",
    "task-topology",
)
ARGUMENTS = {
    TOPOLOGY: {"hypernode.binpack.normal-pod.fading": 0.5},
    STRATEGY: {
        "resources": {name: {"type": kind, "weight": weight} for name, (kind, weight) in STRATEGIES.items()},
        "sra": {"enable": True, "resources": GPU, "weight": 2},
        "proportional": {"enable": True, "resources": GPU, "resourceProportion": {f"{GPU}.cpu": 1, f"{GPU}.memory": 2}},
    },
}


def random_session(seed: int) -> Session:
    """A session with groups, GPUs, usage and HyperNodes; a job `j`, and a job `h` with a hard topology."""
    random = Random(seed)
    hosts = [f"n{index:02}" for index in range(random.randint(2, 14))]
    arguments = {name: {"arguments": json.dumps(stated)} for name, stated in ARGUMENTS.items()}
    objects: list[Manifest] = [_node(random, name) for name in hosts]
    objects += [_queue(random), *_hyper_nodes(random, hosts)]
    objects += [pod_group("j", queue="q"), pod_group("r", queue="q"), _hard()]
    objects[-3]["metadata"]["annotations"] = {"volcano.sh/task-topology-affinity": "w"}
    objects += [_pod(random, f"j-{index}", "j", role="w") for index in range(6)]
    objects += [_pod(random, f"h-{index}", "h") for index in range(3)]
    objects += [_pod(random, f"h-{index}", "h", on=random.choice(hosts)) for index in range(3, 6)]
    objects += [_pod(random, f"r-{index}", "r", on=random.choice(hosts)) for index in range(random.randint(0, 12))]
    snapshot = cluster(objects, conf=conf_of(f"{TOPOLOGY} {GROUPS} {STRATEGY} {LOAD} {BUCKETS}", arguments=arguments))
    snapshot.now = datetime(2026, 11, 1, tzinfo=UTC)
    snapshot.usage = {name: _load(random) for name in hosts if random.random() < 0.8}
    return open_session(snapshot)


def _node(random: Random, name: str) -> Manifest:
    labels = {"volcano.sh/nodegroup-name": random.choice(("g1", "g2", "g3"))} if random.random() < 0.8 else {}
    gpus = {"gpu": random.choice(("0", "2", "4"))} if random.random() < 0.5 else {}
    cpu, memory = random.choice(("3", "7500m", "16")), random.choice(("3000000001", "8Gi"))
    return node(name, cpu=cpu, memory=memory, labels=labels, **gpus)


def _queue(random: Random) -> Manifest:
    def lists() -> dict[str, list[str]]:
        stated = {
            term: random.sample(("g1", "g2", "g3"), random.randint(0, 2)) for term in (twin.REQUIRED, twin.PREFERRED)
        }
        return {term: groups for term, groups in stated.items() if groups}

    limits = {group: {"cpu": f"{amount:.0f}m"} for group, amount in LIMITS.items()}
    affinity = {"nodeGroupAffinity": lists(), "nodeGroupAntiAffinity": lists()}
    stated: dict[str, Any] = {"affinity": affinity} if random.random() < 0.9 else {}
    annotations = {"volcano.sh/nodegroup-resource-limits": json.dumps(limits)}
    return queue("q", annotations=annotations, **stated)


def _hyper_nodes(random: Random, hosts: list[str]) -> list[Manifest]:
    held = random.sample(hosts, len(hosts) - random.randint(0, 1))
    leaves = [hyper_node(f"s{index}", 1, nodes=held[index::3]) for index in range(3)]
    below = random.sample(("s0", "s1", "s2"), 2)
    return [*leaves, hyper_node("p0", random.choice((2, 3)), children=below)]


def _hard() -> Manifest:
    return pod_group("h", queue="q", networkTopology={"mode": "hard", "highestTierAllowed": 9})


def _pod(random: Random, name: str, group: str, on: str = "", role: str | None = None) -> Manifest:
    gpus = {"gpu": random.choice(("0", "1"))} if random.random() < 0.3 else {}
    requests = amounts(random.choice(("250m", "1", "3")), random.choice((None, "1Gi", "100M")), **gpus)
    deleting = bool(on) and random.random() < 0.2
    made = pod(name, group, on=on, role=role, requests=requests, deleting=deleting)
    made["status"]["startTime"] = "2026-10-31T00:00:00Z"
    return made


def _load(random: Random) -> dict[str, Any]:
    return {"time": NOW, **{kind: {"10m": random.choice((0.0, 33.3, 71.9, 80.0, 93.7))} for kind in ("cpu", "mem")}}


def totals(ssn: Session, incoming: TaskInfo, plugin: str, rows: NodeRows) -> list[float]:
    scores: list[float] = ssn.ask_plugins(NODE_ORDER, incoming, rows)[plugin].total.tolist()
    return scores


def batch(ssn: Session, incoming: TaskInfo, rows: NodeRows) -> list[float]:
    answer = ssn.ask_plugins(BATCH_NODE_ORDER, incoming, rows)[TOPOLOGY]
    return [] if answer is None else answer.total.tolist()


def reasons(ssn: Session, incoming: TaskInfo, plugin: str) -> list[str]:
    codes = ssn.ask_plugins(PREDICATE, incoming, ssn.all_rows())[plugin]
    return ["".join(status.reason for status in ssn.reasons.statuses_of(code)) for code in codes.tolist()]


@over(SEEDS)
def test_groups_and_loads_are_judged_and_scored_alike(seed: int) -> None:
    ssn = random_session(seed)
    incoming, rows, nodes = task(ssn, "j-0"), ssn.all_rows(), list(ssn.nodes.values())
    assert [twin.group_verdict(ssn, incoming, n, LIMITS) for n in nodes] == reasons(ssn, incoming, GROUPS)
    assert [twin.group_score(ssn, incoming, n) for n in nodes] == totals(ssn, incoming, GROUPS, rows)
    assert [twin.load_verdict(ssn, n) for n in nodes] == reasons(ssn, incoming, LOAD)
    assert [twin.load_score(ssn, n) for n in nodes] == totals(ssn, incoming, LOAD, rows)


@over(SEEDS)
def test_strategies_and_buckets_are_scored_alike(seed: int) -> None:
    ssn = random_session(seed)
    rows, nodes = ssn.all_rows(), list(ssn.nodes.values())
    for name in ("j-0", "j-3", "h-0"):
        incoming = task(ssn, name)
        expected = [
            twin.strategy_score(incoming, n, STRATEGIES, 10) + twin.sparing_score(incoming, n, GPU, 2) for n in nodes
        ]
        assert expected == totals(ssn, incoming, STRATEGY, rows)
        kept = [twin.keeps_room(incoming, n, GPU, 1.0, 2.0) for n in nodes]
        assert kept == [not reason for reason in reasons(ssn, incoming, STRATEGY)]
    incoming = task(ssn, "j-1")
    assert [twin.bucket_score(ssn, incoming, n) for n in nodes] == totals(ssn, incoming, BUCKETS, rows)


@over(SEEDS)
def test_domains_are_scored_alike(seed: int) -> None:
    ssn = random_session(seed)
    nodes = list(ssn.nodes.values())
    rows = ssn.all_rows()
    incoming = task(ssn, "j-0")
    assert [twin.ordinary_score(ssn, incoming, n) for n in nodes] == batch(ssn, incoming, rows)
    _place(ssn, task(ssn, "j-1"), nodes[0].name)
    assert [twin.ordinary_score(ssn, incoming, n) for n in nodes] == batch(ssn, incoming, rows)
    hard = task(ssn, "h-0")
    hard.job_allocated_hyper_node = ssn.jobs["default/h"].allocated_hyper_node
    assert (twin.closeness_scores(ssn, hard) if hard.job_allocated_hyper_node else []) == batch(ssn, hard, rows)


def _place(ssn: Session, placed: TaskInfo, host: str) -> None:
    ssn.jobs[placed.job].update_task_status(placed, TaskStatus.ALLOCATED)
    placed.node_name = host
    ssn.nodes[host].add_task(placed)
    assert [] == ssn.notify_allocated(placed)
