"""One answer of `explain`: the plain one at once, remedies that were carried out where they are asked for."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable

from vcdebug.cli.output import Output
from vcdebug.cli.render import show
from vcdebug.cli.reports import pending
from vcdebug.cli.reports.input import problem_count
from vcdebug.explain.answer import Explanation
from vcdebug.trace.recording import Recording
from vcdebug.views.document import Block

GoOn = Callable[[Explanation, Namespace], Iterable[Block]]
"""Commands to go on with after the answer about a job that waits."""


def answered(
    recording: Recording, explanation: Explanation, args: Namespace, output: Output, go_on: GoOn
) -> dict[str, object]:
    """The answer about one job, shown where a person reads, with proven remedies where they are asked for."""
    if not args.json:
        show([*pending.blocks(explanation, advice=not args.prove), *problem_count(recording)], output)
    answer = pending.document(explanation)
    going_on = [] if args.json or explanation.scheduled else list(go_on(explanation, args))
    if not args.prove:
        show(going_on, output)
        return answer
    if explanation.scheduled:
        return {**answer, "remedies": []}
    from vcdebug.cli.proving import proven
    from vcdebug.cli.reports import remedies

    search = proven(recording, explanation, output, seconds=args.budget, workers=args.workers)
    if not args.json:
        show(remedies.blocks(search, args.snapshot, args.budget), output)
        if not any(remedy.proven for remedy in search.remedies):
            show(pending.advice_blocks(explanation, "what would help (not proven)"), output)
        show(going_on, output)
    return {**answer, "remedies": remedies.documents(search)}
