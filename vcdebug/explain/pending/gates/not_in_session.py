"""Jobs and pods that are not in the session."""

from collections.abc import Iterator, Sequence

from vcdebug.actions import ENQUEUE
from vcdebug.amount_text import capitalize_first, count_noun, format_age, join_names, lower_first, shorten_end, verb_for
from vcdebug.errors import closest_name
from vcdebug.explain.answer import (
    Advice,
    Cause,
    CauseHeadline,
    Evidence,
    Finding,
    counts,
    pending_headline,
    proof_of,
    seconds_since,
)
from vcdebug.explain.component_reports import (
    KUBELET_EVICTED,
    PodFailure,
    controller_fault,
    controller_pods,
    ending_policies,
    failure_of,
    known_report,
)
from vcdebug.explain.job_view import OPERATORS, ExplainSubject
from vcdebug.explain.plugins.resourcequota import quota_that_ended
from vcdebug.explain.subject_names import ungrouped_pods, unmade_workloads
from vcdebug.framework.record import StateEvent
from vcdebug.model.names import JobId
from vcdebug.model.pod import Pod, PodIdentity
from vcdebug.model.pod_group import INQUEUE, PENDING, PodGroup
from vcdebug.recording.recording import Recording
from vcdebug.recording.writes import iter_unscheduled_messages
from vcdebug.snapshot.kinds import WORKLOAD_NAMES
from vcdebug.snapshot.manifest import (
    GROUP_ANNOTATION,
    MADE_GROUP_PREFIX,
    JsonObject,
    bare_name,
    key_of,
    name_of,
    object_in,
    object_list,
    owner_keys,
    owner_names,
    owners_of,
    spec_of,
    status_of,
    workload_key,
)
from vcdebug.snapshot.object_checks import join_kinds, missing_kinds, object_that_counts_pods, supplying_command
from vcdebug.snapshot.reported_events import CONTROLLER_KINDS, ENDED_JOB_PHASES
from vcdebug.snapshot.snapshot import Snapshot
from vcdebug.snapshot.workloads import circular_flows, policies_of, volcano_job_of


def not_in_session(recording: Recording, subject: ExplainSubject) -> Finding:
    """Why a job or pod is not in the session."""
    pods = _pods_of(recording, subject if not subject.job else ExplainSubject(subject.job))
    group = _group_named(recording, subject.job)
    foreign_pods = _pods_of_other_schedulers(recording, pods)
    if group is not None:
        queue = group.queue or recording.snapshot.flags.default_queue
        if queue in recording.session.queues:
            return _unreadable_finding(recording, subject)
        if foreign_pods:
            return other_scheduler_finding(recording, subject.job, foreign_pods)
        capture_finding = capture_incomplete(recording, subject) if _is_missing(recording, "Queue") else None
        return capture_finding or _queue_missing_finding(recording, subject, queue)
    unmade = _unmade_group_finding(recording, subject) if not pods else None
    if outside := _ended_job_finding(recording, subject, pods) or unmade:
        return outside
    has_groups = not subject.job or not _is_missing(recording, "PodGroup")
    capture_finding = None if has_groups else capture_incomplete(recording, subject)
    if capture_finding is not None and _lacks_one_group(recording, pods):
        words = capture_finding.advice[0].text
        either = f"The snapshot has no PodGroup at all; if the cluster has some: {lower_first(words)}"
        return _no_pod_group_finding(recording, subject, pods).with_additions(either)
    if pods and all(pod.node_name for pod in pods) and capture_finding is None:
        return _pods_on_nodes_finding(recording, pods)
    if foreign_pods:
        return other_scheduler_finding(recording, subject.job or foreign_pods[0].key, foreign_pods)
    return capture_finding or _no_pod_group_finding(recording, subject, pods)


