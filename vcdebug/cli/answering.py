"""One answer of `explain`: the plain one, proven remedies where they are asked for, and commands to go on with."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator

from vcdebug.cli.arguments import given
from vcdebug.cli.output import Output
from vcdebug.cli.render import show
from vcdebug.cli.reports import pending
from vcdebug.cli.reports.input import problem_count
from vcdebug.cli.sources import STDIN
from vcdebug.explain.answer import Explanation
from vcdebug.trace.recording import Recording
from vcdebug.views.document import Block, paragraph

_TITLE = (paragraph(""), paragraph("to go on", "title"))


def again(args: Namespace, command: str, snapshot: str, *words: str) -> str:
    """The command line that asks something else of what was asked about."""
    return shlex.join(["vcdebug", *command.split(), snapshot, *words, *given(args)])


def to_go_on(explanation: Explanation, args: Namespace) -> Iterator[Block]:
    """Further questions about a job that waits."""
    where, job = args.snapshot, explanation.job
    yield from _TITLE
    if not args.prove:
        yield _question("what of this works", again(args, "explain", where, args.job, "--prove"))
    yield _question("when it gets in", again(args, "ask when", where, job))
    yield _question("who holds what it needs", again(args, "ask holders", where, job))
    yield _question("who is tried before it", again(args, "ask next", where))


def to_go_on_with(_: Explanation, args: Namespace) -> Iterator[Block]:
    """The same for a manifest that is not in the snapshot; from standard input it cannot be read again."""
    if not args.prove and args.manifest != STDIN:
        yield from _TITLE
        yield _question("what of this works", again(args, "submit", args.snapshot, args.manifest, "--prove"))


def _question(words: str, command: str) -> Block:
    return paragraph(f"{words}: {command}", "muted", 2)


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
