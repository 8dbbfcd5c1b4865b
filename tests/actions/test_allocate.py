"""allocate: gangs, fit errors, pipelining, and the effects of one visit on the next."""

from typing import Any

import pytest

from tests.actions.outcome import asked, messages, ops, pops, ran, statements, tasks
from tests.builders import node, pod, pod_group, pods, queue
from vcdebug.framework.record import BestEvent, ScoreEvent
from vcdebug.model.pod import VOLCANO_GATE

GANG = ("priority gang", "predicates nodeorder")


def allocate(*objects: Any, tiers: tuple[str, ...] = GANG, actions: str = "allocate") -> Any:
    return ran(*objects, actions=actions, tiers=tiers)


def test_ready_gang_commits_and_is_continued_with_one_task_per_visit() -> None:
    recording = allocate(node("n1", cpu="2"), pod_group("j", min_member=2), pods("j", 3))
    assert {"j-0": "Binding@n1", "j-1": "Binding@n1", "j-2": "Pending@"} == tasks(recording)
    assert ["commit 2", "commit 0"] == statements(recording)
    assert "0/1 nodes are unavailable: 1 Insufficient cpu." == messages(recording)["j-2"]


def test_gang_that_needs_all_tasks_is_discarded_at_the_first_misfit() -> None:
    members = [pod("j-0", "j", requests={"cpu": "1"}), pod("j-1", "j", requests={"cpu": "9"})]
    recording = allocate(node("n1", cpu="4"), pod_group("j", min_member=3), members, pods("j", 1, prefix="k"))
    assert ["discard 1"] == statements(recording)
    assert ["default/j-0", "default/j-1"] == pops(recording, "task")
    said = messages(recording)
    assert "Pod default/j-0 can possibly be assigned to n1, once minAvailable is satisfied" == said["j-0"]
    assert "" == said["k-0"]


def test_an_elastic_job_keeps_trying_every_task() -> None:
    members = [pod("j-0", "j", requests={"cpu": "9"}), pod("j-1", "j", requests={"cpu": "1"})]
    recording = allocate(node("n1", cpu="4"), pod_group("j", min_member=1), members)
    assert {"j-0": "Pending@", "j-1": "Binding@n1"} == tasks(recording)


def test_a_role_that_failed_is_not_tried_again() -> None:
    recording = allocate(
        node("n1", cpu="4"), pod_group("j", min_member=1), pods("j", 2, cpu="9", role="w"), pods("j", 1, prefix="ok")
    )
    assert "Task j-1 with role spec w has already predicated failed, skip" == messages(recording)["j-1"]
    assert "Binding@n1" == tasks(recording)["ok-0"]


def test_room_that_is_still_releasing_pipelines_without_commit_or_discard() -> None:
    recording = allocate(
        node("n1", cpu="2"),
        pod_group("old"),
        pods("old", 1, cpu="2", on="n1", deleting=True),
        pod_group("j"),
        pods("j", 1, cpu="2"),
    )
    assert ["pipeline j-0@n1"] == ops(recording)
    assert [] == statements(recording)
    assert "Pipelined@n1" == tasks(recording)["j-0"]


def test_one_node_with_idle_room_is_chosen_without_scores() -> None:
    recording = allocate(node("n1", cpu="2"), node("n2", cpu="1"), pod_group("j"), pods("j", 1, cpu="2"))
    assert not any(isinstance(event, (ScoreEvent, BestEvent)) for event in recording.events)


def test_ties_go_to_the_first_in_search_order_and_are_recorded() -> None:
    recording = allocate(node("n1"), node("n2"), pod_group("j"), pods("j", 1))
    best = next(event for event in recording.events if isinstance(event, BestEvent))
    assert ("n1", ("n1", "n2")) == (best.name, best.tied)


def test_a_pending_podgroup_waits_for_enqueue_only_where_it_is_configured() -> None:
    objects = (node("n1"), pod_group("j", phase="Pending", min_resources={"cpu": "999"}), pods("j", 1))
    both = allocate(*objects, actions="enqueue, allocate", tiers=("gang", "overcommit predicates nodeorder"))
    alone = allocate(*objects, tiers=("gang", "overcommit predicates nodeorder"))
    assert ("Pending@", "Binding@n1") == (tasks(both)["j-0"], tasks(alone)["j-0"])


def test_allocate_skips_task_that_its_queue_refuses_without_a_fit_error() -> None:
    recording = ran(
        node("n1", cpu="10"),
        queue("q", capability={"cpu": "1"}),
        pod_group("j", queue="q", min_member=1),
        pods("j", 1, cpu="2"),
        actions="allocate",
    )
    assert [False] == asked(recording, "Allocatable")
    assert "" == messages(recording)["j-0"]


def test_gated_pods_are_passed_over() -> None:
    gated = pods("j", 1, prefix="g", schedulingGates=[{"name": "example.com/hold"}])
    recording = allocate(node("n1"), pod_group("j"), pods("j", 1), gated)
    assert ["default/j-0"] == pops(recording, "task")


def test_a_nominated_node_with_room_is_searched_alone() -> None:
    nominated = pod("j-0", "j", requests={"cpu": "1"})
    nominated["status"]["nominatedNodeName"] = "n2"
    recording = allocate(node("n1"), node("n2"), pod_group("j"), nominated)
    assert ["allocate j-0@n2"] == ops(recording)


def test_a_prepredicate_error_is_the_reason_of_every_node() -> None:
    volume = {"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}
    recording = allocate(node("n1"), node("n2"), pod_group("j"), pods("j", 1, volumes=[volume]))
    assert (
        "0/2 nodes are unavailable: 2 plugin VolumeZone pre-predicates failed "
        'persistentvolumeclaim "missing" not found.'
    ) == messages(recording)["j-0"]


@pytest.mark.parametrize("actions", ["allocate", "preempt", "reclaim", "backfill", "gangpreempt", "gangreclaim"])
@pytest.mark.parametrize("requests", [{"cpu": "1"}, {}], ids=["asks", "asks-nothing"])
@pytest.mark.parametrize("gate", [VOLCANO_GATE, "example.com/wait"])
def test_a_pod_behind_a_scheduling_gate_is_placed_by_no_action(
    gate: str, requests: dict[str, str], actions: str
) -> None:
    gated = pod("j-0", "j", requests=requests, schedulingGates=[{"name": gate}])
    objects = (node("n1"), queue("default", deserved={"cpu": "10"}), pod_group("j"), gated)
    recording = allocate(*objects, actions=actions)
    assert ([], {"j-0": "Pending@"}) == (ops(recording), tasks(recording))


def test_a_pod_behind_volcanos_gate_waits_while_others_of_its_job_are_placed() -> None:
    gated = pod("j-0", "j", requests={"cpu": "1"}, schedulingGates=[{"name": VOLCANO_GATE}])
    recording = allocate(node("n1"), pod_group("j"), gated, pods("j", 1, prefix="open"))
    assert {"j-0": "Pending@", "open-0": "Binding@n1"} == tasks(recording)
