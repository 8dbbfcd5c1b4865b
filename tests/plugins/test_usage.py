"""usage avoids nodes that are busy by measurement, or by estimates since the measurement."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.builders import CREATED, amounts, cluster, conf_of, node, open_session, pod, pod_group, pods, task
from vcdebug.framework.hooks import NODE_ORDER, PREDICATE
from vcdebug.framework.session import Session
from vcdebug.model.fit_errors import UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus
from vcdebug.plugins.usage import MeasuredUsage, Usage
from vcdebug.snapshot.edited_snapshot import snapshot_at_release
from vcdebug.snapshot.problems import ProblemReport
from vcdebug.snapshot.settings import read_usage
from vcdebug.snapshot.snapshot import Manifest

NAME = "usage"
NOW = "2026-11-01T00:00:00Z"
CPU_TOO_HIGH = "the CPU load of the node exceeds the upper limit."
MEMORY_TOO_HIGH = "the memory load of the node exceeds the upper limit."
MEBI = 1024 * 1024


def measured(cpu: float = 0, mem: float = 0, time: str = NOW) -> dict[str, Any]:
    return {"time": time, "cpu": {"10m": cpu, "5m": 99.0}, "mem": {"10m": mem}}


def host(name: str = "n1") -> Manifest:
    return node(name, cpu="10", memory="10G")


def opened(*objects: Manifest | list[Manifest], interval: str = "", loads: Any = None, **arguments: Any) -> Session:
    """A session over node n1 (unmeasured but for `loads`) and a job j with two pods of 1 core and 1 GB."""
    lines = "".join(f"      {key}: {json.dumps(value)}\n" for key, value in arguments.items())
    text = conf_of(NAME) + ("    arguments:\n" + lines if lines else "")
    text += f"metrics:\n  interval: {interval}\n" if interval else ""
    snapshot = cluster(host(), pod_group("j"), pods("j", 2), *objects, conf=text)
    snapshot.now = datetime(2026, 11, 1, tzinfo=UTC)
    snapshot.usage = loads if loads is not None else {"n1": measured()}
    return open_session(snapshot)


def score(ssn: Session) -> float:
    return float(ssn.ask_plugins(NODE_ORDER, task(ssn, "j-0"), ssn.all_rows())[NAME].total[0])


def verdict(ssn: Session) -> tuple[FitStatus, ...]:
    return ssn.reasons.statuses_of(int(ssn.ask_plugins(PREDICATE, task(ssn, "j-0"), ssn.all_rows())[NAME][0]))


def refused(reason: str) -> tuple[FitStatus, ...]:
    return (FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, reason, NAME),)


def estimate(ssn: Session) -> tuple[float, float]:
    """(milli-cores, bytes) of estimates on n1 beyond the measurement."""
    plugin = ssn.plugins[NAME]
    assert isinstance(plugin, Usage)
    return plugin.load.node_estimate(0)


def place(ssn: Session, name: str = "j-0") -> None:
    placed = task(ssn, name)
    placed.node_name = "n1"
    assert [] == ssn.notify_allocated(placed)


def running(started: str | None = None, **more: Any) -> list[Manifest]:
    """A pod of 1 core and 1 GB that runs on n1."""
    made = pods("r", 1, on="n1", **more)
    made[0]["status"] |= {"startTime": started} if started else {}
    return [pod_group("r"), *made]


# Verdicts


@pytest.mark.parametrize(
    ("cpu", "mem", "reason"),
    [(80, 80, ""), (80.1, 0, CPU_TOO_HIGH), (0, 80.1, MEMORY_TOO_HIGH), (81, 81, CPU_TOO_HIGH)],
)
def test_a_load_above_the_threshold_is_refused(cpu: float, mem: float, reason: str) -> None:
    assert (refused(reason) if reason else ()) == verdict(opened(loads={"n1": measured(cpu, mem)}))


def test_thresholds_are_whole_percentages() -> None:
    loads = {"n1": measured(60, 60)}
    assert refused(CPU_TOO_HIGH) == verdict(opened(loads=loads, thresholds={"cpu": 59}))
    assert refused(MEMORY_TOO_HIGH) == verdict(opened(loads=loads, thresholds={"mem": 0}))
    for ignored in ({"cpu": 59.5}, {"cpu": 101}, {"cpu": -1}, {"cpu": "5"}):
        assert () == verdict(opened(loads=loads, thresholds=ignored))
        assert refused(CPU_TOO_HIGH) == verdict(opened(loads={"n1": measured(81)}, thresholds=ignored))


def test_an_estimate_refuses_nothing() -> None:
    ssn = opened(loads={"n1": measured(80)})
    place(ssn)
    assert () == verdict(ssn)


@pytest.mark.parametrize(
    ("time", "fresh"),
    [("2026-10-31T23:55:00Z", True), ("2026-10-31T23:54:59Z", False), ("", False), ("soon", False)],
)
def test_a_measurement_is_fresh_for_five_minutes(time: str, fresh: bool) -> None:
    ssn = opened(loads={"n1": measured(90, time=time)})
    assert (refused(CPU_TOO_HIGH) if fresh else ()) == verdict(ssn)
    assert (score(ssn) > 0) == fresh


# Scores


def test_an_idle_node_scores_the_maximum() -> None:
    assert 500.0 == score(opened())
    weights: dict[str, Any] = {"usage.weight": 2, "cpu.weight": 3}
    assert ((1.0 - 0.5) * 3.0 + (1.0 - 0.25) * 1.0) / 4.0 * 100.0 * 2.0 == score(
        opened(loads={"n1": measured(50, 25)}, **weights)
    )


def test_a_measurement_without_the_period_counts_as_idle() -> None:
    assert 500.0 == score(opened(loads={"n1": {"time": NOW, "cpu": {"5m": 90.0}}}))


@pytest.mark.parametrize("weights", [{"cpu.weight": 0, "memory.weight": 0}, {"usage.weight": 0}])
def test_without_weights_the_score_is_zero(weights: dict[str, Any]) -> None:
    assert 0.0 == score(opened(**weights))


def test_a_negative_weight_falls_back_to_its_default() -> None:
    wrong: dict[str, Any] = {"usage.weight": -1, "cpu.weight": -1, "memory.weight": "2"}
    assert 500.0 == score(opened(**wrong))


def test_an_unmeasured_node_is_accepted_scores_nothing_and_is_named() -> None:
    ssn = opened(loads={})
    assert ((), 0.0) == (verdict(ssn), score(ssn))
    (problem,) = ssn.plugins[NAME].problems
    assert ("usage.json", "Node n1") == (problem.file, problem.object)
    assert () == opened().plugins[NAME].problems


# Estimates


def test_a_placed_task_lowers_the_score_until_it_is_taken_back() -> None:
    ssn = opened()
    place(ssn)
    assert (700.0, 0.7e9) == estimate(ssn)
    assert score(ssn) == pytest.approx(500.0 * 0.93)
    place(ssn, "j-1")
    assert (1400.0, 1.4e9) == estimate(ssn)
    ssn.notify_deallocated(task(ssn, "j-0"))
    ssn.notify_deallocated(task(ssn, "j-0"))
    assert (700.0, 0.7e9) == pytest.approx(estimate(ssn))


def test_a_task_placed_again_is_counted_once() -> None:
    ssn = opened()
    place(ssn)
    place(ssn)
    assert (700.0, 0.7e9) == estimate(ssn)


def test_an_evicted_task_that_is_taken_back_adds_an_estimate_that_was_never_there() -> None:
    ssn = opened(running(CREATED))
    assert (0.0, 0.0) == estimate(ssn)
    ssn.notify_deallocated(task(ssn, "r-0"))
    ssn.notify_allocated(task(ssn, "r-0"))
    assert (700.0, 0.7e9) == estimate(ssn)


def test_a_busy_node_makes_estimates_larger() -> None:
    for load, factor in ((59.9, 1.0), (60, 1.2)):
        ssn = opened(loads={"n1": measured(load, load)})
        place(ssn)
        assert 1000.0 * 0.7 * factor == estimate(ssn)[0]
    stale = opened(loads={"n1": measured(60, 60, time="")})
    place(stale)
    assert 1000.0 * 0.7 * 1.2 == estimate(stale)[0]


def test_without_weights_no_node_is_busy() -> None:
    unweighted: dict[str, Any] = {"cpu.weight": 0, "memory.weight": 0}
    ssn = opened(loads={"n1": measured(90, 90)}, **unweighted)
    place(ssn)
    assert (700.0, 0.7e9) == estimate(ssn)


@pytest.mark.parametrize(
    ("limit", "cpu"),
    [(None, 500.0), ("500m", 500.0), ("3", 1500.0), ("1100m", 550.0)],
)
def test_a_limit_beyond_the_request_counts_by_the_burst_ratio(limit: str | None, cpu: float) -> None:
    incoming = pods("k", 1)
    if limit:
        incoming[0]["spec"]["containers"][0]["resources"]["limits"] = {"cpu": limit}
    ssn = opened(pod_group("k"), incoming, estimator={"request_ratio": 0.5, "burst_ratio": 0.5})
    place(ssn, "k-0")
    assert cpu == estimate(ssn)[0]


def test_an_estimate_never_exceeds_the_limit() -> None:
    ssn = opened(loads={"n1": measured(70, 70)}, estimator={"request_ratio": 1, "risk_factor": 3})
    place(ssn)
    assert (1000.0, 1e9) == estimate(ssn)


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        ({}, (250.0, 200.0 * MEBI)),
        ({"be_cpu": 100, "be_mem": 1}, (100.0, 1.0 * MEBI)),
        ({"be_cpu": "1", "be_mem": "1Ki"}, (1000.0, 1024.0)),
        ({"be_cpu": -1, "be_mem": "-1"}, (250.0, 200.0 * MEBI)),
        ({"be_cpu": 1.5, "be_mem": "much"}, (250.0, 200.0 * MEBI)),
    ],
)
def test_a_pod_without_requests_is_estimated_by_fixed_amounts(
    stated: dict[str, Any], expected: tuple[float, float]
) -> None:
    ssn = opened(pod_group("k"), pod("k-0", "k"), estimator=stated)
    place(ssn, "k-0")
    assert expected == estimate(ssn)


@pytest.mark.parametrize(
    "estimator", [{"request_ratio": 1.1, "burst_ratio": -1, "risk_factor": 0.5}, {"request_ratio": "1"}, [], None]
)
def test_values_out_of_range_keep_their_defaults(estimator: Any) -> None:
    ssn = opened(estimator=estimator)
    place(ssn)
    assert (700.0, 0.7e9) == estimate(ssn)


def test_pods_that_measurements_cannot_have_seen_are_estimated_at_the_start() -> None:
    just_now, earlier = "2026-10-31T23:59:31Z", "2026-10-31T23:59:30Z"
    assert (700.0, 0.7e9) == estimate(opened(running(just_now)))
    assert (700.0, 0.7e9) == estimate(opened(running(None)))
    assert (0.0, 0.0) == estimate(opened(running(earlier)))
    assert (700.0, 0.7e9) == estimate(opened(running(earlier, phase="Pending")))
    assert (0.0, 0.0) == estimate(opened(running(just_now, deleting=True)))


def test_the_interval_of_the_metrics_says_how_long_a_pod_is_unseen() -> None:
    started = "2026-10-31T23:59:01Z"
    assert (700.0, 0.7e9) == estimate(opened(running(started), interval="1m"))
    for ignored in ("soon", "-1m", "0s"):
        assert (0.0, 0.0) == estimate(opened(running(started), interval=ignored))


def test_a_node_without_capacity_counts_as_idle() -> None:
    ssn = opened(node("n0", cpu="0", memory="0"), loads={"n0": measured(50, 50), "n1": measured()})
    assert 500.0 == score(ssn)
    other = task(ssn, "j-1")
    other.node_name = "n0"
    assert [] == ssn.notify_allocated(other)
    assert 500.0 == score(ssn)


def test_limits_of_init_containers_and_the_pod_count_as_requests_do() -> None:
    incoming = pod("k-0", "k", requests=amounts("1", "1G"), overhead={"cpu": "1"})
    incoming["spec"]["initContainers"] = [{"name": "i", "resources": {"limits": {"cpu": "5"}}}]
    ssn = opened(pod_group("k"), incoming, estimator={"request_ratio": 0, "burst_ratio": 1})
    place(ssn, "k-0")
    assert (6000.0 - 2000.0, 0.0) == estimate(ssn)


def test_a_threshold_of_100_percent_refuses_nothing_below_it() -> None:
    loads = {"n1": measured(90, 90)}
    assert () == verdict(opened(loads=loads, thresholds={"cpu": 100, "mem": 100}))
    assert refused(CPU_TOO_HIGH) == verdict(opened(loads=loads, thresholds={"cpu": 101}))


@pytest.mark.parametrize("loads", [{}, {"n1": measured(10, 10, time="2026-10-31T23:54:59Z")}], ids=["none", "old"])
def test_before_estimates_a_node_without_a_recent_measurement_scores_nothing(loads: Any) -> None:
    snapshot = cluster(host(), pod_group("j"), pods("j", 1), conf=conf_of(NAME))
    snapshot.now, snapshot.usage = datetime(2026, 11, 1, tzinfo=UTC), loads
    assert 0.0 == score(open_session(snapshot_at_release(snapshot, "master,+usage-shadow-load")))


@pytest.mark.parametrize("release", ["master", "master,+usage-shadow-load"])
def test_the_figures_behind_a_node_are_parts_of_what_was_measured(release: str) -> None:
    snapshot = cluster(host(), pod_group("j"), pods("j", 1), conf=conf_of(NAME))
    snapshot.now, snapshot.usage = datetime(2026, 11, 1, tzinfo=UTC), {"n1": measured(40, 60)}
    ssn = open_session(snapshot_at_release(snapshot, release))
    plugin = ssn.plugins[NAME]
    assert isinstance(plugin, MeasuredUsage | Usage)
    load = plugin.node_load(task(ssn, "j-0"), ssn.all_rows())
    assert [("cpu", 40.0, 0.4), ("memory", 60.0, 0.6)] == [(one.name, one.percent, one.load) for one in load.loads]
    assert (score(ssn), True) == (load.score, load.is_recent)


@pytest.mark.parametrize(
    ("load", "fault"), [(-5035.9, "is negative (-5035.9 %): check the query of the metrics"), (0, "")]
)
def test_a_negative_load_is_an_input_problem_and_is_replayed_as_it_is(load: float, fault: str) -> None:
    report = ProblemReport()
    assert load == read_usage("usage.json", {"n1": measured(load)}, report)["n1"]["cpu"]["10m"]
    assert [fault] * bool(fault) == [problem.what for problem in report.all_problems()]
