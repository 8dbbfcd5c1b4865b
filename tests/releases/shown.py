"""Small clusters on which a change decides something, one per change that no unpacked recording shows."""

from collections.abc import Callable
from typing import Any

from tests.builders import amounts, cluster, conf_of, hyper_node, metadata, node, pod, pod_group, pods, queue
from tests.releases.shown_before_1_11 import BEFORE_1_11, BESIDE_BEFORE_1_11
from tests.releases.shown_before_1_12 import BEFORE_1_12, BESIDE_BEFORE_1_12
from tests.releases.shown_before_1_13 import BEFORE_1_13
from tests.releases.shown_devices import CLASSES, OLD, ON_CARDS
from tests.releases.shown_npus import ON_NPUS
from tests.releases.shown_pods import BY_PODS
from tests.releases.shown_proposals import ON_PROPOSALS
from tests.releases.shown_topology import BESIDE_ON_TOPOLOGY, ON_TOPOLOGY
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags, Snapshot

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
GANGS = [node("a1", cpu="4"), node("b1", cpu="4"), hyper_node("a", 1, nodes=["a1"]), hyper_node("b", 1, nodes=["b1"])]


# Actions


def low(name: str, count: int, on: str, **group: Any) -> list[Manifest]:
    fields = {"priority_class": "low", "phase": "Running", "min_member": 0, **group}
    return [pod_group(name, **fields), *pods(name, count, on=on)]


def high(name: str, count: int, min_member: int = 1, **group: Any) -> list[Manifest]:
    return [pod_group(name, priority_class="high", min_member=min_member, **group), *pods(name, count)]


def preempting(*objects: Any, actions: str = "preempt", extra: str = "") -> Snapshot:
    conf = conf_of("priority gang", "predicates nodeorder", actions=actions) + extra
    return cluster(CLASSES, *objects, conf=conf)


def victims_of_two_jobs() -> Snapshot:
    old, young = low("z", 1, "n1"), low("b", 1, "n1")
    old[0]["metadata"]["creationTimestamp"] = OLD
    young[1]["metadata"]["creationTimestamp"] = OLD
    return preempting(node("n1", cpu="2"), old, young, high("h", 1))


def starving_in_two_queues() -> Snapshot:
    """Both jobs are starving; only the second job's queue has victims."""
    return preempting(
        node("n1", cpu="2"),
        queue("q1"),
        queue("q2"),
        high("first", 1, queue="q1"),
        low("l", 2, "n1", queue="q2"),
        high("second", 1, queue="q2"),
    )


def starving_with_topology() -> Snapshot:
    soft: dict[str, Any] = {"networkTopology": {"mode": "soft"}}
    return preempting(node("n1", cpu="2"), low("l", 2, "n1"), high("h", 1, **soft))


def action_that_does_not_exist() -> Snapshot:
    return cluster(node("n1"), pod_group("j"), pods("j", 1), conf=conf_of("gang predicates", actions="enqueue, later"))


def node_of_another_shard() -> Snapshot:
    snapshot = cluster(node("n1"), pod_group("j"), pods("j", 1), conf=conf_of("gang predicates"))
    snapshot.flags = SchedulerFlags(sharding_mode="hard")
    return snapshot


def gate_of_volcano() -> Snapshot:
    gates = [{"name": "scheduling.volcano.sh/queue-allocation-gate"}]
    snapshot = cluster(
        node("n1"),
        pod_group("j"),
        pod("j-0", "j", requests=amounts("1"), schedulingGates=gates),
        conf=conf_of("gang predicates"),
    )
    snapshot.flags = SchedulerFlags(feature_gates={"SchedulingGatesQueueAdmission": True})
    return snapshot


def topology_conf() -> str:
    return conf_of("priority gang", "predicates nodeorder network-topology-aware")


def nominated_elsewhere() -> Snapshot:
    hard: dict[str, Any] = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    members = pods("j", 2)
    members[0]["status"]["nominatedNodeName"] = "b1"
    return cluster(GANGS, pod_group("j", min_member=2, **hard), members, conf=topology_conf())


