"""Edits in a file: one per line as `--set` takes them; empty lines and `#` comments are skipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from vcdebug.errors import SnapshotError
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.edit_path import EditError

SIGN = "@"
"""`--set @FILE` means the edits of a file."""


def write_edits(path: str, edits: Iterable[str], about: str) -> None:
    """Write the edits; a file that is there is replaced. Raises SnapshotError."""
    lines = [f"# what-if edits of {about}: --set {SIGN}{path}", *edits]
    try:
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise SnapshotError(f"cannot be written: {error.strerror or error}", where=path) from error


def read_edits(path: str) -> list[str]:
    """The edits of a file, each of them readable; raises SnapshotError or EditError, with file and line."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is no text"
        raise SnapshotError(f"the edits cannot be read: {what}", where=path) from error
    edits = []
    for number, line in enumerate(text.splitlines(), start=1):
        edit = line.strip()
        if edit and not edit.startswith("#"):
            _check(edit, f"{path}: line {number}")
            edits.append(edit)
    return edits


def expanded(texts: Iterable[str]) -> Iterator[str]:
    """Edits with every `@FILE` among them replaced by the edits of the file."""
    for text in texts:
        if text.startswith(SIGN):
            yield from read_edits(text[len(SIGN) :])
        else:
            yield text


def _check(edit: str, where: str) -> None:
    try:
        parse_edit(edit)
    except EditError as error:
        error.where = where
        raise
