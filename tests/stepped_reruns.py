"""One run of a cycle that stops at one event after another, for tests that ask about many events of a recording."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Semaphore, Thread
from unittest.mock import patch

from vcdebug.framework.record import Event
from vcdebug.framework.session import Session
from vcdebug.model.names import Seq
from vcdebug.recording import replay
from vcdebug.recording.recording import Recording


@contextmanager
def stepped_reruns(recording: Recording) -> Iterator[None]:
    """In the block a later event is reached from the one asked about before, instead of from the beginning.

    Every question must leave the session as it was: an answer about a later event would be wrong otherwise.
    """
    run = _SteppedRun(recording)
    whole = replay._run_up_to

    def run_up_to(asked: Recording, seq: Seq) -> Session:
        nonlocal run
        if asked is not recording:
            return whole(asked, seq)
        replay._cached_sessions(recording).clear()  # it is the session that goes on
        if seq <= run.seq:
            run.end()
            run = _SteppedRun(recording)
        return run.go_to(seq) or whole(asked, seq)

    with patch.object(replay, "_run_up_to", run_up_to):
        try:
            yield
        finally:
            run.end()
            replay._cached_sessions(recording).clear()


class _SteppedRun:
    """A run in a thread of its own, which waits while the session at an event is looked at."""

    def __init__(self, recording: Recording) -> None:
        self.seq: Seq = 0
        """The event to reach; 0 before the first one, and from `end` on."""
        self._session: Session | None = None
        self._asked, self._reached = Semaphore(0), Semaphore(0)
        self._thread = Thread(target=self._run, args=(recording,), daemon=True)

    def go_to(self, seq: Seq) -> Session | None:
        """The session at a later event; None if the run ends before it."""
        if not self.seq:
            self._thread.start()
        self.seq = seq
        self._asked.release()
        self._reached.acquire()
        return self._session

    def end(self) -> None:
        """End the run where it is."""
        self.seq = 0
        self._asked.release()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self, recording: Recording) -> None:
        self._asked.acquire()
        try:
            replay.observe_rerun(recording, self._look)
        finally:
            self._session = None
            self._reached.release()

    def _look(self, session: Session, seq: Seq, _: Event) -> None:
        if seq != self.seq:
            return
        before = session.record.running_call_count
        session.record.running_call_count = 1
        self._session = session
        self._reached.release()
        self._asked.acquire()
        session.record.running_call_count = before
        if not self.seq:
            raise replay.EventReachedError("its result is no longer needed")
