"""network-topology-aware keeps a job's pods close together in the tree of HyperNodes."""

from typing import Any

import numpy as np
import pytest

from tests.builders import cluster, conf_of, hyper_node, node, open_session, pod, pod_group, pods, task
from tests.effort import at_most
from vcdebug.errors import SchedulerPanic
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import (
    BATCH_NODE_ORDER,
    HYPER_NODE_GRADIENT_FOR_JOB,
    HYPER_NODE_GRADIENT_FOR_SUB_JOB,
    HYPER_NODE_ORDER,
)
from vcdebug.framework.session import Session
from vcdebug.gomath import int_power
from vcdebug.model.hyper_nodes import TOP_HYPER_NODE
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskStatus
from vcdebug.plugins.network_topology_aware import NetworkTopologyAware, TopologyWeights
from vcdebug.snapshot.snapshot import Manifest

NAME = "network-topology-aware"
ALLOCATE, EVICT = 0, 1
TWO_LEAVES: list[Manifest] = [
    *(node(name, cpu="4", memory="8G") for name in ("a1", "a2", "b1", "b2")),
    hyper_node("a", 1, nodes=("a1", "a2")),
    hyper_node("b", 1, nodes=("b1", "b2")),
    hyper_node("s", 2, children=("a", "b")),
]


def topology(tier: int | None = 1, mode: str = "hard", tier_name: str | None = None) -> dict[str, Any]:
    fields = {"mode": mode, "highestTierAllowed": tier, "highestTierName": tier_name}
    return {"networkTopology": {key: value for key, value in fields.items() if value is not None}}


def opened(*objects: Manifest | list[Manifest], **arguments: Any) -> Session:
    lines = "".join(f"      {key}: {value}\n" for key, value in arguments.items())
    return open_session(cluster(*objects, conf=conf_of(NAME) + ("    arguments:\n" + lines if lines else "")))


def rows(ssn: Session, hyper_node: str = TOP_HYPER_NODE, purpose: int = ALLOCATE) -> list[list[str]]:
    return ssn.ask_plugins(HYPER_NODE_GRADIENT_FOR_JOB, ssn.jobs["default/j"], hyper_node, purpose) or []


def scores(ssn: Session, name: str = "j-0") -> list[float] | None:
    answer = ssn.ask_plugins(BATCH_NODE_ORDER, task(ssn, name), ssn.all_rows())[NAME]
    return None if answer is None else [float(score) for score in answer.total]


def of_hyper_nodes(ssn: Session, *names: str) -> dict[str, float]:
    job = ssn.jobs["default/j"]
    offered = {name: list(ssn.hyper_nodes.real_nodes[name]) for name in names}
    return ssn.ask_plugins(HYPER_NODE_ORDER, job.sub_jobs[job.uid], offered)[NAME]


def place(ssn: Session, name: str, host: str) -> None:
    """Allocate a task and fire the plugins' event handlers."""
    placed = task(ssn, name)
    ssn.jobs[placed.job].update_task_status(placed, TaskStatus.ALLOCATED)
    placed.node_name = host
    assert [] == ssn.notify_allocated(placed)


# Gradients


def test_a_hard_job_is_tried_tier_by_tier_up_to_its_limit() -> None:
    assert [["a", "b"]] == rows(opened(TWO_LEAVES, pod_group("j", **topology(1)), pods("j", 1)))
    assert [["a", "b"], ["s"]] == rows(opened(TWO_LEAVES, pod_group("j", **topology(2)), pods("j", 1)))
    assert [["a", "b"], ["s"], [TOP_HYPER_NODE]] == rows(
        opened(TWO_LEAVES, pod_group("j", **topology(9)), pods("j", 1))
    )


def test_a_soft_job_without_hyper_nodes_is_tried_on_the_whole_cluster() -> None:
    assert [[TOP_HYPER_NODE]] == rows(opened(node("n1"), pod_group("j", **topology(None, "soft")), pods("j", 1)))


