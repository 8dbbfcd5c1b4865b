"""Edits in a file: one per line as `--set` takes them; empty lines and `#` comments are skipped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from vcdebug.errors import SnapshotError
from vcdebug.snapshot.edit import parse_edit
from vcdebug.snapshot.edit_path import EditError
from vcdebug.snapshot.file_access import read_file, replace_file

FILE_SIGN = "@"
"""`--set @FILE` means the edits of a file."""


def write_edits(path: str, edits: Iterable[str], about: str) -> None:
    """Write the edits; a file that is there is replaced. Raises SnapshotError."""
    lines = [f"# what-if edits of {about}: --set {FILE_SIGN}{path}", *edits]
    try:
        with replace_file(Path(path)) as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
    except OSError as error:
        raise SnapshotError(f"cannot be written: {error.strerror or error}", where=path) from error


def read_edits(path: str) -> list[str]:
    """The edits of a file, each of them readable; raises SnapshotError or EditError, with file and line."""
    try:
        text = read_file(path).decode()
    except UnicodeDecodeError as error:
        raise SnapshotError("the edits cannot be read: it is no text", where=path) from error
    edits = []
    for number, line in enumerate(text.splitlines(), start=1):
        edit = line.strip()
        if edit and not edit.startswith("#"):
            _check_edit(edit, f"{path}: line {number}")
            edits.append(edit)
    return edits


def expand_edits(texts: Iterable[str]) -> Iterator[str]:
    """Edits with every `@FILE` among them replaced by the edits of the file."""
    for text in texts:
        if text.startswith(FILE_SIGN):
            yield from read_edits(text[len(FILE_SIGN) :])
        else:
            yield text


def _check_edit(edit: str, where: str) -> None:
    try:
        parse_edit(edit)
    except EditError as error:
        error.where = where
        raise
