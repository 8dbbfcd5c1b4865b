"""Answers in the recording that need more than one sentence: statements, orders, and several cycles."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.scenarios.questions import asked
from vcdebug.explain.decisions.queue_figures import reservation_ledger
from vcdebug.explain.orders import OrderComparison, order_of
from vcdebug.explain.pending.explanation import explain_by_name
from vcdebug.explain.plugins.proportion import portions_by_queue
from vcdebug.framework.record import HookEvent, Level, OpEvent, PopEvent, StatementEvent
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import Recording
from vcdebug.recording.writes import pod_status_writes
from vcdebug.whatif.cycles import CycleChain, find_repeat
from vcdebug.whatif.next_cycle import BetweenCycles

CYCLES = 5


def statements(recording: Recording, action: str) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """(what, operations) of an action's statements that held any."""
    spans = recording.index.spans_of(Level.ACTION, action)
    events = [recording.event_at(seq) for span in spans for seq in range(span.first, span.last + 1)]
    return [(e.what, list(e.ops)) for e in events if isinstance(e, StatementEvent) and e.ops and e.what != "merge"]


def popped(recording: Recording, action: str, kind: str) -> list[tuple[int, str]]:
    """(event, name) of each pop from an action's queues."""
    (span,) = recording.index.spans_of(Level.ACTION, action)
    events = [(seq, recording.event_at(seq)) for seq in range(span.first, span.last + 1)]
    return [(seq, event.name) for seq, event in events if isinstance(event, PopEvent) and event.kind == kind]


def placed(recording: Recording) -> dict[str, str]:
    done = cycle_effects(recording)
    return {effect.task: effect.node for effect in (*done.bound, *done.pipelined)}


def gone(recording: Recording) -> list[str]:
    return [effect.task for effect in cycle_effects(recording).evicted]


def messages(recording: Recording, job: str) -> dict[str, str]:
    """The messages that the scheduler writes into the pods' conditions."""
    written = pod_status_writes(recording.session.jobs[job])
    return {status.pod.partition("/")[2]: status.message for status in written}


def test_2357_the_other_pods_of_the_gang_only_say_that_they_wait_for_it() -> None:
    written = messages(asked(2357).recording(), "team/train")
    assert "node affinity/selector" in written["train-2"]
    assert [True, True] == [written[name].endswith("once minAvailable is satisfied") for name in ("train-0", "train-1")]


def test_4971_the_message_of_a_pod_beyond_the_minimum_does_not_say_why_it_waits() -> None:
    written = messages(asked(4971).recording(), "team/spark")["spark-2"]
    assert written.startswith("pod group is ready, 1 minAvailable, 2 Running, 3 Pending")
    assert "cpu" not in written


def test_4439_the_pod_still_says_that_room_is_being_released_for_it() -> None:
    written = messages(asked(4439).recording(), "team/urgent")["urgent-0"]
    assert written.endswith("can possibly be assigned to n1, once resource is released and minAvailable is satisfied")


def test_2633_a_ledger_names_who_counts_as_inqueue_and_who_does_not() -> None:
    recording = asked(2633).recording()
    counted = {entry.job: entry.reserved is not None for entry in reservation_ledger(recording, 1)}
    expected = {"team/run-1": False, "team/run-2": True, "team/run-3": True, "team/run-4": False}
    assert expected == counted


def test_3536_what_a_queue_does_not_ask_for_is_dealt_out_in_the_next_round() -> None:
    portions = portions_by_queue(asked(3536).recording())
    assert [(1, "its request")] == [(p.number, p.deciding_limit("cpu")) for p in portions["small"]]
    assert [20000.0, 24000.0] == [p.queue.deserved.get("cpu") for p in portions["wide"]][:2]


def test_479_the_queue_with_one_full_dimension_comes_last() -> None:
    recording = asked(479).recording()
    first = popped(recording, "allocate", "queue")[0]
    assert "wide" == first[1]
    order = order_of(recording, first[0], "queue", "wide", "lean")
    assert (-1, "proportion") == (order.order_sign, decided(order))
    share = recording.timeline.state_at(first[0]).plugin_figure("proportion", "lean", "share")
    deserved = recording.timeline.state_at(first[0]).plugin_amount("proportion", "lean", "deserved")
    allocated = recording.timeline.state_at(first[0]).plugin_amount("proportion", "lean", "allocated")
    parts = {name: allocated.get(name) / deserved.get(name) for name in ("cpu", "memory", "nvidia.com/gpu")}
    assert {"cpu": 0.5, "memory": 0.5, "nvidia.com/gpu": share} == parts


def decided(order: OrderComparison) -> str:
    assert order.deciding_step is not None
    return order.deciding_step.plugin


