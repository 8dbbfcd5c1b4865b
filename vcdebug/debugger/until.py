"""What is waited for in capture after capture: a breakpoint that stops, or a job that waits or does so no more."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from vcdebug.causes.pending import explain_subject
from vcdebug.causes.subject import NotFoundError, find_subject
from vcdebug.debugger.breakpoint import parse_breakpoint
from vcdebug.trace.recording import Recording

JOB_STATE: Final = re.compile(r"(\S+) is (not )?(pending|placed|there)", re.IGNORECASE)
MetReason = Callable[[Recording], str]
"""Why it is met in a recording, in words; empty where it is not."""


def parse_until(text: str) -> MetReason:
    """`JOB is Pending`, `JOB is placed`, `JOB is there`, with `not`; or the words of a breakpoint."""
    state = JOB_STATE.fullmatch(text.strip())
    if state is not None:
        return lambda recording: _job_state_reason(recording, state[1], state[3].lower(), wanted=state[2] is None)
    point = parse_breakpoint(text, 1)
    return lambda recording: _stop_text(list(point.hit_seqs(recording)[:1]), point.command_line())


def _job_state_reason(recording: Recording, word: str, state: str, *, wanted: bool) -> str:
    try:
        explained = explain_subject(recording, find_subject(recording.snapshot, word))
    except NotFoundError:
        return f"{word} is not there" if state == "there" and not wanted else ""
    holds = {"there": True, "placed": explained.scheduled, "pending": not explained.scheduled}[state]
    return f"{word}: {explained.sentence}" if holds is wanted else ""


def _stop_text(hits: list[int], line: str) -> str:
    return f"{line} at event {hits[0]}" if hits else ""
