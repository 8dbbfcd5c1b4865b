"""Pod affinity and anti-affinity, as filter and score. Upstream: k8s plugin interpodaffinity (filtering, scoring)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from vcdebug.gomath import FloatArray, trunc_rows
from vcdebug.kube.affinity_terms import AffinityTerm, LabelGroup, PodAffinityTerms, Terms
from vcdebug.kube.node_labels import NodeLabels
from vcdebug.kube.node_view import NodeView
from vcdebug.kube.pod_counts import PodQuestion
from vcdebug.kube.pod_shape import PodShape
from vcdebug.kube.selector import SELECTS_NOTHING, Labels, Selector
from vcdebug.model.names import BoolArray, IntArray, Row

FITS, AFFINITY, ANTI_AFFINITY, EXISTING_ANTI_AFFINITY = range(4)
AFFINITY_REASON = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY_REASON = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY_REASON = "node(s) didn't satisfy existing pods anti-affinity rules"

PairCounts = dict[str, IntArray]
"""Topology key → number of matches per label value id, as in LabelColumn.count_by_value."""


class TermPods(Struct, frozen=True):
    """The pods that a term selects; terms that differ only in topology key or weight share the count."""

    everywhere: bool
    namespaces: tuple[str, ...]
    selector: Selector

    def matches_group(self, group: LabelGroup) -> bool:
        """Whether the term selects the group's pods."""
        return (self.everywhere or group.namespace in self.namespaces) and self.selector.matches_labels(group.labels)


class IncomingTerm(Struct, frozen=True, eq=False):
    """A term of the pod to be placed, its namespace selector replaced by the namespaces found.

    Upstream keeps the selector as well and evaluates it against no labels, so one that accepts those
    (NotIn, DoesNotExist) means every namespace.
    """

    topology_key: str
    pods: TermPods
    term: AffinityTerm

    def matches_group(self, group: LabelGroup) -> bool:
        """Whether the term selects the group's pods."""
        return self.pods.matches_group(group)


IncomingTerms = tuple[IncomingTerm, ...]


class AllTerms(Struct, frozen=True, eq=False):
    """Matches pods that match every term of a list; an empty list matches none."""

    terms: IncomingTerms

    @property
    def selector(self) -> Selector:
        """The selector of the first term, as every term must match."""
        return self.terms[0].pods.selector if self.terms else SELECTS_NOTHING

    @property
    def counted_pods(self) -> PodQuestion:
        """The pods to count; a single term is used itself, so that other terms can share its count."""
        return self.terms[0].pods if len(self.terms) == 1 else self

    def matches_group(self, group: LabelGroup) -> bool:
        return bool(self.terms) and all(term.matches_group(group) for term in self.terms)


class IncomingPodTerms(Struct, frozen=True, eq=False):
    """All terms of the pod to be placed."""

    required_affinity: AllTerms
    required_anti_affinity: IncomingTerms
    preferred: tuple[tuple[IncomingTerm, int], ...]
    """Preferred terms with their weight, negative for anti-affinity."""


