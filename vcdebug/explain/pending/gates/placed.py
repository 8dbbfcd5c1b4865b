"""Jobs with an outcome in this cycle: placed, bound by another client, or pipelined but never bound."""

from collections.abc import Iterator, Sequence
from itertools import takewhile

from msgspec.structs import replace

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import capitalize_first, count_noun, format_age, join_names, lower_first, verb_for
from vcdebug.explain.answer import (
    MAX_LINE_LENGTH,
    Advice,
    AdviceHarm,
    Cause,
    CauseHeadline,
    Evidence,
    Finding,
    Flaw,
    amount_numbers,
    counts,
    proof_of,
)
from vcdebug.explain.component_reports import PodFailure, failure_of, stalled_headline
from vcdebug.explain.decisions.evictions import (
    Eviction,
    eviction_facts,
    eviction_words,
    evictions_by_preemptor,
    evictions_by_victim,
    loss_facts,
    protection_advice,
)
from vcdebug.explain.decisions.votes import HOOK_AT, UnaskedPlugin, unasked_plugins, victim_question_before
from vcdebug.explain.job_view import ExplainSubject, JobView, missing_roles
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.pending.checklist import allocate_findings, failed_search_seq
from vcdebug.explain.pending.gang_parts import unchecked_role_facts
from vcdebug.explain.pending.gates.eviction import undone_plan_facts
from vcdebug.explain.pending.gates.not_in_session import opening_evidence
from vcdebug.explain.pending.gates.validity import with_creation_order
from vcdebug.explain.plugins.pdb import exceeded_budgets
from vcdebug.explain.plugins.resourcequota import exhausted_quotas, join_holders, next_pod_amounts
from vcdebug.explain.predicate_reasons import ConstraintFailure
from vcdebug.framework.hooks import JOB_VALID
from vcdebug.framework.quirks import BOUND_ELSEWHERE
from vcdebug.framework.record import BIND_OP, PIPELINE_OP, PLACING_OPS, Level, Note, OpEvent, StatementEvent
from vcdebug.framework.registry import resolve_reference
from vcdebug.gotime import SECOND, parse_nanoseconds, unix_nanoseconds
from vcdebug.model.names import TaskKey
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import PDB, RESCHEDULING, RESOURCEQUOTA
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import last_operation
from vcdebug.snapshot.manifest import metadata_of, name_of, object_in, spec_of, status_of
from vcdebug.snapshot.workloads import volcano_job_of

HAS_CAUSES = (Cause.PLACES, Cause.PIPELINED, Cause.EVICTED, Cause.ADMITTED)
"""The causes of jobs that this cycle has placed, pipelined, evicted or admitted."""


def placed_job(view: JobView) -> Finding | None:
    """The finding if the job, or the named pod, has a node or is pipelined; else None."""
    if view.pod is not None and view.pod in view.tasks:
        task = view.tasks[view.pod]
        if task.status is TaskStatus.PENDING:
            return None
        if task not in view.placed_tasks:
            return _already_placed_finding(view, [task])
    elif any(pod.key == view.pod for pod in view.hidden_pods):
        return None
    if not view.pending_at_open:
        # A job whose first JobValid answer is no lost its pods earlier, or they were never created.
        answers = view.calls_about(JOB_VALID.upstream)[:1]
        if not view.tasks or any(event.result and not event.result["pass"] for _, event in answers):
            return None
        return _already_placed_finding(view, list(view.tasks.values()))
    firm_tasks = [task for task in view.placed_tasks if task.status is not TaskStatus.ALLOCATED]
    if not firm_tasks or not (view.job.is_pipelined() or any(t.status is TaskStatus.BINDING for t in firm_tasks)):
        return None
    return _placed_finding(view, firm_tasks)


