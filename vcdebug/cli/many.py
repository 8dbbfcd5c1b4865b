"""Many runs for one answer: their progress, what came of every snapshot of a folder, and how it is told."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from vcdebug.cli.commands.base import Outcome
from vcdebug.cli.failure import Failure
from vcdebug.cli.output import Output

if TYPE_CHECKING:
    from vcdebug.cli.executors.base import Gathered
    from vcdebug.cli.packing import Packed

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class OfMany(Generic[Result]):
    """What came of all snapshots, by name in their order; a name that is missing was not looked at."""

    names: tuple[str, ...]
    done: Mapping[str, Result | Failure]

    @property
    def results(self) -> dict[str, Result]:
        """Those that did not fail."""
        return {name: one for name, one in self.done.items() if not isinstance(one, Failure)}

    @property
    def failures(self) -> dict[str, str]:
        """Why the others did, one line each."""
        return {name: one.line for name, one in self.done.items() if isinstance(one, Failure)}

    def tell_failures(self, output: Output) -> None:
        """Each with its snapshot before it."""
        for name, line in self.failures.items():
            output.narrate(line if line.startswith(name) else f"{name}: {line}")

    def documents(self, document: Callable[[Result], Mapping[str, object]]) -> list[dict[str, object]]:
        """One per snapshot, for programs; the keys are a contract."""
        return [self._document(name, document) for name in self.names]

    def _document(self, name: str, document: Callable[[Result], Mapping[str, object]]) -> dict[str, object]:
        one = self.done.get(name)
        if one is None or isinstance(one, Failure):
            return {"snapshot": name, "error": "not looked at" if one is None else one.line}
        return {"snapshot": name, "error": None, **document(one)}


def gathered(
    args: Namespace, output: Output, title: str, function: Callable[[Item], Result], items: Iterable[Item], runs: int
) -> Gathered[Result]:
    """The function on every item, where the arguments of add_workers want it."""
    from vcdebug.cli.executors import executor
    from vcdebug.cli.executors.base import gather
    from vcdebug.cli.progress import count_progress

    where = executor(args.workers, runs, args.scheduler, output.narrate)
    with count_progress(output, title, runs) as done:
        return gather(where, function, items, done)


def of_snapshots(
    folder: Path, snapshots: list[Path], function: Callable[[Packed], Result], args: Namespace, output: Output
) -> tuple[OfMany[Result], Gathered[Result]]:
    """Every snapshot below a folder; one that cannot be replayed does not keep the others from it."""
    from vcdebug.cli.packing import packed

    names = tuple(path.relative_to(folder).as_posix() for path in snapshots)
    items = (packed(path, name) for path, name in zip(snapshots, names, strict=True))
    found = gathered(args, output, "snapshots", function, items, len(names))
    answers: dict[int, Result | Failure] = {**found.results, **found.failures}
    return OfMany(names, {names[number]: answers[number] for number in sorted(answers)}), found


def shortcoming(found: Gathered[Result], words: str, output: Output) -> Outcome | None:
    """What runs count as that did not all come to an answer, with words about the rest; None where all did."""
    if found.interrupted:
        output.narrate(f"interrupted: {words}")
        return Outcome.INTERRUPTED
    if found.broken is not None:
        output.narrate(found.broken.line)
    return Outcome.FAILED if found.failures or found.broken is not None else None
