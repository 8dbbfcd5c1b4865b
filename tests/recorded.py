"""The recorded cases, and replays that several tests look at: each is made once in a process.

The cases under `tests/golden` are copies; where the whole corpus lies beside the checkout, its other cases count too.
"""

import marshal
from functools import cache, lru_cache
from pathlib import Path

import pytest

from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import replay_cycle
from vcdebug.recording.trace_schema import EventEncoder
from vcdebug.snapshot.loader import load_snapshot

ROOT = Path(__file__).resolve().parents[1]
CORPUS = ROOT.parent / "shared" / "golden"
"""Where the whole corpus lies, if it does."""
FOLDERS = ("random", "causes", "upstream", "crash")
"""The parts of the corpus that are one cycle each."""
WITHOUT_IDENTITY = 2
"""The newest form of marshal that writes equal values alike, one object or two."""
BLOCKED = "preempt-blocked-by-gang"
"""The bundled snapshot of a preemption that is discarded because of gang."""


def cases(folder: Path) -> list[Path]:
    """The cases of a folder, in order."""
    return sorted(trace.parent for trace in folder.glob("*/trace.jsonl.gz"))


COPIES = [case for name in FOLDERS for case in cases(ROOT / "tests" / "golden" / name)]
GOLDEN = [case.name for case in COPIES if case.parent.name == "random"]
"""Names of the copied random cases."""
_COPIED = dict.fromkeys((case.parent.name, case.name) for case in COPIES)
ELSEWHERE = [case for name in FOLDERS for case in cases(CORPUS / name) if (case.parent.name, case.name) not in _COPIED]
"""The cases of the corpus of which there is no copy."""

CASES = [*COPIES, *ELSEWHERE]
each_case = pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name) for case in COPIES]
    + [pytest.param(case, id=case.name, marks=pytest.mark.corpus) for case in ELSEWHERE],
)
"""A test of every recorded case; tests/conftest.py lets those of one case follow each other."""


@lru_cache(maxsize=2)
def recorded(case: Path) -> Recording:
    """The replay of a case, kept while its tests follow each other."""
    return (
        golden(case.name) if case.parent == ROOT / "tests" / "golden" / "random" else replay_cycle(load_snapshot(case))
    )


@cache
def golden(name: str) -> Recording:
    """The replay of a copied random case, to which many tests come back."""
    return replay_cycle(load_snapshot(ROOT / "tests" / "golden" / "random" / name))


@cache
def bundled(name: str = BLOCKED) -> Recording:
    """The replay of a bundled snapshot."""
    return replay_cycle(load_snapshot(ROOT / "fixtures" / name))


def written(recording: Recording) -> bytes:
    """All that its trace says, each value with its type and keys in their order, without spelling it as text."""
    encoder = EventEncoder(recording)
    return marshal.dumps([encoder.encode_event(event) for event in recording.events], WITHOUT_IDENTITY)