class IncomingTermsTable:
    """Expands terms of pods to be placed, each distinct list once, and matches terms of placed pods with groups."""

    def __init__(self, namespace_labels: Mapping[str, Labels]) -> None:
        self._namespace_labels = namespace_labels
        self._incoming: dict[PodAffinityTerms, IncomingPodTerms] = {}
        self._matches: dict[tuple[AffinityTerm, LabelGroup], bool] = {}

    def namespace_labels(self, namespace: str) -> Labels | None:
        """Labels of the Namespace object; None without one."""
        return self._namespace_labels.get(namespace)

    def term_matches(self, term: AffinityTerm, group: LabelGroup) -> bool:
        """Whether a term of a placed pod selects the group's pods; cached per pair."""
        matches = self._matches.get((term, group))
        if matches is None:
            matches = self._matches[term, group] = term.matches_group(group, self.namespace_labels(group.namespace))
        return matches

    def incoming_terms(self, terms: PodAffinityTerms) -> IncomingPodTerms:
        """The expanded terms."""
        incoming = self._incoming.get(terms)
        if incoming is None:
            incoming = self._incoming[terms] = self._expand_all(terms)
        return incoming

    def _expand_all(self, terms: PodAffinityTerms) -> IncomingPodTerms:
        preferred = [(term, term.weight) for term in terms.preferred_affinity]
        preferred += [(term, -term.weight) for term in terms.preferred_anti_affinity]
        return IncomingPodTerms(
            AllTerms(self._expand_terms(terms.required_affinity)),
            self._expand_terms(terms.required_anti_affinity),
            tuple((self._expand_term(term), weight) for term, weight in preferred),
        )

    def _expand_terms(self, terms: Terms) -> IncomingTerms:
        return tuple(self._expand_term(term) for term in terms)

    def _expand_term(self, term: AffinityTerm) -> IncomingTerm:
        namespaces = dict.fromkeys(term.namespaces)
        if not term.namespace_selector.is_empty:
            for name, labels in self._namespace_labels.items():
                if term.namespace_selector.matches_labels(labels):
                    namespaces[name] = None
        # Matched against no labels, as upstream does later: NotIn and DoesNotExist then match every namespace.
        pods = TermPods(term.namespace_selector.matches_labels({}), tuple(namespaces), term.selector)
        return IncomingTerm(term.topology_key, pods, term)


class AffinityState(Struct):
    """The counts that PreFilter made for a pod; simulations use a clone."""

    incoming: IncomingPodTerms
    group: LabelGroup
    namespace_labels: Labels | None
    existing_anti: PairCounts
    affinity: PairCounts
    anti: PairCounts
    verdicts: IntArray | None = None
    """The filter's verdict for every node of the view; None for the changing counts of a simulation."""

    def clone(self) -> AffinityState:
        """A copy with its own counts."""
        return replace(
            self,
            verdicts=None,
            existing_anti={key: counts.copy() for key, counts in self.existing_anti.items()},
            affinity={key: counts.copy() for key, counts in self.affinity.items()},
            anti={key: counts.copy() for key, counts in self.anti.items()},
        )


_NO_EXISTING_TERMS: tuple[int, PairCounts, IntArray | None] = (0, {}, None)
"""The result for every group before a pod with required anti-affinity is placed."""


