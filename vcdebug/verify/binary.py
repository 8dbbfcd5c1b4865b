"""A scheduler's own program beside the replay, on one snapshot."""

from __future__ import annotations

from vcdebug.compare.log import check_log
from vcdebug.errors import VcdebugError
from vcdebug.framework.webhook import AskExtender
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording
from vcdebug.verify.compare import verdicts
from vcdebug.verify.follow import follow, words
from vcdebug.verify.outcome import observed
from vcdebug.verify.program import Observed, Program, observe
from vcdebug.verify.verification import Parting, Verification


def verify_program(snapshot: Snapshot, program: Program, *, ask_extender: AskExtender | None = None) -> Verification:
    """Run the program, replay the same moment, compare."""
    seen = observe(snapshot, program)
    outcome = observed(seen.written, seen.snapshot)
    followed = follow(seen.snapshot, outcome, ask_extender=ask_extender)
    return Verification(
        followed.recording,
        followed.outcome,
        outcome,
        verdicts(followed.recording, followed.differences),
        tuple(words(followed.recording.snapshot.chance)),
        followed.tried,
        _parting(seen, followed.recording),
        seen.ended,
        seen.seconds,
        seen.log,
    )


def _parting(seen: Observed, recording: Recording) -> Parting | None:
    """The log of the cycle beside the replay's; None where they agree, or where the log says too little."""
    try:
        checked = check_log(seen.log, recording, cycle=seen.counted)
    except VcdebugError:
        return None
    found = checked.best.disagreement
    if found is None:
        return None
    said = found.said
    line = found.line.text if found.line is not None else ""
    return Parting(said.seq if said is not None else None, line, said.text if said is not None else "")
