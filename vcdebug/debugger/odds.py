"""Odds: the same cycle under many draws of what upstream leaves to chance, and where the outcomes part."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from vcdebug.explain.effects import JobSummary, effects
from vcdebug.explain.parting import part_in_deeds
from vcdebug.framework.record import BestEvent, OpEvent, RandomEvent
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.snapshot.chance import Chance
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay

PORTIONS: Final = 4
"""Portions of work per worker: few runs of the base, and none waits long for the last one."""


class Draw(NamedTuple):
    """What came of one seed; small, so that it travels between processes."""

    seed: int
    placed: tuple[JobId, ...]
    """Jobs with enough pods ready or waiting for their gang."""
    bound: tuple[JobId, ...]
    """Jobs of which this cycle bound or pipelined a pod."""
    evicted: tuple[TaskKey, ...]
    parts_at: Seq | None
    """The base's event at which its deeds and those of this draw part; None where they are the same."""
    panic: bool


class JobOdds(NamedTuple):
    """How often a job fared well."""

    job: JobId
    queue: str
    placed: int
    moved: int
    """Draws in which some of its pods were bound or pipelined."""
    base: bool
    """Whether it is placed without any draw."""


class PartingCount(NamedTuple):
    """How many draws part from the base at one of its events."""

    seq: Seq
    tie: Seq | None
    """The tie or random number of the base that comes before it, about the same task where there is one."""
    draws: int


@dataclass(frozen=True, slots=True)
class Odds:
    """All draws summed up."""

    draws: int
    outcomes: int
    """Different sets of placed jobs and evicted pods."""
    jobs: tuple[JobOdds, ...]
    evictions: tuple[tuple[TaskKey, int], ...]
    """Pods that some draw evicts, with how often."""
    partings: tuple[PartingCount, ...]
    """In the order of events: the first one is the tie that matters first."""
    panics: int

    @property
    def certain(self) -> bool:
        """Whether every draw comes to the same."""
        return self.outcomes <= 1


def draw(base: Recording, seed: int) -> Draw:
    """Run the cycle with everything drawn from one seed."""
    run = replay(replace(base.snapshot, chance=Chance.drawn(seed)))
    done = effects(run)
    placed = tuple(sorted(job.job for job in done.jobs if _placed(job)))
    bound = tuple(sorted(job.job for job in done.jobs if job.bound or job.pipelined))
    parting = part_in_deeds(base, run)
    at = None if parting is None else parting.before.seq if parting.before is not None else len(base)
    return Draw(seed, placed, bound, tuple(sorted(effect.task for effect in done.evicted)), at, done.panic is not None)


@dataclass(frozen=True, slots=True)
class Draws:
    """A function of seeds that a worker process can be handed: it runs the base once, then a cycle per seed."""

    snapshot: Snapshot

    def __call__(self, seeds: Sequence[int]) -> list[Draw]:
        """All draws of these seeds."""
        base = replay(self.snapshot)
        return [draw(base, seed) for seed in seeds]


def portions(draws: int, workers: int) -> list[range]:
    """Seeds 1 to `draws` in portions, a few for each worker."""
    size = max(1, math.ceil(draws / (workers * PORTIONS)))
    return [range(first, min(first + size, draws + 1)) for first in range(1, draws + 1, size)]


def _placed(job: JobSummary) -> bool:
    return job.tasks > 0 and job.ready + job.waiting >= job.min_available


def tally(base: Recording, draws: Iterable[Draw]) -> Odds:
    """Sum up draws, in whatever order they come."""
    found = sorted(draws)
    jobs = tuple(_job_odds(job, found) for job in effects(base).jobs if job.tasks)
    evicted: dict[TaskKey, int] = {}
    for one in found:
        for task in one.evicted:
            evicted[task] = evicted.get(task, 0) + 1
    outcomes = dict.fromkeys((one.placed, one.evicted, one.panic) for one in found)
    panics = len([one for one in found if one.panic])
    partings = tuple(_partings(base, found))
    return Odds(len(found), len(outcomes), jobs, tuple(sorted(evicted.items())), partings, panics)


def _job_odds(job: JobSummary, draws: list[Draw]) -> JobOdds:
    placed = len([one for one in draws if job.job in one.placed])
    moved = len([one for one in draws if job.job in one.bound])
    return JobOdds(job.job, job.queue, placed, moved, _placed(job))


def _partings(base: Recording, draws: list[Draw]) -> Iterator[PartingCount]:
    counts: dict[Seq, int] = {}
    for one in draws:
        if one.parts_at is not None:
            counts[one.parts_at] = counts.get(one.parts_at, 0) + 1
    for seq in sorted(counts):
        yield PartingCount(seq, tie_before(base, seq), counts[seq])


def tie_before(recording: Recording, seq: Seq) -> Seq | None:
    """The nearest earlier event at which upstream draws: of the same task as an operation, else of any."""
    event = recording.event(seq)
    span = recording.tree.owner(seq)
    first = span.first if isinstance(event, OpEvent) and span is not None else 1
    for earlier in range(seq, first - 1, -1):
        found = recording.event(earlier)
        if isinstance(found, RandomEvent) or (isinstance(found, BestEvent) and len(found.tied) > 1):
            return earlier
    return None
