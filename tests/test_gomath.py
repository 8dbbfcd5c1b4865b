"""Numbers as Go computes them."""

import numpy as np
import pytest

from tests.scalar.nodeorder_twin import round_half_away
from vcdebug.gomath import (
    MIN_INT64,
    div_rows,
    int_div,
    int_mod,
    int_power,
    ordered_sum,
    round_half_away_rows,
    trunc_int64,
    trunc_rows,
    wrap_int64,
)


@pytest.mark.parametrize(
    ("a", "b", "quotient", "rest"), [(7, 2, 3, 1), (-7, 2, -3, -1), (7, -2, -3, 1), (-7, -2, 3, -1)]
)
def test_division_truncates_and_the_rest_has_the_sign_of_the_dividend(a: int, b: int, quotient: int, rest: int) -> None:
    assert (quotient, rest) == (int_div(a, b), int_mod(a, b))
    assert [quotient] == div_rows(np.array([a]), np.array([b])).tolist()


def test_a_row_divided_by_zero_is_zero() -> None:
    assert [0] == div_rows(np.array([5]), np.array([0])).tolist()


@pytest.mark.parametrize(("value", "expected"), [(1.9, 1), (-1.9, -1), (float("nan"), MIN_INT64), (1e30, MIN_INT64)])
def test_a_float_becomes_an_integer_toward_zero(value: float, expected: int) -> None:
    assert expected == trunc_int64(value)


@pytest.mark.parametrize(("value", "expected"), [(0.5, 1.0), (-0.5, -1.0), (1.5, 2.0), (2.4, 2.0), (-2.6, -3.0)])
def test_halves_are_rounded_away_from_zero(value: float, expected: float) -> None:
    assert expected == round_half_away(value)
    assert [int(expected)] == round_half_away_rows(np.array([value])).tolist()


def test_rows_are_truncated_toward_zero() -> None:
    assert [1, -1, 0] == trunc_rows(np.array([1.9, -1.9, 0.999])).tolist()


def test_sums_go_from_left_to_right() -> None:
    assert ordered_sum([1e16, 1.0, 1.0]) != ordered_sum([1.0, 1.0, 1e16])
    assert 0.0 == ordered_sum([])


def test_an_overflow_wraps_round() -> None:
    assert (MIN_INT64, -1, 5) == (wrap_int64(2**63), wrap_int64(2**64 - 1), wrap_int64(5))


@pytest.mark.parametrize(
    ("base", "exponent", "expected"),
    [
        (0.8, 5, 0.3276800000000002),
        (0.7, 7, 0.08235429999999995),
        (1.1, 20, 6.727499949325609),
        (0.8, -1, 1.25),
        (-0.8, 3, -0.5120000000000001),
        (0.0, 0, 1.0),
        (0.0, -1, float("inf")),
        (1e200, 4, float("inf")),
        (1e-200, 4, 0.0),
        (0.5, 2000, 0.0),
        (0.8, 1000000, 0.0),
    ],
)
def test_a_power_is_rounded_as_go_rounds_it(base: float, exponent: int, expected: float) -> None:
    assert expected == int_power(base, exponent)
