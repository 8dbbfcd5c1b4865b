"""Least allocated, most allocated and balanced allocation. Upstream: k8s plugin noderesources."""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from vcdebug.gomath import (
    FloatArray,
    div_rows,
    int_div,
    ordered_sum,
    trunc_int64,
    trunc_rows,
    weighted_rows,
    wrap_int64,
)
from vcdebug.kube.node_view import NodeView, ResourceColumns
from vcdebug.kube.pod_requests import CPU, GPU, MEMORY, PodRequests, ScoredAmounts
from vcdebug.model.names import BoolArray, IntArray, KeptScores, Row
from vcdebug.model.node_table import RowCache

MAX_SCORE = 100
_ScoreColumns = Callable[[IntArray, IntArray], IntArray]
_NO_AMOUNTS = ScoredAmounts(0, 0, 0)
LEAST_ROW, BALANCED_ROW = 0, 1
"""Row numbers in the result of plain_scores."""
ResourceFigures = tuple[str, int, int, int]
"""(name, allocatable, requested by pods, added by the incoming pod) of one resource on one node."""


class AveragePart(Struct, frozen=True):
    """One resource's part of an average score."""

    name: str
    allocatable: int
    requested: int
    added: int
    score: int


class AverageScore(Struct, frozen=True):
    """The least or most allocated score of one node."""

    portions: tuple[AveragePart, ...]
    """One part for each resource that the node has."""
    score: int


class BalancePart(Struct, frozen=True):
    """One resource's part of a balanced score."""

    name: str
    allocatable: int
    requested: int
    added: int
    fraction_before: float
    fraction_after: float
    """The requested fraction of the allocatable amount without and with the pod, at most 1."""


class BalancedScore(Struct, frozen=True):
    """The balanced allocation score of one node."""

    filled: tuple[BalancePart, ...]
    score_before: int
    score_after: int
    """The balance in hundredths without and with the pod."""
    absolute: bool
    """Whether the score is the final balance instead of the improvement."""
    score: int


class ScoreWeights(NamedTuple):
    """The weights of the three scores."""

    least_requested: float = 1.0
    most_requested: float = 1.0
    balanced: float = 1.0

    @property
    def score_dtype(self) -> type[np.float32 | np.float64]:
        """The smallest float type that holds every weighed score exactly."""
        # float32 represents all integers below 2^24, and a recording keeps one array per task.
        return np.float32 if MAX_SCORE * max(map(abs, self)) < 1 << 24 else np.float64


