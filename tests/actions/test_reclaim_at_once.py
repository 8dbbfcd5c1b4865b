"""reclaim without a statement: one task per turn, evictions that persist, and a queue whose turns end."""

from typing import Any

from tests.actions.outcome import ops, pops, statements
from tests.actions.test_reclaim import TIERS, poor, victim_queue
from tests.builders import cluster, conf_of, node, pod_group, pods, queue
from vcdebug.comparison.logs.log_writer import log_lines
from vcdebug.explain.decisions.evictions import carried_out
from vcdebug.explain.decisions.victim_funnel import funnel_at
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.framework.record import HookEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.edited_snapshot import snapshot_at_release


def reclaim(*objects: Any) -> Recording:
    snapshot = cluster(*objects, conf=conf_of(*TIERS, actions="reclaim"))
    return replay_cycle(snapshot_at_release(snapshot, "master,+reclaim-immediate"))


def test_old_reclaim_evicts_for_an_incomplete_gang() -> None:
    recording = reclaim(node("n1", cpu="2"), queue("poor"), victim_queue(2, "n1"), poor(2, min_member=2))
    assert (["evict r-1@n1", "pipeline p-0@n1"], []) == (ops(recording), statements(recording))
    assert [("default/r-1", "at once")] == [(one.victim, one.statement_end) for one in carried_out(recording)]


def test_free_room_does_not_count() -> None:
    """Half of the request is idle on the node, yet reclaim evicts victims for the whole request."""
    waiting = [pod_group("p", queue="poor"), *pods("p", 1, cpu="2")]
    recording = reclaim(node("n1", cpu="5"), queue("poor"), victim_queue(4, "n1"), waiting)
    assert ["evict r-3@n1", "evict r-2@n1", "pipeline p-0@n1"] == ops(recording)


def test_old_reclaim_keeps_evictions_that_free_too_little() -> None:
    """With what is free the first node would hold the task; its one victim is less than the request."""
    first = [pod_group("a", queue="rich", phase="Running", min_member=0), *pods("a", 1, on="n1")]
    waiting = [pod_group("p", queue="poor"), *pods("p", 1, cpu="2")]
    recording = reclaim(node("n1", cpu="2"), node("n2", cpu="3"), queue("poor"), first, victim_queue(3, "n2"), waiting)
    assert ["evict a-0@n1", "evict r-2@n2", "evict r-1@n2", "pipeline p-0@n2"] == ops(recording)


def test_queues_take_turns_task_by_task() -> None:
    others = [queue("also"), pod_group("q", queue="also"), *pods("q", 2)]
    group, *members = poor(2)
    recording = reclaim(node("n1", cpu="6"), queue("poor"), victim_queue(6, "n1"), group, members, others)
    assert ["also", "poor"] == [name for name in pops(recording, "queue") if name != "rich"][:2]


def test_a_job_that_does_not_starve_any_more_ends_the_turns_of_its_queue() -> None:
    recording = reclaim(node("n1", cpu="8"), queue("poor"), victim_queue(8, "n1"), poor(2, name="p"), poor(1, name="s"))
    assert ["default/p", "default/p"] == pops(recording, "job")
    assert "pipeline p-0@n1" == ops(recording)[-1]


def test_a_node_that_the_predicates_refuse_is_counted() -> None:
    tainted = node("n1", cpu="2", taints=[{"key": "team", "value": "ml", "effect": "NoSchedule"}])
    recording = reclaim(tainted, node("n2", cpu="2"), queue("poor"), victim_queue(2, "n2"), poor(1))
    events = enumerate(recording.events, start=1)
    asked = [seq for seq, event in events if isinstance(event, HookEvent) and event.point == "Predicate"]
    funnel = funnel_at(recording, asked[-1])
    assert funnel is not None
    assert (2, 1, ["n2"], "") == (
        funnel.considered_count,
        funnel.refused,
        [one.node for one in funnel.tried_nodes],
        funnel.end_reason,
    )


def test_old_reclaim_writes_its_log_lines() -> None:
    recording = reclaim(node("n1", cpu="2"), queue("poor"), victim_queue(2, "n1"), poor(2, min_member=2))
    lines = {line.message_key: (line.level, line.text) for line in log_lines(recording)}
    assert (0, "Try to reclaim Task <default/r-1> for Tasks <default/p-0>") == lines["reclaim.victim"]
    amount = "cpu 1000.00, memory 1000000000.00, pods 1.00"
    assert (3, f"Reclaimed <{amount}> for task <default/p-0> requested <{amount}>.") == lines["reclaim.sum"]
    text = "Queue <poor> can not reclaim by preempt others when considering task <p-1> , ignore it."
    assert (3, text) == lines["reclaim.refused"]


