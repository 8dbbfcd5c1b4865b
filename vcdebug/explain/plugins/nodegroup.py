"""nodegroup: the node's group against the queue's affinity and limits. Upstream: plugins/nodegroup."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from vcdebug.amount_text import format_named_amount, format_number, join_names, quantity_text, verb_for
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
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.nodegroup import (
    AFFINITY_NOT_FOUND,
    GROUP_LABEL,
    LABEL_NOT_FOUND,
    LIMIT_EXCEEDED,
    LIMIT_INVALID,
    LIMITS_ANNOTATION,
    NOT_SATISFIED,
    UNSATISFIED,
    Group,
    GroupAffinity,
    GroupVerdict,
    NodeGroup,
    NodeGroupByPod,
)
from vcdebug.recording.state_before import sum_resources
from vcdebug.snapshot.edit_path import field_step

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
    """Yields why the queue may not use the refusing nodes: its limits, or it names no node group, or only others."""
    yield from _limit_failures(fits)
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


def _limit_failures(fits: NodeFits) -> Iterator[ConstraintFailure]:
    """Yields failures about the queue's limits of node groups: unreadable ones, and those that its pods use up."""
    queue, kind = fits.view.queue, ConstraintKind.NODE_GROUP
    if fits.refused_for(LIMIT_INVALID):
        text = (
            f"Annotation {LIMITS_ANNOTATION} of queue {queue.name} is invalid, so {NodeGroup.name} rejects every node"
        )
        words = f"Correct annotation {LIMITS_ANNOTATION} of queue {queue.name}, or remove it (lifts its limits)."
        yield ConstraintFailure(text, (Advice.queue_admin(words, f"Queue/{queue.name}:{_LIMITS_PATH}-"),), kind)
    nodes = fits.view.session.nodes
    for group in dict.fromkeys(nodes[node.name].labels[GROUP_LABEL] for node in fits.refused_for(LIMIT_EXCEEDED)):
        in_group = (name for name, node in nodes.items() if node.labels.get(GROUP_LABEL) == group)
        jobs, tasks = fits.view.session.jobs, (task for name in in_group for task in fits.tasks_on(name))
        users = [task for task in tasks if task.job in jobs and jobs[task.job].queue == queue.name]
        yield from _limit_failure(fits, group, users)


_LIMITS_PATH: Final = f"metadata.annotations{field_step(LIMITS_ANNOTATION)}"


def _limit_failure(fits: NodeFits, group: Group, users: Sequence[TaskInfo]) -> Iterator[ConstraintFailure]:
    """Yields a failure if these pods of the queue use up its limit of the group in this state."""
    queue, task = fits.view.queue, fits.task
    limits = json.loads(queue.annotations[LIMITS_ANNOTATION])
    limit, used = Resource.from_list(limits[group]), sum_resources(user.resreq for user in users)
    exceeded = [name for name in limits[group] if used.get(name) + task.resreq.get(name) > limit.get(name)]
    if not exceeded:
        return
    name = exceeded[0]
    allowed, taken, asked = (format_named_amount(name, part.get(name)) for part in (limit, used, task.resreq))
    rule = f"Queue {queue.name} may use {allowed} of node group {group} (annotation {LIMITS_ANNOTATION})"
    keys = [user.key for user in users]
    later = sum_resources(one.resreq for one in fits.view.unplaced_tasks if one.key not in keys)
    limits[group][name] = needed = quantity_text(name, used.get(name) + later.get(name))
    edit = f"Queue/{queue.name}:{_LIMITS_PATH}={json.dumps(json.dumps(limits))}"
    words = f"Queue {queue.name}: raise its limit of node group {group} from {allowed} to {needed}."
    text = f"{rule}; its pods use {taken} there, and {task.name} asks {asked}"
    yield ConstraintFailure(text, (Advice.queue_admin(words, edit),), ConstraintKind.NODE_GROUP)


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
        rule = f"Queue {queue} has nodeGroupAntiAffinity only, which allows no node group ({outside})"
        return ConstraintFailure(f"{rule}; those to use have to be in nodeGroupAffinity")
    rule = f"Queue {queue} may use node group{'s' if len(allowed) > 1 else ''} {join_names(allowed)} only"
    verb = verb_for(sum(map(len, nodes_of.values())), "is")
    none = "" if any(affinity.accepts_group(label) for label in labels) else "; no node has that label"
    return ConstraintFailure(f"{rule}, and {outside} {verb} not in it{none}")


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations, failures=find_group_failures)
