"""nodeorder: the weighted sum of the Kubernetes scorers. Upstream: plugins/nodeorder, and its form up to v1.15.0."""

from collections.abc import Callable, Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from vcdebug.errors import NIL_POINTER_TEXT, SchedulerPanic
from vcdebug.framework.arguments import Arguments
from vcdebug.framework.hooks import PRE_PREDICATE
from vcdebug.framework.plugin_answers import NodeScores, ScoreError, zero_scores
from vcdebug.framework.session import Plugin, Session
from vcdebug.gomath import weighted_rows
from vcdebug.kube.images import PodImages, image_score, pod_images
from vcdebug.kube.listers import Listers
from vcdebug.kube.node_view import NodeView
from vcdebug.kube.pod_affinity import IncomingTermsTable, PreferredPodAffinity, normalize_affinity_weights
from vcdebug.kube.pod_shape import PodShape
from vcdebug.kube.preference_scores import PreferenceScores
from vcdebug.kube.resource_scores import MAX_SCORE, ResourceScores
from vcdebug.kube.resource_scores import ScoreWeights as ResourceWeights
from vcdebug.kube.selector import SelectorError
from vcdebug.kube.topology_spread import (
    SCHEDULE_ANYWAY,
    Constraints,
    SpreadResult,
    SpreadScore,
    constraints_of,
    default_constraints,
)
from vcdebug.model.names import FloatArray, IntArray, KeptScores
from vcdebug.model.node_table import NodeRows
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import PREDICATES
from vcdebug.releases import nodes as node_changes
from vcdebug.snapshot.manifest import owners_of

Scorer = Callable[[Pod, PodShape, IntArray, float], KeptScores | None]
"""Function that returns a score of 0 to 100 per row, times the weight; None if upstream skips the scorer."""
CountingScorers = tuple[tuple[float, str, Scorer], ...]
"""(weight, name, scorer) of each scorer that counts."""

IMAGE_LOCALITY, IMAGES = "imagelocality.weight", "ImageLocality"
LEAST, MOST = "NodeResourcesFit_LeastAllocated", "NodeResourcesFit_MostAllocated"
BALANCED, AFFINITY, POD_AFFINITY = "NodeResourcesBalancedAllocation", "NodeAffinity", "InterPodAffinity"
TAINTS, SPREAD = "TaintToleration", "PodTopologySpread"
WEIGHT_ARGUMENTS = {
    LEAST: ("leastrequested.weight", 1),
    MOST: ("mostrequested.weight", 0),
    BALANCED: ("balancedresource.weight", 1),
    AFFINITY: ("nodeaffinity.weight", 2),
    POD_AFFINITY: ("podaffinity.weight", 2),
    TAINTS: ("tainttoleration.weight", 3),
    SPREAD: ("podtopologyspread.weight", 2),
    IMAGES: (IMAGE_LOCALITY, 1),
}
"""Scorer → the argument with its weight, and the default."""
WEIGHT_KEYS = {scorer: key for scorer, (key, _) in WEIGHT_ARGUMENTS.items()}
BATCH_PART = {part: f"nodeorder/batch/{part}" for part in WEIGHT_KEYS}
"""Scorer → trace key of its scores; shared objects, so that records store each key once."""
PER_NODE_SCORERS = (IMAGES, LEAST, MOST)
"""Scorers whose scores Kubernetes does not normalise over the nodes."""


class WeighedScore(NamedTuple):
    """One scorer's part of a node's score, before and after normalisation."""

    raw: float | None
    """The score before normalisation; None if it cannot be recomputed."""
    normalised: float
    weight: int


