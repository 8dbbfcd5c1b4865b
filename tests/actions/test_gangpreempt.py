"""gangpreempt: bundles, and one plan for the whole gang."""

from typing import Any

import pytest

from tests.actions.outcome import ops, ran, statements
from tests.builders import cluster, node, open_session, pod_group, pods, priority_class, tasks
from vcdebug.actions.gang_eviction import Bundle, BundleType, create_job_bundles
from vcdebug.model.pod import VOLCANO_GATE

TIERS = ("priority gang", "predicates nodeorder")
CLASSES = (priority_class("high", 100), priority_class("low", 1))


def bundles(min_member: int, running: int, **group: Any) -> list[tuple[str, list[str]]]:
    objects = cluster(node("n1"), pod_group("j", min_member=min_member, **group), pods("j", running, on="n1"))
    ssn = open_session(objects, "gang")
    made: list[Bundle] = create_job_bundles(
        ssn.jobs["default/j"], tasks(ssn, *(f"j-{index}" for index in range(running)))
    )
    return [(bundle.type.name, [task.name for task in bundle.tasks]) for bundle in made]


def test_surplus_of_one_makes_one_safe_task_and_a_whole_bundle_of_the_others() -> None:
    assert [("SAFE", ["j-0"]), ("WHOLE", ["j-1", "j-2"])] == bundles(2, 3)


def test_a_broken_gang_is_safe_as_a_whole() -> None:
    assert [("SAFE", ["j-0", "j-1"])] == bundles(3, 2)


def test_role_at_its_minimum_makes_a_whole_bundle_despite_a_job_surplus() -> None:
    assert [("WHOLE", ["j-0", "j-1"])] == bundles(2, 2, min_task_member={"": 2})
    assert BundleType.SAFE < BundleType.WHOLE


def test_sub_group_that_is_incomplete_loses_pods_before_one_that_is_needed() -> None:
    """One complete sub group is required: the only one keeps its pods, and the incomplete one has nothing to lose."""
    key = "volcano.sh/index"
    policy = {"name": "p", "subGroupSize": 2, "minSubGroups": 1, "matchLabelKeys": [key]}
    members = pods("j", 3, on="n1")
    for member, index in zip(members, ("0", "0", "1"), strict=True):
        member["metadata"]["labels"] = {key: index}
    ssn = open_session(cluster(node("n1"), pod_group("j", min_member=2, subGroupPolicy=[policy]), members), "gang")
    made = create_job_bundles(ssn.jobs["default/j"], tasks(ssn, "j-0", "j-1", "j-2"))
    assert [("SAFE", ["j-2"]), ("WHOLE", ["j-0", "j-1"])] == [
        (bundle.type.name, [one.name for one in bundle.tasks]) for bundle in made
    ]


def gangpreempt(*objects: Any, extra: str = "") -> Any:
    return ran(CLASSES, *objects, actions="gangpreempt", tiers=TIERS, extra=extra)


def low(count: int, min_member: int = 0) -> list[Any]:
    return [pod_group("l", priority_class="low", min_member=min_member), *pods("l", count, on="n1")]


def high(count: int) -> list[Any]:
    return [pod_group("h", priority_class="high", min_member=count), *pods("h", count)]


def test_bundles_are_added_until_the_gang_fits_and_the_plan_is_recovered() -> None:
    recording = gangpreempt(node("n1", cpu="2"), low(2), high(1))
    assert ["evict", "evict", "pipeline"] == [op.split()[0] for op in ops(recording)][-3:]
    assert "commit 3" == statements(recording)[-1]


def test_gangpreempt_evicts_the_first_bundle_despite_idle_room() -> None:
    recording = gangpreempt(node("n1", cpu="8"), low(1), high(1))
    assert ["evict l-0@n1", "pipeline h-0@n1"] == ops(recording)[-2:]


def test_a_job_of_equal_priority_is_no_candidate() -> None:
    equal = [pod_group("l", priority_class="high", min_member=0), *pods("l", 2, on="n1")]
    assert [] == ops(gangpreempt(node("n1", cpu="2"), equal, high(1)))


@pytest.mark.parametrize(("allowed", "evictions"), [("true", 2), ("false", 0)])
def test_argument_allow_whole_bundle_decides_about_whole_bundles(allowed: str, evictions: int) -> None:
    extra = f"configurations:\n- name: gangpreempt\n  arguments:\n    allowWholeBundle: {allowed}\n"
    recording = gangpreempt(node("n1", cpu="2"), low(2, min_member=2), high(2), extra=extra)
    last = [op for op in ops(recording) if op.startswith("evict")][-2:]
    assert evictions == len(last)


def test_gangpreempt_evicts_no_pod_for_a_gated_pod() -> None:
    gated = [pod_group("h", priority_class="high"), *pods("h", 1, schedulingGates=[{"name": VOLCANO_GATE}])]
    assert [] == ops(gangpreempt(node("n1", cpu="2"), low(2), gated))
