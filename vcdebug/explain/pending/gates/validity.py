"""gang's JobValid and scheduling gates: whether the existing pods are enough for the gang."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial

from msgspec.structs import replace

from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import capitalize_first, count_noun, format_resource, join_names, verb_for
from vcdebug.explain.answer import (
    MAX_LINE_LENGTH,
    Advice,
    AdviceHarm,
    Cause,
    CauseHeadline,
    Evidence,
    Finding,
    counts,
    proof_of,
    required_pods,
)
from vcdebug.explain.component_reports import PodFailure, controller_fault, failure_of, known_report
from vcdebug.explain.decisions.evictions import Eviction, evictions_by_victim
from vcdebug.explain.job_view import ExplainSubject, JobView, MissingRole, missing_roles, workloads_of
from vcdebug.explain.pending import gang_parts
from vcdebug.explain.pending.gates.admission import format_fit, is_of_volcano_job
from vcdebug.explain.pending.gates.not_in_session import opening_evidence, other_scheduler_finding
from vcdebug.explain.pending.gates.queue_limits import allocatable_refusals
from vcdebug.explain.plugins.resourcequota import ExhaustedQuota, exhausted_quotas, next_pod_amounts, unstated_amounts
from vcdebug.explain.subject_names import ungrouped_pods
from vcdebug.framework.hooks import JOB_VALID
from vcdebug.framework.session import Session
from vcdebug.model.names import JobId
from vcdebug.model.pod import QUEUE_GATE, TRUE, VOLCANO_GATE, Pod
from vcdebug.model.pod_group import INQUEUE, PENDING, WAITING_PHASES
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import RESOURCEQUOTA
from vcdebug.recording.cluster_overview import other_invalid_jobs
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.releases.scheduling import PODGROUP_PHASE_RELEASING
from vcdebug.snapshot.manifest import (
    GROUP_ANNOTATION,
    annotations_of,
    find_condition,
    key_of,
    metadata_of,
    name_of,
    namespace_of,
    owner_keys,
    owner_names,
    owners_of,
    spec_of,
    status_of,
)
from vcdebug.snapshot.workloads import owner_objects

SKIP_FACT = "gang rejects such a job, so none of its pods is tried on a node."
_DESIRED_REPLICAS = "deployment.kubernetes.io/desired-replicas"
RUNNING_STATUSES = (TaskStatus.RUNNING, TaskStatus.BOUND, TaskStatus.BINDING)


def all_hidden(view: JobView) -> Finding | None:
    """The finding if the named pod, or every pod of the job, names another scheduler; else None."""
    named_pods = [pod for pod in view.hidden_pods if pod.key == view.pod]
    hidden_pods = named_pods or ([] if view.tasks else view.hidden_pods)
    return other_scheduler_finding(view.recording, view.job.uid, hidden_pods) if hidden_pods else None


def pods_outside(view: JobView) -> Finding | None:
    """The finding if the workload of a PodGroup without pods has pods of another scheduler; else None."""
    group, names = view.job.pod_group, view.recording.snapshot.flags.scheduler_names
    owners = owners_of(group.manifest) if not view.tasks else ()
    for owner, key in zip(owners, owner_keys(group.manifest), strict=False):
        # A Pod that owns the others, such as the leader of a LeaderWorkerSet, is one of them.
        own = view.recording.snapshot.find_object("Pod", key) if owner.get("kind") == "Pod" else None
        owned = (*([Pod(own)] if own else ()), *ungrouped_pods(view.recording).get(key, ()))
        pods = [pod for pod in owned if pod.scheduler_name not in names]
        if pods:
            kind = str(owner.get("kind"))
            fact = f"They do not name its PodGroup {group.name}, which has no pods, is {reservation_words(view)}."
            return other_scheduler_finding(view.recording, f"{kind} {key}", pods, kind, fact)
    return None


def reservation_words(view: JobView) -> str:
    """`Inqueue and reserves 3 cpu`: the phase of a PodGroup without running pods, and its minResources."""
    group, reserved = view.job.pod_group, view.job.get_min_resources()
    amount = "" if reserved.is_empty() or group.phase != INQUEUE else f" and reserves {format_resource(reserved)}"
    return f"{group.phase or PENDING}{amount}"


def scaled_down(view: JobView) -> Finding | None:
    """The finding if all pods of the job are terminating and their ReplicaSet or StatefulSet asks for none."""
    opening_task, snapshot = view.recording.timeline.opening_task, view.recording.snapshot
    owners = ((key, kind) for key in owner_keys(view.job.pod_group.manifest) for kind in ("ReplicaSet", "StatefulSet"))
    found = ((key, snapshot.find_object(kind, key)) for key, kind in owners)
    owner = next((key for key, one in found if one is not None and spec_of(one).get("replicas") == 0), "")
    leaving = [task for task in view.tasks.values() if opening_task(task.key).status is TaskStatus.RELEASING]
    if not owner or not leaving or len(leaving) < len(view.tasks):
        return None
    names, verb = join_names(task.name for task in leaving), verb_for(len(leaving), "is")
    reason = f"it asks for 0 pods, and {names} {verb} terminating"
    ends = max(str(metadata_of(task.pod.manifest).get("deletionTimestamp") or "") for task in leaving)
    fact = "Terminating pods do not count toward minMember"
    change = PODGROUP_PHASE_RELEASING
    if view.recording.snapshot.release.has_older_form(change):
        phase = "the PodGroup falls back to Inqueue and NotEnoughResources, although no room is short"
        fact += f", so {phase} (fixed in {join_names(change.fixed_in)}, {change.pull})"
    facts = (f"{fact}.", f"This ends with the pods, at {ends} at the latest.")
    evidence = opening_evidence(view.recording, "the session opens with pods that are terminating")
    return Finding(Cause.PLACES, CauseHeadline(owner, "has no pod to schedule", reason), {}, evidence, facts=facts)


def validity(view: JobView) -> Finding | None:
    """The finding about gang's JobValid; None if the job is valid."""
    calls = view.calls_about(JOB_VALID.upstream)
    failures = [(seq, event) for seq, event in calls if event.result and not event.result["pass"]]
    if not failures and view.tasks:
        return None
    job, hidden_pods = view.job, view.hidden_pods
    valid = job.valid_task_num()
    if hidden_pods and valid + len(hidden_pods) >= job.min_available:
        return other_scheduler_finding(view.recording, job.uid, hidden_pods)
    # Checked first: the owner cannot repair a lack of pods that evictions in this cycle caused.
    evictions = evictions_by_victim(view.recording).get(view.job.uid)
    if evictions and calls[0][1].result is None:
        return _lost_pods_finding(view, valid, evictions)
    if not view.tasks and (job.pod_group.phase in WAITING_PHASES or pods_outside(view)):
        return None
    said = tuple(Evidence(seq, f"gang: {event.result['message']}") for seq, event in failures[-1:])
    return _invalid_finding(view, valid, said or opening_evidence(view.recording, "the job has no pods"))


