"""nodeorder: the inside of each Kubernetes scorer, as a sum over resources, preferences, pods, domains or images.

Upstream: plugins/nodeorder.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation
from vcdebug.explain.plugin import PluginWords
from vcdebug.explain.plugins.nodeorder import pods, resources, wishes
from vcdebug.plugins.nodeorder import (
    AFFINITY,
    BALANCED,
    IMAGES,
    KEYS,
    LEAST,
    MOST,
    POD_AFFINITY,
    SPREAD,
    TAINTS,
    NodeOrder,
    Scorers,
)
from vcdebug.plugins.nodeorder.two_kinds import TwoKinds

Inside = Callable[[Scorers, Asked, int], Equation | None]
"""The scorers, the node, and the scorer's weight."""

INSIDES: Mapping[str, Inside] = {
    LEAST: resources.least,
    MOST: resources.most,
    BALANCED: resources.balanced,
    AFFINITY: wishes.node_affinity,
    TAINTS: wishes.taints,
    IMAGES: wishes.images,
    POD_AFFINITY: pods.pod_affinity,
    SPREAD: pods.spread,
}


def inside(asked: Asked, part: str) -> Equation | None:
    """What one scorer gives the node; None for the sums of all scorers."""
    plugin = asked.plugin(NodeOrder) or asked.plugin(TwoKinds)
    scorer = part.rpartition("/")[2]
    if plugin is None or scorer not in INSIDES:
        return None
    scorers = plugin.scorers
    if isinstance(plugin, TwoKinds) and scorer == AFFINITY:
        return wishes.plain_node_affinity(scorers, asked, scorers.weights[KEYS[scorer]])
    return INSIDES[scorer](scorers, asked, scorers.weights[KEYS[scorer]])


WORDS = PluginWords(scores=inside)
