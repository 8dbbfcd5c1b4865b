"""Proving remedies from the command line: trials here or in worker processes, within a budget of seconds."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from contextlib import closing

from vcdebug.cli.executors.processes import Standing
from vcdebug.cli.failure import Failure
from vcdebug.cli.output import Output
from vcdebug.cli.progress import told
from vcdebug.cli.render import show
from vcdebug.cli.reports import pending, remedies
from vcdebug.cli.reports.cycle import problem_count
from vcdebug.debugger.remedies.prove import search_for, trials_of
from vcdebug.debugger.remedies.search import Search, carried_out
from vcdebug.debugger.remedies.trial import Edits, Outcome, Trials
from vcdebug.explain.amounts import plural
from vcdebug.explain.answer import Explanation
from vcdebug.trace.recording import Recording

WORTH_HIRING = 0.25
"""Seconds that a trial takes here from which on worker processes pay for their start."""


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
    start = time.perf_counter()
    with (
        told(output, "trying remedies (Ctrl-C stops)") as tell,
        closing(_Runner(trials_of(recording, explanation), workers)) as run,
    ):

        def go_on(search: Search) -> bool:
            found = len([remedy for remedy in search.remedies if remedy.proven])
            tell(f"{plural(search.trials, 'cycle')}, {found} found")
            return time.perf_counter() - start < seconds

        try:
            carried_out(search, run, go_on)
        except KeyboardInterrupt:
            output.narrate("interrupted: what was found until then follows")
    return search


class _Runner:
    """Runs rounds of trials; hires worker processes once it has seen that a trial takes long."""

    def __init__(self, trials: Trials, workers: int | None) -> None:
        self._trials = trials
        self._workers = workers or os.cpu_count() or 1
        self._standing: Standing[Edits, Outcome | None] | None = None

    def __call__(self, wanted: list[Edits]) -> list[Outcome | None]:
        if self._standing is None:
            done: list[Outcome | None] = []
            while len(done) < len(wanted):
                start = time.perf_counter()
                done.append(self._trials(wanted[len(done)]))
                if self._workers > 1 and time.perf_counter() - start > WORTH_HIRING:
                    self._standing = Standing(self._workers, self._trials)
                    break
            wanted = wanted[len(done) :]
        else:
            done = []
        if not wanted or self._standing is None:
            return done
        return [*done, *(None if isinstance(one, Failure) else one for one in self._standing(wanted))]

    def close(self) -> None:
        """Workers may go."""
        if self._standing is not None:
            self._standing.end()
