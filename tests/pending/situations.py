"""Small clusters in which one cause keeps job `default/wanted` Pending, with the name of the cause."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, priority_class, queue
from vcdebug.snapshot.snapshot import Manifest, Snapshot

WANTED = "default/wanted"
FIRST, SECOND = "priority gang conformance", "drf predicates proportion nodeorder"
OVERCOMMIT = "overcommit drf predicates proportion nodeorder"
PREEMPT = "enqueue, allocate, preempt, backfill"
RECLAIM = "enqueue, allocate, reclaim, backfill"
BOTH = "enqueue, allocate, preempt, reclaim, backfill"
PLAIN = "enqueue, allocate, backfill"
NO_DRF = {"drf": {"enablePreemptable": "false"}}
CLASSES = [priority_class("low", 10), priority_class("high", 1000)]
FALSE = {"volcano.sh/preemptable": "false"}
TAINT = [{"key": "maintenance", "value": "", "effect": "NoSchedule"}]

Objects = list[Manifest]


class Situation(NamedTuple):
    """A cluster, its configuration, and the cause that explain must name."""

    name: str
    cause: str
    objects: Objects
    conf: str
    job: str = WANTED

    @property
    def snapshot(self) -> Snapshot:
        """The cluster as a snapshot."""
        return cluster(self.objects, conf=self.conf)


def conf(actions: str, second: str = SECOND, first: str = FIRST, more: Mapping[str, Any] | None = None) -> str:
    """A configuration of two tiers; drf's Preemptable is off unless `more` is given."""
    return conf_of(first, second, actions=actions, arguments=NO_DRF if more is None else more)


def wanted(count: int = 1, *, cpu: str = "4", min_member: int | None = None, **more: Any) -> Objects:
    """The Pending job: high priority, one pod of 4 cpu."""
    group = {key: more.pop(key) for key in ("queue", "phase", "min_resources", "min_task_member") if key in more}
    members = count if min_member is None else min_member
    return [
        pod_group("wanted", min_member=members, priority_class=more.pop("priority_class", "high"), **group),
        *pods("wanted", count, cpu=cpu, **more),
    ]


def running(name: str, on: str, count: int = 2, *, cpu: str = "4", min_member: int = 1, **more: Any) -> Objects:
    """A running low-priority job that fills a node of 8 cpu."""
    group = {key: more.pop(key) for key in ("queue", "namespace", "priority_class", "min_resources") if key in more}
    space = {"namespace": group["namespace"]} if "namespace" in group else {}
    fields = {"priority_class": "low", **group}
    return [
        pod_group(name, min_member=min_member, phase="Running", **fields),
        *pods(name, count, cpu=cpu, on=on, **space, **more),
    ]


def nodes(*names: str, **more: Any) -> Objects:
    """Nodes of 8 cpu."""
    return [node(name, cpu="8", **more) for name in names]


def of(*parts: Objects) -> Objects:
    """The objects of all parts, and the priority classes."""
    return [*CLASSES, *(manifest for part in parts for manifest in part)]


def situations() -> Iterator[Situation]:
    """Yield every situation."""
    yield from outside()
    yield from doors()
    yield from late_doors()
    yield from filters()
    yield from victims()
    yield from reclaims()
    yield from several_actions()
    yield from outcomes()


FULL = [*nodes("n1", "n2"), *running("a", "n1"), *running("b", "n2")]
GUARDED = [*nodes("n1", "n2"), *running("a", "n1", min_member=2), *running("b", "n2", min_member=2)]


def outside() -> Iterator[Situation]:
    """Yield causes outside of the session, and incomplete jobs."""
    gone = of(nodes("n1"), wanted(queue="nowhere"))
    yield Situation("no such queue", "queue-missing", gone, conf(PLAIN))
    elsewhere = of(nodes("n1"), wanted(schedulerName="default-scheduler"))
    yield Situation("another scheduler", "other-scheduler", elsewhere, conf(PLAIN))
    half = of(nodes("n1"), wanted(1, cpu="1", min_member=2), [pod("wanted-9", "wanted", schedulerName="other")])
    yield Situation("one pod names another scheduler", "other-scheduler", half, conf(PLAIN))
    beside = of(nodes("n1"), wanted(1, cpu="1"), [pod("wanted-9", "wanted", schedulerName="other")])
    yield Situation("the pod that names another scheduler", "other-scheduler", beside, conf(PLAIN), "wanted-9")
    yield Situation("the pod beside it", "places", beside, conf(PLAIN), "wanted-0")
    orphan = of(nodes("n1"), [pod_group("other")], pods("wanted", 1))
    yield Situation("no PodGroup of that name", "podgroup-missing", orphan, conf(PLAIN))
    unread = of(nodes("n1"), pods("wanted", 1))
    yield Situation("no PodGroup at all", "capture-incomplete", unread, conf(PLAIN))
    alone = of(nodes("n1"), [pod("alone")])
    yield Situation("a pod without a group", "podgroup-missing", alone, conf(PLAIN), "default/alone")


