"""Loads and replays a snapshot in a thread, and what the command line says about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from io import BytesIO
from math import inf
from pathlib import Path
from threading import Event
from time import monotonic
from typing import BinaryIO, Final

from msgspec import Struct
from msgspec.structs import replace
from textual.message import Message

from vcdebug.amount_text import TimeEstimate, format_percent
from vcdebug.debugger.captures import CaptureSeries
from vcdebug.debugger.driver import DebuggerState, Driver
from vcdebug.errors import VcdebugError
from vcdebug.files.recording_files import RecordingCache, cache_key
from vcdebug.framework.replay_options import MAX_EVENTS, MAX_MEGABYTES, AskExtender
from vcdebug.garbage_collection import collector_paused, freeze_heap, unfreeze_heap
from vcdebug.model.names import Seq
from vcdebug.recording.effects import timeline_marks
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import ProgressBound
from vcdebug.snapshot.archive import MAX_BYTES
from vcdebug.snapshot.file_access import read_stdin
from vcdebug.snapshot.manifest import JsonDict
from vcdebug.snapshot.sources import find_bundled, find_snapshots
from vcdebug.tui.messages import CycleFailed, CycleReady, Progress

SnapshotSource = str | BinaryIO


RecordingLimits = tuple[int, int]
"""Events and megabytes at which a recording stops."""
DEFAULT_LIMITS: RecordingLimits = (MAX_EVENTS, MAX_MEGABYTES)


PROGRESS_SECONDS: Final = 0.25
"""Seconds between two progress messages, since each one is drawn."""


class ReplayStoppedError(VcdebugError):
    """The user stopped the replay."""


def load_and_replay(
    start: Start, post_message: Callable[[Message], object], stop: Event, drawn: Callable[[], object] = lambda: None
) -> None:
    """Read the snapshot, replay its cycle and post the result, until `stop` is set; runs in a thread of its own.

    The cache is written once `drawn` returns, when the recording is on the screen.
    """
    reporter, cache = ProgressReporter(post_message, stop), _SnapshotCache(start)

    def make_message() -> Message:
        with collector_paused(look=True):  # replaying allocates millions of objects that all stay
            recording = cache.find_recording() or _replay_source(start, reporter)
            _build_first_picture(recording, after=start.after)
        return CycleReady(recording)

    message = run_or_failure_message(make_message, CycleFailed)
    post_message(message)
    if isinstance(message, CycleReady):
        drawn()  # indexes and cache would compete with the first frame for the interpreter lock
        with suppress(ReplayStoppedError):
            message.recording.build_indexes(reporter.raise_if_stopped)
            cache.store_recording(message.recording, reporter.raise_if_stopped)


class _SnapshotCache:
    """The entry of a snapshot in the cache of recordings."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._key: str | None = None
        """The key under which to store the recording; None if it is cached already, or is not to be."""

    def find_recording(self) -> Recording | None:
        """The cached recording; None without one."""
        start = self._start
        # The key covers neither an extender's answers, nor other bounds, nor the captures around a snapshot.
        is_usual = start.ask_extender is None and start.limits == DEFAULT_LIMITS and start.captures is None
        if start.kept is None or not is_usual:
            return None
        key = cache_key(start.source_path(), start.load_options)
        recording = None if key is None else start.kept.find_recording(key)
        self._key = key if recording is None else None
        return recording

    def store_recording(self, recording: Recording, raise_if_stopped: Callable[[], object]) -> None:
        """Store the recording, unless it came from the cache."""
        if self._start.kept is not None and self._key is not None:
            self._start.kept.cache_recording(self._key, recording, raise_if_stopped)


def _replay_source(start: Start, reporter: ProgressReporter) -> Recording:
    from vcdebug.files.recording_files import is_recording_file, open_recording
    from vcdebug.recording.replay import replay_cycle
    from vcdebug.snapshot.loader import load_snapshot
    from vcdebug.snapshot.sources import resolve_snapshot_path

    origin = resolve_snapshot_path(start.source) if isinstance(start.source, str) else start.source
    # A recording file is opened, not replayed: it was made under the options of its own run.
    if isinstance(origin, Path) and is_recording_file(origin):
        return open_recording(origin)
    snapshot = load_snapshot(origin, **start.load_options, progress=reporter.report_reading, notice=reporter.set_notice)
    reporter.cycle_begins(snapshot.name)
    bound = ProgressBound(reporter.report_cycle, *start.limits)
    return replay_cycle(snapshot, ask_extender=start.ask_extender, bound=bound)


class ProgressReporter:
    """Posts the progress of reading and of the cycle."""

    def __init__(self, post_message: Callable[[Message], object], stop: Event) -> None:
        self.post = post_message
        self._stop_request = stop
        self._notice = ""
        self._posted_text = ""
        self._posted_at = -inf
        """The time of the last message."""
        self._replayed = ""
        self._estimate = TimeEstimate(monotonic)

    def cycle_begins(self, name: str) -> None:
        """Post that the snapshot is read and the cycle begins."""
        self._replayed = name
        self._post_text(f"replaying {name}")

    def report_cycle(self, words: str, done: int, total: int) -> None:
        """Post how far the cycle is and the time left of its action; raises ReplayStoppedError after a stop."""
        self.raise_if_stopped()
        progress_text = self._estimate.with_time_left(words, done, total)
        if self._is_time():
            self._post_text(f"replaying {self._replayed}: {progress_text}")

    def raise_if_stopped(self) -> None:
        """Raise ReplayStoppedError after a stop."""
        if self._stop_request.is_set():
            raise ReplayStoppedError("the replay was stopped")

    def set_notice(self, text: str) -> None:
        """Show a notice with the progress from now on, the first time at once."""
        self._notice, self._posted_at = text, -inf

    def report_reading(self, done: int, total: int, name: str) -> bool:
        """The progress callback of `load_snapshot`; returns False to stop it."""
        percent = f" {format_percent(done, total)}" if total else ""
        text = self._notice + percent if self._notice else f"reading {Path(name).name}{percent}"
        time_left = self._estimate.time_left(name, done, total)
        if text != self._posted_text and self._is_time():
            self._posted_text = text
            self._post_text(text + time_left)
        return not self._stop_request.is_set()

    def _is_time(self) -> bool:
        return monotonic() - self._posted_at >= PROGRESS_SECONDS

    def _post_text(self, text: str) -> None:
        self._posted_at = monotonic()
        self.post(Progress(text))


