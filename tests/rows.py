"""One test over many rows, for tests whose start would take longer than their run."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Row = TypeVar("Row")


def over(
    rows: Sequence[Row], name: Callable[[Row], str] = str
) -> Callable[[Callable[[Row], None]], Callable[[], None]]:
    """A decorator that turns a test of one row into a test of all rows."""

    def whole(test: Callable[[Row], None]) -> Callable[[], None]:
        def each() -> None:
            try_each(test, rows, name)

        each.__name__, each.__module__, each.__doc__ = test.__name__, test.__module__, test.__doc__
        return each

    return whole


def try_each(test: Callable[[Row], None], rows: Sequence[Row], name: Callable[[Row], str] = str) -> None:
    """Run the test on every row; raise one group with the reason of each failed row."""
    assert rows
    failed = [error for row in rows if (error := _failure(test, row, name(row))) is not None]
    if failed:
        raise ExceptionGroup(f"{len(failed)} of {len(rows)} rows fail", failed)


def try_rules(rules: Sequence[Callable[[Row], None]], subject: Row) -> None:
    """Run every rule on one subject; raise one group with the reason of each failed rule."""
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
