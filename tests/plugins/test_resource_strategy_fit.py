"""Scores per resource for full or empty nodes; reserves scarce resources and the resources beside them."""

import json
from typing import Any

import pytest

from tests.builders import amounts, cluster, conf_of, node, open_session, pod, pod_group, pods, task
from vcdebug.errors import SchedulerPanic
from vcdebug.framework.hooks import NODE_ORDER, PREDICATE
from vcdebug.framework.session import Session
from vcdebug.model.fit_errors import UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus
from vcdebug.plugins.predicates.proportional import KeptIdle
from vcdebug.plugins.resource_strategy_fit import ResourceStrategyFit
from vcdebug.snapshot.snapshot import Manifest

NAME = "resource-strategy-fit"
TYPE = "volcano.sh/resource-strategy-scoring-type"
WEIGHT = "volcano.sh/resource-strategy-weight"
GPU = "nvidia.com/gpu"
MOST, LEAST = "MostAllocated", "LeastAllocated"
HALF = amounts("2", "4G")


def opened(*objects: Manifest | list[Manifest], **arguments: Any) -> Session:
    lines = "".join(f"      {key}: {json.dumps(value)}\n" for key, value in arguments.items())
    return open_session(
        cluster(pod_group("j"), *objects, conf=conf_of(NAME) + ("    arguments:\n" + lines if lines else ""))
    )


def scores(ssn: Session) -> list[float]:
    answer = ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())[NAME]
    return [float(score) for score in answer.total]


def fit(request: dict[str, str], annotations: dict[str, str] | None = None, **arguments: Any) -> float:
    """The score of an otherwise empty node of 4 cores, 8 GB and 4 GPUs."""
    host = node("n1", cpu="4", memory="8G", gpu="4")
    return scores(opened(host, pod("j-0", "j", requests=request, annotations=annotations), **arguments))[0]


def refusals(ssn: Session) -> list[tuple[FitStatus, ...]]:
    codes = ssn.ask_plugins(PREDICATE, task(ssn, "j-0"), ssn.all_rows())[NAME]
    return [ssn.reasons.statuses_of(code) for code in codes.tolist()]


# By strategy


def test_by_default_the_emptiest_node_is_best() -> None:
    assert 500.0 == fit(HALF)
    ssn = opened(node("n1", cpu="4", memory="8G"), pods("r", 1, "1", "2G", on="n1"), pods("j", 1, "2", "4G"))
    assert [250.0] == scores(ssn)


def test_a_full_node_is_best_by_most_allocated() -> None:
    assert 1000.0 == fit(amounts("4", "1G"), resources={"cpu": {"type": MOST, "weight": 3}})
    strategies = {GPU: {"type": MOST, "weight": 2}, "cpu": {"type": LEAST, "weight": 1}}
    expected = (3000 * 1.0 / 4000 + 1000 * 2.0 / 4000) / 3.0 * 1000.0
    assert expected == fit(amounts("1", gpu="1"), resources=strategies)


def test_one_resource_that_does_not_fit_makes_the_score_zero() -> None:
    assert 0.0 == fit(amounts("5", "1G"))
    assert 1000.0 * (6.0 / 8.0) == fit(amounts("5", "2G"), resources={"memory": {"type": LEAST, "weight": 1}})


def test_a_resource_that_the_node_lacks_only_dilutes() -> None:
    strategies = {"cpu": {"type": MOST, "weight": 1}, "a.io/b": {"type": MOST, "weight": 1}}
    assert 250.0 == fit({"cpu": "2", "a.io/b": "1"}, resources=strategies)


@pytest.mark.parametrize(("stated", "expected"), [(0, None), (-3, 500.0), (2.9, 100.0), (1, 50.0)])
def test_the_weight_is_cut_and_not_negative(stated: float, expected: float | None) -> None:
    ssn = opened(node("n1", cpu="4", memory="8G"), pod("j-0", "j", requests=HALF), resourceStrategyFitWeight=stated)
    assert expected == (
        scores(ssn)[0]
        if expected is not None
        else ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows()).get(NAME)
    )


