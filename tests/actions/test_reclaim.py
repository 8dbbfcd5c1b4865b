"""reclaim: victims in other queues, in search order, with one search per task."""

from typing import Any

import pytest

from tests.actions.outcome import asked, ops, pops, ran, statements, tasks
from tests.builders import node, pod_group, pods, queue
from vcdebug.model.pod import VOLCANO_GATE

TIERS = ("gang", "predicates proportion nodeorder")


def reclaim(*objects: Any, tiers: tuple[str, ...] = TIERS) -> Any:
    return ran(*objects, actions="reclaim", tiers=tiers)


def victim_queue(count: int, on: str, **more: Any) -> list[Any]:
    return [
        queue("rich", **more),
        pod_group("r", queue="rich", phase="Running", min_member=0),
        *pods("r", count, on=on),
    ]


def poor(count: int, min_member: int = 1, name: str = "p") -> list[Any]:
    return [pod_group(name, queue="poor", min_member=min_member), *pods(name, count)]


def test_a_queue_below_its_share_takes_one_task_from_a_queue_above() -> None:
    recording = reclaim(node("n1", cpu="2"), queue("poor"), victim_queue(2, "n1"), poor(1))
    assert ["evict r-1@n1", "pipeline p-0@n1"] == ops(recording)
    assert ["merge 2", "commit 2"] == statements(recording)


def test_reclaim_skips_queues_that_are_not_reclaimable() -> None:
    recording = reclaim(node("n1", cpu="2"), queue("poor"), victim_queue(2, "n1", reclaimable=False), poor(1))
    assert ([], []) == (ops(recording), asked(recording, "Reclaimable"))


def test_a_node_without_a_reclaimee_is_passed_over_though_it_has_room() -> None:
    recording = reclaim(node("n1", cpu="8"), node("n2", cpu="2"), queue("poor"), victim_queue(2, "n2"), poor(1))
    assert "pipeline p-0@n2" == ops(recording)[-1]


def test_the_search_ends_at_the_first_node_that_makes_room() -> None:
    rich = [victim_queue(2, "n1"), pods("r", 2, on="n2", prefix="s")]
    recording = reclaim(node("n1", cpu="2"), node("n2", cpu="2"), queue("poor"), *rich, poor(1))
    assert ["evict r-1@n1", "pipeline p-0@n1"] == ops(recording)


def test_each_further_starving_job_pops_the_queue_once_more() -> None:
    recording = reclaim(
        node("n1", cpu="8"),
        queue("poor"),
        victim_queue(8, "n1"),
        poor(1, name="p"),
        poor(1, name="q"),
        poor(1, name="s"),
    )
    assert 3 == pops(recording, "queue").count("poor")
    assert ["default/p", "default/q", "default/s"] == pops(recording, "job")


def test_reclaim_discards_the_statement_of_a_partly_served_gang() -> None:
    recording = reclaim(node("n1", cpu="2"), queue("poor"), victim_queue(2, "n1"), poor(2, min_member=2))
    assert "discard 2" == statements(recording)[-1]
    assert {"r-0": "Running@n1", "r-1": "Running@n1"} == {k: v for k, v in tasks(recording).items() if k[0] == "r"}


def test_bound_tasks_are_no_reclaimees() -> None:
    rich = [queue("rich"), pod_group("r", queue="rich", min_member=0), *pods("r", 2, on="n1", phase="Pending")]
    assert [] == ops(reclaim(node("n1", cpu="2"), queue("poor"), rich, poor(1)))


@pytest.mark.parametrize("gate", [VOLCANO_GATE, "example.com/wait"])
def test_reclaim_evicts_no_pod_for_a_gated_pod(gate: str) -> None:
    gated = [pod_group("p", queue="poor"), *pods("p", 1, schedulingGates=[{"name": gate}])]
    assert [] == ops(reclaim(node("n1", cpu="2"), queue("poor"), victim_queue(2, "n1"), gated))
