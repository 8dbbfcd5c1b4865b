"""Words that complete a command line."""

from __future__ import annotations

from vcdebug.debugger.breakpoints import KINDS
from vcdebug.debugger.commands import VERBS
from vcdebug.tui.moment import Moment
from vcdebug.views.path import path_words

MOST = 2_000
"""Names offered at most; more would only slow typing."""


def completions(moment: Moment | None) -> list[str]:
    """Verbs, breakpoints about what one sees, and jobs by name."""
    words = [verb.names[0] for verb in VERBS]
    words += [f"break {kind}" for kind in KINDS]
    if moment is None:
        return words
    words += ["break statement discard", "break statement commit"]
    for kind in KINDS:
        words += [f'break {kind} if {field} == "{name}"' for field, name in _here(moment)]
    jobs = list(moment.recording.session.jobs)[:MOST]
    words += [f"{verb} {job}" for verb in ("explain", "about job") for job in jobs]
    return words


def _here(moment: Moment) -> list[tuple[str, str]]:
    names = (("job", moment.job), ("task", moment.task), ("node", moment.node), ("queue", moment.queue))
    return [(field, name) for field, name in names if name]


def place(moment: Moment) -> str:
    """Where one stands, in one line for a clipboard."""
    return f"{moment.recording.snapshot.name} event {moment.seq}: " + " > ".join(
        path_words(moment.recording, moment.seq)
    )
