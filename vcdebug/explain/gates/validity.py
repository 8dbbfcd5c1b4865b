"""gang's JobValid and scheduling gates: can the pods that exist make the gang at all?"""

from __future__ import annotations

from vcdebug.explain.amounts import count, listed, plural
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.gates.not_in_session import opened, other_scheduler
from vcdebug.explain.job_view import JobView

NOT_ENOUGH = "not-enough-pods"
GATED = "scheduling-gate"


def all_hidden(view: JobView) -> Finding | None:
    """Every pod of the job, or the one that was asked about, names another scheduler."""
    asked = [pod for pod in view.hidden_pods if pod.key == view.pod]
    if asked:
        return other_scheduler(view.recording, view.job.uid, asked)
    if view.tasks or not view.hidden_pods:
        return None
    return other_scheduler(view.recording, view.job.uid, view.hidden_pods)


def validity(view: JobView) -> Finding | None:
    """None if the job is valid."""
    failures = [(seq, event) for seq, event in view.hooks("JobValid") if event.result and not event.result["pass"]]
    if not failures and view.tasks:
        return None
    job, hidden = view.job, view.hidden_pods
    valid = job.valid_task_num()
    if hidden and valid + len(hidden) >= job.min_available:
        return other_scheduler(view.recording, job.uid, hidden)
    evidence = tuple(Evidence(seq, f"gang: {event.result['message']}") for seq, event in failures[-1:])
    roles = _roles(view)
    sentence = _sentence(view, valid, roles)
    numbers = {
        "pods.valid": count(valid, "pods"),
        "job.minAvailable": count(job.min_available, "pods"),
        "pods.missing": count(max(job.min_available - valid, 0), "pods"),
    }
    missing = max(job.min_available - valid, 0)
    advice = (
        f"create {plural(missing, 'more pod')} (look at the Volcano Job, its controller and quotas)"
        if missing
        else "create the missing pods of each role",
        f"or lower minMember to {valid}",
    )
    return Finding(
        NOT_ENOUGH, sentence, numbers, evidence or opened(view.recording, "the job has no pods"), advice, tuple(roles)
    )


def _sentence(view: JobView, valid: int, roles: list[str]) -> str:
    job = view.job
    if roles and valid >= job.min_available:
        return f"{job.uid} is not valid: {'; '.join(roles)} that minTaskMember asks for, so no action considers it."
    if valid >= job.min_available:
        return f"{job.uid} has no pod that could be scheduled."
    detail = f" ({'; '.join(roles)})" if roles else ""
    found = f"{plural(valid, 'usable pod')} of the {job.min_available} that minMember asks for{detail}"
    return f"{job.uid} is not valid: it has {found}, so no action considers it."


def _roles(view: JobView) -> list[str]:
    """Roles with fewer pods than their own minimum."""
    job = view.job
    if job.min_available < job.task_min_available_total:
        return []
    have: dict[str, int] = {}
    for task in view.tasks.values():
        have[task.task_role] = have.get(task.task_role, 0) + 1
    return [
        f"role {role} has {have.get(role, 0)} of {plural(least, 'pod')}"
        for role, least in job.task_min_available.items()
        if have.get(role, 0) < least
    ]


def gated(view: JobView) -> Finding | None:
    """None unless pods behind scheduling gates keep the job from what it lacks."""
    closed = [task for task in view.left_over if task.sch_gated]
    open_ones = [task for task in view.left_over if not task.sch_gated]
    job = view.job
    reachable = job.ready_task_num() + job.waiting_task_num() + len(open_ones)
    if not closed or (open_ones and reachable >= job.min_available):
        return None
    gates = dict.fromkeys(gate for task in closed for gate in task.pod.scheduling_gates)
    are = "is" if len(closed) == 1 else "are"
    sentence = (
        f"{plural(len(closed), 'pod')} of {job.uid} {are} behind a scheduling gate ({listed(gates)}): "
        f"{listed(task.name for task in closed)}; without, {reachable} of minMember {job.min_available} can be placed."
    )
    numbers = {
        "pods.gated": count(len(closed), "pods"),
        "pods.usable": count(reachable, "pods"),
        "job.minAvailable": count(job.min_available, "pods"),
    }
    start = view.action_starts("allocate")
    evidence = (
        (Evidence(start, "allocate leaves gated pods out"),)
        if start is not None
        else opened(view.recording, "the session opens with gated pods")
    )
    advice = (f"whoever set {listed(gates)} must remove it from spec.schedulingGates",)
    return Finding(GATED, sentence, numbers, evidence, advice)
