"""nodeorder: the inside of each Kubernetes scorer, as a sum over resources, preferences, pods, domains or images.

Upstream: plugins/nodeorder.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from vcdebug.explain.equation import Equation, Ratio, Term, TermFigure
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.explain.predicate_reasons import format_affinity_term, format_node_term, format_selector
from vcdebug.gomath import round_half_away_rows
from vcdebug.kube.images import held_images, image_score
from vcdebug.kube.pod_affinity import ScoreContribution
from vcdebug.kube.pod_affinity import normalize_weights as normalized_affinity
from vcdebug.kube.pod_requests import GPU
from vcdebug.kube.preference_scores import normalize_reversed, normalize_score
from vcdebug.kube.resource_scores import AveragePart, BalancePart, average_parts
from vcdebug.kube.taints import parse_taints, soft_taints
from vcdebug.kube.topology_spread import normalize_spread
from vcdebug.model.names import IntArray
from vcdebug.plugins import nodeorder
from vcdebug.plugins.nodeorder import TwoKinds

AVERAGE_COLUMNS = ("allocatable", "requested", "request", "score")
BALANCE_COLUMNS = ("allocatable", "requested", "request", "before", "after")
LEAST_FORMULA = "100 × (allocatable − requested − request) / allocatable, averaged; no request counts as a little"
MOST_FORMULA = "100 × (requested + request) / allocatable, averaged; no request counts as a little"
CHANGE_FORMULA = "balance = 100 × (1 − deviation of the parts used); score = 50 + (50 + after − before) / 2"
BALANCE_FORMULA = "balance = 100 × (1 − deviation of the parts used); the score is the balance with the pod"
PREFERENCE_FORMULA = "sum of the weights of the preferences that the node meets"
AFFINITY_FORMULA = f"{PREFERENCE_FORMULA}; 100 × sum / highest of all nodes"
TAINT_FORMULA = "PreferNoSchedule taints without a toleration; 100 − 100 × number / highest of all nodes"
IMAGE_FORMULA = "sum of size × part of the nodes that hold it, between 23 MiB and 1000 MiB per container, as 0 to 100"
POD_FORMULA = "sum of pods in the node's domain × weight; 100 × (sum − lowest) / (highest − lowest)"
SPREAD_FORMULA = "sum of pods in the domain × log(domains + 2) + max skew − 1; 100 × (highest + lowest − sum) / highest"
BOTH_ENDS = "lowest {lowest}, highest {highest}"
SPREAD_COLUMNS = ("domain", "pods", "domains", "log", "max skew", "counts")

ExplainScorer = Callable[[nodeorder.Scorers, AskedNode], Equation | None]
"""Explains a scorer: an integer verdict is still to be weighted, a float is final; None if it has no arithmetic."""


def score_equation(asked: AskedNode, part: str) -> Equation | None:
    """What one scorer gives the node; None for the sums of all scorers, and for what predicates adds to them."""
    scorer = part.rpartition("/")[2]
    if scorer not in SCORER_EXPLANATIONS:
        return None
    plugin = asked.session.plugins[nodeorder.NodeOrder.name]
    assert isinstance(plugin, nodeorder.NodeOrder | TwoKinds)
    plain = isinstance(plugin, TwoKinds) and scorer == nodeorder.AFFINITY
    found = (plain_node_affinity if plain else SCORER_EXPLANATIONS[scorer])(plugin.scorers, asked)
    if found is None or not isinstance(found.verdict, int):
        return found
    score, weight = found.verdict, plugin.scorers.weights[nodeorder.WEIGHT_KEYS[scorer]]
    note = f"{found.note}{score}, × weight {weight} = {score * weight}"
    return replace(found, verdict=float(score) * float(weight), note=note)


def least_allocated(scorers: nodeorder.Scorers, asked: AskedNode) -> Equation:
    """How much of cpu and memory stays free."""
    return _average_equation(scorers, asked, "least allocated", LEAST_FORMULA, least=True)


def most_allocated(scorers: nodeorder.Scorers, asked: AskedNode) -> Equation:
    """The requested share of cpu and memory."""
    return _average_equation(scorers, asked, "most allocated", MOST_FORMULA, least=False)


def _average_equation(
    scorers: nodeorder.Scorers, asked: AskedNode, name: str, formula: str, *, least: bool
) -> Equation:
    pod = scorers.view.shapes.pod_shape(asked.pod).requests.incoming_non_zero
    found = average_parts(scorers.view, pod, asked.row, least=least)
    terms = tuple(_resource_term(one, one.score) for one in found.portions)
    title = f"{name} on {asked.node.name}"
    return Equation(title, formula, AVERAGE_COLUMNS, "dimension", terms, found.score, None, "average ")


def balanced_allocation(scorers: nodeorder.Scorers, asked: AskedNode) -> Equation | None:
    """How even cpu, memory and GPUs are used, and what the pod changes about it."""
    found = scorers.resources.balance_parts(scorers.view.shapes.pod_shape(asked.pod).requests.incoming, asked.row)
    if found is None:
        return None
    terms = tuple(_resource_term(one, Ratio(one.before), Ratio(one.after)) for one in found.filled)
    formula = BALANCE_FORMULA if found.absolute else CHANGE_FORMULA
    title, words = f"balanced allocation on {asked.node.name}", f"balance {found.before} before, {found.after} after: "
    return Equation(title, formula, BALANCE_COLUMNS, "dimension", terms, found.score, None, words)


def _resource_term(one: AveragePart | BalancePart, *more: TermFigure) -> Term:
    """What the node has of a resource, what is requested of it, what the pod adds, in the units of the model (milli-
    cores, bytes, thousandths of a GPU); then what that comes to.
    """
    unit = 1000 if one.name == GPU else 1
    amounts = (float(each * unit) for each in (one.allocatable, one.requested, one.added))
    return Term(one.name, (*amounts, *more), None)


def node_affinity(scorers: nodeorder.Scorers, asked: AskedNode) -> Equation:
    """The pod's weighted preferences, and the best node of all."""
    found, raw = _preference_equation(scorers, asked)
    placement = scorers.view.shapes.node_constraints(asked.pod)
    words, score = _scale_score(
        raw, scorers.preferences.node_affinity_weights(placement, asked.nodes.rows), normalize_score
    )
    return replace(found, formula=AFFINITY_FORMULA, verdict=score, note=words)


