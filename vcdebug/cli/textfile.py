"""Text that is no snapshot: a scheduler's log, a dump of its cache."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

from vcdebug.errors import VcdebugError

STDIN = "-"
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
