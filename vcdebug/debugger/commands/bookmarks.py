"""Commands about bookmarks and their notes, the file that keeps them, and the report that holds them."""

from __future__ import annotations

from typing import Final

from vcdebug.debugger.commands.base import CommandError, Reply, Verb, number, opens
from vcdebug.debugger.commands.captures import to_bookmark
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.recordings import BRANCH, ORIGINAL

NUMBER: Final = "bookmark's number"


def _bookmark(driver: Driver, argument: str) -> Reply:
    cycle, branch = driver.where()
    mark = driver.notebook.bookmarks.set(driver.debugger.seq, argument, cycle, branch=branch)
    note = f": {mark.note}" if mark.note else ""
    return Reply(driver.moment(), f"bookmark {mark.number} at event {mark.seq}{note}")


def _note(driver: Driver, argument: str) -> Reply:
    if not argument:
        raise CommandError("say what to note")
    return _bookmark(driver, argument)


def _bookmarks(driver: Driver, argument: str) -> Reply:
    """The list, or to one of them, in whichever cycle it lies."""
    if not argument:
        return Reply(show="panel", argument="bookmarks")
    mark = driver.notebook.bookmarks[number(argument, NUMBER)]
    if (elsewhere := to_bookmark(driver, mark)) is not None:
        return elsewhere
    side = BRANCH if mark.branch else ORIGINAL
    return Reply(driver.goto_in(driver.recordings.at(side, mark.cycle), mark.seq))


def _unbookmark(driver: Driver, argument: str) -> Reply:
    bookmarks = driver.notebook.bookmarks
    if argument == "all":
        bookmarks.clear()
        return Reply(driver.moment(), "no bookmarks")
    cycle, branch = driver.where()
    here = bookmarks.at(driver.debugger.seq, cycle, branch=branch)
    if not argument and here is None:
        raise CommandError("there is no bookmark at this event", "unbookmark N removes another one")
    gone = bookmarks.remove(here.number if here is not None and not argument else number(argument, NUMBER))
    return Reply(driver.moment(), f"bookmark {gone.number} removed")


def _report(_: Driver, argument: str) -> Reply:
    if not argument:
        raise CommandError("say which file", "report FILE.md or FILE.html, with --force to write over it")
    return Reply(show="report", argument=argument)


VERBS: Final = (
    Verb(("bookmark",), "[NOTE]", "mark this event, with a note", _bookmark),
    Verb(("note",), "TEXT", "a note about this event", _note),
    Verb(("bookmarks",), "[N]", "all bookmarks, or to one of them in whichever cycle it lies", _bookmarks),
    Verb(("unbookmark",), "[N | all]", "remove a bookmark, by default this event's", _unbookmark),
    Verb(
        ("save",),
        "[FILE] [--force]",
        "write breakpoints, watches and bookmarks, by default beside the snapshot",
        opens("save"),
    ),
    Verb(("load",), "[FILE]", "set what such a file holds, by default the one beside the snapshot", opens("load")),
    Verb(
        ("report",), "FILE.md | FILE.html [--force]", "write what happened, why jobs wait, and the bookmarks", _report
    ),
)
