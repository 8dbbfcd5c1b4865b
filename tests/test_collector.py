"""Python's garbage collection while recordings are in memory."""

import gc
import sys
from collections.abc import Iterator
from math import prod
from weakref import ref

import pytest

from tests.recorded import BLOCKED, ROOT
from vcdebug import garbage_collection
from vcdebug.garbage_collection import _HeapState, collector_paused, freeze_heap, raise_gc_threshold, unfreeze_heap
from vcdebug.recording.effects import cycle_effects
from vcdebug.recording.recording import disposing
from vcdebug.recording.replay import replay_cycle
from vcdebug.snapshot.loader import load_snapshot

pytestmark = pytest.mark.memory


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    gc.enable()
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    unfreeze_heap()
    gc.disable()


def test_frozen_heap_stays_frozen_while_objects_are_made() -> None:
    freeze_heap()
    alone = gc.get_freeze_count()
    with collector_paused():
        made = [[each] for each in range(10_000)]
    assert (True, alone) == (gc.isenabled(), gc.get_freeze_count())
    assert gc.is_tracked(made)


def test_collections_are_short_once_the_heap_is_frozen() -> None:
    raise_gc_threshold()
    before = gc.get_threshold()
    for _ in range(2):
        freeze_heap()
        assert gc.get_threshold()[0] <= 50_000
        assert prod(before) == prod(gc.get_threshold())


def test_unfrozen_heap_has_no_frozen_objects() -> None:
    freeze_heap()
    unfreeze_heap()
    with collector_paused():
        assert not gc.isenabled()
    assert (True, 0) == (gc.isenabled(), gc.get_freeze_count())


class Ring:
    """An object that refers to itself, so that only the garbage collector can free it."""

    def __init__(self) -> None:
        self.ring = self


def test_garbage_is_collected_before_a_cycle_after_much_growth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garbage_collection, "MIN_GROWTH_BLOCKS", 10_000)
    monkeypatch.setattr(_HeapState, "max_growth", 10_000)
    monkeypatch.setattr(_HeapState, "blocks", sys.getallocatedblocks())
    with collector_paused(look=True):
        dropped = ref(Ring())
        little = [[each] for each in range(1_000)]
    with collector_paused(look=True):
        assert dropped() is not None
        much = [[each] for each in range(20_000)]
    with collector_paused(look=True):
        assert dropped() is None
    assert (1_000, 20_000) == (len(little), len(much))


def test_disposed_recording_triggers_no_collection(monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = load_snapshot(ROOT / "fixtures" / BLOCKED)
    gc.collect()
    monkeypatch.setattr(gc, "collect", lambda: pytest.fail("a search"))
    monkeypatch.setattr(_HeapState, "blocks", sys.getallocatedblocks())
    with disposing(replay_cycle(snapshot)) as recording:
        alive = ref(recording.session.plugins["gang"])
        monkeypatch.setattr(_HeapState, "max_growth", 2 * (sys.getallocatedblocks() - _HeapState.blocks))
        cycle_effects(recording)
    del recording
    assert alive() is None
    for _ in range(10):
        with disposing(replay_cycle(snapshot)):
            pass


def test_disposed_session_leaves_no_reference_cycles() -> None:
    snapshot = load_snapshot(ROOT / "fixtures" / BLOCKED)
    with disposing(replay_cycle(snapshot)):  # the first run fills module-level caches
        pass
    gc.collect()
    with disposing(replay_cycle(snapshot)):
        pass
    assert gc.collect() == 0