def sub_group_by_tier_name() -> Snapshot:
    topology = {"mode": "hard", "highestTierName": "rack"}
    labels = {"matchLabels": {"app": "x"}}
    policy = {"name": "p", "labelSelector": labels, "matchLabelKeys": ["app"], "networkTopology": topology}
    members = pods("j", 2)
    for member in members:
        member["metadata"]["labels"] = {"app": "x"}
    racks = [*GANGS[:2], *(hyper_node(name, 1, nodes=[f"{name}1"]) for name in "ab")]
    for rack in racks[2:]:
        rack["spec"]["tierName"] = "rack"
    group = pod_group("j", min_member=2, subGroupPolicy=[{**policy, "subGroupSize": 2}])
    return cluster(racks, group, members, conf=topology_conf())


def refused_before_predicates() -> Snapshot:
    """The first of two tasks refers to a missing claim; minMember is 1."""
    lost = [{"name": "v", "persistentVolumeClaim": {"claimName": "nobody"}}]
    return cluster(
        node("n1"),
        pod_group("j", min_member=1),
        pod("j-0", "j", requests=amounts("1"), role="a", volumes=lost),
        pod("j-1", "j", requests=amounts("1"), role="b"),
        conf=conf_of("gang predicates"),
    )


def nominated_by_a_gang_action() -> Snapshot:
    return preempting(
        node("n1", cpu="2"), node("n2", cpu="1"), low("l", 2, "n1"), high("h", 3, 1), actions="gangpreempt, allocate"
    )


# Requests


def one_pod(cpu: str, requests: dict[str, str] | None = None, **spec: Any) -> Snapshot:
    given = amounts("1") if requests is None else requests
    return cluster(
        node("n1", cpu=cpu),
        node("n2", cpu="20"),
        pod_group("j"),
        pod("j-0", "j", requests=given, **spec),
        conf=conf_of("gang", "predicates nodeorder"),
    )


def large_init_container() -> Snapshot:
    init = [{"name": "i", "image": "x", "resources": {"requests": {"cpu": "4"}}}]
    return one_pod("5", overhead={"cpu": "2"}, initContainers=init)


def requests_of_the_pod() -> Snapshot:
    return one_pod("2", {}, resources={"requests": {"cpu": "3"}})


def requests_of_the_pod_for_the_balance() -> Snapshot:
    return one_pod("9", {}, resources={"requests": {"cpu": "3", "memory": "1G"}})


def claim_that_does_not_exist() -> Snapshot:
    return one_pod("2", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "nobody"}}])


# Queues


def over_capacity(actions: str, *objects: Any, tree: bool = False, **arguments: Any) -> Snapshot:
    """A cluster with only capacity in the first tier."""
    lines: dict[str, Any] = {"enableHierarchy": "true"} if tree else {}
    lines["arguments"] = "{" + ", ".join(f"{key}: {value}" for key, value in arguments.items()) + "}"
    roots = [queue("root")] if tree and not any(o.get("metadata", {}).get("name") == "root" for o in objects) else []
    conf = conf_of("capacity", "gang predicates nodeorder", actions=actions, arguments={"capacity": lines})
    return cluster(roots, *(_flat(objects)), conf=conf)


def _flat(objects: Any) -> list[Manifest]:
    return [one for each in objects for one in ([each] if isinstance(each, dict) else each)]


def job(name: str, count: int, on: str = "", cpu: str = "1") -> list[Manifest]:
    group = pod_group(name, queue=name, min_member=0 if on else 1, phase="Running" if on else "Inqueue")
    return [group, *pods(name, count, cpu=cpu, on=on)]


def root_with_a_limit() -> Snapshot:
    root = queue("root", capability=amounts("2", "100G"))
    return over_capacity("allocate", *_flat([node("n1"), root, queue("a", parent="root"), *job("a", 4)]), tree=True)