class Scorers:
    """The Kubernetes scorers of a session, with their weights."""

    def __init__(self, ssn: Session, weights: Mapping[str, int], *, hosts_seem_empty: bool = False) -> None:
        self.weights = weights
        self.view: NodeView = ssn.view
        self.preferences = PreferenceScores(self.view)
        self._hosts_seem_empty = hosts_seem_empty
        self._listers = Listers(ssn.snapshot)
        counts = ResourceWeights(*(float(weights[WEIGHT_KEYS[part]]) for part in (LEAST, MOST, BALANCED)))
        self.resources = ResourceScores(
            self.view,
            counts,
            absolute=ssn.release.has_older_form(node_changes.BALANCED_ALLOCATION_ABSOLUTE),
            best_effort=ssn.release.has_older_form(node_changes.BALANCED_BEST_EFFORT),
        )
        self._counts_image_volumes = not ssn.release.has_older_form(node_changes.IMAGE_VOLUME_SCORE)
        self.pod_affinity = PreferredPodAffinity(self.view, IncomingTermsTable(self._listers.namespace_labels))
        self._image_scores: dict[PodImages, FloatArray] = {}
        self._any_images = any(self.view.images)

    def counting_scorers(self, even: tuple[str, ...] = ()) -> CountingScorers:
        """(weight, name, scorer) of each scorer with a weight, and of those in `even` although their weight is 0."""
        # Not stored in self: bound methods would form a reference cycle and keep the session in memory.
        scorers: tuple[tuple[str, Scorer], ...] = (
            (LEAST, self._least_allocated),
            (MOST, self._most_allocated),
            (BALANCED, self._balanced_allocation),
            (AFFINITY, self._node_affinity),
            (POD_AFFINITY, self._inter_pod_affinity),
            (TAINTS, self._taint_toleration),
            (SPREAD, self._pod_topology_spread),
        )
        weighed = ((self.weights[WEIGHT_KEYS[part]], part, score) for part, score in scorers)
        return tuple((float(weight), part, score) for weight, part, score in weighed if weight or part in even)

    def score_origin(self, part: str, score: float, pod: Pod, row: int) -> WeighedScore | None:
        """The raw and normalised score behind a node's weighted score; None if the part is a sum."""
        scorer = part.rpartition("/")[2]
        if scorer not in WEIGHT_KEYS:
            return None
        weight = self.weights[WEIGHT_KEYS[scorer]]
        normalised = score / weight
        return WeighedScore(
            normalised if scorer in PER_NODE_SCORERS else self._raw_score(scorer, pod, row), normalised, weight
        )

    def _raw_score(self, scorer: str, pod: Pod, row: int) -> float | None:
        placement, rows = self.view.shapes.node_constraints(pod), np.array([row])
        if scorer == TAINTS:
            return float(self.preferences.intolerable_taints(placement, rows)[0])
        return float(self.preferences.node_affinity_weights(placement, rows)[0]) if scorer == AFFINITY else None

    def image_locality(self, task: TaskInfo, nodes: NodeRows) -> FloatArray | None:
        """The weighted image locality scores; None if the weight is 0."""
        weight = self.weights[IMAGE_LOCALITY]
        if weight > 0 and not self._any_images:
            return nodes.zero_scores()
        return self._image_locality(task.pod)[nodes.rows] * float(weight) if weight else None

    def images_of(self, pod: Pod) -> PodImages:
        """The pod's images that count for image locality."""
        return pod_images(pod.spec, with_volumes=self._counts_image_volumes)

    def _image_locality(self, pod: Pod) -> FloatArray:
        images = self.images_of(pod)
        image_scores = self._image_scores.get(images)
        if image_scores is None:
            states = self.view.images
            scores = [float(image_score(images, state, len(states))) for state in states]
            image_scores = self._image_scores[images] = np.array(scores, dtype=np.float64)
        return image_scores

    def _least_allocated(self, pod: Pod, shape: PodShape, rows: IntArray, weight: float) -> KeptScores:
        return self.resources.least_allocated(shape.requests, rows)

    def _most_allocated(self, pod: Pod, shape: PodShape, rows: IntArray, weight: float) -> FloatArray:
        return self.resources.most_allocated(shape.requests, rows)

    def _balanced_allocation(self, pod: Pod, shape: PodShape, rows: IntArray, weight: float) -> KeptScores | None:
        return self.resources.balanced_allocation(shape.requests, rows)

    def _node_affinity(self, pod: Pod, shape: PodShape, rows: IntArray, weight: float) -> FloatArray | None:
        placement = self.view.shapes.node_constraints(pod)
        if placement.preferred_error:
            raise ScoreError(placement.preferred_error)
        return _weighted_scores(self.preferences.node_affinity(placement, rows), weight)

    def _taint_toleration(self, pod: Pod, shape: PodShape, rows: IntArray, weight: float) -> FloatArray:
        return self.preferences.taint_toleration(self.view.shapes.node_constraints(pod), rows, weight)

    def _inter_pod_affinity(self, pod: Pod, shape: PodShape, rows: IntArray, weight: float) -> FloatArray | None:
        if shape.affinity.error:
            raise ScoreError(f"parsing pod: {shape.affinity.error}")
        raw = self.pod_affinity.raw_scores(shape, rows)
        return None if raw is None else _weighted_scores(normalize_affinity_weights(raw), weight)

    def _pod_topology_spread(self, pod: Pod, shape: PodShape, rows: IntArray, weight: float) -> FloatArray | None:
        spread = self.topology_spread(pod, rows)
        return None if spread is None else _weighted_scores(spread.scores, weight)

    def topology_spread(self, pod: Pod, rows: IntArray) -> SpreadResult | None:
        """The result of the spread scorer for these nodes, with its parts; None if it skips."""
        has_own = bool(pod.spec.get("topologySpreadConstraints"))
        constraints = self._spread_constraints(pod, has_own=has_own) if len(self.view) else ()
        if not constraints:
            return None
        shapes = self.view.shapes
        spread = SpreadScore(
            self.view, constraints, shapes.label_group(pod), shapes.node_constraints(pod), self._hosts_seem_empty
        )
        return spread.spread_result(rows, require_all=has_own)

    def _spread_constraints(self, pod: Pod, *, has_own: bool) -> Constraints:
        """The pod's soft constraints if it states any constraint, else the system defaults."""
        try:
            if has_own:
                return constraints_of(pod.spec, pod.labels, SCHEDULE_ANYWAY, self._listers.flags.is_gate_on)
        except SelectorError as error:
            raise ScoreError(f"obtaining pod's soft topology spread constraints: {error}") from error
        if not self._listers.selects_pods:
            return ()
        owners = owners_of(pod.manifest)
        return default_constraints(self._listers.default_selector(pod.namespace, pod.labels, owners))


