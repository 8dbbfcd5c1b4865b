"""Recordings kept from one run to the next, by what they were made of; the ones not used for longest go first."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from vcdebug.errors import SnapshotError
from vcdebug.files.recordings import RECORDING_SUFFIX, UnwritableError, open_recording, program_id, save_recording
from vcdebug.snapshot.sources import Source
from vcdebug.stored.form import UnstorableError
from vcdebug.trace.recording import Recording

if TYPE_CHECKING:
    from hashlib import _Hash

DEFAULT_MEGABYTES: Final = 2000
"""Of all kept recordings together, by default."""
MIN_BYTES: Final = 1 << 20
"""Bytes of a snapshot that is worth keeping a recording of: a smaller one is replayed as quickly."""
_PACKED: Final = (".gz", ".tgz", ".zip")
_UNPACKED_FACTOR: Final = 10
"""How much larger a packed snapshot is, unpacked: JSON of objects that are nearly alike."""
_BLOCK: Final = 1 << 20


class CachedRecording(NamedTuple):
    """A kept recording."""

    path: Path
    size: int
    used: float
    """When it was last opened, in seconds of the file system's clock."""


class RecordingCache:
    """A folder of recordings. Whatever in it cannot be opened is passed over, and goes when room is needed."""

    def __init__(self, folder: Path, megabytes: int = DEFAULT_MEGABYTES) -> None:
        self.folder = folder
        self._most = megabytes << 20

    def find_recording(self, key: str) -> Recording | None:
        """The recording with this key, if there is one that can be opened."""
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
        """Keep a recording, unless it was cut off, has no stored form, or the folder cannot be written."""
        if recording.cut_event is not None:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            save_recording(recording, self._path_of(key), step)
        except (UnstorableError, UnwritableError, OSError):
            return
        self._make_room()

    def list_entries(self) -> list[CachedRecording]:
        """All of them, the last used first."""
        found = (CachedRecording(path, status.st_size, status.st_mtime) for path, status in self._iter_cached_files())
        return sorted(found, key=lambda entry: entry.used, reverse=True)

    def remove_all(self) -> int:
        """Remove all of them; how many there were."""
        entries = self.list_entries()
        for entry in entries:
            entry.path.unlink(missing_ok=True)
        return len(entries)

    def _make_room(self) -> None:
        held = 0
        for entry in self.list_entries():
            held += entry.size
            if held > self._most:
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
    """What a recording is made of: the program, what it was told, and every byte of the input.

    None for what is not kept: streams, and snapshots so small that they are replayed at once.
    """
    if not isinstance(source, str | Path) or source == "-":
        return None
    path = Path(source)
    try:
        files = _files_of(path)
        if sum(map(_unpacked_size, files)) < MIN_BYTES:  # exact: ints
            return None
        import hashlib

        digest = hashlib.sha256(json.dumps([program_id(), str(source), sorted(options.items())]).encode())
        for file in files:
            _add_file(digest, file.relative_to(path.parent).as_posix(), file)
    except (OSError, ValueError):
        return None
    return digest.hexdigest()


def _files_of(path: Path) -> list[Path]:
    """Everything that the loader may read, and more: what it leaves out does no harm."""
    if path.is_file():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file())


def _unpacked_size(file: Path) -> int:
    """Bytes, about."""
    return file.stat().st_size * (_UNPACKED_FACTOR if file.name.lower().endswith(_PACKED) else 1)


def _add_file(digest: _Hash, name: str, path: Path) -> None:
    digest.update(f"{name} {path.stat().st_size}\n".encode())
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
