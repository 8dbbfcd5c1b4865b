"""task-topology: how much of the task's bucket a node holds or has room for, and whose bucket goes first.

Upstream: plugins/task-topology.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from vcdebug.amount_text import number
from vcdebug.explain.asked import Asked
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.plugin import Difference, PluginWords, Then, smaller_first
from vcdebug.framework.hooks import TASK_ORDER
from vcdebug.framework.record import PLACING_OPS, UNALLOCATE_OP, UNPIPELINE_OP, OpEvent
from vcdebug.model.names import JobId, Seq
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.priority import higher_first
from vcdebug.plugins.task_topology import TaskTopology
from vcdebug.plugins.task_topology.buckets import Bucket, role_of
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording
from vcdebug.trace.state_before import plugin_of

FORMULA = "100 × weight × (tasks there + tasks that wait − tasks that must be left out) / tasks of the largest bucket"

RANKS: Final = ("place of its role in the order", "rank of its role by affinity")
PLACINGS: Final = (*PLACING_OPS, UNALLOCATE_OP, UNPIPELINE_OP)
"""Operations that are recorded once the plugin was told of a node, one that is taken back at once among them."""


def inside(asked: Asked, part: str) -> Equation | None:
    """The bucket beside the node's room."""
    found = asked.plugin(TaskTopology).together(asked.task, asked.nodes)
    if found is None:
        return None
    place = asked.place
    present, left_out, waiting = int(found.present[place]), int(found.left_out[place]), len(found.bucket.tasks)
    terms = (
        Term("of the bucket on the node, less what its role avoids", (present,), None),
        Term("of the bucket without a node", (waiting,), None),
        Term("to be left out until the rest fits", (-left_out,), None),
    )
    score = float(found.scores[place])
    note = f"{present + waiting - left_out} of {found.largest}, weight {found.weight}: {number(score)}"
    if found.small[place]:
        note = "the task itself has no room in idle + releasing"
    title = f"task-topology: bucket {found.bucket.index} on {asked.node.name}"
    return Equation(title, FORMULA, ("tasks",), "check", terms, score, None, note)


def task_order(then: Then, left: TaskInfo, right: TaskInfo) -> Iterator[Difference]:
    """Tasks in buckets first; inside a job by tasks left in the buckets, then by buckets' age or roles' rank."""
    plugin = plugin_of(then.recording, TaskTopology)
    mine, other = plugin.buckets_of(left.job), plugin.buckets_of(right.job)
    if mine is None or other is None:
        return
    bucket, against = mine.bucket(left), other.bucket(right)
    yield _more_first("in a bucket", bucket is not None, against is not None)
    if bucket is None or against is None or left.job != right.job:
        return
    yield _more_first("tasks left in its bucket", *(_left_over(then, left.job, each) for each in (bucket, against)))
    if bucket is not against:
        yield smaller_first("bucket", bucket.index, against.index)
        return
    ranks = zip(RANKS, mine.topology.rank(role_of(left)), mine.topology.rank(role_of(right)), strict=True)
    yield from (_more_first(*each) for each in ranks)


def _more_first(what: str, left: int, right: int) -> Difference:
    return Difference(what, left, right, higher_first(left, right))


def _left_over(then: Then, job: JobId, bucket: Bucket) -> int:
    """How many tasks of the bucket had no node then: each leaves it for good when it first gets one."""
    waiting = _placings(then.recording, job)[bucket.index]
    return len(waiting) - bisect_right(waiting, then.seq)


@per_recording()
def _placings(recording: Recording, job: JobId) -> dict[int, list[Seq]]:
    """Per bucket of a job, for each task without a node at the opening, the event that first gives it one, in order."""
    buckets, opening = plugin_of(recording, TaskTopology).buckets_of(job), recording.timeline.opening_tasks
    found: dict[int, list[Seq]] = {each.index: [] for each in buckets.buckets} if buckets is not None else {}
    for task in recording.session.jobs[job].tasks.values():
        bucket = None if buckets is None else buckets.bucket(task)
        if bucket is not None and not opening[task.key].node:
            found[bucket.index].append(_first_placing(recording, task))
    return {index: sorted(placings) for index, placings in found.items()}


def _first_placing(recording: Recording, task: TaskInfo) -> Seq:
    """Behind the last event for a task that never gets a node."""
    for seq in recording.index.about("task", task.key):
        event = recording.event(seq)
        if isinstance(event, OpEvent) and event.op in PLACINGS:
            return seq
    return len(recording) + 1


WORDS = PluginWords(scores=inside, comparators={TASK_ORDER.method: task_order})
