"""Runs a cycle on a snapshot, and again up to an event."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Final, SupportsIndex

from vcdebug import plugins
from vcdebug.actions import ACTIONS, LATER_ACTIONS, OTHER_FORMS
from vcdebug.amount_text import count_noun
from vcdebug.errors import VcdebugError
from vcdebug.framework.conf import SchedulerConf, read_conf
from vcdebug.framework.cycle import read_cluster, run_cycle, run_session
from vcdebug.framework.record import ActionEvent, Event, LogPoint, PopEvent, Record
from vcdebug.framework.registry import Registry, registry_for
from vcdebug.framework.replay_options import AskExtender, RecordFullError, SizeBound
from vcdebug.framework.session import Session
from vcdebug.garbage_collection import collector_paused
from vcdebug.model.names import Seq
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.releases.release import NEWEST, Release
from vcdebug.releases.scheduling import UNKNOWN_ACTION_SKIPPED
from vcdebug.snapshot.snapshot import Snapshot

Clock = Callable[[], float]


def replay_cycle(
    snapshot: Snapshot,
    *,
    clock: Clock | None = None,
    ask_extender: AskExtender | None = None,
    bound: SizeBound | None = None,
    reuse_from: Recording | None = None,
    keeps_comparisons: bool = False,
) -> Recording:
    """Execute one cycle and return its recording; beyond `bound` it is cut off (`cut_off_error`).

    `clock` (seconds) only times the stages. `ask_extender` calls the extender's webhook. `reuse_from` is a
    recording of nearly the same snapshot, whose results are reused; the new recording is the same without it.
    `keeps_comparisons` keeps the log lines of plugins' comparisons, which may be millions.
    """
    conf = parse_conf(snapshot.scheduler_conf, snapshot.release)
    stages = StageTimes(clock)
    with collector_paused(look=True):
        session = run_cycle(
            snapshot,
            conf,
            # With a webhook the comparisons are kept at once: in a second run it may answer otherwise.
            Record(bound or SizeBound(), keeps_comparisons=keeps_comparisons or ask_extender is not None),
            plugins=plugins_of_release(snapshot.release),
            actions=actions_of_release(snapshot.release),
            tick=stages.end_stage,
            ask_extender=ask_extender,
            reuse_from=None if reuse_from is None else reuse_from.session,
        )
    return Recording(snapshot, conf, session, stages.seconds)


class StageTimes:
    """Seconds per stage; an action that runs twice adds up."""

    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock
        self._last_time = clock() if clock else 0.0
        self._start = self._last_time
        self.seconds: dict[str, float] = {}

    def end_stage(self, stage: str) -> None:
        """Add the time since the last call to a stage."""
        if self._clock is None:
            return
        now = self._clock()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + (now - self._last_time)
        self.seconds["cycle"] = now - self._start
        self._last_time = now


@lru_cache(maxsize=64)
def parse_conf(text: str | None, release: Release = NEWEST) -> SchedulerConf:
    """The configuration in force: the text's, or the built-in one (with a Problem) where the release rejects it."""
    # Cached: what-ifs, draws and following cycles replay under the same few texts, and a parsed one is never changed.
    return read_conf(text, actions_of_release(release), skips=release.has_older_form(UNKNOWN_ACTION_SKIPPED))


def actions_of_release(release: Release) -> Registry:
    """The actions of a release, each in its form."""
    return registry_for(release, ACTIONS, OTHER_FORMS, LATER_ACTIONS)


def plugins_of_release(release: Release) -> Registry:
    """The plugins of a release, each in its form."""
    return registry_for(release, plugins.PLUGINS, plugins.OTHER_FORMS, plugins.LATER_PLUGINS)


# The session at an event: the cycle is replayed up to the event, so that plugins can be called again.