class ResourceScores:
    """The resource scores over one session's view; after a placement only the changed row is scored again."""

    def __init__(
        self,
        view: NodeView,
        weights: ScoreWeights = ScoreWeights(),  # noqa: B008
        *,
        absolute: bool = False,
        best_effort: bool = False,
    ) -> None:
        """`absolute`: the balanced score is the node's final balance, not the improvement. `best_effort`: pods that
        request nothing get a balanced score too.
        """
        self._view = view
        self._weights = weights
        self._absolute = absolute
        self._best_effort = best_effort
        self._scores_before: RowCache[np.int64] = RowCache(len(view), view.changes)
        self._scores: RowCache[np.float64] = RowCache(len(view), view.changes)
        self._score_pairs: RowCache[np.float64 | np.float32] = RowCache(len(view), view.changes)
        self.has_overflow = False
        """Whether a score was below 0 or above 100, which amounts that wrapped around cause."""

    def least_allocated(self, pod: PodRequests, rows: IntArray) -> KeptScores:
        """Scores of the function `least_allocated` for these rows, times the weight."""
        if self._view.has_immense_amounts:
            return self._score_row_by_row(
                lambda row: self._average_of_one(pod, row, _least_of_one), rows, self._weights.least_requested
            )
        if self._view.complete and not pod.incoming.gpu:
            least: KeptScores = self._plain_scores(pod)[LEAST_ROW][rows]
            return least
        amounts, weight = pod.incoming_non_zero, self._weights.least_requested
        return self._scores.cached_values(
            ("least", amounts),
            lambda changed: weighted_rows(least_allocated(self._view, amounts, changed), weight),
            lambda row: self._average_of_one(pod, row, _least_of_one) * weight,
        )[rows]

    def most_allocated(self, pod: PodRequests, rows: IntArray) -> FloatArray:
        """Scores of the function `most_allocated` for these rows, times the weight."""
        amounts, weight = pod.incoming_non_zero, self._weights.most_requested
        if self._view.has_immense_amounts:
            return self._score_row_by_row(lambda row: self._average_of_one(pod, row, _most_of_one), rows, weight)
        return self._scores.cached_values(
            ("most", amounts),
            lambda changed: weighted_rows(most_allocated(self._view, amounts, changed), weight),
            lambda row: self._average_of_one(pod, row, _most_of_one) * weight,
        )[rows]

    def balanced_allocation(self, pod: PodRequests, rows: IntArray) -> KeptScores | None:
        """The gain in balance of cpu, memory and GPU, times the weight; None if the pod requests none of them."""
        amounts, weight = pod.incoming, self._weights.balanced
        if not (any(amounts) or self._best_effort):
            return None
        if self._view.has_immense_amounts:
            return self._score_row_by_row(lambda row: self._balanced_one(amounts, row), rows, weight)
        if self._view.complete and not amounts.gpu:
            balanced: KeptScores = self._plain_scores(pod)[BALANCED_ROW][rows]
            return balanced
        return self._scores.cached_values(
            ("balanced", amounts),
            lambda changed: weighted_rows(self._balanced_scores(amounts, changed), weight),
            lambda row: self._balanced_one(amounts, row) * weight,
        )[rows]

    def _score_row_by_row(self, score: Callable[[Row], int], rows: IntArray, weight: float) -> FloatArray:
        """Score row by row, for amounts so large that numpy's columns would overflow differently from Go."""
        scores = [score(row) for row in rows.tolist()]
        self.has_overflow = self.has_overflow or not all(0 <= value <= MAX_SCORE for value in scores)
        return weighted_rows(np.array(scores, dtype=np.int64), weight)

    def _average_of_one(self, pod: PodRequests, row: Row, score: Callable[[int, int], int]) -> int:
        return average_of_one(self._view, pod.incoming_non_zero, row, score)

    def _plain_scores(self, pod: PodRequests) -> KeptScores:
        """Least allocated above balanced allocation, both weighed, where only cpu and memory count and every node has
        both: two scores of one gathering.
        """
        return self._score_pairs.cached_values(
            pod,
            lambda rows: plain_scores(self._view, pod, rows, self._weights, absolute=self._absolute),
            lambda row: self._plain_scores_of_row(pod, row),
        )

    def _plain_scores_of_row(self, pod: PodRequests, row: Row) -> tuple[float, float]:
        """As _plain_scores, for one node."""
        view, added = self._view, pod.incoming_non_zero
        cpu, memory = view.allocatable.cpu_and_memory[:, row].tolist()
        used_cpu, used_memory = view.non_zero_requested.cpu_and_memory[:, row].tolist()
        free_cpu, free_memory = cpu - used_cpu - added.milli_cpu, memory - used_memory - added.memory
        # Plain // is correct: both operands are positive, where it equals Go's truncation.
        least = free_cpu * MAX_SCORE // cpu if free_cpu > 0 else 0  # exact: ints
        least += free_memory * MAX_SCORE // memory if free_memory > 0 else 0  # exact: ints
        used_cpu, used_memory = view.requested.cpu_and_memory[:, row].tolist()
        incoming = pod.incoming
        balanced = _balance_of_two((used_cpu + incoming.milli_cpu) / cpu, (used_memory + incoming.memory) / memory)
        if not self._absolute:
            balanced = balance_improvement(_balance_of_two(used_cpu / cpu, used_memory / memory), balanced)
        return least // 2 * self._weights.least_requested, balanced * self._weights.balanced  # exact: ints

    def _balanced_one(self, pod: ScoredAmounts, row: Row) -> int:
        gpu = pod.gpu != 0
        if self._absolute:
            return balance_of_one(self._view, pod, row, gpu=gpu)
        before = balance_of_one(self._view, _NO_AMOUNTS, row, gpu=gpu)
        return balance_improvement(before, balance_of_one(self._view, pod, row, gpu=gpu))

    def balance_parts(self, pod: ScoredAmounts, row: Row) -> BalancedScore | None:
        """The parts of one node's balanced score; None if the pod requests none of the resources."""
        if not (any(pod) or self._best_effort):
            return None
        view, gpu = self._view, pod.gpu != 0
        looked = [figures for figures in _requested_figures(view, pod, row, gpu=gpu) if figures[1]]
        filled = tuple(
            [
                BalancePart(
                    *figures, _filled_share(figures[1], figures[2]), _filled_share(figures[1], figures[2] + figures[3])
                )
                for figures in looked
            ]
        )
        before, after = (balance_of_one(view, added, row, gpu=gpu) for added in (_NO_AMOUNTS, pod))
        score = after if self._absolute else balance_improvement(before, after)
        return BalancedScore(filled, before, after, self._absolute, score)

    def _balanced_scores(self, pod: ScoredAmounts, rows: IntArray) -> IntArray:
        """Balanced scores of rows; the balance without the pod is shared by pods with the same kind of GPU request."""
        gpu = pod.gpu != 0
        if self._absolute:
            return _balance_of_rows(self._view, pod, rows, gpu=gpu)
        before = self._scores_before.cached_values(
            gpu,
            lambda changed: _balance_of_rows(self._view, _NO_AMOUNTS, changed, gpu=gpu),
            lambda row: balance_of_one(self._view, _NO_AMOUNTS, row, gpu=gpu),
        )
        half = MAX_SCORE // 2  # exact: ints
        return half + div_rows(half + _balance_of_rows(self._view, pod, rows, gpu=gpu) - before[rows], 2)


