"""Tasks with affine roles are ordered together and prefer one node."""

from typing import Any

import pytest

from tests.builders import amounts, cluster, conf_of, node, open_session, pod, pod_group, pods, task
from vcdebug.errors import SchedulerPanic
from vcdebug.framework.hooks import NODE_ORDER, TASK_ORDER
from vcdebug.framework.session import Session
from vcdebug.model.resource import Resource
from vcdebug.plugins.task_topology import RoleTopology, request_score
from vcdebug.snapshot.snapshot import Manifest

NAME = "task-topology"
AFFINITY = "volcano.sh/task-topology-affinity"
ANTI_AFFINITY = "volcano.sh/task-topology-anti-affinity"
ORDER = "volcano.sh/task-topology-task-order"
ROLE = "volcano.sh/task-spec"


def group(name: str = "j", **annotations: str) -> Manifest:
    """A PodGroup with annotations from affinity, anti_affinity and order."""
    made = pod_group(name)
    keys = {"affinity": AFFINITY, "anti_affinity": ANTI_AFFINITY, "order": ORDER}
    made["metadata"]["annotations"] = {keys[key]: text for key, text in annotations.items()}
    return made


def role(name: str, count: int, owner: str = "j", **more: Any) -> list[Manifest]:
    return pods(owner, count, prefix=name, role=name, **more)


def opened(*objects: Manifest | list[Manifest], **arguments: Any) -> Session:
    lines = "".join(f"      {key}: {value}\n" for key, value in arguments.items())
    return open_session(cluster(*objects, conf=conf_of(NAME) + ("    arguments:\n" + lines if lines else "")))


def scores(ssn: Session, name: str) -> list[float]:
    answer = ssn.ask_plugins(NODE_ORDER, task(ssn, name), ssn.all_rows())[NAME]
    return [float(score) for score in answer.total]


def first(ssn: Session, left: str, right: str) -> int:
    return ssn.ask_plugins(TASK_ORDER, task(ssn, left), task(ssn, right))


def bind(ssn: Session, name: str, host: str) -> None:
    """Allocate a task on a node and fire the plugins' event handlers."""
    bound = task(ssn, name)
    bound.node_name = host
    ssn.nodes[host].add_task(bound)
    ssn.notify_allocated(bound)


# Buckets


def test_roles_with_affinity_share_one_bucket() -> None:
    ssn = opened(node("big"), node("small", cpu="3"), group(affinity="ps,worker"), role("ps", 2), role("worker", 4))
    assert [100.0, 100.0 * 3 / 6] == scores(ssn, "ps-0")


def test_a_role_that_avoids_itself_gets_a_bucket_per_task() -> None:
    ssn = opened(node("n1"), group(anti_affinity="ps"), role("ps", 2))
    assert [100.0] == scores(ssn, "ps-0")
    assert (-1, 1) == (first(ssn, "ps-0", "ps-1"), first(ssn, "ps-1", "ps-0"))


def test_a_bound_task_draws_its_bucket_to_its_node() -> None:
    ssn = opened(node("n1"), node("n2"), group(affinity="ps,worker"), role("ps", 1, on="n1"), role("worker", 2))
    assert [100.0, 100.0 * 2 / 3] == scores(ssn, "worker-0")


def test_each_node_with_bound_tasks_starts_a_bucket_and_equally_liked_ones_fill_evenly() -> None:
    hosts = [node("n1"), node("n2")]
    bound = [*role("ps", 1, on="n1"), *role("worker", 1, on="n2")]
    ssn = opened(hosts, group(affinity="ps,worker"), bound, role("worker", 2)[1:], role("ps", 2)[1:])
    assert [50.0, 100.0] == scores(ssn, "ps-1")
    assert [100.0, 50.0] == scores(ssn, "worker-1")


def test_avoided_roles_bound_in_this_session_count_against_a_node() -> None:
    ssn = opened(node("n1"), node("n2"), group(affinity="a", anti_affinity="a,b"), role("a", 2), role("b", 1))
    assert [100.0, 100.0] == scores(ssn, "a-0")
    bind(ssn, "b-0", "n1")
    assert [50.0, 100.0] == scores(ssn, "a-0")


def test_a_bucket_shrinks_as_its_tasks_are_placed() -> None:
    ssn = opened(node("n1", cpu="2"), node("n2"), group(affinity="w"), role("w", 3))
    assert [100.0 * 2 / 3, 100.0] == scores(ssn, "w-0")
    bind(ssn, "w-0", "n1")
    assert [100.0 * 2 / 3, 100.0 * 2 / 3] == scores(ssn, "w-1")


def test_a_second_allocation_of_one_task_panics() -> None:
    ssn = opened(node("n1"), node("n2"), group(affinity="w"), role("w", 1))
    bind(ssn, "w-0", "n1")
    with pytest.raises(SchedulerPanic, match="resource is not sufficient to do operation"):
        ssn.notify_allocated(task(ssn, "w-0"))


# Room


def test_a_node_too_small_for_the_task_scores_nothing() -> None:
    ssn = opened(node("n1", cpu="500m"), node("n2"), group(affinity="w"), role("w", 1))
    assert [0.0, 100.0] == scores(ssn, "w-0")


def test_releasing_amounts_count_as_room() -> None:
    leaving = pods("r", 1, cpu="10", on="n1", deleting=True)
    ssn = opened(node("n1"), pod_group("r"), leaving, group(affinity="w"), role("w", 2))
    assert [100.0] == scores(ssn, "w-0")


def test_an_overcommitted_resource_that_is_not_asked_for_makes_the_score_zero() -> None:
    over = pod("r-0", "r", on="n1", requests=amounts("1", "1G", gpu="2"))
    ssn = opened(node("n1", gpu="1"), node("n2", gpu="1"), pod_group("r"), over, group(affinity="w"), role("w", 1))
    assert [0.0, 100.0] == scores(ssn, "w-0")