@pytest.mark.parametrize("stated", [{}, topology(None), topology(None, tier_name="nobody")])
def test_a_job_that_is_not_hard_keeps_what_it_is_given(stated: dict[str, Any]) -> None:
    ssn = opened(TWO_LEAVES, pod_group("j", **stated), pods("j", 1))
    assert [["s"]] == rows(ssn, "s")


def test_a_minimum_that_only_fits_after_releases_still_counts() -> None:
    leaving = pods("r", 2, cpu="4", on="a1", deleting=True)
    wanted = pod_group("j", min_resources={"cpu": "8"}, **topology(1))
    ssn = opened(TWO_LEAVES, pod_group("r"), [leaving[0]], pods("b", 1, cpu="4", on="b1"), wanted, pods("j", 1))
    assert [["a"]] == rows(ssn)


def test_the_minimum_is_measured_against_all_resources_when_evicting() -> None:
    wanted = pod_group("j", min_resources={"cpu": "8"}, **topology(1))
    ssn = opened(TWO_LEAVES, pods("b", 1, cpu="4", on="b1"), wanted, pods("j", 1))
    assert [["a", "b"]] == rows(ssn, purpose=EVICT)
    wanted = pod_group("j", min_resources={"cpu": "9"}, **topology(2))
    assert [["s"]] == rows(opened(TWO_LEAVES, wanted, pods("j", 1)), purpose=EVICT)


def test_a_job_stays_where_it_has_begun_whatever_the_room() -> None:
    wanted = pod_group("j", min_resources={"cpu": "99"}, **topology(1))
    ssn = opened(TWO_LEAVES, wanted, pods("j", 1), pod("j-8", "j", on="a1"))
    assert "a" == ssn.jobs["default/j"].allocated_hyper_node
    assert [["a"]] == rows(ssn)
    assert [["a"]] == rows(ssn, "a")
    assert [] == rows(ssn, "b")


def test_a_job_spread_beyond_its_limit_finds_nothing() -> None:
    ssn = opened(
        TWO_LEAVES, pod_group("j", **topology(1)), pods("j", 1), pod("j-8", "j", on="a1"), pod("j-9", "j", on="b1")
    )
    assert "s" == ssn.jobs["default/j"].allocated_hyper_node
    assert [] == rows(ssn)


def test_evictions_try_the_widest_domain_first_and_at_most_eight() -> None:
    leaves = [hyper_node(f"l{index}", 1, nodes=(f"n{index}",)) for index in range(10)]
    hosts = [node(f"n{index}") for index in range(10)]
    spine = hyper_node("spine", 2, children=[f"l{index}" for index in range(10)])
    cut = [f"l{index}" for index in range(4, 10)]
    ssn = opened(hosts, leaves, spine, pod_group("j", **topology(3)), pods("j", 1))
    assert [[TOP_HYPER_NODE], ["spine"], cut] == rows(ssn, purpose=EVICT)
    ssn = opened(
        hosts,
        leaves,
        spine,
        pod_group("j", **topology(3)),
        pods("j", 1),
        **{"hypernode.gradient.evict.max-hypernodes": 1},
    )
    assert [[TOP_HYPER_NODE]] == rows(ssn, purpose=EVICT)


def test_a_child_without_an_object_is_a_domain_of_tier_zero_without_nodes() -> None:
    objects: list[Manifest | list[Manifest]] = [node("n1"), hyper_node("s", 1, children=("ghost",)), pods("j", 1)]
    assert [["ghost"], ["s"]] == rows(opened(*objects, pod_group("j", **topology(1))))
    wanted = pod_group("j", min_resources={"cpu": "1"}, **topology(2))
    assert [[TOP_HYPER_NODE]] == rows(opened(*objects, wanted))


