"""Small clusters on which a change decides something: one for each that no copied recording shows."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from tests.builders import (
    amounts,
    cluster,
    conf_of,
    hyper_node,
    metadata,
    node,
    pod,
    pod_group,
    pods,
    priority_class,
    queue,
)
from vcdebug.snapshot.process import CpuReservation, Process
from vcdebug.snapshot.snapshot import Flags, Manifest, Snapshot

OLD = "2026-10-01T00:00:00Z"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
CLASSES = [priority_class("high", 100), priority_class("low", 1)]
GANGS = [node("a1", cpu="4"), node("b1", cpu="4"), hyper_node("a", 1, nodes=["a1"]), hyper_node("b", 1, nodes=["b1"])]
TOPOLOGY_AWARE = "configurations:\n- name: preempt\n  arguments:\n    enableTopologyAwarePreemption: true\n"


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
    """Both jobs starve; only the second one's queue has victims."""
    return preempting(
        node("n1", cpu="2"),
        queue("q1"),
        queue("q2"),
        high("first", 1, queue="q1"),
        low("l", 2, "n1", queue="q2"),
        high("second", 1, queue="q2"),
    )


def gate_of_volcano() -> Snapshot:
    gates = [{"name": "scheduling.volcano.sh/queue-allocation-gate"}]
    snapshot = cluster(
        node("n1"),
        pod_group("j"),
        pod("j-0", "j", requests=amounts("1"), schedulingGates=gates),
        conf=conf_of("gang predicates"),
    )
    snapshot.flags = Flags(feature_gates={"SchedulingGatesQueueAdmission": True})
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
    """The first of two tasks names a claim that does not exist; one of them would do."""
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
    """capacity decides alone, in the first tier."""
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
    """b gives back down to what it deserves: which of its tasks depends on who is looked at first."""
    objects = [node("n1", cpu="4"), queue("a", deserved=amounts("2")), queue("b", deserved=amounts("2", "2G"))]
    return over_capacity("reclaim", *_flat([*objects, *job("a", 1), *job("b", 4, on="n1")]))


def claim_of_a_parent() -> Snapshot:
    """b1 deserves nothing, but all of b less than b deserves."""
    queues = [
        queue("a", deserved=amounts("4")),
        queue("a1", parent="a"),
        queue("b", deserved=amounts("4")),
        queue("b1", parent="b"),
    ]
    objects = _flat([node("n1", cpu="4"), queues, *job("a1", 4, on="n1"), *job("b1", 1)])
    return over_capacity("reclaim", *objects, tree=True, ancestorReclaimLevel=1)


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
    """No CSIStorageCapacity of the class says that a node has room."""
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


def image_on_one_node() -> Snapshot:
    snapshot = one_pod("20")
    images = [{"names": ["train:1"], "sizeBytes": 900_000_000}]
    snapshot.objects["Node"][0]["status"]["images"] = images
    return snapshot


# Devices


VGPU = {"volcano.sh/vgpu-number": "20", "volcano.sh/vgpu-cores": "200", "volcano.sh/vgpu-memory": "2000"}


def cards(count: int = 2, users: int = 10, name: str = "n1") -> Manifest:
    manifest = node(name, **VGPU)
    entries = [f"gpu-{card},{users},1000,NVIDIA-A100,true,hami-core:" for card in "abc"[:count]]
    manifest["metadata"]["annotations"] = {"volcano.sh/node-vgpu-register": "".join(entries)}
    return manifest


def asking(name: str, group: str = "j", on: str = "", memory: str = "100", **notes: str) -> Manifest:
    limits = {"volcano.sh/vgpu-number": "1", "volcano.sh/vgpu-memory": memory}
    stated = {f"volcano.sh/{key.replace('_', '-')}": text for key, text in notes.items()}
    containers = [{"name": "c", "resources": {"limits": limits, "requests": limits}}]
    return pod(name, group, on=on, containers=containers, annotations=stated)


def sharing(*objects: Any, actions: str = "allocate", extra: str = "", **arguments: Any) -> Snapshot:
    stated = {"VGPUEnable": "true", "ScheduleWeight": 1, **arguments}
    lines = "    arguments:\n" + "".join(f"      deviceshare.{key}: {value}\n" for key, value in stated.items())
    conf = conf_of("priority gang", "predicates deviceshare", actions=actions) + lines + extra
    snapshot = cluster(CLASSES, *objects, conf=conf)
    snapshot.process = Process(started=snapshot.now - timedelta(hours=1))
    return snapshot


def held(name: str, card: str, group: str = "r", memory: int = 100) -> Manifest:
    return asking(name, group, on="n1", vgpu_ids_new=f"gpu-{card},NVIDIA,{memory},0:")


def wanted_card() -> Snapshot:
    return sharing(cards(), pod_group("j"), asking("j-0", vgpu_use_gpuuuid="gpu-x"))


