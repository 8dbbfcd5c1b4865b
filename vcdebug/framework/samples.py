"""At which nodes a real scheduler is known to have looked, where its searches end after a part of them.

Upstream: util/predicate_helper (parallel workers, the round robin over nodes).
"""

from __future__ import annotations

import numpy as np

from vcdebug.model.names import IntArray, TaskKey
from vcdebug.model.nodetable import NodeRows
from vcdebug.snapshot.chance import ChanceSettings


class KnownSearches:
    """The searches of every task, one after the other."""

    __slots__ = ("_made", "_known")

    def __init__(self, chance: ChanceSettings) -> None:
        self._known = chance.searches
        self._made: dict[TaskKey, int] = {}

    def next_search_rows(self, task: TaskKey, nodes: NodeRows) -> IntArray | None:
        """The rows that the next search for a task visits, in order; None where it is not known, or not a sample."""
        text = self._known.get(task)
        if text is None:
            return None
        made = self._made.get(task, 0)
        self._made[task] = made + 1
        searches = text.split(";")
        rows = parse_ranges(searches[made], len(nodes.table)) if made < len(searches) else None
        if rows is None or len(rows) >= len(nodes) or not np.isin(rows, nodes.rows).all():
            return None
        return rows


def parse_ranges(ranges: str, nodes: int) -> IntArray | None:
    """The places of `4-6,0-1`; None where one is named twice or not there."""
    pairs = [part.split("-") for part in ranges.split(",")]
    bounds = [(int(first), int(last)) for first, last in pairs]
    if any(not first <= last < nodes for first, last in bounds):
        return None
    rows = np.concatenate([np.arange(first, last + 1) for first, last in bounds])
    return rows if len(np.unique(rows)) == len(rows) else None
