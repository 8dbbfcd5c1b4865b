"""Commands to go on with, ready to be pasted: about the same snapshot, under the same options."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterator

from vcdebug.cli.sources import STDIN
from vcdebug.explain.answer import Explanation
from vcdebug.views.document import Block, paragraph

_TITLE = (paragraph(""), paragraph("to go on", "title"))


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
    extender = vars(args).get("extender_url")
    if extender is not None:
        yield from ("--extender-url", extender)


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
