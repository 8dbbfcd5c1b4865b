"""The combining rules: which plugins are asked, which answers count, and how victims intersect."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.builders import pod, task_of_pod
from vcdebug.framework import combine
from vcdebug.framework.combine import CombiningRule, Decider, PluginCall, RecordedAnswer, Tiers
from vcdebug.framework.hooks import HOOKS, AnyHook
from vcdebug.framework.plugin_answers import ValidateResult
from vcdebug.framework.quirks import INTERSECTION_RESTARTED, TIER_VETO_UNDONE
from vcdebug.model.task import TaskInfo

TASKS = {name: task_of_pod(pod(name, "g")) for name in "abc"}


class Panel:
    """Tiers of fake plugins with given answers; records the order of calls."""

    def __init__(self, *tiers: list[Any]) -> None:
        self.asked: list[str] = []
        self.notes: list[str] = []
        self.tiers = Tiers(
            (
                [PluginCall(f"{t}{p}", self._voter(f"{t}{p}", answer)) for p, answer in enumerate(answers)]
                for t, answers in enumerate(tiers)
            ),
            lambda code, *_: self.notes.append(code),
        )

    def _voter(self, name: str, answer: Any) -> Callable[..., Any]:
        def say(*_: object) -> Any:
            self.asked.append(name)
            return answer

        return say


def victims(names: str, vote: int = 1) -> tuple[list[TaskInfo], int]:
    return [TASKS[name] for name in names], vote


@pytest.mark.parametrize(
    ("tiers", "expected", "asked"),
    [
        ([[1], [-1]], True, ["00"]),
        ([[0], [-1]], False, ["00", "10"]),
        ([[1, -1]], False, ["00", "01"]),
        ([[0, 0], [0]], True, ["00", "01", "10"]),
        ([], True, []),
    ],
)
def test_a_vote_ends_at_a_rejection_or_after_a_tier_that_permits(
    tiers: list[list[int]], expected: bool, asked: list[str]
) -> None:
    panel = Panel(*tiers)
    assert expected is combine.VOTE.combine(panel.tiers, ())
    assert asked == panel.asked


def test_starving_is_decided_by_the_first_tier_with_a_voter_and_false_without_any() -> None:
    panel = Panel([], [True, False, True], [True])
    assert not combine.FIRST_TIER_ALL.combine(panel.tiers, ())
    assert ["10", "11"] == panel.asked
    assert not combine.FIRST_TIER_ALL.combine(Tiers([[], []]), ())


def test_all_true_is_true_and_any_true_is_false_without_plugins() -> None:
    assert combine.ALL_TRUE.combine(Tiers(), ())
    assert not combine.ANY_TRUE.combine(Tiers(), ())


def test_the_first_failed_check_is_returned() -> None:
    failed = ValidateResult(False, "NotEnoughTasks", "too few")
    panel = Panel([None, ValidateResult(True, "", ""), failed], [failed])
    assert failed == combine.FIRST_FAILURE.combine(panel.tiers, ())
    assert ["00", "01", "02"] == panel.asked


@pytest.mark.parametrize(
    ("tiers", "expected", "asked"),
    [
        ([[victims("a"), victims("b"), victims("", 0)], [victims("c")]], "c", ["00", "01", "02", "10"]),
        ([[victims(""), victims("b")]], None, ["00"]),
        ([[victims("a"), victims("b"), victims("c")]], "c", ["00", "01", "02"]),
        ([[victims("abc"), victims("cb")]], "bc", ["00", "01"]),
        ([[victims("", 0)], [victims("b")]], "b", ["00", "10"]),
        ([[victims("a", -1)]], "a", ["00"]),
        ([[victims("ab"), victims("bb")]], "bb", ["00", "01"]),
    ],
    ids=[
        "a disjoint tier passes on",
        "an empty answer ends its tier",
        "a disjoint answer lets the next plugin start over",
        "the first answer keeps its order",
        "abstaining everywhere passes on",
        "a rejection still offers",
        "duplicates multiply",
    ],
)
def test_victims_intersect_tier_by_tier(tiers: list[list[Any]], expected: str | None, asked: list[str]) -> None:
    panel = Panel(*tiers)
    answer = combine.TIER_INTERSECTION.combine(panel.tiers, ())
    assert expected == (None if answer is None else "".join(task.name for task in answer))
    assert asked == panel.asked


@pytest.mark.parametrize(
    ("tiers", "expected"),
    [
        ([[victims("")], [victims("b")]], [TIER_VETO_UNDONE]),
        ([[victims("")], [victims("")]], []),
        ([[victims("a"), victims("b"), victims("c")]], [INTERSECTION_RESTARTED]),
        ([[victims("ab"), victims("b")]], []),
    ],
)
def test_a_veto_undone_and_a_restart_are_named(tiers: list[list[Any]], expected: list[str]) -> None:
    panel = Panel(*tiers)
    combine.TIER_INTERSECTION.combine(panel.tiers, ())
    assert expected == panel.notes


def test_shuffles_victims_are_the_first_productive_tiers_union() -> None:
    panel = Panel([[]], [[TASKS["a"], TASKS["b"]], [TASKS["b"], TASKS["c"]]], [[TASKS["c"]]])
    assert ["a", "b", "c"] == [task.name for task in combine.FIRST_UNION.combine(panel.tiers, ())]
    assert ["00", "10", "11"] == panel.asked


RULES = [value for value in vars(combine).values() if isinstance(value, CombiningRule)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__.strip("_"))
def test_result_without_plugins_is_answer_if_silent(rule: CombiningRule[Any]) -> None:
    assert rule.answer_if_silent == rule.combine(Tiers(), ()) == rule.combine(Tiers([[], []]), ())


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook.upstream)
def test_a_hook_calls_the_function_of_its_rule(hook: AnyHook) -> None:
    assert hook.rule.combine is hook.combine


def given(*answers: tuple[int, int]) -> list[RecordedAnswer]:
    """Recorded answers of plugins p0, p1 ... as (tier, answer)."""
    return [RecordedAnswer(tier, 0, f"p{n}", n + 1, answer, None) for n, (tier, answer) in enumerate(answers)]


@pytest.mark.parametrize(
    ("rule", "answers", "outcome", "decider"),
    [
        (combine.ALL_TRUE, [(1, 1), (2, 0)], False, (2, "p1")),
        (combine.ALL_TRUE, [(1, 1), (2, 1)], True, (None, None)),
        (combine.ANY_TRUE, [(1, 0), (1, 1)], True, (1, "p1")),
        (combine.ANY_TRUE, [(1, 0), (1, 0)], False, (None, None)),
        (combine.FIRST_TIER_ALL, [(1, 1), (1, 1)], True, (1, None)),
        (combine.FIRST_TIER_ALL, [(1, 1), (1, 0)], False, (1, "p1")),
        (combine.VOTE, [(1, 0), (2, -1)], False, (2, "p1")),
        (combine.VOTE, [(1, 1), (1, 0)], True, (1, None)),
        (combine.VOTE, [(1, 0), (2, 0)], True, (None, None)),
        (combine.CALL_ALL, [(1, 0)], None, (None, None)),
        (combine.FIRST_ANSWER, [(1, 0)], [], (1, "p0")),
        (combine.FIRST_ERROR, [(1, 0)], "no", (1, "p0")),
    ],
)
def test_a_rule_knows_which_plugin_or_tier_decided(
    rule: CombiningRule[Any], answers: list[tuple[int, int]], outcome: object, decider: Decider
) -> None:
    assert decider == rule.find_decider(given(*answers), outcome)


@pytest.mark.parametrize(
    ("rule", "tier", "answers", "why"),
    [
        (combine.ALL_TRUE, 2, [(1, 0)], "p0 said no"),
        (combine.ANY_TRUE, 2, [(1, 1)], "p0 said yes"),
        (combine.FIRST_TIER_ALL, 1, [(1, 0)], "p0 said no"),
        (combine.FIRST_TIER_ALL, 2, [(1, 1)], "tier 1 decides alone"),
        (combine.VOTE, 2, [(1, 1)], "tier 1 permitted"),
        (combine.VOTE, 2, [(1, -1)], "p0 rejected"),
        (combine.TIER_INTERSECTION, 1, [(1, 1)], "p0 allowed no candidate, which ends the tier"),
        (combine.TIER_INTERSECTION, 2, [(1, 1)], "tier 1 decided"),
        (combine.FIRST_FAILURE, 2, [(1, 1)], "p0 objected"),
        (combine.FIRST_OBJECTION, 2, [(1, 1)], "p0 objected"),
        (combine.FIRST_NODE, 2, [(1, 1)], "p0 answered first"),
        (combine.FIRST_ANSWER, 2, [(1, 1)], "p0 answered first"),
    ],
)
def test_a_rule_says_why_a_plugin_was_not_asked(
    rule: CombiningRule[Any], tier: int, answers: list[tuple[int, int]], why: str
) -> None:
    assert why == rule.explain_not_asked(tier, given(*answers))
