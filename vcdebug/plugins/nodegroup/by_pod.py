"""nodegroup up to v1.12: the affinity to groups of nodes of the queue that a pod names itself.

Upstream: plugins/nodegroup (v1.12 and older).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from vcdebug.framework.plugin_answers import NodeScores, zero_scores
from vcdebug.framework.session import Plugin, Session
from vcdebug.model.fit_errors import UNSCHEDULABLE_AND_UNRESOLVABLE, FitStatus, ReasonTable
from vcdebug.model.names import Codes, NodeName, QueueName
from vcdebug.model.node_table import NodeRows
from vcdebug.model.pod import Pod
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.nodegroup import GROUP_LABEL, Group, GroupAffinity, GroupVerdict, QueueGroups

QUEUE_NAME = "volcano.sh/queue-name"
QUEUE_NAME_ANNOTATION = "scheduling.volcano.sh/queue-name"
NOT_SATISFIED = "node not satisfy"
REFUSED_STATUS = FitStatus(UNSCHEDULABLE_AND_UNRESOLVABLE, NOT_SATISFIED)
NO_AFFINITY = GroupAffinity({})


def queue_of(pod: Pod) -> QueueName:
    """The queue that a pod names, by label or annotation."""
    if QUEUE_NAME in pod.labels:
        return pod.labels[QUEUE_NAME]
    found = pod.annotations.get(QUEUE_NAME)
    return pod.annotations.get(QUEUE_NAME_ANNOTATION, "") if found is None else found


class NodeGroupByPod(Plugin):
    """Nodes without a label are in a group without a name; a pod that names no queue may use all."""

    name: ClassVar[str] = "nodegroup"

    def on_session_open(self, ssn: Session) -> None:
        self._reasons: ReasonTable = ssn.reasons
        self._groups_of = {name: QueueGroups(queue, limited=False) for name, queue in ssn.queues.items()}
        self._group_of: dict[NodeName, Group] = {
            node.name: node.labels.get(GROUP_LABEL, "") for node in ssn.nodes.values()
        }
        found = [self._group_of[name] for name in ssn.node_table.names]
        self._groups = sorted(dict.fromkeys(found))
        self._positions = np.array([self._groups.index(group) for group in found], dtype=np.int64)
        """For every row of the node table its group's place in `_groups`."""

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
        """What is compared for one node."""
        queue, group = queue_of(task.pod), self._group_of[node]
        refused = bool(queue) and not self._affinity_of(queue).accepts_group(group)
        reason = NOT_SATISFIED if refused else ""
        return GroupVerdict(queue, group, self._groups_of.get(queue), strict=False, ordered=False, refusal=reason)
