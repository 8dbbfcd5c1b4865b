"""Searches the replay nearest to a scheduler's outcome: with the scheduler's random choices, then with seeds."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.conformance import verdicts
from vcdebug.conformance.cycle_outcome import CycleOutcome, chosen_cards, predicted_outcome
from vcdebug.framework.replay_options import AskExtender
from vcdebug.recording.recording import Recording, require_complete
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import NAMED_FIELDS, ChanceSettings
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.cycles import CycleChain

MAX_SEEDS = 24
"""Maximum number of seeds that are tried if the scheduler's choices of nodes do not explain the outcome."""
VICTIM_FACTOR = 4
"""How many times as many are tried where other pods were evicted."""
MIN_SEEDS = 2
MAX_EFFORT = 20_000_000
"""Maximum sum of events times nodes over all tries, so that large snapshots get fewer tries."""
MAX_REFINEMENTS = 12
"""Maximum rounds that infer the nodes dropped by sampled searches from the chosen nodes."""
ENOUGH_ALIKE = 6
"""Consecutive tries with the same differences after which seeds count as irrelevant."""

NO_CHANCE = ChanceSettings()
TellProgress = Callable[[str], None]


def ignore_progress(_: str) -> None:
    """No-op progress callback."""


class NearestReplay(Struct, frozen=True):
    """The nearest replay, with its remaining differences."""

    recording: Recording
    outcome: CycleOutcome
    differences: list[verdicts.OutcomeDifference]
    replay_count: int
    cycles: int = 1
    """Number of replayed cycles whose combined outcome is compared."""

    ends_otherwise: bool = False
    """Whether exactly one of scheduler and replay panicked."""
    said_elsewhere: frozenset[verdicts.Fact] = frozenset()
    """What differs here, but in another replay with the scheduler's decisions does not."""

    @property
    def difference_rank(self) -> tuple[int, int]:
        """(number of differing decisions, number of all differences); the smaller tuple is nearer.

        Statuses count only in the second number: where decisions differ, they are not compared.
        """
        decisions = len([each for each in self.differences if each.is_decision and each.part != verdicts.STATUS])
        return decisions + self.ends_otherwise, len(self.differences) + self.ends_otherwise

    @property
    def best_later_rank(self) -> tuple[int, int]:
        """A bound of the `difference_rank` that this replay can reach with more cycles."""
        lasting = len([each for each in self.differences if each.is_lasting])
        return lasting, lasting


