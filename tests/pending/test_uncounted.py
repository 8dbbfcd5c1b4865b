"""What a user states or sees that the scheduler does not count: limits of 0, roles, single fits, terminating pods."""

from __future__ import annotations

import pytest

from tests.builders import cluster, conf_of, node, pod, pod_group, pods, queue
from tests.debugger.test_remedies import proven
from tests.pending.test_workloads import HIERARCHY
from vcdebug.explain.answer import Explanation
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.snapshot import Snapshot

PLAIN = conf_of("gang", "predicates proportion nodeorder", actions="enqueue, allocate")


def explained(snapshot: Snapshot, job: str = "default/j") -> Explanation:
    return explain_by_name(replay_cycle(snapshot), job)


@pytest.mark.parametrize(
    ("capability", "told", "held"),
    [
        ({"cpu": "0", "memory": "0"}, "its queue's capability of 0 cpu and 0 memory limits nothing", ""),
        ({"cpu": "0", "memory": "100Gi"}, "its queue's capability of 0 cpu limits nothing", ""),
        ({"memory": "100Gi"}, "", "limits nothing"),
        ({"cpu": "8"}, "", "limits nothing"),
    ],
)
def test_a_capability_of_0_cpu_or_memory_is_said_to_limit_nothing(
    capability: dict[str, str], told: str, held: str
) -> None:
    before = [pod_group("old", phase="Running"), *pods("old", 1, cpu="2", on="n1")]
    snapshot = cluster(node("n1"), queue(capability=capability), before, pod_group("j"), pods("j", 1), conf=PLAIN)
    found = explained(snapshot)
    assert "places" == found.cause_code
    assert told in found.sentence
    assert not held or held not in found.dominant.full_text
    assert "above its capability" not in found.sentence


@pytest.mark.parametrize(
    ("minimum", "roles", "told"),
    [
        (2, {"a": 2, "b": 1}, "minMember 2 is less than the minimums of the roles together (3)"),
        (2, {"a": 1, "b": 1}, ""),
        (2, {"a": 3, "b": 1}, ""),
        (2, {"a": 2}, ""),
    ],
)
def test_role_minimums_that_do_not_count_are_named_where_a_role_is_below_its_own(
    minimum: int, roles: dict[str, int], told: str
) -> None:
    """Not where they count, where the minimum is every pod of the role as by default, or where there is one role."""
    role = {"volcano.sh/task-spec": "a"}
    runs = [*pods("j", 1, prefix="a", cpu="5", on="n1", annotations=role)]
    runs += [
        pod("b-0", group="j", cpu="5", on="n1", annotations={"volcano.sh/task-spec": "b" if "b" in roles else "a"})
    ]
    waits = [pod(f"w-{at}", group="j", cpu="5", annotations=role) for at in range(2)]
    group = pod_group("j", min_member=minimum, min_task_member=roles, phase="Running")
    found = explained(cluster(node("n1", cpu="10"), group, runs, waits, conf=PLAIN))
    assert not found.scheduled or found.contributing
    facts = " ".join(found.dominant.facts)
    assert told in facts
    assert bool(told) is ("those do not count: any 2 pods start the job (a 1 of 2)" in facts)
    assert bool(told) is any("to 3, and the minimum of each role counts" in one.text for one in found.dominant.advice)


@pytest.mark.parametrize(("reason", "told"), [("Schedulable", True), ("Unschedulable", False)])
@pytest.mark.parametrize(
    ("which", "fits"),
    [
        (0, "that pod alone fits, and its placement"),
        (1, "one pod fits, this or another one by cycle, and the placement"),
    ],
)
def test_a_pod_that_is_said_to_be_possibly_assigned_fits_alone(reason: str, told: bool, which: int, fits: str) -> None:
    wants = pods("j", 2, cpu="6")
    message = "Pod default/j-0 can possibly be assigned to n1"
    stated = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    wants[which]["status"] = {"phase": "Pending", "conditions": [stated]}
    found = explained(cluster(node("n1", cpu="10"), pod_group("j", min_member=2), wants, conf=PLAIN))
    facts = [fact for fact in found.dominant.facts if "can possibly be assigned to n1" in fact]
    assert told is bool(facts)
    assert told is (f"{fits} is rolled back" in "".join(facts))


