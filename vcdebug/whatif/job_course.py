"""The course of a job: replayed cycles from change to change, until the job is placed or nothing can change."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import count_noun, join_names, verb_for
from vcdebug.explain.answer import Cause, Explanation
from vcdebug.explain.job_view import ExplainSubject
from vcdebug.explain.pending.explanation import explain_subject
from vcdebug.gotime import ClockError, clock_minutes, clock_time, parse_time
from vcdebug.model.names import JobId, NodeName, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskStatus
from vcdebug.plugins.cdp import Cdp, Cooldown
from vcdebug.plugins.rescheduling import Rescheduling
from vcdebug.plugins.sla import Sla
from vcdebug.plugins.tdm import Tdm
from vcdebug.recording.effects import Effect, cycle_effects
from vcdebug.recording.recording import Recording, require_complete
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.manifest import metadata_of
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.cycles import state_counts, states_by_name
from vcdebug.whatif.next_cycle import ONE_SECOND, BetweenCycles, is_running, next_snapshot, pods_in_broken_gangs

ForecastOutcome = Literal["placed", "admitted", "never", "repeats", "panic", "unknown"]
"""`unknown`: undecided within the cycles that were run."""
MAX_CYCLES: Final = 60
QUIET_CYCLES: Final = 2
"""Unchanged cycles in a row, after which only the clock can change anything."""
STATUSES_WITH_NODE: Final = (TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING, TaskStatus.SUCCEEDED)


class ForecastCycle(Struct, frozen=True):
    """One cycle of a course."""

    cycle: int
    elapsed: timedelta
    """The time since the first cycle."""
    changes_before: tuple[str, ...]
    """Changes since the previous cycle, in words."""
    other_effects: tuple[str, ...]
    """Evictions and placements of other jobs in the cycle, in words."""
    evicted: tuple[TaskKey, ...]
    explanation: Explanation


class CycleLoop(Struct, frozen=True):
    """A range of cycles that repeats; `first` to `last` is one repetition."""

    first: int
    last: int
    evicted: tuple[TaskKey, ...]


class JobCourse:
    """Runs the cycles of a forecast for one job; the results so far can be read at any time."""

    def __init__(self, first: Recording, subject: ExplainSubject, between: BetweenCycles) -> None:
        self.recording = first
        """The last cycle."""
        self.stages: list[ForecastCycle] = []
        self.outcome: ForecastOutcome = "unknown"
        self.loop: CycleLoop | None = None
        self._subject = subject
        self._between_cycles = between
        self._start = first.snapshot.now
        self._whole_gang = _is_gang_ready(first, subject)
        self._quiet = 0
        self._quiet_since = self._start
        self._cycle_by_state: dict[object, int] = {}
        """Starting state → its cycle, since the last loop."""
        self._all_states: dict[object, None] = {}
        """Every starting state so far."""

    def run_cycles(self, max_cycles: int = MAX_CYCLES) -> Iterator[ForecastCycle]:
        """Yield each cycle when it ends, until the outcome is known or `max_cycles` cycles have run."""
        changes: tuple[str, ...] = ()
        while True:
            stage = self._describe_cycle(changes)
            self.stages.append(stage)
            yield stage
            self.outcome = self._judge_cycle(stage)
            if self.outcome != "unknown" or len(self.stages) >= max_cycles:
                return
            next_recording = self._next_recording()
            if next_recording is None:
                self.outcome = "repeats" if self.loop is not None else "never"
                return
            changes = tuple(describe_changes(self.recording, next_recording.snapshot))
            self.recording = next_recording

    @property
    def final_nodes(self) -> list[NodeName]:
        """The nodes of the job's pods, or of the named pod, after the last cycle."""
        job = self.recording.session.jobs.get(self._subject.job)
        tasks = [] if job is None else [t for t in job.tasks.values() if self._subject.pod in (None, t.key)]
        return list(dict.fromkeys(one.node_name for one in tasks if one.status in STATUSES_WITH_NODE and one.node_name))

    def _describe_cycle(self, changes: tuple[str, ...]) -> ForecastCycle:
        number = len(self.stages) + 1
        explanation = explain_subject(self.recording, self._subject)
        elapsed = self.recording.snapshot.now - self._start
        operations = tuple(describe_operations(self.recording, self._subject.job))
        evicted = tuple(effect.task for effect in cycle_effects(self.recording).evicted)
        return ForecastCycle(number, elapsed, changes, operations, evicted, explanation)

    def _judge_cycle(self, stage: ForecastCycle) -> ForecastOutcome:
        if stage.explanation.cause_code == Cause.PANIC:
            return "panic"
        if self._has_place():
            return "placed"
        return "admitted" if self._waits_for_its_pods(stage.explanation) else "unknown"

    def _has_place(self) -> bool:
        """Whether the pod has a node; without a pod, all pods of a gang that was ready at first, else its minimum."""
        job = self.recording.session.jobs.get(self._subject.job)
        if job is None:
            return False
        if self._subject.pod is not None:
            return any(one.status in STATUSES_WITH_NODE for one in job.tasks.values() if one.key == self._subject.pod)
        placed = job.count_tasks(*STATUSES_WITH_NODE)
        return placed >= (len(job.tasks) if self._whole_gang else job.min_available) and placed > 0

    def _waits_for_its_pods(self, explanation: Explanation) -> bool:
        """Whether the job is admitted and its controller has yet to create the pods."""
        pods = map(Pod, self.recording.snapshot.objects_of("Pod"))
        return explanation.cause_code == Cause.NOT_ENOUGH and not any(pod.job_id == self._subject.job for pod in pods)

    def _next_recording(self) -> Recording | None:
        """Replay the next cycle that can differ from this one; None if no later cycle can."""
        number = len(self.stages) + 1
        following = next_snapshot(self.recording, replace(self._between_cycles, interval=ONE_SECOND), number)
        # Timestamps are left out of the comparison: they differ every second in a cluster where nothing happens.
        changed = states_by_name(following) != states_by_name(self.recording.snapshot)
        self._detect_loop()
        self._quiet = 0 if changed else self._quiet + 1
        # One unchanged cycle is not enough: what a session writes at its close can act one cycle later.
        if self._quiet < QUIET_CYCLES and self.loop is None:
            return self._replay_next(ONE_SECOND)
        # Skips to the next change: replaying every second of an hour without changes would give 3,600 equal cycles.
        change_time = next_change_time(self.recording, following, self._between_outside_the_loop(), self._quiet_since)
        if change_time is None:
            return None
        self.loop = None
        return self._replay_next(change_time - self.recording.snapshot.now)

    def _replay_next(self, every: timedelta) -> Recording:
        snapshot = next_snapshot(self.recording, replace(self._between_cycles, interval=every), len(self.stages) + 1)
        return require_complete(
            replay_cycle(snapshot, ask_extender=self.recording.session.ask_extender, reuse_from=self.recording)
        )

    def _detect_loop(self) -> None:
        """Note a loop: this cycle starts like an earlier one, and pods were evicted in between."""
        # States are counted without names, since evicted pods may be recreated under other names.
        key = frozenset(state_counts(self.recording.snapshot).items())
        if key not in self._all_states:
            self._all_states[key], self._quiet_since = None, self.recording.snapshot.now
        earlier = self._cycle_by_state.get(key)
        number = len(self.stages)
        evicted = dict.fromkeys(task for stage in self.stages[(earlier or number) - 1 : -1] for task in stage.evicted)
        if earlier is not None and evicted:
            self.loop = CycleLoop(earlier, number - 1, tuple(evicted))
            self._cycle_by_state.clear()
        self._cycle_by_state.setdefault(key, number)

    def _between_outside_the_loop(self) -> BetweenCycles:
        """The interval in which pods that the loop evicts never finish."""
        if self.loop is None or self._between_cycles.run_times is None:
            return self._between_cycles
        return replace(self._between_cycles, stuck={**self._between_cycles.stuck, **dict.fromkeys(self.loop.evicted)})