MAX_CACHED_SESSIONS = 3
"""How many sessions at an event are cached."""
CANCEL_CHECK_INTERVAL: Final = 1_000
"""Events between two checks for cancellation."""
UNNOTICED_SIZE: Final = 2_000
"""Sum of nodes, pods and events up to which a run is too short to be cancelled."""
LONG_WORK_SIZE: Final = 20_000
"""Sum of events and pods of the largest recording that is not large."""
ShouldContinue = Callable[[Seq, Seq], bool]
"""(event reached, event to reach) → whether the run goes on."""
EventObserver = Callable[[Session, Seq, Event], None]
"""Called with an event before it is recorded, after the plugins have answered."""


class EventReachedError(RecordFullError):
    """Raised by an observer to end the run."""


class _ObservedEvents(list[Event]):
    """The events of a run, shown to an observer one by one."""

    def __init__(self, look: Callable[[Seq, Event], None]) -> None:
        super().__init__()
        self._observe = look
        self._is_over = False

    def append(self, event: Event, /) -> None:
        if self._is_over:
            return
        try:
            self._observe(len(self) + 1, event)
        except EventReachedError:
            self._is_over = True
            raise
        super().append(event)

    def __delitem__(self, key: SupportsIndex | slice, /) -> None:
        raise TypeError("events are never removed")


def observe_rerun(recording: Recording, look: EventObserver) -> None:
    """Run the recording's cycle again and call `look` with each event; it raises EventReachedError to end the run."""
    record = Record()
    plugins = plugins_of_release(recording.snapshot.release)
    cluster = read_cluster(recording.snapshot, recording.conf, plugins, recording.session)
    session = Session(cluster, recording.conf, record, reuse_from=recording.session)
    record.events = _ObservedEvents(lambda seq, event: look(session, seq, event))
    # The event of a panic is recorded after the cycle, where nothing else catches the end of the run.
    with collector_paused(), suppress(EventReachedError):
        actions = actions_of_release(recording.snapshot.release)
        run_session(session, plugins=plugins, actions=actions, reuse_from=recording.session)


class RerunCancelledError(VcdebugError):
    """Raised if an answer needs a run up to the event `seq`, or other long work, that was cancelled."""

    def __init__(self, seq: Seq = 0, work: str = "") -> None:
        """`work`: the work in words, such as "explaining every Pending job"."""
        self.work = work or f"running the cycle again up to event {seq}"
        super().__init__(f"cancelled: {self.work}")


def _never_cancel(_: Seq, __: Seq) -> bool:
    return True


_SHOULD_CONTINUE: ContextVar[ShouldContinue] = ContextVar("should_continue", default=_never_cancel)


@contextmanager
def cancellable(should_continue: ShouldContinue) -> Iterator[None]:
    """In the block, long runs end with RerunCancelledError once `should_continue` returns False."""
    before = _SHOULD_CONTINUE.set(should_continue)
    try:
        yield
    finally:
        _SHOULD_CONTINUE.reset(before)


@contextmanager
def refuse_long_runs() -> Iterator[None]:
    """In the block, long runs raise RerunCancelledError at once."""
    with cancellable(lambda _, __: False):
        yield


def is_large(recording: Recording) -> bool:
    """Whether work on all events and pods keeps a key waiting."""
    return recording.size > LONG_WORK_SIZE


def announce_long_work(recording: Recording, work: str) -> None:
    """Raise RerunCancelledError if long runs are refused or cancelled and the recording is large."""
    if is_large(recording) and not _SHOULD_CONTINUE.get()(0, 0):
        raise RerunCancelledError(work=work)


def session_at_event(recording: Recording, seq: Seq) -> Session | None:
    """The session after an event; None if a webhook was called, because it may answer differently now."""
    if recording.session.ask_extender is not None:
        return None
    sessions = _cached_sessions(recording)
    session = sessions.pop(seq, None) or _run_up_to(recording, seq)
    sessions[seq] = session
    for oldest in list(sessions)[:-MAX_CACHED_SESSIONS]:
        sessions.pop(oldest, None)
    return session


