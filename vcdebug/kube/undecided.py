"""What a replay does not know."""

from __future__ import annotations


class Undecided(Exception):
    """A real scheduler would come to something here, and it is not known to what; the text says why."""
