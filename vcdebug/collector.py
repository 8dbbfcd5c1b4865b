"""Python's search for garbage, held up while much is made that stays."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MOST_ASIDE = 1_000_000
"""Some 200 MB."""
RARELY = 8 * MOST_ASIDE


@contextmanager
def collector_paused() -> Iterator[None]:
    """Loading and a cycle keep nearly everything that they make: searching it again and again finds nothing."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            _set_aside()
            gc.enable()


class _Aside:
    """How many objects were set aside since the collector last looked at everything, and how many may be."""

    objects = 0
    most = MOST_ASIDE


def _set_aside() -> None:
    """Let what was made count as old, or the collector would search all of it the moment it goes on.

    What was dropped meanwhile it has to find some day: it looks at everything after every million objects, and less
    often while it finds little. What somebody has frozen stays so.
    """
    if gc.get_freeze_count():
        return
    _Aside.objects += gc.get_count()[0]
    gc.freeze()
    gc.unfreeze()
    if _Aside.objects > _Aside.most:
        found = gc.collect()
        _Aside.most = MOST_ASIDE if found > _Aside.objects // 10 else min(2 * _Aside.most, RARELY)
        _Aside.objects = 0