class InterPodAffinity:
    """The filter over a session's view; existing anti-affinity counts on nodes that held such pods at its start."""

    def __init__(self, view: NodeView, table: IncomingTermsTable) -> None:
        self._view = view
        self._table = table
        self._rows: IntArray = np.arange(len(view), dtype=np.int64)
        self._anti_rows: BoolArray = view.pods_with_required_anti_affinity > 0
        self._refused_by: dict[LabelGroup, tuple[int, PairCounts, IntArray | None]] = {}
        """Group → (number of changes at the time, counts of existing anti-affinity, verdicts)."""

    def pre_filter(self, shape: PodShape) -> AffinityState | None:
        """Count the pods that matter for the pod; None if none can (Skip)."""
        incoming = self._table.incoming_terms(shape.affinity)
        labels = self._table.namespace_labels(shape.group.namespace)
        changes, existing, verdicts = self._existing_counts(shape.group)
        if not shape.affinity.has_required:
            if not existing:
                return None
            # Without own terms the result depends only on the group, so that pods of one template share it.
            state = AffinityState(incoming, shape.group, labels, dict(existing), {}, {}, verdicts)
            if verdicts is None:
                state.verdicts = self.filter(state, self._rows)
                self._refused_by[shape.group] = (changes, existing, state.verdicts)
            return state
        state = AffinityState(
            incoming, shape.group, labels, dict(existing), self._affinity_counts(incoming), self._anti_counts(incoming)
        )
        state.verdicts = self.filter(state, self._rows)
        return state

    def _existing_counts(self, group: LabelGroup) -> tuple[int, PairCounts, IntArray | None]:
        """The current entry of `_refused_by`; its verdicts are None until a filter has computed them."""
        changes = self._view.owners.anti_changes
        if not changes:
            return _NO_EXISTING_TERMS
        entry = self._refused_by.get(group)
        if entry is None or entry[0] != changes:
            entry = self._refused_by[group] = (changes, self._existing_anti(group), None)
        return entry

    def _existing_anti(self, group: LabelGroup) -> PairCounts:
        pairs: PairCounts = {}
        for term, owners in self._view.owners.anti_affinity_terms():
            if self._table.term_matches(term, group):
                # Upstream uses the list of such nodes from session open: owners that were placed later do not count.
                _add_counts(pairs, self._view.labels, term.topology_key, owners * self._anti_rows)
        return {key: counts for key, counts in pairs.items() if np.count_nonzero(counts)}

    def _affinity_counts(self, incoming: IncomingPodTerms) -> PairCounts:
        pairs: PairCounts = {}
        terms = incoming.required_affinity.terms
        for term in terms:
            per_row = self._view.group_counts.pods_per_row(incoming.required_affinity.counted_pods)
            _add_counts(pairs, self._view.labels, term.topology_key, per_row)
        return pairs

    def _anti_counts(self, incoming: IncomingPodTerms) -> PairCounts:
        pairs: PairCounts = {}
        for term in incoming.required_anti_affinity:
            _add_counts(pairs, self._view.labels, term.topology_key, self._view.group_counts.pods_per_row(term.pods))
        return pairs

    def filter(self, state: AffinityState, rows: IntArray) -> IntArray:
        """FITS or the first failing check, per row."""
        if state.verdicts is not None:
            return state.verdicts[rows]
        labels = self._view.labels
        answer = np.where(_affinity_satisfied(state, labels, rows), FITS, AFFINITY)
        answer[(answer == FITS) & _any_matches(state.anti, labels, rows)] = ANTI_AFFINITY
        answer[(answer == FITS) & _any_matches(state.existing_anti, labels, rows)] = EXISTING_ANTI_AFFINITY
        return answer

    def overlooks_anti_affinity(self, shape: PodShape, row: Row) -> bool:
        """Whether upstream overlooks the pod's required anti-affinity: its node held no such pod at session open."""
        return bool(shape.affinity.required_anti_affinity) and not self._anti_rows[row]

    def update_counts(self, state: AffinityState, other: PodShape, row: Row, sign: int) -> None:
        """Simulate adding another pod to a node (sign 1) or removing it (sign -1)."""
        labels = self._view.labels
        for existing in other.affinity.required_anti_affinity:
            if self._table.term_matches(existing, state.group):
                _change_count(state.existing_anti, labels, existing.topology_key, row, sign)
        if state.incoming.required_affinity.matches_group(other.group):
            for term in state.incoming.required_affinity.terms:
                _change_count(state.affinity, labels, term.topology_key, row, sign)
        for term in state.incoming.required_anti_affinity:
            if term.matches_group(other.group):
                _change_count(state.anti, labels, term.topology_key, row, sign)


def _add_counts(pairs: PairCounts, labels: NodeLabels, key: str, per_row: IntArray) -> None:
    counts = labels.label_column(key).count_by_value(per_row)
    pairs[key] = pairs[key] + counts if key in pairs else counts


def _change_count(pairs: PairCounts, labels: NodeLabels, key: str, row: Row, sign: int) -> None:
    column = labels.label_column(key)
    if key not in pairs:
        pairs[key] = column.zero_counts()
    value_id = column.ids[row]
    if value_id >= 0:
        pairs[key][value_id] += sign


def _affinity_satisfied(state: AffinityState, labels: NodeLabels, rows: IntArray) -> BoolArray:
    labelled: BoolArray = np.ones(len(rows), dtype=np.bool_)
    populated: BoolArray = np.ones(len(rows), dtype=np.bool_)
    for term in state.incoming.required_affinity.terms:
        ids = labels.label_column(term.topology_key).ids[rows]
        labelled &= ids >= 0
        populated &= state.affinity[term.topology_key][ids] > 0
    # The rule for the first pod of a group costs a scan of all counts: only if some node is refused.
    if not populated.all() and _opens_group(state):
        return labelled
    return labelled & populated


