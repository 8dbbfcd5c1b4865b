"""The session as it stood at an event: the cycle runs again up to there, so that plugins can be asked once more."""

from __future__ import annotations

from collections.abc import Callable
from typing import SupportsIndex

from vcdebug.actions import ACTIONS
from vcdebug.collector import collector_paused
from vcdebug.framework.bound import RecordFullError
from vcdebug.framework.cycle import run_session
from vcdebug.framework.record import Event, Record
from vcdebug.framework.registry import registry_of
from vcdebug.framework.session import Session
from vcdebug.model.names import Seq
from vcdebug.plugins import OTHER_FORMS, PLUGINS
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording

KEPT = 3
"""Moments that are kept: each holds a session of its own."""
Look = Callable[[Session, Seq, Event], None]
"""What is done at an event: the plugins have answered it, and it is about to be recorded."""


class MomentReachedError(RecordFullError):
    """The run has come to where one wanted to look."""


class _Events(list[Event]):
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
        except MomentReachedError:
            self._over = True
            raise
        super().append(event)

    def __delitem__(self, key: SupportsIndex | slice, /) -> None:
        raise TypeError("events are never taken back")


def look_on(recording: Recording, look: Look) -> None:
    """Run the recording's cycle again and look at each event; to end it, the look raises MomentReachedError."""
    record = Record()
    session = Session(recording.snapshot, recording.conf, record, beside=recording.session)
    record.events = _Events(lambda seq, event: look(session, seq, event))
    plugins = registry_of(recording.snapshot.release, PLUGINS, OTHER_FORMS)
    with collector_paused():
        run_session(session, plugins=plugins, actions=ACTIONS, beside=recording.session)


@per_recording(KEPT)
def session_at(recording: Recording, seq: Seq) -> Session | None:
    """The session that an event was found in: what it changed has happened; None where a webhook had a say in it."""
    if recording.session.ask_extender is not None:
        return None
    found: list[Session] = []
    look_on(recording, lambda session, at, _event: _stop(found, session) if at == seq else None)
    return found[0] if found else None


def _stop(found: list[Session], session: Session) -> None:
    session.record.silent = 1
    found.append(session)
    raise MomentReachedError("the moment is reached")
