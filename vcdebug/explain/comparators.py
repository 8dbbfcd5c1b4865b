"""What each plugin compares two jobs, queues or tasks by, with the figures of both sides as they stood at a moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from vcdebug.explain.past import tree_of_shares
from vcdebug.framework.session import pod_index
from vcdebug.gotime import SECOND
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq
from vcdebug.model.queue import QueueInfo
from vcdebug.model.status import TaskStatus
from vcdebug.model.subjob import SubJobInfo
from vcdebug.model.task import TaskInfo
from vcdebug.model.taskset import READY_STATUSES
from vcdebug.plugins.capacity import Capacity
from vcdebug.plugins.drf.hierarchy import path
from vcdebug.plugins.sla import Sla
from vcdebug.trace.recording import Recording
from vcdebug.trace.timeline import ClusterState

Figure = float | int | str | bool | None
Sorted = TypeVar("Sorted", float, str)
CREATED, UID = "created", "uid"


class Difference(NamedTuple):
    """One thing that two elements are compared by; -1 puts the left one first, 0 asks the next thing."""

    what: str
    left: Figure
    right: Figure
    sign: int
    known: bool = True
    """Whether a recording keeps what is compared."""


class Then(NamedTuple):
    """A moment at which is compared: the state after event `seq`."""

    recording: Recording
    seq: Seq
    state: ClusterState


Comparator = Callable[[Then, Any, Any], Iterator[Difference]]


def smaller_first(what: str, left: Sorted, right: Sorted) -> Difference:
    """The smaller figure, or the earlier text, goes first."""
    return Difference(what, left, right, (left > right) - (left < right))


def larger_first(what: str, left: float, right: float) -> Difference:
    """The larger figure goes first."""
    return Difference(what, left, right, (right > left) - (right < left))


# Jobs and sub jobs


def priority(_: Then, left: JobInfo, right: JobInfo) -> Iterator[Difference]:
    """Of jobs, sub jobs and tasks alike."""
    yield larger_first("priority", left.priority, right.priority)


def unready_job(then: Then, left: JobInfo, right: JobInfo) -> Iterator[Difference]:
    """gang: a job that misses tasks of its minimum goes before one that does not."""
    yield _unready(_ready(then, left), _ready(then, right))


def _ready(then: Then, job: JobInfo) -> bool:
    counts = then.state.job(job.uid)
    return counts.ready + counts.best_effort_pending >= counts.min_available


def _unready(left: bool, right: bool) -> Difference:
    return Difference("gang ready", left, right, left - right)


def drf_share(then: Then, left: JobInfo, right: JobInfo) -> Iterator[Difference]:
    """The smaller dominant share."""
    mine, other = (_share(then, "drf", job.uid) for job in (left, right))
    yield smaller_first("drf share", mine, other)


def _share(then: Then, plugin: str, name: str) -> float:
    share = then.state.figure(plugin, name, "share")
    return share if isinstance(share, float) else 0.0


def deadline(then: Then, left: JobInfo, right: JobInfo) -> Iterator[Difference]:
    """sla: the earlier deadline; jobs without one last."""
    sla = then.recording.session.plugins["sla"]
    assert isinstance(sla, Sla)
    mine, other = sla.deadline(left), sla.deadline(right)
    if mine is None or other is None:
        sign = int(mine is None) - int(other is None)
    else:
        sign = (mine > other) - (mine < other)
    yield Difference("sla deadline", _until(mine, sla.now), _until(other, sla.now), sign)


def _until(deadline: int | None, now: int) -> str:
    """How far away a deadline is."""
    if deadline is None:
        return "none"
    seconds = (deadline - now) / SECOND
    return f"in {seconds:g}s" if seconds > 0 else f"{-seconds:g}s ago"


def not_preemptable(_: Then, left: JobInfo, right: JobInfo) -> Iterator[Difference]:
    """tdm: jobs that are not preemptable first."""
    yield Difference("preemptable", left.preemptable, right.preemptable, left.preemptable - right.preemptable)


def unready_sub_job(then: Then, left: SubJobInfo, right: SubJobInfo) -> Iterator[Difference]:
    """gang: as for jobs."""
    yield _unready(_sub_job_ready(then, left), _sub_job_ready(then, right))


def _sub_job_ready(then: Then, group: SubJobInfo) -> bool:
    ready = 0
    for task in group.tasks.values():
        status = then.state.tasks[task.key].status
        ready += status in READY_STATUSES or (status is TaskStatus.PENDING and task.best_effort)
    return ready >= group.min_available


# Queues


def proportion_queue(then: Then, left: QueueInfo, right: QueueInfo) -> Iterator[Difference]:
    """The higher queue priority, then the smaller share."""
    yield larger_first("queue priority", left.priority, right.priority)
    mine, other = (_share(then, "proportion", queue.name) for queue in (left, right))
    yield smaller_first("proportion share", mine, other)


def capacity_queue(then: Then, left: QueueInfo, right: QueueInfo) -> Iterator[Difference]:
    """The higher queue priority, leaves, the smaller share where the branches part, who deserves something."""
    yield larger_first("queue priority", left.priority, right.priority)
    plugin = then.recording.session.plugins["capacity"]
    assert isinstance(plugin, Capacity)
    mine, other = (bool(plugin.queues[queue.name].children) for queue in (left, right))
    yield Difference("has children", mine, other, mine - other)
    one, two = _branches(then, left.name, right.name) if plugin.tree and not mine else (left.name, right.name)
    where = "" if (one, two) == (left.name, right.name) else f" of {one} and {two}"
    yield smaller_first(f"capacity share{where}", _share(then, "capacity", one), _share(then, "capacity", two))
    nothing, neither = (then.state.amount("capacity", name, "deserved").is_empty() for name in (one, two))
    yield Difference(f"deserves nothing{where}", nothing, neither, nothing - neither)


def _branches(then: Then, left: str, right: str) -> tuple[str, str]:
    """The two queues, or their ancestors, at the level below the last one that both have in common."""
    mine, other = (list(then.state.figure("capacity", name, "ancestors") or ()) for name in (left, right))
    level = _common_level(mine, other) + 1
    return mine[level] if level < len(mine) else left, other[level] if level < len(other) else right


def _common_level(mine: list[str], other: list[str]) -> int:
    level = 0
    for index, (name, against) in enumerate(zip(mine, other, strict=False)):
        if name != against:
            return level
        level = index
    return level


def capacity_victim_queue(then: Then, left: QueueInfo, right: QueueInfo, asking: QueueInfo) -> Iterator[Difference]:
    """The queue that is nearer to the preemptor's gives first."""
    lists = [list(then.state.figure("capacity", q.name, "ancestors") or ()) for q in (left, right, asking)]
    yield larger_first("levels in common", _common_level(lists[0], lists[2]), _common_level(lists[1], lists[2]))


