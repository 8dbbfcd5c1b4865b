"""Topology-aware preemption: which node's dry run ends first is random; the replay follows the log."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from tests.actions.outcome import ops
from tests.builders import cluster, conf_of, node, pod_group, pods, priority_class
from tests.conformance.deeds import recorded, scheduler, verify_program
from vcdebug.conformance.scheduler_log import SchedulerLog
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.snapshot import Snapshot

TOPOLOGY = "configurations:\n- name: preempt\n  arguments:\n    enableTopologyAwarePreemption: true\n"


def full(members: int, actions: str = "preempt") -> Snapshot:
    """Three nodes, each with one small pod; a gang of `members` would evict one pod per member."""
    classes = [priority_class("high", 100), priority_class("low", 1)]
    small = [
        part
        for i in (1, 2, 3)
        for part in (pod_group(f"l{i}", priority_class="low", min_member=0), *pods(f"l{i}", 1, on=f"n{i}", priority=1))
    ]
    gang = [pod_group("h", priority_class="high", min_member=members), *pods("h", members, priority=100)]
    conf = conf_of("priority gang", "predicates nodeorder", actions=actions) + TOPOLOGY
    return cluster(classes, [node(f"n{i}", cpu="1") for i in (1, 2, 3)], small, gang, conf=conf)


def placements(snapshot: Snapshot) -> list[str]:
    return [one.partition(" ")[2] for one in ops(replay_cycle(snapshot)) if one.startswith("pipeline")]


def won(pod: str, node_name: str, victim: str) -> list[str]:
    """Log lines of a dry run."""
    return [
        "the predicateNodes number is 3",
        f"Try to preempt Task <default/{victim}> for Task <default/{pod}>",
        f"After pipelined Task <default/{pod}> to Node <{node_name}>: idle <>, used <>, releasing <>",
    ]


def test_every_dry_run_of_a_pod_has_its_own_winner() -> None:
    """Three of four pods find a node, so the gang is discarded; the action runs twice."""
    known = {"default/h-0": "n3;n2", "default/h-1": "n2;n1", "default/h-2": "n1"}
    snapshot = replace(full(4, actions="preempt, preempt"), chance=ChanceSettings(dry_runs=known))
    assert ["h-0@n3", "h-1@n2", "h-2@n1", "h-0@n2", "h-1@n1", "h-2@n3"] == placements(snapshot)


def test_a_winner_that_is_not_known_any_more_is_the_first_node() -> None:
    snapshot = replace(full(1), chance=ChanceSettings(choices={"default/h-0": "n2"}, dry_runs={"default/h-0": "n9"}))
    assert ops(replay_cycle(snapshot))[-1] == "pipeline h-0@n1"


def test_the_log_names_the_winner_of_every_dry_run_that_found_one() -> None:
    runs = SchedulerLog()
    nothing = ["the predicateNodes number is 3", "Preemptor <default/b> failed to preempt Task , err: none"]
    elsewhere = ["After pipelined Task <default/b> to Node <n9>: idle <>, used <>, releasing <>"]
    for line in [*won("a", "n1", "v"), *nothing, *elsewhere, *won("b", "n2", "v"), *won("a", "n3", "w")]:
        runs.add_line(f"I1122 10:00:00.000000       1 preempt.go:1] {line}")
    assert {"default/a": "n1;n3", "default/b": "n2"} == runs.drawn_chance([]).dry_runs
    runs.begin_cycle()
    assert ChanceSettings() == runs.drawn_chance([])


def test_verify_agrees_with_other_dry_run_winners_from_the_log(tmp_path: Path) -> None:
    snapshot = full(2)
    drawn = replace(snapshot, chance=ChanceSettings(dry_runs={"default/h-0": "n3", "default/h-1": "n2"}))
    says = [*won("h-0", "n3", "l3-0"), *won("h-1", "n2", "l2-0")]
    found = verify_program(snapshot, scheduler(tmp_path, snapshot, recorded(drawn), says=says))
    assert found.is_agreed
    assert ["default/l2-0", "default/l3-0"] == sorted(found.observed.evicted)
    assert {"chance:dry_runs[default/h-0]=n3", "chance:dry_runs[default/h-1]=n2"} <= {*found.chance_edits}
    assert [True] == ["the log is not compared line by line: dry runs" in note for note in found.notes[1:]]
