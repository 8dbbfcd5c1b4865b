"""rescheduling names running tasks on busy nodes as victims."""

from datetime import timedelta
from typing import Any

import pytest

from tests.builders import cluster, node, open_session, pod, pod_group
from vcdebug.errors import SchedulerPanic
from vcdebug.framework.hooks import VICTIM_TASKS
from vcdebug.framework.session import Session
from vcdebug.gotime import MINUTE, SECOND
from vcdebug.model.task import TaskStatus
from vcdebug.plugins.rescheduling import ReschedulingSettings
from vcdebug.snapshot.cycle_inputs import SchedulerProcess
from vcdebug.snapshot.snapshot import Manifest

STRATEGY = """
      strategies:
      - name: lowNodeUtilization
        params:
          thresholds: {cpu: 30, memory: 30}
          targetThresholds: {cpu: 70, memory: 70}
"""
PERIOD = "      metricsPeriod: 10m\n"


def conf(arguments: str) -> str:
    head = 'actions: "shuffle"\ntiers:\n- plugins:\n  - name: rescheduling\n'
    return head + (f"    arguments:\n{arguments}" if arguments else "")


def running(name: str, on: str, cpu: str = "1", **spec: Any) -> Manifest:
    """A running Burstable pod."""
    return pod(name, "j", on=on, requests={"cpu": cpu, "memory": "1G"}, **spec)


def opened(*objects: Any, arguments: str = PERIOD + STRATEGY, minutes: float | None = 60, **usage: Any) -> Session:
    """A session with usage `node=(cpu, memory)` over ten minutes, `minutes` after the process started."""
    snapshot = cluster(pod_group("j"), *objects, conf=conf(arguments))
    snapshot.usage = {name: {"cpu": {"10m": cpu}, "mem": {"10m": memory}} for name, (cpu, memory) in usage.items()}
    if minutes is not None:
        snapshot.process = SchedulerProcess(started=snapshot.now - timedelta(minutes=minutes))
    return open_session(snapshot)


def victims(ssn: Session) -> list[str]:
    tasks = [task for job in ssn.jobs.values() for task in job.tasks_with_status(TaskStatus.RUNNING)]
    return [f"{task.namespace}/{task.name}" for task in ssn.ask_plugins(VICTIM_TASKS, tasks)]


NODES = [node("a"), node("b")]


def test_the_default_metrics_period_is_never_measured() -> None:
    ssn = opened(NODES, running("j-0", "b"), arguments=STRATEGY, a=(10, 10), b=(80, 20))
    assert [] == victims(ssn)
    assert ["holds no measurement over 5m"] == [problem.what for problem in ssn.plugins["rescheduling"].problems]


def test_default_thresholds_find_no_busy_node() -> None:
    assert [] == victims(opened(NODES, running("j-0", "b"), arguments=PERIOD, a=(10, 10), b=(99, 20)))


def test_lower_priorities_go_first_until_the_node_is_below_its_target() -> None:
    pods = [running("j-0", "b", priority=5), running("j-1", "b", priority=1), running("j-2", "b")]
    assert ["default/j-2", "default/j-1"] == victims(opened(NODES, pods, a=(10, 10), b=(85, 20)))


def test_a_weaker_class_goes_before_a_stronger_one_of_equal_priority() -> None:
    full = {"cpu": "1", "memory": "1G"}
    sure = running("j-0", "b", containers=[{"name": "c", "resources": {"requests": full, "limits": full}}])
    assert ["default/j-1"] == victims(opened(NODES, sure, running("j-1", "b"), a=(10, 10), b=(75, 20)))


def test_cordoned_nodes_are_never_idle() -> None:
    nodes = [node("a", unschedulable=True), node("b")]
    assert [] == victims(opened(nodes, running("j-0", "b"), a=(10, 10), b=(80, 20)))


@pytest.mark.parametrize("usage", [{"a": (10, 10), "b": (20, 20)}, {"a": (40, 10), "b": (80, 20)}])
def test_without_idle_and_busy_nodes_there_are_no_victims(usage: dict[str, Any]) -> None:
    assert [] == victims(opened(NODES, running("j-0", "b"), **usage))


def test_a_node_exactly_at_its_target_loses_another_pod() -> None:
    pods = [running(f"j-{i}", "b") for i in range(3)]
    assert 2 == len(victims(opened(NODES, pods, a=(10, 10), b=(80, 20))))


