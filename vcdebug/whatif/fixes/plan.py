"""A plan of fixes: its edits, its result in a trial, its rank, and its description."""

from __future__ import annotations

from collections.abc import Container, Iterable

from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import capitalize_first, count_noun
from vcdebug.explain.answer import ADVICE_OWNER, AdviceHarm
from vcdebug.whatif.fixes.fix import Fix, FixKind
from vcdebug.whatif.fixes.trial import AssumedPods, Cost, CostKind, EditTexts, TrialOutcome


class FixPlan(Struct, frozen=True):
    """Several fixes that are tried together, each with an amount."""

    fixes: tuple[Fix, ...]
    amounts: tuple[int | None, ...]

    @classmethod
    def of_fixes(cls, *fixes: Fix) -> FixPlan:
        """A plan with each fix at the amount that works if any does."""
        return cls(fixes, tuple(None if fix.amount is None else fix.amount.working for fix in fixes))

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
    def changes(self) -> frozenset[str]:
        """What the plan changes: for a fix with an amount the fields, whatever their amount, else the edits."""
        filled = zip(self.filled_fixes, self.amounts, strict=True)
        edits = ((edit, amount) for fix, amount in filled for edit in fix.edits)
        return frozenset(edit if amount is None else edit.partition("=")[0] for edit, amount in edits)

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
        """A key that is equal for plans of the same fixes in another order or size."""
        return frozenset(f"{fix.text} {fix.aspect}" for fix in self.fixes)

    @property
    def aspect_key(self) -> frozenset[str]:
        """A key that is equal for plans that change the same things, such as the job's priority, to other values."""
        return frozenset(fix.aspect_key for fix in self.fixes)

    def without_fixes(self, indexes: Iterable[int]) -> FixPlan:
        """The plan without the fixes at these indexes."""
        left_out = dict.fromkeys(indexes)
        kept = [index for index in range(len(self.fixes)) if index not in left_out]
        return FixPlan(tuple(self.fixes[index] for index in kept), tuple(self.amounts[index] for index in kept))

    def with_amount(self, index: int, amount: int) -> FixPlan:
        """The plan with another amount for the fix at index `index`."""
        return FixPlan(self.fixes, (*self.amounts[:index], amount, *self.amounts[index + 1 :]))