def test_a_sub_job_needs_room_for_its_pending_tasks() -> None:
    ssn = opened(TWO_LEAVES, pods("b", 1, cpu="1", on="b1"), pod_group("j", **topology(2)), pods("j", 2, cpu="4"))
    sub_job = ssn.jobs["default/j"].sub_jobs["default/j"]
    assert [["a"], ["s"]] == ssn.ask_plugins(HYPER_NODE_GRADIENT_FOR_SUB_JOB, sub_job, TOP_HYPER_NODE, ALLOCATE)


# HyperNodes for a sub job


def test_the_hyper_node_that_the_job_fills_most_is_best() -> None:
    ssn = opened(
        TWO_LEAVES, pods("b", 1, cpu="4", memory="8G", on="b1"), pod_group("j", **topology(2)), pods("j", 1, "2", "4G")
    )
    assert {"a": 25.0, "b": 75.0, "s": 37.5} == of_hyper_nodes(ssn, "a", "b", "s")


def test_resources_count_by_their_weights() -> None:
    weights = {"weight": 2, "hypernode.binpack.cpu": 3, "hypernode.binpack.memory": 0}
    ssn = opened(TWO_LEAVES, pod_group("j", **topology(2)), pods("j", 1, "2", "8G"), **weights)
    assert {"a": 50.0} == of_hyper_nodes(ssn, "a")
    scarce = {"hypernode.binpack.resources": '"nvidia.com/gpu"', "hypernode.binpack.resources.nvidia.com/gpu": -1}
    request = {"cpu": "1", "memory": "1G", "nvidia.com/gpu": "2"}
    ssn = opened(node("n1", cpu="4", memory="4G", gpu="4"), pod_group("j"), pod("j-0", "j", requests=request), **scarce)
    assert {TOP_HYPER_NODE: 100.0 * ((0.25 + 0.25 + 0.5) / 3.0)} == of_hyper_nodes(ssn, TOP_HYPER_NODE)


def test_fraction_of_placed_tasks_decides_if_no_hypernode_fits() -> None:
    ssn = opened(TWO_LEAVES, pod_group("j", **topology(2)), pods("j", 3, cpu="9"), pod("j-9", "j", on="b1"))
    assert {"a": 0.0, "b": 25.0} == of_hyper_nodes(ssn, "a", "b")


def test_a_placed_task_is_counted_as_used_and_as_requested() -> None:
    ssn = opened(TWO_LEAVES, pod_group("j", **topology(2)), pods("j", 2, "2", "4G"))
    assert 50.0 + 100.0 * 0.0 == of_hyper_nodes(ssn, "a")["a"]
    place(ssn, "j-0", "a1")
    assert {"a": 75.0, "b": 50.0} == of_hyper_nodes(ssn, "a", "b")
    placed = task(ssn, "j-0")
    ssn.notify_deallocated(placed)
    with pytest.raises(SchedulerPanic):
        ssn.notify_deallocated(placed)


# Nodes for a task


def test_a_node_of_the_same_leaf_is_better_than_one_below_the_same_spine() -> None:
    ssn = opened(TWO_LEAVES, pod_group("j", **topology(2)), pods("j", 1), pod("j-9", "j", on="a1"))
    assert [1, 2, 3] == sorted(ssn.hyper_nodes.tiers)
    task(ssn, "j-0").job_allocated_hyper_node = "a"
    assert [150.0, 150.0, 50.0, 50.0] == scores(ssn)


def test_before_the_job_has_a_hyper_node_there_is_no_score() -> None:
    ssn = opened(TWO_LEAVES, pod_group("j", **topology(2)), pods("j", 1))
    assert scores(ssn) is None


def test_a_node_outside_the_lowest_tier_is_far_from_every_job() -> None:
    ssn = opened(TWO_LEAVES, node("z"), pod_group("j", **topology(2)), pods("j", 1))
    task(ssn, "j-0").job_allocated_hyper_node = "s"
    assert [50.0, 50.0, 50.0, 50.0, 0.0] == scores(ssn)


