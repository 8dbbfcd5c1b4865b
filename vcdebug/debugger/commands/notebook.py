"""Commands for breakpoints, watches and bookmarks, their file, and the report about them."""

from dataclasses import replace
from functools import partial
from typing import Final

from vcdebug.debugger.breakpoint import Breakpoint, HitCount
from vcdebug.debugger.commands.cycles import goto_closed_bookmark
from vcdebug.debugger.driver import CommandError, CommandReply, Driver, Verb, parse_number
from vcdebug.debugger.figures import FIGURE_USAGE, parse_figure
from vcdebug.debugger.notebook import VALUE_EXAMPLE, Watch, evaluate_watch, normalize_watch
from vcdebug.whatif.branch import BRANCH, ORIGINAL

BREAKPOINT, WATCH, BOOKMARK = "breakpoint's number", "watch's number", "bookmark's number"


def _set_breakpoint(driver: Driver, argument: str) -> CommandReply | str:
    return driver.add_breakpoint(argument) if argument else CommandReply(show="panel", argument="breaks")


def _stop_once(driver: Driver, argument: str) -> str:
    """Set a breakpoint that is disabled after its first stop, like gdb's `tbreak`."""
    return driver.add_breakpoint(f"{argument} once")


def _breakpoints_named(driver: Driver, argument: str) -> list[Breakpoint]:
    """The breakpoints of `1 3`, `all` or nothing (all); with gdb's word `breakpoints` before the numbers or without."""
    words = argument.removeprefix("breakpoints").removeprefix("breakpoint").split()
    points = driver.debugger.breakpoints
    return list(points) if words in ([], ["all"]) else [points[parse_number(word, BREAKPOINT)] for word in words]


def _switch_breakpoints(enabled: bool | None, driver: Driver, argument: str) -> str:
    """Enable or disable breakpoints; None changes each to the opposite."""
    points = _breakpoints_named(driver, argument)
    for point in points:
        if point.enabled is not enabled:
            driver.toggle_breakpoint(point.number)
    switched = (f"breakpoint {point.number} is {'on' if point.enabled else 'off'}" for point in points)
    return ", ".join(switched) or "no breakpoints"


def _delete_breakpoints(driver: Driver, argument: str) -> str:
    if argument in ("all", "breakpoints"):
        return driver.clear_breakpoints()
    return ", ".join(driver.remove_breakpoint(point.number) for point in _breakpoints_named(driver, argument))


def _change_breakpoint(driver: Driver, argument: str) -> str:
    word, _, line = argument.partition(" ")
    if not line.strip():
        raise CommandError("a breakpoint's number and its new words are missing", "change N KIND [if CONDITION] ...")
    return driver.change_breakpoint(parse_number(word, BREAKPOINT), line.strip())


def _ignore_hits(driver: Driver, argument: str) -> str:
    """Stop only after the first COUNT hits, like gdb's `ignore N COUNT`."""
    word, _, count = argument.partition(" ")
    number, hits = parse_number(word, BREAKPOINT), parse_number(count.strip(), "number of hits")
    point = replace(driver.debugger.breakpoints[number], hit_count=HitCount(">", hits))
    return driver.change_breakpoint(number, point.command_line())


def _set_condition(driver: Driver, argument: str) -> str:
    """Change a breakpoint's condition and keep its other options, like Delve's `condition N EXPR`."""
    word, _, condition = argument.partition(" ")
    number = parse_number(word, BREAKPOINT)
    point = replace(driver.debugger.breakpoints[number], condition=None)
    prefix = f"break {point.kind}"
    line = f"{prefix} if {condition.strip()}{point.command_line().removeprefix(prefix)}" if condition.strip() else ""
    return driver.change_breakpoint(number, line or point.command_line())


def _add_watch(driver: Driver, argument: str) -> CommandReply | str:
    if not argument:
        return CommandReply(show="panel", argument="watch")
    debugger = driver.debugger
    watch = driver.notebook.watches.add_watch(argument, debugger.recording)
    value = evaluate_watch(debugger.recording, debugger.seq, watch).current
    return f"watch {watch.number}: {watch.text}: {value}"


def _print_value(driver: Driver, argument: str) -> str:
    """The value of a figure or an expression at this event and before it, without a watch, like gdb's `print`."""
    recording = driver.debugger.recording
    value = evaluate_watch(recording, driver.debugger.seq, Watch(0, normalize_watch(recording, argument)))
    before = f" (before the event: {value.before})" if value.before not in ("", value.current) else ""
    return f"{value.watch.text}: {value.current}{before}"


