"""Commands that move."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from vcdebug.debugger.commands.base import CommandError, Reply, Verb, number
from vcdebug.debugger.driver import Driver, Step


def _step(verb: Step, *, back: bool = False) -> Callable[[Driver, str], Reply]:
    def run(driver: Driver, _: str) -> Reply:
        return Reply(driver.step(verb, back=back))

    return run


def goto(driver: Driver, argument: str) -> Reply:
    """To an event: N, +N and -N from here, or CYCLE:N."""
    text = argument.replace(" ", "")
    cycle, colon, rest = text.partition(":")
    if colon and cycle.isdigit():
        return _in_cycle(driver, int(cycle), rest or "1")
    last = driver.debugger.last_seq
    if not text.removeprefix("+").removeprefix("-").isdigit():
        raise CommandError(f"{argument!r} is no event number", hint=f"events are 1 to {last}")
    target = driver.debugger.seq + int(text) if text[0] in "+-" else int(text)
    if not 1 <= target <= last:
        raise CommandError(f"there is no event {target}", hint=f"events are 1 to {last}")
    return Reply(driver.goto(target))


def _in_cycle(driver: Driver, cycle: int, argument: str) -> Reply:
    """An event of another cycle of the side that is shown."""
    open_ = driver.recordings
    after = open_.at(open_.side, cycle)
    last = len(after.shown)
    seq = number(argument, "event number")
    if not 1 <= seq <= last:
        raise CommandError(f"there is no event {seq} in cycle {cycle}", hint=f"events are 1 to {last}")
    return Reply(driver.goto_in(after, seq))


def _last(driver: Driver, _: str) -> Reply:
    return Reply(driver.last_position())


def _where(driver: Driver, _: str) -> Reply:
    path = " > ".join(span.name for span in driver.debugger.path()[1:])
    return Reply(driver.moment(), f"event {driver.debugger.seq} of {driver.debugger.last_seq}: {path or 'cycle'}")


def _about(*, back: bool) -> Callable[[Driver, str], Reply]:
    def run(driver: Driver, argument: str) -> Reply:
        kind, _, name = argument.partition(" ")
        if kind not in ("job", "task", "node", "queue", "plugin") or not name:
            raise CommandError("say what about", hint="job NAME, task NAME, node NAME, queue NAME or plugin NAME")
        return Reply(driver.next_about(kind, name.strip(), back=back))

    return run


VERBS: Final = (
    Verb(("next", "n", "over"), "", "next event or span on this level", _step("over")),
    Verb(("step", "s", "into"), "", "next event, however deep", _step("into")),
    Verb(("out", "f", "finish"), "", "what follows the enclosing span", _step("out")),
    Verb(("continue", "c"), "", "to the next breakpoint, else the end", _step("continue")),
    Verb(("back-next", "N", "back-over"), "", "previous event or span on this level", _step("over", back=True)),
    Verb(("back-step", "S", "back", "back-into"), "", "previous event", _step("into", back=True)),
    Verb(("back-out", "F"), "", "beginning of the enclosing span", _step("out", back=True)),
    Verb(("back-continue", "C", "reverse-continue"), "", "to the previous breakpoint, else the start",
         _step("continue", back=True)),
    Verb(("goto", "g"), "N | +N | -N | CYCLE:N", "to an event by number", goto),
    Verb(("last", "-"), "", "where the last jump began", _last),
    Verb(("about", "]"), "job|task|node|queue|plugin NAME", "next event about it", _about(back=False)),
    Verb(("back-about", "["), "job|task|node|queue|plugin NAME", "previous event about it", _about(back=True)),
    Verb(("where",), "", "the spans around the event", _where),
)  # fmt: skip
