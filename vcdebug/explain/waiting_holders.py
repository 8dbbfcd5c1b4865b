"""Room that is held by jobs which wait for more of it themselves: jobs that may hold each other up for ever."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.explain.advice import sharers
from vcdebug.explain.amounts import listed, plural
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.wishes import MOST_HOLDERS, Obstacle
from vcdebug.model.job import JobInfo
from vcdebug.model.status import TaskStatus
from vcdebug.model.task import TaskInfo

HOLDS = (TaskStatus.RUNNING, TaskStatus.BOUND)


def waiting_holders(room: NodeFits) -> Iterator[Obstacle]:
    """On the nearest node, where what lacks is held by jobs of which other pods find no place, as this one's do."""
    near = room.nearest
    if near is None or near.kind != "short":
        return
    own = [task for task in room.view.job.tasks.values() if task.status in HOLDS]
    others = [task for task in room.tasks_on(near.name) if task.status in HOLDS and _waits(_job(room, task))]
    theirs = [task for task in others if task.job != room.view.job.uid]
    if not own or not theirs or not all(_held(theirs, name) >= lack for name, lack in near.short):
        return
    jobs = dict.fromkeys(task.job for task in theirs)
    verb, lack = ("waits", "its") if len(jobs) == 1 else ("wait", "their")
    yield Obstacle(
        f"{near.name} is held by {listed((task.name for task in theirs), MOST_HOLDERS)} of {listed(jobs)}, which "
        f"{verb} for {lack} own other pods as this job does with {plural(len(own), 'running pod')}: if none can end "
        "without them, they hold each other up for ever",
        (
            sharers(
                f"end {listed(jobs, 1)} or this job, and let fewer start at once (minMember or minResources of "
                "whole jobs)"
            ),
        ),
    )


def _job(room: NodeFits, task: TaskInfo) -> JobInfo | None:
    return room.view.session.jobs.get(task.job)


def _waits(job: JobInfo | None) -> bool:
    return job is not None and job.count(TaskStatus.PENDING) > 0


def _held(tasks: list[TaskInfo], name: str) -> float:
    held = 0.0
    for task in tasks:
        held += task.resreq.get(name)
    return held
