"""How many pods of which jobs gang would have to give up, beyond those that it offers, to make room on a node."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.explain.amounts import plural
from vcdebug.explain.job_view import JobView
from vcdebug.explain.visits import NodeTry
from vcdebug.explain.votes import Seat
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import JobId, TaskKey
from vcdebug.model.task import TaskInfo


def gang_advice(view: JobView, task: TaskInfo, seats: Sequence[tuple[NodeTry, Seat]]) -> tuple[str, ...]:
    """What would make gang offer enough on the node where that costs least."""
    costs = [cost for node, seat in seats if (cost := _cost(view, task, node, seat.result)) is not None]
    switch = f"or set enable{_point(seats)} of gang to false, and accept broken gangs"
    if not costs:
        return (switch.removeprefix("or "),)
    cheapest = min(costs, key=lambda cost: sum(cost.values()))  # exact: ints
    return (*(_line(view, seats[0][0], job, gone) for job, gone in cheapest.items()), switch)


def _point(seats: Sequence[tuple[NodeTry, Seat]]) -> str:
    events = [event for _, event in seats[0][0].events if isinstance(event, HookEvent)]
    return "Reclaimable" if any(event.point == "Reclaimable" for event in events) else "Preemptable"


def _cost(view: JobView, task: TaskInfo, node: NodeTry, offered: Sequence[TaskKey]) -> dict[JobId, int] | None:
    """job → pods that have to leave the node, where gang offers too few of them; None if nothing makes room."""
    state = view.recording.timeline.state_at(node.first - 1).nodes[node.node]
    future = state.future_idle()
    votes = node.hooks("Preemptable", "Reclaimable")
    candidates = dict(votes[0][1].subject)["candidates"] if votes else ()
    refused = [key for key in candidates if key not in offered]
    gone: dict[JobId, int] = {}
    for key in (*offered, *refused):
        if task.init_resreq.less_equal(future):
            break
        victim = view.recording.timeline.tasks[key]
        future.add(victim.resreq)
        gone[victim.job] = gone.get(victim.job, 0) + 1
    if not task.init_resreq.less_equal(future):
        return None
    broken = dict.fromkeys(view.recording.timeline.tasks[key].job for key in refused)
    return {job: count for job, count in gone.items() if job in broken}


def _line(view: JobView, node: NodeTry, job: JobId, gone: int) -> str:
    counts = view.recording.timeline.state_at(node.first - 1).job(job)
    left = counts.ready - gone
    if left <= 0:
        return f"no minMember lets gang give up all {plural(counts.ready, 'pod')} of {job}: free room elsewhere"
    return f"lower minMember of {job} from {counts.min_available} to {left}, if it can run with that few"
