"""The snapshots that come with vcdebug, found in a checkout and in an installed wheel alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from vcdebug.errors import SnapshotError

# In a wheel the snapshots are inside the package, in a checkout next to it.
_FOLDERS = (Path(__file__).parents[1] / "fixtures", Path(__file__).parents[2] / "fixtures")


class BundledSnapshot(NamedTuple):
    """One snapshot that comes with vcdebug."""

    name: str
    path: Path
    description: str
    """One sentence about what it demonstrates."""


def find_bundled(name: str) -> Path | None:
    """The folder of the bundled snapshot of this name."""
    return next((folder for folder in _bundled_folders() if folder.name == name), None)


def resolve_snapshot_path(word: str) -> Path:
    """A path that exists, or the folder of a bundled snapshot; raises SnapshotError."""
    path = Path(word)
    found = path if path.exists() else find_bundled(word)
    if found is None:
        names = ", ".join(one.name for one in list_bundled())
        raise SnapshotError("no such file or folder", f"bundled snapshots: {names}" if names else "", word)
    return found


def is_bundled(name: str, origin: str) -> bool:
    """Whether the snapshot of this name was read from the folder that comes with vcdebug."""
    folder = find_bundled(name)
    return folder is not None and bool(origin) and folder.resolve() == Path(origin).resolve()


def list_bundled() -> list[BundledSnapshot]:
    """Every bundled snapshot, by name."""
    return [_read_bundled(folder) for folder in _bundled_folders()]


def _bundled_folders() -> list[Path]:
    """The folders of bundled snapshots, sorted by name."""
    folder = next((folder for folder in _FOLDERS if folder.is_dir()), None)
    return [] if folder is None else [path.parent for path in sorted(folder.glob("*/meta.json"))]


def _read_bundled(path: Path) -> BundledSnapshot:
    meta = json.loads((path / "meta.json").read_text(encoding="utf-8"))
    return BundledSnapshot(path.name, path, meta.get("description", ""))
