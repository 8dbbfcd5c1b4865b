"""preempt and reclaim: how far the job got with an action that evicts, and who stopped it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

from vcdebug.explain.advice import owner
from vcdebug.explain.amounts import count, listed, plural
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.gates import gang, queue_limits
from vcdebug.explain.gates.eviction import entitlement, filtering, veto
from vcdebug.explain.job_view import EVICTING_ACTIONS, JobView
from vcdebug.explain.no_node import search_evidence
from vcdebug.explain.node_fit import NodeFits
from vcdebug.framework.record import HookEvent, OpEvent
from vcdebug.model.fiterror import Status
from vcdebug.model.names import Seq
from vcdebug.model.task import TaskInfo
from vcdebug.trace.state_before import holds_without
from vcdebug.trace.visits import AFTER, NodeTry, TaskTry, Visit

NEVER = "Never"
MIXED = "predicates-mixed"
VETOES_SHOWN = 3
"""Events that prove what stopped the first pod without a place, where the whole statement was discarded for it."""
BLAMES = {
    MIXED: "the predicates object on every node left",
    queue_limits.NOT_ALLOCATABLE: "its queue may not allocate it",
    filtering.KEPT: "nobody there may be evicted",
    filtering.UNRECLAIMABLE: "the queues there are not reclaimable",
    entitlement.POLICY_NEVER: "its preemptionPolicy is Never",
    queue_limits.PREEMPTIVE: "its queue may not reclaim",
    entitlement.NOT_ELIGIBLE: "it may not preempt",
    veto.NOT_ABOVE_DESERVED: "no queue there is above its share",
}
"""The gates that are no plugin's veto, in a few words."""


class Chance(IntEnum):
    """Whether the gate could still have let the job in."""

    NONE = 0
    WEAK = 1
    REAL = 2


class Stage(IntEnum):
    """How far a node was looked into."""

    TOO_SMALL = 0
    FILTER = 1
    VETO = 2
    AFTER = 3
    PLACED = 4


@dataclass(frozen=True, slots=True)
class Gate:
    """An evicting action's verdict."""

    action: str
    chance: Chance
    finding: Finding


@dataclass(frozen=True, slots=True)
class Tried:
    """One node, one task: how far it went."""

    stage: Stage
    attempt: TaskTry
    node: NodeTry


def gates_of_tasks(view: JobView, task: TaskInfo, room: NodeFits) -> Iterator[Gate]:
    """The actions that evict task by task."""
    for action in dict.fromkeys(view.actions):
        if action in EVICTING_ACTIONS:
            yield from evicting(view, action, task, room)


def evicting(view: JobView, action: str, task: TaskInfo, room: NodeFits) -> list[Gate]:
    """The gates at which the action left the job, the deciding one first; empty if the action never ran."""
    if view.action_starts(action) is None:
        return []
    visits = [visit for visit in view.visits_of(action) if visit.tries and visit.end is not None]
    if not visits:
        return [gate for gate in (_not_entitled(view, action, task, room),) if gate is not None]
    stuck = _visited(view, visits[-1], task, room)
    discard = gang.discarded(view, action, _blame(stuck))
    if discard is None:
        return [] if stuck is None else [stuck]
    if stuck is None:
        return [Gate(action, Chance.REAL, discard)]
    proof = tuple(sorted(dict.fromkeys((*discard.evidence, *stuck.finding.evidence[:VETOES_SHOWN]))))
    decided = Gate(action, Chance.REAL, replace(discard, evidence=proof))
    return [decided, replace(stuck, chance=Chance.WEAK)]


def _blame(stuck: Gate | None) -> str:
    """A few words about the gate that stopped a task."""
    if stuck is None:
        return ""
    cause = stuck.finding.cause
    return BLAMES.get(cause, f"{cause} leaves nobody to evict")


def _before(room: NodeFits, action: str) -> Chance:
    """The chance behind a gate that comes before any node is looked at."""
    if room.could_free(action):
        return Chance.REAL
    return Chance.WEAK if room.waiting else Chance.NONE


def _not_entitled(view: JobView, action: str, task: TaskInfo, room: NodeFits) -> Gate | None:
    dropped = queue_limits.overused(view, action)
    if dropped is not None:
        return Gate(action, _before(room, action), dropped)
    if not view.left_over:
        return None
    return Gate(action, _before(room, action), entitlement.not_starving(view, action, task))


