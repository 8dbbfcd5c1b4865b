"""network-topology-aware: how full a HyperNode would be, or how close a node is to the rest of its job.

Upstream: plugins/network-topology-aware.
"""

from collections.abc import Iterable, Iterator, Mapping

from vcdebug.amount_text import format_number
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.framework.hooks import HYPER_NODE_GRADIENT_FOR_JOB, HYPER_NODE_GRADIENT_FOR_SUB_JOB, HYPER_NODE_ORDER
from vcdebug.framework.record import HookEvent
from vcdebug.framework.subject import PURPOSE, name_in
from vcdebug.model.names import Seq
from vcdebug.plugins.network_topology_aware import JobNearness, NetworkTopologyAware, NodeNearness, ResourceFill
from vcdebug.plugins.network_topology_aware.domains import (
    GradientRequest,
    HyperNodeDomains,
    has_room,
    is_eligible,
    iter_reachable,
    search_root,
)
from vcdebug.plugins.network_topology_aware.nodes_only import NodesOnly
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import session_at_event

FILL_FORMULA = "mean over tiers by weight of (used + request) / allocatable of the HyperNode; none counts as full"
NEAR_FORMULA = "(highest tier − tier of the common one) / (highest − lowest tier); the closest add their share of tasks"
FULLEST_FORMULA = "weighted mean of (used + request) / allocatable; the fullest add their share of the tasks"
CLOSEST_FORMULA = "by the tier of the HyperNode in common with the job's; the closest add their share of the tasks"
DOMAIN_FORMULA = "tier ≤ highest tier allowed, and room for minResources: in idle, future idle, or all of it to evict"
FILL_COLUMNS = ("used + request", "of", "weight", "part")
DOMAIN_COLUMNS = ("tier", "highest allowed", "minResources", "room")
SEVERAL_CLOSEST = "several nodes are the closest"


def score_equation(node: AskedNode, part: str) -> Equation | None:
    """One of the two scores that the plugin gives."""
    plugin = node.session.plugins[NetworkTopologyAware.name]
    assert isinstance(plugin, NetworkTopologyAware | NodesOnly)
    nearness = plugin.node_nearness(node.task, node.nodes, node.row)
    if nearness is None:
        return None
    return (
        _closeness_equation(node, nearness.near, nearness)
        if nearness.near is not None
        else _tiers_equation(node, nearness)
    )


def _closeness_equation(node: AskedNode, near: JobNearness, nearness: NodeNearness) -> Equation:
    share, tie = (near.share, SEVERAL_CLOSEST) if near.is_tied else (0.0, f"counts only where {SEVERAL_CLOSEST}")
    terms = (
        Term("closeness", (near.hyper_node, near.allocated, near.common_hyper_node, Ratio(near.closeness)), None),
        Term("share of the tasks", (near.hyper_node, None, None, Ratio(share)), None, tie),
    )
    title, columns = f"network topology: how close {node.node.name} is", ("HyperNode", "the job's", "common", "part")
    note = f"sum × {format_number(nearness.scale)} = {format_number(nearness.score)}"
    return Equation(title, NEAR_FORMULA, columns, "check", terms, nearness.score, None, note)


def _tiers_equation(asked_node: AskedNode, nearness: NodeNearness) -> Equation:
    terms: list[Term] = []
    for tier in nearness.tiers:
        name = tier.hyper_node or "no HyperNode"
        terms.append(Term(f"tier {tier.tier}", (name, None, None, Ratio(tier.weight), Ratio(tier.score)), None))
        for fill in tier.fills:
            part = Ratio(fill.used_after / fill.capacity) if fill.capacity else None
            terms.append(
                Term(f"tier {tier.tier} {fill.name}", (fill.used_after, fill.capacity, fill.weight, None, part), None)
            )
    title = f"network topology: HyperNodes of {asked_node.node.name}"
    columns = ("used + request", "of", "weight of it", "weight", "part")
    mean = nearness.score / nearness.scale if nearness.scale else 0.0
    note = f"mean {format_number(mean)} × {format_number(nearness.scale)} = {format_number(nearness.score)}"
    return Equation(title, FILL_FORMULA, columns, "dimension", tuple(terms), nearness.score, None, note)


