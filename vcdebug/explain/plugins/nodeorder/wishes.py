"""The scorers that look at what a pod wishes of the node itself: preferred affinity, soft taints, images."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.selectors import term_text
from vcdebug.kube.images import held_images, image_score
from vcdebug.kube.preference_scores import normalized, reversed_normalized
from vcdebug.kube.taints import parse_taints, soft_taints
from vcdebug.model.names import IntArray
from vcdebug.plugins.nodeorder import Scorers

AFFINITY_FORMULA = "sum of the weights of the preferences that the node meets; 100 × sum / highest of all nodes"
PLAIN_FORMULA = "sum of the weights of the preferences that the node meets"
TAINT_FORMULA = "PreferNoSchedule taints without a toleration; 100 − 100 × number / highest of all nodes"
IMAGE_FORMULA = "sum of size × part of the nodes that hold it, between 23 MiB and 1000 MiB per container, as 0 to 100"
_Whole = Callable[[IntArray], IntArray]


def node_affinity(scorers: Scorers, asked: Asked, weight: int) -> Equation | None:
    """The pod's weighted preferences, and the best node of all."""
    placement = scorers.view.shapes.placement(asked.pod)
    terms, raw = _preferences(scorers, asked)
    raws = scorers.preferences.node_affinity_weights(placement, asked.nodes.rows)
    note, score = scaled(raw, int(raws.max()), weight, normalized)
    title = f"preferred node affinity of {asked.node.name}"
    return Equation(title, AFFINITY_FORMULA, ("met", "weight", "counts"), "check", terms, score, None, note)


def plain_node_affinity(scorers: Scorers, asked: Asked, weight: int) -> Equation:
    """The weights as they stand, where they are not normalised."""
    terms, raw = _preferences(scorers, asked)
    title, note = f"preferred node affinity of {asked.node.name}", f"sum {raw}, × weight {weight} = {raw * weight}"
    verdict = float(raw) * float(weight)
    return Equation(title, PLAIN_FORMULA, ("met", "weight", "counts"), "check", terms, verdict, None, note)


def _preferences(scorers: Scorers, asked: Asked) -> tuple[tuple[Term, ...], int]:
    node, raw = asked.node, 0
    terms: list[Term] = []
    for preference in scorers.view.shapes.placement(asked.pod).preferred or ():
        met = preference.term.matches(node.labels, node.name)
        counts = preference.weight if met else 0
        raw += counts
        terms.append(Term(term_text(preference.term), (met, preference.weight, counts), None))
    return tuple(terms), raw


def taints(scorers: Scorers, asked: Asked, weight: int) -> Equation:
    """The node's soft taints."""
    placement = scorers.view.shapes.placement(asked.pod)
    found = list(soft_taints(parse_taints(asked.node.taints), placement.tolerations))
    terms = tuple(
        Term(f"{taint.key}={taint.value}:{taint.effect}", ("yes" if accepted else "no", 0 if accepted else 1), None)
        for taint, accepted in found
    )
    raw = len([taint for taint, accepted in found if not accepted])
    raws = scorers.preferences.intolerable_taints(placement, asked.nodes.rows)
    note, score = scaled(raw, int(raws.max()), weight, reversed_normalized)
    title = f"soft taints of {asked.node.name}"
    return Equation(title, TAINT_FORMULA, ("tolerated", "counts"), "check", terms, score, None, note)


def scaled(raw: int, highest: int, weight: int, whole: _Whole) -> tuple[str, float]:
    """What a raw score becomes beside the highest of all nodes: in words, and with the weight."""
    share = int(whole(np.array([raw, highest], dtype=np.int64))[0])
    note = f"sum {raw}, the highest of all nodes is {highest}: {share}, × weight {weight} = {share * weight}"
    return note, float(share) * float(weight)


def images(scorers: Scorers, asked: Asked, weight: int) -> Equation:
    """The pod's images that the node holds already."""
    wanted, states = scorers.images_of(asked.pod), scorers.view.images[asked.row]
    nodes = len(scorers.view.images)
    held = {one.name: one for one in held_images(wanted, states, nodes)}
    terms = tuple(
        Term(name, (one.size, f"{one.num_nodes} of {nodes}", one.counts), None)
        if (one := held.get(name)) is not None
        else Term(name, (None, None, 0), None, "not on the node")
        for name in wanted.names
    )
    score = image_score(wanted, states, nodes)
    note = f"{score}, × weight {weight} = {score * weight}"
    title, columns = f"images on {asked.node.name}", ("bytes", "nodes", "counts")
    return Equation(title, IMAGE_FORMULA, columns, "check", terms, float(score) * float(weight), None, note)
