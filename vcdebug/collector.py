"""Python's search for garbage, held up while much is made that stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MOST_ASIDE = 1_000_000
"""Some 200 MB."""
RARELY = 8 * MOST_ASIDE
FIRST = 2
"""Before a snapshot and its cycle there was nothing that could have been dropped."""


@contextmanager
def collector_paused(*, look: bool = False, beside: bool = False) -> Iterator[None]:
    """Loading and a cycle keep nearly everything that they make: searching it again and again finds nothing.

    `look`: a snapshot or a cycle begins, before which those that were dropped may have to be found.
    `beside`: of a cycle next to one that is still there.
    """
    running = gc.isenabled()
    if running and look:
        _find_dropped(beside=beside)
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


def look_again() -> None:
    """Let it look at everything: something large has gone."""
    gc.unfreeze()
    _Aside.kept = False


class _Aside:
    """How many objects were set aside since the collector last looked at everything, and how many may be."""

    objects = 0
    pauses = 0
    most = MOST_ASIDE
    kept = False
    """Something shall be left alone for good. Python itself would count all of it to say so."""


def _set_aside() -> None:
    """Let what was made count as old, or the collector would search all of it the moment it goes on.

    What was dropped meanwhile it has to find some day. What shall be left alone for good stays so.
    """
    if _Aside.kept:
        return
    _Aside.objects += gc.get_count()[0]
    gc.freeze()
    gc.unfreeze()


def _find_dropped(*, beside: bool) -> None:
    """Look at everything after every million objects that were set aside, and less often while little is found."""
    _Aside.pauses += 1
    if beside and _Aside.pauses <= FIRST + 1:
        _Aside.objects = 0  # the only snapshot and its cycle are those beside this one
        return
    if _Aside.pauses <= FIRST or _Aside.objects <= _Aside.most:
        return
    found = gc.collect()
    _Aside.most = MOST_ASIDE if found > _Aside.objects // 10 else min(2 * _Aside.most, RARELY)
    _Aside.objects = 0
