"""How far a cycle is while it runs, from what it has recorded: the action, its jobs, the events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from vcdebug.amount_text import count_noun
from vcdebug.framework.bound import SizeBound
from vcdebug.framework.record import ActionEvent, PopEvent

EVENTS_PER_REPORT: Final = 1_000
"""Events between two words about it."""


ReportProgress = Callable[[str, int, int], object]
"""How far the cycle is in words; jobs of the present action that had their turn, and all of them as far as is known."""


class ProgressBound(SizeBound):
    """A bound that also says how far the cycle is, wherever it looks at the record."""

    __slots__ = ("_action", "_jobs", "_left", "_queue", "_seen", "_tell")

    def __init__(self, tell: ReportProgress, *limits: int) -> None:
        super().__init__(*limits)
        self._tell = tell
        self._action = self._queue = ""
        self._jobs = self._seen = 0
        self._left: dict[str, int] = {}
        """Jobs of each queue that still wait for their turn, as of the last one that had it."""
        self.next_look = min(self.next_look, EVENTS_PER_REPORT)

    def check_size(self, events: Sequence[object]) -> None:
        """Say it, then weigh the record as usual."""
        for event in events[self._seen :]:
            if isinstance(event, ActionEvent) and event.what == "start":
                self._action, self._queue, self._jobs, self._left = event.action, "", 0, {}
            elif isinstance(event, PopEvent) and event.kind == "queue":
                self._queue = event.name
            elif isinstance(event, PopEvent) and event.kind == "job":
                self._jobs += 1
                self._left[self._queue] = event.left
        self._seen = len(events)
        self._tell(self._format_progress(), self._jobs, self._known_jobs())
        super().check_size(events)
        self.next_look = min(self.next_look, self._seen + EVENTS_PER_REPORT)

    def _known_jobs(self) -> int:
        """Jobs that had their turn, and those that wait for it in queues that had one."""
        return self._jobs + sum(self._left.values())

    def _format_progress(self) -> str:
        """`allocate, job 45 of about 120, 12 345 events`; what is left of queues without a turn is not known yet."""
        events = count_noun(self._seen, "event")
        return f"{self._action}, job {self._jobs} of about {self._known_jobs()}, {events}" if self._jobs else events
