"""Pipelined for ever: placed on room that nobody is leaving, so that there is nothing to wait for."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug.amount_text import count_noun, join_names
from vcdebug.explain import amounts
from vcdebug.explain.amounts import count
from vcdebug.explain.answer import Advice, Finding, cluster_admin_advice, owner_advice, proof_of
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.allocation import NOT_TRIED_CAUSE, allocate_findings, failed_search_seq
from vcdebug.explain.pending.gates.not_in_session import opening_evidence
from vcdebug.explain.pending.gates.placed import evictions_for_job, releasing_tasks
from vcdebug.framework.record import OpEvent
from vcdebug.model.names import Seq
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.recording.recording import Recording, per_recording

PHANTOM_CAUSE = "phantom-pipelined"


def pipelined_for_ever(view: JobView) -> Finding | None:
    """None unless the job (or the pod that was asked about) waits for room, and none is being released."""
    waiting = _pipelined_tasks(view)
    bound = any(task.status is TaskStatus.BINDING for task in view.placed_tasks)
    enough = view.job.ready_task_num() >= view.job.min_available
    if not waiting or not view.job.is_pipelined() or (bound and enough):
        return None
    if next(evictions_for_job(view), None) is not None or next(releasing_tasks(view, waiting), None) is not None:
        return None
    nodes = (view.session.nodes[task.node_name] for task in waiting)
    return _phantom_finding(view, waiting) if all(node.releasing.is_empty() for node in nodes) else None


def _pipelined_tasks(view: JobView) -> list[TaskInfo]:
    return [task for task in view.placed_tasks if task.status is TaskStatus.PIPELINED and view.pod in (None, task.key)]


def stopping_findings(view: JobView) -> list[Finding]:
    """Why allocate does not bind what waits; nothing where it was not tried, since it has a place already."""
    return list(_find_stopping(view.recording, view))


@per_recording(most=1)
def _find_stopping(_: Recording, view: JobView) -> Sequence[Finding]:
    """Asked for by the sentence, and again by what is told beside it."""
    task = _pipelined_tasks(view)[0]
    if _is_restored(view, task):
        return []
    found = allocate_findings(view, task, NodeFits(view, task, failed_search_seq(view, task)))
    return [finding for finding in found if finding.cause != NOT_TRIED_CAUSE]


def _is_restored(view: JobView, task: TaskInfo) -> bool:
    return task.uid in view.session.restored


def _phantom_finding(view: JobView, waiting: Sequence[TaskInfo]) -> Finding:
    task = waiting[0]
    who = task.name if len(waiting) == 1 else count_noun(len(waiting), "pod")
    where = join_names(dict.fromkeys(each.node_name for each in waiting))
    plan = _last_pipeline(view, task)
    by, evidence = "an earlier cycle", opening_evidence(view.recording, "the session opens with the pod pipelined")
    if plan is not None:
        by, evidence = plan[1], proof_of(plan[0], f"{plan[1]} pipelines it, where nothing is Releasing")
    why, advice = _phantom_reason(view, task)
    sentence = (
        f"{view.job.uid} is never bound: {by} pipelined {who} on {where} without evicting anyone, and nothing is being "
        f"released there, so it waits for nothing; {why}."
    )
    numbers = {
        "pods.pipelined": count(len(waiting), "pods"),
        "job.minAvailable": count(view.job.min_available, "pods"),
        **amounts.numbers("request", task.init_resreq),
    }
    lines = tuple(f"{each.key} -> {each.node_name}, where nobody is leaving" for each in waiting)
    return Finding(PHANTOM_CAUSE, sentence, numbers, evidence, advice, lines)


def _last_pipeline(view: JobView, task: TaskInfo) -> tuple[Seq, str] | None:
    """The last operation that pipelined the task in this cycle, and the action it belongs to."""
    found = [
        (seq, visit.action)
        for visit in view.job_visits
        for seq, event in visit.events
        if isinstance(event, OpEvent) and event.op == "pipeline" and event.task == task.key
    ]
    return found[-1] if found and not _is_restored(view, task) else None


def _phantom_reason(view: JobView, task: TaskInfo) -> tuple[str, tuple[Advice, ...]]:
    """What keeps allocate from binding it, and what would help."""
    if _is_restored(view, task):
        free = [
            node.name for node in NodeFits(view, task, len(view.recording)).free_nodes if node.name != task.node_name
        ]
        elsewhere = f", although {join_names(free)} would take it" if free else ""
        why = f"allocate looks for no other node for a pod that was promised one{elsewhere}"
        anew = owner_advice(f"delete {task.name}, so that it is made anew: then allocate tries every node")
        if not task.pod.nominated_node_name:
            return why, (anew,)
        edit = f"Pod/{task.key}:status.nominatedNodeName-"
        return why, (
            anew,
            owner_advice(f"clear status.nominatedNodeName of {task.name}: then every node is tried", edit),
        )
    found = stopping_findings(view)
    if not found:
        return "the next cycle plans the same again", (
            cluster_admin_advice("put allocate before the actions that evict"),
        )
    sentence = found[0].sentence.removesuffix(".")
    return f"allocate does not bind it: {sentence}; the next cycle plans the same again", found[0].advice
