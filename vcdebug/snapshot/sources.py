"""The files of a snapshot from a folder, archive, file or stream, and the snapshots in a folder of several."""

import io
import json
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Final

from msgspec import Struct

from vcdebug.errors import SnapshotError, closest_name_hint
from vcdebug.snapshot import archive
from vcdebug.snapshot.file_access import describe_read_error, read_file, read_stdin
from vcdebug.snapshot.gathered_objects import META_FILE, SETTINGS_FILES
from vcdebug.snapshot.problems import META_NOT_READ, ProblemReport

FileBegins = Callable[[int, int, str], None]
"""Called at the start of a file with (bytes before it, total bytes or 0 if unknown, its name)."""

Source = str | Path | BinaryIO

READ_SUFFIXES = ("", ".json", ".yaml", ".yml", ".ndjson", ".jsonl", ".conf")
"""Suffixes of files that are read in a folder or archive, also followed by a suffix of a packer."""
COMPANION_FILES = ("expected.json", "question.json", "README", "LICENSE")
"""Files in a snapshot's folder that are not part of it."""
_RECORDING_STARTS = (b'{"ev":', b'{"seq":')
_TAR_BLOCK = 512
_UNPACKED_SUFFIXES: Final = (".tar", ".tgz", ".zip", *(f".tar{suffix}" for suffix in archive.PACKED_SUFFIXES))
_MAX_NESTED: Final = 2
"""How many archives may lie inside of each other below the outermost: some unpack to themselves."""


def open_source(
    source: Source, report: ProblemReport, begins: FileBegins | None = None
) -> Iterator[archive.SourceFile]:
    """The files of a snapshot in a fixed order; raises SnapshotError if the source cannot be read at all."""
    budget = archive.UnpackBudget()
    if source == "-":
        return _data_files(read_stdin(budget.max_bytes), "stdin", budget, report)
    if isinstance(source, str | Path):
        return _path_files(Path(source), budget, report, begins)
    return _stream_files(source, str(getattr(source, "name", "stream")), budget, report)


def source_name(source: Source) -> str:
    """The name of a snapshot that does not state one."""
    if source == "-":
        return "stdin"
    if not isinstance(source, str | Path):
        return Path(str(getattr(source, "name", "stream"))).name
    path = Path(source)
    name = path.name or path.resolve().name
    for suffix in (*archive.PACKED_SUFFIXES, ".tgz", ".tar", ".zip", ".json", ".yaml", ".yml", ".ndjson"):
        name = name.removesuffix(suffix)
    return name or path.name


def _path_files(
    path: Path, budget: archive.UnpackBudget, report: ProblemReport, begins: FileBegins | None
) -> Iterator[archive.SourceFile]:
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError) as error:
        raise SnapshotError(describe_read_error(error), where=str(path)) from error
    if is_folder:
        return _folder_files(path, budget, report, begins)
    data = read_file(path, budget.max_bytes)
    if path.suffix in READ_SUFFIXES and path.name != META_FILE and path.with_name(META_FILE).is_file():
        effect = "its settings, such as the release, are missing; name the folder instead of the file"
        report.add_problem(META_NOT_READ, effect, file=META_FILE)
    if begins:
        begins(0, len(data), path.name)
    return _data_files(data, path.name, budget, report)


def _stream_files(
    stream: IO[bytes], name: str, budget: archive.UnpackBudget, report: ProblemReport
) -> Iterator[archive.SourceFile]:
    try:
        data = stream.read(budget.max_bytes + 1)
    except (OSError, ValueError) as error:
        raise SnapshotError(f"cannot be read: {error}", where=name) from error
    return _data_files(data, name, budget, report)


