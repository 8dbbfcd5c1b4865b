"""Where a snapshot's files come from: a folder, an archive, one file, or a stream."""

from __future__ import annotations

import io
import stat
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO

from vcdebug.errors import SnapshotError
from vcdebug.snapshot.archive import (
    ARCHIVE_ERRORS,
    FOREIGN_MAGICS,
    GZIP_MAGIC,
    ZIP_MAGICS,
    CountedGzip,
    SourceFile,
    UnpackBudget,
    gunzip_bytes,
    is_tar,
    printable_name,
    tar_files,
    zip_files,
)
from vcdebug.snapshot.file_access import describe_read_error, read_file, read_stdin
from vcdebug.snapshot.problems import ProblemReport

FileBegins = Callable[[int, int, str], None]
"""Called where a file begins: bytes before it, bytes in all (0 if unknown), and its name."""

Source = str | Path | BinaryIO

READ_SUFFIXES = ("", ".json", ".yaml", ".yml", ".ndjson", ".jsonl", ".conf")
"""Suffixes of the files that are read in a folder or archive, also with `.gz`."""
COMPANION_FILES = ("expected.json", "question.json")
"""Files that lie beside a snapshot and are no part of it."""
_RECORDING_STARTS = (b'{"ev":', b'{"seq":')
_TAR_BLOCK = 512


def open_source(source: Source, report: ProblemReport, begins: FileBegins | None = None) -> Iterator[SourceFile]:
    """The files of a snapshot in a fixed order; raises SnapshotError if the source cannot be read at all."""
    budget = UnpackBudget()
    if source == "-":
        return _data_files(read_stdin(budget.max_bytes), "stdin", budget, report)
    if isinstance(source, str | Path):
        return _path_files(Path(source), budget, report, begins)
    return _stream_files(source, str(getattr(source, "name", "stream")), budget, report)


def source_name(source: Source) -> str:
    """How a source is called when the snapshot does not name itself."""
    if source == "-":
        return "stdin"
    if not isinstance(source, str | Path):
        return Path(str(getattr(source, "name", "stream"))).name
    path = Path(source)
    name = path.name or path.resolve().name
    for suffix in (".gz", ".tgz", ".tar", ".zip", ".json", ".yaml", ".yml", ".ndjson"):
        name = name.removesuffix(suffix)
    return name or path.name


def _path_files(
    path: Path, budget: UnpackBudget, report: ProblemReport, begins: FileBegins | None
) -> Iterator[SourceFile]:
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError) as error:
        raise SnapshotError(describe_read_error(error), where=str(path)) from error
    if is_folder:
        return _folder_files(path, budget, report, begins)
    data = read_file(path, budget.max_bytes)
    if begins:
        begins(0, len(data), path.name)
    return _data_files(data, path.name, budget, report)


def _stream_files(stream: IO[bytes], name: str, budget: UnpackBudget, report: ProblemReport) -> Iterator[SourceFile]:
    try:
        data = stream.read(budget.max_bytes + 1)
    except (OSError, ValueError) as error:
        raise SnapshotError(f"cannot be read: {error}", where=name) from error
    return _data_files(data, name, budget, report)


def _data_files(data: bytes, name: str, budget: UnpackBudget, report: ProblemReport) -> Iterator[SourceFile]:
    """The files in one file's bytes: an archive's members, or the file itself; what it is shows in its first bytes."""
    if not data.strip():
        raise SnapshotError("is empty", where=name)
    for magic, packer in FOREIGN_MAGICS.items():
        if data.startswith(magic):
            raise SnapshotError(f"is packed with {packer}", "use .tar.gz, .zip or plain files", name)
    if data.startswith(ZIP_MAGICS):
        yield from _wanted_files(zip_files(io.BytesIO(data), name, budget, report), budget, report)
    elif data.startswith(GZIP_MAGIC):
        yield from _gzip_files(data, name, budget, report)
    elif is_tar(data[:_TAR_BLOCK]):
        yield from _wanted_files(tar_files(io.BytesIO(data), name, budget, report), budget, report)
    elif _is_recording(data):
        raise SnapshotError("is a recording, not a snapshot", where=name)
    else:
        budget.take_bytes(len(data), name)
        yield SourceFile(name, data)


