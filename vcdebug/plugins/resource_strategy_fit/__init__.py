"""resource-strategy-fit: per resource, prefer full or empty nodes, and spare nodes with scarce resources.

Upstream: plugins/resource-strategy-fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import NODE_ORDER
from vcdebug.framework.plugin_answers import NodeScores
from vcdebug.framework.session import Plugin, Session
from vcdebug.model.fit_errors import UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus, ReasonTable
from vcdebug.model.names import BoolArray, Codes, FloatArray
from vcdebug.model.node_table import NodeRows
from vcdebug.model.resource import CPU, MEMORY
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.resource_strategy_fit.settings import (
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    PodStrategy,
    Rates,
    Strategy,
    StrategyFitSettings,
    pod_strategy,
)

MAX_SCORE = 100
CHECK_FAILED = "proportional of resource {name} check failed"


class FitPart(NamedTuple):
    """One requested resource over several nodes."""

    name: str
    strategy: Strategy
    capacity: FloatArray
    wanted: FloatArray
    """Used and requested."""
    part: FloatArray
    """The weighted fraction that is used, or left."""
    full: BoolArray
    """Where it does not fit."""


class KeptFree(NamedTuple):
    """What has to stay beside the idle amount of a scarce resource on one node."""

    name: str
    idle: float
    rates: Rates
    cpu: float
    memory: float
    """What the task would leave idle."""
    crowded: bool


class ResourceStrategyFit(Plugin):
    """A score by strategy, a score for sparing, and a check that scarce resources keep cpu and memory beside them."""

    name: ClassVar[str] = "resource-strategy-fit"

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._settings = StrategyFitSettings(arguments)

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/resource-strategy-fit.OnSessionOpen."""
        ssn.log("strategy.enter")
        self._reasons: ReasonTable = ssn.reasons
        rates = self._settings.rates or {}
        self._rates = {name: rates[name] for name in ssn.cluster.ordering.order_keys(rates)}
        if self._settings.rates is None:
            ssn.withdraw_hook(self, "predicate")
        if self._settings.weight <= 0 and self._settings.scarce.weight <= 0:
            ssn.withdraw_hook(self, NODE_ORDER.method)
        ssn.log("strategy.leave")

    def predicate(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        """Upstream: plugins/resource-strategy-fit.predicateFn."""
        codes: Codes = np.zeros(len(nodes), dtype=np.uint16)
        requested = task.resreq.scalars or {}
        if any(requested.get(name, 0.0) > 0 for name in self._rates):
            return codes
        for name, rates in self._rates.items():
            failed = _is_crowded(task, nodes, name, rates) & (codes == 0)
            if failed.any():
                reason = CHECK_FAILED.format(name=name)
                codes[failed] = self._reasons.code_of((FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, reason, self.name),))
        return codes

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Upstream: plugins/resource-strategy-fit.nodeOrderFn."""
        score = nodes.zero_scores()
        if self._settings.weight > 0:
            score = score + self._fit_score(task, nodes)
        if self._settings.scarce.weight > 0:
            score = score + self._sra_score(task, nodes)
        return NodeScores(score)

    def _fit_score(self, task: TaskInfo, nodes: NodeRows) -> FloatArray:
        """Weighted mean over the requested resources; 0 where one of them does not fit.
        Upstream: plugins/resource-strategy-fit.Score.
        """
        score, weights = nodes.zero_scores(), 0
        full: BoolArray = np.zeros(len(nodes), dtype=np.bool_)
        for part in self.fit_parts(task, nodes):
            weights += part.strategy.weight
            full |= part.full
            score = score + part.part
        if weights > 0:
            score = score / float(weights)
        return np.where(full, 0.0, score * (float(MAX_SCORE) * float(self._settings.weight)))

    def fit_parts(self, task: TaskInfo, nodes: NodeRows) -> Iterator[FitPart]:
        """Each requested resource that has a strategy; none where the pod's own weights cannot be read."""
        try:
            source: PodStrategy | StrategyFitSettings = pod_strategy(task.pod.annotations) or self._settings
        except ValueError:
            return
        for name in task.resreq.resource_names():
            strategy = source.strategy_for(name)
            if strategy is None:
                continue
            capacity = nodes.dimension_column("allocatable", name)
            wanted = task.resreq.get(name) + nodes.dimension_column("used", name)
            counts = capacity != 0
            if strategy.weight == 0 or strategy.kind not in (MOST_ALLOCATED, LEAST_ALLOCATED):
                yield FitPart(
                    name, strategy, capacity, wanted, nodes.zero_scores(), np.zeros(len(nodes), dtype=np.bool_)
                )
                continue
            good = wanted if strategy.kind == MOST_ALLOCATED else capacity - wanted
            part = np.where(counts, good * float(strategy.weight) / np.where(counts, capacity, 1.0), 0.0)
            yield FitPart(name, strategy, capacity, wanted, part, counts & (wanted > capacity))

    @property
    def strategy_settings(self) -> StrategyFitSettings:
        """What the arguments say."""
        return self._settings

    def kept_free(self, task: TaskInfo, nodes: NodeRows) -> Iterator[KeptFree]:
        """What the check of proportions compares on one node; nothing where the task asks for a scarce resource."""
        requested = task.resreq.scalars or {}
        if any(requested.get(name, 0.0) > 0 for name in self._rates):
            return
        cpu = float(nodes.dimension_column("idle", CPU)[0]) - task.resreq.milli_cpu
        memory = float(nodes.dimension_column("idle", MEMORY)[0]) - task.resreq.memory
        for name, rates in self._rates.items():
            idle = 0.0 if name in (CPU, MEMORY) else float(nodes.dimension_column("idle", name)[0])
            yield KeptFree(name, idle, rates, cpu, memory, bool(_is_crowded(task, nodes, name, rates)[0]))

    def _sra_score(self, task: TaskInfo, nodes: NodeRows) -> FloatArray:
        """Less where the node offers more of the scarce resources; 0 where it lacks a requested one.
        Upstream: plugins/resource-strategy-fit/sra.sraScore.
        """
        scarce = self._settings.scarce
        lacking: BoolArray = np.zeros(len(nodes), dtype=np.bool_)
        for name in task.resreq.resource_names():
            lacking |= nodes.dimension_column("allocatable", name) == 0
        offered, total = nodes.zero_scores(), 0
        for name, weight in scarce.resources.items():
            offered = offered + np.where(nodes.dimension_column("allocatable", name) > 0, float(weight), 0.0)
            total += weight
        score = 1.0 - offered / float(total) if total > 0 else offered
        return np.where(lacking, 0.0, score * float(MAX_SCORE * scarce.weight))


def _is_crowded(task: TaskInfo, nodes: NodeRows, name: str, rates: Rates) -> BoolArray:
    """Where the task would leave too little beside the idle amount of the resource; nodes without it pass.
    Upstream: plugins/resource-strategy-fit/proportional.checkNodeResourceIsProportional.
    """
    if name in (CPU, MEMORY):
        return np.zeros(len(nodes), dtype=np.bool_)
    idle = nodes.dimension_column("idle", name)
    no_cpu = nodes.dimension_column("idle", CPU) - task.resreq.milli_cpu < idle * rates.cpu
    no_memory = nodes.dimension_column("idle", MEMORY) - task.resreq.memory < idle * rates.memory * 1000 * 1000
    failed: BoolArray = no_cpu | no_memory
    for index in np.flatnonzero(failed & (idle == 0)).tolist():
        node = nodes.table.nodes[int(nodes.rows[index])]
        failed[index] = name in (node.idle.scalars or {})
    return failed