def plain_scores(
    view: NodeView, pod: PodRequests, rows: IntArray, weights: ScoreWeights, *, absolute: bool
) -> KeptScores:
    """Least allocated and balanced allocation of complete nodes for a pod without GPUs, shape (2, rows)."""
    # In place and without np.where: this is nodeorder's hottest array code.
    allocatable = view.allocatable.cpu_and_memory.take(rows, axis=1)
    free = allocatable - view.non_zero_requested.cpu_and_memory.take(rows, axis=1)
    free -= _column_of(pod.incoming_non_zero)
    np.maximum(free, 0, out=free)
    free *= MAX_SCORE
    free //= allocatable  # exact: ints
    scores: KeptScores = np.empty((2, len(rows)), dtype=weights.score_dtype)
    scores[LEAST_ROW] = (free[0] + free[1]) // 2 * weights.least_requested  # exact: ints
    requested = view.requested.cpu_and_memory.take(rows, axis=1)
    filled: FloatArray = np.empty((2, *allocatable.shape))
    np.divide(requested, allocatable, out=filled[0])
    np.divide(requested + _column_of(pod.incoming), allocatable, out=filled[1])
    np.minimum(filled, 1.0, out=filled)
    deviation = np.abs((filled[:, 0] - filled[:, 1]) / 2.0)
    before, after = ((1.0 - deviation) * float(MAX_SCORE)).astype(np.int64)
    balanced = after
    if not absolute:
        change = after - before + MAX_SCORE // 2  # exact: ints
        balanced = ((change + (change < 0)) >> 1) + MAX_SCORE // 2  # exact: ints, halved toward zero
    scores[BALANCED_ROW] = balanced * weights.balanced
    return scores


@lru_cache(maxsize=1024)
def _column_of(pod: ScoredAmounts) -> IntArray:
    return np.array([[pod.milli_cpu], [pod.memory]], dtype=np.int64)


def _balance_of_two(cpu: float, memory: float) -> int:
    """The balance of two shares in hundredths."""
    # The standard deviation of two values is half their distance; upstream has the same special case.
    distance = (cpu if cpu < 1.0 else 1.0) - (memory if memory < 1.0 else 1.0)
    return int((1.0 - abs(distance / 2.0)) * float(MAX_SCORE))


def balance_improvement(before: int, after: int) -> int:
    """A score of 50 if the pod does not change the balance, more if it improves the balance."""
    half = MAX_SCORE // 2  # exact: ints
    return half + int_div(half + after - before, 2)


