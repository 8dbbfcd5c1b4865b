"""A node's amounts: the effect of each task status on idle, used, releasing and pipelined."""

import pytest

from tests.builders import node, pod, task_of_pod
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeTable
from vcdebug.model.task import TaskInfo, TaskStatus


def task_of(name: str, cpu: str, status: TaskStatus) -> TaskInfo:
    task = task_of_pod(pod(name, "g", requests={"cpu": cpu}))
    task.status = status
    return task


def test_a_capacity_may_name_what_the_allocatable_amounts_do_not() -> None:
    manifest = {
        "metadata": {"name": "n1"},
        "status": {"capacity": {"cpu": "4", "pods": "110", "example.com/fpga": "2"}},
    }
    table = NodeTable([NodeInfo(manifest)])
    assert ([2000.0], [0.0]) == (
        table.dimension_column("capability", "example.com/fpga").tolist(),
        table.dimension_column("allocatable", "example.com/fpga").tolist(),
    )


def cpus(info: NodeInfo) -> tuple[float, float, float, float]:
    return info.idle.milli_cpu, info.used.milli_cpu, info.releasing.milli_cpu, info.pipelined.milli_cpu


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (TaskStatus.RUNNING, (7000.0, 3000.0, 0.0, 0.0)),
        (TaskStatus.ALLOCATED, (7000.0, 3000.0, 0.0, 0.0)),
        (TaskStatus.RELEASING, (7000.0, 3000.0, 3000.0, 0.0)),
        (TaskStatus.PIPELINED, (10000.0, 0.0, 0.0, 3000.0)),
    ],
)
def test_a_task_is_charged_by_its_status_and_given_back_whole(
    status: TaskStatus, expected: tuple[float, float, float, float]
) -> None:
    info = NodeInfo(node("n1"))
    task = task_of("p", "3", status)
    assert info.add_task(task) is None
    assert expected == cpus(info)
    info.remove_task(task)
    assert (10000.0, 0.0, 0.0, 0.0) == cpus(info)


def test_evicting_a_running_task_leaves_idle_and_used_alone() -> None:
    info = NodeInfo(node("n1"))
    task = task_of("p", "3", TaskStatus.RUNNING)
    info.add_task(task)
    task.status = TaskStatus.RELEASING
    info.update_task(task)
    assert (7000.0, 3000.0, 3000.0, 0.0) == cpus(info)
    assert 10000.0 == info.future_idle().milli_cpu


def test_a_task_is_refused_twice_and_on_another_node() -> None:
    info, other = NodeInfo(node("n1")), NodeInfo(node("n2"))
    task = task_of("p", "3", TaskStatus.RUNNING)
    info.add_task(task)
    assert "task <default/p> already on node <n1>" == info.add_task(task)
    assert "task <default/p> already on different node <n1>" == other.add_task(task)
    assert 10000.0 == other.idle.milli_cpu


def test_only_a_binding_task_is_checked_against_idle() -> None:
    info = NodeInfo(node("n1", cpu="2", memory="1Gi"))
    assert info.add_task(task_of("big", "5", TaskStatus.RUNNING)) is None
    assert -3000.0 == info.idle.milli_cpu
    refused = info.add_task(task_of("p", "1", TaskStatus.BINDING))
    assert refused is not None
    assert refused.startswith("node n1 resources [cpu] are not enough to put task <default/p>, idle: cpu -3000.00,")


def test_oversubscription_counts_without_its_label() -> None:
    manifest = node("n1", cpu="2")
    manifest["metadata"]["annotations"] = {"volcano.sh/oversubscription-cpu": "500"}
    assert 2500.0 == NodeInfo(manifest).allocatable.milli_cpu


def test_columns_follow_a_changed_node_and_gain_dimensions_that_appear_later() -> None:
    nodes = [NodeInfo(node("n1")), NodeInfo(node("n2"))]
    table = NodeTable(nodes)
    assert [10000.0, 10000.0] == table.dimension_column("idle", "cpu").tolist()
    task = task_of_pod(pod("p", "g", requests={"cpu": "1", "example.com/fpga": "1"}))
    task.status = TaskStatus.PIPELINED
    nodes[1].add_task(task)
    assert [10000.0, 9000.0] == table.dimension_column("future", "cpu").tolist()
    assert [0.0, 1000.0] == table.dimension_column("pipelined", "example.com/fpga").tolist()


def test_a_copy_is_independent() -> None:
    info = NodeInfo(node("n1"))
    info.add_task(task_of("p", "3", TaskStatus.RUNNING))
    copy = info.clone()
    copy.remove_task(copy.tasks["default/p"])
    assert (7000.0, 10000.0) == (info.idle.milli_cpu, copy.idle.milli_cpu)


@pytest.mark.parametrize("status", [TaskStatus.RUNNING, TaskStatus.RELEASING, TaskStatus.PIPELINED])
@pytest.mark.parametrize("later", [TaskStatus.RUNNING, TaskStatus.RELEASING, TaskStatus.PIPELINED])
def test_an_update_leaves_the_amounts_that_removing_and_adding_leave(status: TaskStatus, later: TaskStatus) -> None:
    task, other = task_of("t", "1300m", status), task_of("u", "1", TaskStatus.RUNNING)
    infos = [NodeInfo(node("n1", cpu="10")) for _ in range(2)]
    for info in infos:
        info.idle.milli_cpu += 0.1
        info.used.milli_cpu += 0.1
        task.node_name = other.node_name = ""
        task.status = status
        assert (info.add_task(task), info.add_task(other)) == (None, None)
    task.status = later
    infos[0].update_task(task)
    infos[1].remove_task(task)
    infos[1].add_task(task)
    assert [*map(str, (cpus(infos[0]), infos[0].idle, infos[0].used))] == [
        *map(str, (cpus(infos[1]), infos[1].idle, infos[1].used))
    ]
    assert [[*info.tasks] for info in infos] == [["default/u", "default/t"]] * 2
    assert later is infos[0].tasks["default/t"].status is infos[1].tasks["default/t"].status
