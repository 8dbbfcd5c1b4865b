"""The search for remedies: single changes first, then changes on top of those that got further, then the amounts.

It never runs anything itself: it says what to try next and is told what came of it, so that trials may run anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from vcdebug.debugger.remedies.lever import Harm, Lever
from vcdebug.debugger.remedies.trial import Edits, Outcome

Rounds = Generator[list[Edits], "list[Outcome | None]", None]
"""Yields edits to try, each list independent of order; is sent an outcome for each."""
Run = Callable[[list[Edits]], "list[Outcome | None]"]

MOST_CHANGES: Final = 3
"""Changes that are combined at most."""
ENOUGH: Final = 8
"""Remedies that a person would look at."""
ROUND: Final = 8
"""Trials between two looks at the budget."""
FRONTIER: Final = 4
"""Plans of one size that are built upon."""
ON_TOP: Final = 12
"""Levers that are tried on top of each of them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Some levers, each with the amount that is tried."""

    levers: tuple[Lever, ...]
    amounts: tuple[int | None, ...]

    @classmethod
    def of(cls, *levers: Lever) -> Plan:
        """A plan with each lever at an amount that is surely enough."""
        return cls(levers, tuple(None if one.amount is None else one.amount.works for one in levers))

    @property
    def fixed(self) -> list[Lever]:
        """The levers with their amounts filled in."""
        pairs = zip(self.levers, self.amounts, strict=True)
        return [lever if amount is None else lever.at(amount) for lever, amount in pairs]

    @property
    def edits(self) -> Edits:
        """As --set takes them."""
        return tuple(edit for lever in self.fixed for edit in lever.edits)

    @property
    def harm(self) -> Harm:
        """The harm of the plan's most harmful lever."""
        return max(lever.harm for lever in self.levers)

    @property
    def family(self) -> frozenset[str]:
        """Plans of one family are the same remedy in another order or size."""
        return frozenset(lever.family or lever.words for lever in self.levers)

    def without(self, place: int) -> Plan:
        """The plan with one lever left out."""
        return Plan(self.levers[:place] + self.levers[place + 1 :], self.amounts[:place] + self.amounts[place + 1 :])

    def at(self, place: int, amount: int) -> Plan:
        """The plan with another amount at one lever."""
        return Plan(self.levers, (*self.amounts[:place], amount, *self.amounts[place + 1 :]))


@dataclass(frozen=True, slots=True)
class Remedy:
    """A plan that was carried out, and what it came to."""

    plan: Plan
    outcome: Outcome

    @property
    def proven(self) -> bool:
        """Whether the job gets what it waits for with it."""
        return self.outcome.reached

    @property
    def words(self) -> str:
        """What to do, in one line."""
        return ", and ".join(lever.words for lever in self.plan.fixed)

    @property
    def order(self) -> tuple[bool, Harm, int, int]:
        """What works before what does not, then the least harm, fewest changes, fewest who pay."""
        return not self.proven, self.plan.harm, len(self.plan.levers), len(self.outcome.costs)


