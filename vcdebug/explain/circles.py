"""Task orders that go round: a before b before c before a. What a heap gives first then depends on how it was filled.

Upstream: controllers/job/helpers.CompareTask goes by the indexes of two pods that both have one, else by their ages.
"""

from __future__ import annotations

from collections.abc import Iterable

from vcdebug.explain.orders import order_of, sibling_pops
from vcdebug.framework.record import PopEvent
from vcdebug.model.names import Seq, TaskKey
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import task_of

MAX_COMPARED_TASKS = 200
"""Tasks of one queue that are compared with each other."""


def find_order_circle(recording: Recording, tasks: Iterable[TaskKey]) -> tuple[TaskKey, ...]:
    """The shortest way round through the first of these tasks and another one; the first is named again at its end.

    Empty unless all of them wait in one queue, and each goes both before and after the first, by however many others.
    """
    wanted = list(dict.fromkeys(tasks))
    seq = _first_pop_of(recording, wanted)
    if seq is None or len(wanted) < 2 or len({_queue_key(recording, task) for task in wanted}) > 1:
        return ()
    others = [
        event.name for one in sibling_pops(recording, seq) if isinstance(event := recording.event_at(one), PopEvent)
    ]
    queue = list(dict.fromkeys([*wanted, *others]))
    if len(queue) > MAX_COMPARED_TASKS:
        return ()
    later = _shortest_ways(recording, seq, queue, later=True)
    earlier = _shortest_ways(recording, seq, queue, later=False)
    if any(task not in later or task not in earlier for task in wanted):
        return ()
    return min(((*later[task], *earlier[task][-2::-1]) for task in wanted[1:]), key=len)


def _first_pop_of(recording: Recording, tasks: list[TaskKey]) -> Seq | None:
    """Where the first of these tasks left its queue."""
    for seq in recording.index.seqs_of_type(PopEvent):
        event = recording.event_at(seq)
        if isinstance(event, PopEvent) and event.kind == "task" and event.name in tasks:
            return seq
    return None


def _queue_key(recording: Recording, key: TaskKey) -> tuple[str, str, bool, str]:
    """What tasks of one queue have in common: best-effort ones are left to backfill, victims are of one node."""
    task = task_of(recording, key)
    job = recording.session.jobs.get(task.job)
    sub_job = job.task_to_sub_job.get(task.uid, "") if job is not None else ""
    return task.job, sub_job, task.best_effort, task.pod.stated_node


def _shortest_ways(
    recording: Recording, seq: Seq, queue: list[TaskKey], *, later: bool
) -> dict[TaskKey, tuple[TaskKey, ...]]:
    """The shortest way from the first task to each that comes later, or earlier, step by step."""
    ways: dict[TaskKey, tuple[TaskKey, ...]] = {queue[0]: (queue[0],)}
    left = dict.fromkeys(queue[1:])
    reached = [queue[0]]
    for task in reached:
        for other in list(left):
            if _goes_before(recording, seq, *((task, other) if later else (other, task))):
                ways[other] = (*ways[task], other)
                reached.append(other)
                del left[other]
    return ways


def _goes_before(recording: Recording, seq: Seq, left: TaskKey, right: TaskKey) -> bool:
    order = order_of(recording, seq, "task", left, right)
    return order.order_sign < 0 and order.is_certain