def test_without_hyper_nodes_every_node_is_equally_good() -> None:
    ssn = opened(node("n1", cpu="4"), node("n2", cpu="4"), pods("r", 1, on="n1"), pod_group("j"), pods("j", 1))
    first, second = scores(ssn) or []
    assert first == second > 0


def test_an_ordinary_pod_prefers_nodes_outside_every_leaf() -> None:
    ssn = opened(TWO_LEAVES, node("z", cpu="4", memory="8G"), pod_group("j"), pods("j", 1, "2", "4G"))
    leaf, spine, root = 0.25, 0.125, 0.1
    weights = (1.0 + 0.8) + 0.8 * 0.8
    inside = (((0.0 + leaf) + 0.8 * spine) + (0.8 * 0.8) * root) / weights
    outside = (((0.0 + 1.0) + 0.8 * 1.0) + (0.8 * 0.8) * root) / weights
    assert [100.0 * inside] * 4 + [100.0 * outside] == pytest.approx(scores(ssn), rel=1e-15)


def test_fading_zero_leaves_only_the_first_tier() -> None:
    fading = {"hypernode.binpack.normal-pod.fading": 0}
    objects: list[Manifest | list[Manifest]] = [
        TWO_LEAVES,
        pods("b", 1, "4", "8G", on="b1"),
        pod_group("j"),
        pods("j", 1, "2", "4G"),
    ]
    assert [25.0, 25.0, 75.0, 75.0] == scores(opened(*objects, **fading))
    above: list[Manifest | list[Manifest]] = [
        node("n1"),
        hyper_node("s", 2, nodes=("n1",)),
        pod_group("j"),
        pods("j", 1),
    ]
    assert scores(opened(*above, **fading)) is None


def test_a_negative_fading_is_replaced_by_the_default() -> None:
    objects: list[Manifest | list[Manifest]] = [
        TWO_LEAVES,
        pods("b", 1, "4", "8G", on="b1"),
        pod_group("j"),
        pods("j", 1),
    ]
    wrong = opened(*objects, **{"hypernode.binpack.normal-pod.fading": -1})
    assert scores(opened(*objects)) == scores(wrong)
    assert {"hypernode.binpack.normal-pod.fading": 0.8} == wrong.plugins[NAME].arguments.replaced_defaults


def test_ordinary_pods_may_be_left_alone() -> None:
    off = {"hypernode.binpack.normal-pod.enable": "false"}
    assert scores(opened(TWO_LEAVES, pod_group("j"), pods("j", 1), **off)) is None


def test_a_pod_without_a_job_is_not_scored() -> None:
    ssn = opened(TWO_LEAVES, pod_group("j"), pods("j", 1))
    orphan = task(ssn, "j-0")
    orphan.job = "default/gone"
    assert ssn.ask_plugins(BATCH_NODE_ORDER, orphan, ssn.all_rows())[NAME] is None


def test_a_task_that_fits_no_hyper_node_scores_nothing_there() -> None:
    ssn = opened(TWO_LEAVES, pod_group("j"), pods("j", 1, cpu="99"))
    assert [0.0] * 4 == scores(ssn)


def scores_tier_by_tier(ssn: Session, fading: float) -> list[float] | None:
    """The score of j-0 on every node, summed as upstream does: over each number from the lowest tier to the highest."""
    tiers = sorted(ssn.hyper_nodes.tiers)
    plugin = ssn.plugins[NAME]
    assert isinstance(plugin, NetworkTopologyAware)
    requests = plugin._weights.weighed_request(task(ssn, "j-0").resreq)
    totals, weights = dict.fromkeys(ssn.nodes, 0.0), 0.0
    for number in range(tiers[0], tiers[-1] + 1):
        weight = int_power(fading, number - 1)
        weights = weights + weight
        for name in totals:
            holding = [one for one in ssn.hyper_nodes.tiers.get(number, ()) if name in ssn.hyper_nodes.real_nodes[one]]
            filled = plugin._fill_score(holding[0], requests) if holding else 1.0
            totals[name] = totals[name] + weight * filled
    return None if weights <= 0 else [100.0 * (total / weights) for total in totals.values()]