class Search:
    """Looks for remedies of one job; what it has found so far can be read at any time."""

    def __init__(self, cause: str, places: int, levers: Sequence[Lever], relevant: int) -> None:
        self._cause = cause
        self._places = places
        self._levers = levers
        self._relevant = relevant
        self._proven: list[Remedy] = []
        self._steps: list[Remedy] = []
        """Plans that got the job further, but not in."""
        self._tried: dict[Edits, Outcome | None] = {}
        self.finished = False
        """Whether everything was tried that was meant to be."""

    @property
    def trials(self) -> int:
        """How many cycles were run."""
        return len(self._tried)

    @property
    def remedies(self) -> list[Remedy]:
        """The best ones; steps that lead nowhere yet only where nothing works."""
        ordered = sorted(self._proven or self._steps, key=lambda remedy: remedy.order)
        mildest = {remedy.plan.family: remedy for remedy in reversed(ordered)}
        return [remedy for remedy in ordered if mildest[remedy.plan.family] is remedy][:ENOUGH]

    def rounds(self) -> Rounds:
        """All trials, what is most likely to help first."""
        yield from self._all([Plan.of(lever) for lever in self._levers[: self._relevant]])
        if not self._proven:
            yield from self._all([Plan.of(lever) for lever in self._levers[self._relevant :]])
        frontier = self._frontier(1)
        for size in range(2, MOST_CHANGES + 1):
            if self._proven:
                break
            yield from self._all(_built_upon(frontier))
            frontier = self._frontier(size)
        yield from self._shortened()
        yield from self._tightened()
        self.finished = True

    def _all(self, plans: Sequence[Plan]) -> Rounds:
        """Try plans in rounds; what is new goes to the proven ones or to the steps."""
        fresh = list({frozenset(plan.edits): plan for plan in plans if plan.edits not in self._tried}.values())
        for start in range(0, len(fresh), ROUND):
            known = [remedy.plan.family for remedy in self._proven]
            some = [plan for plan in fresh[start : start + ROUND] if plan.family not in known]
            if not some:
                continue
            for plan, outcome in zip(some, (yield [plan.edits for plan in some]), strict=True):
                self._tried[plan.edits] = outcome
                if outcome is not None and outcome.reached:
                    self._proven.append(Remedy(plan, outcome))
                elif outcome is not None and self._further(outcome):
                    self._steps.append(Remedy(plan, outcome))

    def _further(self, outcome: Outcome) -> bool:
        return outcome.cause != self._cause or outcome.places > self._places

    def _frontier(self, size: int) -> list[Remedy]:
        """The steps of one size that got furthest."""
        steps = [step for step in self._steps if len(step.plan.levers) == size and step.outcome.levers]
        ranked = sorted(steps, key=lambda step: (-step.outcome.places, step.plan.harm, len(step.outcome.costs)))
        causes: dict[str, int] = {}
        kept = []
        for step in ranked:
            causes[step.outcome.cause] = causes.get(step.outcome.cause, 0) + 1
            if causes[step.outcome.cause] <= FRONTIER // 2:
                kept.append(step)
        return kept[:FRONTIER]

    def _shortened(self) -> Rounds:
        """Leave out what a plan does not need."""
        for remedy in [one for one in self._proven if len(one.plan.levers) > 1]:
            shorter = [remedy.plan.without(place) for place in range(len(remedy.plan.levers))]
            before = len(self._proven)
            yield from self._all(shorter)
            known = [self._tried.get(plan.edits) for plan in shorter]
            if len(self._proven) > before or any(one is not None and one.reached for one in known):
                self._proven.remove(remedy)

    def _tightened(self) -> Rounds:
        """The mildest amount of each remedy that works, by bisection of all at once."""
        kept = self.remedies if self._proven else []
        for place in range(MOST_CHANGES):
            open_ = [_Bisection(remedy, place) for remedy in kept if _has_amount(remedy.plan, place)]
            while busy := [one for one in open_ if not one.done]:
                plans = [one.probe for one in busy]
                for one, plan, outcome in zip(busy, plans, (yield [plan.edits for plan in plans]), strict=True):
                    self._tried[plan.edits] = outcome
                    one.learn(plan, outcome)
            closed = {id(one.before): one.remedy for one in open_}
            kept = [closed.get(id(remedy), remedy) for remedy in kept]
            self._proven = kept


def _built_upon(frontier: Sequence[Remedy]) -> list[Plan]:
    """Levers on top of each step, taken in turn so that none of them waits for the others."""
    stacks = [[Plan.of(*step.plan.levers, lever) for lever in step.outcome.levers[:ON_TOP]] for step in frontier]
    return [stack[at] for at in range(ON_TOP) for stack in stacks if at < len(stack)]


def _has_amount(plan: Plan, place: int) -> bool:
    return place < len(plan.amounts) and plan.amounts[place] is not None


class _Bisection:
    """Between an amount that fails and one that works."""

    def __init__(self, remedy: Remedy, place: int) -> None:
        lever, amount = remedy.plan.levers[place], remedy.plan.amounts[place]
        assert lever.amount is not None
        assert amount is not None
        self.before = self.remedy = remedy
        self._place = place
        self._step = lever.amount.step
        self._fails, self._works = lever.amount.fails, amount

    @property
    def done(self) -> bool:
        """Whether no amount is left in between."""
        return abs(self._works - self._fails) <= self._step

    @property
    def probe(self) -> Plan:
        """The plan with the amount half-way, a whole number of steps from the one that fails."""
        steps = abs(self._works - self._fails) // self._step
        way = max(1, steps // 2) * self._step
        middle = self._fails + way if self._works > self._fails else self._fails - way
        return self.remedy.plan.at(self._place, middle)

    def learn(self, plan: Plan, outcome: Outcome | None) -> None:
        """Take in one trial's result and halve the range of amounts that is left."""
        amount = plan.amounts[self._place]
        assert amount is not None
        if outcome is not None and outcome.reached:
            self._works = amount
            self.remedy = replace(self.remedy, plan=plan, outcome=outcome)
        else:
            self._fails = amount


def carried_out(search: Search, run: Run, go_on: Callable[[Search], bool] = lambda _search: True) -> Search:
    """Run the search's trials as long as it is wanted."""
    rounds = search.rounds()
    wanted = next(rounds, None)
    while wanted is not None and go_on(search):
        try:
            wanted = rounds.send(run(wanted))
        except StopIteration:
            break
    rounds.close()
    return search
