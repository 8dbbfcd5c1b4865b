"""The search for remedies: single changes first, then changes on top of those that got further, then the amounts.

It never runs anything itself: it says what to try next and is told what came of it, so that trials may run anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Final

from vcdebug.debugger.remedies.lever import Lever
from vcdebug.debugger.remedies.plan import Bisection, Plan, Remedy, everything, has_amount
from vcdebug.debugger.remedies.trial import Edits, Outcome
from vcdebug.explain.answer import Harm

Rounds = Generator[list[Edits], "list[Outcome | None]", None]
"""Yields edits to try, each list independent of order; is sent an outcome for each."""
Run = Callable[[list[Edits]], "list[Outcome | None]"]

MOST_CHANGES: Final = 3
"""Changes that are combined at most."""
ENOUGH: Final = 8
"""Remedies that a person would look at."""
HALF_WAY: Final = 2
"""Changes that only get the job further, shown behind those that work, or where nothing does."""
ROUND: Final = 8
"""Trials between two looks at the budget."""
FRONTIER: Final = 4
"""Plans of one size that are built upon."""
AT_ONCE: Final = 2
"""Trials of which often the first decides."""
ON_TOP: Final = 12
"""Levers that are tried on top of each of them."""


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
        self._tight: list[frozenset[str]] = []
        """Families whose mildest amounts are known."""
        self.finished = False
        """Whether everything was tried that was meant to be."""

    @property
    def trials(self) -> int:
        """How many cycles were run."""
        return len([outcome for outcome in self._tried.values() if outcome is not None])

    @property
    def remedies(self) -> list[Remedy]:
        """The best ones; steps that lead nowhere yet where nothing works, or where they admit the job at least."""
        further = [step for step in self._steps if step.outcome.admitted or step.outcome.places > self._places]
        if not self._proven:
            return _best_of_each(further)[:HALF_WAY]
        half_way = [step for step in self._steps if step.outcome.admitted and len(step.plan.levers) == 1]
        return [*_best_of_each(self._proven), *_best_of_each(half_way)[:HALF_WAY]][:ENOUGH]

    def rounds(self) -> Rounds:
        """All trials, what is most likely to help first."""
        for harm in Harm:
            levers = [lever for lever in self._levers[: self._relevant] if lever.harm is harm]
            if len(self.remedies) < ENOUGH or not self._proven:
                yield from self._all([Plan.of(lever) for lever in levers])
                yield from self._tightened()
        if not self._proven:
            yield from self._all([Plan.of(lever) for lever in self._levers[self._relevant :]])
        if not self._proven:
            yield from self._everything()
        yield from self._chained()
        yield from self._shortened()
        yield from self._tightened()
        self.finished = True

    def _everything(self) -> Rounds:
        """All changes that go together at once, and of them the few that matter; then on top of what got further."""
        bases = [((), self._levers), *((step.plan.levers, step.outcome.levers) for step in self._frontier(1)[:2])]
        for first, levers in bases:
            for harm in Harm:
                plan = everything(levers, harm, first)
                if len(plan.levers) < len(first) + 2:
                    continue
                yield from self._all([plan])
                outcome = self._tried.get(plan.edits)
                if outcome is not None and outcome.reached:
                    yield from self._smallest(Remedy(plan, outcome))
                    return

    def _smallest(self, remedy: Remedy) -> Rounds:
        """Leave out halves, then quarters, at last single changes, the most harmful first."""
        self._proven = [remedy]
        size = (len(remedy.plan.levers) + 1) // 2
        while size:
            count = len(remedy.plan.levers)
            plans = [remedy.plan.without(range(max(0, end - size), end)) for end in range(count, 0, -size)]
            shorter = yield from self._first_that_works([plan for plan in plans if plan.levers])
            if shorter is None:
                size //= 2
                continue
            remedy = shorter
            self._proven = [remedy]
            size = min(size, (len(remedy.plan.levers) + 1) // 2)

    def _first_that_works(self, plans: Sequence[Plan]) -> Generator[list[Edits], list[Outcome | None], Remedy | None]:
        """Try plans, a few at a time."""
        for start in range(0, len(plans), AT_ONCE):
            some = plans[start : start + AT_ONCE]
            fresh = [plan.edits for plan in some if plan.edits not in self._tried]
            if fresh:
                self._tried.update(zip(fresh, (yield fresh), strict=True))
            for plan in some:
                outcome = self._tried[plan.edits]
                if outcome is not None and outcome.reached:
                    return Remedy(plan, outcome)
        return None

    def _chained(self) -> Rounds:
        """Changes on top of those that got further, as long as they are fewer than what is known to work."""
        for size in range(2, MOST_CHANGES + 1):
            safe = [len(remedy.plan.levers) for remedy in self._proven if not remedy.plan.risky]
            if safe and min(safe) <= size:
                return
            yield from self._all(_built_upon(self._frontier(size - 1)))

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
                elif outcome is not None and self._further(outcome) and len(plan.levers) <= MOST_CHANGES:
                    self._steps.append(Remedy(plan, outcome))

    def _further(self, outcome: Outcome) -> bool:
        return outcome.admitted or outcome.cause != self._cause or outcome.places > self._places

    def _frontier(self, size: int) -> list[Remedy]:
        """The steps of one size that got furthest."""
        steps = [step for step in self._steps if len(step.plan.levers) == size and step.outcome.levers]
        ranked = sorted(
            steps, key=lambda step: (step.plan.risky, -step.outcome.places, step.plan.harm, len(step.outcome.costs))
        )
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
            shorter = [remedy.plan.without([place]) for place in range(len(remedy.plan.levers))]
            before = len(self._proven)
            yield from self._all(shorter)
            known = [self._tried.get(plan.edits) for plan in shorter]
            if len(self._proven) > before or any(one is not None and one.reached for one in known):
                self._proven.remove(remedy)

    def _tightened(self) -> Rounds:
        """The mildest amount of each remedy that works, by bisection of all at once."""
        loose = [one for one in self.remedies if one.proven and one.plan.family not in self._tight]
        for place in range(max((len(remedy.plan.levers) for remedy in loose), default=0)):
            open_ = [Bisection(remedy, place) for remedy in loose if has_amount(remedy.plan, place)]
            while busy := [one for one in open_ if not one.done]:
                plans = [one.probe for one in busy]
                for one, plan, outcome in zip(busy, plans, (yield [plan.edits for plan in plans]), strict=True):
                    self._tried[plan.edits] = outcome
                    one.learn(plan, outcome)
            closed = {id(one.before): one.remedy for one in open_}
            loose = [closed.get(id(remedy), remedy) for remedy in loose]
            self._proven = [closed.get(id(remedy), remedy) for remedy in self._proven]
        self._tight += [remedy.plan.family for remedy in loose]


def _best_of_each(remedies: Sequence[Remedy]) -> list[Remedy]:
    """The best of each family, the best first."""
    ordered = sorted(remedies, key=lambda remedy: remedy.order)
    mildest = {remedy.plan.family: remedy for remedy in reversed(ordered)}
    return [remedy for remedy in ordered if mildest[remedy.plan.family] is remedy]


def _built_upon(frontier: Sequence[Remedy]) -> list[Plan]:
    """Levers on top of each step, taken in turn so that none of them waits for the others."""
    stacks = [[Plan.of(*step.plan.levers, lever) for lever in _others(step)[:ON_TOP]] for step in frontier]
    return [stack[at] for at in range(ON_TOP) for stack in stacks if at < len(stack)]


def _others(step: Remedy) -> list[Lever]:
    """What could be tried on top, of another aspect: nothing is changed twice."""
    there = [lever.aspect for lever in step.plan.levers if lever.aspect]
    return [lever for lever in step.outcome.levers if lever.aspect not in there]


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
