"""gang: when a job is valid, ready or starving, and how many of its members may be evicted."""

from typing import Any

import pytest

from tests.builders import cluster, names, node, open_session, pod, pod_group, pods, task, tasks
from vcdebug.framework.hooks import (
    JOB_ORDER,
    JOB_PIPELINED,
    JOB_READY,
    JOB_STARVING,
    JOB_VALID,
    PREEMPTABLE,
    RECLAIMABLE,
    UNIFIED_EVICTABLE,
)
from vcdebug.framework.plugin_answers import EvictionContext, EvictionKind, ValidateResult
from vcdebug.framework.session import Session
from vcdebug.model.pod_group import Condition
from vcdebug.model.task import TaskStatus, TransactionContext
from vcdebug.snapshot.snapshot import Manifest

GROUPS = [{"name": "group", "subGroupSize": 1, "minSubGroups": 3, "matchLabelKeys": ["volcano.sh/group"]}]


def one_job(group: Manifest, *members: Manifest | list[Manifest], tiers: tuple[str, ...] = ("gang",)) -> Session:
    return open_session(cluster(node("n1"), group, *members, pod_group("other"), pod("preemptor", "other")), *tiers)


def grouped(name: str, group: str, **more: Any) -> Manifest:
    manifest = pod(name, "j", **more)
    manifest["metadata"]["labels"] = {"volcano.sh/group": group}
    return manifest


def surplus(ssn: Session, *candidates: str) -> list[str]:
    return names(ssn.ask_plugins(PREEMPTABLE, task(ssn, "preemptor"), tasks(ssn, *candidates)))


def conditions(ssn: Session, job: str = "default/j") -> list[tuple[str, str]]:
    ssn.plugins["gang"].on_session_close(ssn)
    return [(c.type, c.message or c.reason) for c in ssn.jobs[job].pod_group.conditions]


def test_gang_allows_only_tasks_beyond_its_minimum_in_candidate_order() -> None:
    ssn = one_job(pod_group("j", min_member=3), pods("j", 4, on="n1"))
    assert ["j-0"] == surplus(ssn, "j-0", "j-1", "j-2", "j-3")
    assert ["j-3"] == surplus(ssn, "j-3", "j-0")
    assert ["j-1"] == names(ssn.ask_plugins(RECLAIMABLE, task(ssn, "preemptor"), tasks(ssn, "j-1", "j-2")))


def test_a_gang_at_its_minimum_protects_all_unless_a_later_tier_decides() -> None:
    alone = one_job(pod_group("j", min_member=3), pods("j", 3, on="n1"))
    assert [] == surplus(alone, "j-0")
    followed = one_job(pod_group("j", min_member=3), pods("j", 3, on="n1"), tiers=("gang", "conformance"))
    assert ["j-0"] == surplus(followed, "j-0")


def test_a_job_without_a_minimum_may_lose_every_pod() -> None:
    ssn = one_job(pod_group("j", min_member=0), pods("j", 2, on="n1"))
    assert ["j-0", "j-1"] == surplus(ssn, "j-0", "j-1")


def test_finished_members_give_headroom() -> None:
    ssn = one_job(pod_group("j", min_member=2), pods("j", 2, on="n1"), pod("done", "j", on="n1", phase="Succeeded"))
    assert ["j-0"] == surplus(ssn, "j-0", "j-1")


def test_a_candidate_without_a_job_is_passed_over() -> None:
    ssn = one_job(pod_group("j", min_member=0), pods("j", 2, on="n1"))
    orphan, other = tasks(ssn, "j-0", "j-1")
    orphan.job = "default/gone"
    assert ["j-1"] == names(ssn.ask_plugins(PREEMPTABLE, task(ssn, "preemptor"), [orphan, other]))


def test_gang_allows_whole_gangs_for_gang_actions() -> None:
    ssn = one_job(pod_group("j", min_member=2), pods("j", 2, on="n1"))
    context = EvictionContext(EvictionKind.GANG_RECLAIM, ssn.jobs["default/other"], "")
    assert ["j-0", "j-1"] == names(ssn.ask_plugins(UNIFIED_EVICTABLE, context, tasks(ssn, "j-0", "j-1")))


def test_best_effort_pods_make_a_gang_ready_but_not_sated() -> None:
    ssn = one_job(pod_group("j", min_member=2), pods("j", 1, on="n1"), pod("idle", "j"))
    job = ssn.jobs["default/j"]
    assert (True, True) == (ssn.ask_plugins(JOB_READY, job), ssn.ask_plugins(JOB_STARVING, job))


def test_an_unready_job_goes_first() -> None:
    ssn = one_job(pod_group("j", min_member=1), pods("j", 1, on="n1"))
    ready, unready = ssn.jobs["default/j"], ssn.jobs["default/other"]
    ready.min_available, unready.min_available = 1, 2
    assert [1, -1, 0] == [
        ssn.ask_plugins(JOB_ORDER, *pair) for pair in ((ready, unready), (unready, ready), (ready, ready))
    ]


