"""Commands to go on with, ready to be pasted: about the same snapshot, under the same options."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterator

from vcdebug.explain.answer import Explanation
from vcdebug.views.document import Block, paragraph


def again(args: Namespace, command: str, snapshot: str, *words: str) -> str:
    """The command line that asks something else of what was asked about."""
    return shlex.join(["vcdebug", *command.split(), snapshot, *words, *_options(args)])


def _options(args: Namespace) -> Iterator[str]:
    """What the snapshot is read and changed with."""
    if args.complete:
        yield "--complete"
    if args.release is not None:
        yield from ("--release", args.release)
    for edit in args.edits:
        yield from ("--set", edit)
    if args.extender_url is not None:
        yield from ("--extender-url", args.extender_url)


def to_go_on(explanation: Explanation, args: Namespace) -> Iterator[Block]:
    """Further questions about a job that waits."""
    where, job = args.snapshot, explanation.job
    yield paragraph("")
    yield paragraph("to go on", "title")
    if not args.prove:
        yield _question("what of this works", again(args, "explain", where, args.job, "--prove"))
    yield _question("when it gets in", again(args, "ask when", where, job))
    yield _question("who holds what it needs", again(args, "ask holders", where, job))
    yield _question("who is tried before it", again(args, "ask next", where))


def _question(words: str, command: str) -> Block:
    return paragraph(f"{words}: {command}", "muted", 2)
