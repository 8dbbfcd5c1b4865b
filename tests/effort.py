"""Time limits that hold on a busy machine: they measure processor time of this process, not wall-clock time."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time

PATIENCE = 600
"""Wall-clock seconds after which a subprocess counts as hung; a working one takes less than a tenth of it."""


LOOP_SECONDS = 0.025
"""Processor seconds of `calibration` on the machines for which the limits of `at_most` were chosen."""


def calibration() -> float:
    """Processor seconds of a fixed loop in plain Python, to compare times across machines."""
    started, total, seen = process_time(), 0, {}
    for number in range(300_000):
        total += number * number
        seen[number & 255] = total
    return process_time() - started


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Fail if the body of the `with` uses more than this many seconds of this process's processor time.

    A machine on which a fixed loop takes longer than LOOP_SECONDS gets more, in proportion.
    """
    start = process_time()
    yield
    used = process_time() - start
    if used >= seconds:  # only then the loops are worth their time
        slowness = max(calibration() for _ in range(5)) / LOOP_SECONDS
        assert used < seconds * max(1.0, slowness)
