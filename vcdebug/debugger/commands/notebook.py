"""Commands for breakpoints, watches and bookmarks, their file, and the report about them."""

from dataclasses import replace
from typing import Final

from vcdebug.debugger.commands.cycles import goto_closed_bookmark
from vcdebug.debugger.driver import CommandError, CommandReply, Driver, Verb, parse_number
from vcdebug.debugger.figures import FIGURE_USAGE, parse_figure
from vcdebug.debugger.notebook import Watch, evaluate_watch, normalize_watch
from vcdebug.whatif.branch import BRANCH, ORIGINAL

BREAKPOINT, WATCH, BOOKMARK = "breakpoint's number", "watch's number", "bookmark's number"


def _set_breakpoint(driver: Driver, argument: str) -> CommandReply | str:
    return driver.add_breakpoint(argument) if argument else CommandReply(show="panel", argument="breaks")


def _toggle_breakpoint(driver: Driver, argument: str) -> str:
    return driver.toggle_breakpoint(parse_number(argument, BREAKPOINT))


def _delete_breakpoint(driver: Driver, argument: str) -> str:
    if argument == "all":
        return driver.clear_breakpoints()
    return driver.remove_breakpoint(parse_number(argument, BREAKPOINT))


def _change_breakpoint(driver: Driver, argument: str) -> str:
    word, _, line = argument.partition(" ")
    if not line.strip():
        raise CommandError("say which breakpoint, and what it shall be", "change N KIND [if CONDITION] ...")
    return driver.change_breakpoint(parse_number(word, BREAKPOINT), line.strip())


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


def _note_event(driver: Driver, argument: str) -> str:
    if not argument:
        raise CommandError("say what to note")
    return _set_bookmark(driver, argument)


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
    Verb(("change",), "N KIND [if CONDITION] ...", "Replace a breakpoint", _change_breakpoint),
    Verb(("condition",), "N [CONDITION]", "Set or remove the condition of a breakpoint", _set_condition),
    Verb(("toggle",), "N", "Enable or disable a breakpoint", _toggle_breakpoint),
    Verb(("delete", "clear"), "N | all", "remove a breakpoint", _delete_breakpoint),
    Verb(("print", "p"), "FIGURE | EXPRESSION", "print a value or expression at this event", _print_value),
    Verb(("watch",), "FIGURE | EXPRESSION", "Watch a value or expression", _add_watch),
    Verb(("unwatch",), "N | all", "stop watching", _remove_watch),
    Verb(("last-change", "L"), "[FIGURE]", "Go to the last change of a value; repeat for earlier ones", _last_change),
    Verb(("bookmark",), "[NOTE]", "mark this event, with a note", _set_bookmark),
    Verb(("note",), "TEXT", "a note about this event", _note_event),
    Verb(("bookmarks",), "[N]", "List bookmarks, or go to bookmark N", _goto_bookmark),
    Verb(("unbookmark",), "[N | all]", "remove a bookmark, by default this event's", _remove_bookmark),
    Verb(("save",), "[FILE] [--force]", "Save breakpoints, watches and bookmarks (default: next to the snapshot)"),
    Verb(("load",), "[FILE]", "Load breakpoints, watches and bookmarks"),
    Verb(
        ("report",),
        "[FILE.md | FILE.html] [--force]",
        "Write a report: cycle summary, Pending jobs, bookmarks (default: SNAPSHOT.html)",
    ),
)
