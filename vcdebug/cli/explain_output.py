"""One answer of `explain`: the plain one, proven remedies where they are asked for, and commands to go on with."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator

from vcdebug.cli.arguments import snapshot_options
from vcdebug.cli.output import Output
from vcdebug.cli.recording_cache import STDIN
from vcdebug.cli.render import write_blocks
from vcdebug.cli.reports import explanation as pending
from vcdebug.cli.reports.contents import problem_count
from vcdebug.explain.answer import Explanation
from vcdebug.recording.recording import Recording
from vcdebug.views.document import Block, make_paragraph

_FOLLOW_UP_TITLE = (make_paragraph(""), make_paragraph("to go on", "title"))


def command_line(args: Namespace, command: str, snapshot: str, *words: str) -> str:
    """The command line that asks something else of what was asked about."""
    return shlex.join(["vcdebug", *command.split(), snapshot, *words, *snapshot_options(args)])


def follow_up_blocks(explanation: Explanation, args: Namespace) -> Iterator[Block]:
    """Further questions about a job that waits."""
    where, job = args.snapshot, explanation.job
    yield from _FOLLOW_UP_TITLE
    if not args.prove:
        yield _follow_up_line("what of this works", command_line(args, "explain", where, args.job, "--prove"))
    yield _follow_up_line("when it gets in", command_line(args, "ask when", where, job))
    yield _follow_up_line("who holds what it needs", command_line(args, "ask holders", where, job))
    yield _follow_up_line("who is tried before it", command_line(args, "ask next", where))


def submit_follow_up_blocks(_: Explanation, args: Namespace) -> Iterator[Block]:
    """The same for a manifest that is not in the snapshot; from standard input it cannot be read again."""
    if not args.prove and args.manifest != STDIN:
        yield from _FOLLOW_UP_TITLE
        yield _follow_up_line(
            "what of this works", command_line(args, "submit", args.snapshot, args.manifest, "--prove")
        )


def _follow_up_line(words: str, command: str) -> Block:
    return make_paragraph(f"{words}: {command}", "muted", 2)


FollowUpBlocks = Callable[[Explanation, Namespace], Iterable[Block]]
"""Commands to go on with after the answer about a job that waits."""


def write_explanation(
    recording: Recording, explanation: Explanation, args: Namespace, output: Output, go_on: FollowUpBlocks
) -> dict[str, object]:
    """The answer about one job, shown where a person reads, with proven remedies where they are asked for."""
    if not args.json:
        write_blocks(
            [*pending.explanation_blocks(explanation, advice=not args.prove), *problem_count(recording)], output
        )
    answer = pending.explanation_document(explanation)
    going_on = [] if args.json or explanation.scheduled else list(go_on(explanation, args))
    if not args.prove:
        write_blocks(going_on, output)
        return answer
    if explanation.scheduled:
        return {**answer, "remedies": []}
    from vcdebug.cli.reports import fixes
    from vcdebug.cli.reports.fixes import search_fixes

    search = search_fixes(recording, explanation, output, seconds=args.budget, workers=args.workers)
    if not args.json:
        write_blocks(fixes.fix_blocks(search, args.snapshot, args.budget), output)
        if not any(remedy.is_proven for remedy in search.best_plans):
            write_blocks(pending.advice_blocks(explanation, "what would help (not proven)"), output)
        write_blocks(going_on, output)
    return {**answer, "remedies": fixes.fix_documents(search)}
