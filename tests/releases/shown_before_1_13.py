"""Small clusters on which a change before v1.13 decides something."""

from collections.abc import Callable
from typing import Any

from tests.builders import amounts, cluster, conf_of, metadata, node, pod, pod_group, pods, queue
from tests.releases.shown_devices import CLASSES, TOPOLOGY_AWARE, asking, cards, entries_of_one_card, held, sharing
from tests.releases.shown_topology import hard_job, hard_job_where_one_rack_is_fuller
from vcdebug.snapshot.snapshot import Manifest, Snapshot

NEGATIVE = {"nodeorder": {"arguments": "{leastrequested.weight: -10, balancedresource.weight: -10}"}}
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


def scored_without_predicates(plugins: str = "nodeorder", **switches: Any) -> Snapshot:
    conf = conf_of("priority gang", plugins, actions="allocate", arguments=switches)
    return cluster(node("n1"), node("n2"), pod_group("j", min_member=1), pods("j", 1), conf=conf)


def held_off_by_a_victim() -> Snapshot:
    """The Pending pod has an anti-affinity to the only victim."""
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    victim = running("l", "n1")
    victim[1]["metadata"]["labels"] = {"app": "x"}
    labelled = node("n1", cpu="1", labels={"kubernetes.io/hostname": "n1"})
    shy = waiting(affinity={"podAntiAffinity": {REQUIRED: [term]}})
    return deciding(labelled, victim, shy, actions="allocate, preempt")


def group_of_the_pods_queue() -> Snapshot:
    """The PodGroup's queue requires the node group of n1; the pod names no queue."""
    nodes = [node("n1", labels={"volcano.sh/nodegroup-name": "g1"}), node("n2")]
    of_queue = queue("q", affinity={"nodeGroupAffinity": {REQUIRED: ["g1"]}})
    conf = conf_of("gang", "predicates nodegroup")
    return cluster(nodes, of_queue, pod_group("j", queue="q"), pods("j", 1), conf=conf)


def nominated_where_a_victim_leaves() -> Snapshot:
    """n1, the nominated node, has room once its pod has terminated; n2 has room now."""
    leaving = running("l", "n1")
    leaving[1]["metadata"]["deletionTimestamp"] = "2026-11-01T00:00:00Z"
    return deciding(node("n1", cpu="1"), node("n2", cpu="1"), leaving, waiting("n1"), actions="allocate")


def nominated_and_free() -> Snapshot:
    """Only preempt runs; the nominated node n2 is free, and n1 has a victim."""
    return deciding(node("n1", cpu="1"), node("n2", cpu="1"), running("l", "n1"), waiting("n2"), actions="preempt")


def dry_runs_asked_for() -> Snapshot:
    return deciding(node("n1", cpu="1"), running("l", "n1"), waiting(), actions="preempt", extra=TOPOLOGY_AWARE)


def one_waits(*objects: Any, extra: str = "", **spec: Any) -> Snapshot:
    conf = conf_of("gang", "nodeorder predicates") + extra
    requests = spec.pop("requests", amounts("1"))
    return cluster(*objects, pod_group("j"), pod("j-0", "j", requests=requests, **spec), conf=conf)


def being_resized() -> Snapshot:
    """A running pod whose allocated resources exceed its requests."""
    runs = running("l", "n1")
    given = {"name": "main", "resources": {"requests": amounts("3")}, "allocatedResources": amounts("3")}
    runs[1]["status"]["containerStatuses"] = [given]
    runs[1]["spec"]["containers"][0]["name"] = "main"
    return one_waits(node("n1", cpu="4"), runs, requests=amounts("2"))


def spread_over_hosts() -> Snapshot:
    """n1 runs a pod that the spread constraint counts; n2 has fewer free cores."""
    nodes = [node(name, cpu=cpu, labels={"kubernetes.io/hostname": name}) for name, cpu in (("n1", "8"), ("n2", "7"))]
    runs = running("l", "n1")
    runs[1]["metadata"]["labels"] = {"app": "x"}
    selector = {"matchLabels": {"app": "x"}}
    wish = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    return one_waits(nodes, runs, topologySpreadConstraints=[{**wish, "labelSelector": selector}])