def run_or_failure_message(task: Callable[[], Message], make_failure: Callable[[str], Message]) -> Message:
    """The task's message, or that of its failure in one line."""
    try:
        return task()
    except VcdebugError as error:
        return make_failure(error.format_line())
    except Exception as error:  # noqa: BLE001 - boundary: whatever a replay raises is one line on the screen
        return make_failure(f"the replay failed: {type(error).__name__}: {error}")


def _build_first_picture(recording: Recording, *, after: bool) -> None:
    """Build the data of the first frame, and exclude the recording from garbage collection.

    It would find nothing in it, and keep the keys waiting for seconds each time that it looked. After another snapshot
    it has to look, rarely enough, or that one would never go.
    """
    _ = recording.timeline, recording.span_tree, timeline_marks(recording)
    # Frozen objects are never collected: the previous recording would stay in memory.
    if after:
        unfreeze_heap()
    else:
        freeze_heap()


STDIN: Final = "-"


class Start(Struct, frozen=True):
    """What the command line asks for: a snapshot, a first position and options."""

    source: SnapshotSource
    name: str
    goto: Seq | None = None
    breaks: tuple[str, ...] = ()
    job: str | None = None
    ask_extender: AskExtender | None = None
    """Calls the extender's webhook; None for a replay without it."""
    complete: bool | None = None
    """Whether hand-written manifests are completed; None takes the snapshot's own setting."""
    filter: str = ""
    """The first filter."""
    panel: str = ""
    """The first panel; the filter is for it, else for the jobs."""
    limits: RecordingLimits = DEFAULT_LIMITS
    """The bounds of the recording."""
    fresh: bool = False
    """Whether earlier sessions are ignored."""
    release: str | None = None
    """The replayed release; None takes the snapshot's own."""
    captures: CaptureSeries | None = None
    """The series of captures of a live cluster."""
    follow: float = 0.0
    """Seconds between two captures; 0 captures by key alone."""
    kept: RecordingCache | None = None
    """The cache of recordings; None where it is off."""
    lesson: str = ""
    """The lesson to open once the recording is shown."""
    source_code: Callable[[str], Sequence[str]] | None = None
    """Reads files of the user's checkout of upstream; None without one."""
    after: bool = False
    """Whether another snapshot was open before."""

    @classmethod
    def from_word(cls, word: str) -> Start:
        """A start on a snapshot as the command line names it; `-` is standard input, which is read."""
        is_input = word == STDIN
        return cls(BytesIO(read_stdin(MAX_BYTES)), "standard input") if is_input else cls(word, Path(word).name)

    @property
    def load_options(self) -> JsonDict:
        """The options of load_snapshot."""
        return {"complete": self.complete, "release": self.release}

    @property
    def has_position(self) -> bool:
        """Whether the command line chooses the first event."""
        return self.goto is not None or self.job is not None

    def snapshots_to_choose(self) -> list[Path]:
        """The snapshots in a folder that is not a snapshot itself; empty for other sources."""
        folder = Path(self.source) if isinstance(self.source, str) and self.source != STDIN else None
        return find_snapshots(folder) if folder is not None and folder.is_dir() else []

    def newest_capture(self, files: list[Path]) -> Start:
        """A start on the last of several captures, with the earlier ones in its series."""
        from vcdebug.snapshot.loader import load_snapshot

        reads = [partial(load_snapshot, file, **self.load_options) for file in files]
        return replace(
            self.with_source(str(files[-1])), captures=CaptureSeries(None, list(reads[:-1]), list(reads[-1:]))
        )

    def with_source(self, source: str) -> Start:
        return replace(self, source=source, name=Path(source).name)

    def source_path(self) -> SnapshotSource:
        """The folder of a bundled snapshot, else the source itself."""
        if not isinstance(self.source, str) or Path(self.source).exists():
            return self.source
        return str(find_bundled(self.source) or self.source)

    def command_line_name(self) -> str:
        """The snapshot as a word of a command line: a bundled name, a path, or - for standard input."""
        if not isinstance(self.source, str):
            return STDIN
        path = Path(self.source)
        if not path.exists():
            return self.source
        return path.name if find_bundled(path.name) == path else str(path)

    def apply_to(self, driver: Driver) -> DebuggerState:
        """Set the breakpoints, then go to the first position; raises VcdebugError for wrong words."""
        command_lines = driver.notebook.breakpoints.command_lines()
        for words in self.breaks:
            if f"break {words.removeprefix('break ')}" not in command_lines:
                driver.add_breakpoint(words)
        if self.goto is not None:
            return driver.goto_event(self.goto)
        if self.job is not None:
            return driver.next_about("job", self.job, back=False)
        return driver.current_state()


class NextScreen(Struct, frozen=True):
    """The screen after the main screen: another snapshot, or the chooser with a failure to show."""

    snapshot: str = ""
    failure: str = ""
    lesson: str = ""
