"""nodegroup: the node's group against the queue's affinity and limits. Upstream: plugins/nodegroup."""

from collections.abc import Iterator

from msgspec.structs import replace

from vcdebug.amount_text import format_number, join_names
from vcdebug.explain.answer import Advice, ConstraintFailure, ConstraintKind
from vcdebug.explain.equation import DimensionAmount, Equation, Term
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.model.resource import Resource
from vcdebug.plugins.nodegroup import GroupVerdict, NodeGroup, NodeGroupByPod

FORMULA = "100 for a required group, up to 50 for a preferred one, -1 for one better avoided"
ACCEPT_FORMULA = "the node's group is one that the queue requires or prefers, and within the queue's limit there"
LIMIT_COLUMNS = ("limit", "used", "request")
LIST_NAMES = ("required", "preferred", "avoided", "better avoided")


def _group_verdict(asked_node: AskedNode) -> GroupVerdict:
    plugin = asked_node.session.plugins[NodeGroup.name]
    assert isinstance(plugin, NodeGroup | NodeGroupByPod)
    return plugin.group_verdict(asked_node.task, asked_node.node.name)


def _affinity_terms(verdict: GroupVerdict) -> tuple[Term, ...]:
    affinity = verdict.queue.affinity if verdict.queue is not None else None
    if affinity is None:
        return ()
    lists = (affinity.required, affinity.preferred, affinity.anti_required, affinity.anti_preferred)
    return tuple(
        Term(name, (", ".join(groups), "yes" if verdict.group in groups else "no"), None)
        for name, groups in zip(LIST_NAMES, lists, strict=True)
    )


def score_equation(asked_node: AskedNode, part: str) -> Equation | None:
    """The score of the node's group by the queue's affinity."""
    verdict = _group_verdict(asked_node)
    affinity = verdict.queue.affinity if verdict.queue is not None else None
    if affinity is None:
        return None
    score = 0.0 if verdict.group is None else affinity.score_group(verdict.group, ordered=verdict.ordered)
    title = f"nodegroup: group {verdict.group or 'none'} of {asked_node.node.name}"
    columns, note = ("groups", "it is in"), f"score {format_number(score)}"
    return Equation(title, FORMULA, columns, "check", _affinity_terms(verdict), score, None, note)


def check_equations(asked_node: AskedNode) -> Iterator[Equation]:
    """Yields the check of the node's group against the queue's affinity lists and limit."""
    result = _group_verdict(asked_node)
    group = Term("node's group", (result.group, f"queue {result.queue_name}"), not result.refusal, result.refusal)
    lists, limits = (group, *_affinity_terms(result)), tuple(_limit_terms(result, asked_node.task.resreq))
    limit_columns = LIMIT_COLUMNS if limits else ()
    wide = (replace(term, figures=(*term.figures, *(None for _ in limit_columns))) for term in lists)
    title, columns = f"nodegroup: the queue's groups on {asked_node.node.name}", ("groups", "", *limit_columns)
    yield Equation(title, ACCEPT_FORMULA, columns, "check", (*wide, *limits), not result.refusal, None, result.refusal)


def _limit_terms(verdict: GroupVerdict, request: Resource) -> Iterator[Term]:
    """Yields a term per limited dimension: the queue's usage of the group against its limit."""
    queue, group = verdict.queue, verdict.group or ""
    limits = (queue.limits or {}).get(group) if queue is not None else None
    if queue is None or limits is None:
        return
    parts = (Resource.from_list(limits), queue.allocated.get(group, Resource()), request)
    for name in limits:
        yield Term(f"limit of {name}", (None, None, *(DimensionAmount.from_resource(one, name) for one in parts)), None)


def find_group_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Nodes refused because the queue names no group, or because they are in no group while the plugin is strict."""
    queue, refusing = fits.view.queue.name, fits.refused_for("node group")
    no_affinity, no_label = (
        [node.name for node in refusing if any(text in status.reason for status in node.statuses)]
        for text in ("affinity not specified", "label not found")
    )
    names = join_names(no_label)
    if no_affinity:
        rejects = f"{NodeGroup.name} rejects every node that belongs to a group ({join_names(no_affinity)})"
        advice = Advice.queue_admin(f"Queue {queue}: set spec.affinity.nodeGroupAffinity.")
        text = f"Queue {queue} has no node group in spec.affinity, so {rejects}"
        strict = f"Set strict: false in the arguments of {NodeGroup.name}; the queue may then use {names}."
        if no_label:
            text += f", and in strict mode those without a group ({names})"
        advised = (advice, *((Advice.cluster_admin(strict),) if no_label else ()))
        yield ConstraintFailure(text, advised, ConstraintKind.NODE_GROUP)
    elif no_label:
        yield ConstraintFailure(f"{names} {'has' if len(no_label) == 1 else 'have'} no node-group label")


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations, failures=find_group_failures)