def _already_placed_finding(view: JobView, tasks: Sequence[TaskInfo]) -> Finding:
    """The finding about tasks that had a node when the cycle began: that they run, have failed or are evicted."""
    keys = [task.key for task in tasks]
    evictions = [one for one in evictions_by_victim(view.recording).get(view.job.uid, ()) if one.victim in keys]
    evidence = opening_evidence(view.recording, "the session opens with the job's pods in this state")
    numbers = counts({"pods": len(tasks), "pods.evicted": len(evictions)})
    if not evictions:
        headline, facts, advice = _kept_words(view, tasks)
        finding = Finding(Cause.PLACES, headline, numbers, evidence, advice, facts=facts)
        return finding if view.pod in keys else _with_missing_pods(view, finding)
    proof = (*evidence, *(Evidence(one.end, f"{one.action} evicts {one.victim}") for one in evictions))
    failure, before = _state_before(view, tasks)
    unasked_facts, protections = _unasked_protections(view, evictions)
    reasons: list[str | Advice | Flaw] = [*(loss_facts(view, evictions) if view.detailed else ())]
    reasons += protection_advice(view.recording, evictions[0], tasks)
    if evictions[0].requester == RESCHEDULING:
        reasons += resolve_reference(MOVED_FACTS)(view, evictions[0])
    headline, facts = _loss_headline(view, _subject_of(view, tasks), evictions), (f"{capitalize_first(before)}.",)
    advice = (*failure.advice, *protections)
    finding = Finding(Cause.EVICTED, headline, numbers, tuple(sorted(proof)), advice, facts=facts)
    return finding.with_additions(*reasons, *unasked_facts, in_front=True)


def _subject_of(view: JobView, tasks: Sequence[TaskInfo]) -> str:
    """The named pod if it is one of the tasks, else the job."""
    return next((task.key for task in tasks if task.key == view.pod), view.job.uid)


def _kept_words(view: JobView, tasks: Sequence[TaskInfo]) -> tuple[CauseHeadline, tuple[str, ...], tuple[Advice, ...]]:
    """The headline, facts and advice about tasks that keep their nodes."""
    about_pod = view.pod in [task.key for task in tasks]
    started = stalled_headline(view.recording, ExplainSubject(view.job.uid, view.pod if about_pod else None), tasks)
    if started is not None:
        headline, facts, advice = started
    else:
        failure, before = _state_before(view, tasks)
        facts, advice = failure.facts, failure.advice
        state, reason = "is not Pending" if about_pod else "has no Pending pods", f" ({failure.reason})"
        headline = CauseHeadline(_subject_of(view, tasks), state, f"{before}{reason if failure.reason else ''}")
    pending_pods = [task.name for task in view.tasks.values() if about_pod and task.status is TaskStatus.PENDING]
    if pending_pods:
        facts = (f"Other pods of {view.job.uid} are Pending: {join_names(pending_pods)}.",)
    elif view.detailed and RESCHEDULING in view.recording.conf.plugin_names():
        facts = (*facts, *resolve_reference(KEPT_FACTS)(view))
    return headline, facts, advice


def _state_before(view: JobView, tasks: Sequence[TaskInfo]) -> tuple[PodFailure, str]:
    """(why the first failed task failed, `it was already Running when the cycle began`)."""
    opening = view.recording.timeline.opening_tasks
    states = " or ".join(dict.fromkeys(opening[task.key].status.upstream_name for task in tasks))
    failed = [task for task in tasks if opening[task.key].status is TaskStatus.FAILED]
    were = f"{count_noun(len(tasks), 'pod')} {verb_for(len(tasks), 'was')}"
    if 0 < len(failed) < len(tasks):
        were, states = f"{len(failed)} of {count_noun(len(tasks), 'pod')} {verb_for(len(failed), 'was')}", "Failed"
    elif view.pod in [task.key for task in tasks]:
        were = "it was"
    failure = failure_of(view.recording, failed[0].pod) if failed else PodFailure()
    return failure, f"{were} already {states} when the cycle began"


KEPT_FACTS = "vcdebug.explain.plugins.rescheduling:kept_facts"
MOVED_FACTS = "vcdebug.explain.plugins.rescheduling:moved_facts"


def _unasked_protections(view: JobView, evictions: Sequence[Eviction]) -> tuple[tuple[str, ...], tuple[Advice, ...]]:
    """What would have protected the victims but was not asked, and how to have it asked: plugins, and budgets."""
    first = evictions[0]
    question = victim_question_before(view.recording, first.seq) if first.tier is not None else None
    if question is None:
        return (), ()
    plugins = [one for one in unasked_plugins(view.recording, question, first.seq) if one.protects]
    facts, advice = [one.text for one in plugins], [_protection_advice(one) for one in plugins]
    budgets = exceeded_budgets(view.recording, [one.victim for one in evictions], question.deciding_tier)
    if budgets and PDB not in view.session.plugins:
        tier = question.deciding_tier or 1
        edit = f"conf:tiers[{tier - 1}].plugins[+]={{name: pdb}}"
        advice.append(Advice.cluster_admin(f"Add plugin pdb to the tier that decides (tier {tier}).", edit))
    facts += budgets
    return tuple(facts), tuple(advice)


