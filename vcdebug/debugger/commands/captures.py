"""Commands about a cluster over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vcdebug.debugger.bookmark import Bookmark
from vcdebug.debugger.captures import Captures, Read, alone, appended, followed, prepended
from vcdebug.debugger.commands.base import CommandError, Reply, Verb
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.recordings import ORIGINAL
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording

if TYPE_CHECKING:
    from vcdebug.compare.captures import Changes


def _replayed(snapshot: Snapshot, like: Recording) -> Recording:
    """The cycle of another capture, with the extender's webhook if the one beside it had it."""
    from vcdebug.trace.replay import replay

    return replay(snapshot, ask_extender=like.session.ask_extender)


def recapture(driver: Driver, _: str) -> Reply:
    """Capture again, and say what is not the same any more."""
    captures = driver.captures
    take = captures.again if captures is not None else None
    if captures is None or take is None:
        raise CommandError("this snapshot is of no live cluster", "vcdebug open --context NAME captures and opens one")
    last = captures.last(driver.recordings)

    from vcdebug.compare.captures import changes

    def work() -> Reply:
        taken = take()
        recording = _replayed(taken.snapshot, last)
        found = changes(last, recording)
        return Reply(then=lambda: _arrived(driver, captures, recording, taken.read, found))

    return Reply(text="capturing again", work=work)


def _arrived(driver: Driver, captures: Captures, recording: Recording, read: Read, found: Changes) -> Reply:
    after = appended(driver.recordings, captures, recording, read)
    at = (found.parted or len(recording)) if after.shown is recording else None
    more = "; :changes lists it" if found.parted or found.objects else ""
    return Reply(driver.take(after, f"capture {after.cycle}", at), f"captured; {found.words()}{more}")


def earlier(driver: Driver) -> Reply | None:
    """The capture before the first one that is open; None where there is none."""
    captures = driver.captures
    if captures is None or not captures.earlier:
        return None
    read, first = captures.earlier[-1], driver.recordings.original[0]

    def work() -> Reply:
        recording = _replayed(read(), first)
        return Reply(then=lambda: Reply(driver.take(prepended(driver.recordings, captures, recording), "capture 1")))

    return Reply(text="reading the capture before", work=work)


def later(driver: Driver) -> Reply | None:
    """The capture behind the last one that is open; None where there is none, or where one stands elsewhere."""
    captures, open_ = driver.captures, driver.recordings
    if captures is None or not captures.later or (open_.side, open_.cycle) != (ORIGINAL, captures.count):
        return None
    read, last = captures.later[0], captures.last(open_)
    known = captures.newest if len(captures.later) == 1 else None

    def work() -> Reply:
        recording = known or _replayed(read(), last)
        return Reply(then=lambda: _followed(driver, captures, recording))

    return Reply(text="reading the next capture", work=work)


def _followed(driver: Driver, captures: Captures, recording: Recording) -> Reply:
    after = followed(driver.recordings, captures, recording)
    return Reply(driver.take(after, f"capture {after.cycle}"))


def to_bookmark(driver: Driver, mark: Bookmark) -> Reply | None:
    """To a bookmark in a capture that is not open; None for any other."""
    captures, open_ = driver.captures, driver.recordings
    if captures is None or mark.branch or 1 <= mark.cycle <= open_.cycles:
        return None
    index = len(captures.earlier) + mark.cycle - 1
    if not 0 <= index < len(captures.all):
        return None
    if open_.branch:
        raise CommandError("it lies in a capture that is not open", "undo the edits first")
    read, last = captures.all[index], captures.last(open_)

    def work() -> Reply:
        recording = _replayed(read(), last)
        return Reply(then=lambda: Reply(driver.goto_in(alone(driver.recordings, captures, index, recording), mark.seq)))

    return Reply(text="reading the capture", work=work)


def _changes(driver: Driver, _: str) -> Reply:
    if driver.recordings.cycle == 1:
        more = driver.captures is not None and driver.captures.earlier
        hint = "{ reads the one before, } comes back" if more else "recapture takes the next one"
        raise CommandError("there is nothing before this capture or cycle", hint)
    return Reply(show="changes")


VERBS: Final = (
    Verb(("recapture",), "", "capture the live cluster again, and say what has changed since the last time", recapture),
    Verb(
        ("changes",), "", "what is not as it was in the capture or cycle before: objects, decisions, causes", _changes
    ),
)
