"""Output of the command line: data to stdout, notices and progress to stderr, failures in one line."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from io import StringIO
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TextIO, TypeVar

from vcdebug.errors import EngineError, VcdebugError
from vcdebug.printable import escape_json, make_line_printable, make_printable

if TYPE_CHECKING:
    from rich.progress import Progress

    from vcdebug.recording.recording import Recording
    from vcdebug.snapshot.job_names import JobNames


NOTICE_PREFIX = "vcdebug: "
MAX_NOTICE_LENGTH = 1200
"""Maximum length of a notice, which may quote a whole file."""
TOKENS_PER_PIECE = 10_000


def _with_finite_numbers(value: object) -> object:
    """The value with infinity and NaN as text."""
    if isinstance(value, Mapping):
        return {key: _with_finite_numbers(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_finite_numbers(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


class Output:
    """Writes data to stdout and notices to stderr; output to a missing stream is dropped."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.out = out or sys.stdout or StringIO()
        self.err = err or sys.stderr or StringIO()
        self.started = time.perf_counter()
        """Seconds of perf_counter at which the command began."""
        self.exit_callbacks: list[Callable[[], object]] = []
        """Work that is done after the answer is written, such as caching a recording."""
        self.job_names: JobNames | None = None
        """The names of jobs in texts for people; None if texts name PodGroups."""

    def name_jobs(self, recording: Recording, *others: Recording) -> None:
        """Name workloads instead of PodGroups in the blocks that follow."""
        self.job_names = reduce(lambda names, other: names.joined(other.job_names), others, recording.job_names)

    @property
    def is_terminal(self) -> bool:
        """Whether stdout is a terminal."""
        return self.out.isatty()

    def write_text(self, text: str) -> None:
        """Write lines of data in printable form; characters that the stream cannot encode are escaped."""
        self.out.write(_escape_unencodable(make_printable(text), self.out) + "\n")

    def write_json(self, document: Mapping[str, object], indent: int | None = 2) -> None:
        """Write a JSON document whose bytes depend on its values alone."""
        try:
            pieces = _json_pieces(document, indent)
        except ValueError:
            # JSON has no such numbers; YAML does, as in `overcommit-factor: .inf`.
            pieces = _json_pieces(_with_finite_numbers(document), indent)
        self.out.writelines([*map(escape_json, pieces), "\n"])

    def write_json_line(self, document: Mapping[str, object]) -> None:
        """Write a document as one line, for a reader that waits for it."""
        self.write_json(document, indent=None)
        self.flush()

    def write_notice(self, line: str) -> None:
        """Write one line to stderr; line breaks in it become spaces."""
        words = make_printable(" ".join(line.split()))
        if len(words) > MAX_NOTICE_LENGTH:
            words = f"{words[:MAX_NOTICE_LENGTH]}..."
        self.err.write(_escape_unencodable(NOTICE_PREFIX + words, self.err) + "\n")
        self.err.flush()

    def flush(self) -> None:
        """Flush both streams; raises BrokenPipeError here instead of at the end of the process."""
        self.out.flush()


def _json_pieces(document: object, indent: int | None) -> list[str]:
    """The document as JSON in some pieces: all tokens at once would take ten times the memory of their text."""
    # Not UTF-8: the bytes would depend on the locale of the stream.
    encoder = json.JSONEncoder(indent=indent, ensure_ascii=True, allow_nan=False)
    if indent is None:
        return [encoder.encode(document)]
    tokens = encoder.iterencode(document)
    return list(iter(lambda: "".join(islice(tokens, TOKENS_PER_PIECE)), ""))


def _escape_unencodable(text: str, stream: TextIO) -> str:
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "backslashreplace").decode(encoding)


# Failures as one line: of the command itself, of a worker process, and of a worker of a cluster.

Result = TypeVar("Result")

REPORT_HINT = "internal error in vcdebug; run again with VCDEBUG_TRACEBACK=1 and report the output"


class RunFailure(NamedTuple):
    """A run that raised an error."""

    line: str
    """Place, message and hint."""


def run_or_failure(run: Callable[[], Result]) -> Result | RunFailure:
    """The result of `run`, or its failure; BrokenPipeError and KeyboardInterrupt pass through."""
    try:
        return run()
    except BrokenPipeError:  # an OSError, but no failure: the reader has closed the pipe
        raise
    except VcdebugError as error:
        return RunFailure(error.format_line())
    except OSError as error:
        return RunFailure(_os_error_line(error))
    except RecursionError:
        return RunFailure("input is nested too deeply")
    except MemoryError:
        return RunFailure("not enough memory")
    except Exception as error:  # boundary: a fault in vcdebug is reported in one line too
        if os.environ.get("VCDEBUG_TRACEBACK"):
            raise
        return RunFailure(EngineError(f"{type(error).__name__}: {error}", REPORT_HINT).format_line())


def _os_error_line(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{error.filename}: {reason}" if error.filename else reason


# Progress on stderr: bars on a terminal, nothing otherwise.

StatusCallback = Callable[[str], None]
"""Takes the text to show."""
KindCallback = Callable[[str, int, int], None]
"""Takes a kind, the objects read so far and the objects expected."""


@contextmanager
def capture_progress(output: Output) -> Iterator[KindCallback]:
    """A bar per kind while a cluster is read; without a terminal nothing is shown."""
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
    """One bar for a known number of runs; the callback takes the number of runs done since the last call."""
    if not output.err.isatty():
        yield ignore_progress
        return
    with _build_bars(output, "{task.description}") as progress:
        bar = progress.add_task(title, total=total)
        yield lambda count: progress.advance(bar, count)


def _build_bars(output: Output, title: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn(title), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=Console(file=output.err), transient=True)


@contextmanager
def status_line(output: Output, title: str) -> Iterator[StatusCallback]:
    """One line that changes, for work of unknown length; the callback takes its text."""
    if not output.err.isatty():
        yield ignore_progress
        return
    from rich.console import Console
    from rich.text import Text

    with Console(file=output.err).status(title) as status:
        yield lambda text: status.update(Text(make_line_printable(f"{title}: {text}")))


def count_reporter(show_status: StatusCallback) -> Callable[[int, int], None]:
    """A callback that takes the items done and all items, and shows them with the time left."""
    from vcdebug.amount_text import TimeEstimate

    estimate = TimeEstimate(time.monotonic)
    return lambda done, total: show_status(f"{done} of {total}{estimate.time_left('', done, total)}")


def ignore_progress(*_: object) -> None:
    """No-op progress callback, where stderr is no terminal."""
