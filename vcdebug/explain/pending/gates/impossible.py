"""What no waiting and no eviction changes: pods that no node can ever hold, or that exceed their queue's limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from vcdebug.explain.answer import Finding
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.gates.eviction import Gate
from vcdebug.explain.pending.gates.eviction.entitlement import NOT_STARVING
from vcdebug.explain.pending.gates.queue_limits import NOT_ALLOCATABLE, impossible_refusal, not_allocatable_finding
from vcdebug.explain.pending.no_node import LARGER_CAUSE, hopeless_finding
from vcdebug.explain.plugins.gang import DISCARD_CAUSE
from vcdebug.grouping import group_by_key
from vcdebug.model.names import Seq
from vcdebug.model.task import TaskInfo

VOID_CAUSES = (DISCARD_CAUSE, NOT_STARVING)
MAX_KINDS = 8
"""Kinds of pods of one job that are looked at."""


def never(
    view: JobView, task: TaskInfo, room: NodeFits, met: Sequence[Gate], said: list[Finding]
) -> list[Finding] | None:
    """Put the finding first that no eviction changes; advice to make room is dropped from the others."""
    found = impossible_finding(view, task, room.seq) or _beyond_limit_finding(view, room)
    if found is None:
        return None
    void = (*VOID_CAUSES, NOT_ALLOCATABLE) if found.cause == LARGER_CAUSE else VOID_CAUSES
    return [found, *(replace(finding, advice=()) if finding.cause in void else finding for finding in said)]


def _beyond_limit_finding(view: JobView, room: NodeFits) -> Finding | None:
    refused = impossible_refusal(view)
    if refused is None:
        return None
    about = view.tasks[refused[1].task]
    return not_allocatable_finding(view, about, NodeFits(view, about, room.seq), *refused)


def impossible_finding(view: JobView, task: TaskInfo, seq: Seq) -> Finding | None:
    """None unless without the pods that no node can ever take the gang has too few.

    Of a job that has its minimum already, only the task itself counts.
    """
    job, waiting = view.job, view.left_over
    held = job.ready_task_num() + job.waiting_task_num()
    if held >= job.min_available:
        return hopeless_finding(task, NodeFits(view, task, seq))
    # Pods of one template fail alike, so one pod per kind is tested; the bound keeps odd jobs from taking seconds.
    for kind in list(_group_by_request(waiting))[:MAX_KINDS]:
        # The gang can do without all pods of this kind, so the kind does not make the job impossible.
        if held + len(waiting) - len(kind) >= job.min_available:
            continue
        finding = hopeless_finding(kind[0], NodeFits(view, kind[0], seq))
        if finding is not None:
            return finding
    return None


def _group_by_request(waiting: list[TaskInfo]) -> Iterator[list[TaskInfo]]:
    """Pods by what they ask for: role, request, selectors, affinity, tolerations and volumes."""
    yield from group_by_key((_request_key(task), task) for task in waiting).values()


def _request_key(task: TaskInfo) -> str:
    wanted = [task.pod.spec.get(key) for key in ("nodeSelector", "affinity", "tolerations", "volumes")]
    return repr((task.task_role, task.init_resreq, wanted))
