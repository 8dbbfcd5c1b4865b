"""Save recordings to files, open them without a replay, and cache them between runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import vcdebug
from vcdebug.errors import SnapshotError, VcdebugError
from vcdebug.garbage_collection import collector_paused
from vcdebug.recording.file import form
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.file_access import check_replaceable, replace_file
from vcdebug.snapshot.sources import Source

if TYPE_CHECKING:
    from hashlib import _Hash


RECORDING_SUFFIX: Final = ".vcrec"
DIGESTED_ROOMS: Final = form.NAMEABLE_ROOMS
"""Packages whose code decides the content of a recording; changes of other packages do not matter."""


@cache
def program_id() -> str:
    """The version and a digest of the sources that decide a recording's content, independent of their location."""
    import hashlib

    package = Path(vcdebug.__file__).parent
    digest = hashlib.sha256()
    for name in sorted(_iter_source_names(package)):
        # Git may check sources out with CRLF: that is the same program.
        text = (package / name).read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name} {len(text)}\n".encode() + text)
    return f"{vcdebug.__version__} ({digest.hexdigest()[:16]})"


def _iter_source_names(package: Path) -> Iterator[str]:
    # os.walk, not rglob: that takes three times as long, at every opening of a recording.
    yield from (path.name for path in package.glob("*.py"))
    for room in DIGESTED_ROOMS:
        for folder, _, names in os.walk(package / room):
            below = folder[len(str(package)) + 1 :].replace(os.sep, "/")
            yield from (f"{below}/{name}" for name in names if name.endswith(".py"))


class UnwritableError(VcdebugError):
    """Raised if the file system cannot write a recording."""


def is_recording_file(source: Source) -> bool:
    """Whether the source is a file that `run --save` wrote, by its first bytes."""
    if isinstance(source, BytesIO):
        return source.getvalue().startswith(form.FILE_MAGIC)
    if not isinstance(source, str | Path):
        return False
    try:
        path = Path(source)
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(form.FILE_MAGIC)) == form.FILE_MAGIC
    except (OSError, ValueError):
        return False


def open_recording(source: Path | BytesIO) -> Recording:
    """The recording in a file or in bytes; raises SnapshotError if damaged or from another version of vcdebug."""
    from mmap import ACCESS_READ, mmap

    from vcdebug.recording.file.read import open_stored_recording

    path = source if isinstance(source, Path) else getattr(source, "name", "bytes")
    try:
        if isinstance(source, BytesIO):
            return open_stored_recording(source.getvalue(), program_id())
        with source.open("rb") as file:
            data = mmap(file.fileno(), 0, access=ACCESS_READ)
        return open_stored_recording(data, program_id())
    except form.ForeignRecordingError as error:
        hint = "use that version, or record again from the snapshot"
        raise SnapshotError(f"recorded with vcdebug {error}; this is {program_id()}", hint, str(path)) from error
    except form.DamagedRecordingError as error:
        raise SnapshotError(f"is not a readable recording: {error}", where=str(path)) from error
    except (OSError, ValueError) as error:
        raise SnapshotError(f"cannot be read: {error}", where=str(path)) from error


def save_recording(recording: Recording, path: Path, step: Callable[[], object] = lambda: None) -> None:
    """Write the recording completely or not at all; `step` is called often and may raise to stop it.

    Raises UnstorableError for a recording that has no stored form, UnwritableError for a failing file system.
    """
    from vcdebug.recording.file.object_tables import store_recording

    check_replaceable(path)
    recording.build_indexes(step)
    try:
        with collector_paused(), replace_file(path) as file:
            for data in store_recording(recording, program_id(), step):
                file.write(data)
    except form.UnstorableError as error:
        raise form.UnstorableError(f"this recording cannot be saved: {error}", where=str(path)) from error
    except OSError as error:
        raise UnwritableError(f"cannot be written: {error.strerror or error}", where=str(path)) from error


# The cache of recordings between runs: the least recently opened ones are deleted first.

