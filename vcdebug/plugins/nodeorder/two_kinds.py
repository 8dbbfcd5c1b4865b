"""nodeorder before v1.15.1: some scorers are asked node by node and not normalised, the others see nodes without pods.

Upstream: plugins/nodeorder (v1.15.0 and older).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from vcdebug.errors import NIL_POINTER_TEXT, SchedulerPanic
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import PRE_PREDICATE
from vcdebug.framework.plugin_answers import NodeScores, zero_scores
from vcdebug.framework.session import Plugin, Session
from vcdebug.gomath import weighted_rows
from vcdebug.kube.pod_shape import PodShape
from vcdebug.model.names import FloatArray, IntArray, KeptScores
from vcdebug.model.node_table import NodeRows
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import PREDICATES
from vcdebug.plugins.nodeorder import (
    AFFINITY,
    BALANCED,
    IMAGES,
    LEAST,
    MOST,
    POD_AFFINITY,
    SPREAD,
    TAINTS,
    Scorers,
    sum_batch_scores,
    weights_of,
)
from vcdebug.releases.nodes import HOSTNAME_SPREAD_COUNTS, METRICS_UNREGISTERED, NODEORDER_WEIGHT_ZERO

REGISTERING_PLUGIN = PREDICATES

_PER_NODE_ORDER = (AFFINITY, BALANCED, LEAST, MOST)
"""In the order in which upstream asks them, behind image locality."""


class TwoKinds(Plugin):
    """Per-node scorers add up in node order; affinity between pods, taints and spread stay batch scorers."""

    name: ClassVar[str] = "nodeorder"

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._weights = weights_of(arguments)

    def on_session_open(self, ssn: Session) -> None:
        counts = ssn.release.has_older_form(HOSTNAME_SPREAD_COUNTS)
        self.scorers = Scorers(ssn, self._weights, hosts_seem_empty=not counts)
        asked = self.scorers.counting_scorers(
            (POD_AFFINITY, TAINTS, SPREAD) if ssn.release.has_older_form(NODEORDER_WEIGHT_ZERO) else ()
        )
        by_part = {part: (weight, score) for weight, part, score in asked}
        self._per_node = [(part, *by_part[part]) for part in _PER_NODE_ORDER if part in by_part]
        self._batch = tuple(one for one in asked if one[1] not in _PER_NODE_ORDER)
        self._counts_workers = ssn.release.has_older_form(METRICS_UNREGISTERED)
        self.ssn = ssn

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """A preference that cannot be read fails on every node; what was scored before stays in the trace."""
        total, shape = nodes.zero_scores(), self.scorers.view.shapes.pod_shape(task.pod)
        parts: list[tuple[str, KeptScores]] = []
        images = self.scorers.image_locality(task, nodes)
        if images is not None:
            total = images
            parts.append((f"nodeorder/{IMAGES}", total))
        for part, weight, score in self._per_node:
            if part == AFFINITY and self.scorers.view.shapes.node_constraints(task.pod).preferred_error:
                return NodeScores(nodes.zero_scores(), tuple(parts), np.ones(len(nodes), dtype=np.bool_))
            own = self._preference_scores if part == AFFINITY else score
            weighted = own(task.pod, shape, nodes.rows, weight)
            weighted = nodes.zero_scores() if weighted is None else weighted
            parts.append((f"nodeorder/{part}", weighted))
            total = total + weighted
        return NodeScores(total, tuple(parts))

    def batch_node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Every node has an entry, also where all scorers skip."""
        shape = self.scorers.view.shapes.pod_shape(task.pod)
        if self._counts_workers and not shape.affinity.error and not self._counter_is_there():
            raise SchedulerPanic(NIL_POINTER_TEXT)
        return sum_batch_scores(self._batch, task.pod, shape, nodes) or zero_scores(len(nodes))

    def _counter_is_there(self) -> bool:
        """The affinity scorer counts its workers with a metric that only predicates' PrePredicate makes.
        Upstream: plugins/predicates (metrics.Register).
        """
        return any(
            one.plugin == REGISTERING_PLUGIN for tier in self.ssn.plugin_calls[PRE_PREDICATE.method] for one in tier
        )

    def _preference_scores(self, pod: Pod, shape: PodShape, rows: IntArray, weight: float) -> FloatArray:
        """The weights of the preferences that match, as they are but for the scorer's own."""
        placement = self.scorers.view.shapes.node_constraints(pod)
        return weighted_rows(self.scorers.preferences.node_affinity_weights(placement, rows), weight)
