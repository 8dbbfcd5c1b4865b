"""The arithmetic of nodes: room for a task before and after evictions, and what an operation changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from vcdebug.explain.comparisons import LESS_EQUAL, NOT_STATED, within_tolerance
from vcdebug.explain.equation import Equation, Term, all_hold, first_failing
from vcdebug.explain.limits import dimensions
from vcdebug.framework.record import NodeAmounts, OpEvent, PredicateEvent
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.model.resource import Resource, at_most
from vcdebug.model.status import TaskStatus
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import before, task_of

Change = Mapping[str, int]
"""Amount of a node → -1, 0 or 1 times the task's request."""
CHANGES: Final[Mapping[str, Change]] = {
    "evict": {"releasing": 1},
    "unevict": {"releasing": -1},
    "pipeline": {"pipelined": 1},
    "unpipeline": {"pipelined": -1},
    "allocate": {"idle": -1, "used": 1},
    "unallocate": {"idle": 1, "used": -1},
    "bind": {},
}
UNDONE: Final = {"unpipeline": TaskStatus.PIPELINED, "unallocate": TaskStatus.ALLOCATED}
FUTURE = "future idle = idle + releasing − pipelined ≥ request"
FUTURE_COLUMNS = ("idle", "releasing", "pipelined", "future idle", "request", "short")


def room_on(recording: Recording, seq: Seq, task: TaskKey, node: NodeName, victims: Iterable[TaskKey] = ()) -> Equation:
    """Does the node's future idle, with some victims gone, hold the task before an event?"""
    state = before(recording, seq)
    amounts, future = state.nodes[node], state.nodes[node].future_idle()
    freed = Resource()
    for victim in victims:
        freed.add(task_of(recording, victim).resreq)
    future.add(freed)
    request = task_of(recording, task).init_resreq
    terms = tuple(_room(name, amounts, freed, future, request) for name in dimensions(request, future))
    verdict = all_hold(terms)
    if not freed.resource_names():
        terms = tuple(_without_victims(term) for term in terms)
        title, deciding = f"room for {task} on {node}", first_failing(terms)
        return Equation(title, FUTURE, FUTURE_COLUMNS, "dimension", terms, verdict, deciding, "", LESS_EQUAL)
    columns = ("idle", "releasing", "pipelined", "victims", "future idle", "request", "short")
    formula = "future idle = idle + releasing − pipelined + victims ≥ request"
    title = f"room for {task} on {node} without the victims"
    return Equation(title, formula, columns, "dimension", terms, verdict, first_failing(terms), "", LESS_EQUAL)


def _room(name: str, amounts: NodeAmounts, freed: Resource, future: Resource, request: Resource) -> Term:
    want, have = request.get(name), future.get(name)
    parts = tuple(part.get(name) for part in (amounts.idle, amounts.releasing, amounts.pipelined, freed))
    if not request.has(name):
        return Term(name, (*parts, have, 0.0, 0.0), None, "not asked for")
    holds = at_most(want, have)
    note = "" if future.has(name) else NOT_STATED
    if holds and want > have:
        note = within_tolerance(want - have)
    return Term(name, (*parts, have, want, 0.0 if holds else want - have), holds, note)


def _without_victims(term: Term) -> Term:
    figures = term.figures
    return Term(term.name, (*figures[:3], *figures[4:]), term.holds, term.note)


def search(recording: Recording, seq: Seq, event: PredicateEvent, node: NodeName | None = None) -> Equation:
    """A pass of predicates over nodes: room on one node, or per dimension how many nodes have room."""
    if node is not None:
        return room_on(recording, seq, event.task, node)
    state, request = before(recording, seq), task_of(recording, event.task).init_resreq
    visited = sorted([*event.feasible.tolist(), *event.failed.tolist()])
    names = [recording.node_names[row] for row in visited]
    futures = [state.nodes[name].future_idle() for name in names]
    with_room = tuple(name for name, future in zip(names, futures, strict=True) if request.less_equal(future))
    terms = tuple(_spread(name, amount, names, futures) for name, amount in request.items())
    scarce = min(terms, key=lambda term: int(str(term.figures[3])))
    title = f"room for {event.task} on {len(names)} nodes"
    formula = "request ≤ future idle = idle + releasing − pipelined, per node"
    columns = ("request", "most on a node", "node", "nodes with room")
    deciding = scarce.name if not scarce.holds else None
    note = f"{len(with_room)} of {len(names)} nodes have room in every dimension, {len(event.feasible)} are feasible"
    return Equation(title, formula, columns, "dimension", terms, with_room, deciding, note, LESS_EQUAL)


def _spread(name: str, amount: float, names: list[NodeName], futures: list[Resource]) -> Term:
    """One dimension over all nodes."""
    holding = [node for node, future in zip(names, futures, strict=True) if at_most(amount, future.get(name))]
    best = max(range(len(names)), key=lambda row: futures[row].get(name), default=None)
    most, where = (None, None) if best is None else (futures[best].get(name), names[best])
    return Term(name, (amount, most, where, len(holding)), bool(holding))


def operation(recording: Recording, seq: Seq, event: OpEvent) -> Equation | None:
    """What an operation changes on its node."""
    if event.after is None:
        return None
    state, request = before(recording, seq), task_of(recording, event.task).resreq
    change = {**CHANGES[event.op], **_promise(recording, seq, event)}
    rolled_back = event.op in UNDONE and state.tasks[event.task].status is not UNDONE[event.op]
    if rolled_back:
        change = {}
    terms = tuple(_changes(state.nodes[event.node], event.after, change, request))
    signs = {1: "+ request", -1: "− request"}
    formula = ", ".join(f"{field} {signs[sign]}" for field, sign in change.items()) or "nothing changes on the node"
    note = "a plugin's handler refused the placement, which was never in force" if rolled_back else ""
    title = f"{event.op} {event.task} on {event.node}"
    columns = ("before", "change", "after")
    return Equation(title, formula, columns, "dimension", terms, all_hold(terms), None, note)


def _promise(recording: Recording, seq: Seq, event: OpEvent) -> Change:
    """An allocation of a task that an earlier cycle pipelined there keeps the promise; its undoing makes it again."""
    was, now = (recording.timeline.state_at(at).tasks[event.task] for at in (seq - 1, seq))
    if event.op == "allocate" and (was.status, was.node) == (TaskStatus.PIPELINED, event.node):
        return {"pipelined": -1}
    if event.op == "unallocate" and now.status is TaskStatus.PIPELINED:
        return {"pipelined": 1}
    return {}


def _changes(before_it: NodeAmounts, after: NodeAmounts, change: Change, request: Resource) -> Iterable[Term]:
    """Lines of the amounts that the operation touches, and of any other that moved."""
    for field in NodeAmounts._fields:
        old, new = getattr(before_it, field), getattr(after, field)
        for name in dimensions(old, new, request):
            step = change.get(field, 0) * request.get(name)
            was, now = old.get(name), new.get(name)
            if step or was != now:
                yield Term(f"{field} {name}", (was, step, now), was + step == now)
