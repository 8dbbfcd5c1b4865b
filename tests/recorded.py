"""Recordings that several tests look at; each is made once."""

from functools import cache
from pathlib import Path

from vcdebug.snapshot.load import load
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = sorted(path.parent.name for path in (ROOT / "tests" / "golden" / "random").glob("*/trace.jsonl.gz"))
"""Names of the copied golden cases."""
BLOCKED = "preempt-blocked-by-gang"
"""The bundled snapshot of a preemption that is discarded because of gang."""


@cache
def golden(name: str) -> Recording:
    """The replay of a golden case."""
    return replay(load(ROOT / "tests" / "golden" / "random" / name))


@cache
def bundled(name: str = BLOCKED) -> Recording:
    """The replay of a bundled snapshot."""
    return replay(load(ROOT / "fixtures" / name))
