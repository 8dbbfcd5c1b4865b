"""Capacity's victims: guarantee, deserved in the victim's dimensions, ancestors, and gang actions."""

import pytest

from tests.builders import amounts, names, node, pod_group, pods, queue, task, tasks
from tests.plugins.capacity_cluster import attr, big_node, flat, pending, running, tree
from vcdebug.framework.hooks import PREEMPTIVE, RECLAIMABLE, UNIFIED_EVICTABLE
from vcdebug.framework.plugin_answers import EvictionContext, EvictionKind
from vcdebug.framework.session import Session
from vcdebug.snapshot.snapshot import Manifest


def reclaimed(ssn: Session, reclaimer: str, *candidates: str) -> list[str]:
    return names(ssn.ask_plugins(RECLAIMABLE, task(ssn, reclaimer), tasks(ssn, *candidates)))


def gang_reclaimed(ssn: Session, kind: EvictionKind, *candidates: str) -> list[str]:
    context = EvictionContext(kind, ssn.jobs["default/a"], "")
    return names(ssn.ask_plugins(UNIFIED_EVICTABLE, context, tasks(ssn, *candidates)))


# One queue


def test_victims_end_where_the_queue_is_back_at_what_it_deserves() -> None:
    ssn = flat(node("n1"), queue("a"), queue("b", deserved=amounts("2")), pending("a", 1), running("b", 4))
    assert ["b-3", "b-2"] == reclaimed(ssn, "a-0", "b-0", "b-1", "b-2", "b-3")
    assert 4000.0 == attr(ssn, "b").allocated.milli_cpu


def test_a_dimension_that_is_not_deserved_does_not_count() -> None:
    ssn = flat(node("n1"), queue("a"), queue("b", deserved=amounts("8")), pending("a", 1), running("b", 1))
    assert [] == reclaimed(ssn, "a-0", "b-0")


def test_all_tasks_of_a_queue_without_deserved_amounts_are_reclaimable() -> None:
    ssn = flat(node("n1"), queue("a"), queue("b"), pending("a", 1), running("b", 3))
    assert ["b-2", "b-1", "b-0"] == reclaimed(ssn, "a-0", "b-0", "b-1", "b-2")


def test_guarantee_protects_a_large_candidate_and_allows_a_smaller_one() -> None:
    ssn = flat(
        node("n1"),
        queue("a"),
        queue("b", guarantee=amounts("2")),
        pending("a", 1),
        running("b", 1, cpu="2"),
        pods("b", 1, prefix="small", cpu="1", on="n1"),
    )
    assert ["small-0"] == reclaimed(ssn, "a-0", "b-0", "small-0")


def test_a_candidate_that_frees_nothing_the_reclaimer_asks_for_is_passed_over_except_by_gangs() -> None:
    ssn = flat(
        big_node(),
        queue("a"),
        queue("b"),
        pending("a", 1),
        pod_group("b", queue="b"),
        pods("b", 1, requests={"nvidia.com/gpu": "1"}, on="n1"),
    )
    assert [] == reclaimed(ssn, "a-0", "b-0")
    assert ["b-0"] == gang_reclaimed(ssn, EvictionKind.GANG_RECLAIM, "b-0")


def gpu_job(**deserved: str) -> Session:
    wants = {"nvidia.com/gpu": "1", "cpu": "1"}
    return flat(
        big_node(),
        queue("a"),
        queue("b", deserved=amounts(**deserved)),
        pod_group("a", queue="a"),
        pods("a", 1, requests=wants),
        pod_group("b", queue="b"),
        pods("b", 2, requests=wants, on="n1"),
    )


def test_a_scalar_deserved_as_0_is_exceeded_by_any_amount() -> None:
    assert ["b-1", "b-0"] == reclaimed(gpu_job(cpu="8", gpu="0"), "a-0", "b-0", "b-1")
    assert [] == reclaimed(gpu_job(cpu="8"), "a-0", "b-0", "b-1")


def test_reclaimable_abstains_for_a_reclaimer_without_a_job() -> None:
    ssn = flat(node("n1"), queue("a"), queue("b"), pending("a", 1), running("b", 1))
    orphan = task(ssn, "a-0").clone()
    orphan.job = "default/gone"
    assert ssn.ask_plugins(RECLAIMABLE, orphan, tasks(ssn, "b-0")) is None


def test_candidates_without_a_job_are_passed_over() -> None:
    ssn = flat(node("n1"), queue("a"), queue("b"), pending("a", 1), running("b", 2))
    orphan, other = tasks(ssn, "b-0", "b-1")
    orphan.job = "default/gone"
    assert ["b-1"] == names(ssn.ask_plugins(RECLAIMABLE, task(ssn, "a-0"), [orphan, other]))


def test_gang_actions_keep_the_order_and_gangpreempt_keeps_all() -> None:
    ssn = flat(node("n1"), queue("a"), queue("b", deserved=amounts("2")), pending("a", 1), running("b", 4))
    assert ["b-0", "b-1"] == gang_reclaimed(ssn, EvictionKind.GANG_RECLAIM, "b-0", "b-1", "b-2")
    assert ["b-0", "b-1", "b-2"] == gang_reclaimed(ssn, EvictionKind.GANG_PREEMPT, "b-0", "b-1", "b-2")