def _invalid_finding(view: JobView, valid: int, evidence: tuple[Evidence, ...]) -> Finding:
    """The finding about the pods that the gang or its roles lack, and why nothing creates them."""
    job, missing = view.job, max(view.job.min_available - valid, 0)
    parts = gang_parts.short_parts(job, evidence)
    amounts = next_pod_amounts(view)
    quotas = exhausted_quotas(view.recording, job.namespace, amounts, missing) if missing else ()
    full_quotas = sorted(quotas, key=lambda quota: quota.fitting)
    failed = [task for task in view.tasks.values() if task.status is TaskStatus.FAILED]
    failure = failure_of(view.recording, failed[0].pod) if failed else PodFailure()
    headline, fact = _validity_lines(view, valid, parts, failure)
    meant = gang_parts.tasks_by_meant_role(job)
    first_of_quota = list({quota.quota: quota for quota in reversed(full_quotas)}.values())[:2]
    has_full_quota = bool(first_of_quota)
    updates, update_advice = _creation_order(view, has_full_quota=has_full_quota) if missing else ((), ())
    others = other_invalid_jobs(view.recording, job.uid) if has_full_quota else ()
    reasons = [*(quota.describe_usage(others) for quota in first_of_quota), *updates]
    has_reason = bool(reasons or failure.advice or meant)
    advice = (
        *(line for quota in first_of_quota for line in quota.advice(missing)),
        *(line for quota in first_of_quota for line in _split_quota_advice(view, quota)),
        *update_advice,
        *failure.advice,
        *(_validity_advice(view, missing, valid, known_reason=has_reason) if missing or not parts else ()),
        *(line for part in parts if not missing for line in part.advice),
    )
    known = known_report(view.recording, ExplainSubject(job.uid)) if missing and not (reasons or failure.pod) else None
    if known is not None:
        why, advice = headline._replace(reason=f"{headline.reason}; {known.fact}"), (known.advice,)
        is_short = len(str(why)) <= MAX_LINE_LENGTH
        headline, reasons = (why, []) if is_short else (headline, [f"{capitalize_first(known.fact)}."])
    facts = (fact, *reasons) if failure.pod else tuple(reasons) or (fact,)
    facts = (*facts, *(fact for part in parts for fact in part.facts), *(gang_parts.stray_facts(job) if meant else ()))
    numbers = counts({"pods.valid": valid, "job.minAvailable": job.min_available, "pods.missing": missing})
    return Finding(Cause.NOT_ENOUGH, headline, numbers, evidence, advice, tuple(part.lack for part in parts), facts)