def doors() -> Iterator[Situation]:
    """Yield causes before any pod is tried."""
    least = {"cpu": "4", "memory": "1Gi"}
    pending = wanted(phase="Pending", min_resources=least)
    closed = [queue("default", state="Closed")]
    yield Situation("queue closed", "queue-closed", of(nodes("n1"), closed, pending), conf(PLAIN, OVERCOMMIT))
    big = wanted(phase="Pending", min_resources={"cpu": "40"})
    yield Situation("too much for the cluster", "enqueue-overcommit", of(nodes("n1"), big), conf(PLAIN, OVERCOMMIT))
    both = of(nodes("n1"), closed, big)
    yield Situation("overcommit asks before proportion", "enqueue-overcommit", both, conf(PLAIN, OVERCOMMIT))
    small = [queue("default", capability={"cpu": "6"})]
    limited = of(nodes("n1", "n2"), small, running("a", "n1", 1, min_resources=least), pending)
    yield Situation("queue at its limit", "enqueue-queue-quota", limited, conf(PLAIN))
    ghost = [
        pod_group("ghost", min_member=1, min_resources={"cpu": "5"}),
        *pods("ghost", 1, cpu="5", nodeSelector={"x": "y"}),
    ]
    held = of(nodes("n1"), ghost, pending, [queue("default", capability={"cpu": "8"})])
    yield Situation("held by a ghost in the queue", "enqueue-held-by-inqueue", held, conf(PLAIN))
    yield Situation(
        "held by a ghost",
        "enqueue-held-by-inqueue",
        of(nodes("n1"), ghost, wanted(phase="Pending", min_resources={"cpu": "5"})),
        conf(PLAIN, OVERCOMMIT),
    )
    late = of(nodes("n1"), wanted(phase="Pending", min_resources=least))
    yield Situation("enqueue comes last", "enqueued-too-late", late, conf("allocate, backfill, enqueue"))
    yield Situation("too few pods", "not-enough-pods", of(nodes("n1"), wanted(1, min_member=2)), conf(PREEMPT))
    roles = wanted(2, cpu="1", min_task_member={"ps": 1, "worker": 1}, role="worker")
    yield Situation("a role is missing", "not-enough-pods", of(nodes("n1"), roles), conf(PLAIN))
    yield Situation("no pods at all", "not-enough-pods", of(nodes("n1"), [pod_group("wanted")]), conf(PLAIN))
    gates = [{"name": "example.com/wait"}]
    yield Situation("behind a gate", "scheduling-gate", of(nodes("n1"), wanted(schedulingGates=gates)), conf(PREEMPT))


def late_doors() -> Iterator[Situation]:
    """Yield causes for jobs that an earlier cycle admitted."""
    closed = of(nodes("n1"), [queue("default", state="Closed")], wanted())
    yield Situation("queue closed after admission", "queue-not-allocatable", closed, conf(PLAIN))