def test_job_behind_one_that_may_not_reclaim_gets_no_turn() -> None:
    large = [pod_group("p", queue="poor"), *pods("p", 1, cpu="9")]
    recording = reclaim(node("n1", cpu="2"), queue("poor"), victim_queue(2, "n1"), large, poor(1, name="s"))
    found = explain_by_name(recording, "default/s").dominant
    assert "queue-turns-ended" == found.cause
    assert "default/p was first in queue poor" in found.sentence
    assert any(each.text.startswith("Suspend or delete default/p") for each in found.advice)


def test_job_behind_one_that_has_all_it_needs_is_not_told_to_delete_it() -> None:
    recording = reclaim(node("n1", cpu="8"), queue("poor"), victim_queue(8, "n1"), poor(2, name="p"), poor(1, name="s"))
    found = explain_by_name(recording, "default/s").dominant
    assert "queue-turns-ended" == found.cause
    assert found.facts[0].startswith("default/p needs no more room;")
    assert not any(each.text.startswith("Suspend or delete") for each in found.advice)


def test_explain_names_reclaimable_for_a_job_that_old_reclaim_left_pending() -> None:
    recording = reclaim(
        node("n1", cpu="2"), queue("poor"), victim_queue(2, "n1", reclaimable=False), poor(2, min_member=2)
    )
    assert "reclaimable" in explain_by_name(recording, "default/p").full_text


def test_victims_that_free_too_little_are_what_a_job_waits_for() -> None:
    """With what is free the first node would hold the task; its one victim is less than the request."""
    shut = node("n2", cpu="3", taints=[{"key": "team", "value": "ml", "effect": "NoSchedule"}])
    first = [pod_group("a", queue="rich", phase="Running", min_member=0), *pods("a", 1, on="n1")]
    waiting = [pod_group("p", queue="poor"), *pods("p", 1, cpu="2")]
    recording = reclaim(node("n1", cpu="2"), shut, queue("poor"), first, victim_queue(3, "n2"), waiting)
    found = explain_by_name(recording, "default/p").dominant
    assert "freed-too-little" == found.cause
    assert "evicted default/a-0 on n1 for p-0" in found.sentence
    assert "The evictions free 1 of 2 cpu" in found.full_text


def test_a_job_that_one_plugin_holds_back_does_not_starve() -> None:
    """priority calls the job starving, gang does not, so ended queue turns are not the cause in any release."""
    running = [pod_group("s", queue="poor", phase="Running"), *pods("s", 1, on="n1"), *pods("s", 1, prefix="t")]
    large = [pod_group("p", queue="poor"), *pods("p", 1, cpu="9")]
    tiers = ("priority gang", "proportion predicates")
    for release in ("master", "master,+reclaim-immediate"):
        parts = (node("n1", cpu="3"), queue("poor"), victim_queue(2, "n1"), running, large)
        snapshot = cluster(*parts, conf=conf_of(*tiers, actions="reclaim"))
        assert (
            "not-starving"
            == explain_by_name(replay_cycle(snapshot_at_release(snapshot, release)), "default/s").dominant.cause
        )


def test_explain_names_evictions_made_without_a_statement() -> None:
    recording = reclaim(node("n1", cpu="2"), queue("poor"), victim_queue(2, "n1"), poor(1))
    assert "reclaim evicts default/r-1" in explain_by_name(recording, "default/p").full_text


def test_explain_names_no_amounts_if_the_queue_tree_is_broken() -> None:
    """capacity refuses every queue in a broken tree, so the queue's amounts are not the cause."""
    tree = [queue("top", capability={"cpu": "1"}), queue("poor", parent="top", capability={"cpu": "4"})]
    parts = (node("n1", cpu="2"), tree, victim_queue(2, "n1"), poor(1))
    tiers = ("gang", "predicates capacity")
    hierarchy = {"capacity": {"enableHierarchy": "true"}}
    snapshot = cluster(*parts, conf=conf_of(*tiers, actions="reclaim", arguments=hierarchy))
    found = explain_by_name(replay_cycle(snapshot_at_release(snapshot, "v1.13.3")), "default/p")
    assert "queue-tree-broken" == found.cause_code
    assert "preemptive" not in [one.cause for one in found.contributing]
