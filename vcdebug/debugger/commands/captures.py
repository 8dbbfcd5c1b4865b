"""Commands about a cluster over time."""

from __future__ import annotations

from typing import Final

from vcdebug.compare.captures import Changes, changes
from vcdebug.debugger.captures import Captures, Read, appended, prepended
from vcdebug.debugger.commands.base import CommandError, Reply, Verb
from vcdebug.debugger.driver import Driver
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay


def recapture(driver: Driver, _: str) -> Reply:
    """Capture again, and say what is not the same any more."""
    captures = driver.captures
    take = captures.again if captures is not None else None
    if captures is None or take is None:
        raise CommandError("this snapshot is of no live cluster", "vcdebug open --context NAME captures and opens one")
    last = driver.recordings.original[captures.count - 1]

    def work() -> Reply:
        taken = take()
        recording = replay(taken.snapshot, ask_extender=last.session.ask_extender)
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
        recording = replay(read(), ask_extender=first.session.ask_extender)
        return Reply(then=lambda: Reply(driver.take(prepended(driver.recordings, captures, recording), "capture 1")))

    return Reply(text="reading the capture before", work=work)


def _changes(driver: Driver, _: str) -> Reply:
    if driver.recordings.cycle == 1:
        raise CommandError("there is nothing before this capture or cycle", "recapture takes the next one")
    return Reply(show="changes")


VERBS: Final = (
    Verb(("recapture",), "", "capture the live cluster again, and say what has changed since the last time", recapture),
    Verb(
        ("changes",), "", "what is not as it was in the capture or cycle before: objects, decisions, causes", _changes
    ),
)
