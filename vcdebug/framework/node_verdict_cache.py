"""Cached search results of every node, if a single plugin filters nodes and can precompute its answers: they are
computed once, and again for the nodes whose amounts changed.

Upstream: none; util/predicate_helper asks at each node that it visits.
"""

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from vcdebug.model.fit_errors import ReasonTable
from vcdebug.model.names import Codes, IntArray
from vcdebug.model.node_table import NodeField, NodeTable, RequestAmounts, RowCache
from vcdebug.model.task import TaskInfo

ALLOCATE, PREEMPT = 0, 1
"""Indexes of the actions' masks in ReasonTable.blocking."""


NodeJudge = Callable[[TaskInfo], Codes | None]
"""The `precomputed_codes` method of the only plugin that filters nodes."""


class NodeQuestion(Struct, frozen=True):
    """The conditions under which an action accepts a node."""

    action: int
    needs_room: bool
    """Whether the node must have room before the plugin is asked."""


class NodeVerdictCache:
    """The cached answers about every node of a session."""

    __slots__ = ("_codes", "_judge", "_passing_codes", "_reasons", "_table")

    def __init__(self, table: NodeTable, reasons: ReasonTable, judge: NodeJudge) -> None:
        self._table = table
        self._reasons = reasons
        self._judge = judge
        self._passing_codes: dict[tuple[int, int], tuple[Codes, Codes]] = {}
        self._codes: RowCache[np.uint16] = RowCache(len(table), table.changes)

    def plugin_codes(self, task: TaskInfo) -> Codes | None:
        """The plugin's code for every node; None if the plugin must be asked. Read-only."""
        return self._judge(task)

    def search_codes(self, task: TaskInfo, question: NodeQuestion) -> Codes | None:
        """The code of every node, 0 where the task may go; None if the plugin must be asked. Read-only."""
        codes = self._judge(task)
        if codes is None:
            return None
        # A writable array belongs to this task alone, so caching results of it is useless.
        if codes.flags.writeable:
            passing = self._mask_passing(codes, question.action)
            return self._with_room_uncached(task, passing) if question.needs_room else passing
        passing = self._cached_passing(codes, question.action)
        return self._with_room(task, passing) if question.needs_room else passing

    def _with_room_uncached(self, task: TaskInfo, passing: Codes) -> Codes:
        table, request = self._table, task.init_resreq
        shortages = self._shortage_codes(table.request_amounts(request))[table.lacking_dimensions(request, "future")]
        return np.where(shortages, shortages, passing)

    def _cached_passing(self, codes: Codes, action: int) -> Codes:
        """The codes, with 0 in place of codes that the action ignores; cached."""
        # The entry keeps the array alive: otherwise another array could get the same id.
        entry = self._passing_codes.get((id(codes), action))
        if entry is None:
            entry = self._passing_codes[id(codes), action] = (codes, self._mask_passing(codes, action))
        return entry[1]

    def _mask_passing(self, codes: Codes, action: int) -> Codes:
        passing: Codes = codes * self._reasons.blocking_masks()[action][codes]
        return passing

    def _with_room(self, task: TaskInfo, passing: Codes) -> Codes:
        """Per node the first dimension of InitResreq that FutureIdle lacks, else the plugin's code."""
        table = self._table
        request, field = table.request_amounts(task.init_resreq), table.room_field()
        return self._codes.cached_values(
            (id(passing), field, request),
            lambda rows: self._row_codes(request, field, passing, rows),
            lambda row: self._row_code(request, field, passing, row),
        )

    def _row_codes(self, request: RequestAmounts, field: NodeField, passing: Codes, rows: IntArray) -> Codes:
        shortages = self._shortage_codes(request)[self._table.first_lacking(request, field, rows)]
        answers: Codes = np.where(shortages, shortages, passing[rows])
        return answers

    def _row_code(self, request: RequestAmounts, field: NodeField, passing: Codes, row: int) -> int:
        dimension = self._table.first_lacking_on_node(request, field, row)
        return self._shortage_codes(request).item(dimension) if dimension else passing.item(row)

    def _shortage_codes(self, request: RequestAmounts) -> Codes:
        return self._reasons.shortage_codes(tuple([name for name, _ in request]))
