"""Progress on stderr: bars where a person watches, nothing otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from vcdebug.cli.output import Output
from vcdebug.views.estimate import Estimate

Tell = Callable[[str], None]
"""Called with what to say now."""
Report = Callable[[str, int, int], None]
"""Called with a kind, objects read so far, objects expected."""


@contextmanager
def capture_progress(output: Output) -> Iterator[Report]:
    """A bar per kind while a cluster is read."""
    if not output.err.isatty():
        yield _ignore_progress
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(file=output.err), transient=True) as progress:
        bars: dict[str, int] = {}

        def report(kind: str, done: int, total: int) -> None:
            if kind not in bars:
                bars[kind] = progress.add_task(kind, total=total)
            progress.update(bars[kind], completed=done, total=max(done, total))  # type: ignore[arg-type]  # TaskID

        yield report


@contextmanager
def count_progress(output: Output, title: str, total: int) -> Iterator[Callable[[int], None]]:
    """One bar for a known number of runs; called with how many more are done."""
    if not output.err.isatty():
        yield _ignore_count
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(file=output.err), transient=True) as progress:
        bar = progress.add_task(title, total=total)
        yield lambda more: progress.advance(bar, more)


@contextmanager
def told(output: Output, title: str) -> Iterator[Tell]:
    """One line that changes, for work of unknown length; called with what to say now."""
    if not output.err.isatty():
        yield ignore_text
        return
    from rich.console import Console

    with Console(file=output.err).status(title) as status:
        yield lambda text: status.update(f"{title}: {text}")


def counted(tell: Tell) -> Callable[[int, int], None]:
    """Says how many of all are done, and how long the rest takes."""
    estimate = Estimate(monotonic)
    return lambda done, total: tell(f"{done} of {total}{estimate.left('', done, total)}")


def ignore_text(text: str) -> None:
    """There is no terminal, so nothing is shown."""


def _ignore_count(more: int) -> None:
    """There is no terminal, so nothing is shown."""


def _ignore_progress(kind: str, done: int, total: int) -> None:
    """There is no terminal, so nothing is shown."""
