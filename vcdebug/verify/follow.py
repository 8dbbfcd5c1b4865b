"""The replay follows what a real scheduler drew, before anything is called a difference."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from vcdebug.debugger.cycles import Cycles
from vcdebug.framework.webhook import AskExtender
from vcdebug.snapshot.chance import BY_NAME, Chance
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.cut import whole
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay
from vcdebug.verify import npus
from vcdebug.verify.compare import EVICTED, NOTHING, Difference, differences, job_of
from vcdebug.verify.outcome import Outcome, predicted
from vcdebug.verify.samples import sampled, with_drops

SEEDS = 24
"""How many orders of maps and draws are tried where the choice of nodes alone explains too little."""
FEWEST_SEEDS = 2
EFFORT = 20_000_000
"""Events times nodes, of all orders together: a large snapshot has fewer tries."""
REFINED = 12
"""How often the nodes that searches dropped are told anew by the nodes that were chosen, while it gets better."""
ALIKE = 6
"""Of the orders, how many in a row that come to the same show that the order does not matter here."""

NOTHING_TOLD = Chance()
Tell = Callable[[str], None]


def silently(_: str) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The run of the replay that comes nearest."""

    recording: Recording
    outcome: Outcome
    differences: list[Difference]
    tried: int
    cycles: int = 1
    """How many cycles make up the outcome."""

    @property
    def rank(self) -> tuple[int, int]:
        """Fewer differences are better, decisions before words."""
        return len([one for one in self.differences if one.decides]), len(self.differences)


def follow(
    snapshot: Snapshot,
    seen: Outcome,
    *,
    seeds: int = SEEDS,
    cycles: int = 1,
    told: Chance = NOTHING_TOLD,
    ask_extender: AskExtender | None = None,
    tell: Tell = silently,
) -> Followed:
    """The replay as it is, else with the scheduler's own choices, else under other orders of maps too.

    `told` is what the scheduler's log says of its choices: all nodes on which it put each pod, in turn, among them.
    Where it may have run more than one cycle, as many of the replay are laid beside it as fit best.
    """
    search = _Search(snapshot, seen, cycles, ask_extender, tell)
    own = snapshot.chance
    first = search.run(own)
    if first.rank[1]:
        searches = told.searches if sampled(first.recording) else {}
        drawn = replace(own, **{name: getattr(told, name) for name in BY_NAME})
        chosen = replace(drawn, choices=seen.nodes, searches=searches, cards=npus.chosen(seen.devices))
        exact = replace(chosen, choices={**seen.nodes, **told.choices})
        chosen = search.better(own, (chosen, exact))
        size = len(first.recording) * max(1, len(first.recording.node_names))
        search.seeded(chosen, min(seeds, max(FEWEST_SEEDS, EFFORT // max(1, size))))
    return replace(search.nearest, tried=search.tried)


class _Search:
    """Runs of the replay, and which of them came nearest."""

    def __init__(
        self, snapshot: Snapshot, seen: Outcome, cycles: int, ask_extender: AskExtender | None, tell: Tell
    ) -> None:
        self._snapshot = snapshot
        self._seen = seen
        self._cycles = cycles
        self._ask = ask_extender
        self._tell = tell
        self._best: Followed | None = None
        self.tried = 0

    @property
    def nearest(self) -> Followed:
        """The best run so far."""
        assert self._best is not None
        return self._best

    def run(self, chance: Chance) -> Followed:
        """Replay under these draws; gives how one cycle compares."""
        self.tried += 1
        first = whole(replay(replace(self._snapshot, chance=chance), ask_extender=self._ask))
        runs = list(_runs(first, self._seen, self._cycles, self.tried))
        for one in runs:
            if self._best is None or one.rank < self._best.rank:
                self._best = one
        self._tell(f"replay {self.tried}: {runs[0].rank[0]} decisions differ, {self.nearest.rank[0]} at best")
        return runs[0]

    def refined(self, chance: Chance) -> Chance:
        """The scheduler's choices, and what its searches must have dropped for them."""
        run = self.run(chance)
        for _ in range(REFINED):
            elsewhere = {one.subject: one.observed for one in run.differences if one.decides}
            better = with_drops(run.recording, chance, elsewhere) if chance.searches else chance
            if better == chance:
                break
            before, run = run, self.run(better)
            if run.rank >= before.rank:
                break
            chance = better
        return chance

    def better(self, own: Chance, known: Sequence[Chance]) -> Chance:
        """The first of several accounts of the scheduler's choices that explains everything, else the best of them."""
        best = own
        for chance in known:
            if chance == best or not self.nearest.rank[1]:
                continue
            before = self.nearest.rank
            refined = self.refined(chance)
            if best is own or self.nearest.rank < before:
                best = refined
        return best

    def seeded(self, chosen: Chance, seeds: int) -> None:
        """Other orders of maps, until one explains everything, or until they show that they explain nothing."""
        alike: int = 0
        before: list[Difference] | None = None
        for seed in range(1, seeds + 1):
            if not self.nearest.rank[1] or alike == ALIKE:
                return
            found = self.run(replace(chosen, order_seed=seed, tie_seed=seed)).differences
            alike, before = (alike + 1 if found == before and not other_victims(found) else 0), found


def other_victims(found: Iterable[Difference]) -> bool:
    """Whether somebody else was evicted: few orders of a node's tasks let a gang keep the pods that it kept."""
    return {NOTHING, "yes"} <= {one.observed for one in found if one.what == EVICTED}


def _runs(first: Recording, seen: Outcome, cycles: int, tried: int) -> Iterator[Followed]:
    """What one cycle comes to, and two together, and so on."""
    chain = Cycles(first)
    outcome, owner = predicted(first), job_of(first)
    for count in range(1, cycles + 1):
        found = Followed(first, outcome, differences(outcome, seen, owner), tried, count)
        yield found
        if count < cycles and not chain.panicked:
            outcome = outcome.then(predicted(chain.next()))


def words(chance: Chance) -> list[str]:
    """The settings as edits that anybody can repeat."""
    edits = [f"chance:{name}[{one}]={text}" for name in BY_NAME for one, text in getattr(chance, name).items()]
    seeds = {"order_seed": chance.order_seed, "tie_seed": chance.tie_seed}
    return [*edits, *(f"chance:{name}={seed}" for name, seed in seeds.items() if seed is not None)]
