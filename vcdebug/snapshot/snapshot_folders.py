"""Folders of snapshots: which of the things in a folder is a cluster of its own. Kinds decide, not names."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Final

from vcdebug.errors import SnapshotError
from vcdebug.snapshot.archive import ARCHIVE_ERRORS, GZIP_MAGIC, UnpackBudget
from vcdebug.snapshot.gathered_objects import SETTINGS_FILES
from vcdebug.snapshot.sources import is_wanted

MAX_ENTRIES: Final = 1_000_000
MAX_NAMED: Final = 4
"""Snapshots that an error names."""
ARCHIVE_SUFFIXES: Final = (".tar", ".tar.gz", ".tgz", ".zip")
_FIELD: Final = rb"""kind(?<!\wkind)["']?\s*:\s*["']?"""
"""Begins with plain letters, so that a large file is searched thirty times as fast as with the boundary in front."""
_KIND = re.compile(_FIELD + rb"[A-Z]")
_NODE = re.compile(_FIELD + rb"(?:Node|NodeList)\b")
_WORKLOAD = re.compile(_FIELD + rb"(?:Pod|PodGroup)(?:List)?\b")
_CAPACITY = b"allocatable"
"""What a Node has and a reference to one has not."""


def find_snapshots(folder: Path) -> list[Path]:
    """The snapshots below a folder in the order of their names; none where the folder itself is one.

    A folder is one snapshot if manifests or settings lie directly in it, unless at least two of its files hold a
    cluster each. Otherwise its archives are snapshots, and so are its folders if one of them holds nodes.
    """
    return _snapshots_below(folder, UnpackBudget(max_files=MAX_ENTRIES))


def find_only_snapshot(folder: Path) -> Path:
    """The folder, or the only snapshot below it; raises SnapshotError where there are several."""
    found = find_snapshots(folder)
    if len(found) > 1:
        named = ", ".join(str(path) for path in found[:MAX_NAMED])
        more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
        raise SnapshotError(f"is a folder of {len(found)} snapshots", f"name one: {named}{more}", str(folder))
    return found[0] if found else folder


def _snapshots_below(folder: Path, budget: UnpackBudget) -> list[Path]:
    files, archives, folders = _list_entries(folder, budget)
    if any(path.name in SETTINGS_FILES or path.suffix == ".conf" for path in files):
        return []
    manifests = [path for path in files if is_wanted(path.name)]
    if len(manifests) > 1 or archives or folders:
        manifests = [path for path in manifests if _KIND.search(_read_content(path))]
    if manifests:
        clusters = [path for path in manifests if _is_cluster([path])] if len(manifests) > 1 else []
        return sorted([*clusters, *archives]) if len(clusters) > 1 else []
    inner = {path: _snapshots_below(path, budget) for path in folders}
    loose = {path: _manifest_files(path, budget) for path in folders if not inner[path]}
    found = [path for paths in inner.values() for path in paths] + archives
    if found or any(_is_cluster(paths) for paths in loose.values()):
        found += [path for path, paths in loose.items() if any(_KIND.search(_read_content(one)) for one in paths)]
    return sorted(found)


def _list_entries(folder: Path, budget: UnpackBudget) -> tuple[list[Path], list[Path], list[Path]]:
    """(files, archives, folders) directly in a folder; hidden ones and links to folders are passed over."""
    files: list[Path] = []
    archives: list[Path] = []
    folders: list[Path] = []
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return files, archives, folders
    for path in entries:
        budget.take_file(str(folder))
        if path.name.startswith("."):
            continue
        if path.is_dir():
            folders += [] if path.is_symlink() else [path]
        elif path.is_file():
            (archives if path.name.lower().endswith(ARCHIVE_SUFFIXES) else files).append(path)
    return files, archives, folders


def _manifest_files(folder: Path, budget: UnpackBudget) -> list[Path]:
    """Everything below a folder that may hold objects."""
    files, _, folders = _list_entries(folder, budget)
    found = [path for path in files if is_wanted(path.name) and path.name not in SETTINGS_FILES]
    for inner in folders:
        found += _manifest_files(inner, budget)
    return found


def _is_cluster(paths: list[Path]) -> bool:
    """Whether these files hold nodes, and something to place on them."""
    nodes = workload = False
    for path in paths:
        text = _read_content(path)
        nodes = nodes or (_NODE.search(text) is not None and _CAPACITY in text)
        workload = workload or _WORKLOAD.search(text) is not None
        if nodes and workload:
            return True
    return False


def _read_content(path: Path) -> bytes:
    """What a file holds, unpacked; nothing where it cannot be read."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data.startswith(GZIP_MAGIC) else data
    except ARCHIVE_ERRORS:
        return b""
