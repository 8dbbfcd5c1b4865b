"""Small clusters on which a change before v1.12 decides something."""

from collections.abc import Callable

from tests.builders import amounts, cluster, conf_of, metadata, node, pod, pod_group, pods, queue
from tests.releases.shown_before_1_13 import deciding, one_waits, running, told_of_placements, volume_elsewhere, waiting
from tests.releases.shown_devices import asking, cards, of_memory, shared_by_memory, sharing
from tests.releases.shown_topology import gang_behind_a_large_task, hard_job
from vcdebug.snapshot.snapshot import Snapshot

PREEMPTABLE = {"volcano.sh/preemptable": "true", "volcano.sh/jdb-max-unavailable": "1"}
TREE = {"capacity": {"enableHierarchy": "true"}}


def nominated_to_the_second_node() -> Snapshot:
    return deciding(node("n1"), node("n2", cpu="2"), waiting("n2"), actions="allocate")


def lost_before_another() -> Snapshot:
    """Two best-effort pods; the first one matches no node."""
    members = [pod("a-0", "a", requests={}, nodeSelector={"rack": "r"}), pod("b-0", "b", requests={})]
    conf = conf_of("gang", "predicates nodeorder", actions="backfill")
    return cluster(node("n1"), pod_group("a"), pod_group("b"), members, conf=conf)


def refused_where_a_pod_leaves() -> Snapshot:
    """The webhook refuses a pod that would be pipelined where another pod terminates."""
    snapshot = told_of_placements()
    leaving = running("l", "n1")
    leaving[1]["metadata"]["deletionTimestamp"] = "2026-11-01T00:00:00Z"
    snapshot.objects["Node"] = [node("n1", cpu="1")]
    snapshot.objects["PodGroup"].append(leaving[0])
    snapshot.objects["Pod"].append(leaving[1])
    return snapshot


def named_by_tdm() -> Snapshot:
    """n1 is outside its revocable time window, so tdm names its preemptable pod as victim."""
    shut = {"tdm": {"arguments": '{tdm.revocable-zone.rz1: "10:00-11:00"}'}}
    runs = running("l", "n1")
    for one in runs:
        one["metadata"].setdefault("annotations", {}).update(PREEMPTABLE)
    zone = node("n1", labels={"volcano.sh/revocable-zone": "rz1"})
    return cluster(zone, runs, conf=conf_of("tdm gang", "predicates", actions="preempt", arguments=shut))


def placed_in_a_queue() -> Snapshot:
    return deciding(node("n1"), queue("default"), pod_group("j"), pods("j", 1), actions="allocate")


def asks_for_less_than_it_deserves() -> Snapshot:
    conf = conf_of("gang", "capacity predicates")
    deserved = queue("a", deserved=amounts("4", "40G"))
    return cluster(node("n1"), deserved, pod_group("j", queue="a"), pods("j", 1), conf=conf)


def job_in_a_closed_queue() -> Snapshot:
    closed = queue("a", state="Closed", deserved=amounts("4", "40G"))
    conf = conf_of("gang", "capacity predicates")
    return cluster(node("n1"), closed, pod_group("j", queue="a"), pods("j", 1), conf=conf)


def admitted_past_its_parent() -> Snapshot:
    """The parent's remaining capability is too small for the job; the leaf's states no GPU."""
    queues = [queue("root"), queue("p", parent="root", capability=amounts("4", "100G", gpu="1"))]
    queues.append(queue("leaf", parent="p", capability=amounts("4", "100G")))
    group = pod_group("j", queue="leaf", phase="Pending", min_resources=amounts("1", "1G"))
    busy = [pod_group("k", queue="leaf2", phase="Inqueue", min_resources=amounts("4", "1G"))]
    queues.append(queue("leaf2", parent="p"))
    conf = conf_of("capacity", "gang predicates", actions="enqueue", arguments=TREE)
    gpus = {"nvidia.com/gpu": "4"}
    return cluster(node("n1", cpu="40", **gpus), queues, group, pods("j", 1), busy, pods("k", 1, cpu="4"), conf=conf)


def guaranteed_more_than_there_is() -> Snapshot:
    queues = [queue("a", guarantee=amounts("5", "1G")), queue("b")]
    jobs = [(pod_group(name, queue=name), *pods(name, 1, cpu="4")) for name in "ab"]
    return cluster(node("n1", cpu="4"), queues, *jobs, conf=conf_of("gang", "proportion predicates"))


def reclaimer_larger_than_the_queue() -> Snapshot:
    """Queue b exceeds its deserved cpu, but uses less memory than the task of queue a requests."""
    queues = [queue("a", deserved=amounts("4", "40G")), queue("b", deserved=amounts("1", "1G"))]
    holds = [pod_group("b", queue="b", min_member=0, phase="Running"), *pods("b", 2, on="n1")]
    conf = conf_of("capacity gang predicates", actions="reclaim")
    return cluster(node("n1", cpu="2"), queues, holds, pod_group("a", queue="a"), pods("a", 1, memory="5G"), conf=conf)