# HyperNodes that may be tried, and how full a sub job would make each.


def order_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """The score of each HyperNode that has room for the sub job."""
    scores = dict(event.result) if isinstance(event.result, Mapping) else {}
    fills = _fills_at(recording, seq, event.sub_job, scores)
    terms: list[Term] = []
    for name, score in scores.items():
        terms.append(Term(name, (None, None, None, Ratio(score)), None))
        for fill in fills.get(name, ()):
            part = Ratio(fill.used_after / fill.capacity) if fill.capacity else None
            terms.append(Term(f"{name} {fill.name}", (fill.used_after, fill.capacity, fill.weight, part), None))
    best = max(scores, key=lambda name: scores[name], default="")
    formula = FULLEST_FORMULA if fills else CLOSEST_FORMULA
    title = f"network topology: HyperNodes for {event.sub_job}"
    return Equation(title, formula, FILL_COLUMNS, "dimension", tuple(terms), None, best or None)


def _fills_at(
    recording: Recording, seq: Seq, sub_job: str, hyper_nodes: Iterable[str]
) -> Mapping[str, tuple[ResourceFill, ...]]:
    """HyperNode → how full the sub job would make it; empty in older releases, or if the session cannot be rebuilt."""
    session = session_at_event(recording, seq)
    plugin = None if session is None else session.plugins[NetworkTopologyAware.name]
    if session is None or not isinstance(plugin, NetworkTopologyAware):
        return {}
    info = session.jobs[recording.owners.sub_jobs[sub_job]].sub_jobs[sub_job]
    return plugin.hyper_node_fills(info, hyper_nodes)


def gradient_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """The HyperNodes that may be tried: one term for each at or below the HyperNode of the call."""
    session, hyper_node, name = session_at_event(recording, seq), event.hyper_node, event.sub_job or event.job
    plugin = None if session is None else session.plugins[NetworkTopologyAware.name]
    title = f"network topology: HyperNodes that {name} may try"
    request = None
    if session is not None and isinstance(plugin, NetworkTopologyAware):
        job = session.jobs[event.job or recording.owners.sub_jobs[event.sub_job]]
        purpose = int(name_in(event.subject, PURPOSE) or 0)
        request = plugin.gradient_request(job.sub_jobs[event.sub_job] if event.sub_job else job, purpose)
    if request is None or not isinstance(plugin, NetworkTopologyAware):
        root_term = Term(hyper_node, (None, None, None, None), True)
        formula = f"no hard topology: {hyper_node} is tried as a whole"
        return Equation(title, formula, DOMAIN_COLUMNS, "check", (root_term,), None)
    terms = tuple(_domain_terms(plugin.domains, hyper_node, request))
    note = f"{request.allocated} is allocated already: room is not asked about" if request.allocated else ""
    return Equation(title, DOMAIN_FORMULA, DOMAIN_COLUMNS, "check", terms, None, None, note)


def _domain_terms(domains: HyperNodeDomains, hyper_node: str, request: GradientRequest) -> Iterator[Term]:
    for name in iter_reachable(domains, search_root(domains.tree, hyper_node, request)):
        info = domains.tree.by_name[name]
        figures = (info.tier, request.tier, request.minimum, has_room(domains.amounts[name], request))
        yield Term(name, figures, is_eligible(domains, info, request))


EXPLAINER = PluginExplainer(
    equations={
        HYPER_NODE_ORDER.upstream: order_equation,
        HYPER_NODE_GRADIENT_FOR_JOB.upstream: gradient_equation,
        HYPER_NODE_GRADIENT_FOR_SUB_JOB.upstream: gradient_equation,
    },
    scores=score_equation,
)