def plain_node_affinity(scorers: nodeorder.Scorers, asked: AskedNode) -> Equation:
    """The sum of the matching weights, not normalised."""
    return _preference_equation(scorers, asked)[0]


def _preference_equation(scorers: nodeorder.Scorers, asked: AskedNode) -> tuple[Equation, int]:
    node, raw = asked.node, 0
    terms: list[Term] = []
    for preference in scorers.view.shapes.node_constraints(asked.pod).preferred or ():
        met = preference.term.matches_node(node.labels, node.name)
        counts = preference.weight if met else 0
        raw += counts
        terms.append(Term(format_node_term(preference.term), (met, preference.weight, counts), None))
    title, columns = f"preferred node affinity of {node.name}", ("met", "weight", "counts")
    return Equation(title, PREFERENCE_FORMULA, columns, "check", tuple(terms), raw, None, "sum "), raw


def taint_toleration(scorers: nodeorder.Scorers, asked: AskedNode) -> Equation:
    """The node's soft taints."""
    placement = scorers.view.shapes.node_constraints(asked.pod)
    found = list(soft_taints(parse_taints(asked.node.taints), placement.tolerations))
    terms = tuple(
        Term(f"{taint.key}={taint.value}:{taint.effect}", ("yes" if accepted else "no", 0 if accepted else 1), None)
        for taint, accepted in found
    )
    raw = len([taint for taint, accepted in found if not accepted])
    raws = scorers.preferences.intolerable_taints(placement, asked.nodes.rows)
    words, score = _scale_score(raw, raws, normalize_reversed)
    title, columns = f"soft taints of {asked.node.name}", ("tolerated", "counts")
    return Equation(title, TAINT_FORMULA, columns, "check", terms, score, None, words)


