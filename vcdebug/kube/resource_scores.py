"""Least allocated, most allocated and balanced allocation.

Upstream: k8s plugin noderesources.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vcdebug.gomath import FloatArray, div_rows, trunc_rows
from vcdebug.kube.nodeview import Columns, NodeView
from vcdebug.kube.requests import Scored
from vcdebug.model.names import BoolArray, IntArray
from vcdebug.model.rowcache import RowCache

MAX_SCORE = 100
_Share = Callable[[IntArray, IntArray], IntArray]
_Score = Callable[[NodeView, Scored, IntArray], IntArray]


class ResourceScores:
    """The scores over one session's view: after a placement only its row is scored again."""

    def __init__(self, view: NodeView) -> None:
        self._view = view
        self._known: RowCache[np.int64] = RowCache(len(view), view.changes)

    def _ask(self, score: _Score, pod: Scored, rows: IntArray) -> IntArray:
        return self._known.ask((score, pod), lambda changed: score(self._view, pod, changed))[rows]

    def least_allocated(self, pod: Scored, rows: IntArray) -> IntArray:
        """As the function, for these rows."""
        return self._ask(least_allocated, pod, rows)

    def most_allocated(self, pod: Scored, rows: IntArray) -> IntArray:
        """As the function, for these rows."""
        return self._ask(most_allocated, pod, rows)

    def balanced_allocation(self, pod: Scored, rows: IntArray) -> IntArray | None:
        """As the function, for these rows; None when the pod requests none of the resources (Skip)."""
        return self._ask(balanced_allocation, pod, rows) if any(pod) else None


def least_allocated(view: NodeView, pod: Scored, rows: IntArray) -> IntArray:
    """Average share of cpu and memory that stays free."""
    return _average(view, pod, rows, _least)


def most_allocated(view: NodeView, pod: Scored, rows: IntArray) -> IntArray:
    """Average share of cpu and memory that is taken."""
    return _average(view, pod, rows, _most)


def _least(allocatable: IntArray, wanted: IntArray) -> IntArray:
    return np.where(wanted > allocatable, 0, div_rows((allocatable - wanted) * MAX_SCORE, allocatable))


def _most(allocatable: IntArray, wanted: IntArray) -> IntArray:
    return np.where(wanted > allocatable, MAX_SCORE, div_rows(wanted * MAX_SCORE, allocatable))


def _average(view: NodeView, pod: Scored, rows: IntArray, score: _Share) -> IntArray:
    """Both resources weigh the same; one that the node does not have is left out."""
    allocatable, requested = view.allocatable, view.non_zero_requested
    total: IntArray = np.zeros(len(rows), dtype=np.int64)
    number: IntArray = np.zeros(len(rows), dtype=np.int64)
    for available, used, wanted in (
        (allocatable.milli_cpu[rows], requested.milli_cpu[rows], pod.milli_cpu),
        (allocatable.memory[rows], requested.memory[rows], pod.memory),
    ):
        present = available != 0
        total = total + np.where(present, score(available, used + wanted), 0)
        number = number + present
    return div_rows(total, number)


def balanced_allocation(view: NodeView, pod: Scored, rows: IntArray) -> IntArray:
    """How much more even the shares of cpu, memory and GPU become."""
    before, after = _balance(view, Scored(0, 0, 0), rows, pod), _balance(view, pod, rows, pod)
    half = MAX_SCORE // 2  # exact: ints
    return half + div_rows(half + after - before, 2)


def _balance(view: NodeView, added: Scored, rows: IntArray, pod: Scored) -> IntArray:
    shares: list[FloatArray] = []
    present: list[BoolArray] = []
    for name in ("milli_cpu", "memory", "gpu"):
        if name == "gpu" and pod.gpu == 0:
            continue
        available = _column(view.allocatable, name)[rows]
        wanted = (_column(view.requested, name)[rows] + getattr(added, name)).astype(np.float64)
        has = available != 0
        share = wanted / np.where(has, available, 1).astype(np.float64)
        shares.append(np.where(share > 1, 1.0, share))
        present.append(has)
    return trunc_rows((1.0 - _deviation(shares, present)) * float(MAX_SCORE))


def _column(columns: Columns, name: str) -> IntArray:
    column: IntArray = getattr(columns, name)
    return column


def _deviation(shares: list[FloatArray], present: list[BoolArray]) -> FloatArray:
    """Standard deviation of the present shares per row: for two half their distance, for fewer 0."""
    if len(shares) == 2 and present[0].all() and present[1].all():
        return np.abs((shares[0] - shares[1]) / 2.0)
    size = len(shares[0])
    number, total = np.zeros(size, dtype=np.int64), np.zeros(size)
    for share, has in zip(shares, present, strict=True):
        number = number + has
        total = total + np.where(has, share, 0.0)
    mean = total / np.where(number == 0, 1, number).astype(np.float64)
    squares, signed, first = np.zeros(size), np.zeros(size), np.ones(size, dtype=np.bool_)
    for share, has in zip(shares, present, strict=True):
        squares = squares + np.where(has, (share - mean) * (share - mean), 0.0)
        signed = np.where(has, np.where(first, share, signed - share), signed)
        first = first & ~has
    many = np.sqrt(squares / np.where(number == 0, 1, number).astype(np.float64))
    deviation: FloatArray = np.where(number == 2, np.abs(signed / 2.0), np.where(number > 2, many, 0.0))
    return deviation
