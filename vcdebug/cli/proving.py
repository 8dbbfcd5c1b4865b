"""Proving remedies from the command line: trials here or in worker processes, within a budget of seconds."""

from __future__ import annotations

import time
from argparse import Namespace
from contextlib import closing

from vcdebug.cli.output import Output
from vcdebug.cli.progress import told
from vcdebug.cli.render import show
from vcdebug.cli.reports import pending, remedies
from vcdebug.cli.reports.cycle import problem_count
from vcdebug.cli.rounds import Rounds
from vcdebug.debugger.remedies.prove import search_for, trials_of
from vcdebug.debugger.remedies.search import Search, carried_out
from vcdebug.explain.amounts import plural
from vcdebug.explain.answer import Explanation
from vcdebug.trace.recording import Recording


def answered(recording: Recording, explanation: Explanation, args: Namespace, output: Output) -> dict[str, object]:
    """The answer about one job, shown where a person reads, with proven remedies where they are asked for."""
    if not args.json:
        show([*pending.blocks(explanation, advice=not args.prove), *problem_count(recording)], output)
    answer = pending.document(explanation)
    if not args.prove:
        return answer
    if explanation.scheduled:
        return {**answer, "remedies": []}
    search = proven(recording, explanation, output, seconds=args.budget, workers=args.workers)
    if not args.json:
        show(remedies.blocks(search, args.snapshot), output)
    return {**answer, "remedies": remedies.documents(search)}


def proven(
    recording: Recording, explanation: Explanation, output: Output, *, seconds: float, workers: int | None
) -> Search:
    """The search as far as it got; Ctrl-C keeps what there is."""
    search = search_for(recording, explanation)
    end = time.perf_counter() + seconds
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
