"""A scheduler's own program beside the replay, on one snapshot."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.compare.log import check_log
from vcdebug.errors import VcdebugError
from vcdebug.framework.webhook import AskExtender
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording
from vcdebug.verify.compare import verdicts
from vcdebug.verify.follow import Tell, follow, silently, words
from vcdebug.verify.outcome import observed
from vcdebug.verify.program import Observed, Program, observe
from vcdebug.verify.verification import Parting, Verification


def verify_program(
    snapshot: Snapshot, program: Program, *, ask_extender: AskExtender | None = None, tell: Tell = silently
) -> Verification:
    """Run the program, replay the same moment, compare."""
    seen = observe(snapshot, program, tell)
    outcome = observed(seen.written, seen.snapshot)
    followed = follow(seen.snapshot, outcome, searches=seen.searches, ask_extender=ask_extender, tell=tell)
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
        notes=tuple(_notes(seen, followed.recording)),
    )


def _notes(seen: Observed, recording: Recording) -> Iterator[str]:
    """What else is to be known of the comparison."""
    sampled = recording.snapshot.chance.searches
    if sampled:
        yield (
            "sampled search: it is chance at which part of the nodes the scheduler looked; "
            f"for {len(sampled)} pods its log tells which, and the replay looked at the same"
        )
    if seen.logged > len(seen.log):
        yield f"of {seen.logged} lines of log {len(seen.log)} are kept: it is not compared line by line"
    jobs = len(recording.session.jobs)
    if seen.jobs is not None and seen.jobs < jobs:
        yield f"its cycle began with {seen.jobs} jobs, the replay's with {jobs}: some PodGroups may have come too late"


def _parting(seen: Observed, recording: Recording) -> Parting | None:
    """The log of the cycle beside the replay's; None where they agree, or where the log says too little."""
    if seen.logged > len(seen.log) or recording.snapshot.chance.searches:
        return None
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
