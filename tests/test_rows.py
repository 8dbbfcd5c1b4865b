"""A test over rows fails if one row fails, and names that row."""

import pytest

from tests.rows import over, try_each


def test_each_row_is_tried_and_those_that_fail_are_named() -> None:
    tried: list[int] = []

    @over(range(5), name=lambda row: f"seed {row}")
    def small(row: int) -> None:
        tried.append(row)
        assert row not in (1, 3)

    with pytest.raises(ExceptionGroup) as failed:
        small()
    assert [0, 1, 2, 3, 4] == tried
    assert ["row: seed 1", "row: seed 3"] == [note for error in failed.value.exceptions for note in error.__notes__]
    assert "small" == small.__name__


def test_error_other_than_an_assertion_ends_try_each_and_names_its_row() -> None:
    @over(["a", ""])
    def first(row: str) -> None:
        assert row[0]

    with pytest.raises(IndexError) as failed:
        first()
    assert ["row: "] == failed.value.__notes__


def test_try_each_fails_without_rows() -> None:
    with pytest.raises(AssertionError):
        try_each(print, [])
