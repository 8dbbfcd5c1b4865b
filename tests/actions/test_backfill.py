"""backfill: best-effort tasks are bound at once, without a statement."""

from tests.actions.outcome import messages, ops, ran, statements, tasks
from tests.builders import node, pod, pod_group, pods
from vcdebug.framework.record import PanicEvent, ScoreEvent

TIERS = ("priority gang", "predicates nodeorder")


def test_a_best_effort_task_is_bound_on_the_first_of_equal_nodes() -> None:
    recording = ran(node("n1"), node("n2"), pod_group("j"), pod("j-0", "j"), actions="backfill", tiers=TIERS)
    assert ["allocate j-0@n1", "bind j-0@n1"] == ops(recording)
    assert [] == statements(recording)


def test_a_gang_below_its_minimum_keeps_its_tasks_allocated() -> None:
    recording = ran(
        node("n1"),
        pod_group("j", min_member=3),
        pod("j-0", "j"),
        pods("j", 2, prefix="k"),
        actions="backfill",
        tiers=TIERS,
    )
    assert "Allocated@n1" == tasks(recording)["j-0"]


def test_one_feasible_node_is_not_scored() -> None:
    recording = ran(node("n1"), pod_group("j"), pod("j-0", "j"), actions="backfill", tiers=TIERS)
    assert not any(isinstance(event, ScoreEvent) for event in recording.events)


def test_a_node_full_of_pods_is_named_as_the_reason() -> None:
    recording = ran(
        node("n1", pods="1"),
        pod_group("r"),
        pods("r", 1, on="n1"),
        pod_group("j"),
        pod("j-0", "j"),
        actions="backfill",
        tiers=TIERS,
    )
    assert "0/1 nodes are unavailable: 1 node(s) pod number exceeded." == messages(recording)["j-0"]


def test_the_cache_refuses_to_bind_where_its_node_is_overcommitted() -> None:
    recording = ran(
        node("n1", cpu="1"),
        pod_group("r"),
        pods("r", 1, cpu="2", on="n1"),
        pod_group("j"),
        pod("j-0", "j"),
        actions="backfill",
        tiers=TIERS,
    )
    assert ["allocate j-0@n1"] == ops(recording)
    assert "Allocated@n1" == tasks(recording)["j-0"]


def test_scores_that_are_lost_for_all_nodes_panic_the_scheduler() -> None:
    bad = {"weight": 1, "preference": {"matchExpressions": [{"key": "a", "operator": "Nonsense"}]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [bad]}}
    recording = ran(
        node("n1"), node("n2"), pod_group("j"), pod("j-0", "j", affinity=affinity), actions="backfill", tiers=TIERS
    )
    assert isinstance(recording.events[-1], PanicEvent)
