"""A real scheduler's log beside the replay of a snapshot: which cycle it is, and whether the two agree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vcdebug.errors import VcdebugError
from vcdebug.explain.logs.compare import Comparison, compare
from vcdebug.explain.logs.klog import cycles, parse_log
from vcdebug.explain.logs.log_writer import log_lines
from vcdebug.trace.recording import Recording


@dataclass(frozen=True, slots=True)
class LogCheck:
    """The cycle that matches best."""

    best: Comparison
    cycles: int
    """How many cycles the log has."""

    @property
    def agrees(self) -> bool:
        """Whether the log says what the replay says."""
        return self.best.disagreement is None


def check_log(lines: Iterable[str], recording: Recording, *, cycle: int | None = None) -> LogCheck:
    """The first cycle that agrees, else the one that agrees longest; or the cycle that is asked for."""
    found = cycles(parse_log(lines))
    if not found:
        raise VcdebugError("no scheduling cycle in this log", "the scheduler must run with -v=3 or more")
    if cycle is not None and not 1 <= cycle <= len(found):
        raise VcdebugError(f"no cycle {cycle} in this log", f"it has cycles 1 to {len(found)}")
    written = list(log_lines(recording))
    best: Comparison | None = None
    for candidate in found if cycle is None else [found[cycle - 1]]:
        comparison = compare(candidate, written)
        if best is None or _rank(comparison) > _rank(best):
            best = comparison
        if comparison.disagreement is None and candidate.complete:
            break
    assert best is not None
    return LogCheck(best, len(found))


def _rank(comparison: Comparison) -> tuple[bool, int]:
    return comparison.disagreement is None, comparison.compared
