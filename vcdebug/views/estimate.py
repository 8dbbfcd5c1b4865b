"""Estimate the time left of work in progress, from the time that its finished part took."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from vcdebug.amount_text import format_age

MIN_SECONDS: Final = 1.0
"""Seconds done or left below which there is no estimate."""
MIN_SHARE: Final = 0.05
"""Share of the work that must be done before there is an estimate."""


class TimeEstimate:
    """Estimates one kind of work after another; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._about = ""
        self._begun = (0.0, 0)

    def time_left(self, about: str, done: int, total: int) -> str:
        """`, about 12s left`, or "" without an estimate; another `about`, or a smaller `done`, starts over."""
        now = self._clock()
        # Only the pace of the same kind of work tells about its rest.
        if about != self._about or done < self._begun[1]:
            self._about, self._begun = about, (now, done)
        took, part = now - self._begun[0], done - self._begun[1]
        if took < MIN_SECONDS or part <= MIN_SHARE * total:
            return ""
        seconds = took * (total - done) / part
        if seconds < MIN_SECONDS:
            return ""
        return f", about {format_age(round(seconds))} left"

    def with_time_left(self, words: str, done: int, total: int) -> str:
        """Progress words with the time left: `allocate, job 45 of about 120, about 8s left, 12 345 events`."""
        left = self.time_left(words.partition(",")[0], done, total)
        counts, comma, events = words.rpartition(", ")
        return f"{counts}{left}{comma}{events}" if left else words
