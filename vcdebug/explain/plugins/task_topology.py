"""task-topology: what a node holds of a bucket or has room for; order of tasks. Upstream: plugins/task-topology."""

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from vcdebug.amount_text import format_number
from vcdebug.explain.equation import Equation, Term
from vcdebug.explain.plugins import AskedNode, OrderDifference, OrderMoment, PluginExplainer, smaller_first
from vcdebug.framework.hooks import TASK_ORDER
from vcdebug.framework.record import PLACING_OPS, UNALLOCATE_OP, UNPIPELINE_OP, OpEvent
from vcdebug.model.names import JobId, Seq
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.priority import higher_first
from vcdebug.plugins.task_topology import Bucket, TaskTopology, role_of
from vcdebug.recording.recording import Recording, per_recording

FORMULA = (
    "100 × weight × (tasks there + tasks without a node − tasks that must be left out) / tasks of the largest bucket"
)

RANK_NAMES: Final = ("place of its role in the order", "rank of its role by affinity")
PLACEMENT_OPS: Final = (*PLACING_OPS, UNALLOCATE_OP, UNPIPELINE_OP)
"""Operations that are recorded after the plugin's event handler ran, including ones undone at once."""


def score_equation(asked_node: AskedNode, part: str) -> Equation | None:
    """The bucket's tasks on the node, and those that the node has room for."""
    result = asked_node.session.plugin_of_class(TaskTopology).bucket_scores(asked_node.task, asked_node.nodes)
    if result is None:
        return None
    index = asked_node.row_index
    present = int(result.tasks_on_node[index])
    left_out = int(result.left_out_count[index])
    waiting = len(result.bucket.tasks)
    terms = (
        Term("of the bucket on the node, less what its role avoids", (present,), None),
        Term("of the bucket without a node", (waiting,), None),
        Term("to be left out until the rest fits", (-left_out,), None),
    )
    score = float(result.scores[index])
    note = f"{present + waiting - left_out} of {result.largest}, weight {result.weight}: {format_number(score)}"
    if result.small[index]:
        note = "the task itself has no room in idle + releasing"
    title = f"task-topology: bucket {result.bucket.index} on {asked_node.node.name}"
    return Equation(title, FORMULA, ("tasks",), "check", terms, score, None, note)


def task_order(moment: OrderMoment, left: TaskInfo, right: TaskInfo) -> Iterator[OrderDifference]:
    """Tasks in buckets first; inside a job by tasks left in the buckets, then by buckets' age or roles' rank."""
    plugin = moment.recording.session.plugin_of_class(TaskTopology)
    first, second = plugin.buckets_of(left.job), plugin.buckets_of(right.job)
    if first is None or second is None:
        return
    bucket, other = first.get_bucket(left), second.get_bucket(right)
    yield _more_first("in a bucket", bucket is not None, other is not None)
    if bucket is None or other is None or left.job != right.job:
        return
    yield _more_first(
        "remaining tasks of its bucket", *(_tasks_without_node(moment, left.job, each) for each in (bucket, other))
    )
    if bucket is not other:
        yield smaller_first("bucket", bucket.index, other.index)
        return
    rank_pairs = zip(
        RANK_NAMES, first.topology.rank_role(role_of(left)), first.topology.rank_role(role_of(right)), strict=True
    )
    yield from (_more_first(*each) for each in rank_pairs)


def _more_first(label: str, left: int, right: int) -> OrderDifference:
    return OrderDifference(label, left, right, higher_first(left, right))


def _tasks_without_node(moment: OrderMoment, job: JobId, bucket: Bucket) -> int:
    """The number of the bucket's tasks without a node at that event; the first placement removes a task for good."""
    placing_seqs = _first_placings(moment.recording, job)[bucket.index]
    # The events are sorted, so one search gives the tasks placed so far without replaying the bucket.
    return len(placing_seqs) - bisect_right(placing_seqs, moment.seq)


@per_recording()
def _first_placings(recording: Recording, job: JobId) -> dict[int, list[Seq]]:
    """Bucket → sorted events of the first placements of its tasks that have no node at the opening."""
    buckets, opening = recording.session.plugin_of_class(TaskTopology).buckets_of(job), recording.timeline.opening_tasks
    by_bucket: dict[int, list[Seq]] = {each.index: [] for each in buckets.buckets} if buckets is not None else {}
    for task in recording.session.jobs[job].tasks.values():
        bucket = None if buckets is None else buckets.get_bucket(task)
        if bucket is not None and not opening[task.key].node:
            by_bucket[bucket.index].append(_first_placing(recording, task))
    return {index: sorted(placings) for index, placings in by_bucket.items()}


def _first_placing(recording: Recording, task: TaskInfo) -> Seq:
    """The event of the task's first placement; one after the last event if it has none."""
    for seq in recording.index.seqs_about("task", task.key):
        event = recording.event_at(seq)
        if isinstance(event, OpEvent) and event.op in PLACEMENT_OPS:
            return seq
    return len(recording) + 1


EXPLAINER = PluginExplainer(scores=score_equation, comparators={TASK_ORDER.method: task_order})
