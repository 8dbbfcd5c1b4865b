"""A debugger without a screen, for protocols: opened by name, answering command lines and expressions with text."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from vcdebug.cli.arguments import CachedRecordings, open_cache
from vcdebug.cli.render import plain_text
from vcdebug.cli.reports.script import AnswerReport, answer_blocks
from vcdebug.cli.snapshots import replay_snapshot
from vcdebug.debugger.commands import ScriptError, run_line
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.notebook import Watch, evaluate_watch, normalize_watch
from vcdebug.errors import VcdebugError


def open_driver(options: Mapping[str, object]) -> Driver:
    """A driver of the named snapshot, with `release`, `complete` and `set` as the commands take them."""
    name, release, complete = options.get("snapshot"), options.get("release"), options.get("complete")
    edits = options.get("set") or ()
    if not isinstance(name, str):
        raise VcdebugError("no snapshot is named", 'such as "snapshot": "preempt-blocked-by-gang"')
    if not isinstance(edits, list | tuple):
        raise VcdebugError("set is a list of edits")
    cache = open_cache()
    # At once, since a client may end the process without a word.
    keeping = None if cache is None else CachedRecordings(cache, lambda store: store())
    given = None if release is None else str(release), None if complete is None else bool(complete)
    replayed = replay_snapshot(name, release=given[0], complete=given[1], edits=tuple(map(str, edits)), keeping=keeping)
    return Driver(replayed.recording)


def run_command(driver: Driver, line: str, number: int = 1) -> AnswerReport:
    """What a command line comes to; raises VcdebugError if it fails."""
    try:
        return AnswerReport(run_line(driver, number, line), driver)
    except ScriptError as error:
        raise error.__cause__ or error from None


def answer_text(shown: AnswerReport) -> str:
    """The answer as a pipe gets it, without the line that repeats the command."""
    return plain_text(islice(answer_blocks(shown), 1, None))


def evaluate_text(driver: Driver, text: str) -> str:
    """The value of a figure or an expression at the present event; raises VcdebugError for what is neither."""
    debugger = driver.debugger
    watched = Watch(0, normalize_watch(debugger.recording, text))
    return evaluate_watch(debugger.recording, debugger.seq, watched).now