def spread_over_cards() -> Snapshot:
    """The only card has a pod of the same group."""
    group = {"scheduling.volcano.sh/group-name": "j"}
    other = asking("j-1", on="n1", vgpu_ids_new="gpu-a,NVIDIA,100,0:")
    other["metadata"]["annotations"] |= group
    return sharing(cards(1), pod_group("j"), other, asking("j-0", vgpu_podgroup_policy="spread"))


def exclusive_cards() -> Snapshot:
    runs, waits = held("r-0", "a"), asking("j-0")
    for one in (runs, waits):
        one["metadata"]["labels"] = {"app": "solo"}
    rules = "[{app: solo}]"
    return sharing(cards(1), pod_group("r"), runs, pod_group("j"), waits, GPUExclusiveRules=rules)


def spread_scores_unused() -> Snapshot:
    held_on_one = [pod_group("r"), held("r-0", "a")]
    return sharing(cards(1), cards(1, name="n2"), held_on_one, pod_group("j"), asking("j-0"), SchedulePolicy="spread")


def fullest_card_first() -> Snapshot:
    """By binpack the first card; the second task needs a whole one."""
    objects = [cards(2), pod_group("r"), held("r-0", "a", memory=200)]
    waiting = [pod_group("j"), asking("j-0"), asking("j-1", memory="1000")]
    return sharing(*objects, *waiting, SchedulePolicy="binpack")


def one_card_twice(*more: Any, **arguments: Any) -> Snapshot:
    """A gang of two on a card for one: it is taken back, and the job behind it asks for the card."""
    gang = [pod_group("j", min_member=2), asking("j-0", memory="600"), asking("j-1", memory="600")]
    gang[0]["metadata"]["creationTimestamp"] = OLD
    behind = [pod_group("k"), asking("k-0", "k", memory="600")]
    return sharing(cards(1), gang, behind, *more, **arguments)


def left_over_annotation() -> Snapshot:
    """The first task names the card of an earlier attempt."""
    first = asking("j-0", memory="600", vgpu_node="n1", vgpu_ids_new="gpu-a,NVIDIA,600,0:")
    return sharing(cards(1), pod_group("j"), first, asking("j-1", memory="400"))


def entries_of_one_card() -> Snapshot:
    """A running pod with two containers on one card."""
    runs = asking("r-0", "r", on="n1", vgpu_ids_new="gpu-a,NVIDIA,400,0:;gpu-a,NVIDIA,400,0:")
    return sharing(cards(1), pod_group("r"), runs, pod_group("j"), asking("j-0", memory="600"))


def silent_plugin() -> Snapshot:
    """A node that registers cards and whose plugin never shook hands: nobody asks for its cards."""
    return sharing(cards(1), pod_group("j"), asking("j-0", memory="1001"))


def preempting_for_cards() -> Snapshot:
    """The low pod holds the only card."""
    runs = held("l-0", "a", "l", memory=900)
    runs["spec"]["priority"] = 1
    group = pod_group("l", priority_class="low", phase="Running", min_member=0)
    waits = [pod_group("h", priority_class="high"), asking("h-0", "h", memory="900")]
    node_of_one = cards(1)
    for amounts_of in ("capacity", "allocatable"):
        node_of_one["status"][amounts_of]["volcano.sh/vgpu-number"] = "1"
    return sharing(node_of_one, group, runs, waits, actions="preempt")


def with_cpu(manifest: Manifest, cpu: str) -> Manifest:
    manifest["spec"]["containers"][0]["resources"]["requests"]["cpu"] = cpu
    return manifest


def card_of_the_other_candidate() -> Snapshot:
    """Both nodes are tried for the high pod; the card of the one that is not chosen stays taken."""
    groups = [pod_group("l", priority_class="low", phase="Running", min_member=0), pod_group("k", priority_class="low")]
    runs = []
    for name in ("n1", "n2"):
        runs.append(with_cpu(held(f"l-{name}", "a", "l", memory=900), "10"))
        runs[-1]["spec"]["nodeName"] = name
    waits = [pod_group("h", priority_class="high"), with_cpu(asking("h-0", "h", memory="900"), "10")]
    behind = asking("k-0", "k", memory="900")
    extra = TOPOLOGY_AWARE + "    minCandidateNodesAbsolute: 2\n"
    nodes = [cards(1), cards(1, name="n2")]
    return sharing(nodes, groups, runs, waits, behind, actions="preempt, allocate", extra=extra)


def shared_by_memory(*objects: Any) -> Snapshot:
    status = {"volcano.sh/gpu-memory": "1000", "volcano.sh/gpu-number": "1"}
    return sharing(node("n1", **status), *objects, VGPUEnable="false", GPUSharingEnable="true")


