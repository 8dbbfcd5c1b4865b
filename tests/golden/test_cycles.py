"""Several cycles of one process equal the real scheduler's, event by event, with the changes between cycles.

`cycles/` holds traces and arrivals only: the first cycle's inputs are those of `random/`.
"""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.transcripts import call
from tests.golden.compare import first_difference_of_lines, read_lines
from tests.golden.several import replayed_cycles
from tests.golden.test_replay import FAMILIES
from tests.recorded import find_recorded, one_of_each_family, recorded, recorded_path

SINGLE_CYCLE = ("wild", "wildcore")
"""Families that have recordings of one cycle only."""


class Chain(NamedTuple):
    """Several recorded cycles: the case of the first one, and the folder of their trace."""

    case: Path
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}-{self.folder.name}"


CHAINS = [
    Chain(recorded_path(f"random/{trace.parent.name}"), trace.parent)
    for trace in find_recorded("cycles/*/*/trace.jsonl.gz")
]
CHURN = [chain.case.name for chain in CHAINS if chain.folder.parent.name == "churn"]
SAMPLE = [f"churn-{name}" for name in one_of_each_family(CHURN)]
EACH = [
    pytest.param(*chain, id=chain.name, marks=() if chain.name in SAMPLE else pytest.mark.corpus) for chain in CHAINS
]


@pytest.mark.parametrize("kind", ["churn", "plain"])
def test_each_recorded_family_is_here(kind: str) -> None:
    families = {chain.case.name.rpartition("-")[0] for chain in CHAINS if chain.folder.parent.name == kind}
    assert {*FAMILIES} - {*SINGLE_CYCLE} == families


@pytest.mark.parametrize(("case", "folder"), EACH)
def test_three_cycles_are_replayed_exactly(case: Path, folder: Path) -> None:
    difference = first_difference_of_lines(
        read_lines(folder / "trace.jsonl.gz"), replayed_cycles(recorded(case), folder)
    )
    assert difference is None, f"{folder.parent.name}-{folder.name}: {difference}"


def test_the_command_line_writes_the_same_cycles(tmp_path: Path) -> None:
    folder, trace = recorded_path("cycles/churn/numa-0000"), tmp_path / "trace.jsonl.gz"
    between = ["--every", "31s", "--finish", "thirds", "--arrivals", str(folder / "arrivals.json")]
    snapshot = str(recorded_path("random/numa-0000"))
    assert 0 == call(["run", snapshot, "--cycles", "3", *between, "--trace", str(trace)])[0]
    written = read_lines(trace)
    assert first_difference_of_lines(read_lines(folder / "trace.jsonl.gz"), written) is None
    assert [*range(1, len(written) + 1)] == [json.loads(line)["seq"] for line in written]
