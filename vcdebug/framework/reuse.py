"""Reuse of node searches that an earlier cycle has recorded, for a cycle on nearly the same objects.

Which nodes may take a pod, and how they are scored, depends on `search_inputs`, on the pod, and on every step since the
cycle began. While all three are those of the earlier cycle, its recorded search is the result of this one. Orders,
quotas, gangs and the effects of operations are always computed.

Upstream: none.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from msgspec import Struct

from vcdebug.framework.conf import SchedulerConf
from vcdebug.framework.record import ActionEvent, OpEvent, PredicateEvent, Record, ScoreEvent
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.model.node_table import NodeRows
from vcdebug.model.task import TaskInfo
from vcdebug.snapshot.manifest import spec_of
from vcdebug.snapshot.snapshot import Manifest, Snapshot

POD: Final = "Pod"
UNSEEN_KINDS: Final = ("Queue", "PodGroup", "PriorityClass")
"""Kinds that plugins with `judges_by_pod` never read when they filter or score nodes."""


UNREAD_FIELDS: Final = ("name", "workloads", "problems", "description", "origin", "provenance")
"""Fields of Snapshot that no search over nodes reads, since they only describe it."""
COMPARED_FIELDS: Final = [
    name for name in Snapshot.__struct_fields__ if name not in (*UNREAD_FIELDS, "objects", "scheduler_conf")
]


def search_inputs(snapshot: Snapshot, conf: SchedulerConf, *, restores: bool, same_pods: bool) -> tuple[object, ...]:
    """Everything that a search over nodes reads, except the pod: equal for two cycles whose first searches for one pod
    have the same result. It holds identities, so the snapshot must outlive it.

    `restores`: whether the cycle restores task state; with the setting `auto` this depends on the pods without a node.
    `same_pods`: whether the other cycle has the same list of pods.
    """
    # A cycle may have 100,000 pods: the list is read only if the two cycles have different lists.
    placed = None if same_pods else tuple([id(pod) for pod in snapshot.objects_of(POD) if is_placed(pod)])
    kinds = [kind for kind in sorted(snapshot.objects) if kind != POD and kind not in UNSEEN_KINDS]
    # By identity, since an edit makes a new list: comparing objects would take longer than a small cycle's searches.
    lists = tuple([(kind, id(snapshot.objects[kind])) for kind in kinds if snapshot.objects[kind]])
    settings = tuple([getattr(snapshot, name) for name in COMPARED_FIELDS])
    return conf.tiers, conf.action_arguments, settings, restores, lists, placed


def is_placed(pod: Manifest) -> bool:
    """Whether the pod's manifest names a node."""
    return bool(spec_of(pod).get("nodeName"))


# The steps of a cycle: an earlier search is reused only while both cycles have taken the same steps.


class ActionStep(Struct, frozen=True):
    """The start of an action."""

    action: str


class HelperStep(Struct, frozen=True):
    """A new search helper, with an empty error cache."""

    cache_on: bool


class OperationStep(Struct, frozen=True):
    """An operation that places, moves or evicts a task."""

    op: str
    task: TaskKey
    node: NodeName


class SearchStep(Struct, frozen=True):
    """A search over nodes for a task."""

    predicate_event: PredicateEvent
    scores: ScoreEvent | None
    """The scores of the first group of nodes that was scored, if any."""


PlainStep = ActionStep | HelperStep | OperationStep


class PreviousCycle:
    """The steps of an earlier cycle with equal inputs, read in step with the current cycle."""

    def __init__(self, old: Record, new: Record, conf: SchedulerConf, pods: Mapping[int, Manifest] | None) -> None:
        """`conf` is that of both cycles. `pods`: the earlier cycle's by identity; None if both share one list."""
        self._steps = _iter_steps(old, conf)
        self._node_count = len(new.node_names)
        self._pods = pods
        self._old_reasons = old.reasons
        self._new_reasons = new.reasons
        self._last_step: SearchStep | None = None

    def repeat_step(self, step: PlainStep) -> None:
        """Take a step that is not a search; after the first step that differs, no search is reused."""
        self._last_step = None
        if next(self._steps, None) != step:
            self._steps = iter(())

    def find_search(self, task: TaskInfo, nodes: NodeRows) -> PredicateEvent | None:
        """The earlier result of a search over these nodes; None if the search must run."""
        step = next(self._steps, None)
        self._last_step = None
        if not isinstance(step, SearchStep) or not self._is_same_search(step.predicate_event, task, nodes):
            self._steps = iter(())
            return None
        # A search for a pod with claims chooses volumes and devices, which placing the pod reads later.
        if _has_claims(task):
            return None
        self._last_step = step
        return step.predicate_event

    def _is_same_search(self, event: PredicateEvent, task: TaskInfo, nodes: NodeRows) -> bool:
        """Whether the earlier search was for the same pod and all nodes, and its reason codes can be adopted."""
        if event.task != task.key or not event.considered == len(nodes) == self._node_count:
            return False
        if self._pods is not None and id(task.pod.manifest) not in self._pods:
            return False
        # Codes number the reasons in order of first use.
        codes = event.codes
        return not len(codes) or self._new_reasons.adopt_codes(self._old_reasons, int(np.maximum.reduce(codes)))

    def find_scores(self, task: TaskInfo, nodes: NodeRows) -> ScoreEvent | None:
        """The earlier scores of these nodes, if the last search was reused; None if the plugins must be asked."""
        scores = None if self._last_step is None else self._last_step.scores
        if scores is None or scores.task != task.key:
            return None
        return scores if scores.rows is nodes.rows or np.array_equal(scores.rows, nodes.rows) else None


def _has_claims(task: TaskInfo) -> bool:
    """Whether the pod has claims for volumes or devices, which a search may choose."""
    spec = task.pod.spec
    volumes = spec.get("volumes") or ()
    return bool(spec.get("resourceClaims")) or any(
        volume.get("persistentVolumeClaim") is not None or volume.get("ephemeral") is not None for volume in volumes
    )


def _iter_steps(record: Record, conf: SchedulerConf) -> Iterator[PlainStep | SearchStep]:
    """Yield the steps up to the first evicting action: its dry runs affect searches and leave no event."""
    helpers = iter(record.search_helpers)
    helper = next(helpers, None)
    events = record.events
    for index, event in enumerate(events):
        while helper is not None and helper.seq <= index:
            yield HelperStep(helper.cache_on)
            helper = next(helpers, None)
        match event:
            case OpEvent():
                yield OperationStep(event.op, event.task, event.node)
            case PredicateEvent():
                following = events[index + 1] if index + 1 < len(events) else None
                yield SearchStep(event, following if isinstance(following, ScoreEvent) else None)
            case ActionEvent("start", action):
                if conf.facts_of(action).evicts:
                    return
                yield ActionStep(action)