def test_a_pattern_counts_where_no_exact_name_does() -> None:
    exact = {GPU: {"type": MOST, "weight": 1}, "nvidia.com/*": {"type": LEAST, "weight": 1}}
    assert 250.0 == fit(amounts(gpu="1"), resources=exact)
    longest = {"nvidia*": {"type": LEAST, "weight": 1}, "nvidia.com/*": {"type": MOST, "weight": 1}}
    assert 250.0 == fit(amounts(gpu="1"), resources=longest)
    assert 1000.0 * (109 / 110) == fit(amounts("1"), resources={"p*": {"type": LEAST, "weight": 1}})


@pytest.mark.parametrize("name", ["*", "a*b", "*cpu", "c*u*"])
def test_any_other_pattern_is_dropped(name: str) -> None:
    assert 0.0 == fit(amounts("1"), resources={name: {"type": MOST, "weight": 1}})


def test_an_unknown_type_and_a_missing_weight_take_their_defaults() -> None:
    assert 750.0 == fit(amounts("1"), resources={"cpu": {"type": "Best", "weight": 0}})
    both = {"cpu": {"type": MOST, "weight": 0}, "memory": {"type": MOST, "weight": 1}}
    assert 625.0 == fit(amounts("1", "8G"), resources=both)
    assert 750.0 == fit(amounts("1"), resources={"cpu": None})
    assert 250.0 == fit(amounts("1"), resources={"cpu": {"TYPE": MOST, "Weight": 2}})


def test_a_pod_may_state_its_own_strategy() -> None:
    own = {TYPE: MOST, WEIGHT: '{"cpu": 1}'}
    assert 250.0 == fit(amounts("1", "8G"), own, resources={"memory": {"type": LEAST, "weight": 1}})
    assert 0.0 == fit(amounts("1"), {TYPE: "Best", WEIGHT: '{"cpu": 1}'})
    assert 500.0 == fit(HALF, {WEIGHT: '{"cpu": 9}'})
    assert (1000 * -1.0 / 4000) * 1000.0 == fit(amounts("1"), {TYPE: MOST, WEIGHT: '{"cpu": -1}'})


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", '{"cpu": "1"}', '{"cpu": 1.5}', '{"cpu": true}', '{"cpu": 99999999999999999999}', "[" * 100_000],
)
def test_a_pod_strategy_without_readable_weights_scores_nothing(text: str) -> None:
    assert 0.0 == fit(HALF, {TYPE: MOST, WEIGHT: text})


def test_a_pod_strategy_of_nothing_scores_nothing() -> None:
    assert 0.0 == fit(HALF, {TYPE: MOST, WEIGHT: "null"})
    assert 0.0 == fit(HALF, {TYPE: MOST, WEIGHT: '{"cpu": null}'})


# Sparing


def sparing(**more: Any) -> dict[str, Any]:
    return {"resourceStrategyFitWeight": 0, "sra": {"enable": True, "resources": GPU, "weight": 10, **more}}


def test_a_task_without_gpu_is_kept_off_gpu_nodes() -> None:
    hosts = [node("n1"), node("n2", gpu="4")]
    assert [1000.0, 0.0] == scores(opened(hosts, pods("j", 1), **sparing()))
    request = amounts("1", gpu="1")
    assert [0.0, 0.0] == scores(opened(hosts, pod("j-0", "j", requests=request), **sparing()))


def test_scarce_resources_count_by_their_weights() -> None:
    weights = {"resources": f"{GPU}, a.io/b,,", "resourceWeight": {GPU: 3, "a.io/b": -1}}
    hosts = [node("n1"), node("n2", gpu="4")]
    assert [1000.0, 250.0] == scores(opened(hosts, pods("j", 1), **sparing(**weights)))


def test_both_scores_are_added() -> None:
    both = {"sra": {"enable": True, "resources": GPU, "weight": 1}}
    assert [600.0] == scores(opened(node("n1", cpu="4", memory="8G"), pods("j", 1, "2", "4G"), **both))


@pytest.mark.parametrize("stated", [{"enable": False, "weight": 5}, {"enable": True}, {"enable": True, "weight": -1}])
def test_sparing_without_weight_is_off(stated: dict[str, Any]) -> None:
    ssn = opened(node("n1"), pods("j", 1), resourceStrategyFitWeight=0, sra=stated)
    assert {} == ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())


# Proportional


