"""Python's search for garbage, held up while much is made that stays."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

MIN_GROWTH_BLOCKS = 4_000_000
"""Blocks of memory, some 400 MB: more than a snapshot of 5,000 nodes with its cycle."""
MAX_GROWTH_BLOCKS = 4 * MIN_GROWTH_BLOCKS

YOUNG_GC_THRESHOLD = 200_000
"""New objects before Python looks for garbage among them: more than a start makes; it would look after every 700."""


def raise_gc_threshold() -> None:
    """A program begins, which first makes what stays: modules, styles, a recording."""
    gc.set_threshold(YOUNG_GC_THRESHOLD, *gc.get_threshold()[1:])


@contextmanager
def collector_paused(*, look: bool = False) -> Iterator[None]:
    """Loading and a cycle keep nearly everything that they make: searching it again and again finds nothing.

    `look`: a snapshot or a cycle begins, before which those that were dropped may have to be found.
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
    """Let the collector never again look at what there is now."""
    gc.freeze()
    _HeapState.kept = True
    _HeapState.blocks = sys.getallocatedblocks()


def unfreeze_heap() -> None:
    """Let it look at everything: something large has gone."""
    gc.unfreeze()
    _HeapState.kept = False


class _HeapState:
    """What was there when the collector last looked at everything, and by how much it may grow."""

    blocks = 0
    most = MIN_GROWTH_BLOCKS
    kept = False
    """Something shall be left alone for good. Python itself would count all of it to say so."""


def _promote_to_old() -> None:
    """Let what was made count as old, or the collector would search all of it the moment it goes on.

    What was dropped meanwhile it has to find some day. What shall be left alone for good stays so.
    """
    if _HeapState.kept:
        return
    gc.freeze()
    gc.unfreeze()


def _collect_if_grown() -> None:
    """Look at everything where much has come since the last time, and less often while little of it is found.

    What was let go has gone at once (`trace/passing.py`), and never leads to a search.
    """
    there = sys.getallocatedblocks()
    _HeapState.blocks = min(_HeapState.blocks, there)
    grown = there - _HeapState.blocks
    if grown <= _HeapState.most:
        return
    gc.collect()
    _HeapState.blocks = sys.getallocatedblocks()
    _HeapState.most = (
        MIN_GROWTH_BLOCKS if there - _HeapState.blocks > grown // 10 else min(2 * _HeapState.most, MAX_GROWTH_BLOCKS)
    )  # exact: ints
