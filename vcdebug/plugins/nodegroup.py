"""nodegroup: a queue's affinity to groups of nodes, and limits on its use of each group.

Upstream: plugins/nodegroup, and its form up to v1.12.
"""

import json
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import numpy as np

from vcdebug.framework.arguments import Arguments
from vcdebug.framework.plugin_answers import NodeScores, zero_scores
from vcdebug.framework.session import Event, Plugin, Session
from vcdebug.model.fit_errors import UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus, ReasonTable
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Codes, JobId, NodeName, QueueName
from vcdebug.model.node_table import NodeRows
from vcdebug.model.pod import Pod
from vcdebug.model.queue import ROOT_QUEUE, QueueInfo
from vcdebug.model.resource import MIN_RESOURCE, Resource
from vcdebug.model.task import TaskInfo, is_allocated_status
from vcdebug.releases.nodes import NODEGROUP_ENDS_PREDICATES, NODEGROUP_PREFERRED_ORDER, NODEGROUP_RESOURCE_LIMITS
from vcdebug.snapshot.manifest import QUEUE_ANNOTATION, QUEUE_LABEL, JsonDict, JsonObject
from vcdebug.snapshot.quantity import QuantityError, whole_value

GROUP_LABEL = "volcano.sh/nodegroup-name"
LIMITS_ANNOTATION = "volcano.sh/nodegroup-resource-limits"
BASE_SCORE = 100
LABEL_NOT_FOUND = "node group label not found"
AFFINITY_NOT_FOUND = "node group affinity not specified"
UNSATISFIED = "node does not satisfy the node group affinity"
LIMIT_INVALID = "node group resource limit annotation invalid"
LIMIT_EXCEEDED = "node group resource limit exceeded"
NO_JOB = "job {job} not found in session"

Group = str


class GroupAffinity:
    """The four lists of groups in a queue's spec.affinity. Upstream: plugins/nodegroup.newQueueGroupAffinity."""

    def __init__(self, raw: JsonObject) -> None:
        self.required, preferred = _affinity_terms(raw.get("nodeGroupAffinity"))
        self.anti_required, self.anti_preferred = _affinity_terms(raw.get("nodeGroupAntiAffinity"))
        self.preferred = {group: index for index, group in enumerate(preferred)}
        """Preferred group → its last index in the list."""

    @property
    def is_empty(self) -> bool:
        """Whether all four lists are empty."""
        return not (self.required or self.preferred or self.anti_required or self.anti_preferred)

    def accepts_group(self, group: Group) -> bool:
        """Whether pods of the queue may use the group. Upstream: plugins/nodegroup.predicate."""
        # Upstream stops here: a preferred anti-affinity overrides a required one.
        if group in self.anti_preferred:
            return True
        return group not in self.anti_required and (group in self.required or group in self.preferred)

    def score_group(self, group: Group, *, ordered: bool) -> float:
        """100 for a required group, plus up to 50 for a preferred one; always -1 for preferred anti-affinity.
        Upstream: plugins/nodegroup.score.
        """
        if group in self.anti_preferred:
            return -1.0
        score = float(BASE_SCORE) if group in self.required else 0.0
        if group in self.preferred:
            count = len(self.preferred)
            rank = count - self.preferred[group]
            score += 0.5 * BASE_SCORE * float(rank) / float(count) if ordered else 0.5 * BASE_SCORE
        return score


class QueueGroups:
    """A queue's affinity, limits and allocated amounts per group. Upstream: plugins/nodegroup.newQueueAttr."""

    def __init__(self, queue: QueueInfo, *, limited: bool) -> None:
        raw = queue.spec.get("affinity")
        self.affinity = None if raw is None else GroupAffinity(raw)
        self.limits = _parse_limits(queue.annotations.get(LIMITS_ANNOTATION) or "" if limited else "")
        """Group → resource list; None if the annotation is invalid."""
        self.allocated: dict[Group, Resource] = {}

    def over_limit(self, group: Group, request: Resource) -> bool:
        """Whether the request exceeds the group's limit. Upstream: plugins/nodegroup.checkNodeGroupResourceLimit."""
        limit = (self.limits or {}).get(group)
        if limit is None:
            return False
        used = self.allocated.get(group, Resource()).clone().add(request)
        amounts = Resource.from_list(limit)
        return any(_exceeds_limit(used.get(name), amounts.get(name)) for name in limit)


class GroupVerdict(NamedTuple):
    """A node's group and the rules of the task's queue about it."""

    queue_name: QueueName
    group: Group | None
    """The node's group; None for a node without the label."""
    queue: QueueGroups | None
    strict: bool
    ordered: bool
    refusal: str
    """The reason why the queue may not use the node; empty if it may."""


