"""Pods were evicted for a job, the statement was committed, and afterwards its places were taken back."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.explain.advice import cluster
from vcdebug.explain.amounts import count, listed, plural
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.gates.eviction import Gate
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.framework.record import Level, OpEvent, StatementEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.task import TaskInfo
from vcdebug.trace.visits import PLACING, Visit

PLAN_LOST = "plan-lost"
TAKEN_BACK = ("unallocate", "unpipeline")
MOST_VICTIMS = 6


def plan_lost(
    view: JobView, task: TaskInfo, room: NodeFits, met: Sequence[Gate], said: list[Finding]
) -> list[Finding] | None:
    """None unless victims left for pods that wait again when the cycle ends."""
    waiting = [task.key for task in view.left_over]
    for visit in reversed(view.visits):
        for seq, statement in _commits(visit):
            victims = [task for kind, task, _ in statement.ops if kind == "evict"]
            lost = [task for kind, task, _ in statement.ops if kind in PLACING and task in waiting]
            if victims and lost:
                return [_finding(view, visit, seq, statement, victims, lost)]
    return None


def _commits(visit: Visit) -> list[tuple[Seq, StatementEvent]]:
    return [(s, e) for s, e in visit.events if isinstance(e, StatementEvent) and e.what == "commit"]


def _finding(
    view: JobView,
    visit: Visit,
    seq: Seq,
    statement: StatementEvent,
    victims: Sequence[TaskKey],
    lost: Sequence[TaskKey],
) -> Finding:
    nodes = dict.fromkeys(node for kind, task, node in statement.ops if kind in PLACING and task in lost)
    undone = _undone(view, seq, lost)
    by = f"{undone[1]} took" if undone is not None else "something took"
    sentence = (
        f"{visit.action} committed {plural(len(victims), 'eviction')} for {view.job.uid} "
        f"({listed(victims, MOST_VICTIMS)}) and pipelined {plural(len(lost), 'pod')} on {listed(nodes)}, but then {by} "
        f"the places back in the same cycle: the pods wait again, and the {plural(len(victims), 'eviction')} bought "
        "nothing."
    )
    numbers = {
        "pods.evicted": count(len(victims), "pods"),
        "pods.lost": count(len(lost), "pods"),
        "job.minAvailable": count(view.job.min_available, "pods"),
    }
    evidence = [Evidence(seq, f"{visit.action} commits {plural(len(victims), 'eviction')}")]
    if undone is not None:
        evidence.append(Evidence(undone[0], f"{undone[1]} takes the place of {lost[0]} back"))
    order = list(view.actions)
    later = undone is not None and order.index(undone[1]) > order.index(visit.action)
    advice = (
        cluster(f"put {undone[1]} before {visit.action} in actions: then nobody takes the plan back")
        if later and undone
        else cluster("see the event that takes the place back"),
    )
    lines = tuple(f"{kind} {task} @ {node}" for kind, task, node in statement.ops)
    return Finding(PLAN_LOST, sentence, numbers, tuple(evidence), advice, lines)


def _undone(view: JobView, after: Seq, lost: Sequence[TaskKey]) -> tuple[Seq, str] | None:
    """The event that took the first place back, and its action."""
    for seq in view.recording.index.of_type(OpEvent):
        event = view.recording.event(seq)
        if seq > after and isinstance(event, OpEvent) and event.op in TAKEN_BACK and event.task in lost:
            action = view.recording.tree.around(seq, Level.ACTION)
            return seq, action.name if action is not None else ""
    return None
