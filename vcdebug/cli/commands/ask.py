"""`vcdebug ask`: the questions beside "why is it Pending"."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from vcdebug.cli import foreseeing
from vcdebug.cli.arguments import share
from vcdebug.cli.commands.base import Command, Outcome
from vcdebug.cli.keeping import keeping_of
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

NAMES = ("evicted", "holders", "node", "refused", "victim", "next", "when")
"""As in debugger/questions.py, which is imported only to answer."""


class Ask(Command):
    """Answers one question about one subject."""

    HELP = (
        "other questions: who evicted a pod and why, who holds what a job needs, why this node or victim, why no other "
        "node, who is next, when will it be placed"
    )

    def configure(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "question",
            metavar="QUESTION",
            help="evicted: why was this pod evicted; holders: who holds what it needs; node: why this node; "
            "refused: why no other node; victim: why this victim; next: which job would be tried next; "
            "when: in which cycle will it be placed",
        )
        parser.add_argument("snapshot", metavar="SNAPSHOT", help="a snapshot, as for run")
        parser.add_argument(
            "subject",
            metavar="SUBJECT",
            nargs="?",
            default="",
            help="a pod; for when a job or pod; for holders a job, node/NAME, queue/NAME, port/NUMBER, "
            "claim/NAMESPACE/NAME or quota/NAMESPACE; for next a queue, or nothing for all",
        )
        foreseeing.add_arguments(parser)
        share(parser, "complete", "release", "edits", "extender", "no-cache", "json")

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.render import answer
        from vcdebug.cli.reports import answered
        from vcdebug.cli.snapshots import replay_of
        from vcdebug.debugger.questions import QUESTIONS

        _in_order(args)
        question = next(one for one in QUESTIONS if one.name == args.question)
        if not args.subject and question.name != "next":
            raise VcdebugError(f"{question.words}?", f"name a {' or '.join(question.about)}")
        foreseeing.check(args)
        recording, _ = replay_of(args, keeping=keeping_of(args, output))
        if question.name == foreseeing.WHEN:
            reply = foreseeing.foreseen(recording, args, output)
        else:
            reply = question.answer(recording, args.subject)
        answer(args, output, answered.document, answered.blocks, question.name, reply)
        return Outcome.DONE


def _in_order(args: Namespace) -> None:
    """The snapshot may stand before the question, as it does after other commands."""
    if args.question in NAMES:
        return
    if args.snapshot not in NAMES:
        hint = f"one of {', '.join(NAMES)}: vcdebug ask QUESTION SNAPSHOT SUBJECT"
        raise VcdebugError(f"no question {args.question!r}", hint)
    args.question, args.snapshot = args.snapshot, args.question
