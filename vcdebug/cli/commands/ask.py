"""`vcdebug ask`: the questions beside "why is it Pending"."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from vcdebug.cli import foreseeing
from vcdebug.cli.arguments import add_shared_arguments
from vcdebug.cli.commands.base import Command, CommandOutcome
from vcdebug.cli.keeping import cached_recordings
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

QUESTION_NAMES = ("evicted", "holders", "node", "refused", "victim", "next", "when")
"""As in debugger/questions.py, which is imported only to answer."""


class AskCommand(Command):
    """Answers one question about one subject."""

    HELP = (
        "other questions: who evicted a pod and why, who holds what a job needs, why this node or victim, why no other "
        "node, who is next, when will it be placed"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
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
        foreseeing.add_forecast_arguments(parser)
        add_shared_arguments(parser, "complete", "release", "edits", "extender", "no-cache", "json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.render import write_answer
        from vcdebug.cli.reports import answered
        from vcdebug.cli.snapshots import replay_arguments
        from vcdebug.debugger.questions import QUESTIONS

        _swap_question_and_snapshot(args)
        question = next(one for one in QUESTIONS if one.name == args.question)
        if not args.subject and question.name != "next":
            raise VcdebugError(f"{question.words}?", f"name a {' or '.join(question.about)}")
        foreseeing.check_forecast_arguments(args)
        recording, _ = replay_arguments(args, keeping=cached_recordings(args, output))
        if question.name == foreseeing.WHEN_QUESTION:
            reply = foreseeing.forecast_reply(recording, args, output)
        else:
            reply = question.answer(recording, args.subject)
        write_answer(args, output, answered.reply_document, answered.reply_blocks, question.name, reply)
        return CommandOutcome.DONE


def _swap_question_and_snapshot(args: Namespace) -> None:
    """The snapshot may stand before the question, as it does after other commands."""
    if args.question in QUESTION_NAMES:
        return
    if args.snapshot not in QUESTION_NAMES:
        hint = f"one of {', '.join(QUESTION_NAMES)}: vcdebug ask QUESTION SNAPSHOT SUBJECT"
        raise VcdebugError(f"no question {args.question!r}", hint)
    args.question, args.snapshot = args.snapshot, args.question
