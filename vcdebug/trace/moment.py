"""The session as it stood at an event: the cycle runs again up to there, so that plugins can be asked once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Final, SupportsIndex

from vcdebug.collector import collector_paused
from vcdebug.errors import VcdebugError
from vcdebug.framework.bound import RecordFullError
from vcdebug.framework.cycle import run_session
from vcdebug.framework.record import Event, Record
from vcdebug.framework.session import Session, read_cluster
from vcdebug.model.names import Seq
from vcdebug.trace.conf import actions_of_release, plugins_of_release
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

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