class TriedPlan(Struct, frozen=True):
    """A plan that was replayed, and its outcome."""

    plan: FixPlan
    outcome: TrialOutcome

    @property
    def is_proven(self) -> bool:
        """Whether the plan places the job, or the pods that would be created."""
        return self.outcome.is_reached

    @property
    def is_worth_telling(self) -> bool:
        """Whether the plan places or admits the job, or corrects what is wrong at the cost of no other job."""
        return self.outcome.is_reached or self.outcome.admitted or (self.corrects and not self.outcome.costs)

    @property
    def corrects(self) -> bool:
        """Whether the plan corrects what the answer names, so that it is shown even if another cause remains."""
        return self.plan.fixes[0].corrects and not self.outcome.has_flaw

    def does_more_than(self, other: TriedPlan) -> bool:
        """Whether the plan changes all that one of at least its rank changes, and more, but places no more pods."""
        # Where the pods do not exist yet, the same minResources means other pods with another minMember.
        if self.outcome.assumed != other.outcome.assumed:
            return False
        has_more_edits = self.plan.changes > other.plan.changes
        return has_more_edits and self.outcome.placed <= other.outcome.placed and other.rank_key <= self.rank_key

    @property
    def same_effect_key(self) -> tuple[frozenset[str], int, tuple[Cost, ...], AssumedPods | None]:
        """A key that is equal for plans that change the same things with the same effect."""
        return self.plan.aspect_key, self.outcome.placed, self.outcome.costs, self.outcome.assumed

    @property
    def side_effects_or_none(self) -> str:
        """The side effects, also where there are none."""
        return self.side_effects or "no other job is affected"

    @property
    def side_effects(self) -> str:
        """What the plan changes for other jobs, in words; empty for nothing."""
        # A plan that only keeps pods has no other result.
        keeps = self.outcome.keeps if self.outcome.placed else ""
        return "; ".join(filter(None, (*(cost.text for cost in self.outcome.costs), keeps)))

    @property
    def plan_words(self) -> str:
        """The changes of the plan, in one line."""
        return "; ".join(fix.text for fix in self.plan.filled_fixes)

    @property
    def rank_key(self) -> tuple[bool, FixKind, CostKind, AdviceHarm, int, int]:
        """The one order of plans: what a maintainer would try first.

        Proven plans first, since the others do not close the ticket. Then by kind, in the order of what a change costs:
        a repair nothing, a limit or a switch an agreement, the job's settings its owner's work, nodes money; last come
        other jobs' pods and rules that were made on purpose. Within a kind a plan that ends or evicts
        running pods of other jobs comes after those that do not (a Pending pod has done no work yet), and pods ended by
        hand after evictions, which the scheduler repeats for the next job; then the change
        of the nearer owner (job, queue, cluster), then the one with fewer changes and side effects.
        """
        plan, costs = self.plan, self.outcome.costs
        worst_cost = max((cost.kind for cost in costs), default=CostKind.DELAY)
        kind = max(map(_rank_of_kind, plan.fixes, plan.amounts))
        # A smaller gang of which pods stay Pending is no substitute for room for all of them.
        is_part = kind is FixKind.SMALLER and self.outcome.pending_count
        if is_part or self.outcome.starts_only_a_part:
            kind = max(kind, FixKind.OTHER_PODS)
        return not self.is_proven, kind, worst_cost, plan.worst_harm, len(plan.fixes), len(costs)


def _rank_of_kind(fix: Fix, amount: int | None) -> FixKind:
    """The kind of a fix; a request below half of the present one ranks as late as OTHER_PODS."""
    if (
        fix.kind is FixKind.SMALLER
        and fix.amount is not None
        and amount is not None
        and amount * 2 < fix.amount.failing
    ):
        return FixKind.OTHER_PODS
    return fix.kind


def combined_plan(fixes: Iterable[Fix], kinds: Container[FixKind], base_fixes: tuple[Fix, ...] = ()) -> FixPlan:
    """A plan of `base_fixes` and one fix per other aspect of these kinds, in the order of the kinds."""
    aspects = [fix.aspect_key for fix in base_fixes]
    by_aspect = {fix.aspect_key: fix for fix in fixes if fix.kind in kinds and fix.aspect_key not in aspects}
    return FixPlan.of_fixes(*base_fixes, *sorted(by_aspect.values(), key=lambda fix: fix.kind))


def has_amount(plan: FixPlan, index: int) -> bool:
    """Whether the fix at a place has an amount."""
    return index < len(plan.amounts) and plan.amounts[index] is not None


