"""nodegroup: the node's group against the queue's affinity and limits.

Upstream: plugins/nodegroup.
"""

from collections.abc import Iterator
from dataclasses import replace

from vcdebug.amount_text import format_number, join_names
from vcdebug.explain.answer import ConstraintFailure, ConstraintKind, cluster_admin_advice, queue_admin_advice
from vcdebug.explain.equation import DimensionAmount, Equation, Term
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.model.resource import Resource
from vcdebug.plugins.nodegroup import GroupVerdict, NodeGroup, NodeGroupByPod

FORMULA = "100 for a required group, up to 50 for a preferred one, -1 for one better avoided"
ACCEPT_FORMULA = "the node's group is one that the queue requires or prefers, and within the queue's limit there"
LIMIT_COLUMNS = ("limit", "used", "request")
LIST_NAMES = ("required", "preferred", "avoided", "better avoided")


def _group_standing(asked: AskedNode) -> GroupVerdict:
    plugin = asked.session.plugins[NodeGroup.name]
    assert isinstance(plugin, NodeGroup | NodeGroupByPod)
    return plugin.group_verdict(asked.task, asked.node.name)


def _affinity_terms(found: GroupVerdict) -> tuple[Term, ...]:
    affinity = found.queue.affinity if found.queue is not None else None
    if affinity is None:
        return ()
    lists = (affinity.required, affinity.preferred, affinity.anti_required, affinity.anti_preferred)
    return tuple(
        Term(name, (", ".join(groups), "yes" if found.group in groups else "no"), None)
        for name, groups in zip(LIST_NAMES, lists, strict=True)
    )


def score_equation(asked: AskedNode, part: str) -> Equation | None:
    """The score of the node's group by the queue's affinity."""
    found = _group_standing(asked)
    affinity = found.queue.affinity if found.queue is not None else None
    if affinity is None:
        return None
    score = 0.0 if found.group is None else affinity.score_group(found.group, ordered=found.ordered)
    title = f"nodegroup: group {found.group or 'none'} of {asked.node.name}"
    columns, note = ("groups", "it is in"), f"score {format_number(score)}"
    return Equation(title, FORMULA, columns, "check", _affinity_terms(found), score, None, note)


def check_equations(asked: AskedNode) -> Iterator[Equation]:
    """The group, the queue's lists, and the limit."""
    found = _group_standing(asked)
    own = Term("node's group", (found.group, f"queue {found.queue_name}"), not found.refusal, found.refusal)
    lists, limits = (own, *_affinity_terms(found)), tuple(_limit_terms(found, asked.task.resreq))
    heads = LIMIT_COLUMNS if limits else ()
    wide = (replace(term, figures=(*term.figures, *(None for _ in heads))) for term in lists)
    title, columns = f"nodegroup: the queue's groups on {asked.node.name}", ("groups", "", *heads)
    yield Equation(title, ACCEPT_FORMULA, columns, "check", (*wide, *limits), not found.refusal, None, found.refusal)


def _limit_terms(found: GroupVerdict, request: Resource) -> Iterator[Term]:
    """What the queue may use of the group, in each dimension that is limited."""
    queue, group = found.queue, found.group or ""
    stated = (queue.limits or {}).get(group) if queue is not None else None
    if queue is None or stated is None:
        return
    parts = (Resource.from_list(stated), queue.allocated.get(group, Resource()), request)
    for name in stated:
        yield Term(
            f"limit of {name}", (None, None, *(DimensionAmount.from_resource(part, name) for part in parts)), None
        )


def find_group_failures(room: NodeFits) -> Iterator[ConstraintFailure]:
    """Nodes refused because the queue names no group, or because they are in no group while the plugin is strict."""
    queue = room.view.queue
    refusing = room.refused_for("node group")
    if not refusing:
        return
    bare = [node.name for node in refusing if any("affinity not specified" in s.reason for s in node.statuses)]
    if bare:
        yield ConstraintFailure(
            f"Queue {queue.name} has no node group in spec.affinity, so {NodeGroup.name} rejects every node that "
            f"belongs to a group ({join_names(bare)})",
            (queue_admin_advice(f"Queue {queue.name}: set spec.affinity.nodeGroupAffinity."),),
            ConstraintKind.NODE_GROUP,
        )
    loose = [node.name for node in refusing if any("label not found" in s.reason for s in node.statuses)]
    if loose and bare:
        advice = cluster_admin_advice(
            f"Set strict: false in the arguments of {NodeGroup.name}; the queue may then use {join_names(loose)}."
        )
        yield ConstraintFailure(
            f"In strict mode also nodes without a group are rejected ({join_names(loose)})", (advice,)
        )
    elif loose:
        yield ConstraintFailure(f"{join_names(loose)} {'has' if len(loose) == 1 else 'have'} no node-group label")


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations, failures=find_group_failures)
