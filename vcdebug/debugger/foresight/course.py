"""The course of a job: cycles from moment to moment until it has its place, or nothing can change any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Literal, NamedTuple

from vcdebug.causes.gates.validity import NOT_ENOUGH
from vcdebug.causes.pending import PANIC_CAUSE, explain_subject
from vcdebug.causes.subject import ExplainSubject
from vcdebug.debugger.between import ONE_SECOND, BetweenCycles, next_snapshot
from vcdebug.debugger.foresight.happened import describe_changes, describe_deeds
from vcdebug.debugger.foresight.timed_changes import next_change_time
from vcdebug.debugger.pod_states import state_counts, states_by_name
from vcdebug.explain.answer import Explanation
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.status import TaskStatus
from vcdebug.trace.cut import require_whole
from vcdebug.trace.effects import cycle_effects
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay_cycle

ForecastOutcome = Literal["placed", "admitted", "never", "repeats", "panic", "unknown"]
"""unknown: not within the cycles that were run."""
MAX_CYCLES: Final = 60
QUIET_CYCLES: Final = 2
"""Cycles that change nothing, one after the other, from which on only the clock can."""
STATUSES_WITH_NODE: Final = (TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING, TaskStatus.SUCCEEDED)


class ForecastCycle(NamedTuple):
    """One cycle of a course."""

    cycle: int
    after: timedelta
    """Since the first cycle."""
    before: tuple[str, ...]
    """What happened since the cycle before it."""
    done: tuple[str, ...]
    """What the cycle did to others."""
    evicted: tuple[TaskKey, ...]
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class CycleLoop:
    """Cycles that come again and again: from one to the last before the first comes again."""

    first: int
    last: int
    evicted: tuple[TaskKey, ...]


class JobCourse:
    """Runs cycles for one job; what it has seen so far can be read at any time."""

    def __init__(self, first: Recording, subject: ExplainSubject, between: BetweenCycles) -> None:
        self.recording = first
        """The last cycle."""
        self.stages: list[ForecastCycle] = []
        self.outcome: ForecastOutcome = "unknown"
        self.loop: CycleLoop | None = None
        self._subject = subject
        self._between = between
        self._start = first.snapshot.now
        self._whole_gang = _is_gang_ready(first, subject)
        self._quiet = 0
        self._quiet_since = self._start
        self._seen: dict[object, int] = {}
        self._ever: dict[object, None] = {}

    def run_cycles(self, most: int = MAX_CYCLES) -> Iterator[ForecastCycle]:
        """Each cycle as it is over; ends with an outcome other than unknown, or after so many cycles."""
        before: tuple[str, ...] = ()
        while True:
            stage = self._describe_cycle(before)
            self.stages.append(stage)
            yield stage
            self.outcome = self._judge_cycle(stage)
            if self.outcome != "unknown" or len(self.stages) >= most:
                return
            following = self._next_recording()
            if following is None:
                self.outcome = "repeats" if self.loop is not None else "never"
                return
            before = tuple(describe_changes(self.recording, following.snapshot))
            self.recording = following

    @property
    def final_nodes(self) -> list[NodeName]:
        """Where the job's pods are in the end."""
        job = self.recording.session.jobs.get(self._subject.job)
        own = [] if job is None else [t for t in job.tasks.values() if self._subject.pod in (None, t.key)]
        return list(
            dict.fromkeys(task.node_name for task in own if task.status in STATUSES_WITH_NODE and task.node_name)
        )

    def _describe_cycle(self, before: tuple[str, ...]) -> ForecastCycle:
        number = len(self.stages) + 1
        explanation = explain_subject(self.recording, self._subject)
        after = self.recording.snapshot.now - self._start
        others = tuple(describe_deeds(self.recording, self._subject.job))
        gone = tuple(effect.task for effect in cycle_effects(self.recording).evicted)
        return ForecastCycle(number, after, before, others, gone, explanation)

    def _judge_cycle(self, stage: ForecastCycle) -> ForecastOutcome:
        if stage.explanation.cause_code == PANIC_CAUSE:
            return "panic"
        if self._has_place():
            return "placed"
        return "admitted" if self._waits_for_its_pods(stage.explanation) else "unknown"

    def _has_place(self) -> bool:
        """Every pod, where the gang was whole from the start; else the gang, or the pod that was asked about."""
        job = self.recording.session.jobs.get(self._subject.job)
        if job is None:
            return False
        if self._subject.pod is not None:
            return any(
                task.status in STATUSES_WITH_NODE for task in job.tasks.values() if task.key == self._subject.pod
            )
        placed = job.count_tasks(*STATUSES_WITH_NODE)
        return placed >= (len(job.tasks) if self._whole_gang else job.min_available) and placed > 0

    def _waits_for_its_pods(self, explanation: Explanation) -> bool:
        """Admitted, so that a controller makes its pods."""
        pods = map(Pod, self.recording.snapshot.objects_of("Pod"))
        return explanation.cause_code == NOT_ENOUGH and not any(pod.job_id == self._subject.job for pod in pods)

    def _next_recording(self) -> Recording | None:
        """The next cycle that may differ; None where no more will."""
        number = len(self.stages) + 1
        soon = next_snapshot(self.recording, replace(self._between, every=ONE_SECOND), number)
        changed = states_by_name(soon) != states_by_name(self.recording.snapshot)
        self._note_repeat()
        self._quiet = 0 if changed else self._quiet + 1
        if self._quiet < QUIET_CYCLES and self.loop is None:
            return self._replay_next(ONE_SECOND)
        at = next_change_time(self.recording, soon, self._between_outside_the_loop(), self._quiet_since)
        if at is None:
            return None
        self.loop = None
        return self._replay_next(at - self.recording.snapshot.now)

    def _replay_next(self, every: timedelta) -> Recording:
        snapshot = next_snapshot(self.recording, replace(self._between, every=every), len(self.stages) + 1)
        return require_whole(
            replay_cycle(snapshot, ask_extender=self.recording.session.ask_extender, beside=self.recording)
        )

    def _note_repeat(self) -> None:
        """A cycle that starts like an earlier one, with evictions in between."""
        key = frozenset(state_counts(self.recording.snapshot).items())
        if key not in self._ever:
            self._ever[key], self._quiet_since = None, self.recording.snapshot.now
        earlier = self._seen.get(key)
        number = len(self.stages)
        between = dict.fromkeys(task for stage in self.stages[(earlier or number) - 1 : -1] for task in stage.evicted)
        if earlier is not None and between:
            self.loop = CycleLoop(earlier, number - 1, tuple(between))
            self._seen.clear()
        self._seen.setdefault(key, number)

    def _between_outside_the_loop(self) -> BetweenCycles:
        """Without the ends of pods that a loop evicts before they come."""
        if self.loop is None or self._between.run_times is None:
            return self._between
        return replace(self._between, stuck={**self._between.stuck, **dict.fromkeys(self.loop.evicted)})


def _is_gang_ready(recording: Recording, subject: ExplainSubject) -> bool:
    """Whether the gang is whole already when the first cycle ends, so that the rest of its pods is asked about."""
    job = recording.session.jobs.get(subject.job)
    opening = recording.timeline.opening_tasks
    if job is None:
        return False
    before = [task for task in job.tasks.values() if opening[task.key].status in STATUSES_WITH_NODE]
    return len(before) >= job.min_available
