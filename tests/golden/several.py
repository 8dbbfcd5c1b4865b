"""Replays several cycles in one process, as the recordings of `cycles/` ran them."""

from __future__ import annotations

import io
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from vcdebug.recording.recording import Recording, disposing
from vcdebug.recording.trace_schema import write_cycles
from vcdebug.snapshot.gathered_objects import read_arrivals
from vcdebug.whatif.cycles import CycleChain
from vcdebug.whatif.next_cycle import BetweenCycles

NUMBER = 3


def between_of(recorded: Path) -> BetweenCycles:
    """The rule between cycles: that of the churn recordings if the case has arrivals, else the default."""
    arrivals = recorded / "arrivals.json"
    if not arrivals.is_file():
        return BetweenCycles()
    return BetweenCycles(interval=timedelta(seconds=31), finish_rule="thirds", arrivals=read_arrivals(arrivals))


def replayed_cycles(first: Recording, recorded: Path) -> list[str]:
    """The events of three cycles as lines of text; each cycle starts with a line of its own."""
    cycles = CycleChain(first, between_of(recorded))
    lines = io.StringIO()
    with ExitStack() as runs:
        while len(cycles.recordings) < NUMBER and not cycles.has_panicked:
            runs.enter_context(disposing(cycles.run_next()))
        write_cycles(cycles.recordings, lines)
    return lines.getvalue().splitlines()