def _split_quota_advice(view: JobView, quota: ExhaustedQuota) -> Iterator[Advice]:
    """Yields what helps if several gangs hold parts of a quota that has room for none of them as a whole."""
    holding = [f"{view.job.namespace}/{holder.pod}" for holder in quota.holders if holder.waits]
    owners = dict.fromkeys(filter(None, map(view.recording.owners.jobs.get, holding)))
    others = sorted(job for job in other_invalid_jobs(view.recording, view.job.uid) if job in owners)
    if others:
        pods = sorted(task.name for job in others for task in view.session.jobs[job].tasks.values())
        counted = f"{join_names(pods, 3)} {verb_for(len(pods), 'counts')} in ResourceQuota {quota.quota} while Pending"
        admits = f"plugin {RESOURCEQUOTA}, with minResources in the PodGroups, admits only what the quota has room for"
        is_checked = RESOURCEQUOTA in view.recording.conf.plugin_names() and view.job.pod_group.min_resources
        words = f"Suspend or delete {join_names(others, 2)}, which also lacks pods of its gang: {counted}"
        yield Advice.from_outside(f"{words}{'' if is_checked else f'; {admits}'}.", AdviceHarm.QUEUE)


_CHECKS = "quota, webhook, controller log"


def _validity_advice(view: JobView, missing: int, valid: int, *, known_reason: bool) -> tuple[Advice, ...]:
    job, minimum = view.job.uid, view.job.min_available
    shortfall = f"created only {count_noun(len(view.tasks), 'pod')}" if view.tasks else "created no pods"
    if len(view.tasks) >= minimum:
        shortfall = f"has not replaced {len(view.tasks) - valid} of its pods (failed or terminating)"
    # A gang starts as a whole: where some of its pods run, the others existed.
    is_lost = bool(view.job.count_tasks(*RUNNING_STATUSES)) and len(view.tasks) < minimum
    if is_lost:
        shortfall = f"has not recreated {count_noun(missing, 'pod')}"
    # A PodGroup of a single pod, or of a leader, is owned by that pod, which creates no others.
    owner = next((each for each in owner_names(view.job.pod_group.manifest) if not each.startswith("Pod ")), "")
    checks = "quota, webhook, its log, or pods that it creates one after another" if owner else _CHECKS
    create = Advice.from_outside(f"Find out why {owner or f'the controller of {job}'} {shortfall} ({checks}).")
    create = create.as_first_step("the controller is not in the snapshot") if is_lost else create
    leaving = [task.name for task in view.tasks.values() if task.pod.deleting]
    if owner.startswith("StatefulSet ") and leaving:
        again = f"{owner} creates {leaving[0]} again only when the terminating pod of that name is gone"
        create = Advice.from_outside(f"Wait: {again} (on a lost node: kubectl delete pod {leaving[0]} --force).")
    advice = [] if known_reason else [create]
    if missing and valid:
        edit = f"PodGroup/{job}:spec.minMember={valid}"
        advice.append(Advice.for_owner(f"{job}: spec.minMember {minimum} -> {valid}.", edit))
    return tuple(advice)


