"""Nodes and jobs get the same amounts from a batch of tasks as one by one; equal pods are read once."""

from copy import deepcopy

import pytest

from tests.builders import cluster, node, open_session, pod, pod_group, task_of_pod
from vcdebug.kube.pod_shape import PodShapes
from vcdebug.model.fit_errors import FitErrors, ReasonTable, wrap_insufficient_resource_reason
from vcdebug.model.job import JobInfo
from vcdebug.model.node import NodeInfo
from vcdebug.model.pod import Pod
from vcdebug.model.pod_group import PodGroup
from vcdebug.model.pod_resources import PodRequestCache, RequestSums, add_grouped, get_pod_resource_request
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags

STATUSES = (TaskStatus.RUNNING, TaskStatus.RELEASING, TaskStatus.PIPELINED, TaskStatus.BOUND, TaskStatus.PENDING)
NODE = {"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "10.1", "memory": "7", "pods": "3"}}}


def tasks_of(names: str) -> list[TaskInfo]:
    """One task per letter, with rotating statuses and amounts whose sum depends on the order."""
    made = []
    for number, name in enumerate(names):
        asked = {"cpu": f"{number * 333 + 1}m", "memory": f"{number}.3", "nvidia.com/gpu": "1"}
        task = task_of_pod(pod(name, "j", requests=asked, priority=number))
        task.status, task.node_name = STATUSES[number % len(STATUSES)], "n1"
        made.append(task)
    return made


def test_a_node_has_the_same_amounts_and_tasks() -> None:
    alone, together = NodeInfo(NODE), NodeInfo(NODE)
    for task in tasks_of("abcdefgc"):
        alone.add_task(task)
    together.add_initial_tasks(tasks_of("abcdefgc"))
    for name in ("idle", "used", "releasing", "pipelined"):
        assert str(getattr(alone, name)) == str(getattr(together, name))
        assert list(getattr(alone, name).items()) == list(getattr(together, name).items())
    assert {key: task.status for key, task in alone.tasks.items()} == {
        key: task.status for key, task in together.tasks.items()
    }


@pytest.mark.parametrize(("actions", "shared"), [("enqueue, allocate, preempt", True), ("allocate, shuffle", False)])
def test_nodes_hold_the_jobs_own_tasks_where_no_action_changes_these(actions: str, shared: bool) -> None:
    ssn = open_session(cluster(node("n1"), pod_group("j"), pod("r-0", "j", on="n1")), "gang", actions=actions)
    (own,) = ssn.jobs["default/j"].tasks.values()
    assert shared == (ssn.nodes["n1"].tasks[own.key] is own)


def test_a_job_has_the_same_sums_counts_and_sub_jobs() -> None:
    for names in ("a", "abcdefg", "aba"):
        alone, together = (JobInfo(PodGroup(pod_group("j")), "default") for _ in range(2))
        for task in tasks_of(names):
            alone.add_task_info(task)
        together.add_initial_tasks(tasks_of(names), RequestSums())
        assert _held(alone) == _held(together)


def _held(job: JobInfo) -> list[object]:
    found: list[object] = [list(job.total_request.items()), list(job.allocated.items()), job.task_to_sub_job]
    for one in (job, *job.sub_jobs.values()):
        index = {status: list(tasks) for status, tasks in one.task_status_index.items()}
        found += [list(one.tasks), list(index.items()), one.changes, one.is_ready()]
    return [*found, [sub_job.priority for sub_job in job.sub_jobs.values()]]


def sharing(first: Manifest, **spec: object) -> list[Pod]:
    """A pod, and another one with the same containers and labels and further spec fields."""
    other = {**first, "metadata": {**first["metadata"], "name": "other"}, "spec": {**first["spec"], **spec}}
    return [Pod(first), Pod(other)]


def test_pods_that_share_containers_share_their_request_unless_they_say_more() -> None:
    flags, first = SchedulerFlags(), pod("a", "j", requests={"cpu": "1"})
    for spec in ({}, {"overhead": {"cpu": "2"}}, {"initContainers": [{"resources": {"requests": {"cpu": "3"}}}]}):
        known, (one, other) = PodRequestCache(flags), sharing(first, **spec)
        assert str(known.find_request(one)) == str(get_pod_resource_request(one, flags))
        assert str(known.find_request(other)) == str(get_pod_resource_request(other, flags))
        assert (known.find_request(one) is known.find_request(other)) == (not spec)


def test_pods_that_share_containers_have_one_shape_unless_they_say_more() -> None:
    shapes, first = PodShapes(lambda _: True), pod("a", "j", requests={"cpu": "1"})
    same, other = sharing(first)
    assert shapes.pod_shape(same) is shapes.pod_shape(other)
    term = {"topologyKey": "zone", "labelSelector": {}}
    wish = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    _, wishing = sharing(first, affinity=wish)
    assert shapes.pod_shape(wishing).affinity.required_anti_affinity
    elsewhere = Pod({**first, "metadata": {**first["metadata"], "namespace": "other"}})
    assert shapes.pod_shape(elsewhere).group is not shapes.pod_shape(same).group


def running(first: Manifest, started: list[Manifest], **status: object) -> Pod:
    """A running pod with these containerStatuses, which several pods may share."""
    return Pod({**first, "status": {"phase": "Running", "containerStatuses": started, **status}})


def test_pods_that_run_alike_share_request_and_shape_unless_a_resize_is_infeasible() -> None:
    flags, shapes, first = SchedulerFlags(), PodShapes(lambda _: True), pod("a", "j", requests={"cpu": "1"})
    name = first["spec"]["containers"][0].get("name", "")
    started = [{"name": name, "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "2"}}]
    condition = {"type": "PodResizePending", "reason": "Infeasible"}
    one, same, refused = (
        running(first, started, **more) for more in ({}, {"startTime": "later"}, {"conditions": [condition]})
    )
    known = PodRequestCache(flags)
    assert known.find_request(one) is known.find_request(same)
    assert shapes.pod_shape(one) is shapes.pod_shape(same)
    for each in (one, refused, Pod(first)):
        assert str(known.find_request(each)) == str(get_pod_resource_request(each, flags))
    assert shapes.pod_shape(refused) is not shapes.pod_shape(one)
    first["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "9"
    assert 9000 == get_pod_resource_request(one, flags).milli_cpu
    assert 3000 == get_pod_resource_request(refused, flags).milli_cpu


def test_pods_that_run_alike_share_their_request_where_nothing_is_one_object() -> None:
    flags, first = SchedulerFlags(), pod("a", "j", requests={"cpu": "1"})
    name = first["spec"]["containers"][0].get("name", "")
    one, same, more = (
        running(deepcopy(first), [{"name": name, "containerID": each, "resources": {"requests": {"cpu": cpu}}}])
        for each, cpu in (("x", "3"), ("y", "3"), ("z", "4"))
    )
    known = PodRequestCache(flags)
    assert known.find_request(one) is known.find_request(same)
    assert [3000, 4000] == [known.find_request(each).milli_cpu for each in (same, more)]


@pytest.mark.parametrize("memory", ["1", "4503599627370497"], ids=["exact", "rounded"])
def test_equal_requests_are_added_as_one_by_one(memory: str) -> None:
    one, other = (Resource.from_list({"cpu": cpu, "memory": memory, "pods": 1}) for cpu in ("1", "300m"))
    requests = [one, other, one, one, other, one, one]
    at_once, one_by_one = Resource(), Resource()
    add_grouped(at_once, requests)
    one_by_one.add_all(requests)
    assert list(one_by_one.items()) == list(at_once.items())
    assert (1000.0, 300.0) == (one.milli_cpu, other.milli_cpu), "the requests are as they were"


def test_a_node_that_is_judged_again_counts_once_with_the_later_reason() -> None:
    reasons = ReasonTable()
    errors, cpu, memory = (
        FitErrors(reasons),
        *(reasons.code_of(wrap_insufficient_resource_reason(name)) for name in ("cpu", "memory")),
    )
    for row, code in ((4, cpu), (0, cpu), (4, memory)):
        errors.set_node(row, code)
    assert errors.error_text() == "0/2 nodes are unavailable: 1 Insufficient cpu, 1 Insufficient memory."
