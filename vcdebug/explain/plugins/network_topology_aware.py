"""network-topology-aware: how full a HyperNode would be, or how close a node is to the rest of its job.

Upstream: plugins/network-topology-aware.
"""

from vcdebug.amount_text import format_number
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.plugins.network_topology_aware import JobNearness, NetworkTopologyAware, NodeNearness
from vcdebug.plugins.network_topology_aware.nodes_only import NodesOnly

FILL_FORMULA = "mean over tiers by weight of (used + request) / allocatable of the HyperNode; none counts as full"
NEAR_FORMULA = "(highest tier − tier of the common one) / (highest − lowest tier); the closest add their share of tasks"
SEVERAL_CLOSEST = "several nodes are the closest"


def score_equation(asked: AskedNode, part: str) -> Equation | None:
    """One of the two scores that the plugin gives."""
    plugin = asked.session.plugins[NetworkTopologyAware.name]
    assert isinstance(plugin, NetworkTopologyAware | NodesOnly)
    found = plugin.node_nearness(asked.task, asked.nodes, asked.row)
    if found is None:
        return None
    return _closeness_equation(asked, found.near, found) if found.near is not None else _tiers_equation(asked, found)


def _closeness_equation(asked: AskedNode, near: JobNearness, found: NodeNearness) -> Equation:
    share, tie = (near.share, SEVERAL_CLOSEST) if near.tied else (0.0, f"counts only where {SEVERAL_CLOSEST}")
    terms = (
        Term("closeness", (near.hyper_node, near.allocated, near.common, Ratio(near.closeness)), None),
        Term("share of the tasks", (near.hyper_node, None, None, Ratio(share)), None, tie),
    )
    title, columns = f"network topology: how close {asked.node.name} is", ("HyperNode", "the job's", "common", "part")
    return Equation(
        title,
        NEAR_FORMULA,
        columns,
        "check",
        terms,
        found.score,
        None,
        f"sum × {format_number(found.scale)} = {format_number(found.score)}",
    )


def _tiers_equation(asked: AskedNode, found: NodeNearness) -> Equation:
    terms: list[Term] = []
    for one in found.tiers:
        name = one.hyper_node or "no HyperNode"
        terms.append(Term(f"tier {one.tier}", (name, None, None, Ratio(one.weight), Ratio(one.score)), None))
        for fill in one.fills:
            part = Ratio(fill.wanted / fill.capacity) if fill.capacity else None
            terms.append(
                Term(f"tier {one.tier} {fill.name}", (fill.wanted, fill.capacity, fill.weight, None, part), None)
            )
    title = f"network topology: HyperNodes of {asked.node.name}"
    columns = ("used + request", "of", "weight of it", "weight", "part")
    mean = found.score / found.scale if found.scale else 0.0
    note = f"mean {format_number(mean)} × {format_number(found.scale)} = {format_number(found.score)}"
    return Equation(title, FILL_FORMULA, columns, "dimension", tuple(terms), found.score, None, note)


EXPLAINER = PluginExplainer(scores=score_equation)