def test_3079_one_of_the_small_pods_makes_a_place() -> None:
    recording = asked(3079).recording()
    assert [True] == [task.startswith("team/tiny-") for task in gone(recording)]
    assert {"team/urgent-0": "n1"} == placed(recording)


def test_3291_allocate_gives_its_place_back_and_preempt_takes_both_nodes() -> None:
    recording = asked(3291).recording()
    assert [("discard", 1)] == [(what, len(ops)) for what, ops in statements(recording, "allocate")]
    ((what, ops),) = statements(recording, "preempt")
    kinds = Counter(kind for kind, _, _ in ops)
    assert ("commit", 1, 2) == (what, kinds["evict"], kinds["pipeline"])
    assert {"n1", "n2"} == {node for kind, _, node in ops if kind == "pipeline"}


def test_5131_every_cycle_plans_three_of_four_and_gives_all_of_it_back() -> None:
    cycles = CycleChain(asked(5131).recording())
    for _ in range(CYCLES - 1):
        cycles.run_next()
    for recording in cycles.recordings:
        ops = Counter(event.op for event in recording.events if isinstance(event, OpEvent))
        assert (3, 3, 3, 3) == tuple(ops[op] for op in ("evict", "unevict", "pipeline", "unpipeline"))
        assert ([], {}) == (gone(recording), placed(recording))
        assert "urgent-0 is not eligible to preempt" in explain_by_name(recording, "team/urgent").full_text
    found = find_repeat(cycles.recordings)
    assert found is not None
    assert (1, ()) == (found.later_cycle - found.earlier_cycle, found.evicted)
    assert ("team/old-0", "team/old-1", "team/old-2") == found.discarded_evictions


def test_5044_every_statement_is_closed_and_the_next_job_gets_the_room() -> None:
    recording = asked(5044).recording()
    ends = [(what, len(ops)) for what, ops in statements(recording, "allocate")]
    assert [("discard", 2), ("commit", 1)] == ends
    states = {task.status.upstream_name for task in recording.session.jobs["team/gang"].tasks.values()}
    assert {"Pending"} == states
    assert ["team/single-0"] == list(placed(recording))


def test_5022_evictions_of_a_node_that_did_not_do_are_undone_before_the_next_node() -> None:
    recording = asked(5022).recording()
    (undone, committed) = statements(recording, "preempt")
    assert ("discard", {"team/small-0", "team/small-1"}) == (undone[0], {task for _, task, _ in undone[1]})
    assert ["team/large-0"] == [task for kind, task, _ in committed[1] if kind == "evict"]
    assert ["team/large-0"] == gone(recording)


def test_3003_the_second_job_is_tried_after_the_first_one_may_not_reclaim() -> None:
    recording = asked(3003).recording()
    assert ["team/greedy", "team/modest"] == [name for _, name in popped(recording, "reclaim", "job")]
    votes = [e for e in recording.events if isinstance(e, HookEvent) and e.point == "Preemptive"]
    assert [True, True, False, True] == [vote.result for vote in votes]
    assert ["discard", "commit"] == [what for what, _ in statements(recording, "reclaim")]


def test_4949_the_two_queues_take_turns_for_ever() -> None:
    cycles = CycleChain(asked(4949).recording(), BetweenCycles(recreate=True))
    for _ in range(CYCLES - 1):
        cycles.run_next()
    assert [["team/a-0"], [], ["team/a-0"], [], ["team/a-0"]] == [gone(one) for one in cycles.recordings]
    assert [True, False] * 2 == [("team/b-0" in placed(one)) for one in cycles.recordings][:4]
    found = find_repeat(cycles.recordings)
    assert found is not None
    assert (2, ("team/a-0",)) == (found.later_cycle - found.earlier_cycle, found.evicted)


def test_2814_the_job_that_holds_the_promise_can_never_run() -> None:
    found = explain_by_name(asked(2814).recording(), "team/big")
    assert "larger-than-any-node" == found.cause_code
    assert "asks 2 nvidia.com/gpu, more than any node has (largest: n1, 1)" in found.sentence


def test_2052_the_larger_job_comes_first_and_the_smaller_one_gets_in() -> None:
    recording = asked(2052).recording()
    (first, *_, last) = popped(recording, "allocate", "job")
    assert ("team/large", "team/small") == (first[1], last[1])
    order = order_of(recording, first[0], "job", "team/large", "team/small")
    assert (-1, "priority") == (order.order_sign, decided(order))
    assert ["team/small-0"] == list(placed(recording))


@pytest.mark.parametrize("number", [3291, 5022, 3003, 4658, 3079])
def test_a_bug_that_was_fixed_no_longer_costs_anybody_a_place_for_nothing(number: int) -> None:
    recording = asked(number).recording()
    assert gone(recording)
    assert placed(recording)
