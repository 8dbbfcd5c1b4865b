"""`vcdebug verify`: compares the replay's predictions with what a scheduler does."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.amount_text import count_noun
from vcdebug.cli.arguments import SNAPSHOT_HELP, add_shared_arguments, extender_client
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.commands.capture import (
    add_cluster_arguments,
    capture_announcement,
    cluster_options,
    config_map_name,
    parse_seconds,
)
from vcdebug.cli.output import Output
from vcdebug.errors import VcdebugError

if TYPE_CHECKING:
    from vcdebug.conformance import Verification

WAIT, PATIENCE = 60.0, 120.0


class VerifyCommand(Command):
    """Runs a scheduler's program on a snapshot, or watches the scheduler of a cluster."""

    HELP = "compare the replay's predictions with what a cluster's scheduler, or a scheduler's program, really does"
    EXITS = "exit status: 0 what could be judged agrees, 2 some differ, 3 inconclusive: nothing to judge, 1 error"

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "snapshot", metavar="SNAPSHOT", nargs="?", help=f"{SNAPSHOT_HELP}; without one, the cluster is captured"
        )
        add_shared_arguments(parser, "complete", "release")
        add_cluster_arguments(
            parser, scheduler="with SNAPSHOT the PATH of a scheduler's program, which is run on it, else NS/NAME"
        )
        parser.add_argument(
            "--wait", metavar="TIME", type=parse_seconds, help="how long the scheduler is given (1m; 2m with SNAPSHOT)"
        )
        parser.add_argument(
            "--for",
            metavar="TIME",
            dest="duration",
            type=parse_seconds,
            help="without SNAPSHOT: judge one cycle after the other for this time, each from its own first state",
        )
        parser.add_argument(
            "--argument",
            metavar="FLAG",
            dest="arguments",
            action="append",
            default=[],
            help="one more argument for the program, such as --argument=-v=5; may be repeated",
        )
        parser.add_argument(
            "--rbac", action="store_true", help="print the ClusterRole that this needs in a cluster, read nothing"
        )
        parser.add_argument("--log", metavar="FILE", help="write what the program logged")
        parser.add_argument(
            "--keep", metavar="FOLDER", help="write the snapshot and what the program did with it, as a case for tests"
        )
        add_shared_arguments(parser, "extender", "json")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.render import write_answer
        from vcdebug.cli.reports import checks

        if args.rbac:
            from vcdebug.capture.permission import cluster_role

            output.write_text(cluster_role(config_map_name(args.scheduler_configmap)).rstrip())
            return CommandOutcome.DONE
        if args.snapshot is None:
            return _verify_cluster(args, output)
        found = _verify_program(args, output)
        if args.keep:
            from vcdebug.conformance.program_verification import write_case

            write_case(found, Path(args.keep))
        write_answer(args, output, checks.verification_document, checks.verification_blocks, found)
        return _outcome_of(found)


def _outcome_of(found: Verification) -> CommandOutcome:
    if found.is_inconclusive:
        return CommandOutcome.INCONCLUSIVE
    return CommandOutcome.DONE if found.is_agreed else CommandOutcome.DIFFERENT


def _verify_program(args: Namespace, output: Output) -> Verification:
    """Run the program on the snapshot; raises VcdebugError without a program."""
    from vcdebug.cli.snapshots import read_snapshot
    from vcdebug.conformance import SchedulerProgram, verify_program

    if not args.scheduler:
        raise VcdebugError(
            "which scheduler?", "name its program with --scheduler PATH; without SNAPSHOT a cluster's own"
        )
    path = Path(args.scheduler)
    if not path.is_file():
        raise VcdebugError("no such program", where=args.scheduler)
    program = SchedulerProgram(str(path.absolute()), tuple(args.arguments), args.wait or PATIENCE, log=args.log or "")
    snapshot = read_snapshot(args.snapshot, complete=args.complete, release=args.release).snapshot
    return verify_program(snapshot, program, ask_extender=extender_client(args.extender_url), tell=output.write_notice)


def _verify_cluster(args: Namespace, output: Output) -> CommandOutcome:
    """Judge the next cycle of a cluster's scheduler, or all of them for a time; write each verdict."""
    from vcdebug.cli.render import write_answer
    from vcdebug.cli.reports import checks
    from vcdebug.conformance import Patience, verify_cluster
    from vcdebug.recording.recording import disposing

    if args.arguments or args.log or args.keep:
        raise VcdebugError("--argument, --log and --keep are for a scheduler's program", "name a SNAPSHOT for it")
    args.release = args.release or ""
    end = time.monotonic() + (args.duration or 0.0)
    cycles = verify_cluster(
        cluster_options(args),
        Patience(args.wait or WAIT),
        announce=lambda who: output.write_notice(capture_announcement(who)),
        tell=output.write_notice,
    )
    outcomes = Counter[CommandOutcome]()
    for found in cycles:
        with disposing(found.recording):
            write_answer(args, output, checks.verification_document, checks.verification_blocks, found)
            outcomes[_outcome_of(found)] += 1
        output.flush()
        if time.monotonic() >= end:
            break
    if args.duration:
        words = ((CommandOutcome.DONE, "agreed"), (CommandOutcome.DIFFERENT, "differed"))
        counts = ", ".join(f"{outcomes[outcome]} {word}" for outcome, word in words)
        output.write_notice(f"{count_noun(outcomes.total(), 'cycle')}: {counts}")
    ranked = (CommandOutcome.DIFFERENT, CommandOutcome.DONE)
    return next((outcome for outcome in ranked if outcomes[outcome]), CommandOutcome.INCONCLUSIVE)
