"""`vcdebug redact`: a snapshot under other names, to hand on."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from vcdebug.cli.arguments import share
from vcdebug.cli.commands.base import Command, Outcome
from vcdebug.cli.commands.capture import check_target
from vcdebug.cli.output import Output
from vcdebug.cli.redacting import check_map, report, write_map


class Redact(Command):
    """Keeps what decides and replaces every name, so that the copy replays the same."""

    HELP = "write a copy of a snapshot that decides the same under other names and tells nothing of the cluster"

    def configure(self, parser: ArgumentParser) -> None:
        share(parser, "snapshot", "complete", "release")
        parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where to write, a .tar.gz")
        parser.add_argument(
            "--map",
            metavar="MAPPING",
            help="also write which name became which, as JSON: it is yours, do not hand it on",
        )
        parser.add_argument("--force", action="store_true", help="replace files that exist")

    def execute(self, args: Namespace, output: Output) -> Outcome:
        from vcdebug.cli.snapshots import load_snapshot
        from vcdebug.snapshot.redact import redaction
        from vcdebug.snapshot.save import PRIVATE, save

        target = Path(args.output)
        check_target(target, force=args.force)
        check_map(args.map, force=args.force)
        done = redaction(load_snapshot(args.snapshot, args.complete).snapshot)
        save(done.snapshot, target, PRIVATE)
        report(done, output)
        write_map(done, args.map, output)
        output.text(str(target))
        return Outcome.DONE
