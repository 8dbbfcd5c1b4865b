"""`vcdebug verify`: compares the replay's predictions with what a scheduler does."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.amount_text import count_noun
from vcdebug.cli import arguments
from vcdebug.cli.commands import Command, CommandOutcome, capture
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.conformance import Verification

WAIT, PATIENCE = 60.0, 120.0


class VerifyCommand(Command):
    """Runs a scheduler's program on a snapshot, or watches the scheduler of a cluster."""

    HELP = "Compare the replay with a real scheduler: that of a cluster, or a binary"
    EXAMPLES = ("verify --context prod", "verify incident.tar.gz --scheduler ./vc-scheduler --cycles 3")
    EXITS = (
        "Exit status: 0 same decisions, 2 some decisions differ, 3 inconclusive (nothing to compare, or all "
        "overtaken by other clients), 1 error"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        snapshot = f"SNAPSHOT  {arguments.SNAPSHOT_HELP} (default: capture the cluster)"
        arguments.add_options(parser, snapshot, {"SNAPSHOT": {"nargs": "?"}})
        arguments.add_shared_options(parser, "--complete", "--release")
        capture.add_cluster_arguments(
            parser,
            scheduler="with SNAPSHOT: path of a vc-scheduler binary to run; otherwise NAMESPACE/NAME of the scheduler",
        )
        arguments.add_options(
            parser,
            """
            --wait TIME      time to wait for the scheduler (default: 1m; 2m with SNAPSHOT)
            --for TIME       without SNAPSHOT: judge one cycle after the other for this time, each from its own first
                             state
            --argument FLAG  further argument of the binary, for example --argument=-v=5; repeatable
            --rbac           print the required ClusterRole and exit
            --log FILE       write the log of the binary to FILE
            --keep FOLDER    write the snapshot and the decisions of the binary to FOLDER, as a test case
            """,
            {
                "--wait": {"type": arguments.parse_seconds},
                "--for": {"dest": "duration", "type": arguments.parse_seconds},
                "--argument": {"dest": "arguments", "action": "append", "default": []},
            },
        )
        arguments.add_cycle_arguments(
            parser, "; with SNAPSHOT: compared until one differs", interval="a few seconds, by the snapshot's size"
        )
        arguments.add_shared_options(parser, "--extender-url", "--json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        if args.rbac:
            from vcdebug.capture.permission import cluster_role

            output.write_text(cluster_role(capture.config_map_name(args.scheduler_configmap)).rstrip())
            return CommandOutcome.DONE
        cycles = _verify_cluster(args, output) if args.snapshot is None else _verify_program(args, output)
        return _write_verdicts(cycles, args, output)


def _outcome_of(verification: Verification) -> CommandOutcome:
    if verification.is_inconclusive:
        return CommandOutcome.INCONCLUSIVE
    return CommandOutcome.DONE if verification.is_agreed else CommandOutcome.DIFFERENT


def _write_verdicts(cycles: Iterable[Verification], args: Namespace, output: Output) -> CommandOutcome:
    """Write the verdict on each cycle as it is known, for at most --for, and the number of cycles that agree."""
    from vcdebug.cli.render import write_answer
    from vcdebug.cli.reports import checks
    from vcdebug.conformance.program_verification import write_case
    from vcdebug.recording.recording import disposing

    end = None if args.snapshot else time.monotonic() + (args.duration or 0.0)
    outcomes = Counter[CommandOutcome]()
    for verification in cycles:
        with disposing(verification.recording):
            if args.keep:
                write_case(verification, Path(args.keep))
            output.name_jobs(verification.recording)
            write_answer(args, output, checks.verification_document, checks.verification_blocks, verification)
            outcomes[_outcome_of(verification)] += 1
        output.flush()
        if end is not None and time.monotonic() >= end:
            break
    if args.duration or args.cycles > 1:
        words = ((CommandOutcome.DONE, "agreed"), (CommandOutcome.DIFFERENT, "differed"))
        counts = ", ".join(f"{outcomes[outcome]} {word}" for outcome, word in words)
        output.write_notice(f"{count_noun(outcomes.total(), 'cycle')}: {counts}")
    ranked = (CommandOutcome.DIFFERENT, CommandOutcome.DONE)
    return next((outcome for outcome in ranked if outcomes[outcome]), CommandOutcome.INCONCLUSIVE)


def _verify_program(args: Namespace, output: Output) -> Iterator[Verification]:
    """Run the program on the snapshot; raises VcdebugError without a program."""
    from vcdebug.cli.snapshots import read_snapshot
    from vcdebug.conformance import SchedulerProgram, verify_cycles

    if not args.scheduler:
        raise VcdebugError(
            "--scheduler is missing",
            "--scheduler PATH names a vc-scheduler binary; without SNAPSHOT the cluster's scheduler is used",
        )
    if args.keep and args.cycles > 1:
        raise VcdebugError("--keep stores a first cycle", "leave out --cycles")
    arguments.check_cycle_arguments(args)
    path = Path(args.scheduler)
    if not path.is_file():
        raise VcdebugError("no such file", where=args.scheduler)
    program = SchedulerProgram(
        str(path.absolute()),
        tuple(args.arguments),
        args.wait or PATIENCE,
        args.cycles,
        args.every.total_seconds() if args.every else 0.0,
        arguments.between_cycles(args),
        log=args.log or "",
    )
    snapshot = read_snapshot(args.snapshot, complete=args.complete, release=args.release)
    return verify_cycles(
        snapshot, program, ask_extender=arguments.extender_client(args.extender_url), tell=output.write_notice
    )


def _verify_cluster(args: Namespace, output: Output) -> Iterator[Verification]:
    """Judge one cycle of a cluster's scheduler after the other."""
    from vcdebug.conformance import ClusterReader, Patience, verify_cluster

    if args.arguments or args.log or args.keep or args.cycles > 1:
        options = "--argument, --log, --keep and --cycles"
        raise VcdebugError(f"{options} need a scheduler binary", "give SNAPSHOT and --scheduler PATH")
    args.release = args.release or ""
    return verify_cluster(
        ClusterReader(capture.cluster_options(args)),
        Patience(args.wait or WAIT),
        announce=partial(capture.announce_capture, output),
        tell=output.write_notice,
    )
