"""Small clusters on which a change before v1.13 decides something."""

from collections.abc import Callable
from typing import Any

from tests.builders import amounts, cluster, conf_of, node, pod, pod_group, pods, queue
from tests.releases.shown_devices import CLASSES, TOPOLOGY_AWARE
from vcdebug.snapshot.snapshot import Manifest, Snapshot

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def running(name: str, on: str, **spec: Any) -> list[Manifest]:
    group = pod_group(name, priority_class="low", phase="Running", min_member=0)
    return [group, pod(f"{name}-0", name, on=on, requests=amounts("1"), priority=1, **spec)]


def waiting(nominated: str = "", count: int = 1, **spec: Any) -> list[Manifest]:
    members = [pod(f"h-{i}", "h", requests=amounts("1"), priority=100, **spec) for i in range(count)]
    for member in members if nominated else ():
        member["status"]["nominatedNodeName"] = nominated
    return [pod_group("h", priority_class="high", min_member=1), *members]


def deciding(*objects: Any, actions: str, extra: str = "") -> Snapshot:
    conf = conf_of("priority gang", "predicates nodeorder", actions=actions) + extra
    return cluster(CLASSES, *objects, conf=conf)


def placed_now() -> Snapshot:
    return deciding(node("n1"), pod_group("j", min_member=1), pods("j", 1), actions="allocate")


def held_off_by_a_victim() -> Snapshot:
    """The only victim's label is what the pod stays away from."""
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    victim = running("l", "n1")
    victim[1]["metadata"]["labels"] = {"app": "x"}
    labelled = node("n1", cpu="1", labels={"kubernetes.io/hostname": "n1"})
    shy = waiting(affinity={"podAntiAffinity": {REQUIRED: [term]}})
    return deciding(labelled, victim, shy, actions="allocate, preempt")


def group_of_the_pods_queue() -> Snapshot:
    """The PodGroup's queue may use the group of n1; the pod names no queue."""
    nodes = [node("n1", labels={"volcano.sh/nodegroup-name": "g1"}), node("n2")]
    of_queue = queue("q", affinity={"nodeGroupAffinity": {REQUIRED: ["g1"]}})
    conf = conf_of("gang", "predicates nodegroup")
    return cluster(nodes, of_queue, pod_group("j", queue="q"), pods("j", 1), conf=conf)


def nominated_where_a_victim_leaves() -> Snapshot:
    """n1 has room once its pod is gone, n2 has room now."""
    leaving = running("l", "n1")
    leaving[1]["metadata"]["deletionTimestamp"] = "2026-11-01T00:00:00Z"
    return deciding(node("n1", cpu="1"), node("n2", cpu="1"), leaving, waiting("n1"), actions="allocate")


def nominated_and_free() -> Snapshot:
    """preempt alone: the nominated node would take the pod as it is, and n1 has a victim."""
    return deciding(node("n1", cpu="1"), node("n2", cpu="1"), running("l", "n1"), waiting("n2"), actions="preempt")


def dry_runs_asked_for() -> Snapshot:
    return deciding(node("n1", cpu="1"), running("l", "n1"), waiting(), actions="preempt", extra=TOPOLOGY_AWARE)


BEFORE_1_13: dict[str, Callable[[], Snapshot]] = {
    "podgroup-running-at-allocation": placed_now,
    "pod-affinity-unresolvable": held_off_by_a_victim,
    "nodegroup-by-pod-label": group_of_the_pods_queue,
    "nomination-needs-idle": nominated_where_a_victim_leaves,
    "preempt-while-nominated": nominated_and_free,
    "topology-preempt-absent": dry_runs_asked_for,
}
"""Change → a cluster whose recording its switch alters."""