def _visited(view: JobView, visit: Visit, task: TaskInfo, room: NodeFits) -> Gate | None:
    tries = [attempt for attempt in visit.tries if attempt.task not in visit.planned]
    tried = [_stage(view, attempt, node) for attempt in tries for node in attempt.nodes]
    furthest = max((one.stage for one in tried), default=None)
    at = [one for one in tried if one.stage == furthest and furthest is not None]
    if furthest is None or furthest is Stage.TOO_SMALL:
        return _no_nodes(view, visit, task, room)
    attempt = at[0].attempt
    mine = [one.node for one in at if one.attempt is attempt]
    if furthest is Stage.AFTER:
        return Gate(visit.action, Chance.REAL, _after(view, attempt, mine, room))
    if furthest is Stage.VETO:
        return Gate(visit.action, Chance.REAL, veto.veto(view, attempt, mine))
    nodes = [one.node for one in tried if one.attempt is attempt]
    found = filtering.filtered(view, attempt, nodes, room)
    return Gate(visit.action, Chance.REAL if found.in_domain else Chance.WEAK, found.finding)


def _no_nodes(view: JobView, visit: Visit, task: TaskInfo, room: NodeFits) -> Gate | None:
    """The action tried tasks, and no node of any of them."""
    missed = [attempt for attempt in visit.tries if attempt.task not in visit.planned] or list(visit.tries)
    attempt = next((one for one in missed if one.task == task.key), missed[0])
    tried = view.tasks[attempt.task]
    if tried.pod.preemption_policy == NEVER:
        return Gate(visit.action, _before(room, visit.action), entitlement.never(view, visit, tried))
    refused = [(seq, event) for seq, event in attempt.hooks("Preemptive") if not event.result]
    if refused:
        finding = queue_limits.not_preemptive(view, tried, *refused[-1])
        return Gate(visit.action, _before(room, visit.action), finding)
    left_out = entitlement.not_eligible(view, missed)
    return Gate(visit.action, Chance.REAL, left_out) if left_out is not None else None


def _stage(view: JobView, attempt: TaskTry, node: NodeTry) -> Tried:
    if node.placed:
        return Tried(Stage.PLACED, attempt, node)
    if node.hooks(*AFTER):
        return Tried(Stage.AFTER, attempt, node)
    offered = node.candidates
    if offered and holds_without(view.recording, node.first, attempt.task, node.node, offered):
        return Tried(Stage.VETO, attempt, node)
    whole = view.tasks[attempt.task].init_resreq.less_equal(view.session.nodes[node.node].allocatable)
    return Tried(Stage.FILTER if whole else Stage.TOO_SMALL, attempt, node)


def _after(view: JobView, attempt: TaskTry, nodes: list[NodeTry], room: NodeFits) -> Finding:
    """Victims were found (or not needed), and then the queue or a predicate objected."""
    task = view.tasks[attempt.task]
    for node in nodes:
        asked = node.hooks("Allocatable", "SimulateAllocatable")
        last = node.events[-1][0]
        objections = [(s, e) for s, e in node.hooks("Predicate", "SimulatePredicate") if e.result is not None]
        refused = asked and not asked[-1][1].result and (not objections or objections[-1][0] < asked[-1][0])
        if refused and last >= asked[-1][0]:
            after = f"{attempt.action} would make room for {task.name} on {node.node}{_cost(node)}, but "
            return queue_limits.not_allocatable(view, task, _at(view, task, room), *asked[-1], after=after)
        if objections:
            return _predicate_after(view, attempt, node, *objections[-1])
    return _predicate_after(view, attempt, nodes[0], *nodes[0].hooks(*AFTER)[-1])


def _cost(node: NodeTry) -> str:
    """Whom the plan evicts there."""
    gone = [e.task for _, e in node.events if isinstance(e, OpEvent) and e.op == "evict"]
    return f" by evicting {listed(dict.fromkeys(gone))}" if gone else ""


def _at(view: JobView, task: TaskInfo, room: NodeFits) -> NodeFits:
    return room if room.task is task else NodeFits(view, task, room.seq)


def _predicate_after(view: JobView, attempt: TaskTry, node: NodeTry, seq: Seq, event: HookEvent) -> Finding:
    """The victims would make room, but a predicate still objects."""
    task = view.tasks[attempt.task]
    reason = _objection(event)
    votes = node.votes
    gone = "with its victims gone " if any(e.result for _, e in votes) else ""
    sentence = (
        f"{attempt.action} would find room for {task.name} on {node.node}, but {gone}{event.plugin} still objects: "
        f"{reason}."
    )
    numbers = {"nodes.tried": count(len(attempt.nodes), "nodes")}
    evidence = (
        *search_evidence(view, task),
        *(Evidence(s, f"{e.plugin} offers {plural(len(e.result), 'victim')} on {node.node}") for s, e in votes[-1:]),
        Evidence(seq, f"{event.plugin} refuses {node.node} after the evictions"),
    )
    return Finding(
        MIXED, sentence, numbers, evidence, (owner("see the predicate's reason: evictions alone do not help"),)
    )


def _objection(event: HookEvent) -> str:
    if isinstance(event.result, list):
        return ", ".join(str(Status(**status).reason) for status in event.result)
    return str(event.result.get("error")) if isinstance(event.result, dict) else "not enough room"
