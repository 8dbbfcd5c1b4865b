"""The stepping keys land on the rows of the drawn tree; the check does not use the model that moves."""

import random

import pytest

from tests.builders import cluster, node, pod_group, pods
from tests.recorded import BLOCKED, bundled, thousand_nodes
from vcdebug.debugger.debugger import Debugger
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.views.flow import depth_of, flow_at
from vcdebug.views.table import Row

POSITIONS = 40
ONE_JOB_IN_A_CYCLE = 1300


def drawn_rows(recording: Recording, seq: int) -> tuple[list[Row], int]:
    """The rows of events, unfolded around the cursor, and the index of the cursor's row."""
    table = flow_at(recording, seq)
    # Rows inside "session opens" belong to a page of their own and hold no events.
    rows = [row for row in table.rows if row.key.count(".") == 0]
    return rows, next(at for at, row in enumerate(rows) if row.key == table.current)


def expected_landings(recording: Recording, seq: int) -> dict[str, int | None]:
    """The event of the row that each key should reach; None where no row is left."""
    rows, here = drawn_rows(recording, seq)
    depth = depth_of(rows[here])
    below, above = rows[here + 1 :], rows[:here][::-1]
    outer = max(depth, 1)
    return {
        "n": next((row.seq for row in below if depth_of(row) <= depth), None),
        "f": next((row.seq for row in below if depth_of(row) < outer), None),
        "N": next((row.seq for row in above if depth_of(row) <= depth), None),
        "F": next((row.seq for row in above if depth_of(row) < depth), None),
    }


def landings(recording: Recording, seq: int) -> dict[str, int | None]:
    """The event to which each key leads; None if the cycle ends there."""
    found: dict[str, int | None] = {}
    for key, move in (("n", "step_over"), ("f", "step_out"), ("N", "step_over"), ("F", "step_out")):
        debugger = Debugger(recording)
        debugger.place_at(seq)
        result = getattr(debugger, move)(back=key.isupper())
        found[key] = result.position.seq if result.reason == "step" else None
    return found


def positions(recording: Recording) -> list[int]:
    return sorted(random.Random(20261126).choices(range(1, len(recording) + 1), k=POSITIONS))


@pytest.mark.parametrize("name", [BLOCKED, "shared-by-hierarchy", "gangpreempt-bundles"])
def test_each_key_lands_where_the_tree_says(name: str) -> None:
    recording = bundled(name)
    for seq in positions(recording):
        assert expected_landings(recording, seq) == landings(recording, seq), seq


def test_each_key_lands_where_the_tree_says_in_a_large_cycle() -> None:
    recording = thousand_nodes()
    for seq in positions(recording):
        assert expected_landings(recording, seq) == landings(recording, seq), seq


def test_one_key_leaves_the_opening_of_the_session_however_many_jobs_there_are() -> None:
    jobs = [manifest for at in range(ONE_JOB_IN_A_CYCLE) for manifest in (pod_group(f"j{at}"), *pods(f"j{at}", 1))]
    recording = replay_cycle(cluster(node("n1"), *jobs))
    rows, _ = drawn_rows(recording, 1)
    for seq, key in ((1, "n"), (700, "f")):
        assert rows[1].seq == landings(recording, seq)[key]


def test_two_keys_reach_the_first_action_of_the_demo() -> None:
    debugger = Debugger(bundled(BLOCKED))
    keys = 0
    while debugger.enclosing_name("action") == "":
        debugger.step_over()
        keys += 1
    assert keys <= 2