@pytest.mark.parametrize("fading", [0.0, 0.3, 0.8, 0.99, 1.0, 1.01, 3.0])
@pytest.mark.parametrize("tiers", [(1, 2), (1, 3000), (4, 700), (2, 9000)])
def test_tier_numbers_without_hyper_node_count_as_they_do_one_by_one(fading: float, tiers: tuple[int, int]) -> None:
    ssn = opened(
        *(node(name, cpu="4", memory="8G") for name in ("a1", "a2", "b1")),
        hyper_node("a", tiers[0], nodes=("a1", "a2")),
        hyper_node("s", tiers[1], children=("a",)),
        pod_group("j"),
        pods("j", 1),
        **{"hypernode.binpack.normal-pod.fading": fading},
    )
    with np.errstate(all="ignore"):  # as in a replay
        found = scores(ssn)
    assert str(scores_tier_by_tier(ssn, fading)) == str(found)  # as text, since no number equals NaN


def test_tier_numbers_may_be_as_large_as_they_can_be() -> None:
    objects = [node("a1"), node("b1"), hyper_node("a", 1, nodes=("a1",)), hyper_node("b", 2**31 - 1, nodes=("b1",))]
    with at_most(seconds=5):
        found = scores(opened(*objects, pod_group("j"), pods("j", 1)))
    assert found is not None
    assert found[0] < found[1]


def test_a_pod_that_no_sub_job_knows_is_scored_as_an_ordinary_one_but_from_0_to_1() -> None:
    objects = (TWO_LEAVES, pod_group("r", phase="Running"), pods("r", 1, cpu="2", on="a1"))
    ordinary = scores(opened(*objects, pod_group("j"), pods("j", 1)))
    assert ordinary is not None
    ssn = opened(*objects, pod_group("j", **topology()), pods("j", 1))
    assert ordinary != scores(ssn)
    ssn.jobs["default/j"].task_to_sub_job.clear()
    assert ordinary == [100 * score for score in scores(ssn) or ()]


@pytest.mark.parametrize(
    ("offered", "tied"), [(("a1", "a2", "b1"), [True, True, False]), (("a1", "b1"), [False, False])]
)
def test_the_part_of_the_tasks_counts_only_where_several_nodes_are_nearest(
    offered: tuple[str, ...], tied: list[bool]
) -> None:
    ssn = opened(TWO_LEAVES, pod_group("j", **topology(2)), pods("j", 1), pod("j-9", "j", on="a1"))
    plugin, wanted, everything = ssn.plugins[NAME], task(ssn, "j-0"), ssn.all_rows()
    assert isinstance(plugin, NetworkTopologyAware)
    wanted.job_allocated_hyper_node = "a"
    chosen = [ssn.node_table.row_of[name] for name in offered]
    nodes = everything.select_where(np.isin(everything.rows, chosen))
    found = [plugin.node_nearness(wanted, nodes, row) for row in chosen]
    assert tied == [each.near.is_tied for each in found if each is not None and each.near is not None]


@pytest.mark.parametrize(("stated", "limit"), [(0, 8), (-3, 8), (1, 1), (12, 12)])
def test_a_limit_of_hyper_nodes_below_one_is_the_usual_eight(stated: int, limit: int) -> None:
    arguments = Arguments({"hypernode.gradient.evict.max-hypernodes": stated})
    assert limit == TopologyWeights(arguments).evict_hyper_nodes


def test_a_request_that_no_weight_counts_fills_nothing() -> None:
    weights = TopologyWeights(Arguments({}))
    assert 0.0 == weights.fill_score({}, Resource(), Resource())
    assert 0.5 == weights.fill_score({"cpu": 500.0}, Resource(), Resource.from_list({"cpu": "1"}))