def _is_gang_ready(recording: Recording, subject: ExplainSubject) -> bool:
    """Whether the gang has its minimum when the first cycle opens, so that the forecast is about all its pods."""
    job = recording.session.jobs.get(subject.job)
    opening = recording.timeline.opening_tasks
    if job is None:
        return False
    ready_before = [task for task in job.tasks.values() if opening[task.key].status in STATUSES_WITH_NODE]
    return len(ready_before) >= job.min_available


def describe_changes(recording: Recording, after: Snapshot) -> Iterator[str]:
    """Yields changes between cycles in words: pods that ended, left or were recreated, and time windows."""
    old_pods = {pod.key: pod for pod in map(Pod, recording.snapshot.objects_of("Pod"))}
    new_pods = {pod.key: pod for pod in map(Pod, after.objects_of("Pod"))}
    ended = [key for key, pod in new_pods.items() if pod.phase == "Succeeded" and old_pods[key].phase != "Succeeded"]
    removed = [key for key in old_pods if key not in new_pods]
    recreated = [key for key, pod in new_pods.items() if key in old_pods and pod.uid != old_pods[key].uid]
    again = f"terminated and {verb_for(len(recreated), 'was')} recreated"
    for keys, verb in ((ended, "ended"), (removed, "left"), (recreated, again)):
        if keys:
            yield f"{join_names(keys)} {verb}"
    for change in iter_clock_changes(recording):
        if change.text and recording.snapshot.now < change.due_at <= after.now:
            yield change.text


def describe_operations(recording: Recording, job: JobId) -> Iterator[str]:
    """Evictions, and placements of other jobs, in words."""
    effects = cycle_effects(recording)
    if effects.evicted:
        yield f"evicts {join_names(effect.task for effect in effects.evicted)}"
    for verb, placements in (("binds", effects.bound), ("reserves room for", effects.pipelined)):
        yield from _count_by_job(verb, [effect for effect in placements if effect.job != job])


def _count_by_job(verb: str, placements: list[Effect]) -> Iterator[str]:
    counts = Counter(effect.job for effect in placements)
    if counts:
        yield f"{verb} {join_names(count_noun(count, 'pod') + ' of ' + job for job, count in counts.items())}"


