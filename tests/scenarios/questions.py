"""What users of Volcano ask, each as a small cluster, with what explain must answer.

The question, the thread that asked it and what Volcano does today stand at the top of each cluster's file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot

CLUSTERS = Path(__file__).parent / "clusters"
COMMAND = re.compile(r"^# \$ vcdebug explain (\S+) (\S+)$", re.MULTILINE)
GPU = "nvidia.com/gpu"


class Question(NamedTuple):
    """One thread, by its number."""

    number: int
    cause: str
    says: tuple[str, ...]
    """Words of the answer's sentence."""
    numbers: Mapping[str, float] = {}
    lines: tuple[str, ...] = ()
    """Words of the arithmetic under the sentence."""
    advice: str = ""
    """Words of what would help."""
    contributing: tuple[str, ...] = ()
    """What else stands in the way."""
    problem: str = ""
    """Words of the one problem that the cluster is about; elsewhere there is none."""

    @property
    def file(self) -> Path:
        """The cluster."""
        (found,) = CLUSTERS.glob(f"{self.number}-*.yaml")
        return found

    @property
    def head(self) -> list[str]:
        """The comment at the top of the file, line by line."""
        text = self.file.read_text(encoding="utf-8")
        return [line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#")]

    @property
    def job(self) -> str:
        """The job that is asked about."""
        found = COMMAND.search(self.file.read_text(encoding="utf-8"))
        assert found is not None
        return found[2]

    def recording(self) -> Recording:
        """The replay of the cluster."""
        return replayed(self.file.name)


@cache
def replayed(name: str) -> Recording:
    """The replay of a cluster, made once."""
    return replay_cycle(load_snapshot(CLUSTERS / name))


QUESTIONS = (
    # The reason is hidden, vague, or overwritten.
    Question(
        2100,
        "predicates-mixed",
        ("1 Insufficient cpu, 1 Insufficient memory, 1 Insufficient nvidia.com/gpu", "n1 comes closest with 2 free"),
        {"nearest.cpu": 2, "short.cpu": 2, "request.nvidia.com/gpu": 1},
        ("Insufficient memory  (n2)", "Insufficient nvidia.com/gpu  (n3)"),
        "Free 2 cpu on n1.",
    ),
    Question(
        2357,
        "predicates-unresolvable",
        ("none of 2 nodes fits train-2", "train-2 has nodeSelector zone=b."),
        {"nodes.unresolvable": 2},
        advice="Label a node accordingly.",
        contributing=("gang-discard",),
    ),
    Question(
        2285,
        "predicates-unresolvable",
        ('persistentvolumeclaim "corpus" not found',),
        {"nodes.unresolvable": 2},
        advice="Check the pod's PersistentVolumeClaims",
        problem="PersistentVolumeClaim corpus is not in the snapshot",
    ),
    Question(
        1094,
        "predicates-mixed",
        ("fits none of 4 nodes: 1 Insufficient cpu, 1 node(s) didn't match", "n4 comes closest with 2 free (2 short)"),
        {"nodes": 4, "short.cpu": 2},
        ("untolerated taint(s)  (n1)", "unschedulable  (n2)", "affinity/selector  (n3)", "Insufficient cpu  (n4)"),
        "Add a toleration for dedicated=web:NoSchedule",
    ),
    Question(
        4971,
        "predicates-mixed",
        ("no node has room for spark-2", "minMember 1 is met by 2 ready pods, so gang does not block the other 3"),
        {"short.cpu": 8},
    ),
    Question(
        2884,
        "other-scheduler",
        ("1 pod uses schedulerName default-scheduler; this scheduler handles only volcano", "Pods: train-0."),
        {"pods.hidden": 1},
        advice="spec.schedulerName volcano",
    ),
    # Enqueue, overcommit, promises that nobody takes back.
    Question(
        2416,
        "enqueue-overcommit",
        ("asks 20 cpu", "overcommit allows 19.2 more (16 x 1.2 - 0 used), 0.8 short"),
        {"total.cpu": 16, "factor": 1.2, "used.cpu": 0, "idle.cpu": 19.2, "minResources.cpu": 20, "short.cpu": 0.8},
        ("minResources 20 + inqueue 0 > idle 19.2 = 16 x 1.2 - used 0",),
        "Request less in spec.minResources.",
    ),
    Question(
        4385,
        "enqueue-held-by-inqueue",
        ("team/batch-1, team/batch-2, team/batch-3 are Inqueue without pods, and reserve 30 cpu",),
        {"jobs.holding": 3, "held.cpu": 30, "limit.cpu": 38.4},
        ("minResources 10 + inqueue 30 > idle 38.4 = 32 x 1.2 - used 0", "team/batch-2: Inqueue, reserves 10 cpu"),
        "Find out why the controllers of team/batch-1, team/batch-2, team/batch-3 created no pods yet",
    ),
    Question(
        2633,
        "enqueue-held-by-inqueue",
        ("team/run-2, team/run-3 are Inqueue without pods, and reserve 16 cpu",),
        {"jobs.holding": 2},
        ("team/run-2: Inqueue, reserves 8 cpu", "team/run-3: Inqueue, reserves 8 cpu"),
        "Delete PodGroup team/run-2; this releases 8 cpu",
    ),
    Question(
        3220,
        "enqueue-queue-quota",
        ("asks 3 nvidia.com/gpu; queue big has 0 of its limit 2", "(1 over)", "minus the guarantees of other queues"),
        {"short.nvidia.com/gpu": 1, "queue.limit.nvidia.com/gpu": 2},
        ("request 3 + allocated 0 + inqueue 0 - elastic 0 > realCapability 2",),
        "Lower spec.guarantee of other queues.",
    ),
    Question(
        4235,
        "enqueue-held-by-inqueue",
        ("team/second is Inqueue but not placed, and reserves 100 cpu, 1000Gi memory, 8 nvidia.com/gpu",),
        {"held.nvidia.com/gpu": 8, "limit.nvidia.com/gpu": 16},
        ("nvidia.com/gpu: request 2 + allocated 8 + inqueue 8 - elastic 0 > capability 16",),
        "Find out why team/second is not placed",
    ),
    Question(
        1295,
        "larger-than-any-node",
        ("asks 73 cpu, more than any node has (largest: n1, 72)", "Evictions cannot help"),
        {"largest.cpu": 72, "short.cpu": 1},
        advice="Split the pod",
    ),
    Question(
        2814,
        "enqueue-held-by-inqueue",
        ("team/big is Inqueue but not placed, and reserves 2 cpu, 4Gi memory, 2 nvidia.com/gpu",),
        {"jobs.holding": 1, "held.nvidia.com/gpu": 2, "limit.nvidia.com/gpu": 2.4},
        advice="Find out why team/big is not placed",
    ),
    # The arithmetic of queues.
    Question(
        5814,
        "queue-not-allocatable",
        ("uses 1 of its deserved 1 (1 over)", "it ignores spec.deserved (4)"),
        {"queue.deserved.example.com/license": 1, "queue.allocated.example.com/license": 1},
        ("deserved example.com/license, round 1: 4 x weight 1 / 4 = 1",),
        advice="Replace plugin proportion with capacity",
    ),
    Question(
        3536,
        "queue-not-allocatable",
        ("asks 4 cpu", "uses 22 of its deserved 24 (2 over)"),
        {"queue.deserved.cpu": 24, "queue.allocated.cpu": 22, "short.cpu": 2},
        ("request 4 + allocated 22 > deserved 24", "40 x weight 2 / 4 = 20", "20 + 6 x weight 2 / 3 = 24"),
        advice="Queue wide: raise spec.weight (2)",
    ),
    Question(
        479,
        "queue-not-allocatable",
        ("uses 1 of its capability 1 (1 over)", "team/one-0 1"),
        {"short.nvidia.com/gpu": 1, "nodes.free": 1},
        advice="Queue lean: raise spec.capability by 1 nvidia.com/gpu",
    ),
    Question(
        4817,
        "queue-capability",
        ("queue root has 100 of its capability 100 allocated or reserved (50 over)", "team/a 100"),
        {"queue.taken.cpu": 100, "queue.limit.cpu": 100, "short.cpu": 50},
        ("queue root, cpu: request 50 + allocated 100 + inqueue 0 - elastic 0 > capability 100",),
        "Queue root: raise spec.capability by 50 cpu",
    ),
    Question(
        1083,
        "overused",
        ("queue q is overused", "uses 2 cpu, 4Gi memory; it deserves nothing (weight 0)"),
        {"queue.allocated.cpu": 2},
        advice="Queue q: raise spec.weight (0)",
    ),
    Question(
        2221,
        "queue-not-allocatable",
        ("2 nodes have room for the pod", "uses 4 of its capability 4 (2 over)"),
        {"nodes.free": 2, "short.cpu": 2},
        advice="Queue small: raise spec.capability by 2 cpu",
    ),
    Question(
        4819,
        "queue-tree-broken",
        ("Queue lost, or an ancestor of it, names a parent that does not exist", "refuses all jobs and tasks"),
        advice="Give every queue an existing parent",
    ),
    # Preemption that does not happen.
    Question(
        2034,
        "drf",
        ("drf protects both candidate victims", "Tier 1 (gang) allows no victim, so tier 2 decided", "100.0% (cpu)"),
        {"tier": 2, "candidates": 2, "victims": 0, "share.preemptor": 1, "share.victim": 0.5},
        ("tier 1: priority 2 of 2, gang 0 of 2", "tier 2: drf 0 of 2"),
        "enablePreemptable of drf",
    ),
    Question(
        2547,
        "queue-not-allocatable",
        ("1 node has room for the pod", "asks 4 cpu", "uses 9 of its deserved 10 (3 over)"),
        {"queue.allocated.cpu": 9, "queue.deserved.cpu": 10, "request.cpu": 4, "short.cpu": 3},
        ("request 4 + allocated 9 > deserved 10",),
        "raise spec.weight",
    ),
    Question(
        1539,
        "drf",
        ("drf protects both candidate victims on 1 node", "a dominant share of 100.0% (cpu)", "50.0% at most"),
        {"tier": 1, "share.preemptor": 1, "share.victim": 0.5},
        ("tier 1: priority 2 of 2, drf 0 of 2",),
        "enablePreemptable of drf",
    ),
    Question(
        3332,
        "gang",
        ("gang protects both candidate victims", "would leave team/med below minMember 2 (2 ready)"),
        {"victim.ready": 2, "victim.minAvailable": 2},
        ("tier 1: priority 2 of 2, gang 0 of 2",),
        "Disable gang's veto (enablePreemptable: false)",
    ),
    Question(3207, "places", ("for urgent-0 on n1 (pipelined)", "preempt evicts team/old-0"), {"pods.evicted": 1}),
    Question(3079, "places", ("for urgent-0 on n1 (pipelined)", "preempt evicts team/tiny-"), {"pods.evicted": 1}),
    Question(
        4439,
        "gang-discard",
        ("room for 1 of the 3 pods it needs at once", "gang protects every candidate victim", "it was rolled back"),
        {"job.minAvailable": 3, "pods.placed": 1, "pods.missing": 2},
        advice="team/normal: spec.minMember 3 -> 2",
        contributing=("gang",),
    ),
    # Gangs and statements.
    Question(
        3291,
        "places",
        ("for 2 pods on ", "preempt evicts team/old-0"),
        {"pods.pipelined": 2, "pods.evicted": 1},
    ),
    Question(
        5131,
        "gang-discard",
        ("room for 3 of the 4 pods", "urgent-0 is not eligible to preempt", "fits its nominated node n5"),
        {"pods.missing": 1, "pods.evicted": 3},
        advice="Clear status.nominatedNodeName of urgent-0",
        contributing=("not-eligible-to-preempt", "queue-not-allocatable"),
    ),
    Question(
        5044,
        "gang-discard",
        ("found room for 2 of the 3 pods", "It asks 8 cpu; n3 has the most left, 4."),
        {"pods.placed": 2, "pods.missing": 1},
        ("allocate team/gang-0 @ n1", "team/gang-2: 4 Insufficient cpu"),
    ),
    Question(5022, "places", ("on n2 (pipelined)", "preempt evicts team/large-0"), {"pods.evicted": 1}),
    Question(
        2083,
        "pipelined",
        ("Terminating: team/old-0 (2h past its grace period), team/old-1 (terminates in 20s). No evictions.",),
        {"pods.pipelined": 2, "pods.evicted": 0},
        ("team/train-0 -> n1 after team/old-0 (2h past its grace period)",),
    ),
    # Reclaim.
    Question(
        3861,
        "action-not-configured",
        ("reclaim is not in actions (enqueue, allocate, backfill)", "With reclaim (replayed): 1 pod placed on n1"),
        {"pods.placed": 1, "victims": 1},
        advice="Add reclaim to actions",
    ),
    Question(
        3842,
        "preemptive",
        ("queue ours may not reclaim", "it would use 50 cpu and deserves 20", "(capacity)"),
        {"queue.allocated.cpu": 40, "queue.deserved.cpu": 20, "short.cpu": 30},
        ("cpu: allocated 40 + request 10 > deserved 20",),
        "Queue ours: raise spec.deserved",
    ),
    Question(
        4658, "places", ("and 1 more for ours-0 on n1", "after team/b-2, team/b-1 have terminated"), {"pods.evicted": 2}
    ),
    Question(3003, "places", ("for modest-0 on n1 (pipelined)", "reclaim evicts team/b-"), {"pods.evicted": 1}),
    Question(
        5881,
        "victims-not-preemptable",
        ("on 3 nodes. 4 pods are there", "2 not managed by Volcano; 1 in the same queue"),
        {"pods.onNodes": 4, "pods.candidates": 0, "nodes.tried": 3},
        ("not managed by Volcano  (shop/web-0, shop/db-0)",),
        "Add preempt to actions",
    ),
    Question(4949, "places", ("for b-0 on n1 (pipelined)", "reclaim evicts team/a-0"), {"pods.evicted": 1}),
    # Order.
    Question(
        2052,
        "gang-discard",
        ("found room for 1 of the 2 pods", "It asks 8 cpu; n1 has the most left, 6."),
        {"pods.placed": 1, "pods.missing": 1},
        contributing=("predicates-mixed",),
    ),
    # What nobody had asked for when the first answers were written.
    Question(
        1331,
        "queue-not-allocatable",
        ("alone asks 6 nvidia.com/gpu, more than the capability 4 of", "Waiting, evictions or more nodes cannot help"),
        {"short.nvidia.com/gpu": 3},
        advice="Queue a: raise spec.capability to 6 nvidia.com/gpu or more",
        contributing=("gang-discard",),
    ),
    Question(
        1492,
        "predicates-mixed",
        ("big is NotReady (taint node.kubernetes.io/not-ready:NoSchedule)",),
        advice="Check the kubelet on big",
    ),
    Question(
        1755,
        "gang-discard",
        ("minMember 4 alone would be met by 5 pods", "role ps has room for 1 of its 2 pods", "1 nvidia.com/gpu"),
        {"pods.placed": 5, "pods.missing": 0},
        advice="Free room for one more pod of role ps",
        contributing=("queue-not-allocatable",),
    ),
    Question(
        1901,
        "enqueue-overcommit",
        ("sla permits it, but overcommit rejects it in the same tier (2), and one rejection decides a tier",),
        {"short.cpu": 4},
        advice="Move sla into an earlier tier than overcommit",
    ),
    Question(
        2283,
        "predicates-mixed",
        ("casual-0 of team/casual (queue q-a) was placed there first", "priority orders jobs only within a queue"),
        {"short.cpu": 4},
    ),
    Question(2462, "not-enough-pods", ("2 of the 5 pods that minMember requires run, 3 are not",), {"pods.missing": 3}),
    Question(2622, "places", ("preempt evicts team/mid-0", "n2 would have done as well (low-0 of priority 10)")),
    Question(
        2976,
        "phantom-pipelined",
        ("never bound", "no pod there is terminating", "preempt pipelined high-0 on n1"),
        {"pods.pipelined": 1},
        advice="Make the podAntiAffinity preferred",
    ),
    Question(
        4528,
        "predicates-unresolvable",
        ("Queue plain has no node group", "In strict mode also nodes without a group are rejected (n3)"),
        {"nodes.unresolvable": 3},
        advice="Set strict: false in the arguments of nodegroup",
    ),
    # Wishes that nothing meets, and room that is held by those who wait.
    Question(
        604,
        "podgroup-missing",
        ("Namespace test has a PodGroup web; a pod uses only PodGroups of its own namespace (ops)",),
        advice="Create the pod in namespace test",
        problem="Pod ops/web-0",
    ),
    Question(
        1105, "not-enough-pods", ("2 of 2 requests.nvidia.com/gpu used by big-0",), advice="the Pending pods big-0"
    ),
    Question(
        1272,
        "not-tried",
        ("web-0 requests no resources, and backfill is not in actions (enqueue, allocate)",),
        advice="Set a cpu or memory request in web-0",
    ),
    Question(
        2304,
        "queue-not-allocatable",
        ("uses 7 of its deserved 4 (4 over)",),
        {"short.nvidia.com/gpu": 4},
        ("round 1: 8 x weight 50 / 100 = 4",),
        advice="Queue test1: raise spec.weight (50)",
    ),
    Question(
        2384,
        "enqueue-held-by-inqueue",
        ("team/second is Inqueue but not placed, and reserves 4 cpu", "would admit its minResources of 1 cpu"),
        advice="Find out why team/second is not placed",
    ),
    Question(
        2838,
        "predicates-mixed",
        ("Possible deadlock: n1 is in use by app-2-driver of team/app-2",),
        {"short.cpu": 2},
        advice="Delete team/app-2 or this job",
    ),
    Question(
        2937,
        "predicates-mixed",
        ("Only cpu-1 has resType=CPU", "cpu-1 comes closest with 1 free (1 short)"),
        {"short.cpu": 1},
        advice="Free 1 cpu on cpu-1",
    ),
    Question(
        3040,
        "gang-discard",
        ("preempt found room for 1 of the 2 pods", "second-1 fits no node: drf protects every candidate victim"),
        advice="team/second: spec.minMember 2 -> 1",
        contributing=("drf",),
    ),
    Question(
        3271,
        "predicates-unresolvable",
        ("StorageClass ebs of claim data provisions only where topology.kubernetes.io/zone is b",),
        advice="StorageClass ebs: add the zones of the nodes",
    ),
    Question(
        3512,
        "preemption-policy-never",
        ("its preemptionPolicy Never rules out preempt (PriorityClass high)",),
        advice="PreemptLowerPriority",
    ),
    Question(
        3916,
        "action-not-configured",
        ("reclaim is not in actions", "evicts team/low-1-0"),
        advice="Add reclaim to actions",
        contributing=("victims-not-preemptable",),
    ),
    Question(
        4076,
        "queue-not-allocatable",
        ("uses 0 of its realCapability 1", "queue test-2 is guaranteed 10000 and uses 0"),
        {"short.cpu": 3},
        advice="Queue test-2: lower spec.guarantee",
    ),
    # What else users run into.
    Question(3559, "action-not-configured", ("no node has free room for b-0", "evicts team/run-0")),
    Question(
        4802, "not-enough-pods", ("task0 has 0 of the 2 pods that minTaskMember requires",), advice="minTaskMember"
    ),
    Question(
        4995, "queue-capability", ("faked-root has 8 of its capability 9", "queue-2 have spec.reclaimable: false")
    ),
    Question(5896, "places", ("reclaim evicts team/c-run-8", "Tier 1 (conformance) already named victims")),
    Question(
        1301, "predicates-mixed", ("4040 is already used by spark-1-driver on n1, spark-2-driver on n2",), advice="4040"
    ),
    Question(
        5884,
        "predicates-mixed",
        ("reserved n1 for train-0 by evicting team/web-0", "it was rolled back", "not say the node yet"),
        {"nodes.tried": 1},
        advice="Free room on n1",
        contributing=("queue-not-allocatable",),
    ),
    Question(
        941,
        "enqueue-overcommit",
        ("overcommit allows 9.6 more (8 x 1.2 - 0 used)", "waiting cannot help"),
        advice="above 1.25",
    ),
    Question(
        2143,
        "enqueue-held-by-inqueue",
        ("team/podgroup-a, team/podgroup-b are Inqueue without pods, and reserve 12 cpu", "team/web-a, team/web-b"),
        {"held.cpu": 12, "limit.cpu": 19.2},
        ("minResources 8 + inqueue 12 > idle 19.2",),
        "Delete Inqueue PodGroups without pods: team/podgroup-a, team/podgroup-b",
    ),
    Question(
        2861,
        "predicates-unresolvable",
        ("The kubelet of n1 runs NUMA policy restricted; web-0 asks for single-numa-node",),
        advice="Ask for a NUMA policy that kubelets run",
    ),
    Question(
        4360,
        "priority",
        ("team/ray, has 1000 (the class of its PodGroup; the pods' own priority 10 does not count)",),
        {"priority.victim": 1000},
        advice="Give team/serve a PriorityClass above 1000",
    ),
)


def asked(number: int) -> Question:
    """The question of a thread."""
    return next(question for question in QUESTIONS if question.number == number)