def _remove_watch(driver: Driver, argument: str) -> str:
    watches = driver.notebook.watches
    if argument == "all":
        watches.clear()
        return "nothing is watched"
    watch = watches.remove(parse_number(argument, WATCH))
    return f"watch {watch.number} removed: {watch.text}"


def _last_change(driver: Driver, argument: str) -> CommandReply:
    figure = parse_figure(driver.debugger.recording, tuple(argument.split())) if argument else driver.followed
    if figure is None:
        raise CommandError("say which figure", FIGURE_USAGE)
    start = driver.debugger.seq
    state = driver.last_change(figure)
    return CommandReply(state, "" if state.seq != start else state.reason)


def _set_bookmark(driver: Driver, argument: str) -> str:
    cycle, branch = driver.shown_place()
    mark = driver.notebook.bookmarks.set_bookmark(driver.debugger.seq, argument, cycle, branch=branch)
    note = f": {mark.note}" if mark.note else ""
    return f"bookmark {mark.number} at event {mark.seq}{note}"


def _goto_bookmark(driver: Driver, argument: str) -> CommandReply:
    """Go to a bookmark by number, in any cycle; without a number, show the list of bookmarks."""
    if not argument:
        return CommandReply(show="panel", argument="bookmarks")
    mark = driver.notebook.bookmarks[parse_number(argument, BOOKMARK)]
    if (elsewhere := goto_closed_bookmark(driver, mark)) is not None:
        return elsewhere
    side = BRANCH if mark.branch else ORIGINAL
    return CommandReply(driver.goto_in(driver.open_recordings.show_cycle(side, mark.cycle), mark.seq))


def _remove_bookmark(driver: Driver, argument: str) -> str:
    bookmarks = driver.notebook.bookmarks
    if argument == "all":
        bookmarks.clear()
        return "no bookmarks"
    cycle, branch = driver.shown_place()
    mark = bookmarks.bookmark_at(driver.debugger.seq, cycle, branch=branch)
    if not argument and mark is None:
        raise CommandError("no bookmark at this event", "unbookmark N removes another one")
    removed = bookmarks.remove(mark.number if mark is not None and not argument else parse_number(argument, BOOKMARK))
    return f"bookmark {removed.number} removed"


VERBS: Final = (
    Verb(("break", "b"), "KIND [if CONDITION] [hits == N] [once] [log TEXT]", "set a breakpoint", _set_breakpoint),
    Verb(("tbreak", "tb"), "KIND [if CONDITION]", "set a breakpoint that stops once", _stop_once),
    Verb(("change",), "N KIND [if CONDITION] ...", "Replace a breakpoint", _change_breakpoint),
    Verb(("condition",), "N [CONDITION]", "Set or remove the condition of a breakpoint", _set_condition),
    Verb(("ignore",), "N COUNT", "Stop at a breakpoint only after its first COUNT hits", _ignore_hits),
    Verb(("toggle",), "N ...", "Enable or disable breakpoints", partial(_switch_breakpoints, None)),
    Verb(("enable",), "[N ...]", "Enable breakpoints (default: all)", partial(_switch_breakpoints, True)),
    Verb(("disable",), "[N ...]", "Disable breakpoints (default: all)", partial(_switch_breakpoints, False)),
    Verb(("delete", "clear"), "N ... | all", "remove breakpoints", _delete_breakpoints),
    Verb(("print", "p"), "FIGURE | EXPRESSION", "print a value or expression at this event", _print_value,
         example=VALUE_EXAMPLE),
    Verb(("watch", "display"), "FIGURE | EXPRESSION", "Watch a value or expression (break FIGURE stops at its changes)",
         _add_watch),
    Verb(("unwatch", "undisplay"), "N | all", "stop watching", _remove_watch),
    Verb(("last-change", "L"), "[FIGURE]", "Go to the last change of a value; repeat for earlier ones", _last_change),
    Verb(("bookmark",), "[NOTE]", "mark this event, with a note", _set_bookmark),
    Verb(("note",), "TEXT", "a note about this event", _set_bookmark),
    Verb(("bookmarks",), "[N]", "List bookmarks, or go to bookmark N", _goto_bookmark),
    Verb(("unbookmark",), "[N | all]", "remove a bookmark, by default this event's", _remove_bookmark),
    Verb(("save",), "[FILE] [--force]", "Save breakpoints, watches and bookmarks (default: next to the snapshot)"),
    Verb(("load",), "[FILE]", "Load breakpoints, watches and bookmarks"),
    Verb(("report",), "[FILE.md | FILE.html] [--force]",
         "Write a report: cycle summary, Pending jobs, bookmarks (default: SNAPSHOT.html)"),
)  # fmt: skip
