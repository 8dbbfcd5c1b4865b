"""A job's counters, gates and messages, and sub jobs that keep removed tasks."""

from typing import Any

from tests.builders import cluster, node, open_session, pod, pod_group, pods
from vcdebug.model.fit_errors import FitErrors, wrap_insufficient_resource_reason
from vcdebug.model.job import JobInfo
from vcdebug.model.task import TaskStatus

POLICY = {"name": "worker", "subGroupSize": 2, "minSubGroups": 1, "matchLabelKeys": ["volcano.sh/index"]}


def job_of(group: dict[str, Any], *members: Any) -> JobInfo:
    return open_session(cluster(node("n1"), group, *members), "gang").jobs["default/j"]


def labelled(name: str, index: str) -> dict[str, Any]:
    manifest = pod(name, "j")
    manifest["metadata"]["labels"] = {"volcano.sh/index": index}
    return manifest


def test_best_effort_pods_make_a_gang_ready_but_leave_it_starving() -> None:
    job = job_of(pod_group("j", min_member=2), pod("a", "j", on="n1"), pod("b", "j"))
    assert (True, True) == (job.is_ready(), job.is_starving())


def test_roles_are_not_checked_when_their_minimums_exceed_the_gangs() -> None:
    group = pod_group("j", min_member=3, min_task_member={"a": 2, "b": 2})
    job = job_of(group, pods("j", 3, role="a"))
    assert (True, True) == (job.check_task_valid(), job.check_task_ready())


def test_the_histogram_of_a_message_is_sorted_as_text() -> None:
    job = job_of(
        pod_group("j", min_member=3),
        pods("j", 12, prefix="p"),
        pods("j", 3, prefix="r", on="n1"),
    )
    expected = "pod group is ready, 12 Pending, 3 Running, 3 minAvailable; Pending: 12 Unschedulable"
    assert expected == job.fit_error()


def test_the_first_task_with_fit_errors_is_named_as_origin() -> None:
    ssn = open_session(cluster(node("n1"), node("n2"), pod_group("j", min_member=2), pods("j", 2)), "gang")
    job = ssn.jobs["default/j"]
    errors = FitErrors(ssn.reasons)
    for row, name in ((0, "cpu"), (1, "memory")):
        errors.set_node(row, ssn.reasons.code_of(wrap_insufficient_resource_reason(name)))
    job.nodes_fit_errors["uid-j-1"] = errors
    assert job.fit_error().endswith(
        ". Origin reason is j-1: 0/2 nodes are unavailable: 1 Insufficient cpu, 1 Insufficient memory."
    )


def test_clone_with_another_status_is_counted_twice_in_its_sub_job() -> None:
    job = job_of(pod_group("j"), pods("j", 1))
    clone = job.tasks["uid-j-0"].clone()
    clone.status = TaskStatus.ALLOCATED
    job.update_task_status(clone, TaskStatus.ALLOCATED)
    sub_job = job.sub_jobs["default/j"]
    assert {TaskStatus.ALLOCATED: 1} == {status: len(tasks) for status, tasks in job.task_status_index.items()}
    counted = {status: len(tasks) for status, tasks in sub_job.task_status_index.items()}
    assert {TaskStatus.PENDING: 1, TaskStatus.ALLOCATED: 1} == counted


def test_pods_join_the_sub_job_that_their_labels_name_and_the_rest_the_default_one() -> None:
    group = pod_group("j", subGroupPolicy=[POLICY])
    job = job_of(group, labelled("a", "0"), labelled("b", "0"), labelled("c", "1"), pod("d", "j"))
    sizes = {uid: len(sub_job.tasks) for uid, sub_job in job.sub_jobs.items()}
    assert {"default/j/worker-0": 2, "default/j/worker-1": 1, "default/j": 1} == sizes
    assert [2, 2, 1] == [job.sub_jobs[uid].min_available for uid in sizes]


def test_a_policy_without_label_keys_never_matches() -> None:
    selector = {"matchLabels": {"volcano.sh/index": "0"}}
    policy = {"name": "worker", "minSubGroups": 1, "labelSelector": selector}
    job = job_of(pod_group("j", subGroupPolicy=[policy]), labelled("a", "0"))
    assert ["default/j"] == list(job.sub_jobs)
    assert not job.check_sub_job_valid()


def test_gated_pods_reduce_what_is_reserved_but_not_those_behind_volcanos_own_gate() -> None:
    gated = pods("j", 1, cpu="3", prefix="x", schedulingGates=[{"name": "example.com/hold"}])
    own = pods("j", 1, cpu="2", prefix="y", schedulingGates=[{"name": "scheduling.volcano.sh/queue-allocation-gate"}])
    job = job_of(pod_group("j", min_resources={"cpu": "10"}), gated, own)
    assert 7000.0 == job.deduct_sch_gated_resources(job.get_min_resources()).milli_cpu


def test_a_failed_task_ends_a_gang_that_needs_every_member_and_not_an_elastic_one() -> None:
    whole = job_of(pod_group("j", min_member=2), pods("j", 2))
    elastic = job_of(pod_group("j", min_member=1), pods("j", 2))
    assert not whole.need_continue_allocating(whole.sub_jobs["default/j"])
    assert elastic.need_continue_allocating(elastic.sub_jobs["default/j"])