def _protection_advice(unasked: UnaskedPlugin) -> Advice:
    """Advice that makes the plugin take part in the vote on victims."""
    plugin = unasked.vote.plugin
    if unasked.vote.added_by is not None:
        return Advice.cluster_admin(f"Upgrade Volcano ({join_names(unasked.vote.added_by.fixed_in)} or later).")
    if unasked.vote.state == "switched off":
        switch = HOOK_AT[unasked.question.point].switches[0]
        return Advice.cluster_admin(f"{plugin}: set {switch} to true.", f"conf:plugins.{plugin}.{switch}=true")
    return Advice.cluster_admin(f"Move {plugin} to the tier that decides (tier {unasked.question.deciding_tier}).")


def _with_missing_pods(view: JobView, finding: Finding) -> Finding:
    """The finding with the pods that the job's controller has not created, and the quota that is full."""
    owner, total, missing = _missing_pods(view)
    if missing <= 0:
        return finding
    shortage = f"has {len(view.tasks)} of the {count_noun(total, 'pod')} that {owner} asks for"
    for lack in missing_roles(view.recording, view.job):
        if lack.earlier_role:
            return with_creation_order(view, finding, shortage, lack)
    facts = (*finding.facts, f"{owner} asks for {count_noun(missing, 'pod')} more, not created yet.")
    quota = next(exhausted_quotas(view.recording, view.job.namespace, next_pod_amounts(view)), None)
    if quota is None:
        return replace(finding, facts=facts)
    used = f"{quota.used} of {quota.hard} {quota.name} of ResourceQuota {quota.quota} are used"
    headline = CauseHeadline(view.job.uid, shortage, f"{used}, so no more can be created")
    used_by = (f"Used by {join_holders(quota.holders)}.",) if quota.holders else ()
    minimum_facts = (MINIMUM_CHECKED,) if RESOURCEQUOTA in view.recording.conf.plugin_names() else ()
    return replace(finding, headline=headline, facts=(*used_by, *minimum_facts), advice=quota.advice(missing))


MINIMUM_CHECKED = "Plugin resourcequota compares only minResources with quotas, without the pods above minMember."


def _missing_pods(view: JobView) -> tuple[str, int, int]:
    """(name of the PodGroup's Volcano Job, its replicas, how many of them have no pod); empty and 0 without a Job."""
    job = volcano_job_of(view.recording.snapshot, view.job.pod_group.manifest)
    if job is None:
        return "", 0, 0
    replicas = [object_in(task).get("replicas") for task in spec_of(job).get("tasks") or ()]
    total = sum(count if isinstance(count, int) else 0 for count in replicas)  # exact: ints
    finished = sum(object_in(status_of(job)).get(name) or 0 for name in ("succeeded", "failed"))  # exact: ints
    return name_of(job), total, total - len(view.tasks) - finished


def _loss_headline(view: JobView, subject: str, evictions: Sequence[Eviction]) -> CauseHeadline:
    """The pods of the job that the cycle evicts, and by which action."""
    if view.pod:
        return CauseHeadline(subject, "is evicted in this cycle", eviction_words(evictions[0], "it"))
    state = f"loses {count_noun(len(evictions), 'pod')} in this cycle"
    preemptors = dict.fromkeys(one.preemptor or f"plugin {one.requester}" for one in evictions)
    for_whom = f" for {join_names(preemptors, 1)}" if preemptors else ""
    headlines = (CauseHeadline(subject, state, f"{_evicted_words(evictions, shown)}{for_whom}") for shown in (2, 1))
    return min(headlines, key=lambda headline: len(str(headline)) > MAX_LINE_LENGTH)


