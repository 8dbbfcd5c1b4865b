"""Commands about figures: watching them, and going to the event that wrote them."""

from __future__ import annotations

from typing import Final

from vcdebug.debugger.commands.base import CommandError, Reply, Verb, number
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.figure_words import USAGE, figure
from vcdebug.debugger.watch import look

NUMBER: Final = "watch's number"


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
    gone = watches.remove(number(argument, NUMBER))
    return Reply(driver.moment(), f"watch {gone.number} removed: {gone.text}")


def _last_change(driver: Driver, argument: str) -> Reply:
    found = figure(driver.debugger.recording, tuple(argument.split())) if argument else driver.followed
    if found is None:
        raise CommandError("say which figure", USAGE)
    start = driver.debugger.seq
    here = driver.last_change(found)
    return Reply(here, "" if here.seq != start else here.reason)


VERBS: Final = (
    Verb(("watch",), "FIGURE | EXPRESSION", "keep a figure or an expression in sight", _watch),
    Verb(("unwatch",), "N | all", "stop watching", _unwatch),
    Verb(("last-change", "L"), "[FIGURE]", "to the event that wrote a figure; again, further back", _last_change),
)
