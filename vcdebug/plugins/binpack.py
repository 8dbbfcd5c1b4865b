"""binpack: prefer the node that the task would fill most, by weighted resources.

Upstream: plugins/binpack.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import NODE_ORDER
from vcdebug.framework.plugin import NodeScores, Plugin
from vcdebug.framework.session import Session
from vcdebug.model.names import BoolArray, FloatArray, IntArray
from vcdebug.model.node import NodeInfo
from vcdebug.model.nodetable import NodeRows, NodeTable, Wanted, zeros
from vcdebug.model.resource import CPU, MEMORY, Resource
from vcdebug.model.rowcache import RowCache
from vcdebug.model.task import TaskInfo

WEIGHT = "binpack.weight"
RESOURCES = "binpack.resources"
MAX_SCORE = 100

PartValues = tuple[str, float, float, int, float, bool | None]
"""A Part as it is added up: scores are many, and few are explained."""


Counted = tuple[tuple[str, int, float], ...]
"""Name, weight and amount of each requested resource that counts."""


class Part(NamedTuple):
    """One resource of a node's score."""

    name: str
    wanted: float
    """What is used and what is asked for."""
    capacity: float
    weight: int
    share: float
    """The weighted fraction that would be used."""
    fits: bool | None
    """None where it does not count."""


class Packed(NamedTuple):
    """A node's score, part by part."""

    parts: tuple[Part, ...]
    weights: int
    score: float
    """0 where something does not fit."""


class Binpack(Plugin):
    """(used + request) × weight / allocatable per configured resource, averaged by weight."""

    name: ClassVar[str] = "binpack"
    judges_by_pod: ClassVar[bool] = True

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.weight = arguments.get_int(WEIGHT, 1)
        self.resources = _resource_weights(arguments)

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/binpack.OnSessionOpen."""
        if self.weight == 0:
            ssn.withdraw(self, NODE_ORDER.method)
        table = ssn.node_table
        self._known: RowCache[np.float64] = RowCache(len(table), table.changes)
        self._counted: dict[Wanted, Counted] = {}

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Upstream: plugins/binpack.nodeOrderFn."""
        table = nodes.table
        wanted = table.wanted(task.resreq)
        counted = self._counted.get(wanted)
        if counted is None:
            counted = self._counted[wanted] = self._counting(task.resreq)
        known = self._known.ask(
            wanted,
            lambda rows: self._scores(counted, table, rows),
            lambda row: self._score(counted, table.nodes[row]),
        )
        return NodeScores(known[nodes.rows])

    def _counting(self, request: Resource) -> Counted:
        weighed = ((name, self.resources.get(name), request.get(name)) for name in request.resource_names())
        return tuple([(name, weight, amount) for name, weight, amount in weighed if weight is not None])

    def score(self, request: Resource, node: NodeInfo) -> float:
        """As scores, for one node."""
        return self._score(self._counting(request), node)

    def _score(self, counted: Counted, node: NodeInfo) -> float:
        score, weights, used, allocatable = 0.0, 0, node.used, node.allocatable
        for name, weight, amount in counted:
            capacity, wanted = allocatable.get(name), amount + used.get(name)
            weights += weight
            if weight != 0 and capacity != 0:
                if wanted > capacity:
                    return 0.0
                score += wanted * float(weight) / capacity
        return self._average(score, weights)

    def packed(self, request: Resource, used: Resource, allocatable: Resource) -> Packed:
        """How full the request would make a node, resource by resource.
        Upstream: plugins/binpack.BinPackingScore.
        """
        parts = tuple([Part(*part) for part in self._parts(request, used, allocatable)])
        score, weights = 0.0, 0
        for part in parts:
            score, weights = score + part.share, weights + part.weight
        full = any(part.fits is False for part in parts)
        return Packed(parts, weights, 0.0 if full else self._average(score, weights))

    def _parts(self, request: Resource, used: Resource, allocatable: Resource) -> Iterator[PartValues]:
        """The values of each Part. Upstream: plugins/binpack.ResourceBinPackingScore."""
        for name in request.resource_names():
            weight = self.resources.get(name)
            if weight is None:
                continue
            capacity, wanted = allocatable.get(name), request.get(name) + used.get(name)
            if weight == 0 or capacity == 0:
                yield name, wanted, capacity, weight, 0.0, None
            else:
                yield name, wanted, capacity, weight, wanted * float(weight) / capacity, wanted <= capacity

    def _average(self, score: float, weights: int) -> float:
        if weights > 0:
            score = score / float(weights)
        return score * float(MAX_SCORE * self.weight)

    def scores(self, request: Resource, nodes: NodeRows) -> FloatArray:
        """The score of a request on each of these nodes; 0 where it does not fit."""
        return self._scores(self._counting(request), nodes.table, nodes.rows)

    def _scores(self, counted: Counted, table: NodeTable, rows: IntArray) -> FloatArray:
        score = zeros(len(rows))
        weights = 0
        full: BoolArray = np.zeros(len(rows), dtype=np.bool_)
        for name, weight, amount in counted:
            capacity = table.column("allocatable", name)[rows]
            wanted = amount + table.column("used", name)[rows]
            weights += weight
            if weight != 0 and np.count_nonzero(capacity) == len(capacity):
                full |= wanted > capacity
                score = score + wanted * float(weight) / capacity
                continue
            counts = (capacity != 0) & (weight != 0)
            full |= counts & (wanted > capacity)
            share = wanted * float(weight) / np.where(capacity == 0, 1.0, capacity)
            score = score + np.where(counts, share, 0.0)
        if weights > 0:
            score = score / float(weights)
        return np.where(full, 0.0, score * float(MAX_SCORE * self.weight))


def _resource_weights(arguments: Arguments) -> dict[str, int]:
    """Weights by resource; cpu and memory come from their own keys whatever the list says."""
    listed = (name.strip() for name in arguments.get_string(RESOURCES, "").split(","))
    weights = {name: _not_negative(arguments, f"{RESOURCES}.{name}") for name in listed if name}
    weights[CPU] = _not_negative(arguments, "binpack.cpu")
    weights[MEMORY] = _not_negative(arguments, "binpack.memory")
    return weights


def _not_negative(arguments: Arguments, key: str) -> int:
    weight = arguments.get_int(key, 1)
    return 1 if weight < 0 else weight
