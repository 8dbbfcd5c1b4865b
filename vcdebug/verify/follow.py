"""The replay follows what a real scheduler drew, before anything is called a difference."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from vcdebug.debugger.cycles import Cycles
from vcdebug.framework.webhook import AskExtender
from vcdebug.snapshot.chance import Chance
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.trace.cut import whole
from vcdebug.trace.recording import Recording
from vcdebug.trace.replay import replay
from vcdebug.verify.compare import Difference, differences, job_of
from vcdebug.verify.outcome import Outcome, predicted

SEEDS = 24
"""How many orders of maps and draws are tried where the choice of nodes alone explains too little."""
ALIKE = 6
"""Of them, how many in a row that come to the same show that the order does not matter here."""


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
    snapshot: Snapshot, seen: Outcome, *, seeds: int = SEEDS, cycles: int = 1, ask_extender: AskExtender | None = None
) -> Followed:
    """The replay as it is, else with the scheduler's own choices, else under other orders of maps too.

    Where the scheduler may have run more than one cycle, as many of the replay are laid beside it as fit best.
    """
    best: Followed | None = None
    alike, before = 0, None
    for tried, chance in enumerate(_chances(snapshot.chance, seen, seeds), start=1):
        first = whole(replay(replace(snapshot, chance=chance), ask_extender=ask_extender))
        for run in _runs(first, seen, cycles, tried):
            if best is None or run.rank < best.rank:
                best = run
            if not best.rank[1]:
                return replace(best, tried=tried)
        found = differences(predicted(first), seen, job_of(first))
        alike, before = (alike + 1 if found == before else 0), found
        if alike == ALIKE:
            break
    assert best is not None
    return replace(best, tried=tried)


def _runs(first: Recording, seen: Outcome, cycles: int, tried: int) -> Iterator[Followed]:
    """What one cycle comes to, and two together, and so on."""
    chain = Cycles(first)
    outcome, owner = predicted(first), job_of(first)
    for count in range(1, cycles + 1):
        yield Followed(first, outcome, differences(outcome, seen, owner), tried, count)
        if count < cycles and not chain.panicked:
            outcome = outcome.then(predicted(chain.next()))


def _chances(own: Chance, seen: Outcome, seeds: int) -> Iterator[Chance]:
    yield own
    chosen = replace(own, choices=seen.nodes)
    if seen.nodes:
        yield chosen
    yield from (replace(chosen, order_seed=seed, tie_seed=seed) for seed in range(1, seeds + 1))


def words(chance: Chance) -> list[str]:
    """The settings as edits that anybody can repeat."""
    edits = [f"chance:choices[{pod}]={node}" for pod, node in chance.choices.items()]
    seeds = {"order_seed": chance.order_seed, "tie_seed": chance.tie_seed}
    return [*edits, *(f"chance:{name}={seed}" for name, seed in seeds.items() if seed is not None)]
