"""Proving remedies from the command line: trials here or in worker processes, within a budget of seconds."""

from __future__ import annotations

import time
from contextlib import closing

from vcdebug.amount_text import plural
from vcdebug.cli.output import Output
from vcdebug.cli.progress import told
from vcdebug.cli.rounds import Rounds
from vcdebug.debugger.remedies.prove import search_for, trials_of
from vcdebug.debugger.remedies.search import Search, carried_out
from vcdebug.explain.answer import Explanation
from vcdebug.trace.recording import Recording

LEAST = 0.25
"""Of the budget, what is left to trials where reading and the first cycle took all of it."""


def proven(
    recording: Recording, explanation: Explanation, output: Output, *, seconds: float, workers: int | None
) -> Search:
    """The search as far as it got within so many seconds of the command's start; Ctrl-C keeps what there is."""
    search = search_for(recording, explanation)
    end = max(output.started + seconds, time.perf_counter() + seconds * LEAST)
    with (
        told(output, "trying remedies (Ctrl-C stops)") as tell,
        closing(Rounds(trials_of(recording, explanation), workers, lambda: time.perf_counter() < end)) as run,
    ):

        def go_on(search: Search) -> bool:
            found = len([remedy for remedy in search.remedies if remedy.proven])
            tell(f"{plural(search.trials, 'cycle')}, {found} found")
            return time.perf_counter() < end

        try:
            carried_out(search, run, go_on)
        except KeyboardInterrupt:
            output.narrate("interrupted: what was found until then follows")
    return search
