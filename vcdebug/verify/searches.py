"""At which nodes a scheduler has looked for each pod, as its log says it, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise

from vcdebug.model.names import NodeName, Row, TaskKey

SEARCH_MARK = "] Considering Task <"
SEARCH_LINE = re.compile(r"\] Considering Task <([^>]+)> on node <([^>]+)>: ")
"""Upstream: util/predicate_helper.PredicateNodes, from -v=4 on."""


class SearchLog:
    """The searches of one cycle; a node that is looked at again begins another one."""

    def __init__(self) -> None:
        self._found: dict[TaskKey, list[dict[NodeName, None]]] = {}
        self._names: dict[NodeName, NodeName] = {}
        self._last = ""

    def read_line(self, line: str) -> None:
        """Take down a line, if it is about a node."""
        match = SEARCH_LINE.search(line) if SEARCH_MARK in line else None
        if match is None:
            return
        task, node = match[1], self._names.setdefault(match[2], match[2])
        searches = self._found.setdefault(task, [])
        if task != self._last or node in searches[-1]:
            searches.append({})
        self._last = task
        searches[-1][node] = None

    def clear_cycle(self) -> None:
        """Another cycle begins."""
        self._found.clear()
        self._last = ""

    def chance_texts(self, nodes: Iterable[NodeName]) -> dict[TaskKey, str]:
        """By pod, as the replay takes it; nothing of pods with nodes that are not there."""
        places = {name: place for place, name in enumerate(nodes)}
        known = {
            task: searches
            for task, searches in self._found.items()
            if all(node in places for search in searches for node in search)
        }
        return {task: _search_text(searches, places) for task, searches in known.items()}


def _search_text(searches: Iterable[Iterable[NodeName]], places: Mapping[NodeName, int]) -> str:
    return ";".join(
        format_ranges(_rotate_rows(sorted(places[node] for node in search), len(places))) for search in searches
    )


def _rotate_rows(rows: list[Row], nodes: int) -> list[Row]:
    """Ascending places from the one behind the widest gap on: there the round of the workers began."""
    gaps = [after - before for before, after in pairwise([*rows, rows[0] + nodes])]
    begin = gaps.index(max(gaps)) + 1
    return [*rows[begin:], *rows[:begin]]


def format_ranges(rows: list[Row]) -> str:
    """Places in their order, as the replay takes them."""
    starts = [place for place, row in enumerate(rows) if place == 0 or row != rows[place - 1] + 1]
    ends = [*starts[1:], len(rows)]
    return ",".join(f"{rows[start]}-{rows[end - 1]}" for start, end in zip(starts, ends, strict=True))
