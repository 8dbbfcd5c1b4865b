from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from vcdebug.snapshot.problems import ProblemReport
from vcdebug.snapshot.settings import conf_path, flag_values, scheduler_container, with_flags
from vcdebug.snapshot.snapshot import SchedulerFlags


def flags(*args: str, **container: Any) -> SchedulerFlags:
    return with_flags(SchedulerFlags(), flag_values({"args": [*args], **container}), "", ProblemReport())


@pytest.mark.parametrize(
    ("args", "field", "expected"),
    [
        (["--default-queue=research"], "default_queue", "research"),
        (["--default-queue", "research"], "default_queue", "research"),
        (["--default-queue=a", "--default-queue=b"], "default_queue", "b"),
        (["--scheduler-name=volcano", "--scheduler-name=batch"], "scheduler_names", ("volcano", "batch")),
        (["--priority-class=false"], "priority_class", False),
        (["--priority-class", "false"], "priority_class", True),
        (["--minimum-feasible-nodes=7"], "minimum_feasible_nodes", 7),
        (["--minimum-percentage-nodes-to-find", "9"], "minimum_percentage_nodes_to_find", 9),
        (["--percentage-nodes-to-find=100"], "percentage_nodes_to_find", 100),
        (["--node-selector=a:b,c:d", "--node-selector=e:f"], "node_selector", ("a:b", "c:d", "e:f")),
        (["--ignored-provisioners=x.io/y"], "ignored_provisioners", ("x.io/y",)),
        (["--csi-storage=F"], "csi_storage", False),
        (["--scheduler-sharding-mode=hard"], "sharding_mode", "hard"),
        (["--scheduler-sharding-name=blue"], "sharding_name", "blue"),
        (["--feature-gates=A=true,B=false"], "feature_gates", {"A": True, "B": False}),
        (["--leader-elect", "--default-queue=q", "-v=3", "2>&1"], "default_queue", "q"),
    ],
)
def test_a_flag_is_read_as_the_scheduler_reads_it(args: list[str], field: str, expected: Any) -> None:
    assert replace(SchedulerFlags(), **{field: expected}) == flags(*args)


def test_flags_may_stand_in_a_shell_line() -> None:
    line = "/vc-scheduler --logtostderr --default-queue='team a' -v=3 2>&1"
    assert "team a" == flags(command=["/bin/sh", "-c", line]).default_queue


def test_flags_may_name_variables() -> None:
    env = [{"name": "QUEUE", "value": "night"}, {"name": "POD", "valueFrom": {}}]
    assert "night" == flags("--default-queue=$(QUEUE)", env=env).default_queue


def test_the_environment_can_turn_panics_off() -> None:
    assert not flags(env=[{"name": "PANIC_ON_ERROR", "value": "false"}]).panic_on_error


@pytest.mark.parametrize(
    ("args", "path"),
    [
        (["--scheduler-conf=/conf/a.conf"], "/conf/a.conf"),
        (["--scheduler-conf", "/conf/a.conf"], "/conf/a.conf"),
        (["--scheduler-conf"], ""),
        (["-v=3"], ""),
    ],
)
def test_the_path_of_the_configuration_is_found(args: list[str], path: str) -> None:
    assert path == conf_path({"args": args})


@pytest.mark.parametrize(
    ("containers", "name"),
    [
        ([{"name": "proxy"}, {"name": "a", "args": ["--scheduler-conf=x"]}], "a"),
        ([{"name": "proxy"}, {"name": "b", "image": "volcanosh/vc-scheduler:v1.12.1"}], "b"),
        ([{"name": "web", "image": "nginx"}], None),
        ("no list", None),
        ([3], None),
    ],
)
def test_the_schedulers_container_is_told_from_others(containers: Any, name: str | None) -> None:
    deployment = {"spec": {"template": {"spec": {"containers": containers}}}}
    assert name == scheduler_container(deployment).get("name")
