"""Times at which something changes without anybody doing anything: windows, promises, deletions, ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from vcdebug.debugger.between.actors import BetweenCycles, is_running
from vcdebug.debugger.between.pods import pods_in_broken_gangs
from vcdebug.gotime import ClockError, clock_minutes, clock_time, parse_time
from vcdebug.model.pod import Pod
from vcdebug.plugins.cdp import Cdp, Cooldown
from vcdebug.plugins.rescheduling import Rescheduling
from vcdebug.plugins.sla import Sla
from vcdebug.plugins.tdm import Tdm
from vcdebug.snapshot.manifest import metadata_of
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording

_ONE_SECOND: Final = timedelta(seconds=1)
_DAY: Final = timedelta(days=1)
_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class TimedChange(NamedTuple):
    """A time, and words for what changes then where no pod shows it."""

    at: datetime
    words: str = ""
    again: bool = False
    """Whether it comes again and again."""


def next_change_time(
    recording: Recording, after: Snapshot, between: BetweenCycles, quiet_since: datetime
) -> datetime | None:
    """The first time after a cycle at which anything may change; None where nothing will any more.

    What comes again and again is waited for once.
    """
    now = recording.snapshot.now
    clock = [*iter_clock_changes(recording), *_iter_periodic_changes(recording, quiet_since)]
    coming = [*_iter_deletion_times(after, between), *_iter_end_times(recording, after, between)]
    coming += [change.at for change in clock if not change.again or change.at <= quiet_since + _DAY]
    return min((max(at, now + _ONE_SECOND) for at in coming if at > now), default=None)


def iter_clock_changes(recording: Recording) -> Iterator[TimedChange]:
    """What plugins wait for, from the last cycle on."""
    plugins, now = recording.session.plugins, recording.snapshot.now
    sla, tdm, cdp = plugins.get(Sla.name), plugins.get(Tdm.name), plugins.get(Cdp.name)
    if isinstance(sla, Sla):
        yield from _iter_sla_deadlines(recording, sla)
    if isinstance(tdm, Tdm):
        yield from (change for change in _iter_window_changes(tdm, now) if change.at > now)
    if isinstance(cdp, Cdp):
        for pod in map(Pod, recording.snapshot.objects_of("Pod")):
            cooldown = Cooldown.of_pod(pod)
            if cooldown.time_left(cdp.now):
                yield TimedChange(
                    _time_of(cdp.now + cooldown.time_left(cdp.now)), f"{pod.key} is protected no more (cdp)"
                )


def _iter_deletion_times(after: Snapshot, between: BetweenCycles) -> Iterator[datetime]:
    for pod in map(Pod, after.objects_of("Pod")):
        gone = parse_time(metadata_of(pod.manifest).get("deletionTimestamp"))
        if gone is not None and pod.key not in between.stuck:
            yield gone


def _iter_end_times(recording: Recording, after: Snapshot, between: BetweenCycles) -> Iterator[datetime]:
    if between.run_times is None:
        return
    broken = dict.fromkeys(pods_in_broken_gangs(recording))
    for pod in map(Pod, after.objects_of("Pod")):
        end = (
            between.run_times.end_time(pod)
            if is_running(pod) and pod.key not in broken and pod.key not in between.stuck
            else None
        )
        if end is not None:
            yield end


def _iter_sla_deadlines(recording: Recording, sla: Sla) -> Iterator[TimedChange]:
    for job in recording.session.jobs.values():
        deadline = sla.job_deadline(job)
        if deadline is not None and deadline > sla.now and job.has_pending_tasks():
            yield TimedChange(_time_of(deadline), f"{job.uid} has waited as long as sla lets it")


def _iter_window_changes(tdm: Tdm, now: datetime) -> Iterator[TimedChange]:
    """Where windows open and shut, today and tomorrow."""
    for zone, window in tdm.windows.items():
        ends = window.strip().split("-")
        try:
            opens, shuts = (clock_minutes(end) for end in ends)
        except (ClockError, ValueError):
            continue
        for day in range(2):
            yield TimedChange(
                clock_time(now, opens, days=day), f"the window of zone {zone} opens ({window})", again=True
            )
            shut = clock_time(now, shuts, days=day) + _ONE_SECOND
            yield TimedChange(shut, f"the window of zone {zone} shuts ({window})", again=True)
    if tdm.windows:
        yield TimedChange(clock_time(now, 0, days=1), "a new day begins", again=True)


def _iter_periodic_changes(recording: Recording, quiet_since: datetime) -> Iterator[TimedChange]:
    """When tdm and rescheduling, which look for victims now and then, look again."""
    rescheduling, last_run = (
        recording.session.plugins.get(Rescheduling.name),
        recording.session.process.last_rescheduling,
    )
    looked = last_run is not None and last_run >= quiet_since
    if isinstance(rescheduling, Rescheduling) and not looked and (due := rescheduling.next_run) is not None:
        yield TimedChange(due, again=True)
    tdm = recording.session.plugins.get(Tdm.name)
    if isinstance(tdm, Tdm) and any(tdm.zones.zone_error(zone) and tdm.evictable_in(zone) for zone in tdm.windows):
        last = recording.session.process.last_eviction or recording.snapshot.now
        yield TimedChange(last + timedelta(microseconds=tdm.evict_period // 1000), again=True)  # exact: ints


def _time_of(nanoseconds: int) -> datetime:
    """Not before it: a fraction of a microsecond counts as a whole one."""
    return _EPOCH + timedelta(microseconds=-(-nanoseconds // 1000))  # exact: ints
