"""Running a cycle on a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache, partial
from typing import Final, SupportsIndex

from vcdebug import plugins
from vcdebug.actions import ACTIONS, LATER_ACTIONS, OTHER_FORMS
from vcdebug.amount_text import count_noun
from vcdebug.errors import PANICS, VcdebugError
from vcdebug.framework.conf import SchedulerConf, read_conf
from vcdebug.framework.cycle import open_plugins, read_cluster, run_cycle, run_session
from vcdebug.framework.record import ActionEvent, Event, PopEvent, Record
from vcdebug.framework.registry import Registry, registry_for
from vcdebug.framework.replay_options import AskExtender, RecordFullError, SizeBound
from vcdebug.framework.session import Session
from vcdebug.framework.topology import open_topology
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
    beside: Recording | None = None,
) -> Recording:
    """Execute one cycle; a clock (seconds) is only used to time its stages, the extender's webhook only where given.

    `beside` is a recording of nearly the same snapshot: what that cycle has read is not read again. The recording is
    the same with and without it. Beyond the bound the recording is cut off: `trace/cut.py` says where.
    """
    conf = parse_conf(snapshot.scheduler_conf, snapshot.release)
    stages = StageTimes(clock)
    with collector_paused(look=True):
        session = run_cycle(
            snapshot,
            conf,
            Record(bound or SizeBound()),
            plugins=plugins_of_release(snapshot.release),
            actions=actions_of_release(snapshot.release),
            tick=stages.end_stage,
            ask_extender=ask_extender,
            beside=None if beside is None else beside.session,
        )
    return Recording(snapshot, conf, session, stages.seconds)


def open_session(snapshot: Snapshot, conf: SchedulerConf) -> Session:
    """The session with its plugins opened, without running the cycle."""
    plugins = plugins_of_release(snapshot.release)
    session = Session(read_cluster(snapshot, conf, plugins), conf, Record())
    try:
        open_topology(session)
        open_plugins(session, plugins)
    except PANICS:
        pass
    return session


class StageTimes:
    """Seconds per stage; an action that runs twice adds up."""

    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock
        self._last = clock() if clock else 0.0
        self._start = self._last
        self.seconds: dict[str, float] = {}

    def end_stage(self, stage: str) -> None:
        """A stage ends now."""
        if self._clock is None:
            return
        now = self._clock()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + (now - self._last)
        self.seconds["cycle"] = now - self._start
        self._last = now


# The configuration in force under a release: which actions there are to be named.


@lru_cache(maxsize=64)
def parse_conf(text: str | None, release: Release = NEWEST) -> SchedulerConf:
    """The configuration in force: the text's, or the built-in one (with a Problem) where the release rejects it.

    What-ifs, draws and cycles that follow each other replay under the same few texts; nobody alters what came of one.
    """
    return read_conf(text, actions_of_release(release), skips=release.has_older_form(UNKNOWN_ACTION_SKIPPED))


def actions_of_release(release: Release) -> Registry:
    """Those that a release has, in its form."""
    return registry_for(release, ACTIONS, OTHER_FORMS, LATER_ACTIONS)


def plugins_of_release(release: Release) -> Registry:
    """The same of plugins."""
    return registry_for(release, plugins.PLUGINS, plugins.OTHER_FORMS, plugins.LATER_PLUGINS)


# The session as it stood at an event: the cycle runs again up to there, so that plugins can be asked once more.

KEPT_SESSIONS = 3
"""Moments that are kept: each holds a session of its own."""
CANCEL_CHECK_INTERVAL: Final = 1_000
"""Events between two questions whether somebody still waits."""
UNNOTICED_SIZE: Final = 2_000
"""Nodes, pods and events up to which a run is over before anybody notices it."""
ShouldContinue = Callable[[Seq, Seq], bool]
"""Whether somebody still waits for a run that is at one event and ends at another."""
EventObserver = Callable[[Session, Seq, Event], None]
"""What is done at an event: the plugins have answered it, and it is about to be recorded."""


class EventReachedError(RecordFullError):
    """The run has come to where one wanted to look."""


class _ObservedEvents(list[Event]):
    """The events of a run that somebody looks at."""

    def __init__(self, look: Callable[[Seq, Event], None]) -> None:
        super().__init__()
        self._look = look
        self._over = False

    def append(self, event: Event, /) -> None:
        if self._over:
            return
        try:
            self._look(len(self) + 1, event)
        except EventReachedError:
            self._over = True
            raise
        super().append(event)

    def __delitem__(self, key: SupportsIndex | slice, /) -> None:
        raise TypeError("events are never taken back")


def observe_rerun(recording: Recording, look: EventObserver) -> None:
    """Run the recording's cycle again and look at each event; to end it, the look raises MomentReachedError."""
    record = Record()
    plugins = plugins_of_release(recording.snapshot.release)
    cluster = read_cluster(recording.snapshot, recording.conf, plugins, recording.session)
    session = Session(cluster, recording.conf, record, beside=recording.session)
    record.events = _ObservedEvents(lambda seq, event: look(session, seq, event))
    with collector_paused():
        run_session(
            session, plugins=plugins, actions=actions_of_release(recording.snapshot.release), beside=recording.session
        )


