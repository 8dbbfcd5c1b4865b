"""A task's status, priority, preemptability and request, read from a pod's manifest."""

from typing import Any

import pytest

from tests.builders import pod, task_of_pod
from vcdebug.model.pod import Pod
from vcdebug.model.pod_resources import get_pod_resource_request
from vcdebug.model.task import TaskInfo, TaskStatus, get_task_status
from vcdebug.snapshot.snapshot import SchedulerFlags


def task_of(**more: Any) -> TaskInfo:
    return task_of_pod(pod("p", "g", **more))


def requests_of(**spec: Any) -> tuple[float, float]:
    manifest = pod("p", "g")
    manifest["spec"].update(spec)
    request = get_pod_resource_request(Pod(manifest), SchedulerFlags())
    return request.milli_cpu, request.memory


def container(cpu: str, **more: Any) -> dict[str, Any]:
    return {"name": f"c{cpu}", "resources": {"requests": {"cpu": cpu}}, **more}


@pytest.mark.parametrize(
    ("phase", "deleting", "node", "expected"),
    [
        ("Pending", False, "", TaskStatus.PENDING),
        ("Pending", False, "n1", TaskStatus.BOUND),
        ("Pending", True, "", TaskStatus.RELEASING),
        ("Running", True, "n1", TaskStatus.RELEASING),
        ("Running", False, "n1", TaskStatus.RUNNING),
        ("Succeeded", False, "n1", TaskStatus.SUCCEEDED),
        ("Failed", False, "n1", TaskStatus.FAILED),
        ("Unknown", False, "n1", TaskStatus.UNKNOWN),
    ],
)
def test_status_follows_phase_deletion_and_node(phase: str, deleting: bool, node: str, expected: TaskStatus) -> None:
    assert expected is get_task_status(Pod(pod("p", "g", phase=phase, deleting=deleting, on=node)))


def test_a_missing_phase_is_unknown() -> None:
    manifest = pod("p", "g")
    manifest["status"] = {}
    assert TaskStatus.UNKNOWN is get_task_status(Pod(manifest))


@pytest.mark.parametrize(
    ("annotation", "expected"), [(None, True), ("true", True), ("false", False), ("yes", False), ("T", True)]
)
def test_preemptable_is_true_unless_said_otherwise_in_words_go_understands(
    annotation: str | None, expected: bool
) -> None:
    annotations = {} if annotation is None else {"volcano.sh/preemptable": annotation}
    assert expected is task_of(annotations=annotations).preemptable


@pytest.mark.parametrize(
    ("priority", "annotation", "expected"),
    [(None, None, 1), (7, None, 7), (7, "9", 9), (7, "9.5", 7), (7, "3000000000", 7), (None, "-2", -2)],
)
def test_priority_is_one_without_any_and_the_annotation_wins(
    priority: int | None, annotation: str | None, expected: int
) -> None:
    annotations = {} if annotation is None else {"volcano.sh/task-priority": annotation}
    spec = {} if priority is None else {"priority": priority}
    assert expected == task_of(annotations=annotations, **spec).priority


def test_a_pod_without_requests_is_best_effort_though_it_takes_one_pod() -> None:
    task = task_of()
    assert task.best_effort
    assert {"pods": 1.0} == task.resreq.scalars


def test_an_init_container_larger_than_all_containers_decides() -> None:
    assert 3000.0 == requests_of(containers=[container("1"), container("1")], initContainers=[container("3")])[0]
    assert 4000.0 == requests_of(containers=[container("2"), container("2")], initContainers=[container("3")])[0]


def test_sidecars_count_from_where_they_stand() -> None:
    sidecar = container("1", restartPolicy="Always")
    assert 3000.0 == requests_of(containers=[container("1")], initContainers=[sidecar, container("2")])[0]
    assert 2000.0 == requests_of(containers=[container("1")], initContainers=[container("2"), sidecar])[0]


def test_pod_level_requests_replace_and_overhead_comes_on_top() -> None:
    request = requests_of(
        containers=[container("1")], resources={"requests": {"cpu": "5"}}, overhead={"cpu": "250m", "memory": "1Ki"}
    )
    assert (5250.0, 1024.0) == request


def test_a_copy_forgets_the_transactions_flags_and_shares_the_pod() -> None:
    task = task_of()
    task.eviction_occurred, task.job_allocated_hyper_node = True, "s0"
    copy = task.clone()
    assert (False, "") == (copy.eviction_occurred, copy.job_allocated_hyper_node)
    assert task.pod is copy.pod
