"""Running a cycle on a snapshot."""

from __future__ import annotations

from collections.abc import Callable

from vcdebug.collector import collector_paused
from vcdebug.framework.bound import SizeBound
from vcdebug.framework.conf import SchedulerConf
from vcdebug.framework.cycle import open_plugins, run_cycle
from vcdebug.framework.record import Record
from vcdebug.framework.session import Session, read_cluster
from vcdebug.framework.topology import open_topology
from vcdebug.framework.webhook import AskExtender
from vcdebug.model.panics import PANICS
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.conf import actions_of_release, parse_conf, plugins_of_release
from vcdebug.trace.recording import Recording

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