def _evicted_words(evictions: Sequence[Eviction], shown: int) -> str:
    """The actions with what they evict, such as `preempt, reclaim evict a/x-0`."""
    actions = list(dict.fromkeys(eviction.action for eviction in evictions if eviction.action)) or ["an action"]
    victims = join_names((eviction.victim for eviction in evictions), shown)
    return f"{join_names(actions)} {verb_for(len(actions), 'evicts')} {victims}"


def _placed_finding(view: JobView, firm_tasks: Sequence[TaskInfo]) -> Finding:
    evictions = evictions_by_preemptor(view.recording).get(view.job.uid, ())
    bound = [task for task in firm_tasks if task.status is TaskStatus.BINDING]
    pipelined = [task for task in firm_tasks if task.status is TaskStatus.PIPELINED]
    has_minimum = view.job.ready_task_num() >= view.job.min_available
    cause = Cause.PIPELINED if pipelined and not evictions and not (bound and has_minimum) else Cause.PLACES
    numbers = {
        **counts({"pods.bound": len(bound), "pods.pipelined": len(pipelined), "pods.left": len(view.unplaced_tasks)}),
        **counts({"pods.evicted": len(evictions), "job.minAvailable": view.job.min_available}),
    }
    lines = list[str]()
    for task in firm_tasks:
        # For a pipelined task with the pods that have to terminate first.
        ending = releasing_tasks(view, [task] if task.status is TaskStatus.PIPELINED else [])
        awaited = join_names(f"{pod.key} ({format_deletion_due(view, pod)})" for pod in ending)
        lines.append(f"{task.key} -> {task.node_name}{f' after {awaited}' if awaited else ''}")
    evidence = tuple(sorted(_placement_evidence(view, firm_tasks, evictions)))
    facts = [*_placement_facts(view, cause, pipelined, [eviction.victim for eviction in evictions])]
    if view.detailed and bound:
        from vcdebug.explain.decisions.node_choice import placement_sentence  # slow to import, and needed only here

        facts += filter(None, (placement_sentence(view.recording, bound[0].key),))
    headline = _placed_headline(view, cause, bound, pipelined, evictions)
    advice = tuple(_ending_advice(view, pipelined)) if cause == Cause.PIPELINED else ()
    return Finding(cause, headline, numbers, evidence, advice, tuple(lines)).with_additions(*facts)


_OVERDUE_SECONDS = 300
"""Seconds past its grace period after which a terminating pod is considered stuck."""


def _ending_advice(view: JobView, waiting: Sequence[TaskInfo]) -> Iterator[Advice]:
    """Yields advice about terminating pods whose room a kubelet or a finalizer holds, or that take long."""
    ending = [(task, _seconds_left(view, task) or 0) for task in releasing_tasks(view, waiting)]
    for task in [task for task, seconds in ending if seconds < -_OVERDUE_SECONDS][:MAX_OVERDUE]:
        check = f"Check the kubelet of {task.node_name} and the finalizers of {task.name}"
        command = f"kubectl delete pod -n {task.namespace} {task.name} --force"
        yield Advice.from_outside(f"{check}, or remove it, if nothing of it runs: {command}", AdviceHarm.QUEUE)
    for task, seconds in [one for one in ending if one[1] > _LONG_SECONDS][:MAX_OVERDUE]:
        shorter = "or shorten its terminationGracePeriodSeconds or preStop hook"
        yield Advice.from_outside(f"Wait up to {format_age(seconds)} for {task.name}, {shorter}.")


_LONG_SECONDS = 60
"""Seconds that a terminating pod may take before advice says how to shorten it."""
MAX_OVERDUE = 2


def _placed_headline(
    view: JobView, cause: str, bound: Sequence[TaskInfo], pipelined: Sequence[TaskInfo], evictions: Sequence[Eviction]
) -> CauseHeadline:
    """The first line about a placed job: its pods and nodes, and the pods that are evicted for it."""
    groups = ((bound, "bound to"), (pipelined, "reserved (pipelined) on"))
    parts = [f"{_format_tasks(tasks)} {verb} {_node_names(tasks)}" for tasks, verb in groups if tasks]
    reason = " and ".join(parts)
    if cause == Cause.PIPELINED:
        origin = " from an earlier cycle" if all(task.uid in view.session.restored for task in pipelined) else ""
        return CauseHeadline(view.job.uid, "is waiting for pods to terminate", f"{reason}{origin}")
    if evictions:
        pods = f" for {_format_tasks(pipelined)} on {_node_names(pipelined)} (pipelined)" if pipelined else ""
        reason = "; ".join((f"{_evicted_words(evictions, 1)}{pods}", *(parts[:1] if bound else ())))
    return CauseHeadline(view.job.uid, f"{'has a place' if pipelined else 'is scheduled'} in this cycle", reason)


