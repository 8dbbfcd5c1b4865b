"""Cyclic task orders: pods with an index in their names compare by index, others by age."""

import pytest

from tests.builders import amounts, cluster, conf_of, node, pod, pod_group
from vcdebug.explain.orders import find_order_circle
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle

YOUNG, MIDDLE, OLD, OLDEST = (f"2026-01-01T10:00:0{second}Z" for second in (3, 2, 1, 0))


def replayed(*ages: tuple[str, str]) -> Recording:
    """A cycle with pods of these ages and a node that has room for one of them."""
    conf = conf_of("priority gang", "predicates nodeorder", actions="allocate")
    waiting = [pod(name, name[0], requests=amounts("1", "1G"), created=age) for name, age in ages]
    return replay_cycle(cluster(node("n1", cpu="1"), pod_group("j"), pod_group("k"), waiting, conf=conf))


def test_pod_index_and_ages_can_form_a_cyclic_order() -> None:
    found = replayed(("j-w-0", YOUNG), ("j-w-1", OLD), ("j-w-x", MIDDLE))
    assert ("default/j-w-0", "default/j-w-1", "default/j-w-x", "default/j-w-0") == find_order_circle(
        found, ["default/j-w-0", "default/j-w-1"]
    )


@pytest.mark.parametrize("other", ["default/k-w-0", "default/j-w-2"])
def test_tasks_without_a_cyclic_order_give_no_circle(other: str) -> None:
    found = replayed(("j-w-0", YOUNG), ("j-w-1", OLD), ("j-w-x", MIDDLE), ("j-w-2", YOUNG), ("k-w-0", YOUNG))
    assert () == find_order_circle(found, ["default/j-w-0", other])


def test_single_pod_gives_no_circle() -> None:
    assert () == find_order_circle(replayed(("j-w-0", YOUNG), ("j-w-1", OLD), ("j-w-x", MIDDLE)), ["default/j-w-0"])


@pytest.mark.parametrize("first", ["default/j-w-0", "default/j-w-1", "default/j-w-x"])
def test_the_order_circle_starts_at_the_placed_pod(first: str) -> None:
    found = replayed(("j-w-0", YOUNG), ("j-w-1", OLD), ("j-w-x", MIDDLE))
    others = ["default/j-w-0", "default/j-w-1", "default/j-w-x"]
    way = find_order_circle(found, [first, *others])
    assert (first, first, 4) == (way[0], way[-1], len(way))