def _lacks_one_group(recording: Recording, pods: Sequence[Pod]) -> bool:
    """Whether these Pending pods, whose PodGroup Volcano's controller makes, are the only ones that name a PodGroup:
    then it may be missing in the cluster too.
    """
    named = [Pod(raw) for raw in recording.snapshot.objects_of("Pod") if PodIdentity.of_manifest(raw).job]
    is_made = bool(next(_made_group_facts(pods), ""))
    others = [kind for kind in missing_kinds(recording.snapshot) if kind.name != "PodGroup"]
    return is_made and not others and len(named) == len(pods) and not any(pod.node_name for pod in pods)


def _pods_of_other_schedulers(recording: Recording, pods: list[Pod]) -> list[Pod]:
    names = recording.snapshot.flags.scheduler_names
    return [pod for pod in pods if not pod.node_name and pod.scheduler_name not in names]


def incomplete(snapshot: Snapshot) -> str:
    """The kinds that the snapshot lacks and every cause needs, with the command that adds them; empty for none."""
    kinds = missing_kinds(snapshot)
    return f"the snapshot has {join_kinds(kinds)}; add the output of `{supplying_command(kinds)}`" if kinds else ""


def _is_missing(recording: Recording, kind: str) -> bool:
    return kind in [missing.name for missing in missing_kinds(recording.snapshot)]


def capture_incomplete(recording: Recording, subject: ExplainSubject) -> Finding | None:
    """The finding if the snapshot lacks kinds that every cause needs; None if it lacks none."""
    kinds = missing_kinds(recording.snapshot)
    if not kinds:
        return None
    group, pods = _group_named(recording, subject.job), _pods_of(recording, subject)
    provenance = recording.snapshot.provenance
    one_namespace = provenance is not None and provenance.namespace
    if one_namespace and group is not None and pods and all(pod.node_name for pod in pods):
        reason = "its pod has a node" if len(pods) == 1 else f"its {len(pods)} pods have nodes"
        headline = CauseHeadline(subject.pod or subject.job, "has no Pending pods", reason)
        return Finding(Cause.PLACES, headline, {}, opening_evidence(recording, "the session opens without the job"))
    quotes, facts = ([], ()) if group is None else _stated_reasons(group, pods, of_pod=subject.pod is not None)
    headline = CauseHeadline(subject.job, "cannot be explained", f"the snapshot has {join_kinds(kinds)}")
    if quotes:
        headline, facts = pending_headline(subject.job, f"the scheduler says {quotes[0]}"), (str(headline), *facts)
    elif [kind.name for kind in kinds] == ["Pod"]:
        facts = (f"{object_that_counts_pods(recording.snapshot)}.",)
    command = f"Add the output of `{supplying_command(kinds)}` to the snapshot, or use `vcdebug capture`."
    evidence = opening_evidence(recording, f"the session opens with {join_kinds(kinds)}")
    return Finding(Cause.CAPTURE_INCOMPLETE, headline, {}, evidence, (Advice.from_outside(command),), facts=facts)


MAX_QUOTED = 90


def _stated_reasons(group: PodGroup, pods: list[Pod], *, of_pod: bool) -> tuple[list[str], tuple[str, ...]]:
    """(quoted messages of the scheduler about the job or pod, shortest first; facts that its objects state)."""
    waiting = [pod for pod in pods if not pod.node_name]
    messages = [message for pod in waiting for _, message in iter_unscheduled_messages(pod.manifest)]
    if not of_pod:
        conditions = [one for one in group.conditions if (one.type, one.status) == ("Unschedulable", "True")]
        messages += [condition.message for condition in conditions]
    messages = list(dict.fromkeys(filter(None, messages)))
    quotes = [f'"{shorten_end(text, MAX_QUOTED)}"' for text in sorted(messages, key=len)]
    pod_counts = f"{count_noun(len(pods), 'pod')} and minMember {group.min_member}"
    phase_fact = f"Its PodGroup is {group.phase or PENDING}, with {pod_counts}."
    return quotes, (*([] if of_pod else [phase_fact]), *(f'The scheduler: "{text}".' for text in messages))