def of_memory(name: str, group: str, memory: str, on: str = "", **notes: str) -> Manifest:
    manifest = asking(name, group, on=on, **notes)
    limits = {"volcano.sh/gpu-memory": memory}
    manifest["spec"]["containers"][0]["resources"] = {"limits": limits, "requests": {"cpu": "1"}}
    return manifest


def shared_card_twice() -> Snapshot:
    gang = [pod_group("j", min_member=2), of_memory("j-0", "j", "600"), of_memory("j-1", "j", "600")]
    gang[0]["metadata"]["creationTimestamp"] = OLD
    return shared_by_memory(gang, pod_group("k"), of_memory("k-0", "k", "600"))


def overcommitted_card() -> Snapshot:
    runs = of_memory("r-0", "r", "1200", on="n1", gpu_index="0")
    return shared_by_memory(pod_group("r"), runs, pod_group("j"), of_memory("j-0", "j", "100"))


def damaged_entry() -> Snapshot:
    runs = asking("r-0", "r", on="n1", vgpu_ids_new="gpu-a,NVIDIA,x,100:")
    return sharing(cards(1), pod_group("r"), runs, pod_group("j"), asking("j-0"))


def cpus_of_an_earlier_cycle() -> Snapshot:
    """The Numatopology shows the pod that the CPUs were given to."""
    detail = {str(cpu): {"numa": cpu // 4, "socket": cpu // 4, "core": cpu} for cpu in range(8)}
    spec = {
        "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "single-numa-node"},
        "numares": {"cpu": {"allocatable": "0-7", "capacity": 8}},
        "cpuDetail": detail,
        "podAllocations": [{"uid": "uid-earlier", "namespace": "default", "name": "earlier"}],
    }
    numa = {"kind": "Numatopology", "metadata": metadata("n1"), "spec": spec}
    member = pod("j-0", "j", annotations={"volcano.sh/numa-topology-policy": "single-numa-node"})
    stated = amounts("4", "1G")
    member["spec"]["containers"][0]["resources"] = {"limits": stated, "requests": stated}
    conf = conf_of("gang", "predicates numa-aware")
    snapshot = cluster(node("n1", cpu="8"), numa, pod_group("j"), member, conf=conf)
    taken = tuple(CpuReservation("n1", f"default/{name}", f"uid-{name}", "0-7") for name in ("earlier",))
    snapshot.process = Process(sessions=1, started=snapshot.now - timedelta(hours=1), reserved_cpus=taken)
    return snapshot


def cards_in_a_dry_run() -> Snapshot:
    """Evicting the low pod makes room on the node, yet not on the card that the other pod holds."""
    node_of_two = cards(1, users=2)
    node_of_two["status"]["allocatable"]["cpu"] = node_of_two["status"]["capacity"]["cpu"] = "1"
    victim = pod("l-0", "l", on="n1", requests=amounts("1"))
    group = pod_group("l", priority_class="low", phase="Running", min_member=0)
    waits = asking("h-0", "h", memory="900")
    waits["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1"
    objects = [node_of_two, group, victim, pod_group("r", min_member=1), held("r-0", "a", memory=200)]
    owner = pod_group("h", priority_class="high")
    return sharing(*objects, owner, waits, actions="preempt", extra=TOPOLOGY_AWARE)


SHOWN: dict[str, Callable[[], Snapshot]] = {
    "victim-tie-by-job-age": victims_of_two_jobs,
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
    "nodeorder-pod-level-requests": requests_of_the_pod_for_the_balance,
    "volumebinding-capacity": storage_without_room,
    "feature-gate-ceiling-1.35": quota_of_shared_out_devices,
    "simulate-without-devices": cards_in_a_dry_run,
    "image-states": image_on_one_node,
    "nodegroup-resource-limits": limits_of_groups,
    "nodegroup-preferred-order": preferred_groups_in_order,
    "vgpu-uuid-lists": wanted_card,
    "vgpu-device-order": fullest_card_first,
    "vgpu-spread-score": spread_scores_unused,
    "vgpu-podgroup-spread": spread_over_cards,
    "gpu-exclusive-rules": exclusive_cards,
    "numa-pod-level": cpus_of_an_earlier_cycle,
    "device-annotations-on-pod": one_card_twice,
    "vgpu-duplicate-allocate": left_over_annotation,
    "gpushare-release-by-index": shared_card_twice,
    "devices-shared-with-cache": card_of_the_other_candidate,
    "releasing-charged-to-devices": preempting_for_cards,
    "vgpu-ledger-leaks": entries_of_one_card,
    "vgpu-handshake": silent_plugin,
    "vgpu-ids-validation": damaged_entry,
    "gpushare-idle-wraps": overcommitted_card,
}
"""Change → a cluster whose recording its switch alters."""
BESIDE: dict[str, str] = {
    "preempt-tasks-per-queue": "preempt-queue-order",
    "releasing-charged-to-devices": "vgpu-ledger-leaks",
}
"""Changes that decide nothing on top of the newest rules, with the older form that they need beside them."""