def test_a_resource_without_capacity_does_not_keep_a_node_busy() -> None:
    bare = node("b")
    bare["status"]["capacity"] = {"cpu": "10"}
    pods = [running(f"j-{i}", "b") for i in range(3)]
    assert 2 == len(victims(opened(node("a"), bare, pods, a=(10, 10), b=(80, 20))))


def test_an_exhausted_budget_ends_the_choice() -> None:
    nodes = [node("a", cpu="1"), node("b")]
    ssn = opened(nodes, [running(f"j-{i}", "b", cpu="600m") for i in range(3)], a=(10, 10), b=(99, 20))
    assert ["default/j-0"] == victims(ssn)


def test_of_equally_busy_nodes_the_first_loses_pods_first() -> None:
    nodes = [node("a", cpu="1"), node("b"), node("c")]
    pods = [running("j-0", "b", cpu="600m"), running("j-1", "c", cpu="600m")]
    assert ["default/j-0"] == victims(opened(nodes, pods, a=(10, 10), b=(99, 20), c=(99, 20)))


def test_a_pod_is_looked_up_by_its_name_alone() -> None:
    there = running("j-0", "a", namespace="alpha")
    there["metadata"]["uid"] = "another"
    objects = [pod_group("j", namespace="alpha"), there, running("j-0", "b")]
    assert ["alpha/j-0"] == victims(opened(NODES, objects, a=(10, 10), b=(75, 20)))


@pytest.mark.parametrize("minutes", [None, 0, 4, 5])
def test_within_the_interval_after_the_start_nothing_is_asked(minutes: float | None) -> None:
    ssn = opened(NODES, running("j-0", "b"), minutes=minutes, a=(10, 10), b=(80, 20))
    assert [] == victims(ssn)
    missing = [problem.field for problem in ssn.plugins["rescheduling"].problems]
    assert (["scheduler.started"] if minutes is None else []) == missing


def test_the_last_run_counts_rather_than_the_start() -> None:
    ssn = opened(NODES, running("j-0", "b"), a=(10, 10), b=(80, 20))
    ssn.snapshot.process = SchedulerProcess(ssn.snapshot.process.started, ssn.snapshot.now - timedelta(minutes=1))
    assert [] == victims(open_session(ssn.snapshot))


def test_a_run_without_victims_is_remembered() -> None:
    ssn = opened(NODES, running("j-0", "b"), a=(10, 10), b=(20, 20))
    assert ([], ssn.snapshot.now) == (victims(ssn), ssn.process.last_rescheduling)
    early = opened(NODES, running("j-0", "b"), minutes=4, a=(10, 10), b=(20, 20))
    assert early.process.last_rescheduling is None


@pytest.mark.parametrize(
    "arguments", ["      strategies:\n      - name: other\n", "      strategies: [5, {name: 7}]\n"]
)
def test_other_strategies_are_passed_over(arguments: str) -> None:
    assert [] == victims(opened(NODES, running("j-0", "b"), arguments=PERIOD + arguments, a=(10, 10), b=(80, 20)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("      interval: 5\n", "interface conversion: interface {} is int, not string"),
        ("      metricsPeriod: [10m]\n", "interface conversion: interface {} is []interface {}, not string"),
    ],
)
def test_a_text_of_another_type_panics_when_the_session_opens(arguments: str, message: str) -> None:
    with pytest.raises(SchedulerPanic) as panic:
        opened(NODES, arguments=arguments)
    assert message == panic.value.message


def test_a_threshold_that_is_no_whole_number_panics_when_asked() -> None:
    ssn = opened(NODES, arguments=PERIOD + STRATEGY.replace("cpu: 30", "cpu: 30.5"))
    with pytest.raises(SchedulerPanic) as panic:
        victims(ssn)
    assert "interface conversion: interface {} is float64, not int" == panic.value.message


@pytest.mark.parametrize(
    ("raw", "interval", "period"),
    [
        ({}, 5 * MINUTE, "5m"),
        ({"interval": "90s", "metricsPeriod": "10m"}, 90 * SECOND, "10m"),
        ({"interval": "0s", "metricsPeriod": ""}, 0, "5m"),
        ({"interval": "soon"}, 5 * MINUTE, "5m"),
    ],
)
def test_interval_and_period_default_to_five_minutes(raw: dict[object, object], interval: int, period: str) -> None:
    settings = ReschedulingSettings.read_arguments(raw)
    assert (interval, period) == (settings.interval, settings.period)
