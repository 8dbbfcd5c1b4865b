"""Two recordings side by side: which decisions changed, and the first event at which they part."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from vcdebug.compare.first_difference import Divergence, find_decision_divergence, find_divergence
from vcdebug.model.names import JobId, NodeName, QueueName, TaskKey
from vcdebug.model.resource import Resource, deep_equal
from vcdebug.model.status import TaskStatus
from vcdebug.trace.effects import Effects, JobSummary, cycle_effects
from vcdebug.trace.recording import Recording

DESERVED_FIGURE = "deserved"
_Name = TypeVar("_Name", bound=str)
_State = TypeVar("_State")


class TaskOutcome(NamedTuple):
    """A task after the cycle."""

    job: JobId
    status: TaskStatus
    node: NodeName
    evicted: bool
    """Whether this cycle evicted it."""


@dataclass(frozen=True, slots=True)
class JobChange:
    """A job that fared otherwise; None on the side where it does not exist."""

    job: JobId
    before: JobSummary | None
    after: JobSummary | None


@dataclass(frozen=True, slots=True)
class TaskChange:
    """A task that got another state, node or fate; None on the side where it does not exist."""

    task: TaskKey
    before: TaskOutcome | None
    after: TaskOutcome | None


@dataclass(frozen=True, slots=True)
class QueueChange:
    """A queue that deserves another amount by a plugin's account; None where the account has no such queue."""

    queue: QueueName
    plugin: str
    before: Resource | None
    after: Resource | None


@dataclass(frozen=True, slots=True)
class CycleComparison:
    """What became of a cycle under other circumstances."""

    jobs: tuple[JobChange, ...]
    tasks: tuple[TaskChange, ...]
    queues: tuple[QueueChange, ...]
    panics: tuple[str | None, str | None]
    """What the real scheduler would panic with, on either side."""
    divergence: Divergence | None
    """The first event that differs in more than figures; None where all answers and decisions are the same."""
    deeds_part: Divergence | None
    """The first operation or statement that differs."""

    @property
    def has_same_decisions(self) -> bool:
        """Whether every decision is the same; votes on the way may still differ."""
        return not (self.jobs or self.tasks or self.queues) and self.panics[0] == self.panics[1]


def compare_cycles(before: Recording, after: Recording) -> CycleComparison:
    """All changed decisions, each list in the order of names, and where the recordings part."""
    effects_before, effects_after = cycle_effects(before), cycle_effects(after)
    return CycleComparison(
        tuple(JobChange(*row) for row in iter_changed(_summary_by_job(effects_before), _summary_by_job(effects_after))),
        tuple(
            TaskChange(*row)
            for row in iter_changed(_outcome_by_task(before, effects_before), _outcome_by_task(after, effects_after))
        ),
        tuple(_queue_changes(before, after)),
        (effects_before.panic, effects_after.panic),
        find_divergence(before, after),
        find_decision_divergence(before, after),
    )


def iter_changed(
    before: Mapping[_Name, _State], after: Mapping[_Name, _State]
) -> Iterator[tuple[_Name, _State | None, _State | None]]:
    """(name, before, after) of all that is not the same, in the order of names; None on a side without the name."""
    for name in sorted({**before, **after}):
        left, right = before.get(name), after.get(name)
        if left != right:
            yield name, left, right


def _summary_by_job(done: Effects) -> dict[JobId, JobSummary]:
    return {summary.job: summary for summary in done.jobs}


def _outcome_by_task(recording: Recording, done: Effects) -> dict[TaskKey, TaskOutcome]:
    evicted = dict.fromkeys(effect.task for effect in done.evicted)
    return {
        task.key: TaskOutcome(uid, task.status, task.node_name, task.key in evicted)
        for uid, job in recording.session.jobs.items()
        for task in job.tasks.values()
    }


def _queue_changes(before: Recording, after: Recording) -> Iterator[QueueChange]:
    left, right = _deserved_by_queue(before), _deserved_by_queue(after)
    for plugin, queue in sorted({**left, **right}):
        one, other = left.get((plugin, queue)), right.get((plugin, queue))
        if one is None or other is None or not deep_equal(one, other):
            yield QueueChange(queue, plugin, one, other)


def _deserved_by_queue(recording: Recording) -> dict[tuple[str, QueueName], Resource]:
    """(plugin, queue) → what the queue deserves, as the session was opened."""
    books = recording.timeline.opening_books.items()
    return {
        (plugin, name): value
        for (plugin, name, figure), value in books
        if figure == DESERVED_FIGURE and name in recording.session.queues and isinstance(value, Resource)
    }
