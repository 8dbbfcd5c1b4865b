"""A job's allocated amounts, and the part of its minResources that is still reserved."""

import pytest

from tests.builders import amounts, cluster, node, open_session, pod_group, pods
from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import (
    add_allocated,
    add_requested,
    format_resource_names,
    get_allocated_resource,
    get_inqueue_resource,
    reserved_resource,
)
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskStatus
from vcdebug.snapshot.snapshot import Manifest


def job(
    minimum: dict[str, str] | None, *members: list[Manifest], phase: str = "Inqueue", min_member: int = 1
) -> JobInfo:
    group = pod_group("j", min_resources=minimum, phase=phase, min_member=min_member)
    return open_session(cluster(node("n1", gpu="8"), group, *members), "gang").jobs["default/j"]


def text(resource: Resource | None) -> str:
    return str(resource)


@pytest.mark.parametrize(
    ("minimum", "allocated", "reserved"),
    [
        ({"ephemeral-storage": "1G"}, Resource(), "cpu 0.00, memory 0.00"),
        (amounts(gpu="2"), Resource(), "cpu 0.00, memory 0.00, nvidia.com/gpu 2000.00"),
        (amounts(gpu="0"), Resource(), "cpu 0.00, memory 0.00, nvidia.com/gpu 0.00"),
        (amounts(gpu="2"), Resource(scalars={"nvidia.com/gpu": 3000.0}), "cpu 0.00, memory 0.00"),
        (amounts(pods="5"), Resource(scalars={"pods": 2.0}), "cpu 0.00, memory 0.00, pods 3.00"),
        (amounts(pods="2"), Resource(scalars={"pods": 2.0}), "cpu 0.00, memory 0.00"),
        (amounts("3", "1k"), Resource(1000.0, 2000.0), "cpu 2000.00, memory 0.00"),
        ({"requests.cpu": "4", "count/pods": "4"}, Resource(), "cpu 0.00, memory 0.00"),
    ],
)
def test_only_what_is_missing_of_the_minimum_is_reserved(
    minimum: dict[str, str], allocated: Resource, reserved: str
) -> None:
    assert reserved == text(get_inqueue_resource(job(minimum), allocated))


def test_allocated_pods_are_running_ones_and_not_pending_or_finished_ones() -> None:
    members = [*pods("j", 2, on="n1"), *pods("j", 1, prefix="p"), *pods("j", 1, prefix="d", on="n1", phase="Succeeded")]
    assert "cpu 2000.00, memory 2000000000.00, pods 2.00" == text(get_allocated_resource(job(None, members)))


def one_by_one(total: Resource, listed: JobInfo, *statuses: TaskStatus) -> Resource:
    for status in sorted(statuses):
        for task in listed.tasks_with_status(status):
            total.add(task.resreq)
    return total


HUGE = 2.0**53
"""From here on, floats round away every other integer."""


@pytest.mark.parametrize("held", [0.0, 3.0, HUGE, HUGE - 2.0])
@pytest.mark.parametrize("odd", ["1", "9007199254740991"])
def test_sums_are_those_of_one_task_after_the_other(held: float, odd: str) -> None:
    members = [*pods("j", 3, memory="1", on="n1"), *pods("j", 2, memory=odd, prefix="a", on="n1")]
    listed = job(None, members, pods("j", 2, prefix="p", memory=odd), pods("j", 1, prefix="d", phase="Succeeded"))
    for add, statuses in (
        (add_allocated, (TaskStatus.RUNNING,)),
        (add_requested, (TaskStatus.RUNNING, TaskStatus.PENDING)),
    ):
        expected = one_by_one(Resource(held, held), listed, *statuses)
        found = add(Resource(held, held), (listed,))
        assert (expected.milli_cpu, expected.memory, expected.scalars) == (found.milli_cpu, found.memory, found.scalars)


def test_task_that_is_no_longer_allocated_leaves_the_jobs_sum() -> None:
    listed = job(None, pods("j", 1, on="n1"))
    task = listed.tasks_with_status(TaskStatus.RUNNING)[0]
    listed.update_task_status(task, TaskStatus.RELEASING)
    assert get_allocated_resource(listed).scalars is None


def test_a_running_job_reserves_only_with_minimum_and_gang() -> None:
    minimum, member = amounts("3"), pods("j", 1, on="n1")
    assert "cpu 2000.00, memory 0.00" == text(reserved_resource(job(minimum, member, phase="Running")))
    assert reserved_resource(job(minimum, member, phase="Running", min_member=2)) is None
    assert reserved_resource(job(None, member, phase="Running")) is None
    assert reserved_resource(job(minimum, member, phase="Pending")) is None


def test_gated_pods_are_deducted_down_to_0() -> None:
    gates = [{"name": "wait"}]
    gated = pods("j", 2, cpu="2", memory=None, schedulingGates=gates)
    assert "cpu 0.00, memory 5000000000.00" == text(reserved_resource(job(amounts("3", "5G"), gated)))


def test_gated_pods_without_requests_deduct_nothing() -> None:
    gated = pods("j", 2, cpu=None, memory=None, schedulingGates=[{"name": "wait"}])
    assert "cpu 0.00, memory 0.00, pods 5.00" == text(reserved_resource(job(amounts(pods="5"), gated)))


def test_volcanos_own_gate_does_not_deduct() -> None:
    own = [{"name": "scheduling.volcano.sh/queue-allocation-gate"}]
    gated = pods("j", 1, memory=None, schedulingGates=own)
    assert "cpu 3000.00, memory 0.00" == text(reserved_resource(job(amounts("3"), gated)))


def test_names_are_listed_with_the_verb() -> None:
    assert "full: short cpu, short memory" == format_resource_names("full", "short", ["cpu", "memory"])
    assert "full" == format_resource_names("full", "short", [])
