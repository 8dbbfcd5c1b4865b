"""Limits that a busy machine does not reach: work is measured in processor time of this process, not on a clock."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time

PATIENCE = 600
"""Seconds on the clock after which another process hangs; nothing that works takes a tenth of it."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """What is done inside takes no more processor time of this process than that."""
    start = process_time()
    yield
    assert process_time() - start < seconds
