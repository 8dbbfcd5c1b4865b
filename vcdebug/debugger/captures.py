"""A cluster over time: open captures in order, like cycles, and the source of further ones."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.recording.recording import Recording
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.branch import ORIGINAL, NoRecordingError, OpenRecordings

MAX_OPEN_CAPTURES: Final = 8
"""Maximum number of captures with a recording in memory; others are read again when they are shown."""
ReadCapture = Callable[[], Snapshot]


class NewCapture(Struct, frozen=True):
    """A capture, and a function that reads it again after it is closed."""

    snapshot: Snapshot
    capture: ReadCapture


class CaptureSeries(Struct):
    """The source of captures; the first `open_count` original recordings are captures, the rest forecast cycles."""

    take_capture: Callable[[], NewCapture] | None = None
    """Captures the cluster once more; None for captures that lie in a folder."""
    earlier_captures: list[ReadCapture] = []
    """Captures before the first open one, oldest first."""
    open: list[ReadCapture] = []
    """Open captures, oldest first."""
    later_captures: list[ReadCapture] = []
    """Captures after the last open one, oldest first."""
    newest: Recording | None = None
    """Recording of the newest capture if that is not open; the next capture is compared with it."""

    @property
    def open_count(self) -> int:
        """Number of open captures: so many of the original recordings are captures, the rest forecast cycles."""
        return len(self.open)

    def last_recording(self, open_: OpenRecordings) -> Recording:
        """The recording of the newest capture."""
        return self.newest or open_.original[self.open_count - 1]

    @property
    def all_captures(self) -> list[ReadCapture]:
        """Every capture, from the oldest to the newest."""
        return [*self.earlier_captures, *self.open, *self.later_captures]


def append_capture(
    open_: OpenRecordings, captures: CaptureSeries, recording: Recording, read: ReadCapture
) -> OpenRecordings:
    """The open recordings with one more capture after the last one, replacing forecast cycles.

    The shown recording moves to the new capture only if the last one was shown. If the limit of open captures is
    reached, the new capture is not opened and stays in the series of later ones.
    """
    if open_.branch and open_.start > captures.open_count:
        raise NoRecordingError("the edits are about a cycle that was foreseen", "undo them, then capture again")
    follows = open_.side == ORIGINAL and open_.cycle >= captures.open_count
    surplus = captures.open_count + 1 - MAX_OPEN_CAPTURES
    if captures.later_captures or surplus > _count_closable(open_, captures.open_count if follows else open_.cycle - 1):
        captures.later_captures.append(read)
        captures.newest = recording
        return open_
    return _open_another(open_, captures, recording, read, captures.open_count + 1 if follows else open_.cycle)


def _count_closable(open_: OpenRecordings, before: int) -> int:
    """How many of the `before` oldest captures may be closed: with edits, only those before the first edited cycle."""
    return min(before, open_.start - 1) if open_.branch else before


def _open_another(
    open_: OpenRecordings, captures: CaptureSeries, recording: Recording, read: ReadCapture, cycle: int
) -> OpenRecordings:
    """Append a capture and show `cycle`; the oldest captures beyond the limit are closed."""
    # Forecast cycles after the last capture are dropped: the new capture shows what really happened.
    line = (*open_.original[: captures.open_count], recording)
    captures.open.append(read)
    surplus = max(0, min(captures.open_count - MAX_OPEN_CAPTURES, _count_closable(open_, cycle - 1)))
    captures.earlier_captures.extend(captures.open[:surplus])
    del captures.open[:surplus]
    start = open_.start - surplus if open_.branch else open_.start
    return replace(open_, original=line[surplus:], start=start, cycle=cycle - surplus, comparison=None)


def open_next_capture(open_: OpenRecordings, captures: CaptureSeries, recording: Recording) -> OpenRecordings:
    """Open and show the capture after the last open one."""
    read = captures.later_captures.pop(0)
    if not captures.later_captures:
        captures.newest = None
    return _open_another(replace(open_, side=ORIGINAL), captures, recording, read, captures.open_count + 1)


def open_previous_capture(open_: OpenRecordings, captures: CaptureSeries, recording: Recording) -> OpenRecordings:
    """Open and show the capture before the first open one; beyond the limit the last one is closed."""
    line = (recording, *open_.original)
    captures.open.insert(0, captures.earlier_captures.pop())
    start = open_.start + 1 if open_.branch else open_.start
    # With edits the last capture stays open, because the branch is compared with its cycles.
    if captures.open_count > MAX_OPEN_CAPTURES and not open_.branch:
        # Kept in memory although it is closed: the next capture of the cluster is compared with it.
        captures.newest = captures.newest or line[captures.open_count - 1]
        captures.later_captures.insert(0, captures.open.pop())
        line = line[: captures.open_count]
    return replace(open_, original=line, start=start, side=ORIGINAL, cycle=1, comparison=None)


def open_only_capture(
    open_: OpenRecordings, captures: CaptureSeries, index: int, recording: Recording
) -> OpenRecordings:
    """Close all captures but the one at `index` of `all_captures`."""
    last = captures.last_recording(open_)
    every = captures.all_captures
    captures.earlier_captures, captures.open, captures.later_captures = (
        every[:index],
        every[index : index + 1],
        every[index + 1 :],
    )
    captures.newest = last if captures.later_captures else None
    return replace(open_, original=(recording,), side=ORIGINAL, cycle=1, comparison=None)