def _pods_of(recording: Recording, subject: ExplainSubject) -> list[Pod]:
    """The named pod, else all pods of the job; all pods without a job if the job is empty."""
    manifests = ((PodIdentity.of_manifest(manifest), manifest) for manifest in recording.snapshot.objects_of("Pod"))
    key = subject.pod
    return [Pod(raw) for identity, raw in manifests if (identity.key == key if key else identity.job == subject.job)]


def other_scheduler_finding(
    recording: Recording, subject: str, hidden_pods: Sequence[Pod], kind: str = "", group_fact: str = ""
) -> Finding:
    """The finding for pods that name another scheduler, of a workload of a kind, with a fact about its PodGroup."""
    own_names = recording.snapshot.flags.scheduler_names
    foreign_names = ", ".join(dict.fromkeys(pod.scheduler_name or "none" for pod in hidden_pods))
    use = f"{count_noun(len(hidden_pods), 'pod')} {verb_for(len(hidden_pods), 'uses')} schedulerName {foreign_names}"
    reason = f"{use}; this scheduler handles only {' or '.join(own_names)}"
    nodes = join_names(dict.fromkeys(pod.node_name for pod in hidden_pods if pod.node_name))
    have_nodes = all(pod.node_name for pod in hidden_pods)
    headline = CauseHeadline(subject, "is not scheduled by Volcano" if have_nodes else "is Pending", reason)
    where = f" (on {nodes})" if nodes else ""
    facts = (f"Pods: {join_names(pod.name for pod in hidden_pods)}{where}.", *filter(None, (group_fact,)))
    numbers = counts({"pods.hidden": len(hidden_pods)})
    evidence = opening_evidence(recording, "the session opens without them")
    create = f"create the pods with spec.schedulerName {own_names[0]}."
    either = f"Nothing has to change if {foreign_names} is meant to schedule them; else {create}"
    advice = (Advice.for_owner(either if have_nodes else capitalize_first(create)),)
    if kind in OPERATORS and (setting := OPERATORS[kind].setting):
        words = f"Its operator hands the pods to Volcano only with {setting}: set that, and submit it again."
        advice = (Advice.from_outside(words).as_repair(),)
    return Finding(Cause.OTHER_SCHEDULER, headline, numbers, evidence, advice, facts=facts)


def opening_evidence(recording: Recording, text: str) -> tuple[Evidence, ...]:
    """The event with the state of the opened session, as evidence."""
    return proof_of(next(iter(recording.index.seqs_of_type(StateEvent)), None), text)


def _all_groups(recording: Recording) -> list[PodGroup]:
    return [PodGroup(manifest) for manifest in recording.snapshot.objects_of("PodGroup")]


def _group_named(recording: Recording, job: JobId) -> PodGroup | None:
    manifest = recording.snapshot.find_object("PodGroup", job)
    return None if manifest is None else PodGroup(manifest)


def _queue_missing_finding(recording: Recording, subject: ExplainSubject, queue: str) -> Finding:
    queues = list(recording.session.queues)
    similar = closest_name(queue, queues)
    headline = pending_headline(subject.job, f"its queue {queue} is not in this snapshot")
    facts = (f"Queues in the snapshot: {join_names(queues, 6)}.{f' Did you mean {similar}?' if similar else ''}",)
    edits = (f"PodGroup/{subject.job}:spec.queue={similar}",) if similar else ()
    words = f"PodGroup {subject.job}: set spec.queue to {similar or 'an existing queue'}."
    queue_advice = Advice.for_owner(words, *edits)._replace(repairs=bool(similar))
    evidence = opening_evidence(recording, "the session opens without the job")
    advice = (queue_advice, Advice.queue_admin(f"Create queue {queue}."))
    numbers = counts({"queues": len(queues)})
    return Finding(Cause.QUEUE_MISSING, headline, numbers, evidence, advice, facts=facts)


