"""Probes whether a job fits on the empty cluster, and how many copies fit beside the running pods."""

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from tests.recorded import bundled
from vcdebug.debugger.commands import execute_line
from vcdebug.debugger.driver import CommandError, Driver
from vcdebug.framework.record import StateEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.whatif.fit_probe import probe_alone, probe_copies


def full(cpu: str = "2") -> Recording:
    """Two nodes of four cores, one of them full, and a Pending job of two pods."""
    return replay_cycle(
        cluster(
            [node("n1", cpu="4"), node("n2", cpu="4")],
            [priority_class("high", 100)],
            [pod_group("held", phase="Running"), *pods("held", 4, on="n1")],
            [pod_group("job", min_member=2, priority_class="high"), *pods("job", 2, cpu=cpu)],
            conf=conf_of("gang priority predicates proportion", actions="enqueue, allocate, preempt"),
        )
    )


def test_a_job_that_is_too_large_does_not_fit_alone_either() -> None:
    found = probe_alone(full(cpu="5"), "default/job")
    assert (False, 0, 2) == (found.explanation.scheduled, found.placed_count, found.tasks)
    assert "more than any node has (largest: n1, 4)" in found.explanation.sentence


def test_a_job_that_waits_for_room_fits_alone() -> None:
    found = probe_alone(full(cpu="4"), "default/job")
    assert (True, 2) == (found.explanation.scheduled, found.placed_count)


def test_copies_are_counted_until_one_does_not_fit_and_its_reason_is_told() -> None:
    recording = replay_cycle(
        cluster(
            node("n1", cpu="7"),
            [pod_group("job", min_member=2), *pods("job", 2)],
            conf=conf_of("gang predicates", actions="enqueue, allocate"),
        )
    )
    found = probe_copies(recording, "default/job", 4)
    assert (2, 4) == (found.fitting, found.tried_count)
    assert "job-copy-003" in found.stop_reason


def test_as_many_copies_as_were_tried_may_fit() -> None:
    found = probe_copies(bundled("pending-no-node-fits"), "research/tiny-probes", 3)
    assert (3, 3, "") == found


def test_fit_probe_evicts_no_pod() -> None:
    assert 0 == probe_copies(full(cpu="4"), "default/job", 2).fitting


def test_a_quota_that_stands_in_the_way_still_does() -> None:
    small = [queue("small", capability={"cpu": "1"})]
    recording = replay_cycle(
        cluster(
            node("n1", cpu="4"),
            small,
            [pod_group("job", queue="small", phase="Pending", min_resources={"cpu": "2"}), *pods("job", 1, cpu="2")],
            conf=conf_of("gang proportion", actions="enqueue, allocate"),
        )
    )
    assert not probe_alone(recording, "default/job").explanation.scheduled


def test_the_command_answers_in_a_line() -> None:
    reply = execute_line(Driver(bundled("pending-no-node-fits")), "fits diffusion-train 2")
    assert reply.work is not None
    text = reply.work().text
    assert text.startswith("research/diffusion-train fits on the cluster if it were alone; no more fits now:")


def between_actions() -> Driver:
    driver = Driver(bundled())
    driver.goto_event(bundled().index.seqs_of_type(StateEvent)[0])
    return driver


def test_the_command_refuses_a_job_that_is_not_there() -> None:
    with pytest.raises(CommandError, match="no job 'nothing'"):
        execute_line(Driver(bundled()), "fits nothing")
    with pytest.raises(CommandError, match="no job at this event"):
        execute_line(between_actions(), "fits")


def test_fit_probe_does_not_give_the_missing_eviction_action_as_reason() -> None:
    found = probe_copies(bundled("reclaim-across-queues"), "ads/bid-forecast", 1)
    assert (0, "is not among the actions" in found.stop_reason) == (found.fitting, False)
    assert "it asks 2 nvidia.com/gpu; none is free" in found.stop_reason


def test_the_command_refuses_more_copies_than_memory_holds() -> None:
    with pytest.raises(CommandError, match="at most 10 000 copies"):
        execute_line(Driver(bundled("pending-no-node-fits")), "fits diffusion-train 99999999999")