@per_recording()
def lines_with_comparisons(recording: Recording) -> Sequence[LogPoint]:
    """The engine's log lines with those of plugins' comparisons, from a second run of the whole cycle.

    If a webhook was called, only the recorded lines, without a second run. Raises RerunCancelledError.
    """
    if recording.session.ask_extender is not None:
        return recording.record.lines
    last = len(recording)
    _begin_run(recording, last)
    # A recording that was cut off ends there the second time, too.
    record = replay_cycle(recording.snapshot, bound=SizeBound(last + 1), keeps_comparisons=True).record
    return record.lines if len(record.events) == last else [line for line in record.lines if line.seq <= last]


@per_recording()
def _cached_sessions(recording: Recording) -> dict[Seq, Session]:
    """Cached sessions by event, the last used one at the end."""
    return {}


def _run_up_to(recording: Recording, seq: Seq) -> Session:
    sessions: list[Session] = []
    observe_rerun(recording, partial(_stop_at, sessions, seq, _begin_run(recording, seq)))
    if not sessions:
        raise RerunCancelledError(seq)
    return sessions[0]


def _stop_at(found: list[Session], until: Seq, going: ShouldContinue, session: Session, seq: Seq, _: Event) -> None:
    if seq == until:
        session.record.running_call_count = 1
        found.append(session)
        raise EventReachedError("the event is reached")
    if not seq % CANCEL_CHECK_INTERVAL and not going(seq, until):  # exact: ints
        raise EventReachedError("its result is no longer needed")


def _begin_run(recording: Recording, seq: Seq) -> ShouldContinue:
    """Whether a run up to an event goes on, asked if it takes long; raises RerunCancelledError if it may not begin."""
    size = len(recording.session.nodes) + len(recording.timeline.tasks) + seq
    should_continue = _SHOULD_CONTINUE.get() if size > UNNOTICED_SIZE else _never_cancel
    if not should_continue(0, seq):
        raise RerunCancelledError(seq)
    return should_continue


# Progress of a running cycle, read from its record.

EVENTS_PER_REPORT: Final = 1_000
"""Events between two reports."""

ReportProgress = Callable[[str, int, int], object]
"""Called with the progress in words, the number of the action's jobs that had their turn, and of all its known jobs."""


class ProgressBound(SizeBound):
    """A bound that also reports progress whenever it measures the record."""

    __slots__ = ("_action", "_jobs", "_jobs_left", "_queue", "_event_count", "_report")

    def __init__(self, report: ReportProgress, *limits: int) -> None:
        super().__init__(*limits)
        self._report = report
        self._action = self._queue = ""
        self._jobs = self._event_count = 0
        self._jobs_left: dict[str, int] = {}
        """Queue → number of jobs left in it at its last pop."""
        self.next_look = min(self.next_look, EVENTS_PER_REPORT)

    def check_size(self, events: Sequence[object]) -> None:
        """Report progress, then measure the record."""
        for event in events[self._event_count :]:
            if isinstance(event, ActionEvent) and event.what == "start":
                self._action, self._queue, self._jobs, self._jobs_left = event.action, "", 0, {}
            elif isinstance(event, PopEvent) and event.kind == "queue":
                self._queue = event.name
            elif isinstance(event, PopEvent) and event.kind == "job":
                self._jobs += 1
                self._jobs_left[self._queue] = event.left
        self._event_count = len(events)
        self._report(self._format_progress(), self._jobs, self._known_jobs())
        super().check_size(events)
        self.next_look = min(self.next_look, self._event_count + EVENTS_PER_REPORT)

    def _known_jobs(self) -> int:
        """Number of jobs that had their turn or are left in a queue that had one."""
        return self._jobs + sum(self._jobs_left.values())

    def _format_progress(self) -> str:
        """`allocate, job 45 of about 120, 12 345 events`; what is left of queues without a turn is not known yet."""
        events = count_noun(self._event_count, "event")
        return f"{self._action}, job {self._jobs} of about {self._known_jobs()}, {events}" if self._jobs else events
