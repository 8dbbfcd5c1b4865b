"""The common text of all jobs with the same cause."""

import pytest

from vcdebug.explain.pending.cause_groups import merge_texts


@pytest.mark.parametrize(
    ("texts", "merged"),
    [
        (["it has no PodGroup"], "it has no PodGroup"),
        (["1 pod has a gate", "7 pods have a gate", "3 pods have a gate"], "1 to 7 pods have a gate"),
        (["0 of 1 (12 ready);", "0 of 6 (1 ready);"], "0 of 1 to 6 (1 to 12 ready);"),
        (["reclaim evicts a/b", "reclaim evicts c/d"], "reclaim evicts a/b (1 similar)"),
        (["queue a is full", "queue b is full", "node n1 of b is full today"], "queue a is full (2 similar)"),
        (["node-1 is full", "node-2 is full"], "node-1 is full (1 similar)"),
        (["Free 2 cpu on n1.", "Free 2 cpu on n2."], "Free 2 cpu on n1 (1 similar)"),
    ],
)
def test_texts_that_differ_in_more_than_numbers_are_represented_by_the_first(texts: list[str], merged: str) -> None:
    assert merged == merge_texts(texts)
