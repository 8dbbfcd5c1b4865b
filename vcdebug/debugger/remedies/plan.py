"""Plan: some levers together, each with an amount; and a remedy, a plan that was carried out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vcdebug.debugger.remedies.lever import Lever
from vcdebug.debugger.remedies.trial import Edits, Outcome
from vcdebug.explain.advice import Harm


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
    def risky(self) -> bool:
        """Whether any of its levers goes against what somebody has said about a node."""
        return any(lever.risky for lever in self.levers)

    @property
    def family(self) -> frozenset[str]:
        """Plans of one family are the same remedy in another order or size."""
        return frozenset(lever.family or lever.words for lever in self.levers)

    def without(self, places: Iterable[int]) -> Plan:
        """The plan with some levers left out."""
        out = dict.fromkeys(places)
        kept = [place for place in range(len(self.levers)) if place not in out]
        return Plan(tuple(self.levers[place] for place in kept), tuple(self.amounts[place] for place in kept))

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
    def order(self) -> tuple[bool, bool, bool, Harm, int, bool, bool, int]:
        """Works at all, no risk, mends what is broken, least harm, fewest changes, all that the job asks for, nobody's
        end, fewest costs.
        """
        costs, levers = self.outcome.costs, self.plan.levers
        ends = any(cost.startswith(("ends", "evicts")) for cost in costs)
        less = any(lever.less for lever in levers)
        mends = all(lever.mends for lever in levers)
        return not self.proven, self.plan.risky, not mends, self.plan.harm, len(levers), less, ends, len(costs)


def everything(levers: Iterable[Lever], most: Harm, first: tuple[Lever, ...] = ()) -> Plan:
    """All that may be changed at once, one change of each aspect, the most harmful last, after what comes first."""
    there = [lever.aspect for lever in first]
    by_aspect = {
        lever.aspect: lever for lever in levers if lever.aspect and lever.harm <= most and lever.aspect not in there
    }
    return Plan.of(*first, *sorted(by_aspect.values(), key=lambda lever: lever.harm))
