"""Python's search for garbage beside the recordings."""

import gc
from collections.abc import Iterator

import pytest

from vcdebug.collector import collector_paused, leave_alone, look_again


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    look_again()


def test_what_is_left_alone_stays_so_while_more_is_made() -> None:
    leave_alone()
    alone = gc.get_freeze_count()
    with collector_paused():
        made = [[each] for each in range(10_000)]
    assert (True, alone) == (gc.isenabled(), gc.get_freeze_count())
    assert gc.is_tracked(made)


def test_once_looked_at_again_nothing_stays_aside() -> None:
    leave_alone()
    look_again()
    with collector_paused():
        assert not gc.isenabled()
    assert (True, 0) == (gc.isenabled(), gc.get_freeze_count())
