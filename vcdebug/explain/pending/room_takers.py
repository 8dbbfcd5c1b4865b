"""Room that was there when the cycle began, and that the cycle itself gave to somebody else."""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.amount_text import join_names
from vcdebug.explain.answer import Evidence
from vcdebug.explain.node_fit import NodeFits, room_by_node
from vcdebug.framework.record import PLACING_OPS, OpEvent, StateEvent
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.task import TaskInfo

MAX_TAKERS = 3


class RoomTaker(NamedTuple):
    """A task that got the room."""

    task: TaskInfo
    node: NodeName
    seq: Seq


def room_takers(room: NodeFits) -> list[RoomTaker]:
    """Tasks of other jobs that this cycle placed where the task would have fitted at the opening."""
    recording, request = room.view.recording, room.task.init_resreq
    opened, _ = next(recording.events_of_type(StateEvent), (0, None))
    if not opened:
        return []
    before, opening = room_by_node(recording, opened), recording.timeline.state_at(opened)
    lost = [n.name for n in room.of_kind("short") if request.less_equal(before[n.name].future)]
    if not lost:
        return []
    operations = ((seq, event) for seq, event in recording.events_of_type(OpEvent) if seq <= room.seq)
    placed = {event.task: seq for seq, event in operations if event.op in PLACING_OPS}
    return [
        RoomTaker(task, node, placed[task.key])
        for node in lost
        for task in room.tasks_on(node)
        if task.key in placed and task.job != room.view.job.uid and opening.tasks[task.key].node != node
    ]


def format_takers(room: NodeFits, found: list[RoomTaker]) -> str:
    """Who got it, and what put them first."""
    jobs = room.view.session.jobs
    who = join_names((f"{t.task.name} of {t.task.job} (queue {jobs[t.task.job].queue})" for t in found), MAX_TAKERS)
    nodes = join_names(dict.fromkeys(taker.node for taker in found))
    return f"{nodes} had room when the cycle began, and this very cycle gave it to {who}{_format_order(room, found[0])}"


def _format_order(room: NodeFits, first: RoomTaker) -> str:
    from vcdebug.explain.orders import order_of

    recording, mine = room.view.recording, room.view.job
    other = recording.session.jobs[first.task.job]
    if other.queue != mine.queue:
        decided = order_of(recording, first.seq, "queue", other.queue, mine.queue)
        if decided.order_sign >= 0:
            return ""
        by = f" by {decided.deciding_step.difference.what}" if decided.deciding_step is not None else ""
        rest = "; priority only orders jobs within a queue" if mine.priority > other.priority else ""
        return f": queues come first, and {other.queue} comes before {mine.queue}{by}{rest}"
    decided = order_of(recording, first.seq, "job", other.uid, mine.uid)
    if decided.order_sign >= 0 or decided.deciding_step is None:
        return ""
    return f", which is tried first by {decided.deciding_step.difference.what}"


def taker_evidence(found: list[RoomTaker]) -> tuple[Evidence, ...]:
    """The placements."""
    return tuple(Evidence(taker.seq, f"{taker.task.key} gets {taker.node}") for taker in found[:MAX_TAKERS])
