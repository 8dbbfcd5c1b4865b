"""nodeorder: each Kubernetes scorer as a sum over resources, pods, domains or images. Upstream: plugins/nodeorder."""

from collections.abc import Callable, Mapping

import numpy as np
from msgspec.structs import replace

from vcdebug.explain.equation import Equation, Ratio, Term, TermFigure
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.explain.predicate_reasons import format_affinity_term, format_node_term, format_selector
from vcdebug.gomath import round_half_away_rows
from vcdebug.kube.images import held_images, image_score
from vcdebug.kube.pod_affinity import ScoreContribution, normalize_affinity_weights
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
"""Explains one scorer; an integer verdict is unweighted, a float is final; None if it has no arithmetic."""


def score_equation(asked_node: AskedNode, part: str) -> Equation | None:
    """The equation of one scorer's score; None for the sums of all scorers, and for scores that predicates adds."""
    scorer = part.rpartition("/")[2]
    if scorer not in SCORER_EXPLANATIONS:
        return None
    plugin = asked_node.session.plugins[nodeorder.NodeOrder.name]
    assert isinstance(plugin, nodeorder.NodeOrder | TwoKinds)
    plain = isinstance(plugin, TwoKinds) and scorer == nodeorder.AFFINITY
    equation = (plain_node_affinity if plain else SCORER_EXPLANATIONS[scorer])(plugin.scorers, asked_node)
    if equation is None or not isinstance(equation.verdict, int):
        return equation
    score, weight = equation.verdict, plugin.scorers.weights[nodeorder.WEIGHT_KEYS[scorer]]
    note = f"{equation.note}{score}, × weight {weight} = {score * weight}"
    return replace(equation, verdict=float(score) * float(weight), note=note)


def least_allocated(scorers: nodeorder.Scorers, asked_node: AskedNode) -> Equation:
    """The score by the free fraction of cpu and memory that remains with the pod."""
    return _average_equation(scorers, asked_node, "least allocated", LEAST_FORMULA, least=True)


def most_allocated(scorers: nodeorder.Scorers, asked_node: AskedNode) -> Equation:
    """The score by the requested fraction of cpu and memory."""
    return _average_equation(scorers, asked_node, "most allocated", MOST_FORMULA, least=False)


def _average_equation(
    scorers: nodeorder.Scorers, asked_node: AskedNode, name: str, formula: str, *, least: bool
) -> Equation:
    pod = scorers.view.shapes.pod_shape(asked_node.pod).requests.incoming_non_zero
    parts = average_parts(scorers.view, pod, asked_node.row, least=least)
    terms = tuple(_resource_term(portion, portion.score) for portion in parts.portions)
    title = f"{name} on {asked_node.node.name}"
    return Equation(title, formula, AVERAGE_COLUMNS, "dimension", terms, parts.score, None, "average ")


def balanced_allocation(scorers: nodeorder.Scorers, node: AskedNode) -> Equation | None:
    """The score by how evenly cpu, memory and GPUs are used, before and after the pod; None if it does not apply."""
    parts = scorers.resources.balance_parts(scorers.view.shapes.pod_shape(node.pod).requests.incoming, node.row)
    if parts is None:
        return None
    terms = tuple(
        _resource_term(portion, Ratio(portion.fraction_before), Ratio(portion.fraction_after))
        for portion in parts.filled
    )
    formula = BALANCE_FORMULA if parts.absolute else CHANGE_FORMULA
    title = f"balanced allocation on {node.node.name}"
    words = f"balance {parts.score_before} before, {parts.score_after} after: "
    return Equation(title, formula, BALANCE_COLUMNS, "dimension", terms, parts.score, None, words)


def _resource_term(portion: AveragePart | BalancePart, *figures: TermFigure) -> Term:
    """A resource's allocatable amount, requested amount and the pod's request, in the units of the model (milli-
    cores, bytes, thousandths of a GPU); then what that comes to.
    """
    unit = 1000 if portion.name == GPU else 1
    amounts = (float(amount * unit) for amount in (portion.allocatable, portion.requested, portion.added))
    return Term(portion.name, (*amounts, *figures), None)


def node_affinity(scorers: nodeorder.Scorers, asked_node: AskedNode) -> Equation:
    """The score by the pod's weighted preferences, normalised by the best node."""
    equation, raw = _preference_equation(scorers, asked_node)
    placement = scorers.view.shapes.node_constraints(asked_node.pod)
    words, score = _scale_score(
        raw, scorers.preferences.node_affinity_weights(placement, asked_node.nodes.rows), normalize_score
    )
    return replace(equation, formula=AFFINITY_FORMULA, verdict=score, note=words)


def plain_node_affinity(scorers: nodeorder.Scorers, asked_node: AskedNode) -> Equation:
    """The score as the sum of matching weights, without normalisation."""
    return _preference_equation(scorers, asked_node)[0]


