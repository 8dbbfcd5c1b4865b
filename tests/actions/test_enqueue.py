"""enqueue: which jobs are admitted, in which order, and which ones are skipped."""

from typing import Any

from tests.actions.outcome import asked, phases, pops, ran
from tests.builders import node, pod_group, pods, queue

PENDING: dict[str, Any] = {"phase": "Pending", "min_resources": {"cpu": "1"}}


def test_queues_take_turns_by_their_live_order() -> None:
    recording = ran(
        node("n1"),
        queue("q1"),
        queue("q2"),
        pod_group("a", queue="q1", **PENDING),
        pod_group("b", queue="q1", **PENDING),
        pod_group("c", queue="q2", **PENDING),
        actions="enqueue",
    )
    assert ["default/a", "default/b", "default/c"] == pops(recording, "job")
    assert ["q1", "q1", "q1", "q2", "q2"] == pops(recording, "queue")


def test_a_refused_job_does_not_stop_the_next_one() -> None:
    recording = ran(
        node("n1", cpu="4"),
        pod_group("a", phase="Pending", min_resources={"cpu": "99"}),
        pod_group("b", **PENDING),
        pods("a", 1),
        pods("b", 1),
        actions="enqueue",
    )
    assert {"a": "Pending", "b": "Inqueue"} == phases(recording)


def test_a_podgroup_without_minresources_passes_every_check_even_into_a_closed_queue() -> None:
    recording = ran(
        node("n1"),
        queue("q", state="Closed"),
        pod_group("a", queue="q", phase="Pending"),
        pods("a", 1),
        actions="enqueue",
    )
    assert {"a": "Inqueue"} == phases(recording)
    assert [] == asked(recording, "JobEnqueueable")
    assert [None, None] == asked(recording, "JobEnqueued")


def test_an_empty_phase_is_pending() -> None:
    recording = ran(node("n1"), pod_group("a", phase="", min_resources={"cpu": "1"}), pods("a", 1), actions="enqueue")
    assert {"a": "Inqueue"} == phases(recording)


def test_enqueue_admits_every_job_without_a_voting_plugin() -> None:
    recording = ran(node("n1"), pod_group("a", **PENDING), pods("a", 1), actions="enqueue", tiers=("gang",))
    assert {"a": "Inqueue"} == phases(recording)


def test_a_queue_of_running_jobs_is_popped_once_and_dropped() -> None:
    recording = ran(node("n1"), pod_group("a", phase="Running"), pods("a", 1, on="n1"), actions="enqueue")
    assert (["default"], []) == (pops(recording, "queue"), pops(recording, "job"))