# Ancestors


def cousins(level: object) -> Session:
    """b1 has no deserved, but its parent b uses less than its deserved."""
    return tree(
        node("n1"),
        queue("a", deserved=amounts("4")),
        queue("a1", parent="a", deserved=amounts("4")),
        queue("b", deserved=amounts("4")),
        queue("b1", parent="b"),
        pending("a1", 1, cpu="2"),
        running("b1", 1, cpu="2"),
        level=level,
    )


@pytest.mark.parametrize(
    ("level", "victims"), [(0, ["b1-0"]), (1, []), (2, []), ('"1"', ["b1-0"]), ("1.0", ["b1-0"]), (-3, ["b1-0"])]
)
def test_an_ancestor_within_what_it_deserves_protects_from_foreign_branches(level: object, victims: list[str]) -> None:
    assert victims == reclaimed(cousins(level), "a1-0", "b1-0")


def siblings(level: int) -> Session:
    return tree(
        node("n1"),
        queue("a", deserved=amounts("4")),
        queue("a1", parent="a"),
        queue("a2", parent="a"),
        pending("a1", 1),
        running("a2", 1),
        level=level,
    )


@pytest.mark.parametrize(("level", "preemptive", "victims"), [(0, False, ["a2-0"]), (1, True, [])])
def test_siblings_that_deserve_nothing_do_not_take_from_each_other(
    level: int, preemptive: bool, victims: list[str]
) -> None:
    ssn = siblings(level)
    assert preemptive == ssn.ask_plugins(PREEMPTIVE, ssn.queues["a1"], tasks(ssn, "a1-0"))
    assert victims == reclaimed(ssn, "a1-0", "a2-0")


def misaligned(level: int) -> Session:
    """The reclaimer is two levels below the root, the victim three, both under `a`."""
    below: list[Manifest] = [queue("x", parent="a"), queue("y", parent="x")]
    return tree(
        node("n1"),
        queue("a", deserved=amounts("8")),
        queue("a1", parent="a", deserved=amounts("2")),
        below,
        pending("a1", 1),
        running("y", 1),
        level=level,
    )


@pytest.mark.parametrize(("level", "victims"), [(1, ["y-0"]), (2, [])])
def test_a_shared_ancestor_at_another_distance_is_asked_as_a_foreign_one(level: int, victims: list[str]) -> None:
    assert victims == reclaimed(misaligned(level), "a1-0", "y-0")


def test_victims_are_taken_off_the_ancestors_as_well() -> None:
    ssn = tree(
        node("n1"),
        queue("a", deserved=amounts("4")),
        queue("b", deserved=amounts("2")),
        queue("b1", parent="b"),
        queue("b2", parent="b"),
        pending("a", 1),
        running("b1", 2),
        running("b2", 2),
        level=1,
    )
    assert 2 == len(reclaimed(ssn, "a-0", "b1-0", "b1-1", "b2-0", "b2-1"))


def test_the_reclaimers_own_branch_gives_first() -> None:
    ssn = tree(
        node("n1"),
        queue("a"),
        queue("a1", parent="a"),
        queue("a2", parent="a"),
        queue("b"),
        queue("b1", parent="b"),
        pending("a1", 1),
        running("a2", 1),
        running("b1", 1),
    )
    assert ["a2-0", "b1-0"] == reclaimed(ssn, "a1-0", "b1-0", "a2-0")


UNUSED = queue("z", deserved=amounts("8", "80G"))
"""A queue whose deserved counts for the root but is not used below it."""


@pytest.mark.parametrize("level", [1, 2, 3, 9])
def test_no_level_lets_a_queue_claim_what_the_root_deserves(level: int) -> None:
    ssn = tree(node("n1"), UNUSED, queue("a"), queue("a1", parent="a"), pending("a1", 1), level=level)
    assert not ssn.ask_plugins(PREEMPTIVE, ssn.queues["a1"], tasks(ssn, "a1-0"))


@pytest.mark.parametrize(("level", "claims"), [(1, False), (2, True), (3, True)])
def test_a_queue_claims_what_an_ancestor_deserves_that_is_near_enough(level: int, claims: bool) -> None:
    far = (queue("a", deserved=amounts("4")), queue("b", parent="a"), queue("c", parent="b"))
    ssn = tree(node("n1"), *far, pending("c", 1), level=level)
    assert claims == ssn.ask_plugins(PREEMPTIVE, ssn.queues["c"], tasks(ssn, "c-0"))


@pytest.mark.parametrize("level", [1, 2, 3, 9])
@pytest.mark.parametrize("branch", ["b", "b1"])
def test_root_queue_does_not_count_as_a_common_ancestor(branch: str, level: int) -> None:
    """The victim's queue is at another depth than the reclaimer's (b), or at the same (b1)."""
    ssn = tree(
        node("n1"),
        UNUSED,
        queue("a"),
        queue("a1", parent="a"),
        queue("b"),
        queue("b1", parent="b") if branch == "b1" else [],
        pending("a1", 1),
        running(branch, 1),
        level=level,
    )
    assert [f"{branch}-0"] == reclaimed(ssn, "a1-0", f"{branch}-0")