def more_victims_than_needed() -> Snapshot:
    """reclaim takes from b down to its deserved; the order of the tasks decides which ones are evicted."""
    objects = [node("n1", cpu="4"), queue("a", deserved=amounts("2")), queue("b", deserved=amounts("2", "2G"))]
    return over_capacity("reclaim", *_flat([*objects, *job("a", 1), *job("b", 4, on="n1")]))


def claim_of_a_parent() -> Snapshot:
    """b1 has no deserved, but its parent b uses less than its deserved."""
    queues = [
        queue("a", deserved=amounts("4")),
        queue("a1", parent="a"),
        queue("b", deserved=amounts("4")),
        queue("b1", parent="b"),
    ]
    objects = _flat([node("n1", cpu="4"), queues, *job("a1", 4, on="n1"), *job("b1", 1)])
    return over_capacity("reclaim", *objects, tree=True, ancestorReclaimLevel=1)


def child_with_more_than_its_parent() -> Snapshot:
    queues = [queue("p", capability=amounts("2")), queue("a", parent="p", capability=amounts("5"))]
    return over_capacity("allocate", *_flat([node("n1"), queues, *job("a", 1)]), tree=True)


def queue_that_deserves_nothing() -> Snapshot:
    """Two jobs for one place; queue a, which comes first by name, has no deserved."""
    queues = [queue("a"), queue("b", deserved=amounts("2"))]
    return over_capacity("allocate", *_flat([node("n1", cpu="1"), queues, *job("a", 1), *job("b", 1)]))


def queue_that_deserves_its_guarantee() -> Snapshot:
    queues = [queue("a"), queue("b", guarantee=amounts("1"))]
    return over_capacity("allocate", *_flat([node("n1", cpu="2"), queues, *job("a", 2), *job("b", 2)]), tree=True)


def more_than_deserved_of_something_else() -> Snapshot:
    """b holds more GPUs than its deserved, all of them in one pod."""
    queues = [queue("a", deserved=amounts("2", "2G")), queue("b", deserved=amounts("9", "9G", gpu="1"))]
    running = pod_group("b", queue="b", min_member=0, phase="Running")
    pods_of_b = [pod("b-1", "b", on="n1", requests=amounts("1", "1G"))]
    pods_of_b.append(pod("b-0", "b", on="n1", requests=amounts("1", "1G", gpu="2")))
    return over_capacity(
        "reclaim",
        *_flat([node("n1", cpu="2", **{"nvidia.com/gpu": "2"}), queues, running, pods_of_b, *job("a", 1, cpu="2")]),
    )


def quota_of_devices(**capacity: Any) -> Snapshot:
    exactly = {"deviceClassName": "gpu", "count": 2, **capacity}
    claim = {
        "kind": "ResourceClaim",
        "metadata": metadata("two", "default"),
        "spec": {"devices": {"requests": [{"name": "r", "exactly": exactly}]}},
    }
    member = pod("a-0", "a", requests=amounts("1"), resourceClaims=[{"name": "c", "resourceClaimName": "two"}])
    limit = {"deviceclass/gpu": "2" if capacity else "1"}
    group = pod_group("a", queue="a")
    return over_capacity("allocate", node("n1"), queue("a", capability=limit), claim, group, member)


def quota_of_shared_out_devices() -> Snapshot:
    return quota_of_devices(capacity={"requests": {"memory": "1Gi"}})


def quota_of_endlessly_many_devices() -> Snapshot:
    """Two requests for the largest int64 count of devices."""
    snapshot = quota_of_devices()
    snapshot.objects["ResourceClaim"][0]["spec"]["devices"]["requests"] = [
        {"name": name, "exactly": {"deviceClassName": "gpu", "count": 2**63 - 1}} for name in "rs"
    ]
    return snapshot


def quota_of_less_than_no_devices() -> Snapshot:
    snapshot = quota_of_devices(count=-1, capacity={"requests": {"memory": "1Gi"}})
    snapshot.objects["Queue"][0]["spec"]["capability"] = {"memory.deviceclass/gpu": "500Mi"}
    return snapshot


