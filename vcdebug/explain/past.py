"""Jobs, tasks and nodes as they were before an event, in the model's own terms."""

from __future__ import annotations

from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.podgroup import PodGroup
from vcdebug.model.resource import Resource
from vcdebug.model.subjob import SubJobInfo
from vcdebug.model.task import TaskInfo
from vcdebug.plugins.drf.hierarchy import Hierarchy
from vcdebug.plugins.drf.share import Share, Totals
from vcdebug.trace.recording import Recording
from vcdebug.trace.timeline import ClusterState


def before(recording: Recording, seq: Seq) -> ClusterState:
    """The state in which an event's answer was found."""
    return recording.timeline.state_at(seq - 1)


def task_of(recording: Recording, key: TaskKey) -> TaskInfo:
    """A task, for what never changes about it."""
    return recording.timeline.tasks[key]


def job_of(recording: Recording, task: TaskKey) -> JobInfo | None:
    """The session's job of a task, for what never changes about it."""
    return recording.session.jobs.get(task_of(recording, task).job)


def job_at(recording: Recording, uid: JobId, seq: Seq) -> JobInfo:
    """The job as it was before an event: the model's own object, built anew with the tasks' statuses."""
    job = recording.session.jobs[uid]
    state = before(recording, seq)
    copy = JobInfo(PodGroup(job.pod_group.manifest), recording.snapshot.flags.default_queue)
    copy.priority = job.priority
    for task in sorted(job.tasks.values(), key=lambda task: task.key):
        clone = task.clone()
        clone.status, clone.node_name = state.tasks[task.key]
        copy.add_task_info(clone)
    return copy


def sub_job_at(recording: Recording, uid: str, seq: Seq) -> SubJobInfo:
    """The sub job as it was before an event."""
    return job_at(recording, recording.owners.sub_jobs[uid], seq).sub_jobs[uid]


def future_idle(state: ClusterState, node: str) -> Resource:
    """Idle + Releasing - Pipelined."""
    amounts = state.nodes[node]
    return amounts.idle.clone().add(amounts.releasing).sub_without_assert(amounts.pipelined)


def tree_of_shares(recording: Recording, seq: Seq) -> Hierarchy:
    """drf's hierarchy as it was before an event, its interior shares not yet brought up to date."""
    session, state = recording.session, before(recording, seq)
    totals = Totals(state.amount("drf", "", "total"))
    shares = {uid: Share(totals, state.amount("drf", uid, "allocated").clone()) for uid in session.jobs}
    return Hierarchy(totals, session.jobs, session.queues, shares)
