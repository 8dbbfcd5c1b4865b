"""One test over many rows, where a test for each would take longer to be started than to be run."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Row = TypeVar("Row")


def over(
    rows: Sequence[Row], name: Callable[[Row], str] = str
) -> Callable[[Callable[[Row], None]], Callable[[], None]]:
    """Make a test of one row a test of all of them."""

    def whole(test: Callable[[Row], None]) -> Callable[[], None]:
        def each() -> None:
            try_each(test, rows, name)

        each.__name__, each.__module__, each.__doc__ = test.__name__, test.__module__, test.__doc__
        return each

    return whole


def try_each(test: Callable[[Row], None], rows: Sequence[Row], name: Callable[[Row], str] = str) -> None:
    """Try every row; those that fail are named, with their reasons."""
    assert rows
    failed = [error for row in rows if (error := _failure(test, row, name(row))) is not None]
    if failed:
        raise ExceptionGroup(f"{len(failed)} of {len(rows)} rows fail", failed)


def try_rules(rules: Sequence[Callable[[Row], None]], subject: Row) -> None:
    """Try every rule on one subject."""
    try_each(lambda rule: rule(subject), rules, lambda rule: rule.__name__)


def _failure(test: Callable[[Row], None], row: Row, name: str) -> AssertionError | None:
    try:
        test(row)
    except AssertionError as error:
        error.add_note(f"row: {name}")
        return error
    except BaseException as error:
        error.add_note(f"row: {name}")
        raise
    return None
