"""Commands about several cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vcdebug.debugger.commands.base import CommandError, Reply, Verb
from vcdebug.debugger.commands.captures import earlier, later
from vcdebug.debugger.driver import Driver
from vcdebug.debugger.recordings import Recordings

if TYPE_CHECKING:
    from vcdebug.debugger.between import Between
    from vcdebug.debugger.cycles import Repeat

MOST: Final = 100
"""Cycles that one command runs at most: each keeps its recording."""
RECREATE: Final = "recreate"
HINT: Final = "advance [N] [TIME] [recreate]"


def advance(driver: Driver, argument: str) -> Reply:
    """Run the next cycle, or several."""
    count, between = _numbers(argument)
    before = driver.recordings

    from vcdebug.debugger.cycles import advanced

    def work() -> Reply:
        after = advanced(before, count, between)
        text = _done(after)
        return Reply(then=lambda: Reply(driver.take(after, f"cycle {after.cycle}"), text))

    cycles = "the next cycle" if count == 1 else f"{count} cycles"
    return Reply(text=f"running {cycles}", work=work)


def _numbers(argument: str) -> tuple[int, Between]:
    """(how many, what happens between two)."""
    from vcdebug.debugger.between import ONE_SECOND, Between
    from vcdebug.debugger.between.actors import passing

    words = argument.split()
    recreate = RECREATE in words
    numbers = [word for word in words if word != RECREATE]
    try:
        count = int(numbers[0]) if numbers else 1
    except ValueError as error:
        raise CommandError(f"{argument!r} is no number of cycles and a time", HINT) from error
    every = passing(numbers[1]) if len(numbers) > 1 else ONE_SECOND
    if len(numbers) > 2 or not 1 <= count <= MOST or every is None:
        raise CommandError(
            f"{argument!r} does not say how far", f"{HINT}, N from 1 to {MOST}, TIME such as 31s or 1m30s"
        )
    return count, Between(every=every, recreate=recreate)


def _done(after: Recordings) -> str:
    """What the last cycle did, and whether it is one that was there before."""
    from vcdebug.debugger.cycles import repeat
    from vcdebug.trace.effects import effects

    done = effects(after.shown)
    counts = ((done.bound, "bound"), (done.pipelined, "pipelined"), (done.evicted, "evicted"))
    said = ", ".join(f"{len(entries)} {word}" for entries, word in counts if entries) or "nothing placed or evicted"
    found = repeat(after.line(after.side))
    return f"cycle {after.cycle}: {said}" + (f"; {repeat_words(found)}" if found is not None else "")


def repeat_words(found: Repeat) -> str:
    """A repeat in one sentence."""
    leaving, planned = ", ".join(found.evicted), ", ".join(found.given_back)
    what = f"{leaving} evicted each time" if leaving else f"the eviction of {planned} planned and given back each time"
    return f"cycle {found.later} repeats cycle {found.earlier}: {what}"


def show(driver: Driver, argument: str) -> Reply:
    """Another cycle by number, or the list of them."""
    if not argument:
        return Reply(show="cycles")
    if not argument.isdigit():
        raise CommandError(f"{argument!r} is no cycle")
    open_ = driver.recordings
    return Reply(driver.take(open_.at(open_.side, int(argument)), f"cycle {argument}"))


def _next(driver: Driver, argument: str) -> Reply:
    """The next cycle; after the last one it is run."""
    open_ = driver.recordings
    if (after := later(driver)) is not None:
        return after
    if open_.cycle == open_.cycles:
        return advance(driver, argument)
    return show(driver, str(open_.cycle + 1))


def _previous(driver: Driver, _: str) -> Reply:
    if driver.recordings.cycle == 1 and (before := earlier(driver)) is not None:
        return before
    if driver.recordings.cycle == 1:
        raise CommandError("this is the first cycle", "} runs the next one")
    return show(driver, str(driver.recordings.cycle - 1))


VERBS: Final = (
    Verb(
        ("advance",),
        "[N] [TIME] [recreate]",
        "run further cycles: bound pods run, evicted ones leave after their grace period, and come back with recreate",
        advance,
    ),
    Verb(("cycle", "cycles"), "[N]", "show another cycle; without a number the list of them, with what repeats", show),
    Verb(("next-cycle", "}"), "", "the next cycle, which is run where there is none yet", _next),
    Verb(("previous-cycle", "{"), "", "the cycle before", _previous),
)
