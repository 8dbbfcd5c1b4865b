"""Scores that are equal for all nodes are stored as one number, without loss."""

import numpy as np
import pytest

from tests.recorded import bundled
from vcdebug.framework.record import ScoreEvent
from vcdebug.framework.scoring import shrink_scores


@pytest.mark.parametrize("value", [0.0, -0.0, 12.5, float("nan"), float("inf"), -1e300])
def test_a_uniform_array_takes_the_room_of_one_number_and_reads_the_same(value: float) -> None:
    scores = np.full(5_000, value)
    kept = shrink_scores(scores)
    assert scores.tobytes() == kept.tobytes()
    assert (0,) == kept.strides
    assert kept is shrink_scores(np.full(5_000, value))


@pytest.mark.parametrize("values", [[0.0, -0.0, 0.0], [1.0, 2.0, 1.0], [1.0, 1.0, 2.0]])
def test_any_difference_keeps_the_array(values: list[float]) -> None:
    scores = np.array(values)
    assert shrink_scores(scores) is scores


@pytest.mark.parametrize("value", [-0.0, 100.0, 2.5, float("inf"), float("nan"), float(2**24)])
def test_many_numbers_that_fit_into_half_of_the_bytes_are_kept_in_these(value: float) -> None:
    scores = np.array([value, *range(400)])
    kept = shrink_scores(scores)
    assert kept.nbytes * 2 == scores.nbytes
    assert kept.astype(np.float64).tobytes() == scores.tobytes()


@pytest.mark.parametrize("value", [0.1, 1e300, float(2**24 + 1), 5e-324])
def test_many_numbers_of_which_one_does_not_fit_are_kept_as_they_are(value: float) -> None:
    scores = np.array([*range(400), value])
    with np.errstate(over="ignore"):  # as in a cycle
        assert shrink_scores(scores) is scores


def test_plugins_without_a_preference_share_their_scores_in_a_recording() -> None:
    parts = [part for event in bundled().events if isinstance(event, ScoreEvent) for part in event.parts]
    uniform = [scores for _, scores in parts if len(scores) > 1 and len(np.unique(scores)) == 1]
    assert uniform
    assert all(scores.strides == (0,) for scores in uniform)
