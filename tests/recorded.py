"""The recorded cases, and replays that several tests look at: each is made once in a process.

A case lies loose under `tests/golden`, in the archive there, or in a folder beside the checkout, which may have newer
cases and those of upstream's own tests; the first of these that has it counts.
"""

import marshal
from functools import cache, lru_cache
from pathlib import Path

import pytest

from tests.golden.archive import unpack_once
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import EventEncoder
from vcdebug.snapshot.loader import load_snapshot

ROOT = Path(__file__).resolve().parents[1]
LOOSE = ROOT / "tests" / "golden"
"""The cases that many tests look at, and that are easy to open by hand."""
BESIDE = ROOT.parent / "shared" / "golden"
"""Where more cases lie, if they do."""
PLACES = (LOOSE, unpack_once(), BESIDE)
FOLDERS = ("random", "causes", "upstream", "crash")
"""The parts that are one cycle each."""
WITHOUT_IDENTITY = 2
"""The newest form of marshal that writes equal values alike, one object or two."""
BLOCKED = "preempt-blocked-by-gang"
"""The bundled snapshot of a preemption that is discarded because of gang."""


def find_recorded(pattern: str) -> list[Path]:
    """Files or folders of recordings by a pattern such as `random/*/trace.jsonl.gz`, each once, in order."""
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
    """The clusters of users' questions, which nothing recorded: each has a question.json."""
    return [question.parent for question in find_recorded("threads/*/question.json")]


_ALL = [case for part in FOLDERS for case in cases(part)]
COPIES = [case for case in _ALL if LOOSE in case.parents]
"""The loose cases."""
GOLDEN = [case.name for case in COPIES if case.parent.name == "random"]
"""Names of the loose random cases."""
ELSEWHERE = [case for case in _ALL if LOOSE not in case.parents]
"""The cases of the archive and of the folder beside the checkout."""

CASES = [*COPIES, *ELSEWHERE]
each_case = pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name) for case in COPIES]
    + [pytest.param(case, id=case.name, marks=pytest.mark.corpus) for case in ELSEWHERE],
)
"""A test of every recorded case; tests/conftest.py lets those of one case follow each other."""


def one_of_each_family(names: list[str]) -> list[str]:
    """Of names such as `basic-0001`, the first of each family that lies loose: a sample for quick tests."""
    found: dict[str, str] = {}
    for name in names:
        if name in GOLDEN:
            found.setdefault(name.rpartition("-")[0], name)
    return list(found.values())


@lru_cache(maxsize=2)
def recorded(case: Path) -> Recording:
    """The replay of a case, kept while its tests follow each other."""
    return golden(case.name) if case.parent == LOOSE / "random" else replay_cycle(load_snapshot(case))


@cache
def golden(name: str) -> Recording:
    """The replay of a loose random case, to which many tests come back."""
    return replay_cycle(load_snapshot(LOOSE / "random" / name))


@cache
def bundled(name: str = BLOCKED) -> Recording:
    """The replay of a bundled snapshot."""
    return replay_cycle(load_snapshot(ROOT / "fixtures" / name))


def written(recording: Recording) -> bytes:
    """All that its trace says, each value with its type and keys in their order, without spelling it as text."""
    encoder = EventEncoder(recording)
    return marshal.dumps([encoder.encode_event(event) for event in recording.events], WITHOUT_IDENTITY)
