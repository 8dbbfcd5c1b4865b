"""Control of Python's garbage collector, which would otherwise search long-lived objects repeatedly."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

MIN_GROWTH_BLOCKS = 4_000_000
"""Memory blocks, about 400 MB: more than a snapshot of 5,000 nodes with its cycle."""
MAX_GROWTH_BLOCKS = 4 * MIN_GROWTH_BLOCKS

YOUNG_GC_THRESHOLD = 200_000
"""New objects before a collection of the youngest generation: more than a start allocates (Python's default: 700)."""
SHORT_GC_THRESHOLD = 50_000
"""The same once the heap is frozen: a collection of 200,000 objects keeps a key waiting for 0.2 s."""


def raise_gc_threshold() -> None:
    """Raise the threshold at the start of a program: startup allocates long-lived objects."""
    gc.set_threshold(YOUNG_GC_THRESHOLD, *gc.get_threshold()[1:])


@contextmanager
def collector_paused(*, look: bool = False) -> Iterator[None]:
    """Pause the collector during a load or a cycle, which keep nearly everything that they allocate.

    `look`: first collect if memory has grown, since earlier snapshots or cycles may be garbage by now.
    """
    running = gc.isenabled()
    if running and look:
        _collect_if_grown()
    gc.disable()
    try:
        yield
    finally:
        if running:
            _promote_to_old()
            gc.enable()


def freeze_heap() -> None:
    """Exclude everything allocated so far from collections (gc.freeze), which become short and frequent."""
    gc.freeze()
    young, middle, old = gc.get_threshold()
    # Full collections stay as rare as they were: each searches all that was made since.
    gc.set_threshold(SHORT_GC_THRESHOLD, middle, max(old, old * young // SHORT_GC_THRESHOLD))
    _HeapState.is_frozen = True
    _HeapState.blocks = sys.getallocatedblocks()


def unfreeze_heap() -> None:
    """Include everything in collections again, after a large object was dropped."""
    gc.unfreeze()
    _HeapState.is_frozen = False


class _HeapState:
    """Memory blocks after the last full collection, and the growth that triggers the next one."""

    blocks = 0
    max_growth = MIN_GROWTH_BLOCKS
    is_frozen = False
    """Whether freeze_heap is in force. gc.get_freeze_count would count every object."""


def _promote_to_old() -> None:
    """Move everything to the oldest generation; otherwise the next young collection would search all of it."""
    # Unfreezing would also release what freeze_heap has excluded for good.
    if _HeapState.is_frozen:
        return
    gc.freeze()
    gc.unfreeze()


def _collect_if_grown() -> None:
    """Run a full collection if memory has grown enough; the more rarely, the less the last one freed."""
    # Recordings are disposed of without cycles and freed at once: the lowest count seen is the base of the growth.
    blocks = sys.getallocatedblocks()
    _HeapState.blocks = min(_HeapState.blocks, blocks)
    grown = blocks - _HeapState.blocks
    if grown <= _HeapState.max_growth:
        return
    gc.collect()
    _HeapState.blocks = sys.getallocatedblocks()
    freed = blocks - _HeapState.blocks
    doubled = min(2 * _HeapState.max_growth, MAX_GROWTH_BLOCKS)
    _HeapState.max_growth = MIN_GROWTH_BLOCKS if freed > grown // 10 else doubled  # exact: ints