def told_of_admission() -> Snapshot:
    arguments = "    arguments:\n      extender.urlPrefix: http://x/\n      extender.jobEnqueuedVerb: enqueued\n"
    group = pod_group("j", phase="Pending", min_resources=amounts("1"))
    return cluster(node("n1"), group, pods("j", 1), conf=conf_of("extender", actions="enqueue") + arguments)


# Nodes


def in_groups(actions: str, affinity: dict[str, Any], line: str = "", **more: Any) -> Snapshot:
    labelled = [node(f"n{index}", labels={"volcano.sh/nodegroup-name": f"g{index}"}) for index in (1, 2)]
    conf = conf_of("gang", "predicates nodegroup", actions=actions) + line
    group = pod_group("j", queue="q")
    return cluster(labelled, queue("q", affinity=affinity, **more), group, pods("j", 1, cpu="2"), conf=conf)


def preferred_groups_in_order() -> Snapshot:
    ordered = "    arguments:\n      enablePreferredOrder: true\n"
    return in_groups("allocate", {"nodeGroupAffinity": {PREFERRED: ["g2", "g1"]}}, ordered)


def limits_of_groups() -> Snapshot:
    limits = {"volcano.sh/nodegroup-resource-limits": '{"g1": {"cpu": "1"}}'}
    return in_groups("allocate", {"nodeGroupAffinity": {REQUIRED: ["g1"]}}, annotations=limits)


def storage_without_room() -> Snapshot:
    """The class has no CSIStorageCapacity object, so no node has storage capacity."""
    wait = {"provisioner": "csi.x", "volumeBindingMode": "WaitForFirstConsumer"}
    storage = {"kind": "StorageClass", "metadata": metadata("s"), **wait}
    driver = {"kind": "CSIDriver", "metadata": metadata("csi.x"), "spec": {"storageCapacity": True}}
    wanted = {"storageClassName": "s", "resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    claim = {
        "kind": "PersistentVolumeClaim",
        "metadata": metadata("c", "default"),
        "spec": wanted,
        "status": {"phase": "Pending"},
    }
    snapshot = one_pod("2", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}])
    for one in snapshot.objects["Node"]:
        one["status"]["allocatable"]["attachable-volumes-csi-csi.x"] = "8"
    made: list[Manifest] = [storage, driver, claim]
    for manifest in made:
        snapshot.objects.setdefault(manifest["kind"], []).append(manifest)
    return snapshot


def cordoned_and_not_asked_for() -> Snapshot:
    snapshot = one_pod("2", nodeSelector={"rack": "a"})
    for one in snapshot.objects["Node"]:
        one["spec"]["unschedulable"] = True
    return snapshot


