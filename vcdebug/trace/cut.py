"""A recording that was full before its cycle was over: what to say about it."""

from __future__ import annotations

from vcdebug.amount_text import format_count
from vcdebug.errors import VcdebugError
from vcdebug.framework.record import Level
from vcdebug.trace.recording import Recording

_LEVEL_WORDS = {Level.ACTION: "action", Level.JOB: "job"}


class CutOffError(VcdebugError):
    """The replay stopped at its bound; what was recorded up to there can be looked at."""


def cut_off_error(recording: Recording) -> CutOffError | None:
    """Where the recording was cut off and what to do about it; None for a whole one."""
    cut = recording.cut_event
    if cut is None:
        return None
    last = max(len(recording) - 1, 1)
    path = [
        f"{_LEVEL_WORDS[span.level]} {span.name}"
        for span in recording.span_tree.path_to(last)
        if span.level in _LEVEL_WORDS
    ]
    where = f" in {', '.join(path)}" if path else ""
    return CutOffError(
        f"the replay stopped at its bound of {cut.bound}: after event {format_count(last)}{where}; the cycle goes on",
        "give more room with --max-events and --max-memory, or replay fewer pods",
    )


def require_whole(recording: Recording) -> Recording:
    """The recording; raises CutOffError where the end of the cycle is missing."""
    error = cut_off_error(recording)
    if error is not None:
        raise error
    return recording
