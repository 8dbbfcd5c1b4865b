"""From the word on the command line to the place where the snapshot lies."""

from __future__ import annotations

from pathlib import Path

from vcdebug.errors import SnapshotError
from vcdebug.snapshot.bundled import resolve_snapshot_path
from vcdebug.snapshot.collection import find_only_snapshot

STDIN = "-"


def snapshot_source(word: str) -> str | Path:
    """A path that exists, standard input, or the folder of a bundled snapshot."""
    if word == STDIN:
        return STDIN
    if not word:
        raise SnapshotError("the name of the snapshot is empty")
    return resolve_snapshot_path(word)


def one_snapshot_source(word: str) -> str | Path:
    """The same for whoever wants one snapshot: raises SnapshotError for a folder of several."""
    where = snapshot_source(word)
    return find_only_snapshot(where) if isinstance(where, Path) and where.is_dir() else where