TOPOLOGY_FACTS = "vcdebug.explain.plugins.network_topology_aware:topology_facts"
"""Loaded only for jobs with a network topology."""


def _placement_facts(
    view: JobView, cause: str, waiting: Sequence[TaskInfo], victims: Sequence[TaskKey]
) -> Iterator[str | Advice | Flaw]:
    """Yields sentences, flaws and advice: broken topologies, terminating pods, why these victims, and Pending pods."""
    group = view.job.pod_group
    if group.network_topology is not None or group.sub_group_policies:
        yield from resolve_reference(TOPOLOGY_FACTS)(view)
    if cause == Cause.PIPELINED:
        pods = join_names(f"{task.key} ({format_deletion_due(view, task)})" for task in releasing_tasks(view, waiting))
        yield f"Terminating: {pods}. No evictions for this job." if pods else "The reserved room is not idle yet."
        if nominated := [task.name for task in waiting if task.pod.nominated_node_name == task.node_name]:
            scaling = "so a cluster autoscaler counts that room as theirs and adds no node"
            yield f"{join_names(nominated)}: status.nominatedNodeName is set, {scaling}."
    of_evictions = [*eviction_facts(view, victims)]
    yield from of_evictions
    if victims and waiting and next(vain_evictions(view, waiting, victims), None) is None:
        pods = "The pod is" if len(waiting) == 1 else "The pods are"
        enough = "enough of " if Flaw.MANY_VICTIMS in of_evictions else ""
        ended = f"{enough}{join_names(victims)} {verb_for(len(victims), 'has')} terminated"
        before_allocate = takewhile(lambda action: action != ALLOCATE, view.actions)
        early = join_names(action for action in before_allocate if view.facts_of(action).evicts)
        unless = f"{lower_first(pods)} bound only if {early} does not reserve the room again before allocate"
        yield f"After {ended}, {unless}." if early else f"{pods} bound after {ended}."
    if view.unplaced_tasks:
        pods = f"{count_noun(len(view.unplaced_tasks), 'pod')} above minMember {view.job.min_available}"
        yield f"{pods} {verb_for(len(view.unplaced_tasks), 'is')} still Pending."
        yield from unchecked_role_facts(view)


def vain_evictions(
    view: JobView, waiting: Sequence[TaskInfo], victims: Sequence[TaskKey]
) -> Iterator[tuple[TaskInfo, ConstraintFailure]]:
    """Yields each pipelined pod with what refuses it its node even once these victims are gone."""
    from vcdebug.explain.pending.constraint_failures import lasting_failures  # slow to import, and seldom needed

    return lasting_failures(view, waiting, victims)


def _node_names(tasks: Sequence[TaskInfo]) -> str:
    return join_names(dict.fromkeys(task.node_name for task in tasks), 2)


def _format_tasks(tasks: Sequence[TaskInfo]) -> str:
    return tasks[0].name if len(tasks) == 1 else count_noun(len(tasks), "pod")


def format_deletion_due(view: JobView, task: TaskInfo) -> str:
    """When a terminating pod should have ended; `evicted in this cycle` without a deletion timestamp."""
    seconds = _seconds_left(view, task)
    if seconds is None:
        return "evicted in this cycle"
    return f"terminates in {format_age(seconds)}" if seconds > 0 else f"{format_age(-seconds)} past its grace period"


def _seconds_left(view: JobView, task: TaskInfo) -> int | None:
    """Seconds until the end of the task's grace period; None without a deletion timestamp."""
    deleted_at = metadata_of(task.pod.manifest).get("deletionTimestamp")
    if not isinstance(deleted_at, str):
        return None
    return (parse_nanoseconds(deleted_at) - unix_nanoseconds(view.recording.snapshot.now)) // SECOND  # exact: ints


