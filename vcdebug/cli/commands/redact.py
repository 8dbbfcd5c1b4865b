"""`vcdebug redact`: a snapshot under other names, to hand on."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from vcdebug.cli.arguments import add_shared_arguments
from vcdebug.cli.commands.base import Command, CommandOutcome
from vcdebug.cli.commands.capture import check_target
from vcdebug.cli.output import Output
from vcdebug.cli.redacting import check_mapping_target, report_redaction, write_mapping


class RedactCommand(Command):
    """Keeps what decides and replaces every name, so that the copy replays the same."""

    HELP = "write a copy of a snapshot that decides the same under other names and tells nothing of the cluster"

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_shared_arguments(parser, "snapshot", "complete", "release")
        parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where to write, a .tar.gz")
        parser.add_argument(
            "--map",
            metavar="MAPPING",
            help="also write which name became which, as JSON: it is yours, do not hand it on",
        )
        parser.add_argument("--force", action="store_true", help="replace files that exist")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.snapshots import read_snapshot
        from vcdebug.snapshot.redact import make_redaction
        from vcdebug.snapshot.save import PRIVATE_MODE, save_snapshot

        target = Path(args.output)
        check_target(target, force=args.force)
        check_mapping_target(args.map, force=args.force)
        done = make_redaction(read_snapshot(args.snapshot, args.complete).snapshot)
        save_snapshot(done.snapshot, target, PRIVATE_MODE)
        report_redaction(done, output)
        write_mapping(done, args.map, output)
        output.write_text(str(target))
        return CommandOutcome.DONE
