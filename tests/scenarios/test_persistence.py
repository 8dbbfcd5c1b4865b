"""Task state persistence over several cycles, compared with the same cycles without it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.cli.transcripts import call
from tests.scenarios.questions import asked
from tests.scenarios.test_histories import gone, placed
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import PersistenceSetting, SchedulerProcess
from vcdebug.snapshot.saved_files import save_snapshot
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.cycles import CycleChain
from vcdebug.whatif.next_cycle import BetweenCycles, next_snapshot

Scenario = Callable[[PersistenceSetting], Snapshot]
CYCLES = 10
RECREATE = BetweenCycles(recreate=True)


def in_turns(setting: PersistenceSetting) -> Snapshot:
    """Scenario 4949: two queues that reclaim the same node from each other."""
    return replace(asked(4949).recording().snapshot, persistence=setting)


def restarted(setting: PersistenceSetting) -> Snapshot:
    """in_turns after its first cycle, seen by a restarted scheduler: a-0 terminates, b-0 is pipelined there."""
    left = next_snapshot(replay_cycle(in_turns("on")), BetweenCycles(interval=timedelta(seconds=0.5)))
    return replace(left, process=SchedulerProcess(), persistence=setting)


def ten(snapshot: Snapshot) -> list[Recording]:
    cycles = CycleChain(replay_cycle(snapshot), RECREATE)
    cycles.run_cycles(CYCLES)
    return list(cycles.recordings)


@pytest.mark.parametrize("scenario", [in_turns, restarted])
def test_with_persistence_the_cluster_settles(scenario: Scenario) -> None:
    cycles = ten(scenario("on"))
    assert [] == [task for one in cycles[1:] for task in gone(one)]
    assert ["team/b-0"] == [task for one in cycles[1:] for task in placed(one)]


@pytest.mark.parametrize("scenario", [in_turns, restarted])
def test_without_persistence_it_never_does(scenario: Scenario) -> None:
    cycles = ten(scenario("off"))
    evictions = [task for one in cycles for task in gone(one)]
    assert 4 <= len(evictions)
    assert {"team/a-0"} == {*evictions}


@pytest.mark.parametrize(("scenario", "cycle"), [(in_turns, 2), (restarted, 1)])
def test_diff_names_the_first_cycle_and_the_first_event_that_differ(
    scenario: Scenario, cycle: int, tmp_path: Path
) -> None:
    save_snapshot(scenario("on"), tmp_path / "s.tar.gz")
    options = ["--cycles", str(CYCLES), "--recreate", "--set", "replay:persistence=off"]
    code, out, _ = call(["diff", str(tmp_path / "s.tar.gz"), *options, "--json"])
    found = json.loads(out)
    assert (2, cycle, False) == (code, found["cycle"], found["same"])
    assert found["firstDifference"] is not None