def follow_scheduler(
    snapshot: Snapshot,
    observed: CycleOutcome,
    *,
    seeds: int = MAX_SEEDS,
    cycles: int = 1,
    logged_chance: ChanceSettings = NO_CHANCE,
    ask_extender: AskExtender | None = None,
    tell: TellProgress = ignore_progress,
) -> NearestReplay:
    """Replay unchanged, then with the scheduler's choices, then with other seeds, until nothing differs.

    `observed` is the scheduler's outcome, `logged_chance` the choices in its log, `cycles` the largest number of cycles
    that it may have run; the number that fits best is taken. `tell` gets a line per replay.
    """
    search = _ReplaySearch(snapshot, observed, cycles, ask_extender, tell)
    unchanged = snapshot.chance
    first = search.run_replay(unchanged)
    if first.difference_rank[1]:
        searches = logged_chance.searches if verdicts.has_samples(first.recording) else {}
        drawn = replace(unchanged, **{name: getattr(logged_chance, name) for name in NAMED_FIELDS})
        chosen = replace(drawn, choices=observed.node_by_pod, searches=searches, cards=chosen_cards(observed.devices))
        # The log also has discarded placements, which influence later decisions.
        exact = replace(chosen, choices={**observed.node_by_pod, **logged_chance.choices})
        nearest = search.choose_better(unchanged, (chosen, exact))
        size = len(first.recording) * max(1, len(first.recording.node_names))
        # What is nearest under one order of maps can be out of reach under all others.
        for base in (nearest, exact) if exact != nearest else (nearest,):
            search.try_seeds(base, min(seeds, max(MIN_SEEDS, MAX_EFFORT // max(1, size))))
    return search.finish_search()


class _ReplaySearch:
    """Runs replays and keeps the nearest."""

    def __init__(
        self,
        snapshot: Snapshot,
        observed: CycleOutcome,
        cycles: int,
        ask_extender: AskExtender | None,
        tell: TellProgress,
    ) -> None:
        self._snapshot = snapshot
        self._observed = observed
        self._cycles = cycles
        self._ask_extender = ask_extender
        self._show_progress = tell
        self._nearest_replay: NearestReplay | None = None
        self._facts_of_all: dict[int, set[verdicts.Fact]] = {}
        """Number of cycles -> what differs in each of its replays in which no decision does."""
        self.replay_count = 0

    @property
    def nearest_run(self) -> NearestReplay:
        """The nearest replay so far."""
        assert self._nearest_replay is not None
        return self._nearest_replay

    def finish_search(self) -> NearestReplay:
        """The nearest replay, with the number of all and the facts that others share with the scheduler."""
        nearest = self.nearest_run
        facts = {each.fact for each in nearest.differences}
        said_elsewhere = frozenset(facts - self._facts_of_all.get(nearest.cycles, facts))
        return replace(nearest, replay_count=self.replay_count, said_elsewhere=said_elsewhere)

    def run_replay(self, chance: ChanceSettings) -> NearestReplay:
        """Replay with these random choices; returns the comparison of a single cycle."""
        self.replay_count += 1
        drawn = replace(self._snapshot, chance=chance)
        similar = None if self._nearest_replay is None else self._nearest_replay.recording
        first = require_complete(replay_cycle(drawn, ask_extender=self._ask_extender, reuse_from=similar))
        runs = list[NearestReplay]()
        for run in _compare_cycles(first, self._observed, self._cycles, self.replay_count):
            runs.append(run)
            if not run.difference_rank[0]:
                facts = {each.fact for each in run.differences}
                self._facts_of_all[run.cycles] = facts & self._facts_of_all.get(run.cycles, facts)
            if self._nearest_replay is None or run.difference_rank < self._nearest_replay.difference_rank:
                self._nearest_replay = run
            if run.best_later_rank >= self.nearest_run.difference_rank:
                break
        self._show_progress(
            f"replay {self.replay_count}: {runs[0].difference_rank[0]} decisions differ, "
            f"{self.nearest_run.difference_rank[0]} at best"
        )
        return runs[0]

    def refine_chance(self, chance: ChanceSettings) -> ChanceSettings:
        """`chance` with sampled searches that drop the nodes which would beat the scheduler's choices."""
        run = self.run_replay(chance)
        for _ in range(MAX_REFINEMENTS):
            elsewhere = {item.subject: item.observed for item in run.differences if item.is_decision}
            better = verdicts.with_drops(run.recording, chance, elsewhere) if chance.searches else chance
            if better == chance:
                break
            before, run = run, self.run_replay(better)
            if run.difference_rank >= before.difference_rank:
                break
            chance = better
        return chance

    def choose_better(self, unchanged: ChanceSettings, candidates: Sequence[ChanceSettings]) -> ChanceSettings:
        """The first of the `candidates` settings after which nothing differs, else the best of them."""
        best = unchanged
        for chance in candidates:
            if chance == best or not self.nearest_run.difference_rank[1]:
                continue
            before = self.nearest_run.difference_rank
            refined = self.refine_chance(chance)
            if best is unchanged or self.nearest_run.difference_rank < before:
                best = refined
        return best

    def try_seeds(self, chosen: ChanceSettings, seeds: int) -> None:
        """Try other map orders until nothing differs, or ENOUGH_ALIKE tries in a row have the same differences."""
        alike: int = 0
        before: list[verdicts.OutcomeDifference] | None = None
        for seed in range(1, VICTIM_FACTOR * seeds + 1):
            nearest = self.nearest_run
            late = seed > seeds and not have_different_victims(nearest.differences)
            if late or not nearest.difference_rank[1] or alike == ENOUGH_ALIKE:
                return
            run = self.run_replay(replace(chosen, order_seed=seed, tie_seed=seed))
            differences, hopeful = run.differences, run.ends_otherwise or have_different_victims(run.differences)
            alike, before = (alike + 1 if differences == before and not hopeful else 0), differences


def have_different_victims(differences: Iterable[verdicts.OutcomeDifference]) -> bool:
    """Whether the evicted pods differ: few seeds match then, since few task orders protect the same gang."""
    return {verdicts.NOTHING_DONE, "yes"} <= {each.observed for each in differences if each.part == verdicts.EVICTED}


def _compare_cycles(first: Recording, observed: CycleOutcome, cycles: int, tried: int) -> Iterator[NearestReplay]:
    """The comparison of one cycle, of two together, and so on."""
    chain = CycleChain(first)
    outcome, owner = predicted_outcome(first), verdicts.job_lookup(first)
    for count in range(1, cycles + 1):
        differences = verdicts.find_differences(outcome, observed, owner)
        yield NearestReplay(first, outcome, differences, tried, count, bool(outcome.panic) != bool(observed.panic))
        if count < cycles and not chain.has_panicked:
            outcome = outcome.followed_by(predicted_outcome(chain.run_next()))


def chance_edits(chance: ChanceSettings) -> list[str]:
    """The settings as `--set` edits."""
    edits = [f"chance:{name}[{key}]={text}" for name in NAMED_FIELDS for key, text in getattr(chance, name).items()]
    seeds = {"order_seed": chance.order_seed, "tie_seed": chance.tie_seed}
    return [*edits, *(f"chance:{name}={seed}" for name, seed in seeds.items() if seed is not None)]