def _unreadable_finding(recording: Recording, subject: ExplainSubject) -> Finding:
    headline = CauseHeadline(subject.job, "cannot be replayed", "its PodGroup in this snapshot is not readable")
    evidence = opening_evidence(recording, "the session opens without the job")
    lines = tuple(p.format_line() for p in recording.snapshot.problems if subject.job in p.object)
    advice = Advice.for_owner("Correct the PodGroup; vcdebug inspect lists what is wrong.")
    return Finding(Cause.NOT_IN_SESSION, headline, {}, evidence, (advice,), lines)


def _no_pod_group_finding(recording: Recording, subject: ExplainSubject, pods: list[Pod]) -> Finding:
    if subject.job:
        verb = verb_for(len(pods), "names")
        reason = f"{count_noun(len(pods), 'pod')} {verb} this PodGroup, which is not in this snapshot"
        facts = (*_made_group_facts(pods), *_same_name_facts(recording, subject))
    else:
        reason = "it has no PodGroup, so no Volcano job contains it"
        facts = (f"Annotation {GROUP_ANNOTATION} is missing.",)
    advice = "Create the PodGroup; Volcano's controllers do so for Volcano Jobs and for plain pods."
    if subject.job and (namespaces := _namespaces_with(recording, subject)):
        advice = f"Create the pod in namespace {namespaces[0]}, or a PodGroup in the pod's namespace."
    pods_words = "the pod" if len(pods) == 1 else "the pods"
    evidence = opening_evidence(recording, f"the session opens without a job for {pods_words}")
    headline, numbers = pending_headline(subject.job or subject.pod or "", reason), counts({"pods": len(pods)})
    recreate = _recreation_advice(recording, pods) if subject.job else (_controller_advice(pods),)
    return Finding(Cause.NO_POD_GROUP, headline, numbers, evidence, (Advice.for_owner(advice), *recreate), facts=facts)


def _made_group_facts(pods: Sequence[Pod]) -> Iterator[str]:
    """Yields a sentence if Volcano's controller gives the PodGroup's name to that of the pods' owner."""
    for pod in pods[:1]:
        for owner, name in zip(owners_of(pod.manifest)[:1], owner_names(pod.manifest), strict=False):
            if pod.annotations.get(GROUP_ANNOTATION) == f"{MADE_GROUP_PREFIX}{owner.get('uid')}":
                controller = "Volcano's controller makes a PodGroup of this name"
                yield f"{controller} for {name}, which {pod.name} names: it was deleted, or not made yet."


def _controller_advice(pods: Sequence[Pod]) -> Advice:
    """Where Volcano's controller says why it has created no PodGroup for plain pods."""
    owners = (owner for pod in pods for owner in owners_of(pod.manifest)[:1])
    owner = next((str(one.get("kind")).lower() for one in owners), "pod")
    log = f"kubectl -n volcano-system logs -l app=volcano-controller --tail=-1 | grep {pods[0].key}"
    hint = f"forbidden (blockOwnerDeletion) means that its ClusterRole lacks update on {owner}s/finalizers"
    return Advice.from_outside(f"See in the log of Volcano's controller why it created none: {log} ({hint}).")


