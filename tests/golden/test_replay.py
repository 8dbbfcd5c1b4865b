"""The replay against the real scheduler's recordings, event by event.

The cases in `random/` are copies; where the whole corpus lies beside the checkout, it is replayed too, as far as its
configurations name nothing but what vcdebug has.
"""

import io
import json
from pathlib import Path

import pytest

from tests.golden.compare import Event, first_difference, read_trace
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
)


def cases(folder: Path) -> list[Path]:
    return sorted(trace.parent for trace in folder.glob("*/trace.jsonl.gz"))


def is_supported(case: Path) -> bool:
    conf = parse_conf((case / "scheduler.conf").read_text(encoding="utf-8"))
    plugins = [option.name for tier in conf.tiers for option in tier]
    return {*plugins} <= {*PLUGINS} and {*conf.actions} <= {*ACTIONS}


def corpus() -> list[Path]:
    folders = [CORPUS / name for name in ("random", "causes", "upstream")]
    return [case for folder in folders for case in cases(folder) if is_supported(case)]


def replayed(case: Path) -> list[Event]:
    lines = io.StringIO()
    write_jsonl(replay(load(case)), lines)
    return [json.loads(line) for line in lines.getvalue().splitlines()]


def assert_exact(case: Path) -> None:
    difference = first_difference(read_trace(case / "trace.jsonl.gz"), replayed(case))
    assert difference is None, f"{case.name}: {difference}"


def test_each_family_is_here_with_four_cases_or_more() -> None:
    families = [case.name.rpartition("-")[0] for case in cases(HERE / "random")]
    assert [family for family in FAMILIES if families.count(family) < 4] == []


@pytest.mark.parametrize("case", cases(HERE / "random"), ids=lambda case: case.name)
def test_a_recorded_cycle_is_replayed_exactly(case: Path) -> None:
    assert_exact(case)


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout")
@pytest.mark.parametrize("case", corpus(), ids=lambda case: case.name)
def test_the_corpus_is_replayed_exactly(case: Path) -> None:
    assert_exact(case)


@pytest.mark.parametrize("name", ["preempt-0009", "mixed-0008"])
def test_the_same_snapshot_leaves_the_same_bytes(name: str) -> None:
    case = HERE / "random" / name
    first, second = io.StringIO(), io.StringIO()
    write_jsonl(replay(load(case)), first)
    write_jsonl(replay(load(case)), second)
    assert first.getvalue() == second.getvalue()