def least_allocated(view: NodeView, pod: ScoredAmounts, rows: IntArray) -> IntArray:
    """The average share of cpu and memory that stays free."""
    return _average_scores(view, pod, rows, _least_scores)


def most_allocated(view: NodeView, pod: ScoredAmounts, rows: IntArray) -> IntArray:
    """The average share of cpu and memory that is requested."""
    return _average_scores(view, pod, rows, _most_scores)


def _least_scores(allocatable: IntArray, requested: IntArray) -> IntArray:
    return div_rows(np.maximum(allocatable - requested, 0) * MAX_SCORE, allocatable)


def _least_of_complete(allocatable: IntArray, requested: IntArray) -> IntArray:
    """As _least_scores, for nodes that all have the resource, so that no division by 0 can occur."""
    score: IntArray = np.maximum(allocatable - requested, 0) * MAX_SCORE // allocatable  # exact: ints
    return score


def _most_scores(allocatable: IntArray, requested: IntArray) -> IntArray:
    return np.where(requested > allocatable, MAX_SCORE, div_rows(requested * MAX_SCORE, allocatable))


def _average_scores(view: NodeView, pod: ScoredAmounts, rows: IntArray, score: _ScoreColumns) -> IntArray:
    """The average over cpu and memory, without a resource that the node lacks."""
    allocatable, requested = view.allocatable, view.non_zero_requested
    if view.complete:
        score = _least_of_complete if score is _least_scores else score
        cpu = score(allocatable.milli_cpu[rows], requested.milli_cpu[rows] + pod.milli_cpu)
        memory = score(allocatable.memory[rows], requested.memory[rows] + pod.memory)
        return div_rows(cpu + memory, 2)
    total: IntArray = np.zeros(len(rows), dtype=np.int64)
    number: IntArray = np.zeros(len(rows), dtype=np.int64)
    for available, used, incoming in (
        (allocatable.milli_cpu[rows], requested.milli_cpu[rows], pod.milli_cpu),
        (allocatable.memory[rows], requested.memory[rows], pod.memory),
    ):
        present = available != 0
        total = total + np.where(present, score(available, used + incoming), 0)
        number = number + present
    return div_rows(total, number)


def average_of_one(view: NodeView, pod: ScoredAmounts, row: Row, score: Callable[[int, int], int]) -> int:
    """As _average_scores, for one node."""
    total = number = 0
    for _, available, used, incoming in _defaulted_figures(view, pod, row):
        if available:
            total = wrap_int64(total + score(available, wrap_int64(used + incoming)))
            number += 1
    return int_div(total, number) if number else 0


def average_parts(view: NodeView, pod: ScoredAmounts, row: Row, *, least: bool) -> AverageScore:
    """The parts of the least or most allocated score on one node."""
    score = _least_of_one if least else _most_of_one
    portions = tuple(
        [
            AveragePart(*figures, score(figures[1], wrap_int64(figures[2] + figures[3])))
            for figures in _defaulted_figures(view, pod, row)
            if figures[1]
        ]
    )
    return AverageScore(portions, average_of_one(view, pod, row, score))


def _defaulted_figures(view: NodeView, pod: ScoredAmounts, row: Row) -> tuple[ResourceFigures, ResourceFigures]:
    """Figures of cpu and memory, with default requests for containers that state none."""
    allocatable, requested = view.allocatable, view.non_zero_requested
    return (
        (CPU, int(allocatable.milli_cpu[row]), int(requested.milli_cpu[row]), pod.milli_cpu),
        (MEMORY, int(allocatable.memory[row]), int(requested.memory[row]), pod.memory),
    )


def _requested_figures(view: NodeView, pod: ScoredAmounts, row: Row, *, gpu: bool) -> list[ResourceFigures]:
    """Figures of the requested cpu and memory, and of GPUs if the pod requests some."""
    available, requested = view.allocatable, view.requested
    figures = [
        (CPU, int(available.milli_cpu[row]), int(requested.milli_cpu[row]), pod.milli_cpu),
        (MEMORY, int(available.memory[row]), int(requested.memory[row]), pod.memory),
    ]
    if gpu:
        figures.append((GPU, int(available.gpu[row]), int(requested.gpu[row]), pod.gpu))
    return figures


