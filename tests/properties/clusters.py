"""Random clusters under random configurations, without any tuning."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from vcdebug.snapshot.snapshot import Manifest, Snapshot

PLUGINS = ("priority", "gang", "conformance", "overcommit", "drf", "predicates", "proportion", "nodeorder", "binpack")
ACTIONS = ("enqueue", "allocate", "preempt", "reclaim", "gangpreempt", "gangreclaim", "backfill", "shuffle")
TOPOLOGY_AWARE = "configurations:\n- name: preempt\n  arguments:\n    enableTopologyAwarePreemption: true\n"


def random_cluster(seed: int, *, nodes: int = 9, jobs: int = 12, actions: Sequence[str] = ACTIONS) -> Snapshot:
    """A random cluster of at most this many nodes and jobs, with running and pending pods."""
    draw = random.Random(seed)
    made = [_node(draw, index) for index in range(draw.randint(2, nodes))]
    queues = [_queue(draw, f"q{index}") for index in range(draw.randint(1, 3))]
    classes = [priority_class("low", 10), priority_class("mid", 100), priority_class("high", 10000)]
    work = [part for index in range(draw.randint(3, jobs)) for part in _job(draw, index, made, queues)]
    return cluster(made, queues, classes, work, conf=_conf(draw, actions))


def _conf(draw: random.Random, known: Sequence[str]) -> str:
    names = list(PLUGINS)
    if draw.random() < 0.5:
        names = draw.sample(names, draw.randint(3, len(names)))
    draw.shuffle(names)
    cut = draw.randint(1, len(names))
    tiers = [tier for tier in (" ".join(names[:cut]), " ".join(names[cut:])) if tier]
    count = draw.randint(2, len(known))
    actions = ["enqueue", "allocate", *draw.sample(known[2:], count - 2)]
    extra = TOPOLOGY_AWARE if draw.random() < 0.3 else ""
    return conf_of(*tiers, actions=", ".join(actions)) + extra


def _node(draw: random.Random, index: int) -> Manifest:
    more: dict[str, Any] = {}
    if draw.random() < 0.4:
        more["gpu"] = str(draw.randint(1, 8))
    if draw.random() < 0.15:
        more["taints"] = [{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]
    labels = {"topology.kubernetes.io/zone": f"z{index % 2}"}
    return node(f"n{index}", cpu=str(draw.randint(2, 16)), memory=f"{draw.randint(8, 64)}Gi", labels=labels, **more)


def _queue(draw: random.Random, name: str) -> Manifest:
    more: dict[str, Any] = {}
    if draw.random() < 0.3:
        more["capability"] = {"cpu": str(draw.randint(2, 20))}
    if draw.random() < 0.2:
        more["reclaimable"] = False
    state = "Closed" if draw.random() < 0.1 else "Open"
    return queue(name, weight=draw.randint(1, 5), state=state, **more)


def _job(draw: random.Random, index: int, nodes: list[Manifest], queues: list[Manifest]) -> list[Any]:
    name, count = f"j{index}", draw.randint(1, 5)
    requests = {"cpu": f"{draw.randint(1, 8) * 500}m", "memory": f"{draw.randint(1, 8)}Gi"}
    if draw.random() < 0.2:
        requests["nvidia.com/gpu"] = "1"
    if draw.random() < 0.1:
        requests = {}
    running = draw.random() < 0.5
    group = pod_group(
        name,
        queue=draw.choice(queues)["metadata"]["name"],
        min_member=draw.randint(1, count),
        phase="Running" if running else draw.choice(["Pending", "Inqueue"]),
        priority_class=draw.choice(["low", "mid", "high"]),
        min_resources={"cpu": str(draw.randint(1, 6))} if draw.random() < 0.6 else None,
    )
    members = [
        pods(name, 1, prefix=f"{name}-w{i}", requests=requests, **_pod(draw, nodes, running)) for i in range(count)
    ]
    return [group, *(member for made in members for member in made)]


def _pod(draw: random.Random, nodes: list[Manifest], running: bool) -> dict[str, Any]:
    more: dict[str, Any] = {"priority": draw.choice([10, 100, 10000])}
    if running and draw.random() < 0.8:
        more["on"] = draw.choice(nodes)["metadata"]["name"]
        more["deleting"] = draw.random() < 0.1
    if draw.random() < 0.15:
        more["annotations"] = {"volcano.sh/preemptable": "false"}
    if draw.random() < 0.2:
        more["nodeSelector"] = {"topology.kubernetes.io/zone": f"z{draw.randint(0, 2)}"}
    return more
