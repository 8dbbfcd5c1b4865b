"""A plan of fixes: what it changes, what came of it, its rank and its words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vcdebug.amount_text import capitalize_first, count_noun
from vcdebug.explain.answer import ADVICE_OWNER, AdviceHarm
from vcdebug.whatif.fixes.fix import Fix, FixKind
from vcdebug.whatif.fixes.trial import AssumedPods, EditTexts, TrialOutcome


@dataclass(frozen=True, slots=True)
class FixPlan:
    """Some fixes, each with the amount that is tried."""

    fixes: tuple[Fix, ...]
    amounts: tuple[int | None, ...]

    @classmethod
    def of_fixes(cls, *fixes: Fix) -> FixPlan:
        """A plan with each fix at an amount that is surely enough."""
        return cls(fixes, tuple(None if one.amount is None else one.amount.works for one in fixes))

    @property
    def filled_fixes(self) -> list[Fix]:
        """The fixes with their amounts filled in."""
        pairs = zip(self.fixes, self.amounts, strict=True)
        return [fix if amount is None else fix.with_amount(amount) for fix, amount in pairs]

    @property
    def all_edits(self) -> EditTexts:
        """The edits in the form of --set."""
        return tuple(edit for fix in self.filled_fixes for edit in fix.edits)

    @property
    def worst_harm(self) -> AdviceHarm:
        """The harm of the plan's most harmful fix."""
        return max(fix.harm for fix in self.fixes)

    @property
    def worst_kind(self) -> FixKind:
        """The kind of the plan's fix that a maintainer would propose last."""
        return max(fix.kind for fix in self.fixes)

    @property
    def family_key(self) -> frozenset[str]:
        """Plans with the same key are the same fixes in another order or size."""
        return frozenset(fix.family or fix.words for fix in self.fixes)

    @property
    def aspect_key(self) -> frozenset[str]:
        """Plans with the same key change the same things, such as the job's priority, to other values."""
        return frozenset(fix.aspect or fix.words for fix in self.fixes)

    def without_places(self, places: Iterable[int]) -> FixPlan:
        """The plan with some fixes left out."""
        out = dict.fromkeys(places)
        kept = [place for place in range(len(self.fixes)) if place not in out]
        return FixPlan(tuple(self.fixes[place] for place in kept), tuple(self.amounts[place] for place in kept))

    def with_amount(self, place: int, amount: int) -> FixPlan:
        """The plan with another amount at one fix."""
        return FixPlan(self.fixes, (*self.amounts[:place], amount, *self.amounts[place + 1 :]))


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
    def gets_in(self) -> bool:
        """Whether the job is at least admitted with it."""
        return self.outcome.reached or self.outcome.admitted

    def does_more_than(self, other: TriedPlan) -> bool:
        """Whether it makes all the edits of another plan that ranks no lower, and more, and places no more pods."""
        more = frozenset(self.plan.all_edits) > frozenset(other.plan.all_edits)
        return more and self.outcome.places <= other.outcome.places and other.rank_key <= self.rank_key

    @property
    def plan_words(self) -> str:
        """What to do, in one line."""
        return "; ".join(fix.words for fix in self.plan.filled_fixes)

    @property
    def rank_key(self) -> tuple[bool, FixKind, bool, AdviceHarm, int, int]:
        """What works first, in a maintainer's order, without harm to other jobs, least harm, fewest changes and
        fewest costs.
        """
        plan, costs = self.plan, self.outcome.costs
        ends = any(cost.startswith(("ends", "evicts")) for cost in costs)
        kind = max(map(_rank_of_kind, plan.fixes, plan.amounts))
        return not self.is_proven, kind, ends, plan.worst_harm, len(plan.fixes), len(costs)


def _rank_of_kind(fix: Fix, amount: int | None) -> FixKind:
    """The kind of a fix; a request below half of the present one ranks as late as OTHER_PODS."""
    if fix.kind is FixKind.SMALLER and fix.amount is not None and amount is not None and amount * 2 < fix.amount.fails:
        return FixKind.OTHER_PODS
    return fix.kind