@pytest.mark.parametrize(
    ("replicas", "leaving", "release", "told", "fixed"),
    [
        (0, True, "v1.15.1", True, True),
        (0, True, "master", True, False),
        (1, True, "v1.15.1", False, False),
        (0, False, "v1.15.1", False, False),
    ],
)
def test_pods_that_end_with_a_scaled_down_workload_lack_nothing(
    replicas: int, leaving: bool, release: str, told: bool, fixed: bool
) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "uid-web", "controller": True}
    workload = {"kind": "ReplicaSet", "metadata": {"name": "web", "namespace": "default", "uid": "uid-web"}}
    group, (runs,) = pod_group("j", phase="Inqueue"), pods("j", 1, on="n1")
    group["metadata"]["ownerReferences"] = runs["metadata"]["ownerReferences"] = [owner]
    if leaving:
        runs["metadata"] |= {"deletionTimestamp": "2026-11-01T00:00:00Z", "deletionGracePeriodSeconds": 30}
    snapshot = cluster(node("n1"), {**workload, "spec": {"replicas": replicas}}, group, runs, conf=PLAIN)
    found = explained(snapshot_at_release(snapshot, release))
    assert told is ("it asks for 0 pods, and j-0 is terminating" in found.sentence)
    assert fixed is ("falls back to Inqueue and NotEnoughResources, although no room is short" in found.full_text)
    assert told is (found.scheduled and not found.dominant.advice and leaving)


@pytest.mark.parametrize(
    ("plugin", "runs_on", "told"),
    [
        ("nvidia-device-plugin-x", "n1", True),
        ("nvidia-device-plugin-x", "", False),
        ("rdma-device-plugin-x", "n1", False),
    ],
)
@pytest.mark.parametrize("phase", ["Pending", "Inqueue"])
def test_a_device_plugin_that_has_registered_nothing_is_named(
    plugin: str, runs_on: str, told: bool, phase: str
) -> None:
    asked = {"cpu": "1", "nvidia.com/gpu": "1"}
    group, wants = pod_group("j", phase=phase, min_resources=asked), pods("j", 1, requests=asked)
    silent = pod(plugin, namespace="kube-system", schedulerName="default-scheduler", on=runs_on)
    found = explained(cluster(node("n1"), group, wants, silent, conf=PLAIN))
    fact = f"kube-system/{plugin} runs on n1, which reports no nvidia.com/gpu"
    assert told is (fact in " ".join((found.dominant.full_text, *(one.full_text for one in found.contributing))))
    assert told is any(f"kubectl -n kube-system logs {plugin}" in one.text for one in found.advised)


def reclaiming(cpu: str, plugin: str) -> Snapshot:
    """Queue rich holds 4 cpu and 2 of a deserved 1 gpu/x; a pod of queue poor with this cpu asks for one of them."""
    deserved = {"cpu": "8", "memory": "50G", "gpu/x": "1", "pods": "50"}
    rich, poor = queue("rich", deserved=deserved), queue("poor", deserved=deserved)
    holds = [pod_group("rich-job", queue="rich", phase="Running")]
    holds += pods("rich-job", 2, requests={"cpu": "2", "gpu/x": "1"}, on="n1")
    wants = pods("j", 1, requests={"cpu": cpu, "gpu/x": "1"})
    conf = conf_of(f"gang {plugin} predicates", actions="allocate, reclaim")
    return cluster(node("n1", **{"gpu/x": "2"}), rich, poor, holds, pod_group("j", queue="poor"), wants, conf=conf)


