"""Topology-aware preemption: the victims of a dry run, the winning node, and the intermediate amounts."""

from functools import cache

from msgspec.structs import replace

from tests.builders import cluster, node, pod, pod_group, pods, priority_class
from vcdebug.explain.decisions.dry_runs import (
    ONLY_CANDIDATE,
    PUT_BACK,
    TAKE,
    DryRunSearch,
    dry_run_at,
    dry_run_search_at,
    node_room,
    simulated_checks,
)
from vcdebug.explain.decisions.victim_funnel import funnel_at
from vcdebug.framework.record import HookEvent
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.views.equation import event_equation
from vcdebug.views.flow import flow_table, open_keys_around
from vcdebug.views.inside import inside_table
from vcdebug.views.pieces import text_of
from vcdebug.views.victim_search import dry_run_table, funnel_table

CONF = """\
actions: "allocate, preempt"
configurations:
- name: preempt
  arguments: {enableTopologyAwarePreemption: true, minCandidateNodesAbsolute: 2, minCandidateNodesPercentage: 100}
tiers:
- plugins: [{name: priority}, {name: gang}, {name: predicates}]
"""
HIGH, LOW, MIDDLE = 100, 1, 50


@cache
def recording(low: int = LOW) -> Recording:
    """n1 holds one medium-priority pod, n2 two small low-priority pods; a high-priority pod needs most of a node."""
    return replay_cycle(
        cluster(
            [node(name, cpu="4") for name in ("n1", "n2")],
            [priority_class(name, value) for name, value in (("hi", HIGH), ("mid", MIDDLE), ("lo", low))],
            pod_group("m", priority_class="mid", min_member=0),
            pods("m", 1, cpu="4", on="n1", priority=MIDDLE),
            pod_group("s", priority_class="lo", min_member=0),
            pods("s", 2, cpu="2", on="n2", priority=low),
            pod_group("h", priority_class="hi"),
            pods("h", 1, cpu="3", priority=HIGH),
            conf=CONF,
        )
    )


def simulated(found: Recording, point: str) -> list[int]:
    return [seq for seq in found.index.seqs_at_point(point) if isinstance(found.event_at(seq), HookEvent)]


def runs(found: Recording) -> DryRunSearch:
    search = dry_run_search_at(found, simulated(found, "SimulateRemoveTask")[0])
    assert search is not None
    return search


def test_each_dry_run_lists_removed_and_restored_tasks() -> None:
    first, second = runs(recording()).runs
    assert [("n1", ("default/m-0",)), ("n2", ("default/s-0", "default/s-1"))] == [
        (run.node, tuple(sorted(run.victims))) for run in (first, second)
    ]
    assert [(TAKE, True), (PUT_BACK, False)] == [(trial.verb, trial.fits) for trial in first.trials]
    verdicts = [(TAKE, False), (TAKE, True), (PUT_BACK, False), (PUT_BACK, False)]
    assert verdicts == [(trial.verb, trial.fits) for trial in second.trials]
    assert ["cpu is short", "", "cpu is short", "cpu is short"] == [trial.refusal for trial in second.trials]


def test_the_rule_that_chose_the_node_is_named() -> None:
    search = runs(recording())
    assert (2, 2, "n2", "the lowest top priority") == (
        search.nodes,
        search.wanted_candidates,
        search.winner,
        search.rule,
    )
    head = [text_of(line) for line in dry_run_table(recording(), search.runs[0].first_seq).header]
    assert "★ n2 wins: the lowest top priority" == head[1]


def test_an_only_candidate_needs_no_rule() -> None:
    alone = runs(recording(HIGH))
    assert ("n1", ONLY_CANDIDATE) == (alone.winner, alone.rule)


def test_the_room_inside_a_dry_run_is_the_simulated_one() -> None:
    found = recording()
    seq = simulated(found, "SimulatePredicate")[0]
    run = dry_run_at(found, seq)
    assert run is not None
    room = node_room(found, seq, "default/h-0", run.node)
    assert (("default/m-0",), 4000.0) == (room.removed_tasks, room.future_idle.milli_cpu)
    table = event_equation(found, seq)
    assert "✓" == table.rows[0].cells[0].text
    assert "+ away" in [column.title for column in table.columns]


