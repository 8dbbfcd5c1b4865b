"""Commands about several cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vcdebug.debugger.commands.captures import open_earlier, open_later
from vcdebug.debugger.driver import CommandError, CommandReply, Driver, Verb
from vcdebug.whatif.branch import OpenRecordings

if TYPE_CHECKING:
    from vcdebug.whatif.cycles import CycleRepeat
    from vcdebug.whatif.next_cycle import BetweenCycles

MAX_CYCLES: Final = 100
"""Cycles that one command runs at most, since each keeps its recording in memory."""
RECREATE: Final = "recreate"
ADVANCE_HINT: Final = "advance [N] [TIME] [recreate]"


def advance_cycles(driver: Driver, argument: str) -> CommandReply:
    """Run the next cycle, or several."""
    count, between = _parse_advance(argument)
    before = driver.open_recordings

    # Imported here, so that opening a snapshot does not load the rules between cycles.
    from vcdebug.whatif.cycles import append_cycles

    def run_cycles() -> CommandReply:
        after = append_cycles(before, count, between)
        text = _describe_last_cycle(after)
        return CommandReply(apply=lambda: CommandReply(driver.show_recordings(after, f"cycle {after.cycle}"), text))

    cycles = "the next cycle" if count == 1 else f"{count} cycles"
    return CommandReply(text=f"running {cycles}", work=run_cycles)


def _parse_advance(argument: str) -> tuple[int, BetweenCycles]:
    """(number of cycles, what happens between two cycles)."""
    from vcdebug.whatif.next_cycle import ONE_SECOND, BetweenCycles, parse_interval

    words = argument.split()
    recreate = RECREATE in words
    numbers = [word for word in words if word != RECREATE]
    try:
        count = int(numbers[0]) if numbers else 1
    except ValueError as error:
        raise CommandError(f"{argument!r} is not a number of cycles and a time", ADVANCE_HINT) from error
    every = parse_interval(numbers[1]) if len(numbers) > 1 else ONE_SECOND
    if len(numbers) > 2 or not 1 <= count <= MAX_CYCLES or every is None:
        raise CommandError(
            f"{argument!r} does not say how far", f"{ADVANCE_HINT}, N from 1 to {MAX_CYCLES}, TIME such as 31s or 1m30s"
        )
    return count, BetweenCycles(interval=every, recreate=recreate)


def _describe_last_cycle(after: OpenRecordings) -> str:
    """What the last cycle did, and which earlier cycle it repeats, if any."""
    from vcdebug.recording.effects import cycle_effects
    from vcdebug.whatif.cycles import find_repeat

    effects = cycle_effects(after.shown_recording)
    counts = ((effects.bound, "bound"), (effects.pipelined, "pipelined"), (effects.evicted, "evicted"))
    text = ", ".join(f"{len(entries)} {word}" for entries, word in counts if entries) or "nothing placed or evicted"
    repeat = find_repeat(after.cycles_of(after.side))
    return f"cycle {after.cycle}: {text}" + (f"; {describe_repeat(repeat)}" if repeat is not None else "")


def describe_repeat(repeat: CycleRepeat) -> str:
    """One sentence about a repeated cycle: which cycle it repeats, and which evictions recur."""
    leaving, planned = ", ".join(repeat.evicted), ", ".join(repeat.discarded_evictions)
    text = f"{leaving} evicted each time" if leaving else f"the eviction of {planned} planned and rolled back each time"
    return f"cycle {repeat.later_cycle} repeats cycle {repeat.earlier_cycle}: {text}"


def show_cycle(driver: Driver, argument: str) -> CommandReply:
    """Show a cycle by its number; without a number, the list of cycles."""
    if not argument:
        return CommandReply(show="cycles")
    if not argument.isdigit():
        raise CommandError(f"{argument!r} is not a cycle")
    open_ = driver.open_recordings
    return CommandReply(driver.show_recordings(open_.show_cycle(open_.side, int(argument)), f"cycle {argument}"))


def _next_cycle(driver: Driver, argument: str) -> CommandReply:
    """Show the next cycle, replaying it if it is not open."""
    open_ = driver.open_recordings
    if (after := open_later(driver)) is not None:
        return after
    if open_.cycle == open_.cycle_count:
        return advance_cycles(driver, argument)
    return show_cycle(driver, str(open_.cycle + 1))


def _previous_cycle(driver: Driver, _: str) -> CommandReply:
    if driver.open_recordings.cycle == 1 and (before := open_earlier(driver)) is not None:
        return before
    if driver.open_recordings.cycle == 1:
        raise CommandError("this is the first cycle", "} runs the next one")
    return show_cycle(driver, str(driver.open_recordings.cycle - 1))


VERBS: Final = (
    Verb(
        ("advance",),
        "[N] [TIME] [recreate]",
        "Run more cycles; bound pods start, evicted pods terminate after their grace period (recreate: are recreated)",
        advance_cycles,
    ),
    Verb(("cycle", "cycles"), "[N]", "Show cycle N; without N, list cycles and repetitions", show_cycle),
    Verb(("next-cycle", "}"), "", "the next cycle, which is run first if necessary", _next_cycle),
    Verb(("previous-cycle", "{"), "", "the cycle before", _previous_cycle),
)