def _opens_group(state: AffinityState) -> bool:
    """Whether no pod matches yet and the pod matches its own terms: it may be the first of its group."""
    if any(counts.any() for counts in state.affinity.values()):
        return False
    return state.incoming.required_affinity.matches_group(state.group)


def _any_matches(pairs: PairCounts, labels: NodeLabels, rows: IntArray) -> BoolArray:
    matches: BoolArray = np.zeros(len(rows), dtype=np.bool_)
    for key, counts in pairs.items():
        matches |= counts[labels.label_column(key).ids[rows]] > 0
    return matches


class WeightedTerm(NamedTuple):
    """A preferred term with its weight, of the pod itself or of placed pods."""

    term: AffinityTerm
    per_row: IntArray
    """Per node, the pods that the pod's own term selects, or the owners of a placed pod's term."""
    weight: int
    is_incoming: bool


class ScoreContribution(Struct, frozen=True):
    """One term's contribution to a node's raw score."""

    term: AffinityTerm
    is_incoming: bool
    domain: str | None
    """The node's value of the topology key; None if it lacks the label."""
    pods: int
    weight: int

    @property
    def added_score(self) -> int:
        """The number of pods in the domain times the weight."""
        return self.pods * self.weight


class PreferredPodAffinity:
    """The scorer over a session's view; pods without preferences see nodes that held affinity pods at its start."""

    def __init__(self, view: NodeView, table: IncomingTermsTable) -> None:
        self._view = view
        self._table = table
        self._affinity_rows: BoolArray = view.pods_with_affinity > 0

    def raw_scores(self, shape: PodShape, rows: IntArray) -> IntArray | None:
        """The sum of weights per row; None if no term selects any pod (Skip)."""
        weights: PairCounts = {}
        for weighted in self._weighted_terms(shape):
            self._add_weight(weights, weighted.term.topology_key, weighted.per_row, weighted.weight)
        if not weights:
            return None
        total: IntArray = np.zeros(len(rows), dtype=np.int64)
        for key, per_value in weights.items():
            total += per_value[self._view.labels.label_column(key).ids[rows]]
        return total

    def score_contributions(self, shape: PodShape, row: Row) -> Iterator[ScoreContribution]:
        """Each term's contribution to a node's raw score."""
        for term, per_row, weight, is_own in self._weighted_terms(shape):
            column = self._view.labels.label_column(term.topology_key)
            value = int(column.ids[row])
            pods = int(column.count_by_value(per_row)[value])
            domain = column.values[value] if value >= 0 else None
            yield ScoreContribution(term, is_own, domain, pods, weight)

    def _weighted_terms(self, shape: PodShape) -> Iterator[WeightedTerm]:
        incoming = self._table.incoming_terms(shape.affinity)
        for preference, weight in incoming.preferred:
            yield WeightedTerm(preference.term, self._view.group_counts.pods_per_row(preference.pods), weight, True)
        for term, owners, sign in self._view.owners.preferred_terms():
            if self._table.term_matches(term, shape.group):
                per_row = owners if incoming.preferred else owners * self._affinity_rows
                yield WeightedTerm(term, per_row, sign * term.weight, False)

    def _add_weight(self, weights: PairCounts, key: str, per_row: IntArray, weight: int) -> None:
        """Add weight × pods per label value; a key appears as soon as one pod counts, even if the sums cancel."""
        counts = self._view.labels.label_column(key).count_by_value(per_row)
        if np.count_nonzero(counts):
            weighted = counts * weight
            weights[key] = weights[key] + weighted if key in weights else weighted


def normalize_affinity_weights(raw: IntArray) -> IntArray:
    """Scores from 0 to 100, for the smallest to the largest weight; all 0 if the weights are equal."""
    if not len(raw):
        return raw
    # Floats, then truncation, as upstream: integer division could differ by one point.
    lowest, span = raw.min(), raw.max() - raw.min()
    if span <= 0:
        return np.zeros(len(raw), dtype=np.int64)
    share: FloatArray = (raw - lowest).astype(np.float64) / np.float64(span)
    return trunc_rows(100.0 * share)