def proportional(**rates: float) -> dict[str, Any]:
    stated = {f"{GPU}.{key}": rate for key, rate in rates.items()}
    return {"proportional": {"enable": True, "resources": GPU, "resourceProportion": stated}}


def test_idle_gpus_keep_cores_beside_them() -> None:
    refused = (FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, f"proportional of resource {GPU} check failed", NAME),)
    hosts = [node("n1", cpu="9", gpu="2"), node("n2", cpu="10", gpu="2"), node("n3", cpu="1")]
    ssn = opened(hosts, pods("j", 1, cpu="2"), **proportional(cpu=4, memory=0))
    assert [refused, (), ()] == refusals(ssn)


def test_memory_beside_gpus_counts_in_decimal_gigabytes() -> None:
    hosts = [node("n1", memory="9G", gpu="1"), node("n2", memory="8999999999", gpu="1")]
    ssn = opened(hosts, pods("j", 1, memory="1G"), **proportional(cpu=0, memory=8))
    assert [True, False] == [not refusal for refusal in refusals(ssn)]


def test_a_task_that_asks_for_gpus_passes() -> None:
    request = amounts("9", gpu="1")
    ssn = opened(node("n1", cpu="9", gpu="2"), pod("j-0", "j", requests=request), **proportional(cpu=4))
    assert [()] == refusals(ssn)


@pytest.mark.parametrize(("gpus", "figures"), [("0", [(GPU, 2000.0, True)]), ("1", [])])
def test_the_figures_of_the_check_are_those_that_it_compared(gpus: str, figures: list[Any]) -> None:
    """A pod that asks for GPUs is not checked, so it has none."""
    ssn = opened(node("n1", cpu="9", gpu="2"), pod("j-0", "j", requests=amounts("2", gpu=gpus)), **proportional(cpu=4))
    plugin = ssn.plugins[NAME]
    assert isinstance(plugin, ResourceStrategyFit)
    found = list(plugin.kept_free(task(ssn, "j-0"), ssn.all_rows()))
    assert figures == [(one.name, one.idle, one.crowded) for one in found]


def test_a_node_whose_gpus_are_all_taken_must_still_hold_the_task() -> None:
    hosts = [node("n1", cpu="1", gpu="0"), node("n2", cpu="1")]
    ssn = opened(hosts, pods("j", 1, cpu="2"), **proportional())
    assert [False, True] == [not refusal for refusal in refusals(ssn)]


def test_negative_and_missing_rates_are_one() -> None:
    ssn = opened([node("n1", cpu="3", gpu="2"), node("n2", cpu="2900m", gpu="2")], pods("j", 1), **proportional(cpu=-1))
    assert [True, False] == [not refusal for refusal in refusals(ssn)]


def test_the_check_is_asked_only_where_it_is_enabled() -> None:
    ssn = opened(node("n1"), pods("j", 1))
    assert {} == ssn.ask_plugins(PREDICATE, task(ssn, "j-0"), ssn.all_rows())
    empty = opened(node("n1"), pods("j", 1), proportional={"enable": True})
    assert [()] == refusals(empty)


@pytest.mark.parametrize(
    "arguments",
    [
        {"resourceStrategyFitWeight": "10"},
        {"resourceStrategyFitWeight": True},
        {"resources": ["cpu"]},
        {"resources": {"cpu": {"weight": "2"}}},
        {"resources": {"cpu": {"type": 1}}},
        {"sra": {"enable": "true"}},
        {"sra": []},
        {"proportional": {"resourceProportion": {"a.cpu": "4"}}},
    ],
)
def test_an_argument_of_the_wrong_kind_ends_the_process(arguments: dict[str, Any]) -> None:
    with pytest.raises(SchedulerPanic, match="Could not parse argument for key"):
        opened(node("n1"), **arguments)


def test_idle_amount_may_equal_the_amount_to_keep() -> None:
    assert KeptIdle("gpu", 1.0, (2.0, 2.0), (3.0, 3.0)).is_enough
    assert not KeptIdle("gpu", 1.0, (1.0, 2.0), (3.0, 3.0)).is_enough
    assert not KeptIdle("gpu", 1.0, (2.0, 2.0), (2.0, 3.0)).is_enough
