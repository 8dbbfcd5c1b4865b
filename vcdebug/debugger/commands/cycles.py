"""Commands about several cycles, and about a cluster over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vcdebug.debugger import captures
from vcdebug.debugger.driver import CommandError, CommandReply, Driver, Verb, run_in_background
from vcdebug.debugger.notebook import Bookmark
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.branch import ORIGINAL, OpenRecordings

if TYPE_CHECKING:
    from vcdebug.comparison.cycles import CaptureChanges
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

    def run_cycles() -> tuple[OpenRecordings, str]:
        after = append_cycles(before, count, between)
        return after, _describe_last_cycle(after)

    def show_last(ran: tuple[OpenRecordings, str]) -> CommandReply:
        return CommandReply(driver.show_recordings(ran[0], f"cycle {ran[0].cycle}"), ran[1])

    cycles = "the next cycle" if count == 1 else f"{count} cycles"
    return run_in_background(f"running {cycles}", run_cycles, show_last)


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
    if (after := _open_later(driver)) is not None:
        return after
    if open_.cycle == open_.cycle_count:
        return advance_cycles(driver, argument)
    return show_cycle(driver, str(open_.cycle + 1))


def _previous_cycle(driver: Driver, _: str) -> CommandReply:
    if driver.open_recordings.cycle == 1 and (before := _open_earlier(driver)) is not None:
        return before
    if driver.open_recordings.cycle == 1:
        raise CommandError("this is the first cycle", "} runs the next one")
    return show_cycle(driver, str(driver.open_recordings.cycle - 1))


# A cluster over time: captures before and after the open ones.


def _replay_capture(snapshot: Snapshot, like: Recording) -> Recording:
    """Replay another capture, with the extender's webhook if the recording next to it used it."""
    from vcdebug.recording.replay import replay_cycle

    return replay_cycle(snapshot, ask_extender=like.session.ask_extender)


def capture_again(driver: Driver, _: str) -> CommandReply:
    """Capture the cluster again, and say what changed."""
    series = driver.captures
    take = series.take_capture if series is not None else None
    if series is None or take is None:
        raise CommandError("this snapshot is of no live cluster", "vcdebug open --context NAME captures and opens one")
    last = series.last_recording(driver.open_recordings)

    from vcdebug.comparison.cycles import compare_captures

    def take_capture() -> tuple[Recording, captures.ReadCapture, CaptureChanges]:
        capture = take()
        recording = _replay_capture(capture.snapshot, last)
        return recording, capture.capture, compare_captures(last, recording)

    return run_in_background("capturing again", take_capture, lambda taken: _append_capture(driver, series, *taken))


def _append_capture(
    driver: Driver,
    series: captures.CaptureSeries,
    recording: Recording,
    read: captures.ReadCapture,
    changes: CaptureChanges,
) -> CommandReply:
    after = captures.append_capture(driver.open_recordings, series, recording, read)
    seq = (changes.first_difference_seq or len(recording)) if after.shown_recording is recording else None
    hint = "; :changes lists it" if changes.first_difference_seq or changes.objects else ""
    return _show_capture(driver, after, f"captured; {changes.format_changes()}{hint}", seq)


def _show_capture(driver: Driver, after: OpenRecordings, text: str = "", divergence: Seq | None = None) -> CommandReply:
    return CommandReply(driver.show_recordings(after, f"capture {after.cycle}", divergence), text)


def _open_earlier(driver: Driver) -> CommandReply | None:
    """Open the capture before the first open one; None if there is none."""
    series = driver.captures
    if series is None or not series.earlier_captures:
        return None
    read, first = series.earlier_captures[-1], driver.open_recordings.original[0]

    def show_earlier(recording: Recording) -> CommandReply:
        return _show_capture(driver, captures.open_previous_capture(driver.open_recordings, series, recording))

    return run_in_background("reading the capture before", lambda: _replay_capture(read(), first), show_earlier)


def _open_later(driver: Driver) -> CommandReply | None:
    """Open the capture after the last open one; None if there is none, or another recording is shown."""
    series, open_ = driver.captures, driver.open_recordings
    if series is None or not series.later_captures or (open_.side, open_.cycle) != (ORIGINAL, series.open_count):
        return None
    read, last = series.later_captures[0], series.last_recording(open_)
    newest = series.newest if len(series.later_captures) == 1 else None

    def show_later(recording: Recording) -> CommandReply:
        return _show_capture(driver, captures.open_next_capture(driver.open_recordings, series, recording))

    return run_in_background("reading the next capture", lambda: newest or _replay_capture(read(), last), show_later)


def goto_closed_bookmark(driver: Driver, mark: Bookmark) -> CommandReply | None:
    """Open the capture of a bookmark and go there; None if the bookmark's capture is open."""
    series, open_ = driver.captures, driver.open_recordings
    if series is None or mark.branch or 1 <= mark.cycle <= open_.cycle_count:
        return None
    index = len(series.earlier_captures) + mark.cycle - 1
    if not 0 <= index < len(series.all_captures):
        return None
    if open_.branch:
        raise CommandError("it lies in a capture that is not open", "undo the edits first")
    read, last = series.all_captures[index], series.last_recording(open_)

    def goto_mark(recording: Recording) -> CommandReply:
        after = captures.open_only_capture(driver.open_recordings, series, index, recording)
        return CommandReply(driver.goto_in(after, mark.seq))

    return run_in_background("reading the capture", lambda: _replay_capture(read(), last), goto_mark)


def _show_changes(driver: Driver, _: str) -> CommandReply:
    if driver.open_recordings.cycle == 1:
        has_earlier = driver.captures is not None and driver.captures.earlier_captures
        hint = "{ reads the one before, } comes back" if has_earlier else "recapture takes the next one"
        raise CommandError("there is nothing before this capture or cycle", hint)
    return CommandReply(show="changes")


VERBS: Final = (
    Verb(("advance",), "[N] [TIME] [recreate]", "Run more cycles; bound pods start, evicted pods terminate after their"
         " grace period (recreate: are recreated)", advance_cycles),
    Verb(("cycle", "cycles"), "[N]", "Show cycle N; without N, list cycles and repetitions", show_cycle),
    Verb(("next-cycle", "}"), "", "the next cycle, which is run first if necessary", _next_cycle),
    Verb(("previous-cycle", "{"), "", "the cycle before", _previous_cycle),
    Verb(("recapture",), "", "Capture the cluster again and show changes", capture_again),
    Verb(("changes",), "", "Show changes since the previous capture or cycle", _show_changes),
)  # fmt: skip
