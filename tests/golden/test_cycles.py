"""Several cycles of one process against the real scheduler's, event by event, with all that happens between them.

The cases in `cycles/` are copies; where the whole corpus lies beside the checkout, all of it is replayed.
"""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.transcripts import call
from tests.golden.compare import first_difference_of_lines, read_lines
from tests.golden.several import replayed_cycles
from tests.golden.test_replay import FAMILIES
from tests.recorded import CASES, CORPUS, recorded

HERE = Path(__file__).resolve().parent
SINGLE_CYCLE = ("wild", "wildcore")
"""Families that were recorded for one cycle only."""


class Chain(NamedTuple):
    """Several recorded cycles: the case in which they begin, and where their trace lies."""

    case: Path
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.folder.parent.name}-{self.folder.name}"


RANDOM = {case.name: case for case in CASES if case.parent.name == "random"}


def chains(golden: Path) -> list[Chain]:
    """Every recording of several cycles."""
    found = sorted(golden.glob("cycles/*/*/trace.jsonl.gz"))
    return [Chain(RANDOM[trace.parent.name], trace.parent) for trace in found]


COPIES = chains(HERE)
ELSEWHERE = [chain for chain in chains(CORPUS) if chain.name not in [copy.name for copy in COPIES]]
"""The recordings of the corpus of which there is no copy."""
EACH = [pytest.param(*chain, id=chain.name) for chain in COPIES] + [
    pytest.param(*chain, id=chain.name, marks=pytest.mark.corpus) for chain in ELSEWHERE
]


def test_each_recorded_family_is_here() -> None:
    families = {chain.folder.name.rpartition("-")[0] for chain in COPIES}
    assert {*FAMILIES} - {*SINGLE_CYCLE} == families


@pytest.mark.parametrize(("case", "folder"), EACH)
def test_three_cycles_are_replayed_exactly(case: Path, folder: Path) -> None:
    difference = first_difference_of_lines(
        read_lines(folder / "trace.jsonl.gz"), replayed_cycles(recorded(case), folder)
    )
    assert difference is None, f"{folder.parent.name}-{folder.name}: {difference}"


def test_the_command_line_writes_the_same_cycles(tmp_path: Path) -> None:
    folder, trace = HERE / "cycles" / "churn" / "numa-0000", tmp_path / "trace.jsonl.gz"
    between = ["--every", "31s", "--finish", "thirds", "--arrivals", str(folder / "arrivals.json")]
    snapshot = str(HERE / "random" / "numa-0000")
    assert 0 == call(["run", snapshot, "--cycles", "3", *between, "--trace", str(trace)])[0]
    written = read_lines(trace)
    assert first_difference_of_lines(read_lines(folder / "trace.jsonl.gz"), written) is None
    assert [*range(1, len(written) + 1)] == [json.loads(line)["seq"] for line in written]
