"""What an earlier cycle on nearly the same objects has found: it holds for as long as both have done the same.

Which nodes may take a task, and their scores, depend on the pod, on the nodes with their pods, and on everything that
was placed before. While the objects behind these are the same and every step since the beginning was the same, the
answer is the one that was recorded. Everything else is asked anew: orders, quotas, gangs, and what an operation does.

Upstream: none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from vcdebug.framework.conf import SchedulerConf
from vcdebug.framework.hooks import BATCH_NODE_ORDER, BEST_NODE, NODE_ORDER, PREDICATE
from vcdebug.framework.record import ActionEvent, OpEvent, PredicateEvent, Record, ScoreEvent
from vcdebug.model.names import Codes
from vcdebug.snapshot.manifest import spec_of
from vcdebug.snapshot.snapshot import Manifest, Snapshot

if TYPE_CHECKING:
    from vcdebug.framework.session import Session
    from vcdebug.model.node_table import NodeRows
    from vcdebug.model.task import TaskInfo

FREE: Final = ("Queue", "PodGroup", "PriorityClass")
"""Kinds of which no node and no score knows."""
POD: Final = "Pod"
HELPER: Final = "search.helper"
_NODE_HOOKS: Final = (PREDICATE, NODE_ORDER, BATCH_NODE_ORDER, BEST_NODE)
_SETTINGS: Final = ("flags", "chance", "now", "usage", "extender", "process", "persistence", "bound", "answers")

Step = tuple[str, ...]


class PreviousSearch(NamedTuple):
    """What was found for a task."""

    step: Step
    found: PredicateEvent
    scores: ScoreEvent | None
    """Of the first group of nodes that were compared, if any were."""


class PreviousCycle:
    """The steps of the earlier cycle, and how many of them this one has repeated."""

    def __init__(self, before: Session, now: Session, changed: Mapping[int, Manifest]) -> None:
        self._steps = _steps(before.record, before.conf)
        self._nodes = len(now.node_table)
        self._changed = changed
        self._before = before.reasons
        self._now = now.reasons
        self._last: PreviousSearch | None = None

    def repeats(self, *step: str) -> None:
        """This cycle takes a step that is no search; once it is another one, nothing holds any more."""
        self._last = None
        if next(self._steps, None) != step:
            self._steps = iter(())

    def search(self, task: TaskInfo, nodes: NodeRows) -> PredicateEvent | None:
        """What a search over these nodes comes to; None where it has to be made."""
        known = next(self._steps, None)
        self._last = None
        if not isinstance(known, PreviousSearch) or not self._is_about(known, task, nodes):
            self._steps = iter(())
            return None
        if not _leaves_nothing(task):
            return None
        self._last = known
        return known.found

    def _is_about(self, known: PreviousSearch, task: TaskInfo, nodes: NodeRows) -> bool:
        """Whether it is the same pod, all nodes, and reasons that both sessions can number alike."""
        if known.step != _search_step(task.key, len(nodes)) or len(nodes) != self._nodes:
            return False
        return id(task.pod.manifest) not in self._changed and self._numbered_alike(known.found.codes)

    def _numbered_alike(self, codes: Codes) -> bool:
        """Whether both sessions call these reasons the same, if need be from now on."""
        return not len(codes) or self._now.adopt_codes(self._before, int(np.maximum.reduce(codes)))

    def scores(self, task: TaskInfo, nodes: NodeRows) -> ScoreEvent | None:
        """The scores of these nodes, which the last search has found; None where they have to be asked for."""
        known = None if self._last is None else self._last.scores
        if known is None or known.task != task.key:
            return None
        return known if known.rows is nodes.rows or np.array_equal(known.rows, nodes.rows) else None


def past_of(before: Session, now: Session) -> PreviousCycle | None:
    """None where not even the first search would have to find the same; to be asked once the plugins are open."""
    old, new = before.snapshot, now.snapshot
    same = all(getattr(old, name) == getattr(new, name) for name in _SETTINGS) and not new.answers
    confs = before.conf.tiers == now.conf.tiers and before.conf.action_arguments == now.conf.action_arguments
    if not same or not confs or now.persistence.on or not _asks_of_nodes_alone(now):
        return None
    kinds = dict.fromkeys(chain(old.objects, new.objects))
    if any(old.objects_of(kind) != [] or new.objects_of(kind) != [] for kind in kinds if not _same(kind, old, new)):
        return None
    changed = dict(_changed_pods(old, new))
    if any(spec_of(pod).get("nodeName") for pod in changed.values()):
        return None
    return PreviousCycle(before, now, changed)


def _same(kind: str, old: Snapshot, new: Snapshot) -> bool:
    return kind in FREE or kind == POD or old.objects.get(kind) is new.objects.get(kind)


def _changed_pods(old: Snapshot, new: Snapshot) -> Iterator[tuple[int, Manifest]]:
    """Pods that only one of the two has."""
    if old.objects_of(POD) is new.objects_of(POD):
        return
    before, after = ({id(pod): pod for pod in one.objects_of(POD)} for one in (old, new))
    for ours, others in ((before, after), (after, before)):
        yield from ((number, pod) for number, pod in ours.items() if number not in others)


def _asks_of_nodes_alone(ssn: Session) -> bool:
    """Whether all that nodes are judged by depends on what is on them, and on the pod."""
    tiers = chain.from_iterable(ssn.plugin_calls[hook.method] for hook in _NODE_HOOKS)
    plugins = (ssn.plugins[call.plugin] for call in chain.from_iterable(tiers))
    return all(plugin.judges_by_pod and not plugin.remembers_rows for plugin in plugins)


def _leaves_nothing(task: TaskInfo) -> bool:
    """Looking for nodes for pods with claims decides on volumes, which placing them needs."""
    spec = task.pod.spec
    volumes = spec.get("volumes") or ()
    claims = [
        one for one in volumes if one.get("persistentVolumeClaim") is not None or one.get("ephemeral") is not None
    ]
    return not claims and not spec.get("resourceClaims")


def _search_step(task: str, nodes: int) -> Step:
    return ("search", task, str(nodes))


def _steps(record: Record, conf: SchedulerConf) -> Iterator[Step | PreviousSearch]:
    """Everything that what is found later may depend on, up to the first action that evicts: it tries things out
    without recording them.
    """
    helpers = iter([seq for seq, key, _ in record.lines.rows if key == HELPER])
    helper = next(helpers, None)
    events = record.events
    for index, event in enumerate(events):
        while helper is not None and helper <= index:
            yield ("helper",)
            helper = next(helpers, None)
        match event:
            case OpEvent():
                yield ("op", event.op, event.task, event.node)
            case PredicateEvent():
                following = events[index + 1] if index + 1 < len(events) else None
                scores = following if isinstance(following, ScoreEvent) else None
                yield PreviousSearch(_search_step(event.task, event.considered), event, scores)
            case ActionEvent("start", action):
                if conf.facts_of(action).evicts:
                    return
                yield ("action", action)