_Reason = tuple[tuple[str, ...], tuple[Advice, ...]]


def _creation_order(view: JobView, *, has_full_quota: bool) -> _Reason:
    """(facts, advice) if the owner is suspended, or creates pods step by step or not those of some role; else empty."""
    if unread := _unread_pods(view):
        lacks = f"The scheduler leaves out {join_names(unread)}: {join_names(dict.fromkeys(unread.values()))}."
        words = "Create what these pods name, or add it to the snapshot if the cluster has it."
        return (lacks,), (Advice.from_outside(words),)
    if update := rolling_update(view):
        return (update,), (Advice.for_owner(f"{capitalize_first(MORE_SURGE)}."),)
    # A full quota explains the lack of pods as well without their owner, which a snapshot may lack.
    if not (view.tasks or has_full_quota) and (unnamed := _unnamed_group(view))[0]:
        return unnamed
    for owner, facts in workloads_of(view.recording, view.job.pod_group.manifest):
        if facts.suspended:
            advice = Advice.from_outside(f"Resume {owner} (suspend: false).")
            return (f"{owner} is suspended: no pods are created until it is resumed.",), (advice,)
    for kind in (name.partition(" ")[0] for name in owner_names(view.job.pod_group.manifest)):
        # Kubernetes' own controllers, such as that of batch/v1 Jobs, are not in the cluster's pods.
        fault = controller_fault(view.recording, kind) if kind != "Job" or is_of_volcano_job(view.job) else None
        if fault is not None:
            return (f"{capitalize_first(fault.fact)}.",), (fault.advice,)
    for owner_object in owner_objects(view.recording.snapshot, view.job.pod_group.manifest):
        facts_of_quota, quota_advice = unstated_amounts(view.recording, owner_object)
        if facts_of_quota:
            return tuple(facts_of_quota), tuple(quota_advice)
    for lack in missing_roles(view.recording, view.job):
        if not lack.earlier_role:
            of_role = f"role {lack.role} ({count_noun(lack.required_count, 'pod')})"
            advice = Advice.from_outside(f"Find out why {lack.owner} has not created {of_role} ({_CHECKS}).")
            return (f"{lack.owner} has created no pod of its {of_role}.",), (advice,)
        stuck = f"gang starts none of them before {view.job.min_available} pods exist: neither can come first."
        advice = Advice.from_outside(lack.without_order())
        return (f"{lack.order_words()}, and {stuck}",), (advice,)
    return (), ()


def _unread_pods(view: JobView) -> Mapping[str, str]:
    """Name of each pod of the job that the scheduler leaves out, since it cannot read its claims or volumes → why."""
    return _unread_by_job(view.recording).get(view.job.uid, {})


@per_recording()
def _unread_by_job(recording: Recording) -> Mapping[JobId, dict[str, str]]:
    unseen, by_job = recording.session.cluster.unseen, dict[JobId, dict[str, str]]()
    for pod in recording.snapshot.objects_of("Pod") if unseen else ():
        job = f"{namespace_of(pod)}/{annotations_of(pod).get(GROUP_ANNOTATION)}"
        if key_of(pod) in unseen:
            by_job.setdefault(job, {})[name_of(pod)] = unseen[key_of(pod)]
    return by_job


