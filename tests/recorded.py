"""The recorded cases, and their replays, which are cached per process.

A case is an unpacked folder under `tests/golden`, in the archive there, or in `shared/golden` beside the checkout,
which may have newer cases and those of upstream's own tests. The first of these places that has the case wins.
"""

import marshal
from functools import cache, lru_cache
from pathlib import Path
from time import perf_counter

import pytest

from tests.golden.archive import unpack_once
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import EventEncoder
from vcdebug.snapshot.loader import load_snapshot

ROOT = Path(__file__).resolve().parents[1]
LOOSE = ROOT / "tests" / "golden"
"""Folder of the unpacked cases, which many tests use and which are easy to open by hand."""
BESIDE = ROOT.parent / "shared" / "golden"
"""Optional folder of further cases, beside the checkout."""
PLACES = (LOOSE, unpack_once(), BESIDE)
FOLDERS = ("random", "causes", "upstream", "crash")
"""Parts of the corpus whose cases record one cycle each."""
WITHOUT_IDENTITY = 2
"""Newest marshal version that writes equal values to equal bytes, whether or not they are the same object."""
BUNDLED = sorted(path.name for path in (ROOT / "fixtures").iterdir() if path.is_dir())
"""Names of the bundled snapshots."""
BENCHMARKS = ROOT.parent / "shared" / "perf"
"""Optional folder of the clusters on which the product is measured, beside the checkout."""
BLOCKED = "preempt-blocked-by-gang"
"""The bundled snapshot in which gang makes preempt discard its statement."""


def find_recorded(pattern: str) -> list[Path]:
    """Files or folders of recordings by a pattern such as `random/*/trace.jsonl.gz`, sorted, without duplicates."""
    found: dict[Path, Path] = {}
    for place in PLACES:
        for path in place.glob(pattern):
            found.setdefault(path.relative_to(place), path)
    return [found[name] for name in sorted(found)]


def recorded_path(name: str) -> Path:
    """One file or folder of recordings, such as `random/basic-0000`."""
    (found,) = find_recorded(name)
    return found


def cases(part: str) -> list[Path]:
    """The cases of a part, in order."""
    return [trace.parent for trace in find_recorded(f"{part}/*/trace.jsonl.gz")]


def user_questions() -> list[Path]:
    """The clusters of users' questions: each has a question.json instead of a recording."""
    return [question.parent for question in find_recorded("threads/*/question.json")]


_ALL = [case for part in FOLDERS for case in cases(part)]
COPIES = [case for case in _ALL if LOOSE in case.parents]
"""The unpacked cases."""
GOLDEN = [case.name for case in COPIES if case.parent.name == "random"]
"""Names of the unpacked random cases."""
ELSEWHERE = [case for case in _ALL if LOOSE not in case.parents]
"""The cases in the archive and in the folder beside the checkout."""

CASES = [*COPIES, *ELSEWHERE]
each_case = pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name) for case in COPIES]
    + [pytest.param(case, id=case.name, marks=pytest.mark.corpus) for case in ELSEWHERE],
)
"""Parametrizes a test over every recorded case; tests/conftest.py runs the tests of one case in a row."""


def one_of_each_family(names: list[str]) -> list[str]:
    """The first unpacked case of each family among names such as `basic-0001`: a sample for quick tests."""
    found: dict[str, str] = {}
    for name in names:
        if name in GOLDEN:
            found.setdefault(name.rpartition("-")[0], name)
    return list(found.values())


@lru_cache(maxsize=2)
def recorded(case: Path) -> Recording:
    """The replay of a case, cached for the tests of that case, which run in a row."""
    return golden(case.name) if case.parent == LOOSE / "random" else replay_cycle(load_snapshot(case))


@cache
def golden(name: str) -> Recording:
    """The replay of an unpacked random case, cached because many tests use it."""
    return replay_cycle(load_snapshot(LOOSE / "random" / name))


@cache
def bundled(name: str = BLOCKED) -> Recording:
    """The replay of a bundled snapshot, with the seconds of its stages, which commands show."""
    return replay_cycle(load_snapshot(ROOT / "fixtures" / name), clock=perf_counter)


@cache
def thousand_nodes() -> Recording:
    """The replay of a measured cluster of 1,000 nodes; without it that of a bundled snapshot."""
    path = BENCHMARKS / "mixed-1000"
    return replay_cycle(load_snapshot(path)) if path.exists() else bundled("placed-by-score")


def written(recording: Recording) -> bytes:
    """The events of the trace as bytes, with types and key order, without the cost of formatting JSON."""
    encoder = EventEncoder(recording)
    return marshal.dumps([encoder.encode_event(event) for event in recording.events], WITHOUT_IDENTITY)
