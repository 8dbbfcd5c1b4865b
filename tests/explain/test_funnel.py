"""The search for victims as a funnel: each count agrees with the recording."""

from collections.abc import Iterator

import pytest

from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class, queue
from tests.recorded import GOLDEN, bundled, golden
from vcdebug.explain.decisions.evictions import planned_evictions
from vcdebug.explain.decisions.victim_funnel import REACH, VICTIMS, NodeFunnel, VictimFunnel, funnels_around
from vcdebug.explain.decisions.votes import VictimDecision, victim_choice
from vcdebug.framework.record import HookEvent, Level, OpEvent, StatementEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.visits import VICTIM_POINTS


def searches(recording: Recording) -> Iterator[VictimFunnel]:
    for span in recording.spans:
        if span.level is Level.ACTION and recording.conf.facts_of(span.name).evicts_by_pod and span.last >= span.first:
            yield from funnels_around(recording, span.first)


def choice_of(recording: Recording, turn: NodeFunnel) -> VictimDecision | None:
    """The vote on victims in a node's turn; None if there was none."""
    span = next(s for s in recording.spans if (s.level, s.name, s.first) == (Level.NODE, turn.node, turn.first_seq))
    for seq in range(span.first, span.last + 1):
        event = recording.event_at(seq)
        if isinstance(event, HookEvent) and event.point in VICTIM_POINTS:
            return victim_choice(recording, seq)
    return None


@pytest.mark.parametrize("name", [name for name in GOLDEN if not name.startswith(("volumes", "usage", "numa"))])
def test_funnel_counts_the_recorded_candidates_and_victims(name: str) -> None:
    recording = golden(name)
    for search in searches(recording):
        for turn in search.tried_nodes:
            choice, left = choice_of(recording, turn), {stage.name: stage.remaining for stage in turn.stages}
            if choice is not None:
                assert len(choice.question.candidates) == (left[REACH] or 0)
                assert len(choice.victims) == (left[VICTIMS] or 0)


def test_nodes_that_were_never_tried_are_told_apart_from_those_that_failed() -> None:
    first, second, _ = searches(bundled())
    assert (["gpu-a100-01"], 7) == ([turn.node for turn in first.tried_nodes], len(first.untried_nodes))
    assert (8, 0) == (len(second.tried_nodes), len(second.untried_nodes))
    assert ("placed", "discard") == (first.tried_nodes[0].outcome, first.tried_nodes[0].statement_end)


def test_the_plugin_that_empties_the_tier_is_named() -> None:
    second = list(searches(bundled()))[1]
    assert ("tier 1", "gang") == (second.tried_nodes[0].stopped_at, second.tried_nodes[0].decider)
    assert ["pods", "running"] == [turn.stopped_at for turn in second.tried_nodes if turn.stopped_at != "tier 1"]


def test_funnel_counts_each_filter_separately() -> None:
    running = pods("low", 3, cpu="1", on="n1")
    running[0]["metadata"]["annotations"]["volcano.sh/preemptable"] = "false"
    elsewhere = [queue("other"), pod_group("far", queue="other", phase="Running"), *pods("far", 1, on="n1")]
    recording = replay_cycle(
        cluster(
            node("n1", cpu="4"),
            [priority_class("high", 100), priority_class("low", 1)],
            [pod_group("low", priority_class="low", phase="Running", min_member=0), *running],
            elsewhere,
            [pod_group("high", priority_class="high", min_member=1), *pods("high", 1, cpu="3")],
            conf=conf_of("priority gang", actions="preempt"),
        )
    )
    turn = next(searches(recording)).tried_nodes[0]
    assert [4, 4, 3, 2, 2, 2] == [stage.remaining for stage in turn.stages]
    assert "not enough room: cpu" == turn.outcome


def test_an_eviction_names_victim_preemptor_tier_and_fate() -> None:
    found = planned_evictions(bundled())[0]
    assert ("research/resnet-sweep-worker-0", "research/llm-finetune-worker-0") == (found.victim, found.preemptor)
    assert ("preempt", 1, "discard", "research") == (found.action, found.tier, found.statement_end, found.queue)
    event = bundled().event_at(found.end)
    assert isinstance(event, StatementEvent)
    assert "discard" == event.what


@pytest.mark.parametrize("name", [name for name in GOLDEN if name.startswith(("preempt", "reclaim", "mixed", "gang"))])
def test_each_planned_eviction_is_listed_with_what_became_of_it(name: str) -> None:
    recording = golden(name)
    found = planned_evictions(recording)
    planned = [
        seq
        for seq in recording.index.seqs_of_type(OpEvent)
        if isinstance(event := recording.event_at(seq), OpEvent) and event.op == "evict"
    ]
    undone = [
        event.task
        for seq in recording.index.seqs_of_type(OpEvent)
        if isinstance(event := recording.event_at(seq), OpEvent) and event.op == "unevict"
    ]
    assert planned == [each.seq for each in found]
    assert sorted(undone) == sorted(each.victim for each in found if each.statement_end == "discard")


def test_funnel_states_what_ends_a_search_before_any_node() -> None:
    found = list(searches(bundled("preempt-never")))
    assert ["its preemptionPolicy is Never"] * len(found) == [search.end_reason for search in found]
    assert all(not search.tried_nodes for search in found)


def test_funnel_marks_the_search_within_the_own_job() -> None:
    assert [False, False, True] == [search.is_within_job for search in searches(bundled())]
