"""Text that is no snapshot: a scheduler's log, a dump of its cache, notes, reports."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Final

from vcdebug.errors import VcdebugError

STDIN = "-"
FORCE: Final = "--force"
GZIP_MAGIC = b"\x1f\x8b"


def read_text(word: str) -> str:
    """A file, compressed or not, or standard input; bytes that are no text are replaced."""
    data = sys.stdin.buffer.read() if word == STDIN else _read(Path(word))
    if data.startswith(GZIP_MAGIC):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError) as error:
            raise VcdebugError(f"cannot be decompressed: {error}", where=word) from error
    return data.decode("utf-8", "replace")


def _read(path: Path) -> bytes:
    if path.is_dir():
        raise VcdebugError("is a folder", "name a file", str(path))
    if not path.exists():
        raise VcdebugError("no such file", where=str(path))
    return path.read_bytes()


def split_force(argument: str) -> tuple[str, bool]:
    """A file, empty where none is named, and whether it may be written over, from the words of a command."""
    words = argument.split()
    return " ".join(word for word in words if word != FORCE), FORCE in words


def check_target(file: str, *, force: bool) -> Path:
    """Where a text may go; raises for a file that is there already, before any work is done."""
    path = Path(file).expanduser()
    if path.is_dir() or not path.parent.is_dir():
        raise VcdebugError("is a folder" if path.is_dir() else "its folder does not exist", where=file)
    if path.exists() and not force:
        raise VcdebugError("is there already", f"{FORCE} writes over it", file)
    return path


def write_text(path: Path, text: str) -> None:
    """Write it in one go: a reader never sees half of it, and what was there stays where this fails."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise VcdebugError(f"cannot be written: {error.strerror}", where=str(path)) from error
