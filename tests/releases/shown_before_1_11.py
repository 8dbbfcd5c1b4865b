"""Small clusters on which a change before v1.11 decides something."""

from collections.abc import Callable
from typing import Any

from tests.builders import amounts, cluster, conf_of, metadata, node, pod, pod_group, pods, queue
from tests.releases.shown_before_1_13 import REQUIRED, deciding, one_waits, running, waiting
from tests.releases.shown_devices import asking, cards, sharing
from vcdebug.snapshot.snapshot import Manifest, Snapshot

TREE = {"capacity": {"enableHierarchy": "true"}}


def never_for_a_victim() -> Snapshot:
    never = waiting(preemptionPolicy="Never")
    return deciding(node("n1", cpu="1"), running("l", "n1"), never, actions="preempt")


def holder(count: int, queue_name: str = "b", **more: Any) -> list[Manifest]:
    """A job with minMember 0 that runs on n1."""
    group = pod_group(queue_name, queue=queue_name, min_member=0, phase="Running")
    return [group, *pods(queue_name, count, on="n1", **more)]


def has_its_minimum() -> Snapshot:
    """Job a runs one task, its minMember, and has another Pending task."""
    queues = [queue("a", deserved=amounts("4", "40G")), queue("b", deserved=amounts("1", "1G"))]
    wants = [pod_group("a", queue="a", phase="Running"), *pods("a", 1, on="n1"), pod("a-1", "a", requests=amounts("1"))]
    conf = conf_of("gang capacity predicates", actions="reclaim")
    return cluster(node("n1", cpu="4"), queues, holder(3), wants, conf=conf)


def room_in_its_queue() -> Snapshot:
    queues = [queue("a", weight=3), queue("b")]
    conf = conf_of("gang proportion predicates", actions="reclaim")
    return cluster(node("n1", cpu="4"), queues, holder(4), pod_group("a", queue="a"), pods("a", 1), conf=conf)


def victims_in_the_second_tier() -> Snapshot:
    """conformance and pdb allow disjoint victims, and gang allows both."""
    critical = pod("l-1", "l", on="n1", requests=amounts("1"), priority=1, priorityClassName="system-node-critical")
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata("keep", "default")}
    budget |= {"spec": {"selector": {"matchLabels": {"app": "x"}}}, "status": {"disruptionsAllowed": 0}}
    low = running("l", "n1")
    low[1]["metadata"]["labels"], critical["metadata"]["labels"] = {"app": "x"}, {"app": "y"}
    snapshot = deciding(node("n1", cpu="2"), low, critical, waiting(), budget, actions="preempt")
    snapshot.scheduler_conf = conf_of("conformance pdb gang", "priority predicates", actions="preempt")
    return snapshot


def all_failed() -> Snapshot:
    members = pods("j", 2, on="n1", phase="Failed")
    return deciding(node("n1"), pod_group("j", min_member=2, phase="Running"), members, actions="allocate")


def below_the_root() -> Snapshot:
    queues = [queue("root"), queue("p", parent="root"), queue("b", parent="p")]
    return deciding(node("n1"), queues, holder(2), actions="allocate")


def limited_by_its_parent() -> Snapshot:
    queues = [queue("root"), queue("p", parent="root", capability=amounts("1", "100G")), queue("leaf", parent="p")]
    conf = conf_of("gang", "capacity predicates", arguments=TREE)
    return cluster(node("n1"), queues, pod_group("j", queue="leaf"), pods("j", 2), conf=conf)