def _least_of_one(allocatable: int, requested: int) -> int:
    return int_div(wrap_int64((allocatable - requested) * MAX_SCORE), allocatable) if requested <= allocatable else 0


def _most_of_one(allocatable: int, requested: int) -> int:
    return int_div(wrap_int64(min(requested, allocatable) * MAX_SCORE), allocatable)


def balance_of_one(view: NodeView, added: ScoredAmounts, row: Row, *, gpu: bool) -> int:
    """As _balance_of_rows, for one node."""
    figures = _requested_figures(view, added, row, gpu=gpu)
    shares = [_filled_share(capacity, used + incoming) for _, capacity, used, incoming in figures if capacity]
    return trunc_int64((1.0 - _deviation_of_one(shares)) * float(MAX_SCORE))


def _filled_share(capacity: int, requested: int) -> float:
    return min(float(wrap_int64(requested)) / float(capacity), 1.0)


def _deviation_of_one(shares: list[float]) -> float:
    if len(shares) < 2:
        return 0.0
    if len(shares) == 2:
        return abs((shares[0] - shares[1]) / 2.0)
    # ordered_sum adds from left to right as Go does; sum() of Python 3.12 and later compensates rounding errors.
    mean = ordered_sum(shares) / float(len(shares))
    squares = ordered_sum((share - mean) * (share - mean) for share in shares)
    return math.sqrt(squares / float(len(shares)))


def _balance_of_rows(view: NodeView, added: ScoredAmounts, rows: IntArray, *, gpu: bool) -> IntArray:
    if view.complete and not gpu:
        cpu = (view.requested.milli_cpu[rows] + added.milli_cpu) / view.allocatable.milli_cpu[rows]
        memory = (view.requested.memory[rows] + added.memory) / view.allocatable.memory[rows]
        distance = np.minimum(cpu, 1.0) - np.minimum(memory, 1.0)
        return trunc_rows((1.0 - np.abs(distance / 2.0)) * float(MAX_SCORE))
    shares: list[FloatArray] = []
    present: list[BoolArray] = []
    for name in ("milli_cpu", "memory", "gpu"):
        if name == "gpu" and not gpu:
            continue
        available = _named_column(view.allocatable, name)[rows]
        requested = (_named_column(view.requested, name)[rows] + getattr(added, name)).astype(np.float64)
        has_resource = available != 0
        share = requested / np.where(has_resource, available, 1).astype(np.float64)
        shares.append(np.where(share > 1, 1.0, share))
        present.append(has_resource)
    return trunc_rows((1.0 - _deviation_of_rows(shares, present)) * float(MAX_SCORE))


def _named_column(columns: ResourceColumns, name: str) -> IntArray:
    column: IntArray = getattr(columns, name)
    return column


def _deviation_of_rows(shares: list[FloatArray], present: list[BoolArray]) -> FloatArray:
    """The standard deviation of the present shares per row; half the distance of two, 0 for fewer."""
    if len(shares) == 2 and all(np.count_nonzero(has_resource) == len(has_resource) for has_resource in present):
        return np.abs((shares[0] - shares[1]) / 2.0)
    # Column by column in upstream's order of resources: np.mean and np.std add pairwise and round differently.
    size = len(shares[0])
    number, total = np.zeros(size, dtype=np.int64), np.zeros(size)
    for share, has_resource in zip(shares, present, strict=True):
        number = number + has_resource
        total = total + np.where(has_resource, share, 0.0)
    mean = total / np.where(number == 0, 1, number).astype(np.float64)
    squares, signed, first = np.zeros(size), np.zeros(size), np.ones(size, dtype=np.bool_)
    for share, has_resource in zip(shares, present, strict=True):
        squares = squares + np.where(has_resource, (share - mean) * (share - mean), 0.0)
        signed = np.where(has_resource, np.where(first, share, signed - share), signed)
        first = first & ~has_resource
    deviation_of_many = np.sqrt(squares / np.where(number == 0, 1, number).astype(np.float64))
    deviation: FloatArray = np.where(number == 2, np.abs(signed / 2.0), np.where(number > 2, deviation_of_many, 0.0))
    return deviation
