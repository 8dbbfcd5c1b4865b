"""Files that a user names: reads are bounded, and no device, pipe or link is ever replaced."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from vcdebug.errors import SnapshotError

MAX_FILE_BYTES: Final = 64 << 20
"""The largest configuration, list of edits or commands that is read."""
_PART_BYTES: Final = 1 << 20
OPEN_PIPES: Final = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""Pipes that have a writer, as `<(command)` makes them; opening any other pipe can block without end."""


def read_file(path: str | Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a regular file or of an open pipe; raises SnapshotError for anything else."""
    path_text = str(path)
    try:
        status = Path(path).stat()
        if problem := _find_problem(path_text, status, max_bytes):
            raise SnapshotError(*problem, where=path_text)
        with Path(path).open("rb") as stream:
            data = _read_at_most(stream, max_bytes + 1)
    except FileNotFoundError as error:
        raise SnapshotError("no such file", where=path_text) from error
    except (OSError, ValueError) as error:
        raise SnapshotError(describe_read_error(error), where=path_text) from error
    return _is_within(data, max_bytes, path_text)


def read_stdin(max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of standard input; raises SnapshotError for more than `max_bytes`."""
    try:
        data = _read_at_most(sys.stdin.buffer, max_bytes + 1)
    except (OSError, ValueError) as error:
        raise SnapshotError(describe_read_error(error), where="stdin") from error
    return _is_within(data, max_bytes, "stdin")


def describe_read_error(error: OSError | ValueError) -> str:
    """The text of a read error for a user."""
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    if isinstance(error, PermissionError):
        return "permission denied"
    return f"cannot be read: {getattr(error, 'strerror', None) or error}"


def expand_path(word: str) -> Path:
    """The path with the home folder for `~`; raises SnapshotError for a user that does not exist."""
    try:
        return Path(word).expanduser()
    except RuntimeError as error:
        raise SnapshotError("unknown home folder of this user", where=word) from error


def check_replaceable(path: Path) -> None:
    """Raise SnapshotError unless the path is free or a regular file."""
    try:
        # lstat: a link must be seen as a link, not as the file that it names.
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except ValueError as error:
        raise SnapshotError(f"is not a file name: {error}", where=str(path)) from error
    if stat.S_ISDIR(mode):
        raise SnapshotError("is a folder", "choose another name", str(path))
    if stat.S_ISLNK(mode):
        raise SnapshotError("is a symbolic link, which is not replaced", "name the file itself", str(path))
    if not stat.S_ISREG(mode):
        raise SnapshotError("is a device, a pipe or a socket, which is not replaced", "name a file", str(path))


PRIVATE_MODE: Final = 0o600
"""Only the owner may read written files, because they describe a cluster."""


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` when it is complete; only its owner may read it.

    Raises SnapshotError as check_replaceable does, and OSError if the file cannot be written.
    """
    check_replaceable(path)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        # O_EXCL: a link that another user made under this name would redirect the bytes.
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_MODE)
        with open(descriptor, "wb") as file:  # noqa: PTH123  # a descriptor, not a path
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _find_problem(path: str, status: os.stat_result, max_bytes: int) -> tuple[str, str] | None:
    """(fault, hint) of a file that must not be read, else None."""
    if stat.S_ISDIR(status.st_mode):
        return "is a folder", "name a file"
    if stat.S_ISFIFO(status.st_mode):
        return None if path.startswith(OPEN_PIPES) else ("is a named pipe, not a file", "name a regular file")
    if not stat.S_ISREG(status.st_mode):
        return "is a device, not a file", "name a regular file"
    if status.st_size > max_bytes:
        return _too_large(max_bytes), ""
    return None


def _read_at_most(stream: BinaryIO, count: int) -> bytes:
    """At most `count` bytes of the stream; callers pass one more than allowed to detect a stream that is too large."""
    # In parts: read(count) reserves memory for all of `count` at once, which is gigabytes for a log of a few lines.
    parts, remaining = [], count
    while remaining and (part := stream.read(min(remaining, _PART_BYTES))):
        parts.append(part)
        remaining -= len(part)
    return b"".join(parts)


def _is_within(data: bytes, max_bytes: int, path: str) -> bytes:
    if len(data) > max_bytes:
        raise SnapshotError(_too_large(max_bytes), where=path)
    return data


def _too_large(max_bytes: int) -> str:
    return f"is larger than {max_bytes >> 20} MiB"
