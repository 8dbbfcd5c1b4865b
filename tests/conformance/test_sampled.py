"""Searches of a sample of the nodes: the replay follows the scheduler's sample, or calls it a random choice."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.builders import cluster, conf_of, node, pod_group, pods
from tests.conformance.deeds import recorded, scheduler, verify_program
from vcdebug.conformance.cycle_outcome import CycleOutcome, predicted_outcome
from vcdebug.conformance.nearest_replay import follow_scheduler
from vcdebug.conformance.scheduler_log import SchedulerLog
from vcdebug.framework.record import PredicateEvent
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.snapshot import Snapshot

POD = "default/j-0"


def sampled(*, small: str = "", count: int = 1) -> Snapshot:
    """Ten nodes of increasing size; a search stops at two feasible nodes, and the emptiest one wins."""
    conf = conf_of("priority gang", "predicates nodeorder", actions="enqueue allocate")
    nodes = [node(f"n{i}", cpu="1" if f"n{i}" == small else str(4 + i)) for i in range(10)]
    snapshot = cluster(nodes, pod_group("j"), pods("j", count, cpu="2"), conf=conf)
    snapshot.flags = replace(snapshot.flags, minimum_feasible_nodes=2, percentage_nodes_to_find=20)
    return snapshot


def search(snapshot: Snapshot, searches: str, choice: str = "") -> PredicateEvent:
    chance = ChanceSettings(choices={POD: choice} if choice else {}, searches={POD: searches} if searches else {})
    events = replay_cycle(replace(snapshot, chance=chance)).events
    return next(event for event in events if isinstance(event, PredicateEvent))


def verdict(folder: Path, snapshot: Snapshot, bound: str) -> str:
    outcome = recorded(snapshot)
    altered = replace(outcome, bound={**outcome.bound, POD: bound})
    (job,) = verify_program(snapshot, scheduler(folder, snapshot, altered)).jobs
    return job.verdict_word


def test_a_search_visits_the_nodes_that_are_known_and_drops_the_last_but_the_choice() -> None:
    assert [0, 1] == search(sampled(), "").feasible.tolist()
    assert ([5, 6], 3) == ((found := search(sampled(), "5-7")).feasible.tolist(), found.processed)
    assert [7, 5] == search(sampled(), "5-7", choice="n7").feasible.tolist()
    assert [9, 0] == search(sampled(), "9-9,0-1").feasible.tolist()


@pytest.mark.parametrize("searches", ["5-6", "0-9", "5-12", "5-7,6-8", "4-4"])
def test_a_search_that_no_scheduler_can_have_made_is_not_followed(searches: str) -> None:
    assert [0, 1] == search(sampled(), searches).feasible.tolist()


def test_a_bind_to_a_node_that_a_sample_may_have_held_agrees(tmp_path: Path) -> None:
    assert {POD: "n1"} == recorded(sampled()).bound
    assert "agreed" == verdict(tmp_path, sampled(), "n9")


def test_a_bind_that_a_sample_would_not_explain_but_that_fits_is_chance(tmp_path: Path) -> None:
    snapshot = sampled()
    outcome = recorded(snapshot)
    altered = replace(outcome, bound={**outcome.bound, POD: "n0"})
    found = verify_program(snapshot, scheduler(tmp_path, snapshot, altered))
    (job,) = found.jobs
    assert ("random choice", True) == (job.verdict_word, found.is_agreed)
    assert job.decision is not None
    assert "node sampling: 3 of 10 nodes were checked" in job.decision.text


def test_a_bind_to_a_node_that_does_not_fit_differs(tmp_path: Path) -> None:
    assert "differs" == verdict(tmp_path, sampled(small="n9"), "n9")


def test_other_node_is_a_difference_if_all_nodes_are_searched(tmp_path: Path) -> None:
    snapshot = sampled()
    snapshot.flags = replace(snapshot.flags, percentage_nodes_to_find=100)
    assert "differs" == verdict(tmp_path, snapshot, "n0")


def test_nodes_that_outscore_the_chosen_one_are_dropped_from_a_sampled_search() -> None:
    """The replay infers from the chosen node which of the logged nodes the search dropped as too late."""
    snapshot = sampled()
    seen = predicted_outcome(replay_cycle(snapshot))
    seen = replace(seen, bound={POD: "n5"}, events={})
    found = follow_scheduler(snapshot, seen, logged_chance=ChanceSettings(searches={POD: "6-6,4-5"}))
    assert (0, 0) == found.difference_rank
    assert {POD: "4-6"} == found.recording.snapshot.chance.searches
    assert (
        0
        < follow_scheduler(
            snapshot, replace(seen, bound={POD: "n4"}), logged_chance=ChanceSettings(searches={POD: "6-6,4-5"}), seeds=0
        ).difference_rank[0]
    )


def lines(task: str, nodes: Iterable[str]) -> list[str]:
    head = "I1122 20:35:40.689257   24532 predicate_helper.go:84] Considering Task"
    return [f"{head} <{task}> on node <{name}>: <cpu 1000.00> vs. <cpu 2000.00>" for name in nodes]


def test_the_log_names_the_nodes_of_every_search_in_the_order_of_the_round() -> None:
    log = SchedulerLog()
    for line in [*lines("x/a", ("n3", "n0", "n2")), *lines("x/b", ("n1",)), *lines("x/a", ("n0", "n1", "n0"))]:
        log.add_line(line)
    assert {"x/a": "2-3,0-0;0-1;0-0", "x/b": "1-1"} == log.drawn_chance(["n0", "n1", "n2", "n3"]).searches
    assert {"x/b": "1-1"} == log.drawn_chance(["n0", "n1"]).searches
    log.begin_cycle()
    assert ChanceSettings() == log.drawn_chance(["n0"])


def test_note_states_that_log_lines_are_not_compared_after_followed_searches(tmp_path: Path) -> None:
    snapshot = sampled()
    outcome = replace(recorded(snapshot), bound={POD: "n5"})
    says = [line.partition("] ")[2] for line in lines(POD, ("n4", "n5"))]
    found = verify_program(snapshot, scheduler(tmp_path, snapshot, outcome, says=says))
    assert (["agreed"], None) == ([one.verdict_word for one in found.jobs], found.log_difference)
    assert any(
        "the log is not compared line by line: random searches were taken from the log" in note for note in found.notes
    )


def test_no_search_is_followed_where_all_nodes_are_looked_at(tmp_path: Path) -> None:
    snapshot = sampled()
    snapshot.flags = replace(snapshot.flags, percentage_nodes_to_find=100)
    outcome = replace(recorded(snapshot), bound={POD: "n0"})
    says = [line.partition("] ")[2] for line in lines(POD, ("n4", "n5"))]
    found = verify_program(snapshot, scheduler(tmp_path, snapshot, outcome, says=says))
    assert {} == found.recording.snapshot.chance.searches
    assert ("the log is not compared line by line: no scheduling cycle found in this log",) == found.notes


def test_long_log_keeps_its_beginning_and_end(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w", encoding="utf-8") as file:
        log = SchedulerLog(file, max_lines=2)
        for number in range(4):
            log.add_line(f"line {number}")
        assert 4 == len([*log])
        log.add_line("panic: no")
        assert ["line 0", "line 1", "line 3", "panic: no"] == [*log]
    assert "panic: no" == log.last_words()
    assert 5 == len((tmp_path / "log").read_text(encoding="utf-8").splitlines())


def test_a_cycle_before_the_podgroups_arrived_is_passed_over(tmp_path: Path) -> None:
    snapshot = sampled()
    lines: list[str] = []
    found = verify_program(snapshot, scheduler(tmp_path, snapshot, recorded(snapshot), misses=1), tell=lines.append)
    assert any("cycle 2 began before the PodGroups had arrived" in line for line in lines)
    assert (["agreed"], {POD: "n1"}) == ([one.verdict_word for one in found.jobs], found.observed.bound)


class Hasty:
    """A clock that jumps past the time limit once verify waits for another cycle."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def hear(self, line: str) -> None:
        if line.endswith("the next one is compared"):
            self.ahead = 3600.0


def test_a_cycle_that_saw_too_few_jobs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler runs no further cycle."""
    snapshot, clock = sampled(), Hasty()
    monkeypatch.setattr("vcdebug.conformance.scheduler_program.time", clock)
    found = verify_program(snapshot, scheduler(tmp_path, snapshot, CycleOutcome(), sees=0), tell=clock.hear)
    assert clock.ahead
    assert "the cycle did not finish in time" == found.early_end
    assert any("the scheduler's cycle had 0 jobs, the replay's 1" in note for note in found.notes)
