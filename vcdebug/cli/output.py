"""The only writer of stdout and the only writer of stderr of the command line."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from io import StringIO
from typing import NamedTuple, TextIO, TypeVar

from vcdebug.errors import EngineError, VcdebugError
from vcdebug.printable import escape_json, make_printable

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
