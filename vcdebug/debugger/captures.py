"""A cluster over time: captures that lie open one after the other, as cycles do, and where more of them come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from vcdebug.debugger.recordings import ORIGINAL, NoRecordingError, Recordings
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording

MOST_OPEN: Final = 8
"""Captures whose recordings are kept in memory; earlier ones are read again when somebody goes back to them."""
Read = Callable[[], Snapshot]


class Taken(NamedTuple):
    """A capture, and how it is read again once it is no longer open."""

    snapshot: Snapshot
    read: Read


@dataclass
class Captures:
    """Where captures come from; the first of the original's recordings are captures, what follows was foreseen."""

    again: Callable[[], Taken] | None = None
    """Captures the cluster once more; None for captures that lie in a folder."""
    earlier: list[Read] = field(default_factory=list)
    """What lies before the first one that is open, the nearest last."""
    open: list[Read] = field(default_factory=list)
    """Those that are open, in order."""

    @property
    def count(self) -> int:
        """How many of the original's recordings are captures."""
        return len(self.open)


def appended(open_: Recordings, captures: Captures, recording: Recording, read: Read) -> Recordings:
    """With one more capture behind the last one, in place of what was foreseen.

    Whoever stands at the last capture goes along; whoever looks at an earlier one, or at a branch, stays there.
    """
    if open_.branch and open_.start > captures.count:
        raise NoRecordingError("the edits are about a cycle that was foreseen", "undo them, then capture again")
    along = open_.side == ORIGINAL and open_.cycle >= captures.count
    line = (*open_.original[: captures.count], recording)
    captures.open.append(read)
    after = replace(open_, original=line, cycle=captures.count if along else open_.cycle, found=None)
    return after if open_.branch else _bounded(after, captures)


def _bounded(open_: Recordings, captures: Captures) -> Recordings:
    """Without the oldest, where too many are open; never without the one that is shown."""
    surplus = min(captures.count - MOST_OPEN, open_.cycle - 1)
    if surplus <= 0:
        return open_
    captures.earlier.extend(captures.open[:surplus])
    del captures.open[:surplus]
    return replace(open_, original=open_.original[surplus:], cycle=open_.cycle - surplus)


def prepended(open_: Recordings, captures: Captures, recording: Recording) -> Recordings:
    """With the capture before the first one, which is shown."""
    captures.open.insert(0, captures.earlier.pop())
    start = open_.start + 1 if open_.branch else open_.start
    return replace(open_, original=(recording, *open_.original), start=start, side=ORIGINAL, cycle=1, found=None)