def asks_for_nothing() -> Snapshot:
    snapshot = one_waits(node("n1"), node("n2"), running("l", "n1"), requests={})
    snapshot.scheduler_conf = conf_of("gang", "nodeorder predicates", actions="backfill")
    return snapshot


def volume_elsewhere() -> Snapshot:
    term = {"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r"]}]}
    source = {
        "claimRef": {"name": "c", "namespace": "default"},
        "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
    }
    claim: Manifest = {"volumeName": "v", "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
    bound: Manifest = {"kind": "PersistentVolumeClaim", "metadata": metadata("c", "default"), "spec": claim}
    bound["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    volume = {"kind": "PersistentVolume", "metadata": metadata("v"), "spec": source}
    mounts = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    return one_waits(node("n1"), volume, bound | {"status": {"phase": "Bound"}}, volumes=mounts)


def cores_kept_for_gpus() -> Snapshot:
    """A node with four idle GPUs, for which the proportional predicate reserves four cores."""
    rates = "      predicate.ProportionalEnable: true\n      predicate.resources: nvidia.com/gpu\n"
    return one_waits(node("n1", cpu="4", **{"nvidia.com/gpu": "4"}), extra=f"    arguments:\n{rates}")


def told_of_placements() -> Snapshot:
    lines = "      extender.urlPrefix: http://x/\n      extender.allocateFuncVerb: allocated\n"
    conf = conf_of("gang predicates extender") + "    arguments:\n" + lines
    snapshot = cluster(node("n1"), pod_group("j"), pods("j", 1), conf=conf)
    snapshot.extender = {"allocated": {"default/j-0": {"errorMessage": "not there"}}}
    return snapshot


def packed_on_cards() -> Snapshot:
    """Two nodes with one card each; a pod uses the card of n1."""
    nodes = [cards(1), cards(1, name="n2")]
    return sharing(nodes, pod_group("r"), held("r-0", "a"), pod_group("j"), asking("j-0"), SchedulePolicy="binpack")


def quotas_in_a_tree(*objects: Any, **root: Any) -> Snapshot:
    """A job in queue leaf, below root and `objects`."""
    conf = conf_of("capacity", "gang predicates", arguments={"capacity": {"enableHierarchy": "true"}})
    queues = [queue("root", **root), *objects]
    group = pod_group("j", queue="leaf", min_member=1)
    return cluster(node("n1", cpu="4", **{"nvidia.com/gpu": "4"}), queues, group, pods("j", 1), conf=conf)


def root_with_stated_limits() -> Snapshot:
    return quotas_in_a_tree(queue("leaf", parent="root"), capability=amounts("500m", "100G"))


def deserves_more_than_its_limit() -> Snapshot:
    return quotas_in_a_tree(queue("leaf", parent="root", deserved=amounts("4"), capability=amounts("2")))


def limit_of_gpus_on_the_leaf() -> Snapshot:
    """Only the leaf queue limits GPUs; its parent states no GPU limit."""
    between = queue("between", parent="root", capability=amounts("4", "100G"))
    return quotas_in_a_tree(between, queue("leaf", parent="between", capability={"nvidia.com/gpu": "1"}))


def memory_of_cards() -> Snapshot:
    """The node reports less vGPU memory as allocatable than its card registers."""
    small = cards(1)
    small["status"]["allocatable"]["volcano.sh/vgpu-memory"] = "50"
    return sharing(small, pod_group("j"), asking("j-0"))


def cards_by_another_name() -> Snapshot:
    """The device configuration defines another resource name than the one that the pod requests."""
    snapshot = sharing(cards(1), pod_group("j"), asking("j-0", memory="1001"))
    snapshot.device_config = "nvidia: {resourceCountName: example.com/gpu}"
    return snapshot


def scores_below_zero() -> Snapshot:
    """Two free nodes, both with a score below zero."""
    busy = one_waits(node("n1"), node("n2"))
    busy.scheduler_conf = conf_of("gang", "predicates nodeorder", arguments=NEGATIVE)
    return busy


def an_accelerator_that_nobody_deserves() -> Snapshot:
    """Two queues compete for the last core; queue a uses a GPU although its deserved GPU is 0."""
    queues = [queue("a", deserved={"cpu": "10", "nvidia.com/gpu": "0"}), queue("b", deserved=amounts("10"))]
    runs = [pod_group(f"r{name}", queue=name, phase="Running") for name in "ab"]
    runs += [pod("ra-0", "ra", on="n1", requests={"cpu": "1", "nvidia.com/gpu": "1"})]
    runs += [pod("rb-0", "rb", on="n1", requests=amounts("2"))]
    waits = [(pod_group(f"j{name}", queue=name), pod(f"j{name}-0", f"j{name}", requests=amounts("1"))) for name in "ab"]
    conf = conf_of("gang", "capacity predicates")
    return cluster(node("n1", cpu="4", **{"nvidia.com/gpu": "4"}), queues, runs, *waits, conf=conf)


def attached_and_unused() -> Snapshot:
    """A node limited to one volume of the driver, with an attached volume that no pod uses."""
    claim: Manifest = {"volumeName": "v", "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
    bound: Manifest = {"kind": "PersistentVolumeClaim", "metadata": metadata("c", "default"), "spec": claim}
    bound["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    volumes: list[Manifest] = [
        {"kind": "PersistentVolume", "metadata": metadata(name), "spec": {"csi": {"driver": "d", "volumeHandle": name}}}
        for name in ("v", "other")
    ]
    volumes[0]["spec"]["claimRef"] = {"name": "c", "namespace": "default"}
    source = {"source": {"persistentVolumeName": "other"}, "nodeName": "n1", "attacher": "d"}
    attached = {"kind": "VolumeAttachment", "metadata": metadata("a"), "spec": source}
    drivers = [{"name": "d", "nodeID": "n1", "allocatable": {"count": 1}}]
    limit = {"kind": "CSINode", "metadata": metadata("n1"), "spec": {"drivers": drivers}}
    mounts = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
    objects = [*volumes, bound | {"status": {"phase": "Bound"}}, attached, limit]
    return one_waits(node("n1"), objects, volumes=mounts)


BEFORE_1_13: dict[str, Callable[[], Snapshot]] = {
    "podgroup-running-at-allocation": placed_now,
    "pod-affinity-unresolvable": held_off_by_a_victim,
    "nodegroup-by-pod-label": group_of_the_pods_queue,
    "nomination-needs-idle": nominated_where_a_victim_leaves,
    "preempt-while-nominated": nominated_and_free,
    "topology-preempt-absent": dry_runs_asked_for,
    "feature-gate-ceiling-1.32": being_resized,
    "hostname-spread-counts": spread_over_hosts,
    "balanced-best-effort": asks_for_nothing,
    "volume-affinity-text": volume_elsewhere,
    "proportional-predicate": cores_kept_for_gpus,
    "nta-hypernode-score": hard_job,
    "nta-soft-only": hard_job_where_one_rack_is_fuller,
    "vgpu-scalars-ignored": memory_of_cards,
    "vgpu-second-container-free": entries_of_one_card,
    "vgpu-fixed-names": cards_by_another_name,
    "best-above-minus-one": scores_below_zero,
    "metrics-unregistered": scored_without_predicates,
    "zero-deserved-dropped": an_accelerator_that_nobody_deserves,
    "volume-attachments-unread": attached_and_unused,
    "deviceshare-score-lost": packed_on_cards,
    "extender-basic": told_of_placements,
    "capacity-root-always-cluster": root_with_stated_limits,
    "capacity-tree-deserved-clamped": deserves_more_than_its_limit,
    "capacity-scalars-not-inherited": limit_of_gpus_on_the_leaf,
}
"""Change -> builder of a cluster whose recording the change alters."""
