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
    later: list[Read] = field(default_factory=list)
    """What came after the last one that is open, the nearest first."""
    newest: Recording | None = None
    """The last of all, where it is not open: the next one is compared with it."""

    @property
    def count(self) -> int:
        """How many of the original's recordings are captures."""
        return len(self.open)

    def last(self, open_: Recordings) -> Recording:
        """The recording of the last of all."""
        return self.newest or open_.original[self.count - 1]

    @property
    def all(self) -> list[Read]:
        """Every one of them, in order."""
        return [*self.earlier, *self.open, *self.later]


def appended(open_: Recordings, captures: Captures, recording: Recording, read: Read) -> Recordings:
    """With one more capture behind the last one, in place of what was foreseen.

    Whoever stands at the last capture goes along; whoever looks at an earlier one, or at a branch, stays there. Where
    that leaves no room the new one is not opened, but lies behind what is.
    """
    if open_.branch and open_.start > captures.count:
        raise NoRecordingError("the edits are about a cycle that was foreseen", "undo them, then capture again")
    along = open_.side == ORIGINAL and open_.cycle >= captures.count
    surplus = captures.count + 1 - MOST_OPEN
    if captures.later or surplus > _free(open_, captures.count if along else open_.cycle - 1):
        captures.later.append(read)
        captures.newest = recording
        return open_
    return _longer(open_, captures, recording, read, captures.count + 1 if along else open_.cycle)


def _free(open_: Recordings, before: int) -> int:
    """How many of the oldest may go: not what is shown, and not what edits are about."""
    return min(before, open_.start - 1) if open_.branch else before


def _longer(open_: Recordings, captures: Captures, recording: Recording, read: Read, cycle: int) -> Recordings:
    """One more is open, and as many of the oldest less as are too many."""
    line = (*open_.original[: captures.count], recording)
    captures.open.append(read)
    surplus = max(0, min(captures.count - MOST_OPEN, _free(open_, cycle - 1)))
    captures.earlier.extend(captures.open[:surplus])
    del captures.open[:surplus]
    start = open_.start - surplus if open_.branch else open_.start
    return replace(open_, original=line[surplus:], start=start, cycle=cycle - surplus, found=None)


def followed(open_: Recordings, captures: Captures, recording: Recording) -> Recordings:
    """With the capture behind the last one that is open, which is shown."""
    read = captures.later.pop(0)
    if not captures.later:
        captures.newest = None
    return _longer(replace(open_, side=ORIGINAL), captures, recording, read, captures.count + 1)


def prepended(open_: Recordings, captures: Captures, recording: Recording) -> Recordings:
    """With the capture before the first one, which is shown; the last one goes where there are too many."""
    line = (recording, *open_.original)
    captures.open.insert(0, captures.earlier.pop())
    start = open_.start + 1 if open_.branch else open_.start
    if captures.count > MOST_OPEN and not open_.branch:
        captures.newest = captures.newest or line[captures.count - 1]
        captures.later.insert(0, captures.open.pop())
        line = line[: captures.count]
    return replace(open_, original=line, start=start, side=ORIGINAL, cycle=1, found=None)


def alone(open_: Recordings, captures: Captures, index: int, recording: Recording) -> Recordings:
    """With one of all captures, and nothing else; it counts from 0."""
    last = captures.last(open_)
    every = captures.all
    captures.earlier, captures.open, captures.later = every[:index], every[index : index + 1], every[index + 1 :]
    captures.newest = last if captures.later else None
    return replace(open_, original=(recording,), side=ORIGINAL, cycle=1, found=None)