class NodeGroup(Plugin):
    """Filters and scores nodes by the group in their label."""

    name: ClassVar[str] = "nodegroup"
    later_methods = {"allocate_func": NODEGROUP_RESOURCE_LIMITS, "deallocate_func": NODEGROUP_RESOURCE_LIMITS}
    later_arguments = {"enablePreferredOrder": NODEGROUP_PREFERRED_ORDER}

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self._strict = arguments.get_bool("strict", default=True)
        self._ordered = arguments.get_bool("enablePreferredOrder", default=False)

    def on_session_open(self, ssn: Session) -> None:
        """Upstream: plugins/nodegroup.OnSessionOpen."""
        self._jobs: dict[JobId, JobInfo] = ssn.jobs
        self._reasons: ReasonTable = ssn.reasons
        self._group_of: dict[NodeName, Group] = {
            node.name: node.labels[GROUP_LABEL] for node in ssn.nodes.values() if GROUP_LABEL in node.labels
        }
        self._groups = sorted(dict.fromkeys(self._group_of.values()))
        position: dict[Group | None, int] = {group: index for index, group in enumerate(self._groups)}
        places = [position.get(self._group_of.get(name), -1) for name in ssn.node_table.names]
        self._positions = np.array(places, dtype=np.int64)
        """Index in `_groups` of each row of the node table; -1 for nodes without the label."""
        limited = not ssn.release.has_older_form(NODEGROUP_RESOURCE_LIMITS)
        self._queues = {name: QueueGroups(queue, limited=limited) for name, queue in ssn.queues.items()}
        if ssn.hierarchy_enabled(self.name):
            self._inherit_affinity(ssn.queues)
        for job in ssn.jobs.values():
            for task in job.tasks.values():
                if is_allocated_status(task.status):
                    self._charge_task(task)

    def _inherit_affinity(self, queues: Mapping[QueueName, QueueInfo]) -> None:
        """Give a queue without affinity that of its nearest ancestor with one; limits are not inherited.
        Upstream: plugins/nodegroup.updateAffinityFromAncestor.
        """
        affinities = {name: groups.affinity for name, groups in self._queues.items()}
        for name, groups in self._queues.items():
            seen = {name: None}
            ancestor = name
            while affinities[ancestor] is None and ancestor != ROOT_QUEUE:
                ancestor = queues[ancestor].parent or ROOT_QUEUE
                if ancestor in seen or ancestor not in queues:
                    break
                seen[ancestor] = None
                groups.affinity = affinities[ancestor]

    # Hooks

    def predicate(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        """Upstream: plugins/nodegroup.predicateFn."""
        per_group = [self._verdict_code(task, group) for group in (*self._groups, None)]
        codes: Codes = np.array(per_group, dtype=np.uint16)[self._positions[nodes.rows]]
        return codes

    def _verdict_code(self, task: TaskInfo, group: Group | None) -> int:
        job = self._jobs.get(task.job)
        if job is None:
            return self._reasons.error_code(NO_JOB.format(job=task.job))
        reason = self._refusal_reason(self._queues.get(job.queue), group, task.resreq)
        return self._reasons.code_of((FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, reason),)) if reason else 0

    def _refusal_reason(self, queue: QueueGroups | None, group: Group | None, request: Resource) -> str:
        """Why the queue may not use the group (None: an unlabelled node); empty if it may."""
        if queue is not None and queue.limits is None:
            return LIMIT_INVALID
        affinity = None if queue is None or queue.affinity is None or queue.affinity.is_empty else queue.affinity
        if group is None:
            return LABEL_NOT_FOUND if self._strict or affinity is not None else ""
        if queue is None or affinity is None:
            return AFFINITY_NOT_FOUND
        if not affinity.accepts_group(group):
            return UNSATISFIED
        return LIMIT_EXCEEDED if queue.over_limit(group, request) else ""

    def group_verdict(self, task: TaskInfo, node: NodeName) -> GroupVerdict:
        """The details of the verdict about one node."""
        job, group = self._jobs.get(task.job), self._group_of.get(node)
        queue = None if job is None else self._queues.get(job.queue)
        reason = NO_JOB.format(job=task.job) if job is None else self._refusal_reason(queue, group, task.resreq)
        return GroupVerdict("" if job is None else job.queue, group, queue, self._strict, self._ordered, reason)

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        """Upstream: plugins/nodegroup.nodeOrderFn."""
        job = self._jobs.get(task.job)
        queue = None if job is None else self._queues.get(job.queue)
        if queue is None or queue.affinity is None:
            return zero_scores(len(nodes))
        affinity = queue.affinity
        per_group = [affinity.score_group(group, ordered=self._ordered) for group in self._groups]
        return NodeScores(np.array([*per_group, 0.0])[self._positions[nodes.rows]])

    # Events

    def allocate_func(self, event: Event) -> None:
        """Upstream: plugins/nodegroup.addNodeGroupAllocated."""
        self._charge_task(event.task)

    def deallocate_func(self, event: Event) -> None:
        """Upstream: plugins/nodegroup.subNodeGroupAllocated."""
        queue, group = self._task_node_group(event.task)
        if queue is not None and group in queue.allocated:
            queue.allocated[group].sub(event.task.resreq)

    def _charge_task(self, task: TaskInfo) -> None:
        queue, group = self._task_node_group(task)
        if queue is not None and group is not None:
            queue.allocated.setdefault(group, Resource()).add(task.resreq)

    def _task_node_group(self, task: TaskInfo) -> tuple[QueueGroups | None, Group | None]:
        """Upstream: plugins/nodegroup.taskNodeGroup."""
        job = self._jobs.get(task.job)
        return (None if job is None else self._queues.get(job.queue)), self._group_of.get(task.node_name)


