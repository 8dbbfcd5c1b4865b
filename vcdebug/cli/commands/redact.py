"""`vcdebug redact`: writes a copy of a snapshot under other names."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.amount_text import count_noun
from vcdebug.cli.arguments import add_shared_options
from vcdebug.cli.commands import Command, CommandOutcome
from vcdebug.cli.output import Output
from vcdebug.errors import CaptureError, SnapshotError
from vcdebug.snapshot.file_access import check_replaceable, replace_file
from vcdebug.snapshot.saved_files import ARCHIVE_SUFFIXES

if TYPE_CHECKING:
    from vcdebug.snapshot.redaction import Redaction


class RedactCommand(Command):
    """Replaces every name and keeps the fields that decide, so that the copy replays the same decisions."""

    HELP = "Write an anonymized copy of a snapshot, which replays identically"
    EXAMPLES = ("redact incident.tar.gz -o anonymous.tar.gz --map names.json",)

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_shared_options(parser, "SNAPSHOT", "--complete", "--release")
        parser.add_argument(
            "-o", "--output", metavar="FILE", required=True, help="file to write; its name ends in .tar.gz"
        )
        parser.add_argument(
            "--map", metavar="MAPPING", help="also write the mapping of names as JSON (keep it private)"
        )
        parser.add_argument("--force", action="store_true", help="overwrite existing files")

    def execute(self, args: Namespace, output: Output) -> CommandOutcome:
        from vcdebug.cli.snapshots import read_snapshot
        from vcdebug.snapshot.redaction import make_redaction
        from vcdebug.snapshot.saved_files import save_snapshot

        target = Path(args.output)
        check_target(target, force=args.force)
        check_mapping_target(args.map, force=args.force)
        redaction = make_redaction(read_snapshot(args.snapshot, args.complete))
        save_snapshot(redaction.snapshot, target)
        report_redaction(redaction, output)
        write_mapping(redaction, args.map, output)
        output.write_text(str(target))
        return CommandOutcome.DONE


# The files that `redact` and `capture` write, and the report of what was replaced.

MAX_SHOWN_FIELDS = 8


def check_target(target: Path, *, force: bool) -> None:
    """Raise CaptureError unless an archive can be written to the path; called before the cluster is read."""
    if target.is_dir():
        raise CaptureError("is a folder", f"name a file, such as {target / 'snapshot.tar.gz'}", str(target))
    if not target.name.endswith(ARCHIVE_SUFFIXES):
        raise CaptureError("unsupported archive type", "the name must end in .tar.gz", str(target))
    if not target.absolute().parent.is_dir():
        raise CaptureError("no such folder", where=str(target.parent))
    if target.exists() and not force:
        raise CaptureError("exists already", "choose another name, or --force", str(target))
    check_replaceable(target)


def check_mapping_target(path: str | None, *, force: bool) -> None:
    """Raise SnapshotError unless the mapping can be written to the path; None writes none."""
    if path is None:
        return
    target = Path(path)
    if target.exists() and (target.is_dir() or not force):
        raise SnapshotError("exists already", "choose another name, or --force", path)
    check_replaceable(target)
    if not target.absolute().parent.is_dir():
        raise SnapshotError("no such folder", where=str(target.parent))


def write_mapping(redaction: Redaction, path: str | None, output: Output) -> None:
    """Write the mapping of names to pseudonyms to a file that only its owner can read."""
    if path is None:
        return

    target = Path(path)
    try:
        with replace_file(target) as file:
            file.write(f"{json.dumps(redaction.mapping, indent=1, sort_keys=True)}\n".encode())
    except OSError as error:
        raise SnapshotError(f"cannot be written: {error.strerror or error}", where=path) from error
    output.write_notice(f"mapping of names written to {path}; keep it private")


def report_redaction(redaction: Redaction, output: Output) -> None:
    """Write notices about what was replaced, kept and dropped."""
    parts = ", ".join(f"{len(texts)} {part}" for part, texts in redaction.mapping.items())
    write = output.write_notice
    write(f"replaced {redaction.replaced_count} strings ({parts})")
    write(f"kept {redaction.kept_count} strings that are scheduler keywords, and every amount; shifted all times")
    dropped = sorted(redaction.dropped_counts, key=lambda row: (-row[1], row[0]))
    fields = ", ".join(f"{name} {count_noun(count, 'time')}" for name, count in dropped[:MAX_SHOWN_FIELDS])
    remainder = f", and {len(dropped) - MAX_SHOWN_FIELDS} more fields" if len(dropped) > MAX_SHOWN_FIELDS else ""
    write(f"dropped {fields}{remainder}" if dropped else "no unknown fields were dropped")
