"""binpack: prefers nodes that the task would fill most, by weighted resources. Upstream: plugins/binpack."""

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import NODE_ORDER
from vcdebug.framework.plugin_answers import NodeScores
from vcdebug.framework.session import Plugin, Session
from vcdebug.model.names import BoolArray, FloatArray, IntArray
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows, NodeTable, RequestAmounts, RowCache, zero_array
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo

WEIGHT_KEY = "binpack.weight"
KEY = "binpack"
MAX_SCORE = 100

PartValues = tuple[str, float, float, int, float, bool | None]
"""The values of a BinpackPart as a plain tuple: many scores are computed, few are explained."""
CountedResources = tuple[tuple[str, int, float], ...]
"""(name, weight, amount) of each requested resource that has a weight."""


class BinpackPart(NamedTuple):
    """One resource's part of a node's score."""

    name: str
    used_after: float
    """Used plus requested amount."""
    capacity: float
    weight: int
    share: float
    """The weighted fraction of the capacity that would be used."""
    request_fits: bool | None
    """Whether the request fits; None if the resource does not count."""


class BinpackScore(NamedTuple):
    """A node's score, with its parts by resource."""

    parts: tuple[BinpackPart, ...]
    weights: int
    score: float
    """The score; 0 if some resource does not fit."""


class Binpack(Plugin):
    """Scores (used + request) × weight / allocatable per configured resource, averaged by weight."""

    name: ClassVar[str] = "binpack"
    judges_by_pod: ClassVar[bool] = True

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.weight = arguments.get_int(WEIGHT_KEY, 1)
        self.resources = arguments.get_resource_weights(KEY, arguments.get_string(f"{KEY}.resources", ""))

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/binpack.OnSessionOpen."""
        if self.weight == 0:
            ssn.withdraw_hook(self, NODE_ORDER.method)
        table = ssn.node_table
        self._scores: RowCache[np.float64] = RowCache(len(table), table.changes)
        self._counted: dict[RequestAmounts, CountedResources] = {}

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Upstream: plugins/binpack.nodeOrderFn."""
        table = nodes.table
        request = table.request_amounts(task.resreq)
        counted = self._counted.get(request)
        if counted is None:
            counted = self._counted[request] = self._counted_resources(task.resreq)
        node_scores = self._scores.cached_values(
            request,
            lambda rows: self._score_rows_counted(counted, table, rows),
            lambda row: self._score_counted(counted, table.nodes[row]),
        )
        return NodeScores(node_scores[nodes.rows])

    def _counted_resources(self, request: Resource) -> CountedResources:
        weighed = ((name, self.resources.get(name), request.get(name)) for name in request.resource_names())
        return tuple([(name, weight, amount) for name, weight, amount in weighed if weight is not None])

    def score_node(self, request: Resource, node: NodeInfo) -> float:
        return self._score_counted(self._counted_resources(request), node)

    def _score_counted(self, counted: CountedResources, node: NodeInfo) -> float:
        score, weights, used, allocatable = 0.0, 0, node.used, node.allocatable
        for name, weight, amount in counted:
            capacity, filled = allocatable.get(name), amount + used.get(name)
            weights += weight
            if weight != 0 and capacity != 0:
                if filled > capacity:
                    return 0.0
                score += filled * float(weight) / capacity
        return self._average_score(score, weights)

    def bin_packing_score(self, request: Resource, used: Resource, allocatable: Resource) -> BinpackScore:
        """A node's score with its parts by resource. Upstream: plugins/binpack.BinPackingScore."""
        parts = tuple([BinpackPart(*part) for part in self._part_values(request, used, allocatable)])
        score, weights = 0.0, 0
        for part in parts:
            score, weights = score + part.share, weights + part.weight
        full = any(part.request_fits is False for part in parts)
        return BinpackScore(parts, weights, 0.0 if full else self._average_score(score, weights))

    def _part_values(self, request: Resource, used: Resource, allocatable: Resource) -> Iterator[PartValues]:
        """Yield the values of each part. Upstream: plugins/binpack.ResourceBinPackingScore."""
        for name in request.resource_names():
            weight = self.resources.get(name)
            if weight is None:
                continue
            capacity, filled = allocatable.get(name), request.get(name) + used.get(name)
            if weight == 0 or capacity == 0:
                yield name, filled, capacity, weight, 0.0, None
            else:
                yield name, filled, capacity, weight, filled * float(weight) / capacity, filled <= capacity

    def _average_score(self, score: float, weights: int) -> float:
        if weights > 0:
            score = score / float(weights)
        return score * float(MAX_SCORE * self.weight)

    def score_rows(self, request: Resource, nodes: NodeRows) -> FloatArray:
        """The score of a request on each of these nodes; 0 if it does not fit."""
        return self._score_rows_counted(self._counted_resources(request), nodes.table, nodes.rows)

    def _score_rows_counted(self, counted: CountedResources, table: NodeTable, rows: IntArray) -> FloatArray:
        score = zero_array(len(rows))
        weights = 0
        full: BoolArray = np.zeros(len(rows), dtype=np.bool_)
        for name, weight, amount in counted:
            capacity = table.dimension_column("allocatable", name)[rows]
            filled = amount + table.dimension_column("used", name)[rows]
            weights += weight
            # The common case takes fewer steps: nearly always every node has some of the resource.
            if weight != 0 and np.count_nonzero(capacity) == len(capacity):
                full |= filled > capacity
                score = score + filled * float(weight) / capacity
                continue
            counts = (capacity != 0) & (weight != 0)
            full |= counts & (filled > capacity)
            share = filled * float(weight) / np.where(capacity == 0, 1.0, capacity)
            score = score + np.where(counts, share, 0.0)
        if weights > 0:
            score = score / float(weights)
        return np.where(full, 0.0, score * float(MAX_SCORE * self.weight))
