"""Progress on stderr: bars where a person watches, nothing otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from vcdebug.cli.output import Output
from vcdebug.printable import make_line_printable
from vcdebug.views.estimate import TimeEstimate

if TYPE_CHECKING:
    from rich.progress import Progress

StatusCallback = Callable[[str], None]
"""Called with what to say now."""
KindCallback = Callable[[str, int, int], None]
"""Called with a kind, objects read so far, objects expected."""


@contextmanager
def capture_progress(output: Output) -> Iterator[KindCallback]:
    """A bar per kind while a cluster is read."""
    if not output.err.isatty():
        yield ignore_progress
        return
    with _build_bars(output, "{task.description:<24}") as progress:
        bars: dict[str, int] = {}

        def report_kind(kind: str, done: int, total: int) -> None:
            if kind not in bars:
                bars[kind] = progress.add_task(make_line_printable(kind), total=total)
            progress.update(bars[kind], completed=done, total=max(done, total))  # type: ignore[arg-type]  # TaskID

        yield report_kind


@contextmanager
def count_progress(output: Output, title: str, total: int) -> Iterator[Callable[[int], None]]:
    """One bar for a known number of runs; called with how many more are done."""
    if not output.err.isatty():
        yield ignore_progress
        return
    with _build_bars(output, "{task.description}") as progress:
        bar = progress.add_task(title, total=total)
        yield lambda more: progress.advance(bar, more)


def _build_bars(output: Output, title: str) -> Progress:
    """Bars with a title each, which are gone when the work is done."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=Console(file=output.err), transient=True)


@contextmanager
def status_line(output: Output, title: str) -> Iterator[StatusCallback]:
    """One line that changes, for work of unknown length; called with what to say now."""
    if not output.err.isatty():
        yield ignore_progress
        return
    from rich.console import Console
    from rich.text import Text

    with Console(file=output.err).status(title) as status:
        yield lambda text: status.update(Text(make_line_printable(f"{title}: {text}")))


def count_reporter(tell: StatusCallback) -> Callable[[int, int], None]:
    """Says how many of all are done, and how long the rest takes."""
    estimate = TimeEstimate(monotonic)
    return lambda done, total: tell(f"{done} of {total}{estimate.time_left('', done, total)}")


def ignore_progress(*_: object) -> None:
    """There is no terminal, so nothing is shown."""
