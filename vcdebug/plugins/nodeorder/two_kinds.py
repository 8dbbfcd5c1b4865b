"""nodeorder before v1.15.1: some scorers are asked node by node and not normalised, the others see nodes without pods.

Upstream: plugins/nodeorder (v1.15.0 and older).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.plugin import NodeScores, Plugin
from vcdebug.framework.session import Session
from vcdebug.model.names import FloatArray, IntArray
from vcdebug.model.nodetable import NodeRows
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.nodeorder import AFFINITY, BALANCED, IMAGES, LEAST, MOST, Scorers, batch, weights_of

_PER_NODE = (AFFINITY, BALANCED, LEAST, MOST)
"""In the order in which upstream asks them, behind image locality."""


class TwoKinds(Plugin):
    """Per-node scorers add up in node order; affinity between pods, taints and spread stay batch scorers."""

    name: ClassVar[str] = "nodeorder"

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._weights = weights_of(arguments)

    def on_session_open(self, ssn: Session) -> None:
        self.scorers = Scorers(ssn, self._weights, hosts_seem_empty=True)
        by_part = {part: (weight, score) for weight, part, score in self.scorers.asked}
        self._per_node = [(part, *by_part[part]) for part in _PER_NODE if part in by_part]
        self._batch = tuple(one for one in self.scorers.asked if one[1] not in _PER_NODE)

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """A preference that cannot be read fails on every node; what was scored before stays in the trace."""
        total = nodes.zeros()
        parts: list[tuple[str, FloatArray]] = []
        images = self.scorers.image_locality(task, nodes)
        if images is not None:
            total = images
            parts.append((f"nodeorder/{IMAGES}", total))
        for part, weight, score in self._per_node:
            if part == AFFINITY and self.scorers.view.shapes.placement(task.pod).preferred_error:
                return NodeScores(nodes.zeros(), tuple(parts), np.ones(len(nodes), dtype=np.bool_))
            raw = self._preference(task.pod, nodes.rows) if part == AFFINITY else score(task.pod, nodes.rows)
            weighted: FloatArray = nodes.zeros() if raw is None else np.asarray(raw * float(weight), dtype=np.float64)
            parts.append((f"nodeorder/{part}", weighted))
            total = total + weighted
        return NodeScores(total, tuple(parts))

    def batch_node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Every node has an entry, also where all scorers skip."""
        return batch(self._batch, task, nodes) or NodeScores(nodes.zeros())

    def _preference(self, pod: Pod, rows: IntArray) -> IntArray | None:
        """The weights of the preferences that match, as they are."""
        return self.scorers.preferences.node_affinity_weights(self.scorers.view.shapes.placement(pod), rows)
