"""Several cycles of one process against the real scheduler's, event by event, with all that happens between them.

The cases in `cycles/` are copies; where the whole corpus lies beside the checkout, all of it is replayed.
"""

import gzip
import json
from pathlib import Path

import pytest

from tests.cli.transcripts import call
from tests.golden.compare import first_difference, read_trace
from tests.golden.several import replayed_cycles
from tests.golden.test_replay import FAMILIES
from tests.recorded import CORPUS

HERE = Path(__file__).resolve().parent
SINGLE_CYCLE = ("wild", "wildcore")
"""Families that were recorded for one cycle only."""


def cases(golden: Path) -> list[tuple[Path, Path]]:
    """Snapshot and recording of every case."""
    found = sorted(golden.glob("cycles/*/*/trace.jsonl.gz"))
    return [(golden / "random" / trace.parent.name, trace.parent) for trace in found]


def name_of(case: tuple[Path, Path]) -> str:
    return f"{case[1].parent.name}-{case[1].name}"


_COPIED = [name_of(case) for case in cases(HERE)]
ELSEWHERE = [case for case in cases(CORPUS) if name_of(case) not in _COPIED]
"""The cases of the corpus of which there is no copy."""


def assert_exact(case: tuple[Path, Path]) -> None:
    snapshot, recorded = case
    difference = first_difference(read_trace(recorded / "trace.jsonl.gz"), replayed_cycles(snapshot, recorded))
    assert difference is None, f"{name_of(case)}: {difference}"


def test_each_recorded_family_is_here() -> None:
    families = {recorded.name.rpartition("-")[0] for _, recorded in cases(HERE)}
    assert {*FAMILIES} - {*SINGLE_CYCLE} == families


@pytest.mark.parametrize("case", cases(HERE), ids=name_of)
def test_three_cycles_are_replayed_exactly(case: tuple[Path, Path]) -> None:
    assert_exact(case)


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")
@pytest.mark.parametrize("case", ELSEWHERE, ids=name_of)
def test_the_corpus_of_cycles_is_replayed_exactly(case: tuple[Path, Path]) -> None:
    assert_exact(case)


def test_the_command_line_writes_the_same_cycles(tmp_path: Path) -> None:
    recorded, trace = HERE / "cycles" / "churn" / "numa-0000", tmp_path / "trace.jsonl.gz"
    between = ["--every", "31s", "--finish", "thirds", "--arrivals", str(recorded / "arrivals.json")]
    snapshot = str(HERE / "random" / "numa-0000")
    assert 0 == call(["run", snapshot, "--cycles", "3", *between, "--trace", str(trace)])[0]
    written = [json.loads(line) for line in gzip.decompress(trace.read_bytes()).splitlines()]
    assert first_difference(read_trace(recorded / "trace.jsonl.gz"), written) is None
    assert [*range(1, len(written) + 1)] == [event["seq"] for event in written]
