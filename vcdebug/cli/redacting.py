"""What a redaction did, told; and the file of names, which stays with its owner. Shared by `redact` and `capture`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from vcdebug.amount_text import count_noun
from vcdebug.cli.output import Output
from vcdebug.errors import SnapshotError
from vcdebug.snapshot.file_access import check_replaceable, replace_file

if TYPE_CHECKING:
    from vcdebug.snapshot.redact import Redaction

MAX_SHOWN_FIELDS = 8


def check_mapping_target(path: str | None, *, force: bool) -> None:
    """Before anything is read, not after."""
    if path is None:
        return
    target = Path(path)
    if target.exists() and (target.is_dir() or not force):
        raise SnapshotError("exists already", "choose another name, or --force", path)
    check_replaceable(target)
    if not target.absolute().parent.is_dir():
        raise SnapshotError("no such folder", where=str(target.parent))


def write_mapping(done: Redaction, path: str | None, output: Output) -> None:
    """What stands for what, readable by its owner alone."""
    if path is None:
        return
    from vcdebug.snapshot.save import PRIVATE_MODE

    target = Path(path)
    try:
        with replace_file(target, PRIVATE_MODE) as file:
            file.write(f"{json.dumps(done.mapping, indent=1, sort_keys=True)}\n".encode())
    except OSError as error:
        raise SnapshotError(f"cannot be written: {error.strerror or error}", where=path) from error
    output.write_notice(f"which name became which is in {path}: keep it to yourself")


def report_redaction(done: Redaction, output: Output) -> None:
    """What was replaced, kept and dropped."""
    parts = ", ".join(f"{len(texts)} {part}" for part, texts in done.mapping.items())
    output.write_notice(f"replaced {done.replaced} texts ({parts})")
    output.write_notice(
        f"kept {done.kept} texts: numbers, quantities, times, and words that the scheduler itself knows"
    )
    dropped = sorted(done.dropped, key=lambda row: (-row[1], row[0]))
    shown = ", ".join(f"{name} {count_noun(count, 'time')}" for name, count in dropped[:MAX_SHOWN_FIELDS])
    more = f", and {len(dropped) - MAX_SHOWN_FIELDS} more fields" if len(dropped) > MAX_SHOWN_FIELDS else ""
    output.write_notice(f"dropped {shown}{more}" if dropped else "dropped nothing that the schema does not name")