def _unnamed_group(view: JobView) -> _Reason:
    """(facts, advice) about a PodGroup made by hand, which has no owner."""
    group, jobs = view.job.pod_group, view.recording.snapshot.objects_of("Job")
    own = [job for job in jobs if key_of(job).startswith(f"{group.namespace}/")]
    stating = [job for job in own if f'"{group.name}"' in annotations_of(job).get(_LAST_APPLIED, "")]
    if owners_of(group.manifest):
        return (), ()
    named = f"No pod of this snapshot names it in annotation {GROUP_ANNOTATION}"
    annotate = "Annotate the pods that belong to it"
    if not own:
        words = f"{annotate} (their template): {GROUP_ANNOTATION}: {group.name}; or find out why they are not created."
        advice = Advice.from_outside(words)
        return tuple(filter(None, (f"{named}, and no object owns it.", _admitted_words(view)))), (advice,)
    has = f"Job {join_names(map(name_of, stating))}, which mentions it, has" if stating else "a Volcano Job always has"
    own_group = f"{has} a PodGroup of its own, with the queue and priority that the Job states"
    fact = f"{named}; {own_group}."
    delete = f"set queue {group.queue} and priorityClassName in the Job itself and delete PodGroup {group.name}"
    advice = Advice.from_outside(f"{annotate}; for pods of a Volcano Job {delete}.")
    return tuple(filter(None, (fact, _admitted_words(view)))), (advice,)


_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def with_creation_order(view: JobView, finding: Finding, shortage: str, lack: MissingRole) -> Finding:
    """The finding with the role that the owner creates later, and the pods of the earlier role that are not Ready."""
    before = f"{capitalize_first(finding.headline.reason)}."
    earlier = [task for task in view.tasks.values() if lack.earlier_role.lower() == task.task_role.lower()]
    unready = {task.name: reason for task in earlier if (reason := _unready_reason(task))}
    order = lack.order_words("is Ready" if unready else "runs")
    facts: tuple[str, ...] = (before,)
    advice = finding.advice
    if unready:
        names, are = join_names(unready), verb_for(len(unready), "is")
        facts = (f"{names} {are} Running but not Ready ({next(iter(unready.values()))}).", before)
        advice = (Advice.from_outside(f"Find out why {names} {are} not Ready (readinessProbe, log)."),)
    elif earlier and all(task.status is TaskStatus.SUCCEEDED for task in earlier):
        # The role that has to run first has succeeded, so that it is never counted as running.
        order = f"{order}, and {lack.earlier_role} has ended (Succeeded)"
        rule = "Volcano's controller can count only pods with Ready containers as running (#5424)"
        facts = (f"{rule}, and containers that have ended are not Ready: it may never create {lack.role}.", before)
        split = f"make {lack.role} a Job of its own (a JobFlow starts it after the other)"
        keep = f"keep {lack.earlier_role} running until {lack.role} runs"
        advice = (Advice.from_outside(f"Upgrade Volcano, or {split}, or {keep}."),)
    headline = CauseHeadline(view.job.uid, shortage, order)
    return replace(finding, headline=headline, facts=facts, advice=advice)


def _unready_reason(task: TaskInfo) -> str:
    """Why a running pod is not Ready, as its condition says; empty for a Ready one."""
    ready = find_condition(status_of(task.pod.manifest), "Ready")
    is_running = task.status is TaskStatus.RUNNING
    return str(ready.get("reason") or "no reason given") if is_running and ready.get("status") == "False" else ""


MORE_SURGE = "set maxSurge of the Deployment to 100%, so that all new pods exist at once"


def rolling_update(view: JobView) -> str:
    """The fact that a rolling update keeps the job's ReplicaSet below minMember; else empty."""
    find_set = partial(view.recording.snapshot.find_object, "ReplicaSet")
    for replicas in filter(None, map(find_set, owner_keys(view.job.pod_group.manifest))):
        desired, current = annotations_of(replicas).get(_DESIRED_REPLICAS, ""), spec_of(replicas).get("replicas")
        if not isinstance(current, int) or not desired.isdigit():
            continue
        if current < min(view.job.min_available, int(desired)):
            update = f"ReplicaSet {name_of(replicas)} is asked for {current} of {desired} replicas: a rolling update"
            return f"{update} adds pods step by step (maxSurge), once earlier ones are Ready."
    return ""


