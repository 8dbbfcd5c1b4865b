"""Odds: the same cycle with many random seeds, and where the outcomes differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from vcdebug.comparison.cycles import find_decision_divergence
from vcdebug.framework.record import BestEvent, OpEvent, RandomEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.recording.effects import JobSummary, cycle_effects
from vcdebug.recording.recording import Recording, disposing, require_whole
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.snapshot import Snapshot


class CycleDraw(NamedTuple):
    """The outcome of one seed; small, because processes exchange it."""

    seed: int
    placed: tuple[JobId, ...]
    """Jobs with enough pods ready or waiting for their gang."""
    bound: tuple[JobId, ...]
    """Jobs of which this cycle bound or pipelined a pod."""
    evicted: tuple[TaskKey, ...]
    parts_at: Seq | None
    """The base recording's event of the first different effect; None if the effects are equal."""
    panic: bool

    @property
    def outcome_key(self) -> tuple[object, ...]:
        """Equal for draws that place the same jobs and evict the same pods."""
        return self.placed, self.evicted, self.panic


class JobOdds(NamedTuple):
    """In how many draws the job is placed."""

    job: JobId
    queue: str
    placed: int
    moved: int
    """Draws in which some of its pods were bound or pipelined."""
    base: bool
    """Whether the base recording places it."""


class DivergenceCount(NamedTuple):
    """The number of draws that first differ at one event of the base."""

    seq: Seq
    tie: Seq | None
    """The random choice of the base before that event, for the same task if there is one."""
    draws: int
    changed: int
    """How many of these place other jobs or evict other pods than the base."""


@dataclass(frozen=True, slots=True)
class OddsTally:
    """All draws summed up."""

    draws: int
    outcomes: int
    """Different sets of placed jobs and evicted pods."""
    jobs: tuple[JobOdds, ...]
    evictions: tuple[tuple[TaskKey, int], ...]
    """Pods that some draw evicts, with how often."""
    divergences: tuple[DivergenceCount, ...]
    """In the order of events."""
    panics: int

    @property
    def first_that_matters(self) -> DivergenceCount | None:
        """The first divergence after which some draw comes to another outcome."""
        return next((one for one in self.divergences if one.changed), None)

    @property
    def is_certain(self) -> bool:
        """Whether all draws have the same outcome."""
        return self.outcomes <= 1


def run_draw(base: Recording, seed: int) -> CycleDraw:
    """Run the cycle with everything drawn from one seed."""
    with disposing(replay_cycle(replace(base.snapshot, chance=ChanceSettings.from_seed(seed)), reuse_from=base)) as run:
        divergence = find_decision_divergence(base, require_whole(run))
        # A draw that only continues longer differs at the base's last event.
        at = None if divergence is None else divergence.before.seq if divergence.before is not None else len(base)
        return _cycle_draw(run)._replace(seed=seed, parts_at=at)


def _cycle_draw(run: Recording) -> CycleDraw:
    """The outcome of a cycle as a draw without a seed."""
    done = cycle_effects(run)
    placed = tuple(sorted(job.job for job in done.jobs if _is_placed(job)))
    bound = tuple(sorted(job.job for job in done.jobs if job.bound or job.pipelined))
    return CycleDraw(
        0, placed, bound, tuple(sorted(effect.task for effect in done.evicted)), None, done.panic is not None
    )


class SeedDraws:
    """A function of seeds that travels between processes: each runs the base once, then a cycle per seed."""

    def __init__(self, snapshot: Snapshot, base: Recording | None = None) -> None:
        self._snapshot = snapshot
        self._base = base

    def __call__(self, seed: int) -> CycleDraw:
        """The draw of this seed."""
        if self._base is None:
            self._base = require_whole(replay_cycle(self._snapshot))
        return run_draw(self._base, seed)

    def __reduce__(self) -> tuple[type[SeedDraws], tuple[Snapshot]]:
        """Pickled with the snapshot alone; a worker process replays it itself."""
        return SeedDraws, (self._snapshot,)


def _is_placed(job: JobSummary) -> bool:
    return job.tasks > 0 and job.ready + job.waiting >= job.min_available


def tally_draws(base: Recording, draws: Iterable[CycleDraw]) -> OddsTally:
    """Sum up draws, in whatever order they come."""
    # Worker processes answer in any order; sorted by seed the report is the same every time.
    found = sorted(draws)
    jobs = tuple(_job_odds(job, found) for job in cycle_effects(base).jobs if job.tasks)
    evicted = Counter(task for one in found for task in one.evicted)
    outcomes = dict.fromkeys(one.outcome_key for one in found)
    panics = len([one for one in found if one.panic])
    divergences = tuple(_count_divergences(base, found))
    return OddsTally(len(found), len(outcomes), jobs, tuple(sorted(evicted.items())), divergences, panics)


def _job_odds(job: JobSummary, draws: list[CycleDraw]) -> JobOdds:
    placed = len([one for one in draws if job.job in one.placed])
    moved = len([one for one in draws if job.job in one.bound])
    return JobOdds(job.job, job.queue, placed, moved, _is_placed(job))


def _count_divergences(base: Recording, draws: list[CycleDraw]) -> Iterator[DivergenceCount]:
    usual = _cycle_draw(base).outcome_key
    parted = group_by_key((one.parts_at, one) for one in draws if one.parts_at is not None)
    for seq in sorted(parted):
        changed = len([one for one in parted[seq] if one.outcome_key != usual])
        yield DivergenceCount(seq, tie_before(base, seq), len(parted[seq]), changed)


def tie_before(recording: Recording, seq: Seq) -> Seq | None:
    """The nearest earlier random choice: for the task of the operation at `seq`, else for any."""
    event = recording.event_at(seq)
    span = recording.span_tree.enclosing_span(seq)
    first = span.first if isinstance(event, OpEvent) and span is not None else 1
    for earlier in range(seq, first - 1, -1):
        found = recording.event_at(earlier)
        if isinstance(found, RandomEvent) or (isinstance(found, BestEvent) and len(found.tied) > 1):
            return earlier
    return None