def _recreation_advice(recording: Recording, pods: Sequence[Pod]) -> tuple[Advice, ...]:
    """Pods that name a PodGroup which Volcano's controller made for an earlier owner: new pods get a new one."""
    owned = [(pod, owners_of(pod.manifest)[0]) for pod in pods if not pod.node_name and owners_of(pod.manifest)]
    if not owned:
        return ()
    owner = owned[0][1]
    owner_name, name = owner_names(owned[0][0].manifest)[0], f"{MADE_GROUP_PREFIX}{owner.get('uid')}"
    group_name = owned[0][0].annotations.get(GROUP_ANNOTATION, "")
    controller_fact = "Volcano's controller makes none for pods that name"
    if not group_name.startswith(MADE_GROUP_PREFIX):
        return (Advice.from_outside(f"Find out why {owner_name} has no PodGroup {group_name}; {controller_fact} one."),)
    namespace = owned[0][0].namespace
    edits = [
        f"PodGroup/{namespace}/{name}:+={new_group_text(recording)}",
        *(f"Pod/{pod.key}:metadata.annotations[{GROUP_ANNOTATION}]={name}" for pod, _ in owned),
    ]
    pronoun = "it" if len(owned) == 1 else "them"
    words = f"Delete {join_names(pod.name for pod, _ in owned)}: {owner_name} creates {pronoun} again, with a PodGroup"
    gone = "one that is gone" if group_name == name else "an earlier one"
    return (Advice.for_owner(f"{words} ({controller_fact} {gone}).", *edits).as_repair(),)


def new_group_text(recording: Recording) -> str:
    """The manifest of a PodGroup as Volcano's controller makes it for one pod, as an edit takes it."""
    # Without enqueue among the actions no action admits a Pending PodGroup.
    phase = PENDING if ENQUEUE in recording.conf.actions else INQUEUE
    spec = f"{{minMember: 1, queue: {recording.snapshot.flags.default_queue}}}"
    return f"{{apiVersion: scheduling.volcano.sh/v1beta1, spec: {spec}, status: {{phase: {phase}}}}}"


def _unmade_group_finding(recording: Recording, subject: ExplainSubject) -> Finding | None:
    """The finding for a Volcano Job or JobFlow whose controller has created nothing; None for another subject."""
    owners = ((kind, manifest) for kind in ("Job", "JobFlow") for manifest in recording.snapshot.objects_of(kind))
    kind, owner = next(((kind, manifest) for kind, manifest in owners if key_of(manifest) == subject.job), ("", None))
    evidence = opening_evidence(recording, "the session opens without the job")
    if owner is None:
        kind = unmade_workloads(recording.snapshot).get(subject.job, "")
        if kind and kind not in WORKLOAD_NAMES:
            return _controller_finding(recording, subject, kind, evidence)
        return _unmade_workload_finding(recording, subject, kind, evidence) if kind else None
    state = object_in(status_of(owner).get("state"))
    phase, name = str(state.get("phase") or ""), f"{kind.lower()} {subject.job}"
    missing_kind = "PodGroup" if kind == "Job" else "Job"
    reason = f"its controller has made no {missing_kind} for it, so no scheduler knows it"
    quotes = [f'"{state[part]}"' for part in ("reason", "message") if state.get(part)]
    facts: tuple[str, ...] = (f"Its state is {phase or 'empty'}{f', with {join_names(quotes)}' if quotes else ''}.",)
    advice = Advice.from_outside(
        "Look into the log of Volcano's controller: kubectl -n volcano-system logs -l app=volcano-controller"
    )
    if known := controller_fault(recording, "Job") or known_report(recording, subject):
        facts = (f"{capitalize_first(reason)}.", *_surplus_claims(recording, owner))
        reason, advice = known.fact, known.advice
    if circular := circular_flows(owner):
        flows = f"flow{'s' if len(circular) > 1 else ''} {join_names(circular)}"
        depend = verb_for(len(circular), "depends")
        facts = (f"{capitalize_first(reason)}. {facts[0]}",)
        reason = f"{flows} {depend} on {'itself' if len(circular) == 1 else 'themselves or each other'} and never start"
        advice = Advice.for_owner(f"Correct dependsOn.targets of {flows} in spec.flows.")
    return Finding(Cause.NO_POD_GROUP, pending_headline(name, reason), {}, evidence, (advice,), facts=facts)