DEFAULT_MEGABYTES: Final = 2000
"""Size limit of all cached recordings together."""
MIN_BYTES: Final = 1 << 20
"""Least size in bytes of a snapshot whose recording is cached; smaller ones are replayed as quickly as opened."""
_PACKED: Final = (".gz", ".tgz", ".zip")
_UNPACKED_FACTOR: Final = 10
"""Estimated ratio of unpacked to packed size: JSON of similar objects compresses well."""
_BLOCK: Final = 1 << 20


class CachedRecording(NamedTuple):
    """A file of the cache."""

    path: Path
    size: int
    used: float
    """Time of the last opening, in seconds since the epoch, by the file system's clock."""


class RecordingCache:
    """A folder of recordings of at most `megabytes` in total; files that cannot be opened are ignored."""

    def __init__(self, folder: Path, megabytes: int = DEFAULT_MEGABYTES) -> None:
        self.folder = folder
        self._max_bytes = megabytes << 20

    def find_recording(self, key: str) -> Recording | None:
        """The recording with this key; None if there is none that can be opened."""
        path = self._path_of(key)
        if not path.is_file():
            return None
        try:
            recording = open_recording(path)
            os.utime(path)
        except (SnapshotError, OSError):
            return None
        return recording

    def cache_recording(self, key: str, recording: Recording, step: Callable[[], object] = lambda: None) -> None:
        """Save a recording, unless it was cut off, has no stored form, or the folder cannot be written."""
        if recording.cut_event is not None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            save_recording(recording, self._path_of(key), step)
        except (form.UnstorableError, UnwritableError, OSError):
            return
        self._make_room()

    def list_entries(self) -> list[CachedRecording]:
        """All cached recordings, the last opened first."""
        entries = (CachedRecording(path, status.st_size, status.st_mtime) for path, status in self._iter_cached_files())
        return sorted(entries, key=lambda entry: entry.used, reverse=True)

    def remove_all(self) -> int:
        """Delete all cached recordings; returns their number."""
        entries = self.list_entries()
        for entry in entries:
            entry.path.unlink(missing_ok=True)
        return len(entries)

    def _make_room(self) -> None:
        total = 0
        for entry in self.list_entries():
            total += entry.size
            if total > self._max_bytes:
                entry.path.unlink(missing_ok=True)

    def _iter_cached_files(self) -> Iterator[tuple[Path, os.stat_result]]:
        if not self.folder.is_dir():
            return
        for path in sorted(self.folder.glob(f"*{RECORDING_SUFFIX}")):
            try:
                yield path, path.stat()
            except OSError:
                continue

    def _path_of(self, key: str) -> Path:
        return self.folder / f"{key}{RECORDING_SUFFIX}"


def cache_key(source: Source, options: Mapping[str, object]) -> str | None:
    """A digest of everything that decides a recording: the program, `options`, and every byte of the input.

    None for a source that is not cached: a stream, or a snapshot below MIN_BYTES.
    """
    if not isinstance(source, str | Path) or source == "-":
        return None
    path = Path(source)
    try:
        # Files that the loader ignores may cost a cache hit, never a wrong one.
        files = sorted(iter_files(path))
        if sum(map(_unpacked_size, files)) < MIN_BYTES:  # exact: ints
            return None
        import hashlib

        digest = hashlib.sha256(json.dumps([program_id(), str(source), sorted(options.items())]).encode())
        for file in files:
            _add_file(digest, file.relative_to(path.parent).as_posix(), file)
    except (OSError, ValueError):
        return None
    return digest.hexdigest()


def iter_files(path: Path) -> Iterator[Path]:
    """Yields every file below the path, or the path itself if it is none."""
    return (file for file in path.rglob("*") if file.is_file()) if path.is_dir() else iter([path])


def _unpacked_size(file: Path) -> int:
    """The estimated size in bytes after unpacking."""
    return file.stat().st_size * (_UNPACKED_FACTOR if file.name.lower().endswith(_PACKED) else 1)


def _add_file(digest: _Hash, name: str, path: Path) -> None:
    digest.update(f"{name} {path.stat().st_size}\n".encode())
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
