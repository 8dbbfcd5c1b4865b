"""The form of an obstacle: what an opaque reason of a predicate means for one task."""

from __future__ import annotations

from typing import Final, NamedTuple

MOST_HOLDERS: Final = 4


class Obstacle(NamedTuple):
    """One thing in the way, with names."""

    text: str
    advice: tuple[str, ...] = ()
    replaces: str = ""
    """Advice with this word is void beside it."""
