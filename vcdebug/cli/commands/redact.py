"""`vcdebug redact`: a snapshot under other names, to hand on."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.cli.commands.base import Command, Outcome, add_snapshot
from vcdebug.cli.commands.capture import check_target
from vcdebug.cli.output import Output
from vcdebug.errors import SnapshotError

if TYPE_CHECKING:
    from vcdebug.snapshot.redact import Redaction

MOST_FIELDS = 8


class Redact(Command):
    """Keeps what decides and replaces every name, so that the copy replays the same."""

    NAME = "redact"
    HELP = "write a copy of a snapshot that decides the same under other names and tells nothing of the cluster"

    def configure(self, parser: ArgumentParser) -> None:
        add_snapshot(parser)
        parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where to write, a .tar.gz")
        add_map(parser)
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


def add_map(parser: ArgumentParser) -> None:
    """The file by which an answer can be translated back."""
    parser.add_argument(
        "--map", metavar="MAPPING", help="also write which name became which, as JSON: it is yours, do not hand it on"
    )


def check_map(path: str | None, *, force: bool) -> None:
    """Before anything is read, not after."""
    if path is None:
        return
    target = Path(path)
    if target.exists() and (target.is_dir() or not force):
        raise SnapshotError("exists already", "choose another name, or --force", path)
    if not target.absolute().parent.is_dir():
        raise SnapshotError("no such folder", where=str(target.parent))


def write_map(done: Redaction, path: str | None, output: Output) -> None:
    """What stands for what, readable by its owner alone."""
    if path is None:
        return
    from vcdebug.snapshot.save import PRIVATE

    target = Path(path)
    try:
        target.touch(PRIVATE)
        target.chmod(PRIVATE)
        target.write_text(json.dumps(done.mapping, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    except OSError as error:
        raise SnapshotError(f"cannot be written: {error.strerror or error}", where=path) from error
    output.narrate(f"which name became which is in {path}: keep it to yourself")


def report(done: Redaction, output: Output) -> None:
    """What was replaced, kept and dropped."""
    parts = ", ".join(f"{len(texts)} {part}" for part, texts in done.mapping.items())
    output.narrate(f"replaced {done.replaced} texts ({parts})")
    output.narrate(f"kept {done.kept} texts: numbers, quantities, times, and words that the scheduler itself knows")
    dropped = sorted(done.dropped, key=lambda row: (-row[1], row[0]))
    shown = ", ".join(f"{name} {count} times" for name, count in dropped[:MOST_FIELDS])
    more = f", and {len(dropped) - MOST_FIELDS} more fields" if len(dropped) > MOST_FIELDS else ""
    output.narrate(f"dropped {shown}{more}" if dropped else "dropped nothing that the schema does not name")
