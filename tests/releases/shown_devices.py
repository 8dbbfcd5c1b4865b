"""Small clusters with GPUs and NUMA nodes on which a change decides something."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from tests.builders import amounts, cluster, conf_of, metadata, node, pod, pod_group, priority_class
from vcdebug.snapshot.cycle_inputs import CpuReservation, SchedulerProcess
from vcdebug.snapshot.snapshot import Manifest, Snapshot

OLD = "2026-10-01T00:00:00Z"
CLASSES = [priority_class("high", 100), priority_class("low", 1)]
TOPOLOGY_AWARE = "configurations:\n- name: preempt\n  arguments:\n    enableTopologyAwarePreemption: true\n"
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
    snapshot.process = SchedulerProcess(started=snapshot.now - timedelta(hours=1))
    return snapshot


def held(name: str, card: str, group: str = "r", memory: int = 100) -> Manifest:
    return asking(name, group, on="n1", vgpu_ids_new=f"gpu-{card},NVIDIA,{memory},0:")


def wanted_card() -> Snapshot:
    return sharing(cards(), pod_group("j"), asking("j-0", vgpu_use_gpuuuid="gpu-x"))


def spread_over_cards() -> Snapshot:
    """The only card is used by a pod of the same PodGroup, whose policy is spread."""
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
    """binpack prefers the used card; the second task needs a whole card."""
    objects = [cards(2), pod_group("r"), held("r-0", "a", memory=200)]
    waiting = [pod_group("j"), asking("j-0"), asking("j-1", memory="1000")]
    return sharing(*objects, *waiting, SchedulePolicy="binpack")


def one_card_twice(*more: Any, **arguments: Any) -> Snapshot:
    """A gang of two for a card with room for one pod; after its rollback, another job requests the card."""
    gang = [pod_group("j", min_member=2), asking("j-0", memory="600"), asking("j-1", memory="600")]
    gang[0]["metadata"]["creationTimestamp"] = OLD
    behind = [pod_group("k"), asking("k-0", "k", memory="600")]
    return sharing(cards(1), gang, behind, *more, **arguments)


def left_over_annotation() -> Snapshot:
    """The first task has the annotation of an earlier attempt."""
    first = asking("j-0", memory="600", vgpu_node="n1", vgpu_ids_new="gpu-a,NVIDIA,600,0:")
    return sharing(cards(1), pod_group("j"), first, asking("j-1", memory="400"))


def entries_of_one_card() -> Snapshot:
    """A running pod with two containers on one card."""
    runs = asking("r-0", "r", on="n1", vgpu_ids_new="gpu-a,NVIDIA,400,0:;gpu-a,NVIDIA,400,0:")
    return sharing(cards(1), pod_group("r"), runs, pod_group("j"), asking("j-0", memory="600"))


def silent_plugin() -> Snapshot:
    """A node that registers cards, but whose device plugin has no handshake, so requests skip it."""
    return sharing(cards(1), pod_group("j"), asking("j-0", memory="1001"))


def preempting_for_cards() -> Snapshot:
    """A low-priority pod uses the only card, which a high-priority pod requests."""
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
    """Dry runs try both nodes for the high-priority pod; the card of the rejected node stays charged."""
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


def node_without_cards(name: str = "n1") -> Manifest:
    """A node with vGPU resources but without registered cards."""
    return node(name, **VGPU)


def no_cards_to_score() -> Snapshot:
    """Two nodes without registered cards, so that scoring runs."""
    return sharing(node_without_cards(), node_without_cards("n2"), pod_group("j"), asking("j-0"))


def no_cards_to_take() -> Snapshot:
    """One node without registered cards, so that scoring is skipped."""
    return sharing(node_without_cards(), pod_group("j"), asking("j-0"))


def overcommitted_card() -> Snapshot:
    runs = of_memory("r-0", "r", "1200", on="n1", gpu_index="0")
    return shared_by_memory(pod_group("r"), runs, pod_group("j"), of_memory("j-0", "j", "100"))


def damaged_entry() -> Snapshot:
    runs = asking("r-0", "r", on="n1", vgpu_ids_new="gpu-a,NVIDIA,x,100:")
    return sharing(cards(1), pod_group("r"), runs, pod_group("j"), asking("j-0"))


def cpus_of_an_earlier_cycle() -> Snapshot:
    """The Numatopology already lists the pod to which an earlier cycle assigned the CPUs."""
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
    snapshot.process = SchedulerProcess(sessions=1, started=snapshot.now - timedelta(hours=1), reserved_cpus=taken)
    return snapshot


def cards_in_a_dry_run() -> Snapshot:
    """Evicting the low-priority pod frees the node's cpu, but not the card that another pod uses."""
    node_of_two = cards(1, users=2)
    node_of_two["status"]["allocatable"]["cpu"] = node_of_two["status"]["capacity"]["cpu"] = "1"
    victim = pod("l-0", "l", on="n1", requests=amounts("1"))
    group = pod_group("l", priority_class="low", phase="Running", min_member=0)
    waits = asking("h-0", "h", memory="900")
    waits["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1"
    objects = [node_of_two, group, victim, pod_group("r", min_member=1), held("r-0", "a", memory=200)]
    owner = pod_group("h", priority_class="high")
    return sharing(*objects, owner, waits, actions="preempt", extra=TOPOLOGY_AWARE)


def whole_cards_of_two_sizes() -> Snapshot:
    """Two cards; 100 % of the larger last card does not fit on the first one."""
    snapshot = sharing(cards(1), pod_group("j"), *(asking(f"j-{at}") for at in range(2)))
    entries = "gpu-a,1,500,NVIDIA,true,hami-core:gpu-b,1,1000,NVIDIA,true,hami-core:"
    snapshot.objects["Node"][0]["metadata"]["annotations"] = {"volcano.sh/node-vgpu-register": entries}
    for waits in snapshot.objects["Pod"]:
        limits = {"volcano.sh/vgpu-number": "2"}
        waits["spec"]["containers"][0]["resources"] = {"limits": limits, "requests": limits}
    return snapshot


def first_cycle_with_cards() -> Snapshot:
    """The scheduler's first cycle; only the card's memory excludes the pod."""
    snapshot = sharing(cards(1), pod_group("j"), asking("j-0", memory="1001"))
    snapshot.process = SchedulerProcess()
    return snapshot


def refused_by_the_other_pod() -> Snapshot:
    """Two tasks for a card with room for both, but not if the first one is charged twice."""
    gang = [pod_group("j", min_member=2), asking("j-0", memory="400"), asking("j-1", memory="400")]
    return sharing(cards(1), gang)


def memory_in_larger_units() -> Snapshot:
    """A pod that requests 5 units of 1024 MiB, on a card whose MIG instances have 4096 MiB."""
    known = "{models: [NVIDIA], allowedGeometries: [{group: g, geometries: [{name: 4gb, memory: 4096, count: 2}]}]}"
    card = cards(1)
    card["metadata"]["annotations"] = {"volcano.sh/node-vgpu-register": "gpu-a,10,8,NVIDIA,true,mig:"}
    snapshot = sharing(card, pod_group("j"), asking("j-0", memory="5"))
    names = "resourceCountName: volcano.sh/vgpu-number, resourceMemoryName: volcano.sh/vgpu-memory"
    snapshot.device_config = f"nvidia: {{{names}, gpuMemoryFactor: 1024, knownMigGeometries: [{known}]}}"
    return snapshot


ON_CARDS: dict[str, Callable[[], Snapshot]] = {
    "simulate-without-devices": cards_in_a_dry_run,
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
    "nil-device-ledger": no_cards_to_score,
    "nil-ledger-asked": no_cards_to_take,
    "vgpu-memory-percentage": whole_cards_of_two_sizes,
    "devices-always-registered": first_cycle_with_cards,
    "device-missing-refused": no_cards_to_take,
    "vgpu-charged-twice": refused_by_the_other_pod,
    "mig-memory-factor": memory_in_larger_units,
}
"""Change -> builder of a cluster whose recording the change alters."""
