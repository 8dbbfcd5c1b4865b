"""What goes wrong in one line, whoever runs it: the command itself, a worker process, a worker of a cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from vcdebug.errors import EngineError, VcdebugError

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
