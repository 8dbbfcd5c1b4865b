"""Whom capacity leaves to their queues when another one reclaims, and which of its rules does."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.explain import amounts
from vcdebug.explain.amounts import listed, plural
from vcdebug.explain.answer import Number
from vcdebug.explain.case import Case
from vcdebug.explain.gates.limits import TREE_PLUGIN
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.queue import ROOT_QUEUE
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.capacity import Capacity
from vcdebug.plugins.capacity.attr import QueueAttr, exceeds_deserved, keeps_guarantee, overlap, shared_dimensions
from vcdebug.trace.timeline import ClusterState

Told = tuple[str, dict[str, Number], tuple[str, ...], tuple[str, ...]]
"""(half sentence, numbers, advice, lines)."""


def kept(case: Case, task: TaskInfo, refused: Sequence[TaskKey], seq: Seq) -> Told | None:
    """Why capacity keeps these pods from `task`; None where its rules cannot be asked again."""
    plugin = case.session.plugins.get(TREE_PLUGIN)
    if not isinstance(plugin, Capacity) or not plugin.ready:
        return None
    state = case.recording.timeline.state_at(seq - 1)
    reasons: dict[str, list[TaskKey]] = {}
    for key in refused:
        reasons.setdefault(_reason(case, plugin, state, task, key), []).append(key)
    order = sorted(reasons.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    queues = list(dict.fromkeys(case.session.jobs[case.recording.owners.jobs[key]].queue for key in refused))
    text = "; ".join(f"{len(keys)} {reason}" for reason, keys in order[:2])
    lines = tuple(f"{plural(len(keys), 'pod')}: {reason}  ({listed(keys)})" for reason, keys in order)
    return text, _numbers(state, queues), (_advice(plugin, state, queues),), lines


def _reason(case: Case, plugin: Capacity, state: ClusterState, task: TaskInfo, key: TaskKey) -> str:
    """The first of capacity's rules that keeps the pod."""
    victim = case.recording.timeline.tasks[key]
    queue = case.session.jobs[case.recording.owners.jobs[key]].queue
    attr = plugin.queues[queue]
    held = state.amount(TREE_PLUGIN, queue, "allocated")
    if not overlap(victim, task):
        return f"free nothing that {task.name} asks for"
    if not keeps_guarantee(attr, held, victim):
        return f"of queue {queue}, which would fall below its guarantee ({amounts.resource(attr.guarantee)})"
    if not exceeds_deserved(attr, held, victim):
        return f"of queue {queue}, which holds {_share(attr, held, victim)}"
    return _ancestor(plugin, state, attr, victim)


def _ancestor(plugin: Capacity, state: ClusterState, attr: QueueAttr, victim: TaskInfo) -> str:
    for distance in range(1, min(plugin.ancestor_level, len(attr.ancestors)) + 1):
        name = attr.nearest(distance)
        if name is None or name == ROOT_QUEUE or name not in plugin.queues:
            continue
        held = state.amount(TREE_PLUGIN, name, "allocated")
        if not exceeds_deserved(plugin.queues[name], held, victim):
            return f"below queue {name}, which holds {_share(plugin.queues[name], held, victim)}"
    return f"of queue {attr.name}, once those that were taken before are gone"


def _share(attr: QueueAttr, held: Resource, victim: TaskInfo) -> str:
    """`4 of the 8 cpu that it deserves`, in the dimensions that count for this pod."""
    names = [name for name in shared_dimensions(victim.resreq, attr.deserved) if name != PODS]
    parts = (
        f"{amounts.amount(name, held.get(name))} of {amounts.named(name, attr.deserved.get(name))}" for name in names
    )
    return f"{' and '.join(parts) or 'nothing'} that it deserves"


def _numbers(state: ClusterState, queues: Sequence[QueueName]) -> dict[str, Number]:
    found: dict[str, Number] = {}
    for queue in queues:
        for figure in ("allocated", "deserved"):
            found.update(amounts.numbers(f"queue.{queue}.{figure}", state.amount(TREE_PLUGIN, queue, figure)))
    return found


def _advice(plugin: Capacity, state: ClusterState, queues: Sequence[QueueName]) -> str:
    guaranteed = [queue for queue in queues if not plugin.queues[queue].guarantee.is_empty()]
    more = f", or its spec.guarantee where that is what holds them ({listed(guaranteed)})" if guaranteed else ""
    return f"lower spec.deserved of queue {listed(queues)}{more}; what a queue deserves is never reclaimed"
