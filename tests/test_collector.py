"""Python's search for garbage beside the recordings."""

import gc
from collections.abc import Iterator
from weakref import ref

import pytest

from vcdebug.collector import FIRST, MOST_ASIDE, _Aside, collector_paused, leave_alone, look_again


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


def test_nothing_is_looked_for_before_a_cycle_beside_the_only_one_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("pauses", 0), ("objects", 0), ("most", MOST_ASIDE)):
        monkeypatch.setattr(_Aside, name, value)
    looked: list[int] = []

    def collect() -> int:
        looked.append(_Aside.pauses)
        return 0

    monkeypatch.setattr(gc, "collect", collect)
    for beside in (False, False, True, True, True):
        with collector_paused(look=True, beside=beside):
            _Aside.objects += MOST_ASIDE // 2 + 1
    assert looked == [5]


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
