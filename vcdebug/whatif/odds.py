"""Odds: the same cycle with many random seeds, and where the outcomes differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.framework.record import BestEvent, OpEvent, RandomEvent
from vcdebug.grouping import group_by_key
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.recording.effects import JobSummary, cycle_effects, hyper_nodes_of_soft
from vcdebug.recording.recording import Recording, disposing, require_complete
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import ChanceSettings
from vcdebug.snapshot.snapshot import Snapshot


class CycleDraw(NamedTuple):
    """The outcome of one seed; small, because processes exchange it."""

    seed: int
    placed_jobs: tuple[JobId, ...]
    """Jobs with enough pods ready or waiting for their gang."""
    bound_jobs: tuple[JobId, ...]
    """Jobs of which this cycle bound or pipelined a pod."""
    evicted: tuple[TaskKey, ...]
    parts_at: Seq | None
    """The base recording's event of the first different effect; None if the effects are equal."""
    panic: bool
    spread_jobs: tuple[JobId, ...]
    """Placed jobs with a soft networkTopology and pods in different HyperNodes."""

    @property
    def outcome_key(self) -> tuple[object, ...]:
        """A key that is equal for draws that place the same jobs, as near together, and evict the same pods."""
        return self.placed_jobs, self.evicted, self.panic, self.spread_jobs


class JobOdds(Struct, frozen=True):
    """In how many draws the job is placed."""

    job: JobId
    queue: str
    placed_count: int
    moved_count: int
    """The number of draws in which some of the job's pods were bound or pipelined."""
    base: bool
    """Whether the base recording places the job."""


class DivergenceCount(Struct, frozen=True):
    """The number of draws that first differ at one event of the base."""

    seq: Seq
    tie_seq: Seq | None
    """The random choice of the base before that event, for the same task if there is one."""
    draw_count: int
    differing: int
    """The number of these draws with another outcome than the base."""


class OddsTally(Struct, frozen=True):
    """The totals of all draws."""

    draw_count: int
    outcomes: int
    """The number of different outcomes: sets of placed jobs, of spread ones and of evicted pods."""
    jobs: tuple[JobOdds, ...]
    evictions: tuple[tuple[TaskKey, int], ...]
    """(pod, number of draws that evict it)."""
    spread_jobs: tuple[tuple[JobId, int], ...]
    """(job with a soft networkTopology, number of draws with its pods in different HyperNodes)."""
    divergences: tuple[DivergenceCount, ...]
    """Divergences in order of events."""
    panics: int

    @property
    def first_that_matters(self) -> DivergenceCount | None:
        """The first divergence after which some draw has another outcome than the base; None without one."""
        return next((divergence for divergence in self.divergences if divergence.differing), None)

    @property
    def is_certain(self) -> bool:
        """Whether all draws have the same outcome."""
        return self.outcomes <= 1


def run_draw(base: Recording, seed: int) -> CycleDraw:
    """Replay the cycle with all random choices drawn from one seed."""
    from vcdebug.comparison.cycles import find_decision_divergence  # an answer draws without a comparison

    with disposing(replay_with_seed(base, seed)) as run:
        divergence = find_decision_divergence(base, require_complete(run))
        # A draw that only continues longer differs at the base's last event.
        seq = None if divergence is None else divergence.before.seq if divergence.before is not None else len(base)
        return cycle_draw(run)._replace(seed=seed, parts_at=seq)


def replay_with_seed(base: Recording, seed: int) -> Recording:
    """Replay the cycle with the random choices of a seed."""
    return replay_cycle(replace(base.snapshot, chance=ChanceSettings.from_seed(seed)), reuse_from=base)


def cycle_draw(run: Recording) -> CycleDraw:
    """The outcome of a cycle as a draw with seed 0 and no divergence."""
    effects = cycle_effects(run)
    placed = tuple(sorted(job.job for job in effects.jobs if job.tasks > 0 and job.has_minimum))
    bound = tuple(sorted(job.job for job in effects.jobs if job.bound or job.pipelined))
    evicted = tuple(sorted(effect.task for effect in effects.evicted))
    spread = tuple(job for job in placed if len(hyper_nodes_of_soft(run, run.session.jobs[job])) > 1)
    return CycleDraw(0, placed, bound, evicted, None, effects.panic is not None, spread)


class SeedDraws:
    """A picklable function of seeds; each process replays the base once, then a cycle per seed."""

    def __init__(self, snapshot: Snapshot, base: Recording | None = None) -> None:
        self._snapshot = snapshot
        self._base = base

    def __call__(self, seed: int) -> CycleDraw:
        if self._base is None:
            self._base = require_complete(replay_cycle(self._snapshot))
        return run_draw(self._base, seed)

    def __reduce__(self) -> tuple[type[SeedDraws], tuple[Snapshot]]:
        """Pickle the snapshot only; a worker process replays it itself."""
        return SeedDraws, (self._snapshot,)


def tally_draws(base: Recording, draws: Iterable[CycleDraw]) -> OddsTally:
    """Sum up draws, which may come in any order."""
    # Worker processes answer in any order; sorted by seed the report is the same every time.
    sorted_draws = sorted(draws)
    jobs = tuple(_job_odds(job, sorted_draws) for job in cycle_effects(base).jobs if job.tasks)
    evicted = Counter(task for draw in sorted_draws for task in draw.evicted)
    spread = Counter(job for draw in sorted_draws for job in draw.spread_jobs)
    outcomes = dict.fromkeys(draw.outcome_key for draw in sorted_draws)
    panics = len([draw for draw in sorted_draws if draw.panic])
    divergences = tuple(_count_divergences(base, sorted_draws))
    counts = tuple(sorted(evicted.items())), tuple(sorted(spread.items()))
    return OddsTally(len(sorted_draws), len(outcomes), jobs, *counts, divergences, panics)


def _job_odds(job: JobSummary, draws: list[CycleDraw]) -> JobOdds:
    placed = len([draw for draw in draws if job.job in draw.placed_jobs])
    moved = len([draw for draw in draws if job.job in draw.bound_jobs])
    return JobOdds(job.job, job.queue, placed, moved, job.tasks > 0 and job.has_minimum)


def _count_divergences(base: Recording, draws: list[CycleDraw]) -> Iterator[DivergenceCount]:
    base_outcome = cycle_draw(base).outcome_key
    draws_by_seq = group_by_key((draw.parts_at, draw) for draw in draws if draw.parts_at is not None)
    for seq in sorted(draws_by_seq):
        changed_count = len([draw for draw in draws_by_seq[seq] if draw.outcome_key != base_outcome])
        yield DivergenceCount(seq, tie_before(base, seq), len(draws_by_seq[seq]), changed_count)


def tie_before(recording: Recording, seq: Seq) -> Seq | None:
    """The nearest earlier random choice: for the task of the operation at `seq`, else for any."""
    event = recording.event_at(seq)
    span = recording.span_tree.enclosing_span(seq)
    first_seq = span.first if isinstance(event, OpEvent) and span is not None else 1
    for earlier_seq in range(seq, first_seq - 1, -1):
        candidate = recording.event_at(earlier_seq)
        if isinstance(candidate, RandomEvent) or (isinstance(candidate, BestEvent) and len(candidate.tied) > 1):
            return earlier_seq
    return None
