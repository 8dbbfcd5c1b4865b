"""The replay against the real scheduler's recordings, event by event."""

import io
import json
from pathlib import Path

import pytest

from tests.golden.compare import first_difference_of_lines, read_lines
from tests.golden.outcome import Outcome
from tests.recorded import GOLDEN, cases, each_case, golden, recorded
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import write_jsonl
from vcdebug.snapshot.loader import load_snapshot

HERE = Path(__file__).resolve().parent
FAMILIES = (
    "basic",
    "preempt",
    "preempt-topology",
    "reclaim",
    "mixed",
    "predicates",
    "nominated",
    "pods",
    "wildcore",
    "capacity",
    "gang",
    "hypernode",
    "subgroup",
    "volumes",
    "devices",
    "numa",
    "usage",
    "misc",
    "wild",
)


def lines(recording: Recording) -> list[str]:
    file = io.StringIO()
    write_jsonl(recording, file)
    return file.getvalue().splitlines()


def test_each_family_is_here_with_three_cases_or_more() -> None:
    families = [name.rpartition("-")[0] for name in GOLDEN]
    assert [family for family in FAMILIES if families.count(family) < 3] == []


@each_case
def test_a_recorded_cycle_is_replayed_exactly(case: Path) -> None:
    difference = first_difference_of_lines(read_lines(case / "trace.jsonl.gz"), lines(recorded(case)))
    assert difference is None, f"{case.name}: {difference}"


def expectations() -> list[Path]:
    return [case for case in cases("upstream") if (case / "expected.json").is_file()]


@pytest.mark.corpus
@pytest.mark.parametrize("case", expectations(), ids=lambda case: case.name)
def test_what_upstreams_own_tests_expect_comes_true(case: Path) -> None:
    wanted = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    got = Outcome.of(recorded(case))
    if wanted["binds"] is not None and not wanted["minimalBindCheck"]:
        assert wanted["binds"] == got.binds
    assert wanted["bindsNum"] == len(got.binds)
    assert sorted(wanted["evicted"] or []) == sorted(got.evicted)
    if wanted["pipelined"] is not None:
        assert wanted["pipelined"] == got.pipelined
    assert wanted["status"] == {job: got.phases.get(job) for job in wanted["status"]}


@pytest.mark.parametrize("name", ["preempt-0009", "mixed-0008"])
def test_the_same_snapshot_leaves_the_same_bytes(name: str) -> None:
    assert lines(golden(name)) == lines(replay_cycle(load_snapshot(HERE / "random" / name)))
