"""The verdict on a difference: pods with a cyclic order may come in any order."""

import pytest

from tests.explain.test_circles import MIDDLE, OLD, OLDEST, YOUNG, replayed
from vcdebug.conformance.verdicts import BOUND, NOTHING_DONE, OutcomeDifference, judge_jobs


def swapped(bound: str, instead: str) -> list[OutcomeDifference]:
    one = OutcomeDifference("default/j", bound, BOUND, "n1", NOTHING_DONE)
    return [one, OutcomeDifference("default/j", instead, BOUND, NOTHING_DONE, "n1")]


@pytest.mark.parametrize(("age", "word"), [(MIDDLE, "random choice"), (YOUNG, "differs"), (OLDEST, "differs")])
def test_choice_among_pods_of_a_cyclic_order_is_chance(age: str, word: str) -> None:
    """Two pods compare by index; by its age, the third pod closes a cycle with them, or does not."""
    found = replayed(("j-w-0", YOUNG), ("j-w-1", OLD), ("j-w-x", age))
    first, second = judge_jobs(found, swapped("default/j-w-0", "default/j-w-1"))
    assert (word, "agreed") == (first.verdict_word, second.verdict_word)


def test_verdict_names_the_pods_of_a_cyclic_order() -> None:
    found = replayed(("j-w-0", YOUNG), ("j-w-1", OLD), ("j-w-x", MIDDLE))
    decision = judge_jobs(found, swapped("default/j-w-0", "default/j-w-1"))[0].decision
    assert decision is not None
    way = "default/j-w-0 before default/j-w-1 before default/j-w-x before default/j-w-0"
    assert f"the order of its pods is cyclic ({way}), so the first ones are random" == decision.text
