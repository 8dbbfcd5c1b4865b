"""A recording that one question is asked of, and that nobody looks at afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vcdebug.trace.recording import Recording


@contextmanager
def disposing(recording: Recording) -> Iterator[Recording]:
    """The recording for as long as the block lasts; what outlives it are plain values.

    A session and what belongs to it speak of each other, so that only a search for garbage would find them. They are
    taken apart instead, and go at once.
    """
    try:
        yield recording
    finally:
        recording.memo.clear()
        recording.session.break_cycles()