def weights_of(arguments: Arguments) -> dict[str, int]:
    """The weight of every scorer, by argument."""
    return {key: arguments.get_int(key, default) for key, default in WEIGHT_ARGUMENTS.values()}


def sum_batch_scores(scorers: CountingScorers, pod: Pod, shape: PodShape, nodes: NodeRows) -> NodeScores | None:
    """The weighted sum of the batch scorers over all nodes; None if every scorer skips."""
    parts: list[tuple[str, KeptScores]] = []
    total, rows = nodes.zero_scores(), nodes.rows
    for weight, part, score in scorers:
        weighted = score(pod, shape, rows, weight)
        if weight and weighted is not None:
            parts.append((BATCH_PART[part], weighted))
            # Added scorer by scorer in upstream's order, so that floats are equal to the last bit.
            total = total + weighted
    return NodeScores(total, tuple(parts)) if parts else None


def _weighted_scores(scores: IntArray | None, weight: float) -> FloatArray | None:
    return None if scores is None else weighted_rows(scores, weight)


class NodeOrder(Plugin):
    """Adds up the scores for resources, balance, affinities, taints, spread and image locality."""

    name: ClassVar[str] = "nodeorder"
    judges_by_pod: ClassVar[bool] = True

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._weights = weights_of(arguments)

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/nodeorder.OnSessionOpen."""
        self.scorers = Scorers(ssn, self._weights)
        self._counting_scorers = self.scorers.counting_scorers()

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Upstream: plugins/nodeorder.NodeOrderFn."""
        scores = self.scorers.image_locality(task, nodes)
        return zero_scores(len(nodes)) if scores is None else NodeScores(scores, ((f"nodeorder/{IMAGES}", scores),))

    def batch_node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores | None:
        """Upstream: plugins/nodeorder.BatchNodeOrderFn."""
        scores = sum_batch_scores(self._counting_scorers, task.pod, self.scorers.view.shapes.pod_shape(task.pod), nodes)
        if scores is not None and self.scorers.resources.has_overflow:
            self._check_scores(scores, nodes)
        return scores

    def _check_scores(self, scores: NodeScores, nodes: NodeRows) -> None:
        """Upstream: plugins/util/nodescore/score_helper.CalculatePluginScore."""
        weights = {BATCH_PART[part]: (weight, part) for weight, part, _ in self._counting_scorers}
        for key, weighted in scores.parts:
            weight, part = weights[key]
            for row, score in zip(nodes.rows.tolist(), (weighted / weight).tolist(), strict=True):
                if not 0 <= score <= MAX_SCORE:
                    raise ScoreError(
                        f"{part} returns an invalid score {int(score)} for node {self.scorers.view.names[row]}"
                    )