def test_a_resource_asked_for_as_nothing_must_still_be_there() -> None:
    request = amounts("1", "1G", gpu="0")
    ssn = opened(node("n1"), node("n2", gpu="0"), group(affinity="w"), role("w", 1, requests=request))
    assert [0.0, 100.0] == scores(ssn, "w-0")


def test_no_node_at_all_gets_no_score() -> None:
    ssn = opened(node("n1"), group(affinity="w"), role("w", 1, requests=amounts("1", "1G", gpu="0")))
    assert 0 == len(ssn.ask_plugins(NODE_ORDER, task(ssn, "w-0"), ssn.node_table.rows_named([]))[NAME].total)


def test_other_tasks_are_left_out_by_uid_until_the_rest_fits() -> None:
    sizes = [pod(f"w-{index}", "j", role="w", requests=amounts(cpu)) for index, cpu in enumerate(("1", "5", "2"))]
    ssn = opened(node("n1", cpu="4"), node("n2", cpu="2"), group(affinity="w"), sizes)
    assert [100.0 * 2 / 3, 100.0 * 1 / 3] == scores(ssn, "w-0")
    assert [100.0 * 1 / 3, 100.0 * 1 / 3] == scores(ssn, "w-2")


def test_the_weight_may_be_negative() -> None:
    ssn = opened(node("n1"), group(affinity="w"), role("w", 2), **{"task-topology.weight": -2})
    assert [-200.0] == scores(ssn, "w-0")


# Order


def test_tasks_in_buckets_come_first_even_across_jobs() -> None:
    ssn = opened(
        node("n1"), group(affinity="w"), role("w", 1), role("x", 1), group("k", affinity="v"), role("v", 1, "k")
    )
    assert (-1, 1) == (first(ssn, "w-0", "x-0"), first(ssn, "x-0", "w-0"))
    assert -1 == first(ssn, "v-0", "x-0")
    assert 0 == first(ssn, "v-0", "w-0")


def test_the_bucket_with_more_tasks_left_comes_first_then_the_older_one() -> None:
    ssn = opened(node("n1"), group(affinity="a;b", anti_affinity="a,b"), role("a", 1), role("b", 2))
    assert (1, -1) == (first(ssn, "a-0", "b-0"), first(ssn, "b-1", "a-0"))
    bind(ssn, "b-0", "n1")
    assert 1 == first(ssn, "b-1", "a-0")
    bind(ssn, "b-1", "n1")
    assert -1 == first(ssn, "a-0", "b-1")


def test_inside_a_bucket_the_stated_order_decides_then_the_priority() -> None:
    ssn = opened(node("n1"), group(affinity="a,b,c", order="b,a"), role("a", 1), role("b", 1), role("c", 1))
    assert (-1, -1) == (first(ssn, "b-0", "a-0"), first(ssn, "a-0", "c-0"))
    ssn = opened(node("n1"), group(affinity="a,b", anti_affinity="b"), role("a", 1), role("b", 1))
    assert -1 == first(ssn, "b-0", "a-0")
    ssn = opened(node("n1"), group(affinity="a,b"), role("a", 2), role("b", 1))
    assert (0, 0) == (first(ssn, "a-0", "a-1"), first(ssn, "a-0", "b-0"))


# Annotations


@pytest.mark.parametrize(
    "annotations",
    [
        {},
        {"affinity": "w,nobody"},
        {"affinity": "w, x"},
        {"affinity": "w,w"},
        {"anti_affinity": "nobody"},
        {"affinity": "w", "order": "w,w"},
        {"affinity": "w", "order": "nobody"},
    ],
)
def test_annotations_that_name_no_role_or_one_twice_switch_the_plugin_off(annotations: dict[str, str]) -> None:
    ssn = opened(node("n1"), group(**annotations), role("w", 1), role("x", 1))
    assert ([0.0], 0) == (scores(ssn, "w-0"), first(ssn, "w-0", "x-0"))


def test_empty_role_names_are_passed_over() -> None:
    ssn = opened(node("n1"), group(affinity="w,,x;"), role("w", 1), role("x", 1))
    assert [100.0] == scores(ssn, "w-0")


def test_an_order_alone_makes_no_buckets() -> None:
    ssn = opened(node("n1"), group(order="w,x"), role("w", 1), role("x", 1))
    assert ([0.0], 0) == (scores(ssn, "w-0"), first(ssn, "w-0", "x-0"))


def test_a_role_stated_by_label_exists_but_joins_no_bucket() -> None:
    labelled = pods("j", 1, prefix="w")
    labelled[0]["metadata"]["labels"] = {ROLE: "w"}
    ssn = opened(node("n1"), group(affinity="w,x"), labelled, role("x", 1))
    assert ([0.0], [100.0]) == (scores(ssn, "w-0"), scores(ssn, "x-0"))


def test_a_job_without_pending_tasks_has_no_buckets() -> None:
    ssn = opened(node("n1"), group(affinity="w"), role("w", 1, on="n1"))
    assert [0.0] == scores(ssn, "w-0")


def test_a_milli_core_and_a_mebibyte_weigh_the_same() -> None:
    assert 1000.0 + 2048.0 + 3.0 == request_score(Resource.from_list({"cpu": "1", "memory": "2Gi", "x.io/y": "3m"}))


def test_a_role_that_avoids_another_ranks_below_one_with_an_affinity_of_its_own() -> None:
    ranks = RoleTopology([["near"]], [["left", "right"]], []).priority
    assert ranks["left"] == ranks["right"] < ranks["near"]
