"""Commands about what is set: breakpoints, watches and bookmarks, the file that keeps them, the report about them."""

from __future__ import annotations

from typing import Final

from vcdebug.debugger.commands.base import CommandError, Reply, Verb, number, opens
from vcdebug.debugger.commands.captures import to_bookmark
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.figure_words import USAGE, figure
from vcdebug.debugger.recordings import BRANCH, ORIGINAL
from vcdebug.debugger.watch import look

BREAKPOINT, WATCH, BOOKMARK = "breakpoint's number", "watch's number", "bookmark's number"


def _break(driver: Driver, argument: str) -> Reply:
    if not argument:
        return Reply(show="panel", argument="breakpoints")
    text = driver.add_breakpoint(argument)
    return Reply(driver.moment(), text)


def _toggle(driver: Driver, argument: str) -> Reply:
    text = driver.toggle_breakpoint(number(argument, BREAKPOINT))
    return Reply(driver.moment(), text)


def _delete(driver: Driver, argument: str) -> Reply:
    text = driver.remove_breakpoint(number(argument, BREAKPOINT)) if argument != "all" else driver.clear_breakpoints()
    return Reply(driver.moment(), text)


def _change(driver: Driver, argument: str) -> Reply:
    word, _, line = argument.partition(" ")
    if not line.strip():
        raise CommandError("say which breakpoint, and what it shall be", "change N KIND [if CONDITION] ...")
    text = driver.change_breakpoint(number(word, BREAKPOINT), line.strip())
    return Reply(driver.moment(), text)


def _watch(driver: Driver, argument: str) -> Reply:
    if not argument:
        return Reply(show="panel", argument="watch")
    debugger = driver.debugger
    watch = driver.notebook.watches.add(argument, debugger.recording)
    now = look(debugger.recording, debugger.seq, watch).now
    return Reply(driver.moment(), f"watch {watch.number}: {watch.text}: {now}")


def _unwatch(driver: Driver, argument: str) -> Reply:
    watches = driver.notebook.watches
    if argument == "all":
        watches.clear()
        return Reply(driver.moment(), "nothing is watched")
    gone = watches.remove(number(argument, WATCH))
    return Reply(driver.moment(), f"watch {gone.number} removed: {gone.text}")


def _last_change(driver: Driver, argument: str) -> Reply:
    found = figure(driver.debugger.recording, tuple(argument.split())) if argument else driver.followed
    if found is None:
        raise CommandError("say which figure", USAGE)
    start = driver.debugger.seq
    here = driver.last_change(found)
    return Reply(here, "" if here.seq != start else here.reason)


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
    mark = driver.notebook.bookmarks[number(argument, BOOKMARK)]
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
    gone = bookmarks.remove(here.number if here is not None and not argument else number(argument, BOOKMARK))
    return Reply(driver.moment(), f"bookmark {gone.number} removed")


def _report(_: Driver, argument: str) -> Reply:
    if not argument:
        raise CommandError("say which file", "report FILE.md or FILE.html, with --force to write over it")
    return Reply(show="report", argument=argument)


VERBS: Final = (
    Verb(("break", "b"), "KIND [if CONDITION] [hits == N] [once] [log TEXT]", "set a breakpoint", _break),
    Verb(("change",), "N KIND [if CONDITION] ...", "other words for a breakpoint, which keeps its number", _change),
    Verb(("toggle",), "N", "switch a breakpoint off or on", _toggle),
    Verb(("delete", "clear"), "N | all", "remove a breakpoint", _delete),
    Verb(("watch",), "FIGURE | EXPRESSION", "keep a figure or an expression in sight", _watch),
    Verb(("unwatch",), "N | all", "stop watching", _unwatch),
    Verb(("last-change", "L"), "[FIGURE]", "to the event that wrote a figure; again, further back", _last_change),
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
