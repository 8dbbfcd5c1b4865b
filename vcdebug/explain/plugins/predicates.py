"""predicates: what each Kubernetes filter compares on one node, up to the one that ends it.

Upstream: plugins/predicates (PrePredicate), k8s framework CycleState.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

from msgspec import Struct

from vcdebug.amount_text import count_noun, format_number
from vcdebug.explain import predicate_reasons
from vcdebug.explain.equation import Equation, Term, first_failing
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.kube import taints
from vcdebug.kube.dynamic_resources import ClaimState
from vcdebug.kube.node_affinity import NodeTerm
from vcdebug.kube.node_view import NodeView
from vcdebug.kube.pod_affinity import AffinityState, AllTerms, IncomingTerm, PairCounts
from vcdebug.kube.pod_shape import PodShape
from vcdebug.kube.ports import HostPort
from vcdebug.kube.volume_binding import VolumeState
from vcdebug.kube.volume_zone import ZoneLimit, zone_of
from vcdebug.model.node import NodeInfo
from vcdebug.plugins.predicates import POD_NUMBER, STABLE, Predicates, volume_filters
from vcdebug.plugins.predicates.filters import InterPodAffinityFilter, NodePortsFilter, PodTopologySpreadFilter
from vcdebug.plugins.predicates.proportional import ProportionalFilter
from vcdebug.plugins.predicates.static_filters import EquivalenceCache
from vcdebug.snapshot.manifest import key_of

SHOWN_PODS = 3
SHOWN_DOMAINS = 12


def port_terms(plugin: Predicates, asked_node: AskedNode) -> Iterator[Term]:
    """Yields a term per requested host port with the pods of the node that use it."""
    view, row = plugin.view, asked_node.row
    for port in view.shapes.pod_shape(asked_node.pod).ports:
        holders = [pod.key for pod in view.pods[row] if any(map(port.conflicts_with, view.shapes.pod_shape(pod).ports))]
        free = row not in view.ports.conflicting_rows((port,))
        yield Term(f"{port.port}/{port.protocol} on {port.ip}", (", ".join(holders) or "no pod",), free)


def pod_affinity_terms(plugin: Predicates, asked_node: AskedNode) -> Iterator[Term]:
    """Yields terms of the pod's required (anti-)affinity, then of placed pods' anti-affinity."""
    state, view, row = asked_node.cycle_state.data.get(InterPodAffinityFilter.STATE), plugin.view, asked_node.row
    if not isinstance(state, AffinityState):
        return
    required, anti = state.incoming.required_affinity, state.incoming.required_anti_affinity
    # Kubernetes lets the first pod of a group match its own affinity; otherwise no group could ever start.
    is_first = not any(counts.any() for counts in state.affinity.values()) and required.matches_group(state.group)
    words = "no pod matches anywhere, and the pod matches itself: it may be the first" if is_first else ""
    for term in required.terms:
        domain, count = _count_in_domain(view, state.affinity, term.topology_key, row)
        pods = _pods_in_domain(view, asked_node, term.topology_key, partial(_matches_group, required))
        holds, name = domain is not None and (count > 0 or is_first), predicate_reasons.format_affinity_term(term.term)
        yield Term(f"affinity to {name}", (domain, count, pods), holds, words)
    for term in anti:
        domain, count = _count_in_domain(view, state.anti, term.topology_key, row)
        pods = _pods_in_domain(view, asked_node, term.topology_key, partial(_matches_group, term))
        yield Term(f"none of {predicate_reasons.format_affinity_term(term.term)}", (domain, count, pods), count <= 0)
    for key in state.existing_anti:
        domain, count = _count_in_domain(view, state.existing_anti, key, row)
        pods = _pods_in_domain(view, asked_node, key, partial(_repels_incoming, key, state))
        yield Term(f"pods that want none of it by {key}", (domain, count, pods), count <= 0)


def _matches_group(terms: IncomingTerm | AllTerms, shape: PodShape) -> bool:
    return terms.matches_group(shape.group)


def _repels_incoming(key: str, state: AffinityState, shape: PodShape) -> bool:
    terms = shape.affinity.required_anti_affinity
    return any(term.topology_key == key and term.matches_group(state.group, state.namespace_labels) for term in terms)


def _count_in_domain(view: NodeView, pairs: PairCounts, key: str, row: int) -> tuple[str | None, int]:
    """(the node's value of a topology key, the count in that domain); (None, 0) without the label."""
    column = view.labels.label_column(key)
    value = int(column.ids[row])
    counts = pairs.get(key)
    return (column.values[value] if value >= 0 else None), int(counts[value]) if counts is not None else 0


def _pods_in_domain(view: NodeView, asked_node: AskedNode, key: str, matches: Callable[[PodShape], bool]) -> str:
    """Matching pods in the node's domain in words, without pods that a dry run removed."""
    row, removed = asked_node.row, dict.fromkeys(asked_node.removed_tasks)
    ids = view.labels.label_column(key).ids
    rows = [row] if ids[row] < 0 else [other for other in range(len(view)) if ids[other] == ids[row]]
    pod_keys = [pod.key for other in rows for pod in view.pods[other] if matches(view.shapes.pod_shape(pod))]
    pod_keys = [key for key in pod_keys if key not in removed]
    remainder = f" and {len(pod_keys) - SHOWN_PODS} more" if len(pod_keys) > SHOWN_PODS else ""
    return f"{', '.join(pod_keys[:SHOWN_PODS])}{remainder}"


def spread_terms(plugin: Predicates, asked_node: AskedNode) -> Iterator[Term]:
    """Yields terms per hard spread constraint: the node's domain first, then the other domains."""
    spread_filter = next(active for active in plugin.filters if isinstance(active, PodTopologySpreadFilter))
    for constraint, domains in spread_filter.domains_of(asked_node.pod):
        own_value = int(domains.column.ids[asked_node.row])
        key, selector = constraint.topology_key, predicate_reasons.format_selector(constraint.selector)
        if own_value < 0:
            limit_only = (None, None, None, None, constraint.max_skew)
            yield Term(f"{key} ({selector})", limit_only, False, "the node lacks the label")
        values = [own_value] if own_value >= 0 else []
        values += [other for other in range(len(domains.present)) if other != own_value and domains.present[other]]
        for value in values[:SHOWN_DOMAINS]:
            pods = int(domains.per_value[value])
            skew = pods + domains.self_match_num - domains.min_match_num
            figures = (pods, domains.self_match_num, domains.min_match_num, skew, constraint.max_skew)
            name, fits = f"{key}={domains.column.values[value]}", skew <= constraint.max_skew
            holds, note = (fits, selector) if value == own_value else (None, "another domain")
            yield Term(name, figures, holds, note)


def pod_number_terms(plugin: Predicates, asked_node: AskedNode) -> Iterator[Term]:
    """The number of pods against the node's maximum."""
    pods, max_pods = plugin.pod_numbers(asked_node.node.name)
    yield Term("pods", (pods, max_pods), pods < max_pods)


def proportion_terms(plugin: Predicates, asked_node: AskedNode) -> Iterator[Term]:
    """Yields terms of cpu and memory left with the pod, against the amounts reserved per idle accelerator."""
    proportional = next((active for active in plugin.filters if isinstance(active, ProportionalFilter)), None)
    for reserve in proportional.kept_idle(asked_node.pod, asked_node.node) if proportional is not None else ():
        for kind, (idle, minimum) in (("cpu", reserve.cpu), ("memory", reserve.memory)):
            yield Term(f"{kind} for {reserve.resource}", (format_number(idle), format_number(minimum)), idle >= minimum)


def stable_terms(plugin: Predicates, asked_node: AskedNode) -> Iterator[Term]:
    """Yields terms for constraints that do not change in a session: cordon, node selector, node affinity, taints."""
    node, constraints = asked_node.node, plugin.view.shapes.node_constraints(asked_node.pod)
    allowed = taints.tolerates_cordon(constraints.tolerations)
    if node.is_unschedulable:
        text = _tolerations_text(taints.UNSCHEDULABLE_TAINT, constraints.tolerations)
        yield Term("cordon", ("unschedulable", text), allowed)
    if plugin.stable.affinity_on:
        for one in constraints.required.selector.requirements:
            figures = (_label_text(node, one.key), predicate_reasons.format_requirement(one))
            yield Term(f"nodeSelector {one.key}", figures, one.matches_labels(node.labels))
        yield from _node_affinity_terms(node, constraints.required.terms)
    for taint in taints.parse_taints(node.taints) if plugin.stable.taints_on else ():
        if taint.effect in (taints.NO_SCHEDULE, taints.NO_EXECUTE):
            words = f"{taint.key}={taint.value}:{taint.effect}"
            tolerated = any(one.tolerates_taint(taint) for one in constraints.tolerations)
            yield Term("taint", (words, _tolerations_text(taint, constraints.tolerations)), tolerated)


def _node_affinity_terms(node: NodeInfo, terms: tuple[NodeTerm, ...] | None) -> Iterator[Term]:
    """Yields terms of required node affinity; they are alternatives, so after a match the others are not judged."""
    affinity_met = terms is not None and any(term.matches_node(node.labels, node.name) for term in terms)
    for number, term in enumerate(terms or (), start=1):
        name = f"affinity term {number}"
        if term.matches_nothing:
            yield Term(name, (None, "never matches"), None if affinity_met else False)
        judged = [
            (_label_text(node, one.key), predicate_reasons.format_requirement(one), one.matches_labels(node.labels))
            for one in term.labels.requirements
        ]
        judged += [(node.name, predicate_reasons.format_field(one), one.matches_name(node.name)) for one in term.fields]
        for has, asked, holds in judged:
            yield Term(name, (has, asked), True if holds else None if affinity_met else False)
    if terms == ():
        yield Term("affinity", (None, "no term at all"), False)


def _label_text(node: NodeInfo, key: str) -> str:
    return f"{key}={node.labels[key]}" if key in node.labels else f"no {key}"


def _tolerations_text(taint: taints.Taint, tolerations: tuple[taints.Toleration, ...]) -> str:
    """The tolerations that match the taint, else all of the pod's."""
    matching, texts = [toleration for toleration in tolerations if toleration.tolerates_taint(taint)], []
    for one in matching or tolerations:
        value = f"={one.value}" if one.value else ""
        exists = " exists" if one.operator == "Exists" else ""
        texts.append(f"{one.key or 'any key'}{value}{exists}{f':{one.effect}' if one.effect else ''}")
    return ("tolerates " if matching else "tolerates only ") + ", ".join(texts) if texts else "tolerates nothing"


def volume_limit_terms(plugin: Predicates, asked_node: AskedNode) -> Iterator[Term]:
    """Yields a term per CSI driver: attached volumes, new ones, and the node's limit."""
    placed = plugin.view.pods[asked_node.row]
    check = next(count.check for count in plugin.filters if isinstance(count, volume_filters.NodeVolumeLimitsFilter))
    for count in check.driver_counts(asked_node.pod, asked_node.node.name, placed)[0]:
        yield Term(count.driver, (count.attached, count.new, count.limit), not count.exceeds_limit)


def volume_zone_terms(_: Predicates, asked_node: AskedNode) -> Iterator[Term]:
    """Yields a term per volume: its zones against the node's."""
    limits: object = asked_node.cycle_state.data.get(volume_filters.VolumeZoneFilter.STATE)
    for limit in limits if isinstance(limits, tuple) else ():
        node_zone = zone_of(asked_node.node.labels, limit)
        yield Term(limit.key, (", ".join(limit.values), node_zone), node_zone in limit.values)


def volume_claim_terms(plugin: Predicates, asked_node: AskedNode) -> Iterator[Term]:
    """Yields a term per volume claim of the pod."""
    state, node = asked_node.cycle_state.data.get(volume_filters.VolumeBindingFilter.STATE), asked_node.node
    check = next(one.check for one in plugin.filters if isinstance(one, volume_filters.VolumeBindingFilter))
    for claim_fit in check.claim_fits(state, node.name, node.labels) if isinstance(state, VolumeState) else ():
        yield Term(claim_fit.claim, (claim_fit.volume or None, claim_fit.words), claim_fit.fits)


def resource_claim_terms(plugin: Predicates, asked_node: AskedNode) -> Iterator[Term]:
    """Allocated claims, then each request of the other claims with the devices that it gets."""
    state, node = asked_node.cycle_state.data.get(volume_filters.DynamicResourcesFilter.STATE), asked_node.node
    if not isinstance(state, ClaimState) or plugin.claim_filter is None:
        return
    for selectors in state.selectors:
        matches = any(term.matches_node(node.labels, node.name) for term in selectors)
        yield Term(" or ".join(map(predicate_reasons.format_node_term, selectors)), (None, None, None), matches)
    claims = {
        key_of(claim): one for claim, one in zip(state.unallocated, state.allocations.get(node.name, ()), strict=False)
    }
    for one in plugin.claim_filter.request_candidates(state, node.labels, node.name):
        results = claims[one.claim].results if one.claim in claims else ()
        devices = [f"{result['pool']}/{result['device']}" for result in results if result["request"] == one.request]
        number = "all" if one.requested_count is None else one.requested_count
        too_few = not devices and one.free_count < (one.requested_count or 1)
        words = f"takes {', '.join(devices)}" if devices else "too few are free" if too_few else ""
        yield Term(
            f"{one.claim} {one.request}", (number, one.matching_count, one.free_count), True if devices else None, words
        )


class FilterExplainer(Struct, frozen=True):
    """The explanation of one filter: title, formula, columns, and the function that yields the terms."""

    title: str
    """The title, to which the node's name is appended."""
    formula: str
    columns: tuple[str, ...]
    explain_terms: Callable[[Predicates, AskedNode], Iterable[Term]]

    def filter_equation(self, plugin: Predicates, asked_node: AskedNode, objection: str | None) -> Equation:
        """The filter's equation for a node; its verdict is False if the filter objects."""
        terms = tuple(self.explain_terms(plugin, asked_node))
        deciding = first_failing(terms) if self.explain_terms is not pod_number_terms else None
        verdict, title = objection is None, f"{self.title} {asked_node.node.name}"
        return Equation(title, self.formula, self.columns, "check", terms, verdict, deciding, objection or "")


FILTER_EXPLAINERS: Mapping[str, FilterExplainer] = {
    POD_NUMBER: FilterExplainer(
        "number of pods on", "pods < the most that the node may have", ("on it", "most"), pod_number_terms
    ),
    STABLE: FilterExplainer(
        "labels and taints of",
        "not cordoned; every requirement of the selector and of one affinity term; every taint tolerated",
        ("the node has", "the pod says"),
        stable_terms,
    ),
    NodePortsFilter.name: FilterExplainer(
        "host ports of",
        "no pod of the node holds a port that the pod asks for; a port is freed when any of its pods is removed",
        ("held by",),
        port_terms,
    ),
    InterPodAffinityFilter.name: FilterExplainer(
        "affinity between pods on",
        "affinity: pods in the node's domain > 0 for every term; anti-affinity, own and of other pods: none",
        ("domain", "pods", "which"),
        pod_affinity_terms,
    ),
    PodTopologySpreadFilter.name: FilterExplainer(
        "topology spread on",
        "skew = matching pods in the domain + the pod itself − fewest in any domain ≤ max skew",
        ("pods", "itself", "fewest", "skew", "max skew"),
        spread_terms,
    ),
    volume_filters.NodeVolumeLimitsFilter.name: FilterExplainer(
        "volumes attached to",
        "attached + new volumes of a driver ≤ its limit on the node",
        ("attached", "new", "limit"),
        volume_limit_terms,
    ),
    volume_filters.VolumeZoneFilter.name: FilterExplainer(
        "zones of volumes on",
        "the node's zone or region is one of the volume's; a node without such labels passes",
        ("the volume's", "the node's"),
        volume_zone_terms,
    ),
    ProportionalFilter.name: FilterExplainer(
        "proportions on",
        "what stays idle of cpu and memory ≥ idle accelerators × their rates; a pod that asks for one passes",
        ("stays", "at least"),
        proportion_terms,
    ),
    volume_filters.VolumeBindingFilter.name: FilterExplainer(
        "claims of the pod on",
        "bound volumes reach the node; unbound ones are available there, or can be provisioned",
        ("volume", ""),
        volume_claim_terms,
    ),
    volume_filters.DynamicResourcesFilter.name: FilterExplainer(
        "resource claims on",
        "the node meets a selector term of each allocated claim, and has free devices for the other claims",
        ("asked for", "of the kind", "free"),
        resource_claim_terms,
    ),
}
NO_TERMS = "neither the pod nor any that is placed has a term about the other: PreFilter skips it"
CACHE_FORMULA = "a template that failed on a node once fails there for the rest of the session, without a reason"
CACHE_WORDS = {
    EquivalenceCache.UNKNOWN: "nothing",
    EquivalenceCache.FAILED: "failed",
    EquivalenceCache.PASSED: "passed",
}


def check_equations(asked_node: AskedNode) -> Iterator[Equation]:
    """One equation per filter, up to and including the first that refuses."""
    plugin = asked_node.session.plugin_of_class(Predicates)
    for name, status in plugin.judge_node(asked_node.task, asked_node.node.name):
        yield FILTER_EXPLAINERS[name].filter_equation(plugin, asked_node, status.reason if status is not None else None)


def simulated_equations(node: AskedNode) -> Iterator[Equation]:
    """Yields the filters' checks in a dry run: affinity between pods, and devices of the node's copy."""
    if node.simulated is None:
        return
    plugin, state, copy = node.session.plugin_of_class(Predicates), node.cycle_state, node.simulated.node.clone()
    affinity = FILTER_EXPLAINERS[InterPodAffinityFilter.name]
    if InterPodAffinityFilter.name in state.skip:
        yield Equation(f"{affinity.title} {node.node.name}", affinity.formula, (), "check", (), True, None, NO_TERMS)
    for check, objection in plugin.simulated_checks(state, node.task, copy):
        if check == InterPodAffinityFilter.name:
            yield affinity.filter_equation(plugin, node, objection)
        else:
            # With the rules of every kind of card, which few clusters have.
            from vcdebug.explain.plugins.deviceshare import card_overview, cards_equation

            yield cards_equation(node, check, card_overview(node.node.devices[check], node.pod), objection)


def cached_verdict(asked_node: AskedNode) -> Equation | None:
    """The equivalence cache's verdict on the pod's template on the node; None if the cache has none."""
    cached = asked_node.session.plugin_of_class(Predicates).cached_template(asked_node.task, asked_node.node.name)
    if cached is None:
        return None
    term = Term(f"template {cached[0]}", (asked_node.node.name, CACHE_WORDS[cached[1]]), None)
    title, columns = "equivalence cache (predicate.CacheEnable)", ("node", "remembers")
    return Equation(title, CACHE_FORMULA, columns, "check", (term,), cached[1])


EXPLAINER = PluginExplainer(refusals=check_equations, simulated=simulated_equations)


STATE_KEYS = {
    NodePortsFilter.name: NodePortsFilter.STATE,
    InterPodAffinityFilter.name: InterPodAffinityFilter.STATE,
    PodTopologySpreadFilter.name: PodTopologySpreadFilter.STATE,
    volume_filters.VolumeZoneFilter.name: volume_filters.VolumeZoneFilter.STATE,
    volume_filters.VolumeBindingFilter.name: volume_filters.VolumeBindingFilter.STATE,
    volume_filters.DynamicResourcesFilter.name: volume_filters.DynamicResourcesFilter.STATE,
}


class PreparedFilter(Struct, frozen=True):
    """One filter's state after PreFilter."""

    filter: str
    key: str
    """The filter's key in the CycleState; empty if it stores nothing."""
    skipped: bool
    prefilter_text: str
    """What the filter counted in PreFilter, in words."""


def prepared_filters(asked_node: AskedNode) -> Iterator[PreparedFilter]:
    """Every filter in the order in which they are asked."""
    if Predicates.name not in asked_node.session.plugins:
        return
    state = asked_node.cycle_state
    for node_filter in asked_node.session.plugin_of_class(Predicates).filters:
        key = STATE_KEYS.get(node_filter.name, "")
        yield PreparedFilter(node_filter.name, key, node_filter.name in state.skip, _format_entry(state.data.get(key)))


def _format_entry(entry: object) -> str:
    if isinstance(entry, AffinityState):
        counts = (("affinity", entry.affinity), ("anti-affinity", entry.anti), ("of placed pods", entry.existing_anti))
        return "; ".join(f"{kind} by {', '.join(pairs)}" for kind, pairs in counts if pairs)
    if isinstance(entry, VolumeState):
        return f"{count_noun(len(entry.bound_claims), 'bound claim')}, {len(entry.delayed_claims)} that wait for a node"
    if isinstance(entry, ClaimState):
        numbers = f"{len(entry.selectors)} allocated claims, {len(entry.unallocated)} to allocate"
        return numbers if entry.selectors or entry.unallocated else ""
    texts = []
    for item in entry if isinstance(entry, tuple) else ():
        text = f"{item.port}/{item.protocol}" if isinstance(item, HostPort) else str(item)
        texts.append(f"{item.key} {' or '.join(item.values)}" if isinstance(item, ZoneLimit) else text)
    return ", ".join(texts)
