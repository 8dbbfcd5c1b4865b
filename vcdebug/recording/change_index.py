"""Which changes wrote which figure: ascending places in the log of changes, found over whole columns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import attrgetter

import numpy as np

from vcdebug.framework.columns import OPERATION
from vcdebug.framework.record import OpEvent, Record
from vcdebug.model.names import IntArray, NodeName
from vcdebug.recording.event_index import Numbering, Postings, Seqs

TASK, NODE, PHASE, BOOK = "task", "node", "phase", "book"
FigureKey = tuple[str, str, str]
"""(plugin, job or queue or nothing, figure)."""
FigureGroup = tuple[str, str, tuple[str, ...]]
"""(kind, plugin, figures that are written together); the last two are empty for what is no plugin's."""


class ChangeIndex:
    """Places by figure: kind is task, node, phase or book."""

    def __init__(self, record: Record, nodes: Collection[NodeName]) -> None:
        self._numbers = Numbering[str]()
        self._columns: dict[FigureGroup, list[tuple[IntArray, IntArray]]] = {}
        self._postings: dict[tuple[str, str, str], Postings] = {}
        kinds = record.changes.kinds
        operations = np.flatnonzero(np.fromiter(map(OPERATION.__eq__, kinds), dtype=np.bool_, count=len(kinds)))
        self._add_operations(record, operations, nodes)
        self._add_others(record, np.setdiff1d(np.arange(len(kinds)), operations, assume_unique=True))

    def places_of(self, kind: str, key: str | FigureKey) -> Seqs:
        """Places of the changes that wrote a figure."""
        plugin, name, figure = ("", key, "") if isinstance(key, str) else key
        return self._postings_for(kind, plugin, figure).seqs_of(name)

    def last_place(self, kind: str, key: str | FigureKey, before: int) -> int | None:
        """The last place before another one at which a figure was written."""
        plugin, name, figure = ("", key, "") if isinstance(key, str) else key
        return self._postings_for(kind, plugin, figure).last_seq(name, before)

    def latest_places(self, kind: str, before: int) -> dict[str, int]:
        """The last place before another one, for every task, node or job that was written by then."""
        return self._postings_for(kind, "", "").latest_seqs(before)

    def changed_names(self, kind: str) -> Sequence[str]:
        """The tasks, nodes or jobs that changed, in order of the first change."""
        return self._postings_for(kind, "", "").stated_names()

    def _postings_for(self, kind: str, plugin: str, figure: str) -> Postings:
        wanted = (kind, plugin, figure)
        if wanted not in self._postings:
            groups = self._columns.items()
            parts = [group for (k, p, figures), group in groups if (k, p) == (kind, plugin) and figure in figures]
            self._postings[wanted] = Postings(self._numbers, [column for group in parts for column in group])
        return self._postings[wanted]

    def _add_column(self, group: FigureGroup, places: IntArray, names: Iterable[str]) -> None:
        column = (places, self._numbers.numbers_of(names, len(places)))
        self._columns.setdefault(group, []).append(column)

    def _add_operations(self, record: Record, places: IntArray, nodes: Collection[NodeName]) -> None:
        """An operation wrote its task, its node and the figures that it has a place for."""
        events, seqs = record.events, record.changes.seqs
        done = [one for place in places.tolist() if isinstance(one := events[seqs[place] - 1], OpEvent)]
        assert len(done) == len(places)
        self._add_column((TASK, "", ("",)), places, map(attrgetter("task"), done))
        known = np.fromiter((event.node in nodes for event in done), dtype=np.bool_, count=len(done))
        self._add_column((NODE, "", ("",)), places[known], (event.node for event in done if event.node in nodes))
        rows = np.fromiter(map(attrgetter("place"), done), dtype=np.int64, count=len(done))
        for entry, having, owners in record.figures.rows_by_entry(rows):
            self._add_column((BOOK, entry.plugin, entry.names), places[having], owners)

    def _add_others(self, record: Record, places: IntArray) -> None:
        """Changes that say themselves what they wrote."""
        found: dict[FigureGroup, tuple[list[int], list[str]]] = {}
        for place in places.tolist():
            _, kind, key, value = record.changes[place]
            plugin, name = key if kind == BOOK else ("", key)
            group = (kind, plugin, tuple(value) if kind == BOOK else ("",))
            at, names = found.setdefault(group, ([], []))
            at.append(place)
            names.append(name or "")
        for group, (at, names) in found.items():
            self._add_column(group, np.array(at, dtype=np.int64), names)
