"""A snapshot as the bytes of its files: what travels to a worker that may see none of our disks."""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from vcdebug.cli.failure import RunFailure, run_or_failure
from vcdebug.errors import SnapshotError
from vcdebug.snapshot.archive import MAX_BYTES
from vcdebug.snapshot.file_access import read_file
from vcdebug.snapshot.sources import is_wanted


class PackedSnapshot(NamedTuple):
    """One snapshot, not yet parsed."""

    name: str
    data: bytes | RunFailure
    """A file as it is, a folder as an archive, or why it could not be read."""

    def open_file(self) -> NamedBytes:
        """To be parsed; raises SnapshotError for one that could not be read."""
        if isinstance(self.data, RunFailure):
            raise SnapshotError(self.data.line)
        return NamedBytes(self.name, self.data)


class NamedBytes(io.BytesIO):
    """Bytes that say where they come from."""

    def __init__(self, name: str, data: bytes) -> None:
        super().__init__(data)
        self.name = name


def pack_snapshot(path: Path, name: str) -> PackedSnapshot:
    """Read, not parsed: the worker does that."""
    return PackedSnapshot(
        name, run_or_failure(lambda: _archive_folder(path) if path.is_dir() else read_file(path, MAX_BYTES))
    )


def _archive_folder(folder: Path) -> bytes:
    """The files that a loader of the folder would look at; links that lead out of it are left behind."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for path in sorted(_list_files(folder)):
            data = path.read_bytes()
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return target.getvalue()


def _list_files(folder: Path) -> Iterator[Path]:
    root = folder.resolve()
    for where, _, names in os.walk(folder):
        for path in (Path(where, name) for name in names):
            if (
                is_wanted(path.relative_to(folder).as_posix())
                and path.is_file()
                and path.resolve().is_relative_to(root)
            ):
                yield path
