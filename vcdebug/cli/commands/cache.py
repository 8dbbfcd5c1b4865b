"""`vcdebug cache`: the recordings that are kept."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime

from vcdebug.cli.arguments import share
from vcdebug.cli.commands.base import Command, Outcome
from vcdebug.cli.keeping import kept_recordings
from vcdebug.cli.output import Output


class Cache(Command):
    """Says what is kept and where, or removes it."""

    HELP = "say which recordings are kept, so that large snapshots open at once the next time, or remove them"

    def configure(self, parser: ArgumentParser) -> None:
        parser.add_argument("--clear", action="store_true", help="remove all of them")
        share(parser, "json")

    def execute(self, args: Namespace, output: Output) -> Outcome:
        kept = kept_recordings()
        if kept is None:
            output.narrate("no recordings are kept: VCDEBUG_CACHE=off")
            return Outcome.DONE
        if args.clear:
            output.narrate(f"removed {kept.clear()} from {kept.folder}")
            return Outcome.DONE
        entries = kept.entries()
        size = sum(entry.size for entry in entries)  # exact: ints
        if args.json:
            listed = [{"file": entry.path.name, "bytes": entry.size} for entry in entries]
            output.json({"folder": str(kept.folder), "bytes": size, "recordings": listed})
            return Outcome.DONE
        output.text(f"{len(entries)} recordings, {size >> 20} MB in {kept.folder}")
        for entry in entries:
            used = datetime.fromtimestamp(entry.used, UTC)
            output.text(f"  {used:%Y-%m-%d %H:%M}  {entry.size >> 20:>6} MB  {entry.path.name[:16]}")
        return Outcome.DONE
