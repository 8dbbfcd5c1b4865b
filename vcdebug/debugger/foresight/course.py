"""The course of a job: cycles from moment to moment until it has its place, or nothing can change any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, Literal, NamedTuple

from vcdebug.causes.gates.validity import NOT_ENOUGH
from vcdebug.causes.pending import PANIC, explain_subject
from vcdebug.causes.subject import Subject
from vcdebug.debugger.between import ONE_SECOND, Between, advance
from vcdebug.debugger.foresight.happened import done_in, happened
from vcdebug.debugger.foresight.timed_changes import next_change_time
from vcdebug.debugger.pod_states import state_counts, states_by_name
from vcdebug.explain.answer import Explanation
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.pod import Pod
from vcdebug.model.status import TaskStatus
from vcdebug.trace.cut import whole
from vcdebug.trace.effects import effects
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay

Outcome = Literal["placed", "admitted", "never", "repeats", "panic", "unknown"]
"""unknown: not within the cycles that were run."""
MOST_CYCLES: Final = 60
QUIET: Final = 2
"""Cycles that change nothing, one after the other, from which on only the clock can."""
HAS_NODE: Final = (TaskStatus.BINDING, TaskStatus.BOUND, TaskStatus.RUNNING, TaskStatus.SUCCEEDED)


class Stage(NamedTuple):
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
class Loop:
    """Cycles that come again and again: from one to the last before the first comes again."""

    first: int
    last: int
    evicted: tuple[TaskKey, ...]


class Course:
    """Runs cycles for one job; what it has seen so far can be read at any time."""

    def __init__(self, first: Recording, subject: Subject, between: Between) -> None:
        self.recording = first
        """The last cycle."""
        self.stages: list[Stage] = []
        self.outcome: Outcome = "unknown"
        self.loop: Loop | None = None
        self._subject = subject
        self._between = between
        self._start = first.snapshot.now
        self._whole_gang = _ready(first, subject)
        self._quiet = 0
        self._quiet_since = self._start
        self._seen: dict[object, int] = {}
        self._ever: dict[object, None] = {}

    def run(self, most: int = MOST_CYCLES) -> Iterator[Stage]:
        """Each cycle as it is over; ends with an outcome other than unknown, or after so many cycles."""
        before: tuple[str, ...] = ()
        while True:
            stage = self._stage(before)
            self.stages.append(stage)
            yield stage
            self.outcome = self._judged(stage)
            if self.outcome != "unknown" or len(self.stages) >= most:
                return
            following = self._following()
            if following is None:
                self.outcome = "repeats" if self.loop is not None else "never"
                return
            before = tuple(happened(self.recording, following.snapshot))
            self.recording = following

    @property
    def nodes(self) -> list[NodeName]:
        """Where the job's pods are in the end."""
        job = self.recording.session.jobs.get(self._subject.job)
        own = [] if job is None else [t for t in job.tasks.values() if self._subject.pod in (None, t.key)]
        return list(dict.fromkeys(task.node_name for task in own if task.status in HAS_NODE and task.node_name))

    def _stage(self, before: tuple[str, ...]) -> Stage:
        number = len(self.stages) + 1
        explanation = explain_subject(self.recording, self._subject)
        after = self.recording.snapshot.now - self._start
        others = tuple(done_in(self.recording, self._subject.job))
        gone = tuple(effect.task for effect in effects(self.recording).evicted)
        return Stage(number, after, before, others, gone, explanation)

    def _judged(self, stage: Stage) -> Outcome:
        if stage.explanation.cause == PANIC:
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
            return any(task.status in HAS_NODE for task in job.tasks.values() if task.key == self._subject.pod)
        placed = job.count(*HAS_NODE)
        return placed >= (len(job.tasks) if self._whole_gang else job.min_available) and placed > 0

    def _waits_for_its_pods(self, explanation: Explanation) -> bool:
        """Admitted, so that a controller makes its pods."""
        pods = map(Pod, self.recording.snapshot.of("Pod"))
        return explanation.cause == NOT_ENOUGH and not any(pod.job_id == self._subject.job for pod in pods)

    def _following(self) -> Recording | None:
        """The next cycle that may differ; None where no more will."""
        number = len(self.stages) + 1
        soon = advance(self.recording, replace(self._between, every=ONE_SECOND), number)
        changed = states_by_name(soon) != states_by_name(self.recording.snapshot)
        self._note_repeat()
        self._quiet = 0 if changed else self._quiet + 1
        if self._quiet < QUIET and self.loop is None:
            return self._replayed(ONE_SECOND)
        at = next_change_time(self.recording, soon, self._between_outside_the_loop(), self._quiet_since)
        if at is None:
            return None
        self.loop = None
        return self._replayed(at - self.recording.snapshot.now)

    def _replayed(self, every: timedelta) -> Recording:
        snapshot = advance(self.recording, replace(self._between, every=every), len(self.stages) + 1)
        return whole(replay(snapshot, ask_extender=self.recording.session.ask_extender, beside=self.recording))

    def _note_repeat(self) -> None:
        """A cycle that starts like an earlier one, with evictions in between."""
        key = frozenset(state_counts(self.recording.snapshot).items())
        if key not in self._ever:
            self._ever[key], self._quiet_since = None, self.recording.snapshot.now
        earlier = self._seen.get(key)
        number = len(self.stages)
        between = dict.fromkeys(task for stage in self.stages[(earlier or number) - 1 : -1] for task in stage.evicted)
        if earlier is not None and between:
            self.loop = Loop(earlier, number - 1, tuple(between))
            self._seen.clear()
        self._seen.setdefault(key, number)

    def _between_outside_the_loop(self) -> Between:
        """Without the ends of pods that a loop evicts before they come."""
        if self.loop is None or self._between.run_times is None:
            return self._between
        return replace(self._between, stuck={**self._between.stuck, **dict.fromkeys(self.loop.evicted)})


def _ready(recording: Recording, subject: Subject) -> bool:
    """Whether the gang is whole already when the first cycle ends, so that the rest of its pods is asked about."""
    job = recording.session.jobs.get(subject.job)
    opening = recording.timeline.opening_tasks
    if job is None:
        return False
    before = [task for task in job.tasks.values() if opening[task.key].status in HAS_NODE]
    return len(before) >= job.min_available
