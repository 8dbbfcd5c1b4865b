"""Python's search for garbage beside the recordings."""

import gc
from collections.abc import Iterator
from weakref import ref

import pytest

from vcdebug.collector import FIRST, MOST_ASIDE, collector_paused, leave_alone, look_again


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


def test_what_was_dropped_is_found_before_the_next_cycle() -> None:
    class Ring:
        def __init__(self) -> None:
            self.ring = self

    for _ in range(FIRST):
        with collector_paused(look=True):
            pass
    with collector_paused(look=True):
        dropped = ref(Ring())
        made = [[each] for each in range(MOST_ASIDE + 10)]
    assert dropped() is not None
    del made
    with collector_paused(look=True):
        assert dropped() is None