def _surplus_claims(recording: Recording, job: JsonObject) -> Iterator[str]:
    """Yields a sentence about the claims that the controller made for a job without pods, one for each try."""
    claims = [
        name_of(claim)
        for claim in recording.snapshot.objects_of("PersistentVolumeClaim")
        if f"Job {name_of(job)}" in owner_names(claim) and key_of(claim).startswith(f"{key_of(job)}-")
    ]
    wanted = len([one for one in object_list(spec_of(job).get("volumes")) if "volumeClaim" in one])
    if len(claims) > max(wanted, 1):
        made = f"It has made {len(claims)} claims for {count_noun(wanted, 'volume')} ({join_names(claims)})"
        yield f"{made}: delete what is surplus once the job runs."


def _ended_job_finding(recording: Recording, subject: ExplainSubject, pods: Sequence[Pod]) -> Finding | None:
    """The finding for a Volcano Job or JobFlow that has ended, or for a pod of one; None for another subject."""
    named = (job for kind in ("Job", "JobFlow") for job in recording.snapshot.objects_of(kind))
    owners = [job for pod in pods[:1] if (job := volcano_job_of(recording.snapshot, pod.manifest)) is not None]
    owner = next((job for job in (*named, *owners) if key_of(job) == subject.job or job in owners), None)
    status = {} if owner is None else status_of(owner)
    phase = str(object_in(status.get("state")).get("phase") or "")
    if owner is None or phase not in ENDED_JOB_PHASES:
        return None
    reason, facts, advice = ended_job(recording, owner, pods)
    evidence = opening_evidence(recording, "the session opens without the job")
    headline = CauseHeadline(f"{str(owner.get('kind')).lower()} {key_of(owner)}", "has ended", reason)
    return Finding(Cause.PLACES, headline, {}, evidence, tuple(advice), facts=tuple(facts))


def ended_job(
    recording: Recording, owner: JsonObject, pods: Sequence[Pod]
) -> tuple[str, Sequence[str], Sequence[Advice]]:
    """(reason, facts, advice) of a Volcano Job or JobFlow that has ended: what ended it, and what starts it again."""
    status = status_of(owner)
    phase = str(object_in(status.get("state")).get("phase") or "")
    reason, facts, advice = f"its state is {phase}", list[str](), list[Advice]()
    failed = [pod for pod in pods if status_of(pod.manifest).get("phase") == "Failed"]
    if failed:
        failure = failure_of(recording, failed[0])
        rejected = f"; the kubelet of {failed[0].node_name} rejected {failure.pod} ({failure.reason})"
        reason += rejected if failure.advice and failure.reason != KUBELET_EVICTED else ""
        facts, advice = [*failure.facts], [*failure.advice]
    retries, most = status.get("retryCount"), spec_of(owner).get("maxRetry") or DEFAULT_MAX_RETRY
    retried = phase == "Failed" and isinstance(retries, int) and retries >= most
    if retried:
        reason = f"its state is {phase}, since retryCount {retries} has reached spec.maxRetry {most}"
        facts += _resume_facts(status)
        advice.append(Advice.for_owner("Create the job again, with a higher spec.maxRetry if restarts are expected."))
    elif phase == "Failed" and not advice:
        policy = "; a policy such as PodFailed: RestartTask lets its controller create failed pods again"
        has_policy = any(event in ("PodFailed", "*") for event, _ in policies_of(owner))
        words = f"Create the job again: an ended job is not started again{'' if has_policy else policy}."
        advice.append(Advice.for_owner(words))
    policy_facts, policy_advice = ending_policies(owner, phase, retried=retried)
    if phase == "Terminated" and not policy_facts:
        policy_facts, policy_advice = quota_that_ended(recording, owner)
    return reason, [*facts, *policy_facts, *_flow_facts(recording, owner)], [*policy_advice, *advice]


