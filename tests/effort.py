"""Time limits that hold on a busy machine: they measure processor time of this process, not wall-clock time."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time

PATIENCE = 600
"""Wall-clock seconds after which a subprocess counts as hung; a working one takes less than a tenth of it."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail if the body of the `with` uses more than this many seconds of this process's processor time."""
    start = process_time()
    yield
    assert process_time() - start < seconds