def combined_plan(fixes: Iterable[Fix], most: AdviceHarm, first: tuple[Fix, ...] = ()) -> FixPlan:
    """All that may be changed at once, one change of each aspect, the most harmful last, after what comes first."""
    there = [fix.aspect for fix in first]
    by_aspect = {fix.aspect: fix for fix in fixes if fix.aspect and fix.harm <= most and fix.aspect not in there}
    return FixPlan.of_fixes(*first, *sorted(by_aspect.values(), key=lambda fix: fix.harm))


def has_amount(plan: FixPlan, place: int) -> bool:
    """Whether the fix at a place has an amount."""
    return place < len(plan.amounts) and plan.amounts[place] is not None


class AmountBisection:
    """Between an amount that fails and one that works."""

    def __init__(self, remedy: TriedPlan, place: int, *, has_minimum: bool) -> None:
        fix, amount = remedy.plan.fixes[place], remedy.plan.amounts[place]
        assert fix.amount is not None
        assert amount is not None
        self.before = self.remedy = remedy
        # A job that has its minimum wants all its other pods, where that costs no other job anything.
        self._is_for_all = has_minimum and fix.kind in (FixKind.ENTITLEMENT, FixKind.MORE_ROOM)
        self._place = place
        self._step = fix.amount.step
        self._fails, self._works = fix.amount.fails, amount

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
        # A change that only admits the job is sought in the smallest amount that admits it.
        enough = outcome is not None and (outcome.reached or (outcome.admitted and not self.before.is_proven))
        if outcome is not None and enough and (not self._is_for_all or outcome.places >= self.before.outcome.places):
            self._works = amount
            self.remedy = replace(self.remedy, plan=plan, outcome=outcome)
        else:
            self._fails = amount


def _describe_admitted(assumed: AssumedPods | None, *, short: bool) -> str:
    """What is known of the pods that are created once the job is admitted, in words."""
    admitted = "admits the job"
    if short and assumed is not None:
        if assumed.scheduled:
            return f"{admitted}, and its pods would fit {', '.join(assumed.nodes[:4])}"
        return f"{admitted}; then {assumed.reason}"
    if assumed is None:
        return f"{admitted}; whether its pods fit is unknown (their size is not in the snapshot)"
    if assumed.scheduled:
        return f"{admitted}; its pods would fit {', '.join(assumed.nodes[:4])} (assumed: {assumed.words})"
    return f"{admitted}, but its pods would not fit: {assumed.sentence} (assumed: {assumed.words})"


def describe_result(remedy: TriedPlan, *, short: bool = False) -> str:
    """What came of it, in a few words; `short` leaves out which pods were assumed."""
    outcome = remedy.outcome
    where = f" on {', '.join(outcome.nodes[:4])}{' …' if len(outcome.nodes) > 4 else ''}" if outcome.nodes else ""
    of_all = f"{outcome.places} of {count_noun(outcome.places + outcome.left, 'Pending pod')}"
    pods = of_all if outcome.left and outcome.reached else count_noun(outcome.places, "pod")
    others = count_noun(outcome.others_on_added, "pod") if outcome.others_on_added else ""
    beside = f" (the other added nodes get {others} of other jobs)" if others else ""
    places = f"places {pods}{where}{beside}" if outcome.places else ""
    # Asked first: an admitted job whose pods are made next counts as scheduled too, and needs those pods.
    if outcome.admitted:
        return _describe_admitted(outcome.assumed, short=short)
    if outcome.scheduled:
        return (places or "the job then needs no more pods") + (f"; {outcome.later}" if outcome.later else "")
    return f"{places + ', ' if places else ''}then {outcome.cause}: {outcome.sentence}"


def describe_short_plan(remedy: TriedPlan) -> str:
    """The change, its effect, and the role that has to agree, in a line."""
    effect = "; ".join((describe_result(remedy, short=True), *remedy.outcome.costs))
    return f"{remedy.plan_words}. {capitalize_first(effect)}.  [{ADVICE_OWNER[remedy.plan.worst_harm]}]"
