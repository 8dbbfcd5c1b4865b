"""nodeorder before v1.15.1: some scorers are asked node by node and not normalised, the others see nodes without pods.

Upstream: plugins/nodeorder (v1.15.0 and older).
"""

from __future__ import annotations

import numpy as np

from vcdebug.framework.plugin import NodeScores
from vcdebug.framework.session import Session
from vcdebug.model.names import FloatArray, IntArray
from vcdebug.model.nodetable import NodeRows
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.nodeorder import IMAGE_LOCALITY, NodeOrder

Parts = list[tuple[str, FloatArray]]

_PER_NODE = (
    "NodeAffinity",
    "NodeResourcesBalancedAllocation",
    "NodeResourcesFit_LeastAllocated",
    "NodeResourcesFit_MostAllocated",
)
"""In the order in which upstream asks them, behind image locality."""


class TwoKinds(NodeOrder):
    """Per-node scorers add up in node order; affinity between pods, taints and spread stay batch scorers."""

    hosts_seem_empty = True

    def on_session_open(self, ssn: Session) -> None:
        super().on_session_open(ssn)
        by_part = {part.rpartition("/")[2]: (weight, score) for weight, part, score in self._scorers}
        self._per_node = [(part, *by_part[part]) for part in _PER_NODE if part in by_part]
        self._scorers = tuple(one for one in self._scorers if one[1].rpartition("/")[2] not in _PER_NODE)

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """A preference that cannot be read fails on every node; what was scored before stays in the trace."""
        total = nodes.zeros()
        parts: Parts = []
        weight = self._weights[IMAGE_LOCALITY]
        if weight:
            total = self._images(task.pod)[nodes.rows] * float(weight)
            parts.append(("nodeorder/ImageLocality", total))
        for part, weight, score in self._per_node:
            if part == "NodeAffinity" and self._view.shapes.placement(task.pod).preferred_error:
                return NodeScores(nodes.zeros(), tuple(parts), np.ones(len(nodes), dtype=np.bool_))
            raw = score(task.pod, nodes.rows)
            weighted: FloatArray = nodes.zeros() if raw is None else np.asarray(raw * float(weight), dtype=np.float64)
            parts.append((f"nodeorder/{part}", weighted))
            total = total + weighted
        return NodeScores(total, tuple(parts))

    def batch_node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Every node has an entry, also where all scorers skip."""
        return super().batch_node_order(task, nodes) or NodeScores(nodes.zeros())

    def _node_affinity(self, pod: Pod, rows: IntArray) -> IntArray | None:
        return self._preferences.node_affinity_weights(self._view.shapes.placement(pod), rows)
