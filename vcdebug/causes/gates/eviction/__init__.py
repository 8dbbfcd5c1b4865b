"""preempt and reclaim: how far the job got with an action that evicts, and who stopped it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import IntEnum

from vcdebug.amount_text import listed, plural
from vcdebug.causes.gates import gang, queue_limits
from vcdebug.causes.gates.eviction import at_once, entitlement, filtering, veto
from vcdebug.causes.no_node import search_evidence
from vcdebug.explain.amounts import count
from vcdebug.explain.answer import Evidence, Finding, owner, sharers
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.framework.hooks import ALLOCATABLE, PREDICATE, PREEMPTIVE, SIMULATE_ALLOCATABLE, SIMULATE_PREDICATE
from vcdebug.framework.record import HookEvent, OpEvent
from vcdebug.model.fiterror import Status
from vcdebug.model.names import Seq
from vcdebug.model.task import TaskInfo
from vcdebug.trace.state_before import holds_without
from vcdebug.trace.visits import AFTER, NodeTry, TaskTry, Visit, says_no

NEVER = "Never"
MIXED = "predicates-mixed"
BACK = "unpipeline"
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


def gates_of_tasks(view: JobView, task: TaskInfo, room: NodeFits) -> Iterator[Gate]:
    """The actions that evict task by task."""
    for action in dict.fromkeys(view.actions):
        if view.facts_of(action).evicts_by_pod:
            yield from evicting(view, action, task, room)


def evicting(view: JobView, action: str, task: TaskInfo, room: NodeFits) -> list[Gate]:
    """The gates at which the action left the job, the deciding one first; empty if the action never ran."""
    if view.action_starts(action) is None:
        return []
    visits = [visit for visit in view.visits_of(action) if visit.tries and (visit.end is not None or visit.at_once)]
    if not visits:
        return _not_entitled(view, action, task, room)
    failed = [visit for visit in visits if visit.at_once and not visit.planned]
    stuck = _visited(view, failed[-1] if failed else visits[-1], task, room)
    blame = "" if stuck is None else BLAMES.get(stuck.finding.cause, f"{stuck.finding.cause} leaves nobody to evict")
    discard = gang.discarded(view, action, blame)
    if discard is None:
        return [] if stuck is None else [stuck]
    if stuck is None:
        return [Gate(action, Chance.REAL, discard)]
    proof = tuple(sorted(dict.fromkeys((*discard.evidence, *stuck.finding.evidence[:VETOES_SHOWN]))))
    decided = Gate(action, Chance.REAL, replace(discard, evidence=proof))
    return [decided, replace(stuck, chance=Chance.WEAK)]


def _before(room: NodeFits, action: str) -> Chance:
    """The chance behind a gate that comes before any node is looked at."""
    if room.could_free(action):
        return Chance.REAL
    return Chance.WEAK if room.waiting else Chance.NONE


def _not_entitled(view: JobView, action: str, task: TaskInfo, room: NodeFits) -> list[Gate]:
    found = queue_limits.overused(view, action)
    if found is None and view.left_over:
        found = at_once.turns_ended(view, action, task) or entitlement.not_starving(view, action, task)
    return [] if found is None else [Gate(action, _before(room, action), found)]


def _visited(view: JobView, visit: Visit, task: TaskInfo, room: NodeFits) -> Gate | None:
    tries = [attempt for attempt in visit.tries if attempt.task not in visit.planned]
    staged = [(attempt, [(_stage(view, attempt, node), node) for node in attempt.nodes]) for attempt in tries]
    furthest = max((stage for _, nodes in staged for stage, _ in nodes), default=Stage.TOO_SMALL)
    if furthest is Stage.TOO_SMALL:
        return _no_nodes(view, visit, task, room)
    attempt, nodes = next((attempt, nodes) for attempt, nodes in staged if furthest in dict(nodes))
    there = [node for stage, node in nodes if stage is furthest]
    if furthest is Stage.AFTER:
        return Gate(visit.action, Chance.REAL, _after(view, attempt, there, room))
    if furthest is Stage.VETO:
        vetoed = veto.find_veto(view, attempt, there)
        return None if vetoed is None else Gate(visit.action, Chance.REAL, vetoed)
    finding, in_domain = filtering.filtered(view, attempt, [node for _, node in nodes], room)
    return Gate(visit.action, Chance.REAL if in_domain else Chance.WEAK, finding)


def _no_nodes(view: JobView, visit: Visit, task: TaskInfo, room: NodeFits) -> Gate | None:
    """The action tried tasks, and no node of any of them."""
    missed = [attempt for attempt in visit.tries if attempt.task not in visit.planned] or list(visit.tries)
    attempt = next((one for one in missed if one.task == task.key), missed[0])
    tried = view.tasks[attempt.task]
    if tried.pod.preemption_policy == NEVER:
        return Gate(visit.action, _before(room, visit.action), entitlement.never(view, visit, tried))
    refused = [(seq, event) for seq, event in attempt.hooks(PREEMPTIVE.upstream) if not event.result]
    if refused:
        finding = queue_limits.not_preemptive(view, tried, *refused[-1])
        return Gate(visit.action, _before(room, visit.action), finding)
    left_out = entitlement.not_eligible(view, missed)
    return Gate(visit.action, Chance.REAL, left_out) if left_out is not None else None


def _stage(view: JobView, attempt: TaskTry, node: NodeTry) -> Stage:
    """How far one task came on one node."""
    if node.placed:
        return Stage.PLACED
    if node.hooks(*AFTER) or (node.evicted and at_once.evicts_at_once(view, attempt.action)):
        return Stage.AFTER
    offered = node.candidates
    if offered and holds_without(view.recording, node.first, attempt.task, node.node, offered):
        return Stage.VETO
    whole = view.tasks[attempt.task].init_resreq.less_equal(view.session.nodes[node.node].allocatable)
    return Stage.FILTER if whole else Stage.TOO_SMALL


def _after(view: JobView, attempt: TaskTry, nodes: list[NodeTry], room: NodeFits) -> Finding:
    """Victims were found (or not needed), and then the queue or a predicate objected."""
    if at_once.evicts_at_once(view, attempt.action):
        return at_once.freed_too_little(view, attempt, nodes[-1])
    task = view.tasks[attempt.task]
    fits = room if room.task is task else NodeFits(view, task, room.seq)
    for node in nodes:
        asked = node.hooks(ALLOCATABLE.upstream, SIMULATE_ALLOCATABLE.upstream)
        last = node.events[-1][0]
        objections = [(s, e) for s, e in node.hooks(PREDICATE.upstream, SIMULATE_PREDICATE.upstream) if says_no(e)]
        refused = asked and says_no(asked[-1][1]) and (not objections or objections[-1][0] < asked[-1][0])
        if refused and last >= asked[-1][0]:
            after = f"{attempt.action} would make room for {task.name} on {node.node}{_cost(node)}, but "
            return queue_limits.not_allocatable(view, task, fits, *asked[-1], after=after)
        if objections:
            return _predicate_after(view, attempt, node, *objections[-1])
        taken_back = [s for s, e in node.events if isinstance(e, OpEvent) and (e.op, e.task) == (BACK, task.key)]
        if taken_back:
            return _refused_promise(view, attempt, node, taken_back[-1])
    return _not_kept(view, attempt, nodes[0])


def _not_kept(view: JobView, attempt: TaskTry, node: NodeTry) -> Finding:
    """Nobody objected, and all the same no place was kept: a dry run whose victims may all stay proposes nothing."""
    task = view.tasks[attempt.task]
    sentence = f"{attempt.action} keeps no place for {task.name} on {node.node}, although nobody objects to it there."
    seq, event = node.hooks(*AFTER)[-1]
    evidence = (*search_evidence(view, task), Evidence(seq, f"{event.plugin} does not object to {node.node}"))
    advice = (owner(f"see what {attempt.action} does after the last event of the proof"),)
    return Finding(MIXED, sentence, {"nodes.tried": count(len(attempt.nodes), "nodes")}, evidence, advice)


def _refused_promise(view: JobView, attempt: TaskTry, node: NodeTry, seq: Seq) -> Finding:
    """Nobody objected to the node, but a handler refused the task there."""
    task = view.tasks[attempt.task]
    why = " ".join(note.text for note in view.recording.notes_at(seq))
    sentence = (
        f"{attempt.action} would make room for {task.name} on {node.node}{_cost(node)}, but its place there is refused "
        f"and taken back: {why or 'a plugin objects to the promise'}."
    )
    evidence = (*search_evidence(view, task), Evidence(seq, f"the promise of {node.node} is taken back"))
    advice = (sharers(f"make room on {node.node} by other means: what is idle is allocated, not promised"),)
    return Finding(MIXED, sentence, {"nodes.tried": count(len(attempt.nodes), "nodes")}, evidence, advice)


def _cost(node: NodeTry) -> str:
    """Whom the plan evicts there."""
    return f" by evicting {listed(node.evicted)}" if node.evicted else ""


def _predicate_after(view: JobView, attempt: TaskTry, node: NodeTry, seq: Seq, event: HookEvent) -> Finding:
    """The victims would make room, but a predicate still objects."""
    task = view.tasks[attempt.task]
    votes = node.votes
    gone = "with its victims gone " if any(e.result for _, e in votes) else ""
    sentence = (
        f"{attempt.action} would find room for {task.name} on {node.node}, but {gone}{event.plugin} still objects: "
        f"{_objection(event)}."
    )
    numbers = {"nodes.tried": count(len(attempt.nodes), "nodes")}
    evidence = (
        *search_evidence(view, task),
        *(
            Evidence(s, f"{e.plugin} offers {plural(len(e.result), 'victim')} on {node.node}")
            for s, e in node.votes[-1:]
        ),
        Evidence(seq, f"{event.plugin} refuses {node.node} after the evictions"),
    )
    advice = (owner("see the predicate's reason: evictions alone do not help"),)
    return Finding(MIXED, sentence, numbers, evidence, advice)


def _objection(event: HookEvent) -> str:
    if isinstance(event.result, list):
        return ", ".join(str(Status(**status).reason) for status in event.result)
    return str(event.result.get("error")) if isinstance(event.result, dict) else str(event.result)