def drf_queue(then: Then, left: QueueInfo, right: QueueInfo) -> Iterator[Difference]:
    """The first level of the hierarchy at which the paths differ: the unsaturated one, else the smaller share."""
    tree = tree_of_shares(then.recording, then.seq + 1)
    tree.update(tree.root, tree.allocated)
    mine = other = tree.root
    left_path, right_path = path(left), path(right)
    for level, (one, two) in enumerate(zip(left_path, right_path, strict=False)):
        if level:
            mine, other = mine.children[one], other.children[two]
        yield Difference(f"saturated at {one}", mine.saturated, other.saturated, mine.saturated - other.saturated)
        yield smaller_first(f"weighted share of {one} and {two}", mine.weighted_share(), other.weighted_share())


# What decides where no plugin does


def job_ties(_: Then, left: JobInfo, right: JobInfo) -> Iterator[Difference]:
    """The older PodGroup, then the smaller id."""
    yield smaller_first(CREATED, left.creation_timestamp, right.creation_timestamp)
    yield smaller_first(UID, left.uid, right.uid)


def queue_ties(_: Then, left: QueueInfo, right: QueueInfo) -> Iterator[Difference]:
    """The older queue, then the smaller name."""
    yield smaller_first(CREATED, left.creation_timestamp, right.creation_timestamp)
    yield smaller_first("name", left.uid, right.uid)


def task_ties(_: Then, left: TaskInfo, right: TaskInfo) -> Iterator[Difference]:
    """The index in the pods' names, then the older pod, then the smaller UID."""
    mine, other = pod_index(left.name), pod_index(right.name)
    if mine is not None and other is not None:
        yield smaller_first("index in the name", mine, other)
    yield smaller_first(CREATED, left.pod.creation_timestamp, right.pod.creation_timestamp)
    yield smaller_first(UID, left.uid, right.uid)


def sub_job_ties(_: Then, left: SubJobInfo, right: SubJobInfo) -> Iterator[Difference]:
    """The match index, then the smaller id."""
    yield smaller_first("match index", left.match_index, right.match_index)
    yield smaller_first(UID, left.uid, right.uid)


COMPARATORS: Final[Mapping[tuple[str, str], Comparator]] = {
    ("job_order", "priority"): priority,
    ("job_order", "gang"): unready_job,
    ("job_order", "drf"): drf_share,
    ("job_order", "sla"): deadline,
    ("job_order", "tdm"): not_preemptable,
    ("sub_job_order", "priority"): priority,
    ("sub_job_order", "gang"): unready_sub_job,
    ("queue_order", "proportion"): proportion_queue,
    ("queue_order", "capacity"): capacity_queue,
    ("queue_order", "drf"): drf_queue,
    ("task_order", "priority"): priority,
}
"""(hook method, plugin) → what it compares; the others' order is not kept by a recording."""