def volumes_of_portworx() -> Snapshot:
    """A node limited to one Portworx volume; its CSINode does not report Portworx as migrated."""
    made: list[Manifest] = []
    for name in "ab":
        source = {"portworxVolume": {"volumeID": name}, "claimRef": {"name": name, "namespace": "default"}}
        claim = {"volumeName": name, "storageClassName": "", "resources": {"requests": {"storage": "1Gi"}}}
        made.append({"kind": "PersistentVolume", "metadata": metadata(name), "spec": source})
        bound: Manifest = {"kind": "PersistentVolumeClaim", "metadata": metadata(name, "default"), "spec": claim}
        bound["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
        made.append(bound | {"status": {"phase": "Bound"}})
    drivers = [{"name": "pxd.portworx.com", "nodeID": "n1", "allocatable": {"count": 1}}]
    made.append({"kind": "CSINode", "metadata": metadata("n1"), "spec": {"drivers": drivers}})
    mounts = [[{"name": "v", "persistentVolumeClaim": {"claimName": name}}] for name in "ab"]
    runs = pod("r-0", "r", on="n1", requests=amounts("1"), volumes=mounts[0])
    waits = pod("j-0", "j", requests=amounts("1"), volumes=mounts[1])
    groups = [pod_group("r", min_member=0, phase="Running"), pod_group("j")]
    return cluster(node("n1"), made, groups, runs, waits, conf=conf_of("gang", "predicates nodeorder"))


def image_on_one_node() -> Snapshot:
    snapshot = one_pod("20")
    images = [{"names": ["train:1"], "sizeBytes": 900_000_000}]
    snapshot.objects["Node"][0]["status"]["images"] = images
    return snapshot


SHOWN: dict[str, Callable[[], Snapshot]] = {
    "victim-tie-by-job-age": victims_of_two_jobs,
    "preempt-with-topology": starving_with_topology,
    "unknown-action-skipped": action_that_does_not_exist,
    "no-shards": node_of_another_shard,
    "queue-allocation-gate": gate_of_volcano,
    "nomination-in-hypernode": nominated_elsewhere,
    "overhead-before-init": large_init_container,
    "pod-level-requests-ignored": requests_of_the_pod,
    "pvc-missing-drops-pod": claim_that_does_not_exist,
    "prepredicate-always-breaks": refused_before_predicates,
    "flat-nomination": nominated_by_a_gang_action,
    "preempt-tasks-per-queue": starving_in_two_queues,
    "highest-tier-name-subgroup": sub_group_by_tier_name,
    "extender-job-enqueued": told_of_admission,
    "capacity-reclaim-list-order": more_victims_than_needed,
    "capacity-ancestor-level": claim_of_a_parent,
    "dra-quota": quota_of_devices,
    "root-infinite": root_with_a_limit,
    "capacity-tree-violation-fatal": child_with_more_than_its_parent,
    "capacity-tree-deserved-raw": queue_that_deserves_its_guarantee,
    "capacity-best-effort-first": queue_that_deserves_nothing,
    "capacity-reclaim-all-under-deserved": more_than_deserved_of_something_else,
    "capacity-preemptive-every-dimension": more_victims_than_needed,
    "nodeorder-pod-level-requests": requests_of_the_pod_for_the_balance,
    "volumebinding-capacity": storage_without_room,
    "feature-gate-ceiling-1.35": quota_of_shared_out_devices,
    "feature-gate-ceiling-1.33": quota_of_shared_out_devices,
    "dra-count-wraps": quota_of_endlessly_many_devices,
    "dra-capacity-mul": quota_of_less_than_no_devices,
    "prefilter-registrations": claim_that_does_not_exist,
    "predicate-order": cordoned_and_not_asked_for,
    "portworx-migration-annotation": volumes_of_portworx,
    "image-states": image_on_one_node,
    "nodegroup-resource-limits": limits_of_groups,
    "nodegroup-preferred-order": preferred_groups_in_order,
    **ON_CARDS,
    **ON_NPUS,
    **ON_TOPOLOGY,
    **BEFORE_1_11,
    **BEFORE_1_12,
    **BEFORE_1_13,
    **BY_PODS,
    **ON_PROPOSALS,
}
"""Change -> builder of a cluster whose recording the change alters."""
BESIDE: dict[str, str] = {
    "metrics-unregistered": "nodeorder-two-kinds",
    "preempt-tasks-per-queue": "preempt-queue-order",
    "releasing-charged-to-devices": "vgpu-ledger-leaks",
    "nil-ledger-asked": "nil-device-ledger",
    "device-missing-refused": "nil-device-ledger",
    **BESIDE_ON_TOPOLOGY,
    **BESIDE_BEFORE_1_11,
    **BESIDE_BEFORE_1_12,
    "nta-hypernode-score": "nta-node-score-only",
    "nta-soft-only": "allocate-flat-retry,+allocate-topology-tiers,+nta-node-score-only",
    "vgpu-second-container-free": "vgpu-ledger-leaks",
    "hostname-spread-counts": "nodeorder-two-kinds",
    "capacity-root-always-cluster": "root-infinite",
    "capacity-scalars-not-inherited": "root-infinite,+capacity-tree-violation-fatal",
}
"""Changes that have no effect alone on the latest rules, with the older form that they need."""