def group_without_pods() -> Snapshot:
    return cluster(node("n1"), pod_group("j", min_member=1), conf=conf_of("gang", "predicates"))


def cooling_down_in_another_queue() -> Snapshot:
    queues = [queue("a", deserved=amounts("4", "40G")), queue("b", deserved=amounts("1", "1G"))]
    holds = [pod_group("b", queue="b", min_member=0, phase="Running"), *pods("b", 4, on="n1")]
    since = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-10-31T23:55:00Z"}
    for member in holds[1:]:
        member["metadata"]["labels"] = {"volcano.sh/cooldown-time": "600s"}
        member["status"]["conditions"] = [since]
    conf = conf_of("capacity cdp gang predicates", actions="reclaim")
    return cluster(node("n1", cpu="4"), queues, holds, pod_group("a", queue="a"), pods("a", 1), conf=conf)


def claim_without_devices() -> Snapshot:
    exactly = {"deviceClassName": "gpu", "count": 2}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    claim = {"kind": "ResourceClaim", "metadata": metadata("two", "default"), "spec": spec}
    return one_waits(node("n1"), claim, resourceClaims=[{"name": "c", "resourceClaimName": "two"}])


def beside_a_sidecar() -> Snapshot:
    """n1 runs a pod whose sidecar has the largest request."""
    sidecar = {"name": "s", "image": "x", "restartPolicy": "Always", "resources": {"requests": amounts("4")}}
    return one_waits(node("n1"), node("n2", cpu="9"), running("l", "n1", initContainers=[sidecar]))


def asks_for_mig() -> Snapshot:
    return sharing(cards(1), pod_group("j"), asking("j-0", vgpu_mode="mig"))


def two_jobs_on_one_card() -> Snapshot:
    """Two jobs that fit together on one card."""
    jobs = [pod_group("j"), asking("j-0", memory="400"), pod_group("k"), asking("k-0", "k", memory="400")]
    return sharing(cards(1), jobs)


def asks_for_no_a100() -> Snapshot:
    member = asking("j-0")
    member["metadata"]["annotations"] |= {"nvidia.com/nouse-gputype": "A100"}
    return sharing(cards(1), pod_group("j"), member)


def whole_card_in_use() -> Snapshot:
    """The only card belongs to a running pod."""
    runs, waits = of_memory("r-0", "r", "1", on="n1"), of_memory("j-0", "j", "1")
    for one in (runs, waits):
        one["spec"]["containers"][0]["resources"]["limits"] = {"volcano.sh/gpu-number": "1"}
    runs["metadata"]["annotations"] |= {"volcano.sh/gpu-index": "0"}
    snapshot = shared_by_memory(pod_group("r", min_member=0, phase="Running"), runs, pod_group("j"), waits)
    assert snapshot.scheduler_conf is not None
    stated = snapshot.scheduler_conf.replace("GPUSharingEnable: true", "GPUNumberEnable: true")
    snapshot.scheduler_conf = stated
    return snapshot


BEFORE_1_12: dict[str, Callable[[], Snapshot]] = {
    "nomination-unheeded": nominated_to_the_second_node,
    "requeue-when-ready": gang_behind_a_large_task,
    "backfill-ends-at-failure": lost_before_another,
    "refused-pipeline-undone": refused_where_a_pod_leaves,
    "preempt-evicts-named": named_by_tdm,
    "queue-status-running": placed_in_a_queue,
    "volumes-at-allocation": volume_elsewhere,
    "topology-absent": hard_job,
    "capacity-deserved-within-request": asks_for_less_than_it_deserves,
    "queue-state-unread": job_in_a_closed_queue,
    "capacity-admission-leaf-only": admitted_past_its_parent,
    "guarantees-beyond-rest": guaranteed_more_than_there_is,
    "reclaim-whole-request": reclaimer_larger_than_the_queue,
    "gang-close-without-tasks": group_without_pods,
    "cdp-preempt-only": cooling_down_in_another_queue,
    "dra-absent": claim_without_devices,
    "sidecars-as-init": beside_a_sidecar,
    "vgpu-modes-absent": asks_for_mig,
    "vgpu-charged-by-news": two_jobs_on_one_card,
    "vgpu-unwanted-type-ignored": asks_for_no_a100,
    "gpushare-number-uncharged": whole_card_in_use,
}
"""Change -> builder of a cluster whose recording the change alters."""
BESIDE_BEFORE_1_12: dict[str, str] = {
    "reclaim-whole-request": "capacity-reclaim-all-under-deserved",
    "requeue-when-ready": "allocate-flat-retry",
    "vgpu-charged-by-news": "vgpu-ledger-leaks",
    "refused-pipeline-undone": "statement-no-self-rollback",
}
