"""A simple implementation of the topology, group, strategy and load plugins, for one node at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vcdebug.framework.session import Session
from vcdebug.model.node import NodeInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo, is_allocated_status

GROUP = "volcano.sh/nodegroup-name"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
ROLE = "volcano.sh/task-spec"


# nodegroup


def _groups(affinity: Mapping[str, Any], kind: str, term: str) -> list[str]:
    return (affinity.get(kind) or {}).get(term) or []


def group_verdict(ssn: Session, task: TaskInfo, node: NodeInfo, limits: Mapping[str, float]) -> str:
    """The refusal reason of strict nodegroup, empty if it accepts; limits are milli-cores per group."""
    affinity = ssn.queues[ssn.jobs[task.job].queue].spec.get("affinity") or {}
    near, apart = "nodeGroupAffinity", "nodeGroupAntiAffinity"
    if GROUP not in node.labels:
        return "node group label not found"
    if not any(_groups(affinity, kind, term) for kind in (near, apart) for term in (REQUIRED, PREFERRED)):
        return "node group affinity not specified"
    group = node.labels[GROUP]
    fits = group in _groups(affinity, near, REQUIRED) or group in _groups(affinity, near, PREFERRED)
    fits = fits and group not in _groups(affinity, apart, REQUIRED)
    if not fits and group not in _groups(affinity, apart, PREFERRED):
        return "node does not satisfy the node group affinity"
    used = task.resreq.milli_cpu + _used_of_group(ssn, task, group)
    return "node group resource limit exceeded" if group in limits and used - limits[group] >= 0.1 else ""


def _used_of_group(ssn: Session, task: TaskInfo, group: str) -> float:
    queue, total = ssn.jobs[task.job].queue, 0.0
    for job in ssn.jobs.values():
        for other in job.tasks.values() if job.queue == queue else ():
            counted = other.node_name and (is_allocated_status(other.status) or other is task)
            if counted and ssn.nodes[other.node_name].labels.get(GROUP) == group:
                total += other.resreq.milli_cpu
    return total


def group_score(ssn: Session, task: TaskInfo, node: NodeInfo) -> float:
    """The group score: 100 if required, 50 if preferred, -1 if anti-preferred."""
    affinity = ssn.queues[ssn.jobs[task.job].queue].spec.get("affinity") or {}
    group = node.labels.get(GROUP)
    if group in _groups(affinity, "nodeGroupAntiAffinity", PREFERRED):
        return -1.0
    required = 100.0 if group in _groups(affinity, "nodeGroupAffinity", REQUIRED) else 0.0
    return required + (50.0 if group in _groups(affinity, "nodeGroupAffinity", PREFERRED) else 0.0)


# resource-strategy-fit


def strategy_score(task: TaskInfo, node: NodeInfo, strategies: Mapping[str, tuple[str, int]], weight: int) -> float:
    """The weighted mean over the requested resources; 0 for a resource that does not fit."""
    score, weights = 0.0, 0
    for name in task.resreq.resource_names():
        if name not in strategies:
            continue
        kind, own = strategies[name]
        capacity, wanted = node.allocatable.get(name), node.used.get(name) + task.resreq.get(name)
        weights += own
        if capacity == 0:
            continue
        if wanted > capacity:
            return 0.0
        score += (wanted if kind == "MostAllocated" else capacity - wanted) * own / capacity
    return (score / weights if weights else score) * (100.0 * weight)


def sparing_score(task: TaskInfo, node: NodeInfo, scarce: str, weight: int) -> float:
    """The full score if the node lacks the scarce resource but has the task's other resources."""
    if any(node.allocatable.get(name) == 0 for name in task.resreq.resource_names()):
        return 0.0
    return (1.0 - (1.0 if node.allocatable.get(scarce) > 0 else 0.0)) * (100.0 * weight)


def keeps_room(task: TaskInfo, node: NodeInfo, scarce: str, cores: float, gigabytes: float) -> bool:
    """Whether the node keeps enough cores and gigabytes idle for its idle units of the scarce resource."""
    if task.resreq.get(scarce) > 0 or scarce not in (node.idle.scalars or {}):
        return True
    units = node.idle.get(scarce)
    room = node.idle.milli_cpu - task.resreq.milli_cpu >= units * cores
    return room and node.idle.memory - task.resreq.memory >= units * gigabytes * 1000 * 1000


# usage


