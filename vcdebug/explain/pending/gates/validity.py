"""gang's JobValid and scheduling gates: can the pods that exist make the gang at all?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import count_noun, join_names
from vcdebug.explain.answer import Advice, Evidence, Finding, count, owner_advice, proof_of, queue_admin_advice
from vcdebug.explain.decisions.evictions import Eviction, lost_pods
from vcdebug.explain.job_view import WAITING_PHASES, JobView
from vcdebug.explain.pending.gates.not_in_session import opening_evidence, other_scheduler_finding
from vcdebug.explain.plugins.resourcequota import PENDING_SUFFIX, ExhaustedQuota, exhausted_quotas
from vcdebug.framework.hooks import JOB_VALID
from vcdebug.model.names import JobId
from vcdebug.model.task import TaskStatus

NOT_ENOUGH = "not-enough-pods"
GATED = "scheduling-gate"
RUNNING_STATUSES = (TaskStatus.RUNNING, TaskStatus.BOUND, TaskStatus.BINDING)


def all_hidden(view: JobView) -> Finding | None:
    """Every pod of the job, or the one that was asked about, names another scheduler."""
    asked = [pod for pod in view.hidden_pods if pod.key == view.pod]
    hidden = asked or ([] if view.tasks else view.hidden_pods)
    return other_scheduler_finding(view.recording, view.job.uid, hidden) if hidden else None


def validity(view: JobView) -> Finding | None:
    """None if the job is valid."""
    failures = [
        (seq, event) for seq, event in view.calls_about(JOB_VALID.upstream) if event.result and not event.result["pass"]
    ]
    if not failures and view.tasks:
        return None
    job, hidden = view.job, view.hidden_pods
    valid = job.valid_task_num()
    if hidden and valid + len(hidden) >= job.min_available:
        return other_scheduler_finding(view.recording, job.uid, hidden)
    # Checked first: the owner cannot mend a lack of pods that evictions of this cycle caused.
    lost = lost_pods(view)
    if lost and view.calls_about(JOB_VALID.upstream)[0][1].result is None:
        return _lost_pods_finding(view, valid, lost)
    if not view.tasks and job.pod_group.phase in WAITING_PHASES:
        return None
    # All pods of a role count here, since evicted ones have a finding of their own.
    have = Counter(task.task_role for task in view.tasks.values())
    least = {} if job.are_roles_unchecked() else job.task_min_available
    roles = [
        f"role {role} has {have[role]} of {count_noun(few, 'pod')}" for role, few in least.items() if have[role] < few
    ]
    sentence, missing = _validity_sentence(view, valid, roles), max(job.min_available - valid, 0)
    numbers = {
        "pods.valid": count(valid, "pods"),
        "job.minAvailable": count(job.min_available, "pods"),
        "pods.missing": count(missing, "pods"),
    }
    full = list(exhausted_quotas(view.recording, job.namespace)) if missing else []
    if full:
        sentence = (
            f"{sentence.removesuffix('.')}; {'; '.join(one.quota_text for one in full[:2])}: no more can be created."
        )
    advice = (*(_quota_advice(one) for one in full[:2]), *_validity_advice(job.uid, missing, valid, bool(roles)))
    said = [Evidence(seq, f"gang: {event.result['message']}") for seq, event in failures[-1:]]
    evidence = tuple(said) or opening_evidence(view.recording, "the job has no pods")
    return Finding(NOT_ENOUGH, sentence, numbers, evidence, advice, tuple(roles))


def _validity_advice(job: JobId, missing: int, valid: int, roles: bool) -> tuple[Advice, ...]:
    if not missing and roles:
        lower = owner_advice("take the role out of minTaskMember, or lower its minimum")
        return owner_advice("create the missing pods of each role"), lower
    more = count_noun(missing, "more pod") if missing else "the pods"
    create = owner_advice(f"create {more} (look at the Volcano Job, its controller and quotas)")
    edit = f"PodGroup/{job}:spec.minMember={valid}"
    return (create, owner_advice(f"lower minMember to {valid}", edit)) if missing and valid else (create,)


def _quota_advice(full: ExhaustedQuota) -> Advice:
    waiting = [name for name in full.holders if name.endswith(PENDING_SUFFIX)]
    end = (
        f"delete {join_names(name.removesuffix(PENDING_SUFFIX) for name in waiting)}, which only waits, or "
        if waiting
        else ""
    )
    return queue_admin_advice(f"{end}raise {full.name} of ResourceQuota {full.quota}")


def _lost_pods_finding(view: JobView, valid: int, lost: Sequence[Eviction]) -> Finding:
    """The job was valid when the cycle began, and evictions in the cycle made it invalid."""
    job, one = view.job, lost[0]
    own = f" of the job itself for {one.preemptor}" if one.preemptor in view.tasks else f" for {one.preemptor}"
    sentence = (
        f"{job.uid} lost {count_noun(len(lost), 'pod')} in this cycle: {one.action} evicts "
        f"{join_names(e.victim for e in lost)}{own if one.preemptor else ''}, which leaves "
        f"{count_noun(valid, 'usable pod')} of the {job.min_available} that minMember asks for."
    )
    numbers = {
        "pods.valid": count(valid, "pods"),
        "pods.evicted": count(len(lost), "pods"),
        "job.minAvailable": count(job.min_available, "pods"),
    }
    evidence = tuple(Evidence(e.end, f"{e.action} evicts {e.victim}") for e in lost)
    advice = (
        owner_advice("its controller has to create the evicted pods anew"),
        owner_advice("set minMember below the number of its pods"),
    )
    return Finding(NOT_ENOUGH, sentence, numbers, evidence, advice)


def _validity_sentence(view: JobView, valid: int, roles: list[str]) -> str:
    job = view.job
    if roles and valid >= job.min_available:
        return f"{job.uid} is not valid: {'; '.join(roles)} that minTaskMember asks for, so no action considers it."
    if valid >= job.min_available:
        return f"{job.uid} has no pod that could be scheduled."
    running = job.count_tasks(*RUNNING_STATUSES)
    if running:
        missing = job.min_available - len(view.tasks)
        gone = f"{missing} of {job.min_available} pods do not exist any more" if missing > 0 else "some are failing"
        return (
            f"{job.uid} is broken: {running} of the {job.min_available} pods that minMember asks for run, {gone}, so "
            "the scheduler has nothing to place until the controller creates them."
        )
    why = [*roles, *_format_leaving(view)]
    detail = f" ({'; '.join(why)})" if why else ""
    found = f"{count_noun(valid, 'usable pod')} of the {job.min_available} that minMember asks for{detail}"
    return f"{job.uid} is not valid: it has {found}, so no action considers it."


def _format_leaving(view: JobView) -> Iterator[str]:
    """The pods that were being deleted before the cycle began, which count no more."""
    opening = view.recording.timeline.opening_tasks
    names = [task.name for task in view.tasks.values() if opening[task.key].status is TaskStatus.RELEASING]
    if names:
        yield f"{join_names(names)} {'is' if len(names) == 1 else 'are'} leaving"


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
        f"{count_noun(len(closed), 'pod')} of {job.uid} {are} behind a scheduling gate ({join_names(gates)}): "
        f"{join_names(task.name for task in closed)}; without, {reachable} of minMember {job.min_available} can be "
        "placed."
    )
    numbers = {
        "pods.gated": count(len(closed), "pods"),
        "pods.usable": count(reachable, "pods"),
        "job.minAvailable": count(job.min_available, "pods"),
    }
    left_out = proof_of(view.action_starts(ALLOCATE), "allocate leaves gated pods out")
    evidence = left_out or opening_evidence(view.recording, "the session opens with gated pods")
    advice = (owner_advice(f"whoever set {join_names(gates)} must remove it from spec.schedulingGates"),)
    return Finding(GATED, sentence, numbers, evidence, advice)
