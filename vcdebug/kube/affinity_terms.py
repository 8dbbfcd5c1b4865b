"""Terms of pod affinity and anti-affinity, parsed once per text. Upstream: k8s framework PodInfo (GetAffinityTerms)."""

from collections.abc import Sequence

from msgspec import Struct

from vcdebug.kube.selector import Labels, Selector, SelectorError, label_selector
from vcdebug.snapshot.manifest import JsonObject

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_LABELS: Labels = {}


class LabelGroup(Struct, frozen=True, eq=False):
    """Pods with equal namespace, labels and deletion: a selector matches either all of them or none."""

    namespace: str
    labels: Labels
    deleting: bool


class AffinityTerm(Struct, frozen=True, eq=False):
    """An affinity term; compared by identity, because equal texts share one object."""

    topology_key: str
    namespaces: tuple[str, ...]
    namespace_selector: Selector
    selector: Selector
    weight: int = 0

    def matches_group(self, group: LabelGroup, namespace_labels: Labels | None) -> bool:
        """Whether the term selects the group's pods; `namespace_labels` None counts as no labels."""
        is_named = group.namespace in self.namespaces
        if not is_named and not self.namespace_selector.matches_labels(namespace_labels or _NO_LABELS):
            return False
        return self.selector.matches_labels(group.labels)


Terms = tuple[AffinityTerm, ...]


class PodAffinityTerms(Struct, frozen=True, eq=False):
    """All terms of a pod, and upstream's error for terms that cannot be parsed."""

    has_affinity: bool
    """Whether the pod has a podAffinity or podAntiAffinity object, even an empty one."""
    required_affinity: Terms
    required_anti_affinity: Terms
    preferred_affinity: Terms
    preferred_anti_affinity: Terms
    error: str = ""

    @property
    def has_required(self) -> bool:
        """Whether the pod has required terms of either kind."""
        return bool(self.required_affinity or self.required_anti_affinity)


NO_TERMS = PodAffinityTerms(False, (), (), (), ())


def pod_affinity_terms(affinity: JsonObject, namespace: str) -> PodAffinityTerms:
    """Parse spec.affinity of a pod in this namespace; a list with an unparsable term is dropped and reported."""
    if not affinity:
        return NO_TERMS
    errors: list[str] = []
    affinity_spec, anti_spec = affinity.get("podAffinity"), affinity.get("podAntiAffinity")

    def parsed(owner: JsonObject | None, field: str, label: str) -> Terms:
        return _parse_terms((owner or {}).get(field) or (), namespace, label, errors)

    return PodAffinityTerms(
        has_affinity=affinity_spec is not None or anti_spec is not None,
        required_affinity=parsed(affinity_spec, REQUIRED, "requiredAffinityTerms"),
        required_anti_affinity=parsed(anti_spec, REQUIRED, "requiredAntiAffinityTerms"),
        preferred_affinity=parsed(affinity_spec, PREFERRED, "preferredAffinityTerms"),
        preferred_anti_affinity=parsed(anti_spec, PREFERRED, "preferredAntiAffinityTerms"),
        error=errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else "",
    )


def _parse_terms(raw: Sequence[JsonObject], namespace: str, label: str, errors: list[str]) -> Terms:
    try:
        return tuple(_parse_term(entry, namespace) for entry in raw)
    except SelectorError as error:
        errors.append(f"{label}: {error}")
        return ()


def _parse_term(raw: JsonObject, namespace: str) -> AffinityTerm:
    # Preferred terms are wrapped with a weight, required ones are not.
    weight = raw.get("weight") or 0
    term = raw.get("podAffinityTerm") or {} if "podAffinityTerm" in raw or "weight" in raw else raw
    listed, over = tuple(term.get("namespaces") or ()), term.get("namespaceSelector")
    return AffinityTerm(
        topology_key=term.get("topologyKey") or "",
        namespaces=listed if listed or over is not None else (namespace,),
        namespace_selector=label_selector(over),
        selector=label_selector(term.get("labelSelector")),
        weight=weight,
    )
