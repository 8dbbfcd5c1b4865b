"""binpack prefers the node that a task fills most."""

from typing import Any

import pytest

from tests.builders import amounts, cluster, conf_of, node, open_session, pod, pod_group, pods, task
from vcdebug.framework.hooks import NODE_ORDER
from vcdebug.framework.session import Session
from vcdebug.model.task import TaskStatus
from vcdebug.snapshot.snapshot import Manifest


def opened(*objects: Manifest | list[Manifest], **arguments: Any) -> Session:
    lines = "".join(f"      {key}: {value}\n" for key, value in arguments.items())
    text = conf_of("binpack") + ("    arguments:\n" + lines if lines else "")
    return open_session(cluster(pod_group("j"), *objects, conf=text))


def scores(ssn: Session, name: str = "j-0") -> list[float]:
    answers = ssn.ask_plugins(NODE_ORDER, task(ssn, name), ssn.all_rows())
    return [float(score) for score in answers["binpack"].total]


def test_the_score_is_the_weighted_average_of_the_filled_shares() -> None:
    ssn = opened(node("n1", cpu="4", memory="8G"), pods("r", 1, cpu="1", memory="2G", on="n1"), pods("j", 1, "1", "4G"))
    assert [62.5] == scores(ssn)
    weighted = {"binpack.weight": 2, "binpack.cpu": 3}
    ssn = opened(node("n1", cpu="4", memory="8G"), pods("j", 1, "2", "2G"), **weighted)
    assert [((2000 * 3.0 / 4000) + (2e9 * 1.0 / 8e9)) / 4.0 * 200.0] == scores(ssn)


def test_a_request_that_exactly_fills_the_node_scores_the_maximum() -> None:
    ssn = opened(node("n1", cpu="1", memory="1G"), pods("j", 1), **{"binpack.weight": 3})
    assert [300.0] == scores(ssn)


def test_a_node_that_one_resource_does_not_fit_scores_zero() -> None:
    ssn = opened(node("n1", cpu="4", memory="1G"), pods("j", 1, cpu="1", memory="2G"))
    assert [0.0] == scores(ssn)


def test_weight_zero_registers_nothing() -> None:
    ssn = opened(node("n1"), pods("j", 1), **{"binpack.weight": 0})
    assert {} == ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())


def test_a_negative_weight_turns_the_score_round() -> None:
    ssn = opened(node("n1", cpu="2", memory="2G"), pods("j", 1), **{"binpack.weight": -1})
    assert [-50.0] == scores(ssn)


def test_without_any_counted_resource_the_score_is_zero() -> None:
    ssn = opened(node("n1"), pods("j", 1, memory=None), **{"binpack.cpu": 0})
    assert [0.0] == scores(ssn)
    assert [0.0] == scores(opened(node("n1"), pod("j-0", "j")))


def test_a_listed_resource_that_the_node_lacks_dilutes_the_average() -> None:
    listed = {"binpack.resources": '"nvidia.com/gpu, a,,"', "binpack.resources.nvidia.com/gpu": 2}
    request = amounts("1", "1G", gpu="1")
    ssn = opened(
        node("n1", cpu="2", memory="2G"),
        node("n2", cpu="2", memory="2G", gpu="2"),
        pod("j-0", "j", requests=request),
        **listed,
    )
    assert [25.0, 50.0] == scores(ssn)


def test_a_request_for_all_of_what_other_nodes_lack_fits() -> None:
    listed = {"binpack.resources": "nvidia.com/gpu", "binpack.resources.nvidia.com/gpu": 2}
    nodes = [node("n1", cpu="2", memory="2G"), node("n2", cpu="2", memory="2G", gpu="1")]
    ssn = opened(*nodes, pod("j-0", "j", requests=amounts("1", "1G", gpu="1")), **listed)
    assert [25.0, 75.0] == scores(ssn)


@pytest.mark.parametrize(
    "arguments", [{"binpack.cpu": -4}, {"binpack.cpu": '"4"'}, {"binpack.resources": "cpu", "binpack.resources.cpu": 9}]
)
def test_a_negative_quoted_or_listed_cpu_weight_counts_as_one(arguments: dict[str, Any]) -> None:
    ssn = opened(node("n1", cpu="4", memory="2G"), pods("j", 1), **arguments)
    assert [37.5] == scores(ssn)


def test_releasing_tasks_still_count_as_used() -> None:
    ssn = opened(node("n1", cpu="4", memory="4G"), pods("r", 1, on="n1"), pod_group("r"), pods("j", 1))
    before = scores(ssn)
    leaving = task(ssn, "r-0").clone()
    ssn.jobs["default/r"].update_task_status(leaving, TaskStatus.RELEASING)
    ssn.nodes["n1"].update_task(leaving)
    assert [50.0] == before == scores(ssn)