# nodeorder up to v1.15.0: some scorers score node by node without normalisation, others see empty nodes.

REGISTERING_PLUGIN = PREDICATES

_PER_NODE_ORDER = (AFFINITY, BALANCED, LEAST, MOST)
"""The per-node scorers in upstream's order, after image locality."""


class TwoKinds(Plugin):
    """The older form: node order sums the per-node scorers; pod affinity, taints and spread are batch scorers."""

    name: ClassVar[str] = "nodeorder"

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._weights = weights_of(arguments)

    def on_session_open(self, ssn: Session) -> None:
        counts = ssn.release.has_older_form(node_changes.HOSTNAME_SPREAD_COUNTS)
        self.scorers = Scorers(ssn, self._weights, hosts_seem_empty=not counts)
        scorers = self.scorers.counting_scorers(
            (POD_AFFINITY, TAINTS, SPREAD) if ssn.release.has_older_form(node_changes.NODEORDER_WEIGHT_ZERO) else ()
        )
        by_part = {part: (weight, score) for weight, part, score in scorers}
        self._per_node = [(part, *by_part[part]) for part in _PER_NODE_ORDER if part in by_part]
        self._batch = tuple(scorer for scorer in scorers if scorer[1] not in _PER_NODE_ORDER)
        self._counts_workers = ssn.release.has_older_form(node_changes.METRICS_UNREGISTERED)
        self.ssn = ssn

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """The sum of the per-node scorers; an invalid preference makes every node fail."""
        total, shape = nodes.zero_scores(), self.scorers.view.shapes.pod_shape(task.pod)
        parts: list[tuple[str, KeptScores]] = []
        images = self.scorers.image_locality(task, nodes)
        if images is not None:
            total = images
            parts.append((f"nodeorder/{IMAGES}", total))
        for part, weight, score in self._per_node:
            if part == AFFINITY and self.scorers.view.shapes.node_constraints(task.pod).preferred_error:
                return NodeScores(nodes.zero_scores(), tuple(parts), np.ones(len(nodes), dtype=np.bool_))
            scorer = self._preference_scores if part == AFFINITY else score
            weighted = scorer(task.pod, shape, nodes.rows, weight)
            weighted = nodes.zero_scores() if weighted is None else weighted
            parts.append((f"nodeorder/{part}", weighted))
            total = total + weighted
        return NodeScores(total, tuple(parts))

    def batch_node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """The sum of the batch scorers, 0 for every node if all of them skip."""
        shape = self.scorers.view.shapes.pod_shape(task.pod)
        if self._counts_workers and not shape.affinity.error and not self._has_worker_counter():
            raise SchedulerPanic(NIL_POINTER_TEXT)
        return sum_batch_scores(self._batch, task.pod, shape, nodes) or zero_scores(len(nodes))

    def _has_worker_counter(self) -> bool:
        """Whether the affinity scorer's metric exists: only PrePredicate of predicates registers it.
        Upstream: plugins/predicates (metrics.Register).
        """
        return any(
            plugin_call.plugin == REGISTERING_PLUGIN
            for tier in self.ssn.plugin_calls[PRE_PREDICATE.method]
            for plugin_call in tier
        )

    def _preference_scores(self, pod: Pod, shape: PodShape, rows: IntArray, weight: float) -> FloatArray:
        """The sum of the weights of matching preferences, times the scorer's weight, not normalised."""
        placement = self.scorers.view.shapes.node_constraints(pod)
        return weighted_rows(self.scorers.preferences.node_affinity_weights(placement, rows), weight)