def _affinity_terms(raw: JsonObject | None) -> tuple[list[Group], list[Group]]:
    """The (required, preferred) groups of an affinity."""
    terms = raw or {}
    required = terms.get("requiredDuringSchedulingIgnoredDuringExecution") or []
    return required, terms.get("preferredDuringSchedulingIgnoredDuringExecution") or []


def _parse_limits(text: str) -> dict[Group, dict[str, object]] | None:
    """Group → resource list; None if it is not such JSON. Upstream: plugins/nodegroup.parseNodeGroupResourceLimits."""
    if not text:
        return {}
    try:
        # Numbers stay text: a float would change a quantity.
        document = json.loads(text, parse_float=str, parse_int=str, parse_constant=_no_number)
        groups = _require_object(document)
        limits = {group: _require_object(amounts) for group, amounts in groups.items()}
        for amounts in limits.values():
            for amount in amounts.values():
                whole_value(amount)
    except (ValueError, QuantityError, RecursionError):
        return None
    return limits


def _require_object(document: object) -> JsonDict:
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise QuantityError(LIMITS_ANNOTATION)
    return document


def _no_number(name: str) -> object:
    raise QuantityError(name)


def _exceeds_limit(used: float, limit: float) -> bool:
    """Upstream: plugins/nodegroup.greaterThanResourceLimit."""
    return used > limit and used - limit >= MIN_RESOURCE


# nodegroup up to v1.12: uses the affinity of the queue that the pod names.

NOT_SATISFIED = "node not satisfy"
REFUSED_STATUS = FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, NOT_SATISFIED)
NO_AFFINITY = GroupAffinity({})


def queue_of(pod: Pod) -> QueueName:
    """The queue that the pod names in a label or annotation; empty if it names none."""
    if QUEUE_LABEL in pod.labels:
        return pod.labels[QUEUE_LABEL]
    return pod.annotations.get(QUEUE_LABEL, pod.annotations.get(QUEUE_ANNOTATION, ""))


class NodeGroupByPod(Plugin):
    """The older form: unlabelled nodes form a group with an empty name; pods that name no queue may use all nodes."""

    name: ClassVar[str] = "nodegroup"
    judges_last = NODEGROUP_ENDS_PREDICATES

    def on_session_open(self, ssn: Session) -> None:
        self._reasons: ReasonTable = ssn.reasons
        self._groups_of = {name: QueueGroups(queue, limited=False) for name, queue in ssn.queues.items()}
        self._group_of: dict[NodeName, Group] = {
            node.name: node.labels.get(GROUP_LABEL, "") for node in ssn.nodes.values()
        }
        node_groups = [self._group_of[name] for name in ssn.node_table.names]
        self._groups = sorted(dict.fromkeys(node_groups))
        self._positions = np.array([self._groups.index(group) for group in node_groups], dtype=np.int64)
        """Index in `_groups` of each row of the node table."""

    def _affinity_of(self, queue: QueueName) -> GroupAffinity:
        groups = self._groups_of.get(queue)
        return NO_AFFINITY if groups is None or groups.affinity is None else groups.affinity

    def predicate(self, task: TaskInfo, nodes: NodeRows) -> Codes:
        queue = queue_of(task.pod)
        if not queue:
            return np.zeros(len(nodes), dtype=np.uint16)
        affinity, refused = self._affinity_of(queue), self._reasons.code_of((REFUSED_STATUS,))
        per_group = [0 if affinity.accepts_group(group) else refused for group in self._groups]
        codes: Codes = np.array(per_group, dtype=np.uint16)[self._positions[nodes.rows]]
        return codes

    def node_order(self, task: TaskInfo, nodes: NodeRows) -> NodeScores:
        queue = queue_of(task.pod)
        if not queue:
            return zero_scores(len(nodes))
        affinity = self._affinity_of(queue)
        per_group = [affinity.score_group(group, ordered=False) for group in self._groups]
        return NodeScores(np.array(per_group)[self._positions[nodes.rows]])

    def group_verdict(self, task: TaskInfo, node: NodeName) -> GroupVerdict:
        """The details of the verdict about one node."""
        queue, group = queue_of(task.pod), self._group_of[node]
        refused = bool(queue) and not self._affinity_of(queue).accepts_group(group)
        reason = NOT_SATISFIED if refused else ""
        return GroupVerdict(queue, group, self._groups_of.get(queue), strict=False, ordered=False, refusal=reason)