class RerunCancelledError(VcdebugError):
    """Nobody waits for the run that an answer takes."""

    def __init__(self, seq: Seq) -> None:
        super().__init__(f"the cycle has to run again up to event {seq}")
        self.seq = seq


def _never_cancel(_: Seq, __: Seq) -> bool:
    return True


_SHOULD_CONTINUE: ContextVar[ShouldContinue] = ContextVar("going", default=_never_cancel)


@contextmanager
def cancellable(going: ShouldContinue) -> Iterator[None]:
    """Runs that take long end when nobody waits for them any more, with NotReachedError."""
    before = _SHOULD_CONTINUE.set(going)
    try:
        yield
    finally:
        _SHOULD_CONTINUE.reset(before)


@contextmanager
def refuse_long_runs() -> Iterator[None]:
    """What takes long raises NotReachedError at once."""
    with cancellable(lambda _, __: False):
        yield


def session_at_event(recording: Recording, seq: Seq) -> Session | None:
    """The session that an event was found in: what it changed has happened; None where a webhook had a say in it."""
    if recording.session.ask_extender is not None:
        return None
    kept = _kept_sessions(recording)
    session = kept.pop(seq, None) or _run_up_to(recording, seq)
    kept[seq] = session
    for oldest in list(kept)[:-KEPT_SESSIONS]:
        kept.pop(oldest, None)
    return session


@per_recording()
def _kept_sessions(recording: Recording) -> dict[Seq, Session]:
    """The moments that are kept, the one asked for last at the end."""
    return {}


def _run_up_to(recording: Recording, seq: Seq) -> Session:
    going = _SHOULD_CONTINUE.get() if _takes_long(recording, seq) else _never_cancel
    if not going(0, seq):
        raise RerunCancelledError(seq)
    found: list[Session] = []
    observe_rerun(recording, partial(_stop_at, found, seq, going))
    if not found:
        raise RerunCancelledError(seq)
    return found[0]


def _stop_at(found: list[Session], until: Seq, going: ShouldContinue, session: Session, at: Seq, _: Event) -> None:
    if at == until:
        session.record.silent = 1
        found.append(session)
        raise EventReachedError("the moment is reached")
    if not at % CANCEL_CHECK_INTERVAL and not going(at, until):  # exact: ints
        raise EventReachedError("nobody waits for it")


def _takes_long(recording: Recording, seq: Seq) -> bool:
    """Whether anybody would notice the run."""
    return len(recording.session.nodes) + len(recording.timeline.tasks) + seq > UNNOTICED_SIZE


# How far a cycle is while it runs, from what it has recorded: the action, its jobs, the events.

EVENTS_PER_REPORT: Final = 1_000
"""Events between two words about it."""


ReportProgress = Callable[[str, int, int], object]
"""How far the cycle is in words; jobs of the present action that had their turn, and all of them as far as is known."""


class ProgressBound(SizeBound):
    """A bound that also says how far the cycle is, wherever it looks at the record."""

    __slots__ = ("_action", "_jobs", "_left", "_queue", "_seen", "_tell")

    def __init__(self, tell: ReportProgress, *limits: int) -> None:
        super().__init__(*limits)
        self._tell = tell
        self._action = self._queue = ""
        self._jobs = self._seen = 0
        self._left: dict[str, int] = {}
        """Jobs of each queue that still wait for their turn, as of the last one that had it."""
        self.next_look = min(self.next_look, EVENTS_PER_REPORT)

    def check_size(self, events: Sequence[object]) -> None:
        """Say it, then weigh the record as usual."""
        for event in events[self._seen :]:
            if isinstance(event, ActionEvent) and event.what == "start":
                self._action, self._queue, self._jobs, self._left = event.action, "", 0, {}
            elif isinstance(event, PopEvent) and event.kind == "queue":
                self._queue = event.name
            elif isinstance(event, PopEvent) and event.kind == "job":
                self._jobs += 1
                self._left[self._queue] = event.left
        self._seen = len(events)
        self._tell(self._format_progress(), self._jobs, self._known_jobs())
        super().check_size(events)
        self.next_look = min(self.next_look, self._seen + EVENTS_PER_REPORT)

    def _known_jobs(self) -> int:
        """Jobs that had their turn, and those that wait for it in queues that had one."""
        return self._jobs + sum(self._left.values())

    def _format_progress(self) -> str:
        """`allocate, job 45 of about 120, 12 345 events`; what is left of queues without a turn is not known yet."""
        events = count_noun(self._seen, "event")
        return f"{self._action}, job {self._jobs} of about {self._known_jobs()}, {events}" if self._jobs else events
