"""Rows reused from one event to the next equal newly built ones."""

from itertools import pairwise

import pytest

from tests.recorded import bundled
from vcdebug.recording.recording import Recording
from vcdebug.recording.writes import api_writes
from vcdebug.views.effects import effects_table
from vcdebug.views.flow import flow_table, open_keys_around
from vcdebug.views.jobs import jobs_table
from vcdebug.views.nodes import nodes_table
from vcdebug.views.table import Table, format_table


def made_anew(recording: Recording, seq: int) -> list[str]:
    recording.memo.clear()
    return shown(recording, seq)


def shown(recording: Recording, seq: int) -> list[str]:
    tables: list[Table] = [
        jobs_table(recording, seq),
        nodes_table(recording, seq),
        effects_table(recording, seq),
        flow_table(recording, open_keys_around(recording, seq), seq),
    ]
    return [f"{table.current}\n{format_table(table)}" for table in tables]


@pytest.mark.parametrize("name", ["preempt-blocked-by-gang", "preempt-works"])
def test_kept_rows_are_those_of_the_moment(name: str) -> None:
    recording = bundled(name)
    seqs = [*range(1, len(recording) + 1, 5), *range(len(recording), 0, -7)]
    kept = [shown(recording, seq) for seq in seqs]
    assert [made_anew(recording, seq) for seq in seqs] == kept


def test_the_rows_are_the_same_until_something_changes() -> None:
    recording = bundled("preempt-works")
    operations = [seq for seq in range(1, len(recording) + 1) if recording.timeline.earliest_same_seq(seq) == seq]
    first = operations[1]
    assert jobs_table(recording, first).rows is jobs_table(recording, first + 1).rows or first + 1 in operations
    assert jobs_table(recording, first - 1).rows is not jobs_table(recording, first).rows
    assert nodes_table(recording, first - 1).rows is not nodes_table(recording, first).rows


def test_the_rows_of_effects_are_the_same_until_something_is_written() -> None:
    recording = bundled("preempt-works")
    written = {write.seq for write in api_writes(recording)}
    rows = [effects_table(recording, seq).rows for seq in range(1, len(recording) + 1)]
    changes = {seq for seq, (before, after) in enumerate(pairwise(rows), start=2) if before is not after}
    assert changes == {seq for write in written for seq in (write, write + 1) if 1 < seq <= len(recording)}
