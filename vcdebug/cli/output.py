"""The only writer of stdout and the only writer of stderr of the command line."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeVar

from vcdebug.errors import EngineError, VcdebugError
from vcdebug.printable import escape_json, make_line_printable, make_printable

if TYPE_CHECKING:
    from rich.progress import Progress


NOTICE_PREFIX = "vcdebug: "
MAX_NOTICE_LENGTH = 1200
"""Characters of a line to stderr; what a file says may be quoted in it."""


class Output:
    """stdout carries data, stderr what happens meanwhile; one that is closed swallows what it is given."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.out = out or sys.stdout or StringIO()
        self.err = err or sys.stderr or StringIO()
        self.started = time.perf_counter()
        """When somebody began to wait for the answer."""
        self.afterwards: list[Callable[[], object]] = []
        """What is done once the answer is out: nobody waits for it."""

    @property
    def is_terminal(self) -> bool:
        """Whether a person looks at stdout."""
        return self.out.isatty()

    def write_text(self, text: str) -> None:
        """One or more lines of data, as `make_printable` leaves them; what the stream cannot encode is escaped."""
        self.out.write(_escape_unencodable(make_printable(text), self.out) + "\n")

    def write_json(self, document: Mapping[str, object]) -> None:
        """A document whose bytes depend on nothing but its values."""
        text = json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)
        self.out.write(escape_json(text) + "\n")

    def write_notice(self, line: str) -> None:
        """One line about what happens."""
        words = make_printable(" ".join(line.split()))
        self.err.write(_escape_unencodable(NOTICE_PREFIX + _shorten_line(words), self.err) + "\n")
        self.err.flush()

    def flush(self) -> None:
        """Everything written reaches the reader, or raises now."""
        self.out.flush()


def _shorten_line(line: str) -> str:
    return line if len(line) <= MAX_NOTICE_LENGTH else f"{line[:MAX_NOTICE_LENGTH]}..."


def _escape_unencodable(text: str, stream: TextIO) -> str:
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


# What goes wrong in one line, whoever runs it: the command itself, a worker process, a worker of a cluster.

Result = TypeVar("Result")

REPORT_HINT = "this is a fault of vcdebug; run it again with VCDEBUG_TRACEBACK=1 and report what it says"


class RunFailure(NamedTuple):
    """A run that came to nothing."""

    line: str
    """Where, what, hint."""


def run_or_failure(run: Callable[[], Result]) -> Result | RunFailure:
    """What it returns, or why it did not; only a reader that has gone and an interruption pass through."""
    try:
        return run()
    except BrokenPipeError:
        raise
    except VcdebugError as error:
        return RunFailure(error.format_line())
    except OSError as error:
        return RunFailure(_os_error_line(error))
    except RecursionError:
        return RunFailure("the input is nested too deeply")
    except MemoryError:
        return RunFailure("not enough memory")
    except Exception as error:  # boundary: a fault of ours is one line too
        if os.environ.get("VCDEBUG_TRACEBACK"):
            raise
        return RunFailure(EngineError(f"{type(error).__name__}: {error}", REPORT_HINT).format_line())


def _os_error_line(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


# Progress on stderr: bars where a person watches, nothing otherwise.

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
    from vcdebug.views.estimate import TimeEstimate

    estimate = TimeEstimate(time.monotonic)
    return lambda done, total: tell(f"{done} of {total}{estimate.time_left('', done, total)}")


def ignore_progress(*_: object) -> None:
    """There is no terminal, so nothing is shown."""