def _preference_equation(scorers: nodeorder.Scorers, asked_node: AskedNode) -> tuple[Equation, int]:
    node, raw = asked_node.node, 0
    terms: list[Term] = []
    for preference in scorers.view.shapes.node_constraints(asked_node.pod).preferred or ():
        matches = preference.term.matches_node(node.labels, node.name)
        counts = preference.weight if matches else 0
        raw += counts
        terms.append(Term(format_node_term(preference.term), (matches, preference.weight, counts), None))
    title, columns = f"preferred node affinity of {node.name}", ("met", "weight", "counts")
    return Equation(title, PREFERENCE_FORMULA, columns, "check", tuple(terms), raw, None, "sum "), raw


def taint_toleration(scorers: nodeorder.Scorers, asked_node: AskedNode) -> Equation:
    """The score by the node's PreferNoSchedule taints that the pod does not tolerate."""
    placement = scorers.view.shapes.node_constraints(asked_node.pod)
    taints = list(soft_taints(parse_taints(asked_node.node.taints), placement.tolerations))
    terms = tuple(
        Term(f"{taint.key}={taint.value}:{taint.effect}", ("yes" if accepted else "no", 0 if accepted else 1), None)
        for taint, accepted in taints
    )
    raw = len([taint for taint, accepted in taints if not accepted])
    raws = scorers.preferences.intolerable_taints(placement, asked_node.nodes.rows)
    words, score = _scale_score(raw, raws, normalize_reversed)
    title, columns = f"soft taints of {asked_node.node.name}", ("tolerated", "counts")
    return Equation(title, TAINT_FORMULA, columns, "check", terms, score, None, words)


def _scale_score(
    raw: int, raws: IntArray, scale: Callable[[IntArray], IntArray], ends: str = "the highest of all nodes is {highest}"
) -> tuple[str, int]:
    """(words, score): the normalisation of a raw score over all nodes."""
    # The normaliser depends on this score and the extremes only, so three numbers replace the column of all nodes.
    lowest, highest = int(raws.min()), int(raws.max())
    score = int(scale(np.array([raw, lowest, highest], dtype=np.int64))[0])
    return f"sum {raw}, {ends.format(lowest=lowest, highest=highest)}: ", score


def image_locality(scorers: nodeorder.Scorers, asked_node: AskedNode) -> Equation:
    """The score by the pod's images that are already on the node."""
    images, states = scorers.images_of(asked_node.pod), scorers.view.images[asked_node.row]
    nodes = len(scorers.view.images)
    held_parts = {image.name: image for image in held_images(images, states, nodes)}
    terms = tuple(
        Term(name, (image.size, f"{image.num_nodes} of {nodes}", image.counts), None)
        if (image := held_parts.get(name)) is not None
        else Term(name, (None, None, 0), None, "not on the node")
        for name in images.names
    )
    title, columns = f"images on {asked_node.node.name}", ("bytes", "nodes", "counts")
    return Equation(title, IMAGE_FORMULA, columns, "check", terms, image_score(images, states, nodes))


def pod_affinity(scorers: nodeorder.Scorers, asked_node: AskedNode) -> Equation | None:
    """The score by the pod's preferred (anti-)affinity and that of placed pods; None if no pod has any."""
    shape = scorers.view.shapes.pod_shape(asked_node.pod)
    raws = scorers.pod_affinity.raw_scores(shape, asked_node.nodes.rows)
    if raws is None:
        return None
    contributions = list(scorers.pod_affinity.score_contributions(shape, asked_node.row))
    raw = sum(part.added_score for part in contributions)  # exact: ints
    words, score = _scale_score(raw, raws, normalize_affinity_weights, BOTH_ENDS)
    title, columns = f"affinity between pods on {asked_node.node.name}", ("domain", "pods", "weight", "counts")
    return Equation(title, POD_FORMULA, columns, "check", tuple(map(_affinity_term, contributions)), score, None, words)


def _affinity_term(part: ScoreContribution) -> Term:
    note = "" if part.is_incoming else "preferred by pods that are placed"
    return Term(format_affinity_term(part.term), (part.domain, part.pods, part.weight, part.added_score), None, note)


def topology_spread(scorers: nodeorder.Scorers, asked_node: AskedNode) -> Equation | None:
    """The score by soft spread constraints: matching pods in the node's domains; None without constraints."""
    spread = scorers.topology_spread(asked_node.pod, asked_node.nodes.rows)
    if spread is None:
        return None
    index, total = asked_node.row_index, 0.0
    terms: list[Term] = []
    for part in spread.parts:
        constraint, counts = part.constraint, float(part.raw[index])
        total = total + counts
        domain = asked_node.node.labels.get(constraint.topology_key)
        pods = int(part.counts[index])
        figures = (domain, pods, part.domains, Ratio(part.weight), constraint.max_skew, Ratio(counts))
        terms.append(Term(f"{constraint.topology_key} {format_selector(constraint.selector)}".rstrip(), figures, None))
    title, score = f"spread over domains on {asked_node.node.name}", 0.0
    words = "the node lacks a topology label: 0"
    if not spread.ignored_mask[index]:
        raw = int(round_half_away_rows(np.array([total]))[0])
        words, score = _scale_score(raw, spread.raw[~spread.ignored_mask], _normalized_unignored, BOTH_ENDS)
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