def _gzip_files(data: bytes, name: str, budget: UnpackBudget, report: ProblemReport) -> Iterator[SourceFile]:
    try:
        head = CountedGzip(io.BytesIO(data), budget, name).read(_TAR_BLOCK)
        if _is_recording(head):
            raise SnapshotError("is a recording, not a snapshot", where=name)
        if not is_tar(head):
            yield SourceFile(name.removesuffix(".gz"), gunzip_bytes(data, budget, name))
            return
    except ARCHIVE_ERRORS as error:
        raise SnapshotError(f"is damaged: {error}", where=name) from error
    unpacked = CountedGzip(io.BytesIO(data), budget, name)
    yield from _wanted_files(tar_files(unpacked, name, budget, report), budget, report)


def _folder_files(
    folder: Path, budget: UnpackBudget, report: ProblemReport, begins: FileBegins | None
) -> Iterator[SourceFile]:
    paths = [path for path in _folder_paths(folder, budget, report) if is_wanted(path.name)]
    sizes = [path.stat().st_size for path in paths]
    total, done = sum(sizes), 0
    for path, size in zip(paths, sizes, strict=True):
        name = path.relative_to(folder).as_posix()
        if begins:
            begins(done, total, printable_name(name))
        done += size
        yield from _wanted_files(_read_file(path, printable_name(name), budget, report), budget, report)


def _folder_paths(folder: Path, budget: UnpackBudget, report: ProblemReport) -> list[Path]:
    """Regular files below a folder, in name order; links that lead out of it and devices are left out."""
    root = folder.resolve()
    found: list[Path] = []
    waiting = [folder]
    while waiting:
        try:
            entries = sorted(waiting.pop().iterdir())
        except OSError as error:
            report.add_problem(describe_read_error(error), "the folder is left out", file=str(folder))
            continue
        for path in entries:
            budget.take_file(str(folder))
            if path.name.startswith("."):
                continue
            if path.is_dir() and not path.is_symlink():
                waiting.append(path)
            elif path.is_file() and path.resolve().is_relative_to(root):
                found.append(path)
            elif not path.is_dir():
                name = printable_name(path.relative_to(folder).as_posix())
                report.add_problem("is not a regular file of this folder", "it is left out", file=name)
    return sorted(found)


def _read_file(path: Path, name: str, budget: UnpackBudget, report: ProblemReport) -> Iterator[SourceFile]:
    try:
        if path.stat().st_size > budget.max_bytes:
            raise SnapshotError(f"is larger than {budget.max_bytes >> 20} MiB", where=name)
        data = path.read_bytes()
    except OSError as error:
        report.add_problem(describe_read_error(error), "the file is left out", file=name)
        return
    budget.take_bytes(len(data), name)
    yield SourceFile(name, data)


def _wanted_files(files: Iterator[SourceFile], budget: UnpackBudget, report: ProblemReport) -> Iterator[SourceFile]:
    """The files that may hold objects or settings, unpacked; recordings are passed over."""
    for file in files:
        if not is_wanted(file.name):
            continue
        name, data = file
        if data.startswith(GZIP_MAGIC):
            name = name.removesuffix(".gz")
            try:
                if _is_recording(CountedGzip(io.BytesIO(data), budget, name).read(64)):
                    continue
                data = gunzip_bytes(data, budget, name)
            except ARCHIVE_ERRORS as error:
                report.add_problem(f"is damaged: {error}", "the file is left out", file=file.name)
                continue
        if not _is_recording(data[:64]):
            yield SourceFile(name, data)


def is_wanted(name: str) -> bool:
    """Whether a file of this name in a folder or archive may hold objects or settings."""
    path = PurePosixPath(name)
    if path.name in COMPANION_FILES or any(part.startswith((".", "__MACOSX")) for part in path.parts):
        return False
    return PurePosixPath(path.name.removesuffix(".gz")).suffix.lower() in READ_SUFFIXES


def _is_recording(head: bytes) -> bool:
    return head.startswith(_RECORDING_STARTS)