class AmountBisection:
    """The bisection of a fix's amount, between one that fails and one that works."""

    def __init__(self, remedy: TriedPlan, index: int, *, has_minimum: bool) -> None:
        fix, amount = remedy.plan.fixes[index], remedy.plan.amounts[index]
        assert fix.amount is not None
        assert amount is not None
        self.before = self.best_plan = remedy
        # For a job with its minimum, the amount has to place its other pods too if that costs no other job anything.
        self._is_for_all = has_minimum and fix.kind in (FixKind.ENTITLEMENT, FixKind.MORE_ROOM)
        self._fix_index = index
        self._step = fix.amount.step
        self._failing, self._working = fix.amount.failing, amount

    @property
    def is_done(self) -> bool:
        """Whether no untried amount is left between the two."""
        return abs(self._working - self._failing) <= self._step

    @property
    def halfway_plan(self) -> FixPlan:
        """The plan with the amount half-way, a whole number of steps from the one that fails."""
        steps = abs(self._working - self._failing) // self._step
        distance = max(1, steps // 2) * self._step
        middle = self._failing + distance if self._working > self._failing else self._failing - distance
        return self.best_plan.plan.with_amount(self._fix_index, middle)

    def learn_result(self, plan: FixPlan, outcome: TrialOutcome | None) -> None:
        """Take in one trial's result and halve the range of amounts that is left."""
        amount = plan.amounts[self._fix_index]
        assert amount is not None
        # For a change that only admits the job, the smallest amount that admits it is enough.
        is_enough = outcome is not None and (outcome.is_reached or (outcome.admitted and not self.before.is_proven))
        if outcome is not None and is_enough and (not self._is_for_all or outcome.placed >= self.before.outcome.placed):
            self._working = amount
            self.best_plan = replace(self.best_plan, plan=plan, outcome=outcome)
        else:
            self._failing = amount


def _describe_admitted(assumed: AssumedPods | None, *, short: bool) -> str:
    """Whether the pods that are created once the job is admitted would fit, in words."""
    admitted = "admits the job"
    if short and assumed is not None:
        if assumed.scheduled:
            size = f"{assumed.size.pods} (assumed from {assumed.size.sources[0]})"
            return f"{admitted}; {size} would then fit {', '.join(assumed.nodes[:4])}"
        return f"{admitted}; then {assumed.reason}"
    if assumed is None and short:
        return f"{admitted}; the size of its pods is unknown"
    if assumed is None:
        return f"{admitted}; whether its pods fit is unknown (their size is not in the snapshot)"
    if assumed.scheduled:
        return f"{admitted}; its pods would fit {', '.join(assumed.nodes[:4])} (assumed: {assumed.size})"
    return f"{admitted}, but its pods would not fit: {assumed.answer} (assumed: {assumed.size})"


def describe_result(remedy: TriedPlan, *, short: bool = False) -> str:
    """The result of a tried plan in a few words; `short` leaves out the assumed pods."""
    outcome = remedy.outcome
    on_nodes = f" on {', '.join(outcome.nodes[:4])}{' …' if len(outcome.nodes) > 4 else ''}" if outcome.nodes else ""
    placed_share = f"{outcome.placed} of {count_noun(outcome.placed + outcome.pending_count, 'Pending pod')}"
    pods = placed_share if outcome.pending_count and outcome.is_reached else count_noun(outcome.placed, "pod")
    added_nodes_note = f" ({outcome.other_pods_on_added_nodes})" if outcome.other_pods_on_added_nodes else ""
    verb = "reserves room for" if outcome.only_reserves else "places"
    places = f"{verb} {pods}{on_nodes}{added_nodes_note}" if outcome.placed else ""
    # Checked first: an admitted job counts as scheduled before its pods are created.
    if outcome.admitted:
        return _describe_admitted(outcome.assumed, short=short)
    if outcome.scheduled:
        unchanged = outcome.keeps or "the job then needs no more pods"
        return (places or unchanged) + (f"; {outcome.reserved}" if outcome.reserved else "")
    reason = outcome.headline.reason if short else f"{outcome.cause}: {outcome.headline}".rstrip(".")
    return f"{places + ', ' if places else ''}then {reason}"


def describe_short_plan(remedy: TriedPlan, limit: str = "") -> str:
    """The change, its effect, where this does not hold, and the role that has to agree, in a line."""
    # The evictions of pods that do not exist yet depend on their assumed size.
    evicts = any(cost.kind is CostKind.EVICTION for cost in remedy.outcome.costs[:1])
    evicts_for_it = evicts and remedy.outcome.assumed is not None
    joint = "; for it the cycle " if evicts_for_it else "; "
    effect = joint.join(filter(None, (describe_result(remedy, short=True), remedy.side_effects)))
    effect = "; ".join(filter(None, (effect, limit)))
    alone = "" if remedy.is_proven or remedy.corrects else "Not enough alone: "
    return f"{alone}{remedy.plan_words}. {capitalize_first(effect)}.  [{ADVICE_OWNER[remedy.plan.worst_harm]}]"
