"""Python's search for garbage, held up while much is made that stays."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

MUCH = 4_000_000
"""Blocks of memory, some 400 MB: more than a snapshot of 5,000 nodes with its cycle."""
RARELY = 4 * MUCH

YOUNG = 200_000
"""New objects before Python looks for garbage among them: more than a start makes; it would look after every 700."""


def seldom() -> None:
    """A program begins, which first makes what stays: modules, styles, a recording."""
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])


@contextmanager
def collector_paused(*, look: bool = False) -> Iterator[None]:
    """Loading and a cycle keep nearly everything that they make: searching it again and again finds nothing.

    `look`: a snapshot or a cycle begins, before which those that were dropped may have to be found.
    """
    running = gc.isenabled()
    if running and look:
        _find_dropped()
    gc.disable()
    try:
        yield
    finally:
        if running:
            _set_aside()
            gc.enable()


def leave_alone() -> None:
    """Let the collector never again look at what there is now."""
    gc.freeze()
    _Aside.kept = True
    _Aside.blocks = sys.getallocatedblocks()


def look_again() -> None:
    """Let it look at everything: something large has gone."""
    gc.unfreeze()
    _Aside.kept = False


class _Aside:
    """What was there when the collector last looked at everything, and by how much it may grow."""

    blocks = 0
    most = MUCH
    kept = False
    """Something shall be left alone for good. Python itself would count all of it to say so."""


def _set_aside() -> None:
    """Let what was made count as old, or the collector would search all of it the moment it goes on.

    What was dropped meanwhile it has to find some day. What shall be left alone for good stays so.
    """
    if _Aside.kept:
        return
    gc.freeze()
    gc.unfreeze()


def _find_dropped() -> None:
    """Look at everything where much has come since the last time, and less often while little of it is found.

    What was let go has gone at once (`trace/passing.py`), and never leads to a search.
    """
    there = sys.getallocatedblocks()
    _Aside.blocks = min(_Aside.blocks, there)
    grown = there - _Aside.blocks
    if grown <= _Aside.most:
        return
    gc.collect()
    _Aside.blocks = sys.getallocatedblocks()
    _Aside.most = MUCH if there - _Aside.blocks > grown // 10 else min(2 * _Aside.most, RARELY)  # exact: ints
