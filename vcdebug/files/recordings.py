"""Recordings as files: written whole or not at all, opened without being run again by the program that wrote them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import vcdebug
from vcdebug.collector import collector_paused
from vcdebug.errors import SnapshotError, VcdebugError
from vcdebug.snapshot.file_access import check_replaceable, replace_file
from vcdebug.snapshot.sources import Source
from vcdebug.stored.form import MAGIC, DamagedError, ForeignError, UnstorableError
from vcdebug.stored.names import ROOMS as NAMED
from vcdebug.trace.recording import Recording

SUFFIX: Final = ".vcrec"
ROOMS: Final = (*NAMED, "stored")
"""Rooms that make a recording and the answers in it: what the others show of it is made anew each time."""


@cache
def program() -> str:
    """Its version, and a digest of the sources that decide how a cycle goes and why, wherever they lie."""
    import hashlib

    package = Path(vcdebug.__file__).parent
    digest = hashlib.sha256()
    for name in sorted(_sources(package)):
        text = (package / name).read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name} {len(text)}\n".encode() + text)
    return f"{vcdebug.__version__} ({digest.hexdigest()[:16]})"


def _sources(package: Path) -> Iterator[str]:
    """Python's own `rglob` takes three times as long, which is felt at each opening."""
    yield from (path.name for path in package.glob("*.py"))
    for room in ROOMS:
        for folder, _, names in os.walk(package / room):
            below = folder[len(str(package)) + 1 :].replace(os.sep, "/")
            yield from (f"{below}/{name}" for name in names if name.endswith(".py"))


class UnwritableError(VcdebugError):
    """The file system does not let a recording be written."""


def is_recording_file(source: Source) -> bool:
    """Whether it is a file that `run --save` wrote, by its first bytes."""
    if not isinstance(source, str | Path):
        return False
    try:
        path = Path(source)
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def open_recording(path: Path) -> Recording:
    """The recording in a file; raises SnapshotError for one that is damaged or was made by another program."""
    from mmap import ACCESS_READ, mmap

    from vcdebug.stored.read import opened_recording

    try:
        with path.open("rb") as file:
            data = mmap(file.fileno(), 0, access=ACCESS_READ)
        return opened_recording(data, program())
    except ForeignError as error:
        hint = "open it with that one, or make it again from the snapshot"
        raise SnapshotError(f"was recorded by vcdebug {error}; this is {program()}", hint, str(path)) from error
    except DamagedError as error:
        raise SnapshotError(f"is no recording that can be opened: {error}", where=str(path)) from error
    except (OSError, ValueError) as error:
        raise SnapshotError(f"cannot be read: {error}", where=str(path)) from error


def save_recording(recording: Recording, path: Path, step: Callable[[], object] = lambda: None) -> None:
    """Write the recording; raises VcdebugError where that is impossible. `step` may raise to stop it."""
    from vcdebug.stored.write import stored

    check_replaceable(path)
    recording.prepare(step)
    try:
        with collector_paused(), replace_file(path) as file:
            for piece in stored(recording, program(), step):
                file.write(piece)
    except UnstorableError as error:
        raise UnstorableError(f"this recording cannot be saved: {error}", where=str(path)) from error
    except OSError as error:
        raise UnwritableError(f"cannot be written: {error.strerror or error}", where=str(path)) from error
