"""The arguments of the question "when", and the cycles that answer it."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import format_duration
from vcdebug.cli.arguments import positive_number
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.debugger.foresight.course import ForecastCycle
    from vcdebug.questions.reply import QuestionReply
    from vcdebug.trace.recording import Recording

WHEN_QUESTION: Final = "when"


def add_forecast_arguments(parser: ArgumentParser) -> None:
    """How long pods run, and how far to look."""
    group = parser.add_argument_group("when")
    group.add_argument(
        "--run-time",
        metavar="[NAME=]TIME",
        type=_parse_run_time,
        action="append",
        default=[],
        help="how long each pod runs from its start, such as 30m, or those of one job or pod, such as team/etl=2h; "
        "without it a pod is assumed to run as long again as it has, and one that has only begun an hour",
    )
    group.add_argument(
        "--no-recreate", action="store_true", help="evicted pods stay away: no controller makes them again"
    )
    group.add_argument(
        "--cycles", metavar="N", type=positive_number, help="cycles to look ahead at most; 60 by default"
    )


def _parse_run_time(text: str) -> tuple[str, timedelta]:
    """(job or pod, time); an empty name stands for all."""
    from vcdebug.debugger.between.actors import parse_interval

    name, _, time = text.rpartition("=")
    found = parse_interval(time)
    if found is None:
        raise ArgumentTypeError(f"{time!r} is no time that passes, such as 30m or 1h30m")
    return name, found


def check_forecast_arguments(args: Namespace) -> None:
    """These are about one question; raises VcdebugError."""
    given = [f"--{name.replace('_', '-')}" for name in ("run_time", "no_recreate", "cycles") if getattr(args, name)]
    if args.question != WHEN_QUESTION and given:
        raise VcdebugError(f"{given[0]} is about what comes after the cycle", "ask when")


def forecast_reply(recording: Recording, args: Namespace, output: Output) -> QuestionReply:
    """The answer; raises VcdebugError for a name that nothing has."""
    from vcdebug.cli.progress import status_line
    from vcdebug.debugger.foresight.course import MAX_CYCLES
    from vcdebug.debugger.foresight.when import ForecastAssumptions, forecast_job

    _check_names(recording, [name for name, _ in args.run_time if name])
    times = dict(args.run_time)
    assumed = ForecastAssumptions(times.pop("", None), times, not args.no_recreate, args.cycles or MAX_CYCLES)
    with status_line(output, "looking ahead") as tell:

        def report_stage(stage: ForecastCycle) -> None:
            tell(f"cycle {stage.cycle}, {format_duration(stage.after.total_seconds())} from now")

        return forecast_job(recording, args.subject, assumed, report_stage)


def _check_names(recording: Recording, names: list[str]) -> None:
    jobs = recording.session.jobs
    known = dict.fromkeys([*jobs, *(task.key for job in jobs.values() for task in job.tasks.values())])
    for name in names:
        if name not in known:
            raise VcdebugError(f"{name} is no job or pod of the session", "write NAMESPACE/NAME=TIME")