def on_a_node_that_is_not_ready() -> Snapshot:
    snapshot = one_waits(node("n1"), node("n2", cpu="2"))
    snapshot.objects["Node"][0]["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    return snapshot


def only_node_is_not_ready() -> Snapshot:
    snapshot = on_a_node_that_is_not_ready()
    del snapshot.objects["Node"][1:]
    return snapshot


def above_its_share() -> Snapshot:
    """Queue a uses its deserved cpu but not its deserved pods, and has a Pending pod."""
    queues = [queue("a"), queue("b")]
    members = [*pods("a", 1, cpu="2", on="n1"), pod("a-1", "a", requests=amounts("2"))]
    conf = conf_of("gang proportion predicates", actions="allocate, reclaim")
    other = holder(2)
    return cluster(
        node("n1", cpu="4"), queues, pod_group("a", queue="a", min_member=2, phase="Running"), members, other, conf=conf
    )


def accepted_by_its_group() -> Snapshot:
    """n1 is in the required node group but tainted; n2 is in no group."""
    taint = {"key": "dedicated", "effect": "NoSchedule"}
    nodes = [node("n1", labels={"volcano.sh/nodegroup-name": "g1"}, taints=[taint]), node("n2")]
    of_queue = queue("q", affinity={"nodeGroupAffinity": {REQUIRED: ["g1"]}})
    member = pod("j-0", "j", requests=amounts("1"), annotations={"volcano.sh/queue-name": "q"})
    conf = conf_of("gang", "nodegroup predicates")
    return cluster(nodes, of_queue, pod_group("j", queue="q"), member, conf=conf)


def volume_of_another_class() -> Snapshot:
    """The only volume has the attributes class silver, which the claim does not request."""
    stored = {"capacity": {"storage": "2Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "s"}
    volume = {"kind": "PersistentVolume", "metadata": metadata("v"), "status": {"phase": "Available"}}
    wanted = {"storageClassName": "s", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"kind": "PersistentVolumeClaim", "metadata": metadata("c", "default"), "status": {"phase": "Pending"}}
    maker = "kubernetes.io/no-provisioner"
    kind = {"provisioner": maker, "volumeBindingMode": "WaitForFirstConsumer"}
    objects = [
        volume | {"spec": stored | {"volumeAttributesClassName": "silver"}},
        claim | {"spec": wanted},
        {"kind": "StorageClass", "metadata": metadata("s"), **kind},
        {"kind": "CSINode", "metadata": metadata("n1"), "spec": {"drivers": [{"name": maker}]}},
    ]
    return one_waits(node("n1"), *objects, volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])


def more_cores_than_a_card_has() -> Snapshot:
    """Two running pods with 80 % of the same card's cores each."""
    runs = [asking(f"r-{i}", "r", on="n1", vgpu_ids_new="gpu-a,NVIDIA,100,80:") for i in range(2)]
    member = asking("j-0")
    member["spec"]["containers"][0]["resources"]["limits"]["volcano.sh/vgpu-cores"] = "30"
    return sharing(cards(1), pod_group("r", min_member=0, phase="Running"), runs, pod_group("j"), member)


def two_on_a_card() -> Snapshot:
    """Two pods on one card that ran before the scheduler started."""
    runs = [asking(f"r-{i}", "r", on="n1", vgpu_ids_new="gpu-a,NVIDIA,100,0:") for i in range(2)]
    return sharing(cards(1), pod_group("r", min_member=0, phase="Running"), runs)


def guaranteed_more_than_the_cluster_has() -> Snapshot:
    queues = [queue("a", guarantee=amounts("9", "1G"), deserved=amounts("9", "9G")), queue("b")]
    conf = conf_of("gang", "capacity predicates")
    return cluster(node("n1", cpu="4"), queues, pod_group("b", queue="b"), pods("b", 1), conf=conf)


def elastic_in_cores_only() -> Snapshot:
    """Job a runs two tasks, one above its minimum; minResources covers the memory of both."""
    half = pod_group("a", queue="q", phase="Running", min_resources=amounts("1", "2G"))
    waits = pod_group("b", queue="q", phase="Pending", min_resources=amounts("1"))
    limited = queue("q", capability=amounts("2", "100G"))
    conf = conf_of("gang", "proportion predicates", actions="enqueue")
    return cluster(node("n1"), limited, half, pods("a", 2, on="n1"), waits, pods("b", 1), conf=conf)


def node_with_all_its_pods() -> Snapshot:
    snapshot = one_waits(node("n1", pods="1"), running("l", "n1"), requests={})
    snapshot.scheduler_conf = conf_of("gang", "predicates", actions="backfill")
    return snapshot


def volume_and_card_elsewhere() -> Snapshot:
    """A Pending claim whose volume no node has."""
    snapshot = volume_of_another_class()
    snapshot.objects["StorageClass"][0]["allowedTopologies"] = []
    return snapshot


BEFORE_1_11: dict[str, Callable[[], Snapshot]] = {
    "preemption-policy-unread": never_for_a_victim,
    "reclaim-beyond-starving": has_its_minimum,
    "reclaim-asks-allocatable": room_in_its_queue,
    "victims-not-restarted": victims_in_the_second_tier,
    "failed-uncounted": all_failed,
    "queue-status-own": below_the_root,
    "capacity-tree-absent": limited_by_its_parent,
    "node-not-ready-absent": on_a_node_that_is_not_ready,
    "nodegroup-ends-predicates": accepted_by_its_group,
    "volume-attributes-unread": volume_of_another_class,
    "vgpu-cores-wrap": more_cores_than_a_card_has,
    "vgpu-scalars-till-first-held": two_on_a_card,
    "guarantees-beyond-total": guaranteed_more_than_the_cluster_has,
    "elastic-in-every-dimension": elastic_in_cores_only,
    "filters-end-at-first": node_with_all_its_pods,
    "volumes-refuse-at-once": volume_and_card_elsewhere,
}
"""Change -> builder of a cluster whose recording the change alters."""
BESIDE_BEFORE_1_11: dict[str, str] = {
    "reclaim-beyond-starving": "reclaim-immediate",
    "failed-uncounted": "podgroup-running-at-allocation",
    "nodegroup-ends-predicates": "nodegroup-by-pod-label",
    "volumes-refuse-at-once": "volumes-at-allocation",
    "vgpu-scalars-till-first-held": "vgpu-scalars-ignored",
}