def _data_files(
    data: bytes, name: str, budget: archive.UnpackBudget, report: ProblemReport
) -> Iterator[archive.SourceFile]:
    """The members of an archive, or the file itself; its first bytes decide, not its name."""
    if not data.strip():
        raise SnapshotError("is empty", where=name)
    for magic, (packer, hint) in archive.FOREIGN_MAGICS.items():
        if data.startswith(magic):
            raise SnapshotError(f"is packed with {packer}", hint, name)
    if data.startswith(archive.ZIP_MAGICS):
        yield from _wanted_files(archive.zip_files(io.BytesIO(data), name, budget, report), budget, report)
    elif data.startswith(archive.PACKED_MAGICS):
        yield from _packed_files(data, name, budget, report)
    elif archive.is_tar(data[:_TAR_BLOCK]):
        yield from _wanted_files(archive.tar_files(io.BytesIO(data), name, budget, report), budget, report)
    elif _is_recording(data):
        raise SnapshotError("is a recording, not a snapshot", where=name)
    else:
        budget.take_bytes(len(data), name)
        yield archive.SourceFile(name, data)


def _packed_files(
    data: bytes, name: str, budget: archive.UnpackBudget, report: ProblemReport
) -> Iterator[archive.SourceFile]:
    try:
        first_bytes = archive.UnpackedStream(io.BytesIO(data), budget, name).read(_TAR_BLOCK)
        if _is_recording(first_bytes):
            raise SnapshotError("is a recording, not a snapshot", where=name)
        if not archive.is_tar(first_bytes):
            unpacked = archive.SourceFile(archive.unpacked_name(name), archive.unpack_bytes(data, budget, name))
            yield from _inner_files(unpacked, budget, report, _MAX_NESTED)
            return
    except archive.ARCHIVE_ERRORS as error:
        raise SnapshotError(f"is damaged: {error}", where=name) from error
    stream = archive.UnpackedStream(io.BytesIO(data), budget, name)
    yield from _wanted_files(archive.tar_files(stream, name, budget, report), budget, report)


def _folder_files(
    folder: Path, budget: archive.UnpackBudget, report: ProblemReport, begins: FileBegins | None
) -> Iterator[archive.SourceFile]:
    paths = [path for path in _folder_paths(folder, budget, report) if is_wanted(path.name)]
    sizes = [path.stat().st_size for path in paths]
    total, done_bytes = sum(sizes), 0
    for path, size in zip(paths, sizes, strict=True):
        name = path.relative_to(folder).as_posix()
        if begins:
            begins(done_bytes, total, archive.printable_name(name))
        done_bytes += size
        yield from _wanted_files(_read_file(path, archive.printable_name(name), budget, report), budget, report)


def _folder_paths(folder: Path, budget: archive.UnpackBudget, report: ProblemReport) -> list[Path]:
    """Regular files below a folder in name order, without devices and links that lead out of it."""
    root = folder.resolve()
    paths: list[Path] = []
    folders = [folder]
    while folders:
        try:
            entries = sorted(folders.pop().iterdir())
        except OSError as error:
            report.add_problem(describe_read_error(error), "folder ignored", file=str(folder))
            continue
        for path in entries:
            budget.take_file(str(folder))
            if path.name.startswith("."):
                continue
            if path.is_dir() and not path.is_symlink():
                folders.append(path)
            # Resolved: a link in an unpacked archive could otherwise read any file of the machine.
            elif path.is_file() and path.resolve().is_relative_to(root):
                paths.append(path)
            elif not path.is_dir():
                name = archive.printable_name(path.relative_to(folder).as_posix())
                report.add_problem("not a regular file of this folder", "ignored", file=name)
    return sorted(paths)


def _read_file(
    path: Path, name: str, budget: archive.UnpackBudget, report: ProblemReport
) -> Iterator[archive.SourceFile]:
    try:
        if path.stat().st_size > budget.max_bytes:
            raise SnapshotError(f"is larger than {budget.max_bytes >> 20} MiB", where=name)
        data = path.read_bytes()
    except OSError as error:
        report.add_problem(describe_read_error(error), "file ignored", file=name)
        return
    budget.take_bytes(len(data), name)
    yield archive.SourceFile(name, data)


