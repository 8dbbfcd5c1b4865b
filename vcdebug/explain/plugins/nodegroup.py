"""nodegroup: the node's group against the queue's affinity and limits. Upstream: plugins/nodegroup."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from vcdebug.amount_text import format_number, join_names, verb_for
from vcdebug.explain import queue_index
from vcdebug.explain.answer import Advice
from vcdebug.explain.equation import DimensionAmount, Equation, Term
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.explain.predicate_reasons import ConstraintFailure, ConstraintKind
from vcdebug.framework.session import Session
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import NodeName, QueueName
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.plugins.nodegroup import (
    AFFINITY_NOT_FOUND,
    GROUP_LABEL,
    LABEL_NOT_FOUND,
    NOT_SATISFIED,
    UNSATISFIED,
    Group,
    GroupAffinity,
    GroupVerdict,
    NodeGroup,
    NodeGroupByPod,
)

FORMULA = "100 for a required group, up to 50 for a preferred one, -1 for one better avoided"
ACCEPT_FORMULA = "the node's group is one that the queue requires or prefers, and within the queue's limit there"
LIMIT_COLUMNS = ("limit", "used", "request")
LIST_NAMES = ("required", "preferred", "avoided", "better avoided")


def _group_verdict(asked_node: AskedNode) -> GroupVerdict:
    plugin = asked_node.session.plugins[NodeGroup.name]
    assert isinstance(plugin, NodeGroup | NodeGroupByPod)
    return plugin.group_verdict(asked_node.task, asked_node.node.name)


def required_group(session: Session, job: JobInfo | None, node: NodeName) -> Group | None:
    """The first group that the job's queue requires, if the node is in none that it may use; else None."""
    plugin = session.plugins.get(NodeGroup.name)
    if job is None or not job.tasks or node not in session.nodes or not isinstance(plugin, NodeGroup | NodeGroupByPod):
        return None
    verdict = plugin.group_verdict(next(iter(job.tasks.values())), node)
    affinity = verdict.queue.affinity if verdict.queue is not None else None
    if affinity is None or affinity.accepts_group(verdict.group or ""):
        return None
    return next(iter(affinity.required), None)


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
    """Yields why the queue may not use the refusing nodes: it names no node group, or only others."""
    plugin, reasons = fits.view.session.plugins.get(NodeGroup.name), (AFFINITY_NOT_FOUND, UNSATISFIED, NOT_SATISFIED)
    refusing = [node.name for reason in (*reasons, LABEL_NOT_FOUND) for node in fits.refused_for(reason)]
    if not isinstance(plugin, NodeGroup | NodeGroupByPod) or not refusing:
        return
    verdicts = {name: plugin.group_verdict(fits.task, name) for name in dict.fromkeys(refusing)}
    first = next(iter(verdicts.values()))
    nodes_of = group_by_key((verdict.group or "", name) for name, verdict in verdicts.items())
    affinity = first.queue.affinity if first.queue is not None else None
    if affinity is not None and not affinity.is_empty:
        yield _other_groups_failure(fits, first.queue_name, affinity, nodes_of)
    elif any(nodes_of):
        yield _no_affinity_failure(fits, first, nodes_of)
    else:
        yield ConstraintFailure(f"{join_names(nodes_of[''])} {verb_for(len(nodes_of['']), 'has')} no node-group label")


def _no_affinity_failure(
    fits: NodeFits, verdict: GroupVerdict, nodes_of: Mapping[Group, Sequence[NodeName]]
) -> ConstraintFailure:
    """The queue may use no node group, perhaps since it does not inherit those of an ancestor."""
    queue, ungrouped = verdict.queue_name, join_names(nodes_of.get("", ()))
    rejected = join_names(name for group, names in nodes_of.items() if group for name in names)
    text = f"Queue {queue} has no node group in spec.affinity"
    rejects = f"so {NodeGroup.name} rejects every node that belongs to a group ({rejected})"
    advice = [Advice.queue_admin(f"Queue {queue}: set spec.affinity.nodeGroupAffinity.")]
    if ungrouped:
        rejects += f", and{', since strict is true,' if verdict.strict else ''} those without a group ({ungrouped})"
    if ungrouped and verdict.strict:
        strict = f"Set strict: false in the arguments of {NodeGroup.name}; the queue may then use {ungrouped}."
        advice.append(Advice.cluster_admin(strict))
    info = fits.view.session.queues.get(queue)
    ancestors = queue_index.queue_and_ancestors(fits.view.recording, info)[1:] if info is not None else []
    parent = next((each for each in ancestors if _groups_in(each)), None)
    if parent is not None:
        switch = "enableHierarchy: true"
        text += f", and that of its ancestor {parent.name} ({join_names(_groups_in(parent))}) is not inherited"
        if isinstance(fits.view.session.plugins[NodeGroup.name], NodeGroupByPod):
            text += f" (from v1.13 on with {switch} at {NodeGroup.name})"
        else:
            words, edit = f"Set {switch} at {NodeGroup.name}.", f"conf:plugins.{NodeGroup.name}.enableHierarchy=true"
            advice.insert(0, Advice.cluster_admin(words, edit))
    return ConstraintFailure(f"{text}, {rejects}", tuple(advice), ConstraintKind.NODE_GROUP)


def _groups_in(queue: QueueInfo) -> list[Group]:
    """The node groups that a queue's own affinity requires or prefers."""
    affinity = GroupAffinity(queue.spec.get("affinity") or {})
    return [*dict.fromkeys((*affinity.required, *affinity.preferred))]


def _other_groups_failure(
    fits: NodeFits, queue: QueueName, affinity: GroupAffinity, nodes_of: Mapping[Group, Sequence[NodeName]]
) -> ConstraintFailure:
    """The queue may use other groups than those of the nodes; perhaps no node is in one of them."""
    allowed = [*dict.fromkeys((*affinity.required, *affinity.preferred, *affinity.anti_preferred))]
    labels = [node.labels.get(GROUP_LABEL, "") for node in fits.view.session.nodes.values()]
    outside = join_names(f"{join_names(names)} ({group or 'no group'})" for group, names in nodes_of.items())
    if not allowed:
        return ConstraintFailure(f"The nodeGroupAntiAffinity of queue {queue} excludes {outside}")
    rule = f"Queue {queue} may use node group{'s' if len(allowed) > 1 else ''} {join_names(allowed)} only"
    verb = verb_for(sum(map(len, nodes_of.values())), "is")
    none = "" if any(affinity.accepts_group(label) for label in labels) else "; no node has that label"
    return ConstraintFailure(f"{rule}, and {outside} {verb} not in it{none}")


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations, failures=find_group_failures)
