"""Text that is no snapshot: a scheduler's log, a dump of its cache, notes, reports."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from vcdebug.errors import VcdebugError
from vcdebug.snapshot.archive import ARCHIVE_ERRORS, GZIP_MAGIC, UnpackBudget, gunzip_bytes
from vcdebug.snapshot.file_access import (
    MAX_FILE_BYTES,
    check_replaceable,
    expand_path,
    read_file,
    read_stdin,
    replace_file,
)

STDIN = "-"
FORCE: Final = "--force"


def read_text(word: str, max_bytes: int = MAX_FILE_BYTES) -> str:
    """A file, compressed or not, or standard input; bytes that are no text are replaced."""
    data = read_stdin(max_bytes) if word == STDIN else read_file(word, max_bytes)
    if data.startswith(GZIP_MAGIC):
        try:
            data = gunzip_bytes(data, UnpackBudget(max_bytes), word)
        except ARCHIVE_ERRORS as error:
            raise VcdebugError(f"cannot be decompressed: {error}", where=word) from error
    return data.decode("utf-8", "replace")


def split_force(argument: str) -> tuple[str, bool]:
    """A file, empty where none is named, and whether it may be written over, from the words of a command."""
    words = argument.split()
    return " ".join(word for word in words if word != FORCE), FORCE in words


def check_target(file: str, *, force: bool) -> Path:
    """Where a text may go; raises for a file that is there already, before any work is done."""
    path = expand_path(file)
    if path.is_dir() or not path.parent.is_dir():
        raise VcdebugError("is a folder" if path.is_dir() else "its folder does not exist", where=file)
    if path.exists() and not force:
        raise VcdebugError("is there already", f"{FORCE} writes over it", file)
    check_replaceable(path)
    return path


def write_text(path: Path, text: str) -> None:
    """Write it in one go: a reader never sees half of it, and what was there stays where this fails."""
    try:
        with replace_file(path) as file:
            file.write(text.encode())
    except OSError as error:
        raise VcdebugError(f"cannot be written: {error.strerror}", where=str(path)) from error