def _wanted_files(
    files: Iterator[archive.SourceFile], budget: archive.UnpackBudget, report: ProblemReport, levels: int = _MAX_NESTED
) -> Iterator[archive.SourceFile]:
    """The unpacked files that can hold objects or settings, without recordings; `levels` of inner archives are read."""
    for file in files:
        if is_wanted(file.name) or file.name.endswith(_UNPACKED_SUFFIXES):
            yield from _inner_files(file, budget, report, levels)


def _inner_files(
    file: archive.SourceFile, budget: archive.UnpackBudget, report: ProblemReport, levels: int
) -> Iterator[archive.SourceFile]:
    """The files in a file that may be packed or an archive."""
    name, data = file
    is_archive = archive.is_tar(data[:_TAR_BLOCK]) or data.startswith(archive.ZIP_MAGICS)
    if (is_archive or data.startswith(archive.PACKED_MAGICS)) and not levels:
        report.add_problem("is an archive inside of archives", "file ignored", file=name)
    elif data.startswith(archive.PACKED_MAGICS):
        name = archive.unpacked_name(name)
        try:
            if _is_recording(archive.UnpackedStream(io.BytesIO(data), budget, name).read(64)):
                return
            inner = archive.SourceFile(name, archive.unpack_bytes(data, budget, name))
        except archive.ARCHIVE_ERRORS as error:
            report.add_problem(f"is damaged: {error}", "file ignored", file=file.name)
            return
        yield from _inner_files(inner, budget, report, levels - 1)
    elif is_archive:
        unpack = archive.zip_files if data.startswith(archive.ZIP_MAGICS) else archive.tar_files
        yield from _wanted_files(unpack(io.BytesIO(data), name, budget, report), budget, report, levels - 1)
    elif not _is_recording(data[:64]):
        yield file


def is_wanted(name: str) -> bool:
    """Whether a file of this name in a folder or archive may hold objects or settings."""
    path = PurePosixPath(name)
    if path.name in COMPANION_FILES or any(part.startswith((".", "__MACOSX")) for part in path.parts):
        return False
    return PurePosixPath(archive.unpacked_name(path.name)).suffix.lower() in READ_SUFFIXES


def _is_recording(first_bytes: bytes) -> bool:
    return first_bytes.startswith(_RECORDING_STARTS)


MAX_ENTRIES: Final = 1_000_000
MAX_NAMED: Final = 4
"""Maximum number of snapshots that an error names."""
ARCHIVE_SUFFIXES: Final = (*_UNPACKED_SUFFIXES, ".vcdebug")
"""Suffixes of files that are a snapshot each; the last one is that of recordings."""
_FIELD: Final = rb"""kind(?<!\wkind)["']?\s*:\s*["']?"""
"""Begins with plain letters: with a word boundary first, a search in a large file takes thirty times as long."""
_KIND = re.compile(_FIELD + rb"[A-Z]")
_NODE = re.compile(_FIELD + rb"(?:Node|NodeList)\b")
_WORKLOAD = re.compile(_FIELD + rb"(?:Pod|PodGroup)(?:List)?\b")
_CAPACITY = b"allocatable"
"""A field of a Node that no reference to a Node has."""


def find_snapshots(folder: Path) -> list[Path]:
    """The snapshots below a folder, ordered by name; none if the folder itself is a snapshot.

    A folder is one snapshot if manifests or settings lie directly in it, unless at least two of its files hold a
    cluster each. Otherwise its archives and recordings are snapshots, and its folders if one of them holds nodes.
    """
    return _snapshots_below(folder, archive.UnpackBudget(max_files=MAX_ENTRIES))


def find_only_snapshot(folder: Path) -> Path:
    """The folder, or the only snapshot below it; raises SnapshotError where there are several."""
    snapshots = find_snapshots(folder)
    if len(snapshots) > 1:
        names = ", ".join(str(path) for path in snapshots[:MAX_NAMED])
        remainder = f" and {len(snapshots) - MAX_NAMED} more" if len(snapshots) > MAX_NAMED else ""
        raise SnapshotError(f"contains {len(snapshots)} snapshots", f"choose one: {names}{remainder}", str(folder))
    return snapshots[0] if snapshots else folder