def _scale_score(
    raw: int, raws: IntArray, whole: Callable[[IntArray], IntArray], ends: str = "the highest of all nodes is {highest}"
) -> tuple[str, int]:
    """(words, score): the normalisation of a raw score over all nodes."""
    # The normaliser needs only this score and the extremes, so three numbers are enough for the column of all nodes.
    lowest, highest = int(raws.min()), int(raws.max())
    score = int(whole(np.array([raw, lowest, highest], dtype=np.int64))[0])
    return f"sum {raw}, {ends.format(lowest=lowest, highest=highest)}: ", score


def image_locality(scorers: nodeorder.Scorers, asked: AskedNode) -> Equation:
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
    title, columns = f"images on {asked.node.name}", ("bytes", "nodes", "counts")
    return Equation(title, IMAGE_FORMULA, columns, "check", terms, image_score(wanted, states, nodes))


def pod_affinity(scorers: nodeorder.Scorers, asked: AskedNode) -> Equation | None:
    """The pod's own preferences, and those of pods that are placed."""
    shape = scorers.view.shapes.pod_shape(asked.pod)
    raws = scorers.pod_affinity.raw_scores(shape, asked.nodes.rows)
    if raws is None:
        return None
    drawn = list(scorers.pod_affinity.score_contributions(shape, asked.row))
    raw = sum(one.added_score for one in drawn)  # exact: ints
    words, score = _scale_score(raw, raws, normalized_affinity, BOTH_ENDS)
    title, columns = f"affinity between pods on {asked.node.name}", ("domain", "pods", "weight", "counts")
    return Equation(title, POD_FORMULA, columns, "check", tuple(map(_affinity_term, drawn)), score, None, words)


def _affinity_term(one: ScoreContribution) -> Term:
    whose = "" if one.own else "preferred by pods that are placed"
    return Term(format_affinity_term(one.term), (one.domain, one.pods, one.weight, one.added_score), None, whose)


def topology_spread(scorers: nodeorder.Scorers, asked: AskedNode) -> Equation | None:
    """Soft constraints: how many matching pods the node's domain has."""
    found = scorers.topology_spread(asked.pod, asked.nodes.rows)
    if found is None:
        return None
    place, total = asked.row_index, 0.0
    terms: list[Term] = []
    for part in found.parts:
        constraint, counts = part.constraint, float(part.raw[place])
        total = total + counts
        domain = asked.node.labels.get(constraint.topology_key)
        pods = int(part.counts[place])
        figures = (domain, pods, part.domains, Ratio(part.weight), constraint.max_skew, Ratio(counts))
        terms.append(Term(f"{constraint.topology_key} {format_selector(constraint.selector)}".rstrip(), figures, None))
    title, score = f"spread over domains on {asked.node.name}", 0.0
    words = "the node lacks a topology label: 0"
    if not found.ignored[place]:
        raw = int(round_half_away_rows(np.array([total]))[0])
        words, score = _scale_score(raw, found.raw[~found.ignored], _normalized_unignored, BOTH_ENDS)
    return Equation(title, SPREAD_FORMULA, SPREAD_COLUMNS, "check", tuple(terms), score, None, words)


def _normalized_unignored(raws: IntArray) -> IntArray:
    return normalize_spread(raws, np.zeros(len(raws), dtype=np.bool_))


SCORER_EXPLANATIONS: Mapping[str, ExplainScorer] = {
    nodeorder.LEAST: least_allocated,
    nodeorder.MOST: most_allocated,
    nodeorder.BALANCED: balanced_allocation,
    nodeorder.AFFINITY: node_affinity,
    nodeorder.TAINTS: taint_toleration,
    nodeorder.IMAGES: image_locality,
    nodeorder.POD_AFFINITY: pod_affinity,
    nodeorder.SPREAD: topology_spread,
}
EXPLAINER = PluginExplainer(scores=score_equation)
