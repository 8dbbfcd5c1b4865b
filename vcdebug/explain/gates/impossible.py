"""A gang that can never be complete: too many of its pods are of a kind that no node will ever take."""

from __future__ import annotations

from collections.abc import Iterator

from vcdebug.explain.answer import Finding
from vcdebug.explain.gates.nodes import hopeless
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.model.names import Seq
from vcdebug.model.task import TaskInfo

MOST_KINDS = 8
"""Kinds of pods of one job that are looked at."""


def impossible(view: JobView, task: TaskInfo, seq: Seq) -> Finding | None:
    """None unless without the pods that no node can ever take the gang has too few.

    Of a job that has its minimum already, only the task itself counts.
    """
    job, waiting = view.job, view.left_over
    held = job.ready_task_num() + job.waiting_task_num()
    if held >= job.min_available:
        return hopeless(view, task, NodeFits(view, task, seq))
    for kind in list(_kinds(waiting))[:MOST_KINDS]:
        if held + len(waiting) - len(kind) >= job.min_available:
            continue
        finding = hopeless(view, kind[0], NodeFits(view, kind[0], seq))
        if finding is not None:
            return finding
    return None


def _kinds(waiting: list[TaskInfo]) -> Iterator[list[TaskInfo]]:
    """Pods by what they ask for: role, request, selectors, affinity, tolerations and volumes."""
    found: dict[str, list[TaskInfo]] = {}
    for task in waiting:
        wanted = [task.pod.spec.get(key) for key in ("nodeSelector", "affinity", "tolerations", "volumes")]
        found.setdefault(repr((task.task_role, task.init_resreq, wanted)), []).append(task)
    yield from found.values()
