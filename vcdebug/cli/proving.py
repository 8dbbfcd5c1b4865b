"""Proving remedies from the command line: trials here or in worker processes, within a budget of seconds."""

from __future__ import annotations

import time
from contextlib import closing

from vcdebug.amount_text import count_noun
from vcdebug.cli.output import Output
from vcdebug.cli.progress import status_line
from vcdebug.cli.rounds import TrialRounds
from vcdebug.debugger.remedies.prove import start_search, trials_of
from vcdebug.debugger.remedies.search import FixSearch, run_search
from vcdebug.explain.answer import Explanation
from vcdebug.trace.recording import Recording

MIN_BUDGET_SHARE = 0.25
"""Of the budget, what is left to trials where reading and the first cycle took all of it."""


def search_fixes(
    recording: Recording, explanation: Explanation, output: Output, *, seconds: float, workers: int | None
) -> FixSearch:
    """The search as far as it got within so many seconds of the command's start; Ctrl-C keeps what there is."""
    search = start_search(recording, explanation)
    end = max(output.started + seconds, time.perf_counter() + seconds * MIN_BUDGET_SHARE)
    with (
        status_line(output, "trying remedies (Ctrl-C stops)") as tell,
        closing(TrialRounds(trials_of(recording, explanation), workers, lambda: time.perf_counter() < end)) as run,
    ):

        def may_continue(search: FixSearch) -> bool:
            found = len([remedy for remedy in search.best_plans if remedy.is_proven])
            tell(f"{count_noun(search.trial_count, 'cycle')}, {found} found")
            return time.perf_counter() < end

        try:
            run_search(search, run, may_continue)
        except KeyboardInterrupt:
            output.write_notice("interrupted: what was found until then follows")
    return search
