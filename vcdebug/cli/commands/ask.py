"""`vcdebug ask`: answers questions other than why a job is Pending."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import format_duration
from vcdebug.cli import arguments
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output, status_line
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.explain.answer import QuestionReply
    from vcdebug.recording.recording import Recording
    from vcdebug.whatif.job_course import ForecastCycle


QUESTION_NAMES = ("evicted", "holders", "node", "refused", "victim", "next", "when")
"""The names of QUESTIONS in whatif/forecast.py, which is imported only to answer a question."""


class AskCommand(Command):
    """Answers one question about one subject."""

    HELP = "Answer one question: evictions, resource holders, choice of node or victim, rejections, next job, forecast"
    EXAMPLES = (
        "ask evicted preempt-works search/embedding-backfill-worker-5",
        "ask holders preempt-blocked-by-gang research/llm-finetune",
        "ask when preempt-works assistants/chat-api --run-time 30m",
    )

    EXITS = "Exit status: 0 done, 2 the snapshot is incomplete, 1 error"

    def add_arguments(self, parser: ArgumentParser) -> None:
        arguments.add_options(
            parser,
            f"""
            QUESTION  evicted: why the pod was evicted; holders: which pods hold what it needs; node: why this node;
                      refused: why not the other nodes; victim: why this victim; next: which job is tried next; when:
                      the cycle in which it is expected to be placed
            SNAPSHOT  {arguments.SNAPSHOT_HELP}
            SUBJECT   a pod; for node and refused also POD NODE; for holders also a job, node/NAME, queue/NAME,
                      port/NUMBER, claim/NAMESPACE/NAME or quota/NAMESPACE; for when also a job; for next a queue
                      (default: all queues); evicted without a subject lists every evicted pod
            """,
            {"SUBJECT": {"nargs": "*"}},
        )
        add_forecast_arguments(parser)
        arguments.add_shared_options(
            parser, "--namespace", "--complete", "--release", "--set", "--extender-url", "--no-cache", "--json"
        )

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.render import write_release_answer
        from vcdebug.cli.reports import explanation
        from vcdebug.cli.snapshots import replay_arguments
        from vcdebug.explain.pending.gates.not_in_session import incomplete
        from vcdebug.explain.subject_names import with_namespace
        from vcdebug.whatif.forecast import QUESTIONS

        _swap_question_and_snapshot(args)
        question = next(known_question for known_question in QUESTIONS if known_question.name == args.question)
        is_namespaced = not {"pod", "job"}.isdisjoint(question.subject_kinds)
        args.subject = with_namespace(" ".join(args.subject), args.namespace if is_namespaced else "")
        question.require_subject(args.subject)
        check_forecast_arguments(args)
        recording, _ = replay_arguments(args, keeping=arguments.cached_recordings(args, output))
        output.name_jobs(recording)
        missing = incomplete(recording.snapshot)
        answer = forecast_reply if question.name == WHEN_QUESTION else None
        reply = explanation.answer_question(
            recording, question, args.subject, None if answer is None else partial(answer, recording, args, output)
        )
        report = explanation.reply_document, explanation.reply_blocks
        write_release_answer(args, output, recording.snapshot.release, *report, question.name, reply)
        return CommandOutcome.UNSCHEDULED if missing else CommandOutcome.DONE


def _swap_question_and_snapshot(args: Namespace) -> None:
    """Accept the snapshot before the question, as other commands have it; raises VcdebugError for no question."""
    if args.question in QUESTION_NAMES:
        return
    if args.snapshot not in QUESTION_NAMES:
        hint = f"questions: {', '.join(QUESTION_NAMES)}; vcdebug ask QUESTION SNAPSHOT SUBJECT"
        raise VcdebugError(f"unknown question {args.question!r}", hint)
    args.question, args.snapshot = args.snapshot, args.question


# `ask when`

WHEN_QUESTION: Final = "when"


def add_forecast_arguments(parser: ArgumentParser) -> None:
    """Add the options of `ask when`."""
    group = parser.add_argument_group("when")
    arguments.add_options(
        group,
        """
        --run-time [NAME=]TIME  run time of all pods (30m), or of one job or pod (team/etl=2h); repeatable (default: a
                                running pod runs as long again as it has, a new one 1h)
        --no-recreate           do not recreate evicted pods
        --cycles N              maximum number of cycles to forecast (default: 60)
        """,
        {
            "--run-time": {"type": _parse_run_time, "action": "append", "default": []},
            "--cycles": {"type": arguments.positive_number},
        },
    )


def _parse_run_time(text: str) -> tuple[str, timedelta]:
    """(job or pod, duration); the name is empty where the text has none."""
    name, _, time = text.rpartition("=")
    return name, arguments.parse_duration(time)


def check_forecast_arguments(args: Namespace) -> None:
    """Raise VcdebugError for options of `ask when` with another question."""
    options = [f"--{name.replace('_', '-')}" for name in ("run_time", "no_recreate", "cycles") if getattr(args, name)]
    if args.question != WHEN_QUESTION and options:
        raise VcdebugError(f"{options[0]} is only for `ask when`", "ask when")


def forecast_reply(recording: Recording, args: Namespace, output: Output) -> QuestionReply:
    """The answer to `ask when`; raises VcdebugError for an unknown name in --run-time."""
    from vcdebug.whatif.forecast import ForecastAssumptions, forecast_job
    from vcdebug.whatif.job_course import MAX_CYCLES

    times = {recording.job_names.to_ids(name): time for name, time in args.run_time}
    _check_names(recording, [name for name in times if name])
    assumed = ForecastAssumptions(times.pop("", None), times, not args.no_recreate, args.cycles or MAX_CYCLES)
    with status_line(output, "looking ahead") as show_status:

        def report_stage(stage: ForecastCycle) -> None:
            show_status(f"cycle {stage.cycle}, {format_duration(stage.elapsed.total_seconds())} from now")

        return forecast_job(recording, args.subject, assumed, report_stage)


def _check_names(recording: Recording, names: list[str]) -> None:
    jobs = recording.session.jobs
    # Otherwise a typing error in --run-time would silently have no effect.
    session_names = dict.fromkeys([*jobs, *(task.key for job in jobs.values() for task in job.tasks.values())])
    for name in names:
        if name not in session_names:
            raise VcdebugError(f"{name} is not a job or pod of the session", "write NAMESPACE/NAME=TIME")
