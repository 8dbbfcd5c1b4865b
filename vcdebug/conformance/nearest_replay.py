"""The replay follows what a real scheduler drew, before anything is called a difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from vcdebug.conformance import cycle_outcome as npus
from vcdebug.conformance import verdicts
from vcdebug.conformance.cycle_outcome import CycleOutcome, predicted_outcome
from vcdebug.framework.replay_options import AskExtender
from vcdebug.recording.recording import Recording, require_whole
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.cycle_inputs import NAMED_FIELDS, ChanceSettings
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.whatif.cycles import CycleChain

MAX_SEEDS = 24
"""How many orders of maps and draws are tried where the choice of nodes alone explains too little."""
MIN_SEEDS = 2
MAX_EFFORT = 20_000_000
"""Events times nodes, of all orders together: a large snapshot has fewer tries."""
MAX_REFINEMENTS = 12
"""How often the nodes that searches dropped are told anew by the nodes that were chosen, while it gets better."""
ENOUGH_ALIKE = 6
"""Of the orders, how many in a row that come to the same show that the order does not matter here."""

NO_CHANCE = ChanceSettings()
TellProgress = Callable[[str], None]


def ignore_progress(_: str) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class NearestReplay:
    """The run of the replay that comes nearest."""

    recording: Recording
    outcome: CycleOutcome
    differences: list[verdicts.OutcomeDifference]
    tried: int
    cycles: int = 1
    """How many cycles make up the outcome."""

    @property
    def difference_rank(self) -> tuple[int, int]:
        """Fewer differences are better, decisions before words."""
        return len([one for one in self.differences if one.is_decision]), len(self.differences)


def follow_scheduler(
    snapshot: Snapshot,
    seen: CycleOutcome,
    *,
    seeds: int = MAX_SEEDS,
    cycles: int = 1,
    told: ChanceSettings = NO_CHANCE,
    ask_extender: AskExtender | None = None,
    tell: TellProgress = ignore_progress,
) -> NearestReplay:
    """The replay as it is, else with the scheduler's own choices, else under other orders of maps too.

    `told` is what the scheduler's log says of its choices: all nodes on which it put each pod, in turn, among them.
    Where it may have run more than one cycle, as many of the replay are laid beside it as fit best.
    """
    search = _ReplaySearch(snapshot, seen, cycles, ask_extender, tell)
    own = snapshot.chance
    first = search.run_replay(own)
    if first.difference_rank[1]:
        searches = told.searches if verdicts.has_samples(first.recording) else {}
        drawn = replace(own, **{name: getattr(told, name) for name in NAMED_FIELDS})
        chosen = replace(drawn, choices=seen.node_by_pod, searches=searches, cards=npus.chosen_npus(seen.devices))
        exact = replace(chosen, choices={**seen.node_by_pod, **told.choices})
        chosen = search.choose_better(own, (chosen, exact))
        size = len(first.recording) * max(1, len(first.recording.node_names))
        search.try_seeds(chosen, min(seeds, max(MIN_SEEDS, MAX_EFFORT // max(1, size))))
    return replace(search.nearest_run, tried=search.tried)


class _ReplaySearch:
    """Runs of the replay, and which of them came nearest."""

    def __init__(
        self, snapshot: Snapshot, seen: CycleOutcome, cycles: int, ask_extender: AskExtender | None, tell: TellProgress
    ) -> None:
        self._snapshot = snapshot
        self._seen = seen
        self._cycles = cycles
        self._ask = ask_extender
        self._tell = tell
        self._best: NearestReplay | None = None
        self.tried = 0

    @property
    def nearest_run(self) -> NearestReplay:
        """The best run so far."""
        assert self._best is not None
        return self._best

    def run_replay(self, chance: ChanceSettings) -> NearestReplay:
        """Replay under these draws; gives how one cycle compares."""
        self.tried += 1
        first = require_whole(replay_cycle(replace(self._snapshot, chance=chance), ask_extender=self._ask))
        runs = list(_compare_cycles(first, self._seen, self._cycles, self.tried))
        for one in runs:
            if self._best is None or one.difference_rank < self._best.difference_rank:
                self._best = one
        self._tell(
            f"replay {self.tried}: {runs[0].difference_rank[0]} decisions differ, "
            f"{self.nearest_run.difference_rank[0]} at best"
        )
        return runs[0]

    def refine_chance(self, chance: ChanceSettings) -> ChanceSettings:
        """The scheduler's choices, and what its searches must have dropped for them."""
        run = self.run_replay(chance)
        for _ in range(MAX_REFINEMENTS):
            elsewhere = {one.subject: one.observed for one in run.differences if one.is_decision}
            better = verdicts.with_drops(run.recording, chance, elsewhere) if chance.searches else chance
            if better == chance:
                break
            before, run = run, self.run_replay(better)
            if run.difference_rank >= before.difference_rank:
                break
            chance = better
        return chance

    def choose_better(self, own: ChanceSettings, known: Sequence[ChanceSettings]) -> ChanceSettings:
        """The first of several accounts of the scheduler's choices that explains everything, else the best of them."""
        best = own
        for chance in known:
            if chance == best or not self.nearest_run.difference_rank[1]:
                continue
            before = self.nearest_run.difference_rank
            refined = self.refine_chance(chance)
            if best is own or self.nearest_run.difference_rank < before:
                best = refined
        return best

    def try_seeds(self, chosen: ChanceSettings, seeds: int) -> None:
        """Other orders of maps, until one explains everything, or until they show that they explain nothing."""
        alike: int = 0
        before: list[verdicts.OutcomeDifference] | None = None
        for seed in range(1, seeds + 1):
            if not self.nearest_run.difference_rank[1] or alike == ENOUGH_ALIKE:
                return
            found = self.run_replay(replace(chosen, order_seed=seed, tie_seed=seed)).differences
            alike, before = (alike + 1 if found == before and not other_victims(found) else 0), found


def other_victims(found: Iterable[verdicts.OutcomeDifference]) -> bool:
    """Whether somebody else was evicted: few orders of a node's tasks let a gang keep the pods that it kept."""
    return {verdicts.NOTHING_DONE, "yes"} <= {one.observed for one in found if one.what == verdicts.EVICTED}


def _compare_cycles(first: Recording, seen: CycleOutcome, cycles: int, tried: int) -> Iterator[NearestReplay]:
    """What one cycle comes to, and two together, and so on."""
    chain = CycleChain(first)
    outcome, owner = predicted_outcome(first), verdicts.job_lookup(first)
    for count in range(1, cycles + 1):
        found = NearestReplay(first, outcome, verdicts.find_differences(outcome, seen, owner), tried, count)
        yield found
        if count < cycles and not chain.has_panicked:
            outcome = outcome.followed_by(predicted_outcome(chain.run_next()))


def chance_edits(chance: ChanceSettings) -> list[str]:
    """The settings as edits that anybody can repeat."""
    edits = [f"chance:{name}[{one}]={text}" for name in NAMED_FIELDS for one, text in getattr(chance, name).items()]
    seeds = {"order_seed": chance.order_seed, "tie_seed": chance.tie_seed}
    return [*edits, *(f"chance:{name}={seed}" for name, seed in seeds.items() if seed is not None)]