def _flow_facts(recording: Recording, job: JsonObject) -> Iterator[str]:
    """Yields a sentence about the JobFlow of a Job that has ended: what it does not create, or that nothing is left."""
    jobs = recording.snapshot.objects_of("Job")
    for flow in filter(None, (recording.snapshot.find_object("JobFlow", key) for key in owner_keys(job))):
        phase = object_in(status_of(flow).get("state")).get("phase") or PENDING
        states = {name_of(one): object_in(status_of(one).get("state")).get("phase") for one in jobs}
        flows = [str(one.get("name")) for one in object_list(spec_of(flow).get("flows"))]
        missing = [each for each in flows if f"{name_of(flow)}-{each}" not in states]
        if missing:
            rule = "a flow starts only once the Jobs that it depends on are Completed"
            yield f"JobFlow {name_of(flow)} is {phase} and has made no Job of {join_names(missing)}: {rule}."
        elif all(states[f"{name_of(flow)}-{each}"] in ENDED_JOB_PHASES for each in flows):
            ended = f"its {count_noun(len(flows), 'Job')} {verb_for(len(flows), 'has')} ended"
            if phase == PENDING and "Terminated" in states.values():
                ended += " (before v1.13 its controller does not count Terminated as an end)"
            yield f"JobFlow {name_of(flow)} is {phase}, and {ended}: it has nothing more to create, and can be deleted."


DEFAULT_MAX_RETRY = 3
"""spec.maxRetry of a Volcano Job that states none."""


def _resume_facts(status: JsonObject) -> Iterator[str]:
    """Yields a sentence if restarts of a Volcano Job were resumes after an abort, which count as restarts, too."""
    states = [one.get("status") for one in object_list(status.get("conditions"))]
    resumes = sum(states[at : at + 2] == ["Aborted", "Restarting"] for at in range(len(states)))  # exact: ints
    if resumes:
        order = "Aborted, then Restarting"
        yield f"It was resumed {count_noun(resumes, 'time')} ({order}); each resume counts as a restart."


def _pods_on_nodes_finding(recording: Recording, pods: Sequence[Pod]) -> Finding:
    """The finding for pods with a node whose PodGroup is not in the snapshot."""
    pod, lone = pods[0], "it belongs to no Volcano job"
    phase = str(status_of(pod.manifest).get("phase") or "")
    evidence = opening_evidence(recording, "the session opens with the pod on its node")
    if phase not in ("Failed", "Succeeded"):
        headline = CauseHeadline(pod.key, f"already runs on {pod.node_name}", lone)
        return Finding(Cause.PLACES, headline, {}, evidence)
    failure = failure_of(recording, pod) if phase == "Failed" else PodFailure()
    state = f"it is {phase}{f' ({failure.reason})' if failure.reason else ''}; {lone}"
    headline = CauseHeadline(pod.key, "is not Pending", state)
    return Finding(Cause.PLACES, headline, {}, evidence, failure.advice, facts=failure.facts)


def _unmade_workload_finding(
    recording: Recording, subject: ExplainSubject, kind: str, evidence: tuple[Evidence, ...]
) -> Finding:
    """The finding for an operator's object without a PodGroup: its pods, or why it has none."""
    if ungrouped_pods(recording).get(subject.job, ()):
        return _controller_finding(recording, subject, kind, evidence)
    namespace, _, name = subject.job.rpartition("/")
    workload, facts = recording.snapshot.workloads[workload_key(namespace, kind, name)], tuple[str, ...]()
    subject_text = f"{kind} {subject.job}"
    if workload.ended:
        headline = CauseHeadline(subject_text, "has ended", f"its state is {workload.ended}")
        return Finding(Cause.PLACES, headline, {}, evidence)
    reason, words = "it is suspended", "Resume it (suspend: false)."
    if not workload.suspended:
        reason = "its operator has made no PodGroup and no pods for it"
        checks = "is the batch scheduler Volcano enabled, and may it create podgroups of scheduling.volcano.sh (RBAC)?"
        words = f"Look into the log of the operator of {kind}: {checks}"
    if pods := controller_pods(recording, kind):
        words += f" kubectl -n {pods[0].namespace} logs {pods[0].name}"
    headline, advice = pending_headline(subject_text, f"{reason}, so no scheduler knows it"), Advice.from_outside(words)
    if not workload.suspended and (known := controller_fault(recording, kind) or known_report(recording, subject)):
        headline = pending_headline(subject_text, known.fact)
        facts = (f"{capitalize_first(reason)}.",)
        advice = known.advice
    return Finding(Cause.NO_POD_GROUP, headline, {}, evidence, (advice,), facts=facts)


