"""Picklable functions for worker processes."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from vcdebug.errors import SnapshotError


def square(number: int) -> int:
    return number * number


def process_id_after(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def fails_on_three(number: int) -> int:
    if number == 3:
        raise SnapshotError("is empty", where="three")
    return 12 // (number - 4)


@dataclass(frozen=True)
class Dies:
    """Kills its worker process on one item, `times` times; each kill leaves a marker file."""

    marks: Path
    item: int
    times: int

    def __call__(self, number: int) -> int:
        died = len(list(self.marks.iterdir()))
        if number == self.item and died < self.times:
            (self.marks / str(died)).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number


class Interrupts:
    """Numbers that end with a KeyboardInterrupt."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.number = 0

    def __iter__(self) -> Interrupts:
        return self

    def __next__(self) -> int:
        self.number += 1
        if self.number > self.after:
            raise KeyboardInterrupt
        return self.number
