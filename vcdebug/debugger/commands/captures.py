"""Commands about a cluster over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vcdebug.debugger import captures
from vcdebug.debugger.driver import CommandError, CommandReply, Driver, Verb
from vcdebug.debugger.notebook import Bookmark
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.branch import ORIGINAL

if TYPE_CHECKING:
    from vcdebug.comparison.cycles import CaptureChanges


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

    def take_capture() -> CommandReply:
        capture = take()
        recording = _replay_capture(capture.snapshot, last)
        changes = compare_captures(last, recording)
        return CommandReply(apply=lambda: _append_arrived(driver, series, recording, capture.capture, changes))

    return CommandReply(text="capturing again", work=take_capture)


def _append_arrived(
    driver: Driver,
    series: captures.CaptureSeries,
    recording: Recording,
    read: captures.ReadCapture,
    changes: CaptureChanges,
) -> CommandReply:
    after = captures.append_capture(driver.open_recordings, series, recording, read)
    seq = (changes.first_difference_seq or len(recording)) if after.shown_recording is recording else None
    hint = "; :changes lists it" if changes.first_difference_seq or changes.objects else ""
    return CommandReply(
        driver.show_recordings(after, f"capture {after.cycle}", seq), f"captured; {changes.format_changes()}{hint}"
    )


def open_earlier(driver: Driver) -> CommandReply | None:
    """Open the capture before the first open one; None if there is none."""
    series = driver.captures
    if series is None or not series.earlier_captures:
        return None
    read, first = series.earlier_captures[-1], driver.open_recordings.original[0]

    def read_earlier() -> CommandReply:
        recording = _replay_capture(read(), first)
        return CommandReply(apply=lambda: _show_previous(driver, series, recording))

    return CommandReply(text="reading the capture before", work=read_earlier)


def _show_previous(driver: Driver, series: captures.CaptureSeries, recording: Recording) -> CommandReply:
    after = captures.open_previous_capture(driver.open_recordings, series, recording)
    return CommandReply(driver.show_recordings(after, "capture 1"))


def _show_only(
    driver: Driver, series: captures.CaptureSeries, index: int, recording: Recording, seq: Seq
) -> CommandReply:
    return CommandReply(
        driver.goto_in(captures.open_only_capture(driver.open_recordings, series, index, recording), seq)
    )


def open_later(driver: Driver) -> CommandReply | None:
    """Open the capture after the last open one; None if there is none, or another recording is shown."""
    series, open_ = driver.captures, driver.open_recordings
    if series is None or not series.later_captures or (open_.side, open_.cycle) != (ORIGINAL, series.open_count):
        return None
    read, last = series.later_captures[0], series.last_recording(open_)
    newest = series.newest if len(series.later_captures) == 1 else None

    def read_later() -> CommandReply:
        recording = newest or _replay_capture(read(), last)
        return CommandReply(apply=lambda: _show_followed(driver, series, recording))

    return CommandReply(text="reading the next capture", work=read_later)


def _show_followed(driver: Driver, series: captures.CaptureSeries, recording: Recording) -> CommandReply:
    after = captures.open_next_capture(driver.open_recordings, series, recording)
    return CommandReply(driver.show_recordings(after, f"capture {after.cycle}"))


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

    def read_capture() -> CommandReply:
        recording = _replay_capture(read(), last)
        return CommandReply(apply=lambda: _show_only(driver, series, index, recording, mark.seq))

    return CommandReply(text="reading the capture", work=read_capture)


def _show_changes(driver: Driver, _: str) -> CommandReply:
    if driver.open_recordings.cycle == 1:
        has_earlier = driver.captures is not None and driver.captures.earlier_captures
        hint = "{ reads the one before, } comes back" if has_earlier else "recapture takes the next one"
        raise CommandError("there is nothing before this capture or cycle", hint)
    return CommandReply(show="changes")


VERBS: Final = (
    Verb(("recapture",), "", "Capture the cluster again and show changes", capture_again),
    Verb(("changes",), "", "Show changes since the previous capture or cycle", _show_changes),
)
