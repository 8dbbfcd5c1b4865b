"""Plan: some levers together, each with an amount; a remedy, a plan that was carried out; and its mildest amounts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vcdebug.explain.answer import AdviceHarm
from vcdebug.whatif.fixes.fix import Fix
from vcdebug.whatif.fixes.trial import EditTexts, TrialOutcome


@dataclass(frozen=True, slots=True)
class FixPlan:
    """Some levers, each with the amount that is tried."""

    levers: tuple[Fix, ...]
    amounts: tuple[int | None, ...]

    @classmethod
    def of_fixes(cls, *levers: Fix) -> FixPlan:
        """A plan with each lever at an amount that is surely enough."""
        return cls(levers, tuple(None if one.amount is None else one.amount.works for one in levers))

    @property
    def filled_fixes(self) -> list[Fix]:
        """The levers with their amounts filled in."""
        pairs = zip(self.levers, self.amounts, strict=True)
        return [lever if amount is None else lever.with_amount(amount) for lever, amount in pairs]

    @property
    def all_edits(self) -> EditTexts:
        """As --set takes them."""
        return tuple(edit for lever in self.filled_fixes for edit in lever.edits)

    @property
    def worst_harm(self) -> AdviceHarm:
        """The harm of the plan's most harmful lever."""
        return max(lever.harm for lever in self.levers)

    @property
    def is_risky(self) -> bool:
        """Whether any of its levers goes against what somebody has said about a node."""
        return any(lever.risky for lever in self.levers)

    @property
    def family_key(self) -> frozenset[str]:
        """Plans of one family are the same remedy in another order or size."""
        return frozenset(lever.family or lever.words for lever in self.levers)

    def without_places(self, places: Iterable[int]) -> FixPlan:
        """The plan with some levers left out."""
        out = dict.fromkeys(places)
        kept = [place for place in range(len(self.levers)) if place not in out]
        return FixPlan(tuple(self.levers[place] for place in kept), tuple(self.amounts[place] for place in kept))

    def with_amount(self, place: int, amount: int) -> FixPlan:
        """The plan with another amount at one lever."""
        return FixPlan(self.levers, (*self.amounts[:place], amount, *self.amounts[place + 1 :]))


@dataclass(frozen=True, slots=True)
class TriedPlan:
    """A plan that was carried out, and what it came to."""

    plan: FixPlan
    outcome: TrialOutcome

    @property
    def is_proven(self) -> bool:
        """Whether the job gets what it waits for with it."""
        return self.outcome.reached

    @property
    def plan_words(self) -> str:
        """What to do, in one line."""
        return ", and ".join(lever.words for lever in self.plan.filled_fixes)

    @property
    def rank_key(self) -> tuple[bool, bool, bool, AdviceHarm, int, bool, bool, int]:
        """Works at all, no risk, mends what is broken, least harm, fewest changes, all that the job asks for, nobody's
        end, fewest costs.
        """
        costs, levers = self.outcome.costs, self.plan.levers
        ends = any(cost.startswith(("ends", "evicts")) for cost in costs)
        less = any(lever.less for lever in levers)
        mends = all(lever.mends for lever in levers)
        return (
            not self.is_proven,
            self.plan.is_risky,
            not mends,
            self.plan.worst_harm,
            len(levers),
            less,
            ends,
            len(costs),
        )


def combined_plan(levers: Iterable[Fix], most: AdviceHarm, first: tuple[Fix, ...] = ()) -> FixPlan:
    """All that may be changed at once, one change of each aspect, the most harmful last, after what comes first."""
    there = [lever.aspect for lever in first]
    by_aspect = {
        lever.aspect: lever for lever in levers if lever.aspect and lever.harm <= most and lever.aspect not in there
    }
    return FixPlan.of_fixes(*first, *sorted(by_aspect.values(), key=lambda lever: lever.harm))


def has_amount(plan: FixPlan, place: int) -> bool:
    """Whether the lever at a place has an amount."""
    return place < len(plan.amounts) and plan.amounts[place] is not None


class AmountBisection:
    """Between an amount that fails and one that works."""

    def __init__(self, remedy: TriedPlan, place: int) -> None:
        lever, amount = remedy.plan.levers[place], remedy.plan.amounts[place]
        assert lever.amount is not None
        assert amount is not None
        self.before = self.remedy = remedy
        self._place = place
        self._step = lever.amount.step
        self._fails, self._works = lever.amount.fails, amount

    @property
    def is_done(self) -> bool:
        """Whether no amount is left in between."""
        return abs(self._works - self._fails) <= self._step

    @property
    def halfway_plan(self) -> FixPlan:
        """The plan with the amount half-way, a whole number of steps from the one that fails."""
        steps = abs(self._works - self._fails) // self._step
        way = max(1, steps // 2) * self._step
        middle = self._fails + way if self._works > self._fails else self._fails - way
        return self.remedy.plan.with_amount(self._place, middle)

    def learn_result(self, plan: FixPlan, outcome: TrialOutcome | None) -> None:
        """Take in one trial's result and halve the range of amounts that is left."""
        amount = plan.amounts[self._place]
        assert amount is not None
        if outcome is not None and outcome.reached:
            self._works = amount
            self.remedy = replace(self.remedy, plan=plan, outcome=outcome)
        else:
            self._fails = amount
