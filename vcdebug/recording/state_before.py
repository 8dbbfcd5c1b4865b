"""Jobs, tasks and nodes as they were before an event, as model objects that plugins' rules accept."""

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from vcdebug.framework.record import OpEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, NodeName, Seq, TaskKey
from vcdebug.model.pod_group import PodGroup
from vcdebug.model.pod_resources import request_parts
from vcdebug.model.resource import Resource
from vcdebug.model.sub_job import SubJobInfo
from vcdebug.model.task import TaskInfo
from vcdebug.recording.event_index import NODE, TASK, seqs_before
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.timeline import ClusterState, LazyMap

MAX_REBUILT_JOBS = 512
MAX_IDLE_AMOUNTS = 4096


def state_before(recording: Recording, seq: Seq) -> ClusterState:
    """The state before an event, in which plugins computed its result."""
    return recording.timeline.state_at(seq - 1)


def task_of(recording: Recording, key: TaskKey) -> TaskInfo:
    """A task object for reading what never changes in a cycle, such as its request."""
    return recording.timeline.tasks[key]


def tasks_of(recording: Recording, keys: Iterable[TaskKey]) -> list[TaskInfo]:
    """Task objects for reading what never changes in a cycle."""
    return [recording.timeline.tasks[key] for key in keys]


def tasks_before(recording: Recording, keys: Iterable[TaskKey], seq: Seq) -> list[TaskInfo]:
    """Tasks with the status and node that they had before an event."""
    states, tasks = state_before(recording, seq).tasks, []
    for key in keys:
        clone = task_of(recording, key).clone()
        clone.status, clone.node_name = states[key]
        tasks.append(clone)
    return tasks


def idle_without(recording: Recording, seq: Seq, node: NodeName, removed: Iterable[TaskKey]) -> Resource:
    """A node's future idle before an event, plus the requests of the removed tasks."""
    # Keyed by the node's own last change: all jobs that try it before the next one ask about the same candidates.
    last_change = recording.timeline.last_change(NODE, node, seq - 1) or 0
    return _idle_after(recording, last_change, node, tuple(removed)).clone()


@per_recording(MAX_IDLE_AMOUNTS)
def _idle_after(recording: Recording, seq: Seq, node: NodeName, removed: tuple[TaskKey, ...]) -> Resource:
    return recording.timeline.state_at(seq).nodes[node].future_without(tasks_of(recording, removed))


def fits_without(recording: Recording, seq: Seq, task: TaskKey, node: NodeName, removed: Iterable[TaskKey]) -> bool:
    """Whether a task would fit a node before an event without the removed tasks."""
    return task_of(recording, task).init_resreq.less_equal(idle_without(recording, seq, node, removed))


def requested_together(recording: Recording, tasks: Iterable[TaskKey]) -> Resource:
    """The sum of several tasks' requests."""
    return sum_resources(task.resreq for task in tasks_of(recording, tasks))


def sum_resources(parts: Iterable[Resource]) -> Resource:
    """The sum of the parts, added from left to right."""
    return Resource().add_all(parts)


def sum_smallest(parts: Iterable[Resource], name: str, number: int) -> float:
    """The least that so many of the parts have together of a dimension: if it is too much, no choice of them fits."""
    total = 0.0
    # A loop, as Go adds, not sum().
    for value in sorted(part.get(name) for part in parts)[:number]:
        total += value
    return total


def last_operation(recording: Recording, task: TaskKey, seq: Seq, *ops: str) -> Seq:
    """The last of these operations on a task before an event, or of all where none is named; 0 without one."""
    earlier = recording.filter_events(OpEvent, seqs_before(recording.index.seqs_about(TASK, task), seq))
    return next((at for at, event in earlier if event.task == task and (not ops or event.op in ops)), 0)


def job_of(recording: Recording, task: TaskKey) -> JobInfo | None:
    """A task's job in the session, for reading what never changes; None without one."""
    return recording.session.jobs.get(task_of(recording, task).job)


def job_before(recording: Recording, uid: JobId, seq: Seq) -> JobInfo:
    """The job as it was before an event: a new JobInfo with the tasks' statuses at that time."""
    # The earliest event with the same state is the key: most events change no task, and share one job.
    return _job_after(recording, uid, recording.timeline.earliest_same_seq(seq - 1))


@per_recording(MAX_REBUILT_JOBS)
def _job_after(recording: Recording, uid: JobId, seq: Seq) -> JobInfo:
    job = recording.session.jobs[uid]
    copy = JobInfo(PodGroup(job.pod_group.manifest), recording.snapshot.flags.default_queue)
    copy.priority, copy.says_ready, copy.says_minimum = job.priority, job.says_ready, job.says_minimum
    for task in tasks_before(recording, sorted(task.key for task in job.tasks.values()), seq + 1):
        copy.add_task_info(task)
    return copy


def jobs_before(recording: Recording, seq: Seq) -> Mapping[JobId, JobInfo]:
    """Every job as it was before an event, built when it is asked for."""
    return LazyMap(recording.session.jobs, lambda uid: job_before(recording, uid, seq))


def sub_job_before(recording: Recording, uid: str, seq: Seq) -> SubJobInfo:
    """The sub job as it was before an event."""
    return job_before(recording, recording.owners.sub_jobs[uid], seq).sub_jobs[uid]


# The parts of a task's request: containers, init containers and sidecars, overhead, pod-level resources.

PART_EFFECTS = {
    "container": "added",
    "sidecar": "added: it runs next to the containers",
    "initialisation": "at least this much: the largest step, with the sidecars started before it",
    "overhead": "added",
    "pod level": "replaces the sum of the containers",
}


class RequestLine(Struct, frozen=True):
    """One part and how it counts."""

    part: str
    name: str
    amount: Resource
    counts: str


def request_lines(recording: Recording, key: TaskKey) -> Iterator[RequestLine]:
    """The parts of the pod's request, then the totals that the scheduler computes from them."""
    task = task_of(recording, key)
    for part, name, amount in request_parts(task.pod, recording.snapshot.flags):
        yield RequestLine(part, name, amount, PART_EFFECTS[part])
    yield RequestLine("Resreq", "", task.resreq, "what it takes from a node and a queue; one pod is added")
    same = "; the same: Resreq counts initialisation too" if task.init_resreq == task.resreq else ""
    yield RequestLine("InitResreq", "", task.init_resreq, f"what must fit on a node when it starts{same}")
