"""What no waiting and no eviction changes: pods that no node can ever hold, or that exceed their queue's limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from vcdebug.causes.gates.eviction import Gate
from vcdebug.causes.gates.eviction.entitlement import NOT_STARVING
from vcdebug.causes.gates.gang import DISCARD
from vcdebug.causes.gates.queue_limits import NOT_ALLOCATABLE, never_allocatable, not_allocatable
from vcdebug.causes.no_node import LARGER, hopeless
from vcdebug.explain.answer import Finding
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.grouping import by_key
from vcdebug.model.names import Seq
from vcdebug.model.task import TaskInfo

VOID = (DISCARD, NOT_STARVING)
MOST_KINDS = 8
"""Kinds of pods of one job that are looked at."""


def never(
    view: JobView, task: TaskInfo, room: NodeFits, met: Sequence[Gate], said: list[Finding]
) -> list[Finding] | None:
    """The advice of what only waits for others is void then."""
    found = impossible(view, task, room.seq) or _beyond_limit(view, room)
    if found is None:
        return None
    void = (*VOID, NOT_ALLOCATABLE) if found.cause == LARGER else VOID
    return [found, *(replace(finding, advice=()) if finding.cause in void else finding for finding in said)]


def _beyond_limit(view: JobView, room: NodeFits) -> Finding | None:
    refused = never_allocatable(view)
    if refused is None:
        return None
    about = view.tasks[refused[1].task]
    return not_allocatable(view, about, NodeFits(view, about, room.seq), *refused)


def impossible(view: JobView, task: TaskInfo, seq: Seq) -> Finding | None:
    """None unless without the pods that no node can ever take the gang has too few.

    Of a job that has its minimum already, only the task itself counts.
    """
    job, waiting = view.job, view.left_over
    held = job.ready_task_num() + job.waiting_task_num()
    if held >= job.min_available:
        return hopeless(task, NodeFits(view, task, seq))
    for kind in list(_kinds(waiting))[:MOST_KINDS]:
        if held + len(waiting) - len(kind) >= job.min_available:
            continue
        finding = hopeless(kind[0], NodeFits(view, kind[0], seq))
        if finding is not None:
            return finding
    return None


def _kinds(waiting: list[TaskInfo]) -> Iterator[list[TaskInfo]]:
    """Pods by what they ask for: role, request, selectors, affinity, tolerations and volumes."""
    yield from by_key((_asked_for(task), task) for task in waiting).values()


def _asked_for(task: TaskInfo) -> str:
    wanted = [task.pod.spec.get(key) for key in ("nodeSelector", "affinity", "tolerations", "volumes")]
    return repr((task.task_role, task.init_resreq, wanted))