def _lost_pods_finding(view: JobView, valid: int, evictions: Sequence[Eviction]) -> Finding:
    """The finding that evictions in this cycle made the job invalid, which was valid before."""
    job, eviction = view.job, evictions[0]
    same_job = " of the same job" if eviction.preemptor in view.tasks else ""
    beneficiary = f" for {eviction.preemptor}{same_job}" if eviction.preemptor else ""
    reason = f"{eviction.action} evicts {join_names((e.victim for e in evictions), 2)}{beneficiary}"
    headline = CauseHeadline(job.uid, "fell below minMember in this cycle", reason)
    facts = (f"{valid} of the {required_pods(job.min_available)} {verb_for(valid, 'remains')}.",)
    numbers = counts({"pods.valid": valid, "pods.evicted": len(evictions), "job.minAvailable": job.min_available})
    evidence = tuple(Evidence(e.end, f"{e.action} evicts {e.victim}") for e in evictions)
    advice = (
        Advice.from_outside("Its controller must recreate the evicted pods."),
        Advice.for_owner(f"{job.uid}: set spec.minMember below the number of its pods."),
    )
    return Finding(Cause.NOT_ENOUGH, headline, numbers, evidence, advice, facts=facts)


def _validity_lines(
    view: JobView, valid: int, parts: Sequence[gang_parts.ShortPart], failure: PodFailure
) -> tuple[CauseHeadline, str]:
    """(first line, the fact below it)."""
    job, opening = view.job, view.recording.timeline.opening_tasks
    pending, required = partial(CauseHeadline, job.uid, "is Pending"), required_pods(job.min_available)
    if valid >= job.min_available:
        met = f"The {count_noun(valid, 'pod')} that it has {verb_for(valid, 'meets')} minMember {job.min_available}"
        skipped = f"{met}, but gang rejects the job as long as {parts[0].state}." if parts else SKIP_FACT
        return pending(parts[0].lack if parts else "it has no pod that could be scheduled"), skipped
    running = job.count_tasks(*RUNNING_STATUSES)
    if running:
        reason = f"{running} of the {required} {verb_for(running, 'runs')}, {_other_pods_words(view)}"
        lost = "it" if job.min_available - valid == 1 else "them"
        skipped = f"Nothing can be scheduled until the controller recreates {lost}."
        return CauseHeadline(job.uid, "is incomplete", reason), " ".join((*failure.facts, skipped))
    if not view.tasks:
        check = _admitted_words(view) or "Check the controller that creates them, and the quotas."
        has_none = "has no pods that the scheduler can read" if _unread_pods(view) else "has no pods in this snapshot"
        return CauseHeadline(job.uid, has_none, f"0 of minMember {job.min_available}"), check
    have = f"it has {valid} of the {required}"
    if failure.pod:
        why = f" ({failure.reason})" if failure.reason else ""
        return pending(f"{have}; {_other_pods_words(view)}{why}"), " ".join(failure.facts) or SKIP_FACT
    # Pods that were terminating before the cycle began.
    leaving = [task.name for task in view.tasks.values() if opening[task.key].status is TaskStatus.RELEASING]
    causes = [capitalize_first(part.lack) for part in parts]
    causes += [f"{join_names(leaving)} {verb_for(len(leaving), 'is')} terminating"] if leaving else []
    return pending(have), f"{'; '.join(causes)}." if causes else SKIP_FACT


def _admitted_words(view: JobView) -> str:
    """That a PodGroup without pods is admitted, and whether pods for its minResources would fit; else empty."""
    if view.job.pod_group.phase != INQUEUE or view.job.get_min_resources().is_empty():
        return ""
    may = ", so its controller may create them" if owners_of(view.job.pod_group.manifest) else ""
    return f"It is admitted (Inqueue){may}. {format_fit(view)}"


