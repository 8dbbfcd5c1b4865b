"""The search for fixes and the order of plans, with invented fixes and outcomes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from vcdebug.explain.answer import AdviceHarm, CauseHeadline
from vcdebug.whatif.fixes.fix import AmountRange, Fix
from vcdebug.whatif.fixes.plan import FixPlan, TriedPlan
from vcdebug.whatif.fixes.search import FixSearch, describe_conclusion, run_search
from vcdebug.whatif.fixes.trial import Cost, CostKind, EditTexts, TrialOutcome


def outcome(*, reached: bool, placed: int, cause: str = "", fixes: tuple[Fix, ...] = ()) -> TrialOutcome:
    cause = cause or ("places" if reached else "stuck")
    headline = CauseHeadline("", "", "")
    return TrialOutcome(
        is_reached=reached, scheduled=reached, placed=placed, cause=cause, headline=headline, fixes=fixes
    )


def world(works: set[frozenset[str]], steps: dict[str, tuple[Fix, ...]], more: tuple[str, ...] = ()) -> FixSearch:
    """A finished search: the edit sets of `works` reach the goal, edits of `steps` and `more` get closer to it."""
    fixes = [fix(name) for name in ("a", "b", "c")]

    def tried(edits: EditTexts) -> TrialOutcome | None:
        if frozenset(edits) in works:
            return outcome(reached=True, placed=1)
        cause = "next" if edits[0] in steps else "stuck"
        return outcome(reached=False, placed=int(edits[0] in more), cause=cause, fixes=steps.get(edits[0], ()))

    return run_search(FixSearch("stuck", 0, fixes, len(fixes)), lambda wanted: [tried(one) for one in wanted])


def fix(name: str, amount: AmountRange | None = None) -> Fix:
    return Fix(name, (name if amount is None else f"{name}={{amount}}",), AdviceHarm.JOB, ("stuck",), amount)


def test_of_equal_changes_those_rank_first_that_do_the_least_harm_whether_or_not_they_do_it_already() -> None:
    costs = [(), *((Cost(kind, f"costs {kind.name}"),) for kind in CostKind)]
    plan = FixPlan.of_fixes(fix("a"))
    tried = [TriedPlan(plan, replace(outcome(reached=True, placed=1), costs=each)) for each in costs]
    assert tried == sorted([*tried[2:], *tried[:2]], key=lambda one: one.rank_key)
    assert ["", "costs DELAY", "costs EVICTION", "costs END"] == [one.side_effects for one in tried]


def test_unneeded_fixes_of_a_chain_are_left_out() -> None:
    found = world({frozenset({"b", "d"}), frozenset({"d"})}, {"b": (fix("d"),)})
    assert [("d",)] == [one.plan.all_edits for one in found.best_plans]


def test_a_field_that_suffices_alone_is_not_changed_together_with_others() -> None:
    both = ("d={amount}", "q={amount}")
    fixes = [fix("q", AmountRange(1, 4)), Fix("both", both, AdviceHarm.JOB, ("stuck",), AmountRange(8, 9))]
    fixes += [fix("b"), Fix("other b", ("b=2", "c"), AdviceHarm.JOB, ("stuck",))]
    reached = outcome(reached=True, placed=1)
    found = run_search(FixSearch("stuck", 0, fixes, len(fixes)), lambda wanted: [reached for _ in wanted])
    assert [("q=2",), ("b",), ("b=2", "c")] == [one.plan.all_edits for one in found.best_plans]


def test_without_a_complete_fix_only_fixes_that_place_more_pods_are_shown() -> None:
    found = world(set(), {"b": (), "c": ()}, more=("b",))
    assert [(("b",), False)] == [(one.plan.all_edits, one.is_proven) for one in found.best_plans]
    assert describe_conclusion(found).startswith(
        "None of the changes tried, alone or combined, gets the job scheduled ("
    )


def test_plan_changes_each_aspect_once() -> None:
    low, high = (replace(fix(name), aspect="priority") for name in ("low", "high"))
    tried: list[EditTexts] = []

    def run(wanted: list[EditTexts]) -> list[TrialOutcome | None]:
        tried.extend(wanted)
        return [outcome(reached=False, placed=0, cause="next", fixes=(low, high)) for _ in wanted]

    run_search(FixSearch("stuck", 0, [low, high], 2), run)
    assert [("low",), ("high",)] == tried


def test_no_fixes_are_listed_if_none_helps() -> None:
    found = world(set(), {"b": ()})
    assert ([], True) == (found.best_plans, "None of the changes tried" in describe_conclusion(found))


def test_a_search_that_is_stopped_says_that_it_may_name_more_changes_than_needed() -> None:
    fixes = [replace(fix(name), aspect=name) for name in "abcdefgh"]
    search = FixSearch("stuck", 0, fixes, len(fixes))

    def tried(edits: EditTexts) -> TrialOutcome:
        reached = {"a", "h", "e", "f"} <= set(edits)
        return outcome(reached=reached, placed=int(reached))

    run_search(search, lambda wanted: [tried(one) for one in wanted], lambda search: not search.best_plans)
    assert {"a", "h", "e", "f"} < set(search.best_plans[0].plan.all_edits)
    assert describe_conclusion(search).endswith("some of these 8 changes may be unnecessary.")


@pytest.mark.parametrize("least", [2, 3, 17, 64, 99])
def test_bisection_ends_at_the_mildest_amount(least: int) -> None:
    def tried(edits: EditTexts) -> TrialOutcome:
        reached = int(edits[0].partition("=")[2]) >= least
        return outcome(reached=reached, placed=1)

    search = FixSearch("stuck", 1, [fix("w", AmountRange(1, 100))], 1)
    run_search(search, lambda wanted: [tried(one) for one in wanted])
    assert [(f"w={least}",)] == [one.plan.all_edits for one in search.best_plans]
    assert search.trial_count <= 9
