"""Options of a replay: its record's size limit, and the webhook that it may call. Upstream: plugins/extender (send)."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from vcdebug.framework.record import HookEvent, PredicateEvent, ScoreEvent
from vcdebug.model.names import Codes, IntArray, KeptScores

MAX_EVENTS = 5_000_000
MAX_MEGABYTES = 8_000
EVENTS_PER_CHECK = 10_000
"""Number of events between two checks of the size."""
BYTES_PER_EVENT = 300
"""Estimated bytes of an event without its arrays."""


EVENTS_WITH_ARRAYS = (PredicateEvent, ScoreEvent)


class RecordFullError(Exception):
    """Raised when a record reaches its limit; the message names the limit."""


class SizeBound:
    """A limit in events and in estimated megabytes, checked when a span opens."""

    __slots__ = ("_events", "_megabytes", "_measured", "array_bytes", "next_look")

    def __init__(self, events: int = MAX_EVENTS, megabytes: int = MAX_MEGABYTES) -> None:
        self._events = events
        self._megabytes = megabytes
        self._measured = 0
        self.array_bytes = 0
        """Total bytes of the arrays counted so far."""
        self.next_look = min(events, EVENTS_PER_CHECK)
        """The number of events at which the next check is due."""

    def check_size(self, events: Sequence[object]) -> None:
        """Add the size of the events since the last check; raises RecordFullError at the limit."""
        count = len(events)
        # Neighbouring events may share arrays, which are counted once.
        arrays = [_event_arrays(event) for event in events[self._measured :] if event.__class__ in EVENTS_WITH_ARRAYS]
        sizes = {id(array): array.nbytes for event_arrays in arrays for array in event_arrays}
        self.array_bytes += sum(sizes.values())  # exact: ints
        self._measured = count
        if count >= self._events:
            raise RecordFullError(f"{self._events:,} events")
        if (self.array_bytes + count * BYTES_PER_EVENT) >> 20 >= self._megabytes:
            raise RecordFullError(f"{self._megabytes:,} MB")
        self.next_look = min(self._events, count + EVENTS_PER_CHECK)


EVENTS_PER_LOOK = 200
LOOKS_PER_EVENT = 5
"""Number of candidate victims that a plugin checks in the time that an event takes."""


def work_of_events(events: Sequence[object]) -> int:
    """The estimated work of recording the events, in checks of a candidate victim."""
    offered = sum(len(event.candidates) for event in events if isinstance(event, HookEvent))  # exact: ints
    return LOOKS_PER_EVENT * len(events) + offered


class WorkBound(SizeBound):
    """A limit for a replay that runs to answer a question: the answer must not take longer than the cycle.

    It counts work, never seconds, so that an answer is the same on every machine.
    """

    __slots__ = ("_remaining", "_counted_events")

    def __init__(self, work: int) -> None:
        super().__init__()
        self._remaining, self._counted_events = work, 0
        self.next_look = EVENTS_PER_LOOK

    def check_size(self, events: Sequence[object]) -> None:
        """Subtract the work of the events since the last check; raises RecordFullError below 0."""
        self._remaining -= work_of_events(events[self._counted_events :])
        self._counted_events = len(events)
        if self._remaining < 0:
            raise RecordFullError("the work of a replay inside an answer")
        super().check_size(events)
        self.next_look = self._counted_events + EVENTS_PER_LOOK


def _event_arrays(event: object) -> tuple[IntArray | KeptScores | Codes, ...]:
    """The arrays of an event with one element per node."""
    if isinstance(event, PredicateEvent):
        return event.feasible, event.failed, event.codes
    assert isinstance(event, ScoreEvent)
    return event.rows, event.total, *[scores for _, scores in event.parts]


# The external service that a plugin may call, if the caller of the replay provides it.


class WebhookResponse(Struct, frozen=True):
    """A response of the webhook."""

    status: int
    body: bytes


AskExtender = Callable[[str, Mapping[str, object], float | None], WebhookResponse | str]
"""(verb, request body, timeout in seconds, None for no limit) → the response, or the text of an error."""
