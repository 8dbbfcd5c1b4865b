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
from vcdebug.stored.form import FILE_MAGIC, DamagedRecordingError, ForeignRecordingError, UnstorableError
from vcdebug.stored.names import NAMEABLE_ROOMS as NAMED
from vcdebug.trace.recording import Recording

RECORDING_SUFFIX: Final = ".vcrec"
DIGESTED_ROOMS: Final = (*NAMED, "stored")
"""Rooms that make a recording and the answers in it: what the others show of it is made anew each time."""


@cache
def program_id() -> str:
    """Its version, and a digest of the sources that decide how a cycle goes and why, wherever they lie."""
    import hashlib

    package = Path(vcdebug.__file__).parent
    digest = hashlib.sha256()
    for name in sorted(_iter_source_names(package)):
        text = (package / name).read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name} {len(text)}\n".encode() + text)
    return f"{vcdebug.__version__} ({digest.hexdigest()[:16]})"


def _iter_source_names(package: Path) -> Iterator[str]:
    """Python's own `rglob` takes three times as long, which is felt at each opening."""
    yield from (path.name for path in package.glob("*.py"))
    for room in DIGESTED_ROOMS:
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
            return file.read(len(FILE_MAGIC)) == FILE_MAGIC
    except (OSError, ValueError):
        return False


def open_recording(path: Path) -> Recording:
    """The recording in a file; raises SnapshotError for one that is damaged or was made by another program."""
    from mmap import ACCESS_READ, mmap

    from vcdebug.stored.read import open_stored_recording

    try:
        with path.open("rb") as file:
            data = mmap(file.fileno(), 0, access=ACCESS_READ)
        return open_stored_recording(data, program_id())
    except ForeignRecordingError as error:
        hint = "open it with that one, or make it again from the snapshot"
        raise SnapshotError(f"was recorded by vcdebug {error}; this is {program_id()}", hint, str(path)) from error
    except DamagedRecordingError as error:
        raise SnapshotError(f"is no recording that can be opened: {error}", where=str(path)) from error
    except (OSError, ValueError) as error:
        raise SnapshotError(f"cannot be read: {error}", where=str(path)) from error


def save_recording(recording: Recording, path: Path, step: Callable[[], object] = lambda: None) -> None:
    """Write the recording; raises VcdebugError where that is impossible. `step` may raise to stop it."""
    from vcdebug.stored.write import store_recording

    check_replaceable(path)
    recording.build_indexes(step)
    try:
        with collector_paused(), replace_file(path) as file:
            for piece in store_recording(recording, program_id(), step):
                file.write(piece)
    except UnstorableError as error:
        raise UnstorableError(f"this recording cannot be saved: {error}", where=str(path)) from error
    except OSError as error:
        raise UnwritableError(f"cannot be written: {error.strerror or error}", where=str(path)) from error