def _controller_finding(
    recording: Recording, subject: ExplainSubject, kind: str, evidence: tuple[Evidence, ...]
) -> Finding:
    """The finding for a StatefulSet, Deployment or the like without a PodGroup: its pods, or why it has none."""
    pods, names = ungrouped_pods(recording).get(subject.job, ()), recording.snapshot.flags.scheduler_names
    subject_text, (namespace, _, name) = f"{kind} {subject.job}", subject.job.partition("/")
    if hidden_pods := [pod for pod in pods if pod.scheduler_name not in names]:
        return other_scheduler_finding(recording, subject_text, hidden_pods, kind)
    if pods:
        fault, have = controller_fault(recording, "Job"), verb_for(len(pods), "has")
        no_group = f"{join_names(pod.name for pod in pods)} {have} no PodGroup"
        reason = f"{no_group}, so no scheduler knows {'it' if len(pods) == 1 else 'them'}"
        created = format_age(seconds_since(recording, pods[0].creation_timestamp) or 0)
        fact = f"Volcano's controller creates one for pods of its schedulers; {pods[0].name} is {created} old."
        facts = [f"{fact} {capitalize_first(fault.fact)}." if fault else fact]
        advice = fault.advice if fault else _controller_advice(pods)
    else:
        asked = next((spec_of(one).get("replicas", 1) for one in _controllers_named(recording, subject.job)), None)
        found = f"0 of {count_noun(asked, 'pod')} {verb_for(asked, 'is')}" if isinstance(asked, int) else "0 pods are"
        few = f"{found} in this snapshot"
        known, describe = known_report(recording, subject), f"kubectl -n {namespace} describe {kind.lower()} {name}"
        reason, facts = (known.fact, [f"{capitalize_first(few)}."]) if known else (few, [])
        advice = known.advice if known else Advice.from_outside(f"See why it creates none: {describe}")
    headline, numbers = pending_headline(subject_text, reason), counts({"pods": len(pods)})
    return Finding(Cause.NO_POD_GROUP, headline, numbers, evidence, (advice,), facts=tuple(facts))


def _controllers_named(recording: Recording, key: str) -> Iterator[JsonObject]:
    """The StatefulSets, ReplicaSets and the like of a name, and those that an object of this name owns."""
    controllers = (one for kind in CONTROLLER_KINDS for one in recording.snapshot.objects_of(kind))
    return (one for one in controllers if key in (key_of(one), *owner_keys(one)))


def _same_name_facts(recording: Recording, subject: ExplainSubject) -> tuple[str, ...]:
    """A sentence about a PodGroup of the same name elsewhere, or of a similar name in this namespace; else empty."""
    namespace, _, name = subject.job.partition("/")
    namespaces = _namespaces_with(recording, subject)
    if namespaces:
        namesake = f"Namespace {join_names(namespaces)} has a PodGroup {name}"
        return (f"{namesake}; a pod uses only PodGroups of its own namespace ({namespace}).",)
    similar = closest_name(name, [group.name for group in _all_groups(recording) if group.namespace == namespace], 0.8)
    return (f"Did you mean {namespace}/{similar}?",) if similar else ()


def _namespaces_with(recording: Recording, subject: ExplainSubject) -> list[str]:
    """Namespaces with a PodGroup of the name."""
    name = bare_name(subject.job)
    return [group.namespace for group in _all_groups(recording) if group.name == name]
