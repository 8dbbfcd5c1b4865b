"""Node selectors and node affinity, required and preferred.

Upstream: k8s component-helpers nodeaffinity, plugins nodeaffinity, tainttoleration, nodeunschedulable.
"""

from collections.abc import Sequence

from msgspec import Struct

from vcdebug.kube.selector import (
    SELECTS_EVERYTHING,
    Labels,
    Selector,
    SelectorError,
    equality_selector,
    node_requirements,
)
from vcdebug.kube.taints import Tolerations, parse_tolerations
from vcdebug.snapshot.manifest import JsonObject

NAME_FIELD = "metadata.name"
TERMS_CONFLICT = "pod affinity terms conflict"


class FieldRequirement(Struct, frozen=True):
    """One matchFields condition: the field equals the value, or (NotIn) does not."""

    field: str
    negated: bool
    value: str

    def matches_name(self, node_name: str) -> bool:
        """Whether the node name meets the condition; an unknown field counts as empty."""
        actual = node_name if self.field == NAME_FIELD else ""
        return (actual == self.value) != self.negated


class NodeTerm(Struct, frozen=True):
    """A parsed node selector term; an empty or invalid one never matches."""

    labels: Selector = SELECTS_EVERYTHING
    fields: tuple[FieldRequirement, ...] = ()
    matches_nothing: bool = False

    def matches_node(self, labels: Labels, node_name: str) -> bool:
        """Whether the node meets all conditions of the term."""
        if self.matches_nothing or not self.labels.matches_labels(labels):
            return False
        return all(requirement.matches_name(node_name) for requirement in self.fields)


NEVER_MATCHES = NodeTerm(matches_nothing=True)


def node_term(raw: JsonObject) -> NodeTerm:
    """Parse a term; raises SelectorError."""
    expressions, fields = raw.get("matchExpressions") or (), raw.get("matchFields") or ()
    # Unlike an empty label selector, an empty term matches no node.
    if not expressions and not fields:
        return NEVER_MATCHES
    return NodeTerm(node_requirements(expressions), tuple(_field_requirement(field) for field in fields))


def _field_requirement(raw: JsonObject) -> FieldRequirement:
    operator: str = raw.get("operator", "")
    values: list[str] = raw.get("values") or []
    if operator not in ("In", "NotIn"):
        raise SelectorError(f'"{operator}" is not a valid node selector operator')
    if len(values) != 1:
        raise SelectorError(f'unexpected number of value ({len(values)}) for node field selector operator "{operator}"')
    return FieldRequirement(raw.get("key", ""), operator == "NotIn", values[0])


def lenient_terms(raw: Sequence[JsonObject]) -> tuple[NodeTerm, ...]:
    """The terms of a required selector. An invalid term never matches, but the others still can."""
    terms = []
    for term in raw:
        try:
            terms.append(node_term(term))
        except SelectorError:
            terms.append(NEVER_MATCHES)
    return tuple(terms)


class RequiredNodeAffinity(Struct, frozen=True):
    """The nodeSelector and required node affinity of a pod; `terms` is None without the latter."""

    selector: Selector
    terms: tuple[NodeTerm, ...] | None

    @property
    def accepts_everything(self) -> bool:
        """Whether the pod accepts any node."""
        return self.selector.is_empty and self.terms is None

    def matches_group(self, labels: Labels, node_name: str) -> bool:
        """Whether the pod accepts the node."""
        if not self.selector.matches_labels(labels):
            return False
        return self.terms is None or any(term.matches_node(labels, node_name) for term in self.terms)


def required_node_affinity(spec: JsonObject) -> RequiredNodeAffinity:
    """The nodeSelector and required node affinity of a pod's spec."""
    required = _required_affinity(spec)
    terms = None if required is None else lenient_terms(required.get("nodeSelectorTerms") or ())
    return RequiredNodeAffinity(equality_selector(spec.get("nodeSelector") or {}), terms)


def _node_affinity(spec: JsonObject) -> JsonObject:
    affinity: JsonObject = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    return affinity


def _required_affinity(spec: JsonObject) -> JsonObject | None:
    required: JsonObject | None = _node_affinity(spec).get("requiredDuringSchedulingIgnoredDuringExecution")
    return required


def asks_nothing(spec: JsonObject) -> bool:
    """Whether PreFilter skips NodeAffinity: no required affinity and no nodeSelector (an empty map is not skipped)."""
    return _required_affinity(spec) is None and spec.get("nodeSelector") is None


def names_conflict(spec: JsonObject) -> bool:
    """Whether every term restricts metadata.name, and one of them so that no name satisfies it."""
    required = _required_affinity(spec)
    terms = (required or {}).get("nodeSelectorTerms") or ()
    if not terms:
        return False
    for term in terms:
        names = _term_names(term)
        if names is None or names:
            return False
    return True


def _term_names(term: JsonObject) -> list[str] | None:
    """The names common to a term's `metadata.name In` conditions; None without such conditions."""
    names: list[str] | None = None
    for field in term.get("matchFields") or ():
        if field.get("key") == NAME_FIELD and field.get("operator") == "In":
            values = field.get("values") or ()
            names = list(dict.fromkeys(values)) if names is None else [name for name in names if name in values]
    return names


class PreferredNodeTerm(Struct, frozen=True):
    """A preferred node selector term with its weight."""

    term: NodeTerm
    weight: int


def preferred_node_terms(spec: JsonObject) -> tuple[PreferredNodeTerm, ...] | None:
    """The preferred terms that count; None if the pod has no preferences; raises SelectorError."""
    raw = _node_affinity(spec).get("preferredDuringSchedulingIgnoredDuringExecution")
    if raw is None:
        return None
    terms = []
    for preference in raw:
        weight, body = preference.get("weight") or 0, preference.get("preference") or {}
        if weight and (body.get("matchExpressions") or body.get("matchFields")):
            terms.append(PreferredNodeTerm(node_term(body), weight))
    return tuple(terms)


class NodeConstraints(Struct, frozen=True, eq=False):
    """Node selector, node affinity and tolerations; compared by identity, since equal texts share one object."""

    required: RequiredNodeAffinity
    asks_nothing: bool
    """Whether PreFilter skips NodeAffinity."""
    names_conflict: bool
    """Whether no node name can satisfy the terms."""
    preferred: tuple[PreferredNodeTerm, ...] | None
    """The preferred terms; None if the pod has no preferences."""
    preferred_error: str
    tolerations: Tolerations


def parse_node_constraints(spec: JsonObject) -> NodeConstraints:
    """Parse the parts of a pod's spec that are about nodes."""
    preferred, error = _parse_preferred(spec)
    return NodeConstraints(
        required=required_node_affinity(spec),
        asks_nothing=asks_nothing(spec),
        names_conflict=names_conflict(spec),
        preferred=preferred,
        preferred_error=error,
        tolerations=parse_tolerations(spec.get("tolerations")),
    )


def _parse_preferred(spec: JsonObject) -> tuple[tuple[PreferredNodeTerm, ...] | None, str]:
    try:
        return preferred_node_terms(spec), ""
    except SelectorError as error:
        return (), str(error)
