"""Bisection: the mildest amount of one lever of a remedy that still works."""

from __future__ import annotations

from dataclasses import replace

from vcdebug.debugger.remedies.plan import Plan, Remedy
from vcdebug.debugger.remedies.trial import Outcome


def has_amount(plan: Plan, place: int) -> bool:
    """Whether the lever at a place has an amount."""
    return place < len(plan.amounts) and plan.amounts[place] is not None


class Bisection:
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