_DAY: Final = timedelta(days=1)
_EPOCH: Final = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


class TimedChange(Struct, frozen=True):
    """A time at which a plugin's rules may change, and what changes then in words."""

    due_at: datetime
    text: str = ""
    recurs: bool = False
    """Whether it recurs."""


def next_change_time(
    recording: Recording, after: Snapshot, between: BetweenCycles, quiet_since: datetime
) -> datetime | None:
    """The first time after a cycle at which anything may change; None if nothing can change any more.

    A recurring change counts only within a day after `quiet_since`.
    """
    now = recording.snapshot.now
    timed_changes = [*iter_clock_changes(recording), *_iter_periodic_changes(recording, quiet_since)]
    change_times = [*_iter_deletion_times(after, between), *_iter_end_times(recording, after, between)]
    change_times += [one.due_at for one in timed_changes if not one.recurs or one.due_at <= quiet_since + _DAY]
    return min((max(time, now + ONE_SECOND) for time in change_times if time > now), default=None)


def iter_clock_changes(recording: Recording) -> Iterator[TimedChange]:
    """Yields the times that plugins wait for: sla deadlines, tdm windows, cdp cooldowns."""
    plugins, now = recording.session.plugins, recording.snapshot.now
    sla, tdm, cdp = plugins.get(Sla.name), plugins.get(Tdm.name), plugins.get(Cdp.name)
    if isinstance(sla, Sla):
        for job in recording.session.jobs.values():
            deadline = sla.job_deadline(job)
            if deadline is not None and deadline > sla.now and job.has_pending_tasks():
                yield TimedChange(_time_of(deadline), f"{job.uid} reaches its sla waiting time")
    if isinstance(tdm, Tdm):
        yield from (change for change in _iter_window_changes(tdm, now) if change.due_at > now)
    if isinstance(cdp, Cdp):
        for pod in map(Pod, recording.snapshot.objects_of("Pod")):
            cooldown = Cooldown.of_pod(pod)
            if cooldown.time_left(cdp.now):
                yield TimedChange(_time_of(cdp.now + cooldown.time_left(cdp.now)), f"{pod.key}: cooldown ends (cdp)")


def _iter_deletion_times(after: Snapshot, between: BetweenCycles) -> Iterator[datetime]:
    for pod in map(Pod, after.objects_of("Pod")):
        deletion_time = parse_time(metadata_of(pod.manifest).get("deletionTimestamp"))
        if deletion_time is not None and pod.key not in between.stuck:
            yield deletion_time


def _iter_end_times(recording: Recording, after: Snapshot, between: BetweenCycles) -> Iterator[datetime]:
    if between.run_times is None:
        return
    staying = {**dict.fromkeys(pods_in_broken_gangs(recording)), **between.stuck}
    for pod in map(Pod, after.objects_of("Pod")):
        end = between.run_times.end_time(pod) if is_running(pod) and pod.key not in staying else None
        if end is not None:
            yield end


def _iter_window_changes(tdm: Tdm, now: datetime) -> Iterator[TimedChange]:
    """Yields the times at which windows of revocable zones open and close, today and tomorrow."""
    for zone, window in tdm.windows.items():
        bounds = window.strip().split("-")
        try:
            opening, closing = (clock_minutes(bound) for bound in bounds)
        except (ClockError, ValueError):
            continue
        for day in range(2):
            yield TimedChange(
                clock_time(now, opening, days=day), f"the window of zone {zone} opens ({window})", recurs=True
            )
            closing_time = clock_time(now, closing, days=day) + ONE_SECOND
            yield TimedChange(closing_time, f"revocable zone {zone} closes ({window})", recurs=True)
    if tdm.windows:
        yield TimedChange(clock_time(now, 0, days=1), "a new day begins", recurs=True)


def _iter_periodic_changes(recording: Recording, quiet_since: datetime) -> Iterator[TimedChange]:
    """Yields the next times at which rescheduling and tdm periodically select victims."""
    rescheduling = recording.session.plugins.get(Rescheduling.name)
    last_run = recording.session.process.last_rescheduling
    has_run = last_run is not None and last_run >= quiet_since
    if isinstance(rescheduling, Rescheduling) and not has_run and (due := rescheduling.next_run) is not None:
        yield TimedChange(due, recurs=True)
    tdm = recording.session.plugins.get(Tdm.name)
    if isinstance(tdm, Tdm) and any(tdm.zones.zone_error(zone) and tdm.evictable_in(zone) for zone in tdm.windows):
        last_eviction = recording.session.process.last_eviction or recording.snapshot.now
        yield TimedChange(last_eviction + timedelta(microseconds=tdm.evict_period // 1000), recurs=True)  # exact: ints


def _time_of(nanoseconds: int) -> datetime:
    """Nanoseconds since the epoch as a datetime, rounded up to a microsecond."""
    return _EPOCH + timedelta(microseconds=-(-nanoseconds // 1000))  # exact: ints
