"""Runs one function on many items: choice of workers, progress, and results by snapshot."""

from __future__ import annotations

import io
import os
import tarfile
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from msgspec import Struct

from vcdebug.amount_text import count_noun
from vcdebug.cli.commands import CommandOutcome
from vcdebug.cli.output import Output, RunFailure, count_progress, run_or_failure
from vcdebug.errors import SnapshotError
from vcdebug.snapshot.archive import MAX_BYTES
from vcdebug.snapshot.file_access import read_file
from vcdebug.snapshot.sources import is_wanted

if TYPE_CHECKING:
    from vcdebug.cli.worker_processes import Executor, GatheredRuns


Item = TypeVar("Item")
Result = TypeVar("Result")


class BatchResults(Struct, Generic[Result], frozen=True):
    """The results of a folder of snapshots, by name and in order; a snapshot without a result was not run."""

    names: tuple[str, ...]
    results: Mapping[str, Result | RunFailure]

    @property
    def results_by_name(self) -> dict[str, Result]:
        """The results of the runs that did not fail."""
        return {name: result for name, result in self.results.items() if not isinstance(result, RunFailure)}

    @property
    def failures_by_name(self) -> dict[str, str]:
        """One line per failed run."""
        return {name: result.line for name, result in self.results.items() if isinstance(result, RunFailure)}

    def describe_extent(self) -> str:
        """How many snapshots have a result, as words."""
        count, total = len(self.results_by_name), count_noun(len(self.names), "snapshot")
        return total if count == len(self.names) else f"only {count} of {total}"

    def report_failures(self, output: Output) -> None:
        """Write one notice per failure, which begins with the snapshot's name."""
        for name, line in self.failures_by_name.items():
            output.write_notice(line if line.startswith(name) else f"{name}: {line}")

    def build_documents(self, document: Callable[[Result], Mapping[str, object]]) -> list[dict[str, object]]:
        """One JSON document per snapshot; the keys are a contract."""
        return [self._build_document(name, document) for name in self.names]

    def _build_document(self, name: str, document: Callable[[Result], Mapping[str, object]]) -> dict[str, object]:
        result = self.results.get(name)
        if result is None or isinstance(result, RunFailure):
            return {"snapshot": name, "error": "not checked" if result is None else result.line}
        return {"snapshot": name, "error": None, **document(result)}


def run_batch(
    args: Namespace, output: Output, title: str, function: Callable[[Item], Result], items: Iterable[Item], runs: int
) -> GatheredRuns[Result]:
    """Run the function on every item, on the workers that the arguments of `add_workers` choose."""
    from vcdebug.cli.worker_processes import gather_answers

    executor = choose_executor(args.workers, runs, args.dask, output.write_notice)
    with count_progress(output, title, runs) as count_done:
        return gather_answers(executor, function, items, count_done)


def choose_executor(workers: int | None, runs: int, scheduler: str | None, narrate: Callable[[str], None]) -> Executor:
    """The Dask cluster at the scheduler's address; without one, as many worker processes as runs can use, or none."""
    from vcdebug.cli.worker_processes import InProcessExecutor, ProcessExecutor

    if scheduler is not None:
        from vcdebug.cli.dask_cluster import DaskExecutor

        return DaskExecutor(scheduler, narrate)
    # One worker would only add the start of a process.
    count = min(workers or os.cpu_count() or 1, runs)
    return InProcessExecutor() if count <= 1 else ProcessExecutor(count)


def run_snapshots(
    folder: Path, snapshots: list[Path], function: Callable[[PackedSnapshot], Result], args: Namespace, output: Output
) -> tuple[BatchResults[Result], GatheredRuns[Result]]:
    """Run the function on every snapshot of a folder; one that fails does not stop the others."""
    names = tuple(path.relative_to(folder).as_posix() for path in snapshots)
    # A generator: snapshots are read as workers take them, not all at once.
    items = (pack_snapshot(path, name) for path, name in zip(snapshots, names, strict=True))
    runs = run_batch(args, output, "snapshots", function, items, len(names))
    answers: dict[int, Result | RunFailure] = {**runs.results, **runs.failures}
    return BatchResults(names, {names[number]: answers[number] for number in sorted(answers)}), runs


def incomplete_outcome(runs: GatheredRuns[Result], words: str, output: Output) -> CommandOutcome | None:
    """The outcome of an incomplete batch, None for a complete one; `words` tells how many runs are done."""
    if runs.interrupted:
        output.write_notice(f"interrupted: {words}")
        return CommandOutcome.INTERRUPTED
    if runs.executor_failure is not None:
        output.write_notice(runs.executor_failure.line)
    return CommandOutcome.FAILED if runs.failures or runs.executor_failure is not None else None


# Snapshots are sent as bytes: a worker of a cluster may not have access to our disks.


class PackedSnapshot(NamedTuple):
    """The bytes of a snapshot that a worker parses."""

    name: str
    data: bytes | RunFailure
    """The bytes of a file, a folder as a tar archive, or why it could not be read."""

    def open_file(self) -> NamedBytes:
        """The bytes as a file to parse; raises SnapshotError if the snapshot could not be read."""
        if isinstance(self.data, RunFailure):
            raise SnapshotError(self.data.line)
        return NamedBytes(self.name, self.data)


class NamedBytes(io.BytesIO):
    """Bytes with the name of the file that they come from, for messages."""

    def __init__(self, name: str, data: bytes) -> None:
        super().__init__(data)
        self.name = name


def pack_snapshot(path: Path, name: str) -> PackedSnapshot:
    """Read a snapshot without parsing it; a failure to read becomes part of the result."""
    return PackedSnapshot(
        name, run_or_failure(lambda: _archive_folder(path) if path.is_dir() else read_file(path, MAX_BYTES))
    )


def _archive_folder(folder: Path) -> bytes:
    """A tar archive of the files that the loader reads; links that lead out of the folder are left out."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for path in sorted(_list_files(folder)):
            data = path.read_bytes()
            # TarInfo by hand: gettarinfo would record owner and time of the file.
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return target.getvalue()


def _list_files(folder: Path) -> Iterator[Path]:
    root = folder.resolve()
    for parent, _, names in os.walk(folder):
        for path in (Path(parent, name) for name in names):
            if (
                is_wanted(path.relative_to(folder).as_posix())
                and path.is_file()
                and path.resolve().is_relative_to(root)
            ):
                yield path
