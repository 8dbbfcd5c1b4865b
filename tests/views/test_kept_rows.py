"""Rows that are kept from one moment to the next say what they would if they were made anew."""

import pytest

from tests.recorded import bundled
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Table, plain
from vcdebug.views.flow import around, flow
from vcdebug.views.jobs import jobs
from vcdebug.views.nodes import nodes


def made_anew(recording: Recording, seq: int) -> list[str]:
    recording.memo.clear()
    return shown(recording, seq)


def shown(recording: Recording, seq: int) -> list[str]:
    tables: list[Table] = [
        jobs(recording, seq),
        nodes(recording, seq),
        flow(recording, around(recording, seq), seq),
    ]
    return [f"{table.current}\n{plain(table)}" for table in tables]


@pytest.mark.parametrize("name", ["preempt-blocked-by-gang", "preempt-works"])
def test_kept_rows_are_those_of_the_moment(name: str) -> None:
    recording = bundled(name)
    seqs = [*range(1, len(recording) + 1, 5), *range(len(recording), 0, -7)]
    kept = [shown(recording, seq) for seq in seqs]
    assert [made_anew(recording, seq) for seq in seqs] == kept


def test_the_rows_are_the_same_until_something_changes() -> None:
    recording = bundled("preempt-works")
    operations = [seq for seq in range(1, len(recording) + 1) if recording.timeline.same_as(seq) == seq]
    first = operations[1]
    assert jobs(recording, first).rows is jobs(recording, first + 1).rows or first + 1 in operations
    assert jobs(recording, first - 1).rows is not jobs(recording, first).rows
    assert nodes(recording, first - 1).rows is not nodes(recording, first).rows