def _other_pods_words(view: JobView) -> str:
    """`6 are Pending, 1 is Failed, 1 is not in this snapshot`: the pods of the minimum that do not run."""
    statuses = Counter(task.status for task in view.tasks.values() if task.status not in RUNNING_STATUSES)
    counts = [(count, status.upstream_name) for status, count in sorted(statuses.items())]
    missing = view.job.min_available - len(view.tasks)
    absent = "unreadable for the scheduler" if _unread_pods(view) else "not in this snapshot"
    counts += [(missing, absent)] if missing > 0 else []
    return ", ".join(f"{count} {verb_for(count, 'is')} {state_words}" for count, state_words in counts)


def gated_job(view: JobView) -> Finding | None:
    """The finding if the job cannot reach minMember without its gated pods; else None."""
    gated_tasks = [task for task in view.unplaced_tasks if task.sch_gated]
    job, ungated = view.job, len(view.unplaced_tasks) - len(gated_tasks)
    reachable, minimum = job.ready_task_num() + job.waiting_task_num() + ungated, job.min_available
    if not gated_tasks or (ungated and reachable >= minimum):
        return None
    if allocatable_refusals(view) and all(is_opened_by_scheduler(view.session, task.pod) for task in gated_tasks):
        return None  # The scheduler removes its own gate once the queue has room: the queue is the cause.
    gates = dict.fromkeys(gate for task in gated_tasks for gate in task.pod.scheduling_gates)
    names, pods = join_names(gates), join_names(task.name for task in gated_tasks)
    gate = "a scheduling gate" if len(gates) == 1 else "scheduling gates"
    reason = f"{count_noun(len(gated_tasks), 'pod')} {verb_for(len(gated_tasks), 'has')} {gate} ({names})"
    short = f"minMember asks for {minimum}; without {pods}, {reachable} {verb_for(reachable, 'is')} available."
    facts = (f"minMember {minimum} is met without {pods}." if reachable >= minimum else short,)
    numbers = counts({"pods.gated": len(gated_tasks), "pods.usable": reachable, "job.minAvailable": minimum})
    skip_evidence = proof_of(view.action_starts(ALLOCATE), "allocate skips pods with scheduling gates")
    evidence = skip_evidence or opening_evidence(view.recording, "the session opens with gated pods")
    return view.pending(Cause.GATED, reason, numbers, evidence, (_gate_advice(view, gated_tasks, gates),), facts=facts)


def is_opened_by_scheduler(session: Session, pod: Pod) -> bool:
    """Whether the scheduler itself removes the pod's gate once its queue has room."""
    asks = pod.has_only_volcano_gate and pod.annotations.get(VOLCANO_GATE) == TRUE
    return asks and session.flags.is_gate_on(QUEUE_GATE)


def _gate_advice(view: JobView, gated_tasks: Sequence[TaskInfo], gates: Collection[str]) -> Advice:
    """Who has to remove the gates: another controller, or the scheduler if the pods and its start ask for it."""
    if not all(task.pod.has_only_volcano_gate for task in gated_tasks):
        owns = "owns gate" if len(gates) == 1 else "owns gates"
        words = f"The controller that {owns} {join_names(gates)} must remove it from spec.schedulingGates."
        return Advice.from_outside(words)
    if not all(task.pod.annotations.get(VOLCANO_GATE) == TRUE for task in gated_tasks):
        return Advice.for_owner(f'Annotate the pods with {VOLCANO_GATE}: "true"; else no scheduler removes the gate.')
    if not view.session.flags.is_gate_on(QUEUE_GATE):
        return Advice.cluster_admin(f"Start the scheduler with --feature-gates={QUEUE_GATE}=true, to remove the gate.")
    return Advice.for_owner("Wait for the next cycle: the queue has room, so the scheduler removes the gate.")
