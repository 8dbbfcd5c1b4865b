"""Options of a replay: the size at which its record is cut off, and the webhook that it may call.

Upstream: plugins/extender (send).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from vcdebug.framework.record import HookEvent, PredicateEvent, ScoreEvent
from vcdebug.model.names import Codes, IntArray, KeptScores

MAX_EVENTS = 5_000_000
MAX_MEGABYTES = 8_000
EVENTS_PER_CHECK = 10_000
"""Events between two checks of the size."""
BYTES_PER_EVENT = 300
"""Estimate for an event without its arrays."""


EVENTS_WITH_ARRAYS = (PredicateEvent, ScoreEvent)


class RecordFullError(Exception):
    """The record has reached its bound, which the text names."""


class SizeBound:
    """A number of events and an estimated size, checked where a span begins."""

    __slots__ = ("_events", "_megabytes", "_weighed", "array_bytes", "next_look")

    def __init__(self, events: int = MAX_EVENTS, megabytes: int = MAX_MEGABYTES) -> None:
        self._events = events
        self._megabytes = megabytes
        self._weighed = 0
        self.array_bytes = 0
        """Bytes of the arrays checked so far."""
        self.next_look = min(events, EVENTS_PER_CHECK)
        """The number of events of the next check."""

    def check_size(self, events: Sequence[object]) -> None:
        """Add up what was recorded since the last check; raises RecordFullError beyond the bound."""
        count = len(events)
        # Neighbouring events may share arrays, which then count once.
        arrays = [_event_arrays(event) for event in events[self._weighed :] if event.__class__ in EVENTS_WITH_ARRAYS]
        sizes = {id(array): array.nbytes for event_arrays in arrays for array in event_arrays}
        self.array_bytes += sum(sizes.values())  # exact: ints
        self._weighed = count
        if count >= self._events:
            raise RecordFullError(f"{self._events:,} events")
        if (self.array_bytes + count * BYTES_PER_EVENT) >> 20 >= self._megabytes:
            raise RecordFullError(f"{self._megabytes:,} MB")
        self.next_look = min(self._events, count + EVENTS_PER_CHECK)


EVENTS_PER_LOOK = 200
LOOKS_PER_EVENT = 5
"""Candidate victims that a plugin looks at in the time of an event."""


def work_of_events(events: Sequence[object]) -> int:
    """What it took to record events, counted in looks at a candidate victim."""
    offered = sum(len(event.candidates) for event in events if isinstance(event, HookEvent))  # exact: ints
    return LOOKS_PER_EVENT * len(events) + offered


class WorkBound(SizeBound):
    """A bound for a replay inside an answer, which is to take no longer than the cycle itself.

    It counts work, never seconds, so that an answer is the same on every machine.
    """

    __slots__ = ("_remaining", "_counted_events")

    def __init__(self, work: int) -> None:
        super().__init__()
        self._remaining, self._counted_events = work, 0
        self.next_look = EVENTS_PER_LOOK

    def check_size(self, events: Sequence[object]) -> None:
        """Subtract what was recorded since the last check; raises RecordFullError once nothing is left."""
        self._remaining -= work_of_events(events[self._counted_events :])
        self._counted_events = len(events)
        if self._remaining < 0:
            raise RecordFullError("the work of a replay inside an answer")
        super().check_size(events)
        self.next_look = self._counted_events + EVENTS_PER_LOOK


def _event_arrays(event: object) -> tuple[IntArray | KeptScores | Codes, ...]:
    """The arrays of an event that have an element per node."""
    if isinstance(event, PredicateEvent):
        return event.feasible, event.failed, event.codes
    assert isinstance(event, ScoreEvent)
    return event.rows, event.total, *[scores for _, scores in event.parts]


# The service outside that a plugin may call, if the caller of the replay provides it.


class WebhookResponse(NamedTuple):
    """What the service answered."""

    status: int
    body: bytes


AskExtender = Callable[[str, Mapping[str, object], float | None], WebhookResponse | str]
"""(verb, request's body, seconds until the call has failed, None without a limit) → the response or an error's text."""