def filters() -> Iterator[Situation]:
    """Yield filter refusals that no eviction would change."""
    yield Situation("too large", "larger-than-any-node", of(nodes("n1", "n2"), wanted(cpu="9")), conf(PREEMPT))
    both = [node("big", cpu="16"), node("gpu", cpu="4", gpu="4")]
    odd = of(both, wanted(requests={"cpu": "8", "nvidia.com/gpu": "1"}))
    yield Situation("large in one, GPUs on the other", "larger-than-any-node", odd, conf(PREEMPT))
    picky = wanted(nodeSelector={"disk": "nvme"})
    yield Situation("no such label", "predicates-unresolvable", of(FULL, picky), conf(PREEMPT))
    yield Situation("no such label, no preempt", "predicates-unresolvable", of(FULL, picky), conf(PLAIN))
    tainted = of(nodes("n1", "n2", taints=TAINT), running("a", "n1"), wanted())
    yield Situation("tainted", "predicates-unresolvable", tainted, conf(PREEMPT))
    cordoned = of(nodes("n1", unschedulable=True), nodes("n2", taints=TAINT), wanted())
    yield Situation("tainted or cordoned", "predicates-unresolvable", cordoned, conf(PLAIN))
    claim = [{"name": "data", "persistentVolumeClaim": {"claimName": "gone"}}]
    yield Situation("no such claim", "predicates-unresolvable", of(nodes("n1"), wanted(volumes=claim)), conf(PREEMPT))
    crowded = of(nodes("n1", "n2", pods="2"), running("a", "n1", cpu="1"), running("b", "n2", cpu="1"), wanted(cpu="1"))
    guarded = of(
        nodes("n1", "n2", pods="2"),
        running("a", "n1", cpu="1", annotations=FALSE),
        running("b", "n2", cpu="1", annotations=FALSE),
        wanted(cpu="1"),
    )
    yield Situation("one pod too many", "pod-count", guarded, conf(PLAIN))
    yield Situation("one pod too many, preempt helps", "places", crowded, conf(PREEMPT))
    four = of(nodes("n1", "n2"), nodes("n3", taints=TAINT), nodes("n4", unschedulable=True), running("a", "n1"))
    mixed = [*four, *running("b", "n2", annotations=FALSE), *wanted()]
    yield Situation("several reasons", "predicates-mixed", mixed, conf(PLAIN))
    full = of(nodes("n1", "n2"), running("a", "n1", annotations=FALSE), running("b", "n2", annotations=FALSE), wanted())
    yield Situation("full, nobody may leave", "predicates-mixed", full, conf(PLAIN))
    yield Situation("full, preempt is missing", "action-not-configured", of(FULL, wanted()), conf(PLAIN))
    master = [*nodes("n1", "n2", "n3"), *nodes("m", taints=TAINT)]
    busy = [*running("a", "n1"), *running("b", "n2"), *running("c", "n3")]
    yield Situation("full but for the master", "action-not-configured", of(master, busy, wanted()), conf(PLAIN))
    yield Situation("nothing allocates", "action-not-configured", of(nodes("n1"), wanted()), conf("enqueue, backfill"))
    yield Situation(
        "preempt alone only plans", "phantom-pipelined", of(nodes("n1"), wanted()), conf("enqueue, preempt")
    )
    lone = [queue("default", capability={"cpu": "4"})]
    quota = of(nodes("n1", "n2"), lone, running("a", "n1", 1), wanted())
    yield Situation("queue full, cluster not", "queue-not-allocatable", quota, conf(PLAIN))
    gang = of(nodes("n1", "n2"), running("a", "n1", 1), wanted(4))
    yield Situation("three of four", "gang-discard", gang, conf(PLAIN))


def victims() -> Iterator[Situation]:
    """Yield causes in preempt's search for victims."""
    yield Situation("preempt works", "places", of(FULL, wanted()), conf(PREEMPT))
    yield Situation("gang protects", "gang", of(GUARDED, wanted()), conf(PREEMPT))
    equal = of(FULL, wanted(priority_class="low"))
    yield Situation("no lower priority", "priority", equal, conf(PREEMPT))
    system = of(nodes("n1"), running("a", "n1", namespace="kube-system"), wanted())
    yield Situation("critical pods", "conformance", system, conf(PREEMPT))
    drf = of(FULL, wanted(cpu="8"))
    strict = {"gang": {"enablePreemptable": "false"}}
    fair = conf(PREEMPT, first="drf", second="gang predicates proportion nodeorder", more=strict)
    yield Situation("the share would be too high", "drf", drf, fair)
    budget = {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}},
        "status": {"disruptionsAllowed": 0},
    }
    members = [*running("a", "n1"), budget]
    for manifest in members:
        manifest["metadata"]["labels"] = {"app": "a"}
    budgeted = conf(PREEMPT, first="priority gang conformance pdb")
    yield Situation("a disruption budget", "pdb", of(nodes("n1"), members, wanted()), budgeted)
    never = of(FULL, wanted(preemptionPolicy="Never"))
    yield Situation("policy Never", "preemption-policy-never", never, conf(PREEMPT))
    unfit = of(FULL, wanted(preemptionPolicy="Never", nodeSelector={"a": "b"}))
    yield Situation("policy Never, but no node anyway", "predicates-unresolvable", unfit, conf(PREEMPT))
    safe = of(nodes("n1"), running("a", "n1", annotations=FALSE), wanted())
    yield Situation("not preemptable", "victims-not-preemptable", safe, conf(PREEMPT))
    leaving = of(nodes("n1"), running("a", "n1", 2), wanted(3, cpu="4"))
    yield Situation("some fit after evictions, not all", "gang-discard", leaving, conf(PREEMPT))
    extra = of(
        nodes("n1", "n2"),
        running("a", "n1"),
        running("b", "n2", 1),
        [pod_group("wanted", phase="Running", priority_class="high"), *pods("wanted", 1, cpu="4", on="n2")],
        pods("wanted", 1, cpu="4", prefix="extra"),
    )
    yield Situation("minimum met", "not-starving", extra, conf(PREEMPT))
    partial = of(nodes("n1"), running("a", "n1", 4, cpu="2", min_member=3), wanted(cpu="6"))
    yield Situation("gang lets too few go", "gang", partial, conf(PREEMPT))
    ports = [{"name": "c", "ports": [{"hostPort": 80, "containerPort": 80}], "resources": {"requests": {"cpu": "1"}}}]
    occupied = of(
        nodes("n1"),
        [pod_group("a", phase="Running", priority_class="low")],
        [pod("a-0", "a", on="n1", annotations=FALSE, containers=ports)],
        [pod_group("wanted", priority_class="high"), pod("wanted-0", "wanted", containers=ports)],
    )
    yield Situation("port taken, holder not preemptable", "predicates-mixed", occupied, conf(PREEMPT))