@pytest.mark.parametrize(
    ("release", "cpu", "told"), [("v1.11.0", "6", True), ("v1.11.0", "2", False), ("v1.12.2", "6", False)]
)
@pytest.mark.parametrize("plugin", ["capacity", "proportion"])
def test_a_queue_that_holds_less_than_the_reclaimer_asks_is_named_with_its_figures(
    release: str, cpu: str, told: bool, plugin: str
) -> None:
    found = explained(snapshot_at_release(reclaiming(cpu, plugin), release))
    assert told is ("holds less than j-0 asks for (4 of 6 cpu); v1.11.0 requires more" in found.full_text)


@pytest.mark.parametrize(("kind", "told"), [("StatefulSet", True), ("ReplicaSet", False)])
def test_a_stateful_set_is_said_to_wait_for_its_terminating_pod(kind: str, told: bool) -> None:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "db", "uid": "uid-db", "controller": True}
    group, (runs,) = pod_group("j", phase="Running"), pods("j", 1, on="n1", deleting=True)
    group["metadata"]["ownerReferences"] = runs["metadata"]["ownerReferences"] = [owner]
    workload = {"kind": kind, "metadata": {"name": "db", "namespace": "default"}, "spec": {"replicas": 1}}
    advice = [one.text for one in explained(cluster(node("n1"), workload, group, runs, conf=PLAIN)).dominant.advice]
    assert told is any("creates j-0 again only when the terminating pod of that name is gone" in one for one in advice)
    assert told is not any("Find out why" in one for one in advice)


@pytest.mark.parametrize(("reporter", "told"), [("kubelet", True), ("volcano", False), ("", False)])
def test_why_a_bound_pod_that_may_not_be_evicted_does_not_run_is_quoted(reporter: str, told: bool) -> None:
    group, (bound,) = pod_group("old", queue="rich", phase="Running"), pods("old", 1, cpu="6", on="n1", phase="Pending")
    involved = {"kind": "Pod", "name": "old-0", "namespace": "default", "uid": "uid-old-0"}
    event = {"kind": "Event", "metadata": {"name": "e", "namespace": "default"}, "involvedObject": involved}
    event |= {"reason": "FailedMount", "message": "mount.nfs: Connection timed out", "source": {"component": reporter}}
    conf = conf_of("gang", "predicates proportion", actions="allocate, reclaim")
    queues = [queue("rich"), queue("poor")]
    wants = [pod_group("j", queue="poor"), *pods("j", 1, cpu="5")]
    found = explained(cluster(node("n1"), queues, group, bound, wants, [event] if reporter else [], conf=conf))
    assert "1 pod is there: 1 Bound (only Running pods can be evicted)." in found.full_text
    assert told is ('about Pod old-0: FailedMount "mount.nfs: Connection timed out"' in found.full_text)


@pytest.mark.parametrize(("release", "stated", "told"), [("v1.12.0", "800", True), ("v1.12.0", "", False)])
def test_a_limit_of_the_root_is_said_not_to_count_in_releases_that_take_the_clusters_total(
    release: str, stated: str, told: bool
) -> None:
    root = queue("root", capability={"cpu": stated}) if stated else queue("root")
    leaf = queue("leaf", parent="root", capability={"cpu": "50"})
    waits = [pod_group("j", queue="leaf"), *pods("j", 1)]
    snapshot = snapshot_at_release(cluster(node("n1", cpu="10"), root, leaf, waits, conf=HIERARCHY), release)
    found = explained(snapshot)
    unread = " (capability 800 of queue root does not count: from v1.13.0 on it does, #4354)" if told else ""
    assert f"Queue leaf states capability 50 cpu, and the cluster has 10{unread}." == found.dominant.facts[0]
    assert "Queue leaf: capability.cpu 50 -> 10" == next(iter(proven(snapshot, "default/j")))
    # Newer releases read the root's own limit.
    assert "queue-tree-broken" != explained(snapshot_at_release(snapshot, "v1.13.0")).cause_code or not told