def releasing_tasks(view: JobView, pipelined: Sequence[TaskInfo]) -> Iterator[TaskInfo]:
    """Releasing tasks on the nodes to which these tasks are pipelined."""
    for name in dict.fromkeys(task.node_name for task in pipelined):
        node = view.session.nodes[name]
        yield from (task for task in node.tasks_in_order() if task.status is TaskStatus.RELEASING)


def _placement_evidence(
    view: JobView, firm_tasks: Sequence[TaskInfo], evictions: Sequence[Eviction]
) -> Iterator[Evidence]:
    final, places = dict[tuple[TaskKey, bool], Evidence](), {task.key: task.node_name for task in firm_tasks}
    for visit in view.job_visits:
        for seq, event in visit.events:
            if isinstance(event, OpEvent) and event.op in (*PLACING_OPS, BIND_OP):
                # Dry runs and discarded statements place pods too; the last placement is the one that counts.
                if places.get(event.task) == event.node:
                    final[event.task, event.op == BIND_OP] = Evidence(seq, f"{event.op} {event.task} on {event.node}")
            elif isinstance(event, StatementEvent) and event.what == "commit" and event.ops:
                yield Evidence(seq, f"{visit.action} commits {count_noun(len(event.ops), 'operation')}")
    yield from final.values()
    pipelined = [task for task in firm_tasks if task.status is TaskStatus.PIPELINED]
    restored_tasks = [task for task in pipelined if task.uid in view.session.restored]
    start = view.action_starts(ALLOCATE)
    if start is not None:
        for task in restored_tasks:
            request = amount_text.format_resource(task.init_resreq)
            yield Evidence(start, f"{task.key} keeps its place on {task.node_name}, where {request} are not idle yet")
        opening = view.recording.timeline.opening_tasks
        ending = [task for task in releasing_tasks(view, pipelined) if opening[task.key].status is TaskStatus.RELEASING]
        if ending and not evictions and len(restored_tasks) < len(pipelined):
            yield Evidence(start, f"{join_names(task.key for task in ending)} Releasing before allocate began")


# With task state persistence: another client bound the pod to another node during the cycle.


def bound_elsewhere(view: JobView) -> Finding | None:
    """The finding if another client bound the named pod, or a pod of the job, during the cycle; else None."""
    for key, note in _bound_elsewhere_notes(view.recording):
        if key in view.tasks and view.pod in (None, key):
            node = view.recording.snapshot.bound[key]
            reason = f"another client bound it to {node} during this cycle, so the scheduler's own bind fails"
            headline = CauseHeadline(key, "is not bound by this cycle", reason)
            facts = ("Annotations from an earlier cycle are removed from the pod.",)
            advice = (Advice.for_owner(f"Wait for the next cycle, which finds the pod on {node}."),)
            return Finding(Cause.BOUND_ELSEWHERE, headline, {}, proof_of(note.seq, note.text), advice, facts=facts)
    return None


@per_recording()
def _bound_elsewhere_notes(recording: Recording) -> Sequence[tuple[TaskKey, Note]]:
    """(pod, note) of each bind that failed because another client had bound the pod."""
    notes = (note for note in recording.notes if note.code == BOUND_ELSEWHERE)
    return [(TaskKey(note.text.split(" ", 1)[0]), note) for note in notes]


# Phantom pipelines: a task pipelined to a node where no pod terminates then is never bound.


def phantom_pipelined(view: JobView) -> Finding | None:
    """The finding if the job, or the named pod, is pipelined and no pod releases resources for it; else None."""
    pipelined = _pipelined_tasks(view)
    has_bound = any(task.status is TaskStatus.BINDING for task in view.placed_tasks)
    has_minimum = view.job.ready_task_num() >= view.job.min_available
    if not pipelined or not view.job.is_pipelined() or (has_bound and has_minimum):
        return None
    is_awaited = view.job.uid in evictions_by_preemptor(view.recording)
    if is_awaited or any(_uses_released_room(view, task) for task in pipelined):
        return None
    return _phantom_finding(view, pipelined)


