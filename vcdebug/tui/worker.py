"""Loads and replays a snapshot in a thread, so that the screen answers keys meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from time import monotonic
from typing import BinaryIO, Final, NamedTuple

from textual.message import Message

from vcdebug.amount_text import percent
from vcdebug.collector import collector_paused, leave_alone, look_again
from vcdebug.debugger.commands import Reply
from vcdebug.errors import VcdebugError
from vcdebug.files.kept import KeptRecordings, key_of
from vcdebug.framework.bound import MAX_EVENTS, MAX_MEGABYTES, Bound
from vcdebug.framework.webhook import AskExtender
from vcdebug.trace.marks import marks
from vcdebug.trace.pace import Paced, Tell
from vcdebug.trace.recording import Recording
from vcdebug.tui.messages import CycleFailed, CycleReady, Progress, WorkDone
from vcdebug.views.estimate import Estimate

Source = str | BinaryIO


Limits = tuple[int, int]
"""Events and megabytes that a recording may have."""
USUAL: Limits = (MAX_EVENTS, MAX_MEGABYTES)


OFTEN: Final = 0.25
"""Seconds between two words about how far something is: nobody reads faster, and each is drawn."""


class Stop:
    """Somebody does not want to wait any longer; asked for by the screen, looked at by the thread."""

    def __init__(self) -> None:
        self.asked = False


class ReplayStoppedError(VcdebugError):
    """The replay ended early because somebody wanted it to."""


def stoppable(stop: Stop, tell: Tell, limits: Limits = USUAL) -> Paced:
    """The usual bound of a recording; wherever it says how far the cycle is, somebody may have had enough."""
    return Paced(partial(_tell_unless_stopped, stop, tell), *limits)


def _unless_stopped(stop: Stop) -> None:
    if stop.asked:
        raise ReplayStoppedError("the replay was stopped")


def _tell_unless_stopped(stop: Stop, tell: Tell, words: str, done: int, total: int) -> None:
    _unless_stopped(stop)
    tell(words, done, total)


class LoadOptions(NamedTuple):
    """What the command line says instead of the snapshot."""

    complete: bool | None = None
    release: str | None = None


AS_STATED = LoadOptions()


def run(
    source: Source,
    post: Callable[[Message], object],
    ask_extender: AskExtender | None = None,
    options: LoadOptions = AS_STATED,
    stop: Stop | None = None,
    limits: Limits = USUAL,
    after: bool = False,
    kept: KeptRecordings | None = None,
    drawn: Callable[[], object] = lambda: None,
) -> None:
    """Read the snapshot, execute its cycle, and say how it went; called in a thread of its own.

    After another snapshot, what that one has left may be cleared away. What is kept for the next time is written once
    the recording is on the screen, for which `drawn` waits.
    """
    wanted = stop or Stop()
    teller = ProgressReporter(post, wanted)
    bound = stoppable(wanted, teller.replaying, limits)
    keeping = _Keeping(kept if ask_extender is None and limits == USUAL else None, options)

    def cycle() -> Message:
        with collector_paused(look=True):
            recording = keeping.find(source) or _cycle(source, teller, ask_extender, options, bound)
            _begin(recording, after=after)
        return CycleReady(recording)

    message = attempt(cycle, CycleFailed)
    post(message)
    if isinstance(message, CycleReady):
        drawn()
        _afterwards(message.recording, keeping, partial(_unless_stopped, wanted))


def _afterwards(recording: Recording, keeping: _Keeping, step: Callable[[], object]) -> None:
    """While somebody reads the first picture: what the first keys would wait for, and what the next time takes."""
    try:
        recording.prepare(step)
        keeping.keep(recording, step)
    except ReplayStoppedError:
        return


class _Keeping:
    """What is kept of one snapshot."""

    def __init__(self, kept: KeptRecordings | None, options: LoadOptions) -> None:
        self._kept = kept
        self._options = options
        self._key: str | None = None
        self._found = False

    def find(self, source: Source) -> Recording | None:
        """The recording of the snapshot, if there is one."""
        origin = _origin(source)
        if self._kept is None or not isinstance(origin, str | Path):
            return None
        self._key = key_of(origin, self._options._asdict())
        recording = None if self._key is None else self._kept.find(self._key)
        self._found = recording is not None
        return recording

    def keep(self, recording: Recording, step: Callable[[], object]) -> None:
        """Keep the recording of a snapshot, unless it was found."""
        if self._kept is not None and self._key is not None and not self._found:
            self._kept.keep(self._key, recording, step)


def _cycle(
    source: Source, teller: ProgressReporter, ask_extender: AskExtender | None, options: LoadOptions, bound: Bound
) -> Recording:
    from vcdebug.files.recordings import is_recording_file, open_recording
    from vcdebug.snapshot.load import load
    from vcdebug.trace.replay import replay

    origin = _origin(source)
    if isinstance(origin, Path) and is_recording_file(origin):
        return open_recording(origin)
    snapshot = load(origin, **options._asdict(), progress=teller.progress, notice=teller.notice)
    teller.begin(snapshot.name)
    return replay(snapshot, ask_extender=ask_extender, bound=bound)


class ProgressReporter:
    """Says how far the reading and the cycle are, now and then."""

    def __init__(self, post: Callable[[Message], object], stop: Stop) -> None:
        self.post = post
        self._stop = stop
        self._notice = ""
        self._said = ""
        self._at = -inf
        """When something was said last."""
        self._replayed = ""
        self._estimate = Estimate(monotonic)

    def begin(self, name: str) -> None:
        """Everything is read: the cycle begins."""
        self._replayed = name
        self._say(f"replaying {name}")

    def replaying(self, words: str, done: int, total: int) -> None:
        """How far the cycle is, and how long its present action still takes."""
        said = self._estimate.beside(words, done, total)
        if self._is_time():
            self._say(f"replaying {self._replayed}: {said}")

    def notice(self, text: str) -> None:
        """A file takes long: said beside the progress from here on, at once the first time."""
        self._notice, self._at = text, -inf

    def progress(self, done: int, total: int, name: str) -> bool:
        """The progress callback of `load`: False asks it to stop."""
        of = f" {percent(done, total)}" if total else ""
        text = self._notice + of if self._notice else f"reading {Path(name).name}{of}"
        left = self._estimate.left(name, done, total)
        if text != self._said and self._is_time():
            self._said = text
            self._say(text + left)
        return not self._stop.asked

    def _is_time(self) -> bool:
        return monotonic() - self._at >= OFTEN

    def _say(self, text: str) -> None:
        self._at = monotonic()
        self.post(Progress(text))


def work(task: Callable[[], Reply], ticket: int = 0) -> Message:
    """Do a command's long work, such as another cycle; called in a thread of its own."""
    return attempt(lambda: WorkDone(task(), "", ticket), lambda line: WorkDone(None, line, ticket))


def attempt(task: Callable[[], Message], failed: Callable[[str], Message]) -> Message:
    """What the task answers, or the message of its failure in one line."""
    try:
        return task()
    except VcdebugError as error:
        return failed(error.line())
    except Exception as error:  # noqa: BLE001 - boundary: whatever a replay raises is one line on the screen
        return failed(f"the replay failed: {type(error).__name__}: {error}")


def _begin(recording: Recording, *, after: bool) -> None:
    """Build what the first picture shows, and let the garbage collector leave the recording alone.

    It would find nothing in it, and keep the keys waiting for seconds each time that it looked. After another snapshot
    it has to look, rarely enough, or that one would never go.
    """
    _ = recording.timeline, recording.tree, marks(recording)
    if after:
        look_again()
    else:
        leave_alone()


def _origin(source: Source) -> str | Path | BinaryIO:
    """A path that exists, or the folder of a bundled snapshot."""
    from vcdebug.snapshot.bundled import place_of

    return place_of(source) if isinstance(source, str) else source