def test_a_missing_role_blocks_the_job_although_its_condition_says_scheduled() -> None:
    group = pod_group("j", min_member=2, min_task_member={"master": 1, "worker": 1})
    ssn = one_job(group, pods("j", 2, on="n1", role="worker"))
    job = ssn.jobs["default/j"]
    assert (False, False) == (ssn.ask_plugins(JOB_READY, job), ssn.ask_plugins(JOB_PIPELINED, job))
    assert [("Scheduled", "tasks in gang are ready to be scheduled")] == conditions(ssn)


@pytest.mark.parametrize("roles", [{"master": 2, "worker": 1}, {"worker": 1, "master": 0}])
def test_roles_beyond_the_total_and_roles_of_0_do_not_block(roles: dict[str, int]) -> None:
    ssn = one_job(pod_group("j", min_member=2, min_task_member=roles), pods("j", 2, on="n1", role="worker"))
    assert ssn.ask_plugins(JOB_VALID, ssn.jobs["default/j"]) is None
    assert ssn.ask_plugins(JOB_READY, ssn.jobs["default/j"])


def test_jobs_that_can_never_be_a_gang_are_invalid_for_a_stated_reason() -> None:
    roles = one_job(pod_group("j", min_member=1, min_task_member={"master": 1}), pods("j", 1, role="worker"))
    groups = one_job(pod_group("j", min_member=1, subGroupPolicy=GROUPS), grouped("a", "1"), grouped("b", "2"))
    total = one_job(pod_group("j", min_member=3), pods("j", 2), pod("done", "j", phase="Failed"))
    found = [ssn.ask_plugins(JOB_VALID, ssn.jobs["default/j"]) for ssn in (roles, groups, total)]
    assert [
        ValidateResult(False, "NotEnoughPodsOfTask", "Not enough valid pods of each task for gang-scheduling"),
        ValidateResult(False, "NotEnoughPodsOfTask", "Not enough valid subGroups of each task for gang-scheduling"),
        ValidateResult(False, "NotEnoughTasks", "Not enough valid tasks for gang-scheduling, valid: 2, min: 3"),
    ] == found


def test_a_job_that_needs_nothing_is_valid_without_tasks_and_gets_no_condition() -> None:
    ssn = one_job(pod_group("j", min_member=0))
    assert ssn.ask_plugins(JOB_VALID, ssn.jobs["default/j"]) is None
    assert [] == conditions(ssn)


def test_too_few_ready_sub_groups_keep_the_job_unready() -> None:
    running = [grouped("a", "1", on="n1"), grouped("b", "2", on="n1")]
    ssn = one_job(
        pod_group("j", min_member=2, subGroupPolicy=GROUPS), running, grouped("c", "3", requests={"cpu": "1"})
    )
    assert not ssn.ask_plugins(JOB_READY, ssn.jobs["default/j"])
    ssn.jobs["default/j"].update_task_status(task(ssn, "c"), TaskStatus.ALLOCATED)
    assert ssn.ask_plugins(JOB_READY, ssn.jobs["default/j"])


def test_the_condition_tells_how_many_are_missing() -> None:
    ssn = one_job(pod_group("j", min_member=3), pods("j", 3), pod("j-3", "j", on="n1"))
    message = "2/4 tasks in gang unschedulable: pod group is not ready, 1 Running, 3 Pending, 3 minAvailable"
    assert [("Unschedulable", f"{message}; Pending: 3 Unschedulable")] == conditions(ssn)
    assert "NotEnoughResources" == ssn.jobs["default/j"].pod_group.conditions[0].reason


def test_condition_counts_tasks_of_a_discarded_statement_as_schedulable() -> None:
    ssn = one_job(pod_group("j", min_member=3), pods("j", 4))
    for name in ("j-0", "j-1"):
        task(ssn, name).last_transaction = TransactionContext("n1", False, "", TaskStatus.ALLOCATED)
    message = "1/4 tasks in gang unschedulable: pod group is not ready, 3 minAvailable, 4 Pending"
    assert [("Unschedulable", f"{message}; Pending: 2 Schedulable, 2 Unschedulable")] == conditions(ssn)


def test_terminating_gang_gets_no_condition() -> None:
    ssn = one_job(pod_group("j", min_member=2), pods("j", 2, on="n1", deleting=True))
    assert [] == conditions(ssn)


def test_terminating_gang_with_a_pending_pod_is_unschedulable() -> None:
    ssn = one_job(pod_group("j", min_member=2), pods("j", 2, on="n1", deleting=True), pod("more", "j"))
    assert ["Unschedulable"] == [kind for kind, _ in conditions(ssn)]


def test_a_condition_of_the_same_type_is_replaced_in_its_place() -> None:
    ssn = one_job(pod_group("j", min_member=1), pods("j", 1, on="n1"))
    group = ssn.jobs["default/j"].pod_group
    group.conditions = [Condition("Scheduled", "False", "old", ""), Condition("Unschedulable", "True", "old", "")]
    assert [("Scheduled", "tasks in gang are ready to be scheduled"), ("Unschedulable", "old")] == conditions(ssn)