def kept_apart() -> Recording:
    """The high-priority pod has an anti-affinity to app x; s-0 is removed before x-0."""
    selector, host = {"matchLabels": {"app": "x"}}, "kubernetes.io/hostname"
    term = {"labelSelector": selector, "topologyKey": host}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    unwanted = pod("x-0", "s", requests={"cpu": "2"}, on="n1", priority=MIDDLE)
    unwanted["metadata"]["labels"] = {"app": "x"}
    return replay_cycle(
        cluster(
            node("n1", cpu="4", labels={host: "n1"}),
            [priority_class(name, value) for name, value in (("hi", HIGH), ("lo", LOW))],
            pod_group("s", priority_class="lo", min_member=0),
            [pod("s-0", "s", requests={"cpu": "2"}, on="n1", priority=LOW), unwanted],
            pod_group("h", priority_class="hi"),
            [pod("h-0", "h", requests={"cpu": "1"}, priority=HIGH, affinity=apart)],
            conf=CONF,
        )
    )


def test_the_inside_of_a_dry_run_counts_pods_as_they_are_there() -> None:
    found = kept_apart()
    refused, passed = (simulated_checks(found, seq) for seq in simulated(found, "SimulatePredicate")[:2])
    assert refused is not None
    assert passed is not None
    verdicts = [[(check.plugin, check.equation.verdict) for check in checks] for checks in (refused, passed)]
    assert [[("", True), ("predicates", False)], [("", True), ("predicates", True)]] == verdicts
    counted = [checks[1].equation.terms[0].figures for checks in (refused, passed)]
    assert [("n1", 1, "default/x-0"), ("n1", 0, "")] == counted
    seq = simulated(found, "SimulatePredicate")[0]
    shown = [" ".join(cell.text for cell in row.cells) for row in inside_table(found, seq).rows]
    assert "away: s-0" in shown[0]
    assert any("which default/x-0" in text for text in shown)
    assert any("away 2" in text for text in shown)


def test_restored_task_without_room_is_removed_again() -> None:
    found = recording()
    added, removed = simulated(found, "SimulateAddTask")[0], simulated(found, "SimulateRemoveTask")[1]
    assert added < removed
    assert 0.0 == node_room(found, added, "default/h-0", "n1").future_idle.milli_cpu
    assert 4000.0 == node_room(found, removed, "default/h-0", "n1").future_idle.milli_cpu


def test_a_node_that_is_a_candidate_is_not_told_as_short_of_room() -> None:
    found = recording()
    seq = runs(found).runs[0].first_seq
    search = funnel_at(found, seq)
    assert search is not None
    assert ["candidate, 1 to go", "candidate, 2 to go"] == [each.outcome_words for each in search.tried_nodes][:2]
    table = funnel_table(found, seq)
    head = [text_of(line) for line in table.header]
    assert "2 nodes → 2 left by the predicates → 2 tried" == head[0]
    assert "3" == table.rows[0].cells[2].text, "pods of all tried nodes"
    rows = [row.cells for row in flow_table(found, open_keys_around(found, seq), seq).rows]
    assert any("n1" in cells[0].text and "candidate" in cells[1].text for cells in rows)


def test_a_placed_task_does_not_count_against_its_own_room() -> None:
    found = recording()
    seq = next(seq for seq in range(1, len(found) + 1) if getattr(found.event_at(seq), "op", "") == "pipeline")
    room = node_room(found, seq, "default/h-0", "n2")
    assert (seq, 4000.0) == (room.placed_seq, room.future_idle.milli_cpu)


def test_the_winner_that_a_scheduler_drew_is_the_one_that_is_named() -> None:
    found = recording().snapshot
    drawn = runs(replay_cycle(replace(found, chance=ChanceSettings(choices={"default/h-0": "n1"}))))
    assert ("n2", "n2") == (runs(recording()).winner, drawn.winner)
    single = CONF.replace("minCandidateNodesAbsolute: 2, minCandidateNodesPercentage: 100", "x: 1")
    first = replace(found, scheduler_conf=single, chance=ChanceSettings(choices={"default/h-0": "n2"}))
    assert [("n2", ONLY_CANDIDATE)] == [(one.winner, one.rule) for one in (runs(replay_cycle(first)),)]
