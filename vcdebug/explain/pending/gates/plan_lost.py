"""Pods were evicted for a job by a committed statement, and a later step undid its placements."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.amount_text import count_noun, join_names
from vcdebug.explain.answer import Finding, cluster_admin_advice, count, proof_of
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.gates.eviction import Gate
from vcdebug.explain.plugins.gang import operation_lines
from vcdebug.framework.record import PLACING_OPS, Level, OpEvent, StatementEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.model.task import TaskInfo
from vcdebug.recording.visits import JobVisit

PLAN_LOST = "plan-lost"
UNDOING_OPS = ("unallocate", "unpipeline")
MAX_VICTIMS = 6


def plan_lost(
    view: JobView, task: TaskInfo, room: NodeFits, met: Sequence[Gate], said: list[Finding]
) -> list[Finding] | None:
    """None unless pods were evicted for tasks that are Pending again when the cycle ends."""
    waiting = [task.key for task in view.left_over]
    # The last committed plan explains the final state; earlier ones were replaced by it.
    for visit in reversed(view.job_visits):
        commits = [(s, e) for s, e in visit.events if isinstance(e, StatementEvent) and e.what == "commit"]
        for seq, statement in commits:
            victims = [task for kind, task, _ in statement.ops if kind == "evict"]
            lost = [task for kind, task, _ in statement.ops if kind in PLACING_OPS and task in waiting]
            if victims and lost:
                return [_build_finding(view, visit, seq, statement, victims, lost)]
    return None


def _build_finding(
    view: JobView,
    visit: JobVisit,
    seq: Seq,
    statement: StatementEvent,
    victims: Sequence[TaskKey],
    lost: Sequence[TaskKey],
) -> Finding:
    nodes = dict.fromkeys(node for kind, task, node in statement.ops if kind in PLACING_OPS and task in lost)
    undone = _find_undoing(view, seq, lost)
    by, cost = f"{undone[1] if undone is not None else 'something'} took", count_noun(len(victims), "eviction")
    sentence = (
        f"{visit.action} committed {cost} for {view.job.uid} ({join_names(victims, MAX_VICTIMS)}) and pipelined "
        f"{count_noun(len(lost), 'pod')} on {join_names(nodes)}, but then {by} the places back in the same cycle: the "
        f"pods wait again, and the {cost} bought nothing."
    )
    numbers = {
        "pods.evicted": count(len(victims), "pods"),
        "pods.lost": count(len(lost), "pods"),
        "job.minAvailable": count(view.job.min_available, "pods"),
    }
    evidence = proof_of(seq, f"{visit.action} commits {cost}")
    advice = cluster_admin_advice("see the event that takes the place back")
    if undone is not None:
        at, action = undone
        evidence += proof_of(at, f"{action} takes the place of {lost[0]} back")
        if view.actions.index(action) > view.actions.index(visit.action):
            advice = cluster_admin_advice(
                f"put {action} before {visit.action} in actions: then nobody takes the plan back"
            )
    return Finding(PLAN_LOST, sentence, numbers, evidence, (advice,), operation_lines(statement))


def _find_undoing(view: JobView, after: Seq, lost: Sequence[TaskKey]) -> tuple[Seq, str] | None:
    """(event, action) that undid the first placement; None if no event did."""
    for seq in view.recording.index.seqs_of_type(OpEvent):
        event = view.recording.event_at(seq)
        if seq > after and isinstance(event, OpEvent) and event.op in UNDOING_OPS and event.task in lost:
            action = view.recording.span_tree.span_around(seq, Level.ACTION)
            return seq, action.name if action is not None else ""
    return None