def _snapshots_below(folder: Path, budget: archive.UnpackBudget) -> list[Path]:
    files, archives, folders = _list_entries(folder, budget)
    if any(path.name in SETTINGS_FILES or path.suffix == ".conf" for path in files):
        return []
    manifests = [path for path in files if is_wanted(path.name)]
    if len(manifests) > 1 or archives or folders:
        manifests = [path for path in manifests if _KIND.search(_read_content(path))]
    if manifests:
        clusters = [path for path in manifests if _is_cluster([path])] if len(manifests) > 1 else []
        return sorted([*clusters, *archives]) if len(clusters) > 1 else []
    # Archives are never opened here: a folder may hold thousands of captures.
    inner = {path: _snapshots_below(path, budget) for path in folders}
    loose = {path: _manifest_files(path, budget) for path in folders if not inner[path]}
    snapshots = [path for paths in inner.values() for path in paths] + archives
    if snapshots or any(_is_cluster(paths) for paths in loose.values()):
        snapshots += [path for path, paths in loose.items() if any(_KIND.search(_read_content(file)) for file in paths)]
    return sorted(snapshots)


def _list_entries(folder: Path, budget: archive.UnpackBudget) -> tuple[list[Path], list[Path], list[Path]]:
    """(files, archives, folders) directly in a folder, without hidden ones and links to folders."""
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


def _manifest_files(folder: Path, budget: archive.UnpackBudget) -> list[Path]:
    """All files below a folder that can hold objects."""
    files, _, folders = _list_entries(folder, budget)
    manifests = [path for path in files if is_wanted(path.name) and path.name not in SETTINGS_FILES]
    for inner in folders:
        manifests += _manifest_files(inner, budget)
    return manifests


def _is_cluster(paths: list[Path]) -> bool:
    """Whether these files hold nodes as well as pods or PodGroups."""
    nodes = workload = False
    for path in paths:
        text = _read_content(path)
        nodes = nodes or (_NODE.search(text) is not None and _CAPACITY in text)
        workload = workload or _WORKLOAD.search(text) is not None
        if nodes and workload:
            return True
    return False


def _read_content(path: Path) -> bytes:
    """The unpacked bytes of a file; empty if it cannot be read."""
    try:
        data = path.read_bytes()
        packed = data.startswith(archive.PACKED_MAGICS)
        return archive.unpack_bytes(data, archive.UnpackBudget(), path.name) if packed else data
    except (SnapshotError, *archive.ARCHIVE_ERRORS):
        return b""


# The snapshots that come with vcdebug, found in a checkout and in an installed wheel alike.

# In a wheel the snapshots are inside the package, in a checkout next to it.
_FOLDERS = (Path(__file__).parents[1] / "fixtures", Path(__file__).parents[2] / "fixtures")


class BundledSnapshot(Struct, frozen=True):
    """One snapshot that comes with vcdebug."""

    name: str
    path: Path
    title: str
    """The snapshot's subject, in one line."""
    description: str


def find_bundled(name: str) -> Path | None:
    """The folder of the bundled snapshot of this name."""
    return next((folder for folder in _bundled_folders() if folder.name == name), None)


def resolve_snapshot_path(word: str) -> Path:
    """A path that exists, or the folder of a bundled snapshot; raises SnapshotError."""
    path = Path(word)
    resolved = path if path.exists() else find_bundled(word)
    if resolved is None:
        names = [folder.name for folder in _bundled_folders()]
        every = "vcdebug open --list prints the bundled snapshots" if names and path.name == word else ""
        raise SnapshotError("no such file or folder", closest_name_hint(word, names, every), word)
    return resolved


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
    return BundledSnapshot(path.name, path, meta["title"], meta["description"])