def reclaims() -> Iterator[Situation]:
    """Yield causes in reclaim's search in other queues."""
    queues = [queue("mine", weight=1), queue("theirs", weight=1)]
    theirs = [*nodes("n1", "n2"), *running("a", "n1", queue="theirs"), *running("b", "n2", queue="theirs")]
    yield Situation("reclaim works", "places", of(queues, theirs, wanted(queue="mine")), conf(RECLAIM))
    shut = [queue("mine"), queue("theirs", reclaimable=False)]
    yield Situation("not reclaimable", "queue-not-reclaimable", of(shut, theirs, wanted(queue="mine")), conf(RECLAIM))
    poor = [queue("mine", weight=1), queue("theirs", weight=15)]
    greedy = of(poor, theirs, wanted(queue="mine"))
    yield Situation("asks for more than deserved", "preemptive", greedy, conf(RECLAIM))
    modest = of(
        queues,
        nodes("n1", "n2"),
        running("a", "n1", queue="theirs"),
        [pod("x", on="n2", requests={"cpu": "8"}, schedulerName="other")],
        wanted(queue="mine"),
    )
    share = conf(RECLAIM, first="gang conformance proportion", second="predicates nodeorder", more={})
    yield Situation("not above deserved", "victims-not-above-deserved", modest, share)
    guarded = [*nodes("n1"), *running("a", "n1", queue="theirs", min_member=2)]
    first = conf(
        RECLAIM,
        first="gang conformance",
        second="priority predicates proportion nodeorder",
        more={"proportion": {"enableReclaimable": "false"}},
    )
    yield Situation("gang protects across queues", "gang", of(queues, guarded, wanted(queue="mine")), first)
    yield Situation(
        "reclaim is missing", "action-not-configured", of(queues, theirs, wanted(queue="mine")), conf(PLAIN)
    )


def several_actions() -> Iterator[Situation]:
    """Yield causes with several evicting actions, or the wrong one."""
    queues = [queue("mine"), queue("theirs")]
    theirs = [*nodes("n1"), *running("a", "n1", queue="theirs")]
    yield Situation(
        "preempt instead of reclaim", "action-not-configured", of(queues, theirs, wanted(queue="mine")), conf(PREEMPT)
    )
    yield Situation("reclaim instead of preempt", "action-not-configured", of(FULL, wanted()), conf(RECLAIM))
    yield Situation("reclaim has nobody to ask", "gang", of(GUARDED, wanted()), conf(BOTH))
    yield Situation("never, twice", "preemption-policy-never", of(FULL, wanted(preemptionPolicy="Never")), conf(BOTH))
    shut = [queue("mine"), queue("theirs", reclaimable=False)]
    yield Situation(
        "both, and not reclaimable", "queue-not-reclaimable", of(shut, theirs, wanted(queue="mine")), conf(BOTH)
    )


def outcomes() -> Iterator[Situation]:
    """Yield jobs that are placed or pipelined."""
    yield Situation("room", "places", of(nodes("n1"), wanted()), conf(PLAIN))
    yield Situation("runs already", "places", of(FULL), conf(PLAIN), "default/a")
    leaving = of(nodes("n1"), running("a", "n1", deleting=True), wanted())
    yield Situation("room is being released", "pipelined", leaving, conf(PLAIN))
    yield Situation(
        "more than the minimum, less than all", "places", of(nodes("n1"), wanted(3, min_member=1)), conf(PLAIN)
    )
    third = of(nodes("n1"), wanted(3, min_member=1))
    yield Situation("the pod that found no room", "predicates-mixed", third, conf(PLAIN), "default/wanted-2")
    yield Situation("the pod that did", "places", third, conf(PLAIN), "wanted-0")
    effortless = of(nodes("n1"), [pod_group("wanted"), pod("wanted-0", "wanted", requests={})])
    yield Situation("best effort", "places", effortless, conf(PLAIN))
    tight = of(nodes("n1", pods="0"), [pod_group("wanted"), pod("wanted-0", "wanted", requests={})])
    yield Situation("best effort without a place for a pod", "larger-than-any-node", tight, conf(PLAIN))
