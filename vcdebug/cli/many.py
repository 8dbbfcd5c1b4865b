"""Many runs for one answer: their progress, what came of every snapshot of a folder, and how it is told."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from vcdebug.cli.commands.base import CommandOutcome
from vcdebug.cli.failure import RunFailure
from vcdebug.cli.output import Output

if TYPE_CHECKING:
    from vcdebug.cli.executors.base import GatheredRuns
    from vcdebug.cli.packing import PackedSnapshot

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class BatchResults(Generic[Result]):
    """What came of all snapshots, by name in their order; a name that is missing was not looked at."""

    names: tuple[str, ...]
    done: Mapping[str, Result | RunFailure]

    @property
    def results_by_name(self) -> dict[str, Result]:
        """Those that did not fail."""
        return {name: one for name, one in self.done.items() if not isinstance(one, RunFailure)}

    @property
    def failures_by_name(self) -> dict[str, str]:
        """Why the others did, one line each."""
        return {name: one.line for name, one in self.done.items() if isinstance(one, RunFailure)}

    def report_failures(self, output: Output) -> None:
        """Each with its snapshot before it."""
        for name, line in self.failures_by_name.items():
            output.write_notice(line if line.startswith(name) else f"{name}: {line}")

    def build_documents(self, document: Callable[[Result], Mapping[str, object]]) -> list[dict[str, object]]:
        """One per snapshot, for programs; the keys are a contract."""
        return [self._build_document(name, document) for name in self.names]

    def _build_document(self, name: str, document: Callable[[Result], Mapping[str, object]]) -> dict[str, object]:
        one = self.done.get(name)
        if one is None or isinstance(one, RunFailure):
            return {"snapshot": name, "error": "not looked at" if one is None else one.line}
        return {"snapshot": name, "error": None, **document(one)}


def run_batch(
    args: Namespace, output: Output, title: str, function: Callable[[Item], Result], items: Iterable[Item], runs: int
) -> GatheredRuns[Result]:
    """The function on every item, where the arguments of add_workers want it."""
    from vcdebug.cli.executors import choose_executor
    from vcdebug.cli.executors.base import gather_answers
    from vcdebug.cli.progress import count_progress

    where = choose_executor(args.workers, runs, args.scheduler, output.write_notice)
    with count_progress(output, title, runs) as done:
        return gather_answers(where, function, items, done)


def run_snapshots(
    folder: Path, snapshots: list[Path], function: Callable[[PackedSnapshot], Result], args: Namespace, output: Output
) -> tuple[BatchResults[Result], GatheredRuns[Result]]:
    """Every snapshot below a folder; one that cannot be replayed does not keep the others from it."""
    from vcdebug.cli.packing import pack_snapshot

    names = tuple(path.relative_to(folder).as_posix() for path in snapshots)
    items = (pack_snapshot(path, name) for path, name in zip(snapshots, names, strict=True))
    found = run_batch(args, output, "snapshots", function, items, len(names))
    answers: dict[int, Result | RunFailure] = {**found.results, **found.failures}
    return BatchResults(names, {names[number]: answers[number] for number in sorted(answers)}), found


def incomplete_outcome(found: GatheredRuns[Result], words: str, output: Output) -> CommandOutcome | None:
    """What runs count as that did not all come to an answer, with words about the rest; None where all did."""
    if found.interrupted:
        output.write_notice(f"interrupted: {words}")
        return CommandOutcome.INTERRUPTED
    if found.broken is not None:
        output.write_notice(found.broken.line)
    return CommandOutcome.FAILED if found.failures or found.broken is not None else None
