"""What the job got in this cycle."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vcdebug.explain import amounts
from vcdebug.explain.amounts import count, listed, plural
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.case import Case
from vcdebug.explain.gates.departure import departure
from vcdebug.explain.gates.unseen import opened
from vcdebug.framework.record import OpEvent, StatementEvent
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo

PLACES = "places"
PIPELINED = "pipelined"


def placed(case: Case) -> Finding | None:
    """None unless the job (or the pod that was asked about) has its place."""
    if case.pod is not None and case.pod in case.tasks:
        task = case.tasks[case.pod]
        if task.status is TaskStatus.PENDING:
            return None
        if task not in case.placed:
            return _was_there(case, [task])
    elif any(pod.key == case.pod for pod in case.hidden_pods):
        return None
    if not case.pending_at_open:
        return _was_there(case, list(case.tasks.values())) if case.tasks else None
    firm = [task for task in case.placed if task.status is not TaskStatus.ALLOCATED]
    if not firm or not (case.job.is_pipelined() or any(t.status is TaskStatus.BINDING for t in firm)):
        return None
    return _got(case, firm)


def _was_there(case: Case, tasks: Sequence[TaskInfo]) -> Finding:
    states = dict.fromkeys(task.status.label for task in tasks)
    sentence = f"Nothing of {case.job.uid} waits: {plural(len(tasks), 'pod')} {' or '.join(states)} before this cycle."
    evidence = opened(case.recording, "the session opens with the job's pods in this state")
    return Finding(PLACES, sentence, {"pods": count(len(tasks), "pods")}, evidence)


def _got(case: Case, firm: Sequence[TaskInfo]) -> Finding:
    evicted = list(evicted_for(case))
    bound = [task for task in firm if task.status is TaskStatus.BINDING]
    waiting = [task for task in firm if task.status is TaskStatus.PIPELINED]
    enough = case.job.ready_task_num() >= case.job.min_available
    cause = PIPELINED if waiting and not evicted and not (bound and enough) else PLACES
    numbers = {
        "pods.bound": count(len(bound), "pods"),
        "pods.pipelined": count(len(waiting), "pods"),
        "pods.left": count(len(case.left_over), "pods"),
        "pods.evicted": count(len(evicted), "pods"),
        "job.minAvailable": count(case.job.min_available, "pods"),
    }
    text = _sentence(case, cause, bound, waiting, [task for _, task, _ in evicted])
    lines = tuple(_line(case, task) for task in firm)
    return Finding(cause, text, numbers, tuple(sorted(_evidence(case, firm, evicted))), (), lines)


def _sentence(
    case: Case, cause: str, bound: Sequence[TaskInfo], waiting: Sequence[TaskInfo], evicted: Sequence[TaskKey]
) -> str:
    parts = []
    if bound:
        parts.append(f"{_who(bound)} bound to {_where(bound)}")
    if waiting:
        parts.append(f"{_who(waiting)} pipelined on {_where(waiting)}")
    got = " and ".join(parts)
    stay = "stays" if len(case.left_over) == 1 else "stay"
    rest = f"; {plural(len(case.left_over), 'pod')} beyond minMember {case.job.min_available} {stay} Pending"
    tail = rest if case.left_over else ""
    if cause == PIPELINED:
        leaving = listed(f"{task.key} {departure(case, task)}" for task in _leaving(case, waiting))
        if all(task.uid in case.session.restored for task in waiting):
            room = f", where room is being released ({leaving})" if leaving else ", whose room is not idle yet"
            return f"{case.job.uid} keeps the place that an earlier cycle promised: {got}{room}{tail}."
        if not leaving:
            return f"{case.job.uid} is planned, but not bound: {got}, without evicting anyone{tail}."
        return (
            f"{case.job.uid} waits for room that is being released ({leaving}): {got}, without evicting anyone{tail}."
        )
    cost = f", at the cost of {listed(evicted)}" if evicted else ""
    return f"{case.job.uid} gets what it needs in this cycle: {got}{cost}{tail}."


def _who(tasks: Sequence[TaskInfo]) -> str:
    return tasks[0].name if len(tasks) == 1 else plural(len(tasks), "pod")


def _where(tasks: Sequence[TaskInfo]) -> str:
    return listed(dict.fromkeys(task.node_name for task in tasks))


def _line(case: Case, task: TaskInfo) -> str:
    """`a/train-0 -> n1`, and for a task that waits there, for whom."""
    leaving = [f"{one.key} ({departure(case, one)})" for one in _leaving(case, [task])]
    behind = f" behind {listed(leaving)}" if leaving and task.status is TaskStatus.PIPELINED else ""
    return f"{task.key} -> {task.node_name}{behind}"


def _leaving(case: Case, waiting: Sequence[TaskInfo]) -> Iterator[TaskInfo]:
    for name in dict.fromkeys(task.node_name for task in waiting):
        node = case.session.nodes[name]
        yield from (task for task in node.tasks_in_order() if task.status is TaskStatus.RELEASING)


def evicted_for(case: Case) -> Iterator[tuple[Seq, TaskKey, NodeName]]:
    """Evictions of committed statements in the job's visits."""
    for visit in case.visits:
        for seq, event in visit.events:
            if isinstance(event, StatementEvent) and event.what == "commit":
                yield from ((seq, task, node) for kind, task, node in event.ops if kind == "evict")


def _evidence(
    case: Case, firm: Sequence[TaskInfo], evicted: Sequence[tuple[Seq, TaskKey, NodeName]]
) -> Iterator[Evidence]:
    keys = [task.key for task in firm]
    for visit in case.visits:
        for seq, event in visit.events:
            if isinstance(event, OpEvent) and event.op in ("allocate", "pipeline", "bind") and event.task in keys:
                yield Evidence(seq, f"{event.op} {event.task} on {event.node}")
            elif isinstance(event, StatementEvent) and event.what == "commit" and event.ops:
                yield Evidence(seq, f"{visit.action} commits {plural(len(event.ops), 'operation')}")
    waiting = [task for task in firm if task.status is TaskStatus.PIPELINED]
    kept = [task for task in waiting if task.uid in case.session.restored]
    start = case.action_starts("allocate")
    if start is not None:
        for task in kept:
            asks = amounts.resource(task.init_resreq)
            yield Evidence(start, f"{task.key} keeps its place on {task.node_name}, where {asks} are not idle yet")
        if not evicted and len(kept) < len(waiting):
            yield Evidence(start, "the room was being released before allocate began")
