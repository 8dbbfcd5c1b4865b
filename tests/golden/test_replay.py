"""The replay against the real scheduler's recordings, event by event.

The cases in `random/` are copies; where the whole corpus lies beside the checkout, it is replayed too, as far as its
configurations name nothing but what vcdebug has.
"""

import io
import json
from pathlib import Path

import pytest

from tests.golden.compare import Event, first_difference, read_trace
from tests.golden.outcome import Outcome
from vcdebug.actions import ACTIONS
from vcdebug.framework.conf import parse_conf
from vcdebug.plugins import PLUGINS
from vcdebug.snapshot.load import load
from vcdebug.trace.codec import write_jsonl
from vcdebug.trace.replay import replay

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parents[2] / "shared" / "golden"
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


def cases(folder: Path) -> list[Path]:
    return sorted(trace.parent for trace in folder.glob("*/trace.jsonl.gz"))


def is_supported(case: Path) -> bool:
    conf = parse_conf((case / "scheduler.conf").read_text(encoding="utf-8"))
    plugins = [option.name for tier in conf.tiers for option in tier]
    return {*plugins} <= {*PLUGINS} and {*conf.actions} <= {*ACTIONS}


def corpus() -> list[Path]:
    folders = [CORPUS / name for name in ("random", "causes", "upstream", "crash")]
    return [case for folder in folders for case in cases(folder) if is_supported(case)]


def replayed(case: Path) -> list[Event]:
    lines = io.StringIO()
    write_jsonl(replay(load(case)), lines)
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def assert_exact(case: Path) -> None:
    difference = first_difference(read_trace(case / "trace.jsonl.gz"), replayed(case))
    assert difference is None, f"{case.name}: {difference}"


def copies() -> list[Path]:
    return [case for name in ("random", "crash") for case in cases(HERE / name)]


def test_each_family_is_here_with_three_cases_or_more() -> None:
    families = [case.name.rpartition("-")[0] for case in cases(HERE / "random")]
    assert [family for family in FAMILIES if families.count(family) < 3] == []


@pytest.mark.parametrize("case", copies(), ids=lambda case: case.name)
def test_a_recorded_cycle_is_replayed_exactly(case: Path) -> None:
    assert_exact(case)


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")
@pytest.mark.parametrize("case", corpus(), ids=lambda case: case.name)
def test_the_corpus_is_replayed_exactly(case: Path) -> None:
    assert_exact(case)


def expectations() -> list[Path]:
    return [case for case in cases(CORPUS / "upstream") if (case / "expected.json").is_file()]


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")
@pytest.mark.parametrize("case", expectations(), ids=lambda case: case.name)
def test_what_upstreams_own_tests_expect_comes_true(case: Path) -> None:
    wanted = json.loads((case / "expected.json").read_text(encoding="utf-8"))
    got = Outcome.of(replay(load(case)))
    if wanted["binds"] is not None and not wanted["minimalBindCheck"]:
        assert wanted["binds"] == got.binds
    assert wanted["bindsNum"] == len(got.binds)
    assert sorted(wanted["evicted"] or []) == sorted(got.evicted)
    if wanted["pipelined"] is not None:
        assert wanted["pipelined"] == got.pipelined
    assert wanted["status"] == {job: got.phases.get(job) for job in wanted["status"]}


@pytest.mark.parametrize("name", ["preempt-0009", "mixed-0008"])
def test_the_same_snapshot_leaves_the_same_bytes(name: str) -> None:
    case = HERE / "random" / name
    first, second = io.StringIO(), io.StringIO()
    write_jsonl(replay(load(case)), first)
    write_jsonl(replay(load(case)), second)
    assert first.getvalue() == second.getvalue()
