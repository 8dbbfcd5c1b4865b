"""`vcdebug explain`: says why a job is Pending, or why each of many jobs is."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.amount_text import count_noun
from vcdebug.cli.arguments import SNAPSHOT_HELP, add_shared_options, add_workers, cached_recordings, snapshot_source
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output, count_reporter, status_line
from vcdebug.errors import VcdebugError, closest_name_hint
from vcdebug.snapshot.manifest import key_of

if TYPE_CHECKING:
    from vcdebug.cli.reports.surveys import CommandLineMaker, SurveyedSnapshot, Surveyor, Surveys
    from vcdebug.recording.recording import Recording


class ExplainCommand(Command):
    """Explains one job, all jobs of a snapshot, or all jobs of a folder of snapshots."""

    HELP = "Explain why a job is Pending, with evidence and possible fixes"
    EXAMPLES = (
        "explain preempt-blocked-by-gang",
        "explain preempt-blocked-by-gang research/llm-finetune --prove",
        "explain preempt-blocked-by-gang research/llm-finetune --set PodGroup/research/bert-pretrain:spec.minMember=3",
    )
    EXITS = (
        "Exit status: 0 scheduled in this cycle, 2 a job is Pending, or the snapshot shows that the cluster's "
        "scheduler does not schedule the named one, 1 error, 130 interrupted"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "snapshot", metavar="SNAPSHOT", help=f"{SNAPSHOT_HELP}; also a folder of snapshots or recordings"
        )
        parser.add_argument(
            "job",
            metavar="JOB_OR_POD",
            nargs="?",
            help=(
                "job or pod, as [KIND/][NAMESPACE/]NAME, such as pod/train-0 (default: every Pending job, with -n "
                "those of one namespace)"
            ),
        )
        add_shared_options(parser, "--namespace", "--verbose", "--prove", "--budget", "--complete", "--release")
        add_workers(parser, "for --prove and folders: ")
        add_shared_options(parser, "--set", "--extender-url", "--no-cache", "--json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.reports.surveys import Surveyor
        from vcdebug.explain.subject_names import with_namespace
        from vcdebug.snapshot.sources import find_snapshots

        source = snapshot_source(args.snapshot)
        if args.job is not None:
            args.job = with_namespace(args.job, args.namespace)
        edits = tuple(args.edits)
        surveyor = Surveyor(
            args.job, args.namespace, args.complete, edits, args.extender_url, args.release, detailed=args.json
        )
        snapshots = find_snapshots(source) if isinstance(source, Path) and source.is_dir() else []
        if isinstance(source, Path) and snapshots:
            _require_job_to_prove(args)
            return _explain_folder(source, snapshots, surveyor, args, output)
        recording = surveyor.replay_cycle(source, cached_recordings(args, output))
        if args.job is not None:
            return _explain_job(recording, args, output)
        from vcdebug.cli.reports.surveys import Surveys

        name = recording.snapshot.name or args.snapshot
        with status_line(output, "explaining Pending jobs (Ctrl-C to stop)") as show_status:
            surveyed = surveyor.survey_jobs(recording, count_reporter(show_status))
        if args.namespace and not surveyed.survey.jobs:
            raise no_jobs_error(recording, args.namespace)
        if surveyed.only_job and not args.json:
            return _explain_only_job(recording, name, surveyed, args, output)
        _require_job_to_prove(args)
        return _report_surveys(Surveys((name,), {name: surveyed}, _command_line_maker(args)), args, output)


def no_jobs_error(recording: Recording, namespace: str) -> VcdebugError:
    """The error for a namespace without jobs, with the closest one that has pods."""
    known = dict.fromkeys(key.partition("/")[0] for key in map(key_of, recording.snapshot.objects_of("Pod")))
    return VcdebugError("no jobs in this namespace", closest_name_hint(namespace, known), f"namespace {namespace}")


def _require_job_to_prove(args: Namespace) -> None:
    if args.prove and args.job is None:
        from vcdebug.cli.reports.explanation import command_line

        example = command_line(args, "explain", args.snapshot, "JOB", "--prove")
        raise VcdebugError("--prove needs a job", f"for example: {example}")


def _explain_only_job(
    recording: Recording, name: str, surveyed: SurveyedSnapshot, args: Namespace, output: Output
) -> CommandOutcome:
    """The whole answer, since a list of one job would only name the command for it."""
    from vcdebug.cli.render import write_blocks
    from vcdebug.cli.reports.surveys import only_job_blocks

    output.name_jobs(recording)
    write_blocks(only_job_blocks(name, surveyed.survey), output)
    output.write_text("")
    args.job = surveyed.only_job
    return _explain_job(recording, args, output)


def _explain_job(recording: Recording, args: Namespace, output: Output) -> CommandOutcome:
    from vcdebug.cli.reports.explanation import write_explanation
    from vcdebug.explain.pending.explanation import explain_by_name

    if args.prove:
        from vcdebug.explain.pending.gates.overrides import allow_any_trial

        allow_any_trial(recording)
    with status_line(output, "explaining (Ctrl-C to stop)"):
        explanation = explain_by_name(recording, args.job)
    output.name_jobs(recording)
    answer = write_explanation(recording, explanation, args, output)
    if args.json:
        output.write_json(answer)
    is_done = explanation.scheduled and not explanation.is_refused
    return CommandOutcome.DONE if is_done else CommandOutcome.UNSCHEDULED


def _explain_folder(
    folder: Path, snapshots: list[Path], surveyor: Surveyor, args: Namespace, output: Output
) -> CommandOutcome:
    from vcdebug.cli.batch import incomplete_outcome, run_snapshots
    from vcdebug.cli.reports.surveys import Surveys

    results, runs = run_snapshots(folder, snapshots, surveyor, args, output)
    outcome = _report_surveys(Surveys(results.names, results.results, _command_line_maker(args, folder)), args, output)
    return (
        incomplete_outcome(
            runs, f"checked {len(results.results)} of {count_noun(len(results.names), 'snapshot')}", output
        )
        or outcome
    )


def _command_line_maker(args: Namespace, folder: Path | None = None) -> CommandLineMaker:
    """Makes command lines about a job of the snapshot, or of a snapshot in the folder."""
    from vcdebug.cli.reports.explanation import command_line

    def make_command_line(command: str, name: str, job: str) -> str:
        return command_line(args, command, args.snapshot if folder is None else str(folder / name), job)

    return make_command_line


def _report_surveys(surveyed: Surveys, args: Namespace, output: Output) -> CommandOutcome:
    from vcdebug.cli.render import write_answer
    from vcdebug.cli.reports import surveys

    complete = len(surveyed.results) == len(surveyed.names)
    # A name is an error only if all snapshots of a folder lack it.
    nowhere = complete and args.job is not None and not any(survey.jobs for survey in surveyed.surveys_by_name.values())
    if args.json or not nowhere:
        blocks = partial(surveys.survey_blocks, verbose=args.verbose)
        write_answer(args, output, surveys.survey_document, blocks, surveyed)
    surveyed.report_failures(output)
    if nowhere:
        output.write_notice(f"{args.job} is in none of the snapshots")
        return CommandOutcome.FAILED
    if surveyed.failures_by_name:
        return CommandOutcome.FAILED
    has_incomplete = any(survey.incomplete for survey in surveyed.surveys_by_name.values())
    return CommandOutcome.UNSCHEDULED if surveyed.unscheduled_jobs or has_incomplete else CommandOutcome.DONE
