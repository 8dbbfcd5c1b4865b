"""Answers where the scheduler itself does not run its cycles, so that what the replay places stays Pending."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders import cluster, node, pod, pod_group, pods
from tests.pending.test_component_reports import report
from tests.pending.test_workloads import explained
from vcdebug.snapshot.snapshot import Manifest, Snapshot

CREATED, SEEN = "2026-10-31T23:40:00Z", "2026-10-31T23:55:00Z"


def scheduler(waiting: str = "", image: str = "volcanosh/vc-scheduler:v1.9.0", **status: Any) -> Manifest:
    """A pod of the scheduler that runs, or whose container waits."""
    made = pod("volcano-scheduler-x", namespace="volcano-system", group=None, on="n1", scheduler="default-scheduler")
    made["metadata"] |= {"labels": {"app": "volcano-scheduler"}, "creationTimestamp": "2026-10-31T20:00:00Z"}
    made["spec"]["containers"][0]["image"] = image
    state = {"waiting": {"reason": waiting}} if waiting else {}
    ended = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    one = {"name": "main", "state": state, "restartCount": 12, **({"lastState": ended} if waiting else {})}
    made["status"] = {"phase": "Running", "containerStatuses": [one], **status}
    return made


def job(**more: Any) -> list[Manifest]:
    group = pod_group("j", phase="Pending", **more)
    group["metadata"]["creationTimestamp"] = CREATED
    return [group, *pods("j", 1)]


def seen_node(kubelet: str = "v1.28.4", at: str = SEEN) -> Manifest:
    made = node("n1")
    beat = {"lastHeartbeatTime": at} if at else {}
    made["status"]["conditions"] = [{"type": "Ready", "status": "True", **beat}]
    made["status"]["nodeInfo"] = {"kubeletVersion": kubelet}
    return made


def running(*objects: Manifest | list[Manifest]) -> Snapshot:
    conf = 'actions: "enqueue, allocate"\ntiers:\n- plugins:\n  - name: gang\n  - name: predicates\n'
    return cluster(*objects, conf=conf)


@pytest.mark.parametrize(
    ("scheduler_pod", "told"),
    [
        (scheduler("CrashLoopBackOff"), "pod volcano-scheduler-x is CrashLoopBackOff (12 restarts)"),
        (scheduler("ImagePullBackOff"), "pod volcano-scheduler-x is ImagePullBackOff"),
        (scheduler(phase="Failed"), "pod volcano-scheduler-x is Failed"),
        (
            scheduler(conditions=[{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]),
            "pod volcano-scheduler-x is not Ready (ContainersNotReady)",
        ),
    ],
)
@pytest.mark.parametrize("fits", [True, False])
def test_a_scheduler_that_does_not_run_explains_every_pending_job(
    scheduler_pod: Manifest, told: str, fits: bool
) -> None:
    mine = [pod_group("j", phase="Pending"), *pods("j", 1, cpu="1" if fits else "99")]
    old = [pod_group("old", phase="Running"), *pods("old", 1, on="n1")]
    snapshot = running(node("n1"), scheduler_pod, mine, old)
    found = explained(snapshot)
    assert ("scheduler-down", False) == (found.cause_code, found.scheduled)
    assert f"default/j is Pending: the scheduler does not run: {told}" in found.sentence
    assert "kubectl -n volcano-system" in found.advice_texts[0] or not fits
    assert any(fact.startswith("A running scheduler: default/j") for fact in found.dominant.facts)
    crashed = "Its container last ended with exit code 137 (OOMKilled)."
    assert ("BackOff" in told) is (crashed in found.dominant.facts)
    assert explained(snapshot, "default/old").scheduled, "what runs needs no scheduler"


def test_one_running_scheduler_pod_is_enough() -> None:
    crashed = scheduler("CrashLoopBackOff")
    crashed["metadata"] |= {"name": "volcano-scheduler-y", "uid": "y"}
    assert explained(running(node("n1"), crashed, scheduler(), job())).scheduled


def test_missing_queues_of_a_scheduler_that_never_started_are_not_blamed_on_the_capture() -> None:
    snapshot = running(node("n1"), scheduler("CrashLoopBackOff"), job())
    snapshot.objects["Queue"] = []
    found = explained(snapshot)
    assert "scheduler-down" == found.cause_code
    assert "Queue default, which the scheduler creates when it starts" in " ".join(found.dominant.facts)
    assert not any("vcdebug capture" in line for line in found.advice_texts)


@pytest.mark.parametrize(
    ("kubelet", "image", "told"),
    [
        ("v1.19.9", "volcanosh/vc-scheduler:v1.9.0", "use Volcano 1.8, the newest that supports v1.19.9"),
        ("v1.22.1", "mirror.local:5000/vc-scheduler:v1.14.2", "use Volcano 1.12, the newest that supports v1.22.1"),
        ("v1.28.4", "volcanosh/vc-scheduler:v1.9.0", ""),
        ("v1.19.9", "volcanosh/vc-scheduler:latest", ""),
        ("v1.\u00b2", "volcanosh/vc-scheduler:v1.9.0", ""),
        (f"v1.{'9' * 5000}", "volcanosh/vc-scheduler:v1.9.0", ""),
    ],
)
def test_a_scheduler_that_has_written_nothing_for_minutes_is_idle(kubelet: str, image: str, told: str) -> None:
    found = explained(running(seen_node(kubelet), scheduler(image=image), job()))
    assert ("scheduler-down", False) == (found.cause_code, found.scheduled)
    assert "the scheduler has not handled it for 15m, although a cycle would do so" in found.sentence
    assert bool(told) is any("supports Kubernetes" in fact for fact in found.dominant.facts)
    assert told in " ".join(found.dominant.facts)
    assert "logs volcano-scheduler-x --tail=100" in found.advice_texts[0]


@pytest.mark.parametrize("trace", ["condition", "phase", "event", "pod", "young", "unknown time", "no scheduler pod"])
def test_a_scheduler_that_has_written_something_is_not_idle(trace: str) -> None:
    mine, workers, extra = job(), seen_node(), list[Manifest]()
    if trace == "condition":
        mine[0]["status"]["conditions"] = [{"type": "Unschedulable", "status": "True"}]
    elif trace == "phase":
        mine[0]["status"]["phase"] = "Inqueue"
    elif trace == "event":
        extra = [report("0/1 nodes are unavailable", source={"component": "volcano"})]
    elif trace == "pod":
        mine[1]["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    elif trace in ("young", "unknown time"):
        workers = seen_node(at="" if trace == "unknown time" else "2026-10-31T23:42:00Z")
    pods_of_scheduler = [] if trace == "no scheduler pod" else [scheduler()]
    assert explained(running(workers, pods_of_scheduler, mine, extra)).scheduled