def _uses_released_room(view: JobView, task: TaskInfo) -> bool:
    """Whether the node had releasing resources when it was reserved: with any, the task may still get its room."""
    # Pods that are evicted after the reservation make room for other tasks.
    end = len(view.recording)
    is_restored = task.uid in view.session.restored
    seq = end if is_restored else last_operation(view.recording, task.key, end + 1, PIPELINE_OP) or end
    node = view.recording.timeline.state_at(seq).nodes[task.node_name]
    return not node.releasing.is_empty()


def _pipelined_tasks(view: JobView) -> list[TaskInfo]:
    return [task for task in view.pipelined_tasks if view.pod in (None, task.key)]


# Cached, since two parts of the answer need them.
@per_recording(most=1)
def stopping_findings(_: Recording, view: JobView) -> Sequence[Finding]:
    """Why allocate does not bind the pipelined task; empty for a task restored from an earlier cycle."""
    task = _pipelined_tasks(view)[0]
    if task.uid in view.session.restored:
        return []
    findings = allocate_findings(view, task, NodeFits(view, task, failed_search_seq(view, task)))
    return [finding for finding in findings if finding.cause != Cause.NOT_TRIED]


def _phantom_finding(view: JobView, pipelined: Sequence[TaskInfo]) -> Finding:
    task = pipelined[0]
    source, evidence = "an earlier cycle", opening_evidence(view.recording, "the session opens with the pod pipelined")
    planned = last_operation(view.recording, task.key, len(view.recording) + 1, PIPELINE_OP)
    if planned and task.uid not in view.session.restored:
        source = view.recording.span_tree.name_around(planned, Level.ACTION)
        evidence = proof_of(planned, f"{source} reserves (pipelines) it where no pod is terminating")
    nodes, pronoun = join_names(dict.fromkeys(one.node_name for one in pipelined)), "they are"
    pronoun = "it is" if len(pipelined) == 1 else pronoun
    is_ending = any(releasing_tasks(view, pipelined))
    ending = "the pods terminating there make room for other jobs" if is_ending else "no pod there is terminating"
    stuck = f"but {ending}, so {pronoun} never bound this way"
    reason = f"{source} reserved {nodes} for {_format_tasks(pipelined)}, {stuck}"
    pod_counts = counts({"pods.pipelined": len(pipelined), "job.minAvailable": view.job.min_available})
    numbers = {**pod_counts, **amount_numbers("request", task.init_resreq)}
    lines = tuple(f"{one.key} -> {one.node_name}, where no pod terminates for it" for one in pipelined)
    finding = view.pending(Cause.PHANTOM, reason, numbers, evidence, lines=lines, state="is stuck")
    return finding.with_additions(*_phantom_facts(view, task, source))


def _phantom_facts(view: JobView, task: TaskInfo, source: str) -> Iterator[str | Advice]:
    """Yields why allocate does not bind the task that `source` has pipelined, and advice."""
    if task.uid in view.session.restored:
        free_nodes = [node.name for node in NodeFits(view, task, len(view.recording)).free_nodes]
        others = join_names(name for name in free_nodes if name != task.node_name)
        elsewhere = f", although it would fit {others}" if others else ""
        yield f"allocate does not try other nodes for a pipelined pod{elsewhere}."
        yield Advice.for_owner(f"Delete {task.name}; its controller recreates it, and allocate then tries every node.")
        if task.pod.nominated_node_name:
            clear = f"Clear status.nominatedNodeName of {task.name}; every node is tried then."
            yield Advice.for_owner(clear, f"Pod/{task.key}:status.nominatedNodeName-")
        return
    findings, same_plan = stopping_findings(view.recording, view), "The next cycle makes the same plan."
    if not findings:
        evicting = join_names(action for action in dict.fromkeys(view.actions) if view.facts_of(action).evicts)
        yield from (same_plan, Advice.cluster_admin(f"Order the actions so that allocate runs before {evicting}."))
        return
    finding = findings[0]
    detail = f"; {lower_first(finding.facts[0])}" if finding.facts else "."
    unbound, undone = f"allocate does not bind it: {finding.reason}{detail}", tuple(undone_plan_facts(view, task))
    if not undone and view.facts_of(source).evicts_by_pod:
        same_plan = f"{task.node_name} has room for it, so {source} evicts no pod there. {same_plan}"
    yield from (*undone, unbound, same_plan)
    yield from finding.advice