def load_score(ssn: Session, node: NodeInfo) -> float:
    """The mean of unused cpu and memory, without estimates."""
    entry = ssn.snapshot.usage.get(node.name)
    if entry is None:
        return 0.0
    left = [
        1.0 - min(entry[kind]["10m"] / 100.0 * room / room, 1.0) if room else 1.0
        for kind, room in (("cpu", node.capability.milli_cpu), ("mem", node.capability.memory))
    ]
    return (left[0] * 1.0 + left[1] * 1.0) / 2.0 * 100.0 * 5.0


def load_verdict(ssn: Session, node: NodeInfo) -> str:
    """The first of cpu and memory whose usage exceeds 80 percent."""
    entry = ssn.snapshot.usage.get(node.name)
    if entry is None:
        return ""
    exceeded = [word for kind, word in (("cpu", "CPU"), ("mem", "memory")) if entry[kind]["10m"] > 80]
    return f"the {exceeded[0]} load of the node exceeds the upper limit." if exceeded else ""


# network-topology-aware


def _sum(resources: Iterable[Resource], name: str) -> float:
    total = 0.0
    for resource in resources:
        total += resource.get(name)
    return total


def _fullness(ssn: Session, task: TaskInfo, hyper_node: str) -> float:
    nodes = [ssn.nodes[name] for name in sorted(ssn.hyper_nodes.real_nodes[hyper_node])]
    shares = []
    for name in ("cpu", "memory"):
        request = task.resreq.get(name)
        if request < 0.1:
            continue
        wanted, capacity = _sum((n.used for n in nodes), name) + request, _sum((n.allocatable for n in nodes), name)
        if wanted > capacity:
            return 0.0
        shares.append(wanted / capacity)
    return _left_to_right(shares) / len(shares) if shares else 0.0


def _left_to_right(values: Iterable[float]) -> float:
    total = 0.0
    for value in values:
        total += value
    return total


def ordinary_score(ssn: Session, task: TaskInfo, node: NodeInfo) -> float:
    """The pod's fullness score for the node's HyperNode per tier, weighted 1, 0.5, 0.25 ..."""
    tiers = sorted(ssn.hyper_nodes.tiers)
    weighted, weights = 0.0, 0.0
    for tier in range(tiers[0], tiers[-1] + 1):
        weight = 0.5 ** (tier - 1)
        holding = [h for h in sorted(ssn.hyper_nodes.tiers.get(tier, ())) if node.name in ssn.hyper_nodes.real_nodes[h]]
        weighted += weight * (_fullness(ssn, task, holding[0]) if holding else 1.0)
        weights += weight
    return 100.0 * (weighted / weights)


def closeness_scores(ssn: Session, task: TaskInfo) -> list[float]:
    """The score of every node by the tier of its common ancestor with the job's HyperNode; ties by placed tasks."""
    leaves = [ssn.hyper_nodes.find_hyper_node_for_node(name) for name in ssn.nodes]
    base = [_closeness(ssn, leaf, task.job_allocated_hyper_node) for leaf in leaves]
    best = max(base)
    tasks = ssn.jobs[task.job].tasks.values()
    if base.count(best) > 1:
        for index, leaf in enumerate(leaves):
            if base[index] == best:
                real = ssn.hyper_nodes.real_nodes.get(leaf, {})
                base[index] = best + len([t for t in tasks if t.node_name in real]) / len(tasks)
    return [100.0 * value for value in base]


def _closeness(ssn: Session, leaf: str, other: str) -> float:
    if not leaf:
        return 0.0
    if leaf == other:
        return 1.0
    tiers = sorted(ssn.hyper_nodes.tiers)
    common = ssn.hyper_nodes.get_lca_hyper_node(leaf, other)
    return (tiers[-1] - ssn.hyper_nodes.by_name[common].tier) / (tiers[-1] - tiers[0])


# task-topology


def bucket_score(ssn: Session, task: TaskInfo, node: NodeInfo) -> float:
    """The bucket score of a node, for one self-affine role `w` with one bucket of unplaced tasks."""
    members = [t for t in ssn.jobs[task.job].tasks.values() if t.pod.annotations.get(ROLE) == "w"]
    waiting = sorted((t for t in members if not t.node_name), key=lambda t: t.uid)
    room = node.idle.clone().add(node.releasing)
    if room.less_partly(task.resreq):
        return 0.0
    request = Resource()
    for other in waiting:
        request.add(other.resreq)
    score = len(waiting)
    for other in waiting:
        if request.less_equal(room):
            break
        if other is not task:
            request.sub(other.resreq)
            score -= 1
    return float(score) * 100.0 / len(waiting)
