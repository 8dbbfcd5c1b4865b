"""A recording that was full before its cycle was over: what to say about it."""

from __future__ import annotations

from vcdebug.amount_text import grouped
from vcdebug.errors import VcdebugError
from vcdebug.framework.record import Level
from vcdebug.trace.recording import Recording

_WORDS = {Level.ACTION: "action", Level.JOB: "job"}


class CutOffError(VcdebugError):
    """The replay stopped at its bound; what was recorded up to there can be looked at."""


def cut_off(recording: Recording) -> CutOffError | None:
    """Where the recording was cut off and what to do about it; None for a whole one."""
    cut = recording.cut
    if cut is None:
        return None
    last = max(len(recording) - 1, 1)
    path = [f"{_WORDS[span.level]} {span.name}" for span in recording.tree.path(last) if span.level in _WORDS]
    where = f" in {', '.join(path)}" if path else ""
    return CutOffError(
        f"the replay stopped at its bound of {cut.bound}: after event {grouped(last)}{where}; the cycle goes on",
        "give more room with --max-events and --max-memory, or replay fewer pods",
    )


def whole(recording: Recording) -> Recording:
    """The recording; raises CutOffError where the end of the cycle is missing."""
    error = cut_off(recording)
    if error is not None:
        raise error
    return recording
