"""gang: a job's tasks against its minimum, allowed victims, and discarded statements. Upstream: plugins/gang."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import count_noun, join_names, shorten_end, verb_for
from vcdebug.explain.answer import Advice, Cause, Evidence, Finding, counts
from vcdebug.explain.equation import JOB_NOT_IN_SESSION, Equation, Term, all_hold, first_failing, victim_equation
from vcdebug.explain.job_view import JobView
from vcdebug.explain.pending.gates.eviction.entitlement import ineligible_reason
from vcdebug.explain.pending.gates.not_in_session import MAX_QUOTED
from vcdebug.explain.pending.gates.queue_limits import room_limit
from vcdebug.explain.pending.room_takers import gang_takers, nearest_node_words
from vcdebug.explain.plugins import NodeAnswers, OrderDifference, OrderMoment, PluginExplainer, VetoReason
from vcdebug.explain.predicate_reasons import refusal_histogram
from vcdebug.explain.queue_findings import is_whole_cluster
from vcdebug.explain.queue_index import QUOTA_USED_UP, rolled_back_words
from vcdebug.framework import hooks
from vcdebug.framework.plugin_answers import PERMIT, REJECT
from vcdebug.framework.record import HookEvent, Level, StatementEvent
from vcdebug.framework.registry import resolve_reference
from vcdebug.grouping import group_by_key
from vcdebug.model.job import JobInfo
from vcdebug.model.names import JobId, Seq, TaskKey
from vcdebug.model.sub_job import MinimumCount, SubJobInfo, TaskSet
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins.gang import GangMember, gang_members, unready_first
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import (
    idle_without,
    job_before,
    jobs_before,
    sub_job_before,
    sum_resources,
    sum_smallest,
    task_of,
    tasks_of,
)
from vcdebug.recording.timeline import JobCounts
from vcdebug.recording.visits import JobVisit, NodeTry, TaskTry
from vcdebug.snapshot.manifest import object_list

READY_FORMULA = "ready + best-effort pending ≥ min available"
PIPELINED_FORMULA = "ready + waiting + best-effort pending ≥ min available"
STARVING_FORMULA = "ready + waiting < min available"
VALID_FORMULA = "valid tasks ≥ min available"
COUNT_COLUMNS = ("have", "min")


def job_valid(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """JobValid: whether the job has enough valid pods for its minimums."""
    job = job_before(recording, event.job, seq)
    valid = _minimum_term(MinimumCount("valid tasks", job.valid_task_num(), job.min_available))
    terms = (*_gang_terms(job.valid_roles(), job.valid_sub_jobs()), valid)
    return _counted_equation(f"gang: can {job.uid} make a gang?", VALID_FORMULA, terms, all_hold(terms), job)


def ready_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """JobReady, SubJobReady: whether enough tasks of the job or sub job are placed."""
    group = _group_before(recording, seq, event)
    parts = _gang_terms(group.ready_roles(), group.ready_sub_jobs()) if isinstance(group, JobInfo) else ()
    note = f"{group.ready_task_num()} ready, {group.pending_best_effort_task_num()} best-effort pending"
    tasks = Term("tasks", (group.settled_task_num(), group.min_available), group.is_ready(), note)
    terms = (*parts, tasks)
    return _counted_equation(f"gang: is {group.uid} ready?", READY_FORMULA, terms, all_hold(terms), group)


def pipelined_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """JobPipelined, SubJobPipelined: whether enough tasks of the job or sub job are placed or pipelined."""
    group = _group_before(recording, seq, event)
    parts = _gang_terms(group.pipelined_roles(), group.pipelined_sub_jobs()) if isinstance(group, JobInfo) else ()
    note = f"{format_placed(group)}, {group.pending_best_effort_task_num()} best-effort pending"
    placed_count = group.waiting_task_num() + group.settled_task_num()
    terms = (*parts, Term("tasks", (placed_count, group.min_available), group.is_pipelined(), note))
    verdict = PERMIT if all_hold(terms) else REJECT
    return _counted_equation(f"gang: would {group.uid} be complete?", PIPELINED_FORMULA, terms, verdict, group)


def _group_before(recording: Recording, seq: Seq, event: HookEvent) -> JobInfo | SubJobInfo:
    """The sub job, or the job, that a call is about, as it was before the call."""
    return sub_job_before(recording, event.sub_job, seq) if event.sub_job else job_before(recording, event.job, seq)


def job_starving(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """JobStarving: whether the job is below its minimum."""
    job = job_before(recording, event.job, seq)
    starving = job.is_starving()
    term = Term("tasks", (job.placed_task_num(), job.min_available), starving, format_placed(job))
    note = "best-effort tasks and minimums of roles do not count here"
    return Equation(
        f"gang: is {job.uid} starving?", STARVING_FORMULA, COUNT_COLUMNS, "check", (term,), starving, "tasks", note
    )


def _counted_equation(
    title: str, formula: str, terms: tuple[Term, ...], verdict: bool | int, group: JobInfo | SubJobInfo
) -> Equation:
    deciding, note = first_failing(terms) or terms[-1].name, ""
    if isinstance(group, JobInfo) and group.task_min_available and group.are_roles_unchecked():
        total = group.task_min_available_total
        note = f"minimums of roles are skipped: they add up to {total}, more than min available"
    return Equation(title, formula, COUNT_COLUMNS, "check", terms, verdict, deciding, note)


def _minimum_term(minimum: MinimumCount, name: str = "") -> Term:
    return Term(name or minimum.name, (minimum.actual, minimum.minimum), minimum.is_reached)


def _gang_terms(roles: Iterable[MinimumCount], sub_jobs: Iterable[MinimumCount]) -> Iterator[Term]:
    """One line per role and per policy of sub jobs with a minimum."""
    for role in roles:
        yield _minimum_term(role, f"role {role.name}")
    for policy in sub_jobs:
        yield _minimum_term(policy, f"sub jobs of {policy.name}")


def format_placed(tasks: TaskSet) -> str:
    """The numbers of ready and waiting tasks in words, which count as placed."""
    return f"{tasks.ready_task_num()} ready, {tasks.waiting_task_num()} waiting"


def surplus_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Candidates in call order, per job as many as it has ready tasks above minMember."""
    members = gang_members(jobs_before(recording, seq), tasks_of(recording, event.candidates))
    title = f"gang: candidates for {event.task} that break no gang"
    formula = "ready > min available, without victims already chosen"
    return victim_equation(title, formula, ("ready", "min"), [_member_term(member) for member in members])


def _member_term(member: GangMember) -> Term:
    if member.job is None:
        return Term(member.task.key, (None, None), False, JOB_NOT_IN_SESSION)
    minimum = member.job.min_available
    breaks = f"{member.job.name} has {member.ready} ready and needs {minimum}: it would break the gang"
    left = member.ready - 1
    comparison = f"{member.ready} − 1 = {left} {'≥' if member.is_spare else '<'} {minimum}"
    note = "" if member.is_spare else breaks
    return Term(member.task.key, (member.ready, minimum), member.is_spare, note, comparison)


def all_candidates_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """UnifiedEvictable: gang allows all candidates, since the action itself evicts complete gangs."""
    title = f"gang: candidates that can be evicted for {recording.span_tree.name_around(seq, Level.JOB)}"
    return victim_equation(title, "every candidate", (), [Term(key, (), True) for key in event.candidates])


def explain_veto(view: JobView, task: TaskInfo, protected: Sequence[TaskKey], seq: Seq) -> VetoReason | None:
    """Gangs at their minimum, without advice, which needs the nodes; None if no candidate has a job."""
    owners = view.recording.owners.jobs
    jobs = [job_before(view.recording, uid, seq) for uid in dict.fromkeys(owners[k] for k in protected if k in owners)]
    if not jobs:
        return None
    surpluses = {job.uid: job.ready_task_num() - job.min_available for job in jobs}
    lines = tuple(
        f"{job.uid}: {job.ready_task_num()} ready, minMember {job.min_available}, {surpluses[job.uid]} to spare"
        for job in jobs
    )
    example = next((job for job in jobs if surpluses[job.uid] <= 0), jobs[0])
    ready, surplus = example.ready_task_num(), surpluses[example.uid]
    evicted = {job.uid: len(job.task_status_index.get(TaskStatus.RELEASING, ())) for job in jobs}
    alike = [uid for uid, spare in surpluses.items() if uid != example.uid and (spare <= 0) == (surplus <= 0)]
    similar = join_names(
        f"{uid} ({count_noun(evicted[uid], 'pod')} already being evicted)" if evicted[uid] else uid for uid in alike
    )
    also = f"; the same is true of {similar}" if alike else ""
    below = f"below minMember {example.min_available} ({ready} ready){also}"
    text = f"Evicting one pod would leave {example.uid} {below}"
    if surplus > 0:
        text = f"{example.uid} can lose {count_noun(surplus, 'pod')} before it falls {below}"
    numbers = counts({"victim.ready": ready, "victim.minAvailable": example.min_available})
    return VetoReason(text, numbers, (), lines)


def _victim_advice(view: JobView, task: TaskInfo, answers: NodeAnswers) -> tuple[Advice, ...]:
    """Advice with which gang allows enough victims, for the node where that costs the fewest pods."""
    node = answers[0][0]
    costs = [cost for node, allowed in answers if (cost := _gang_cost(view, task, node, allowed)) is not None]
    point = f"enable{node.victim_votes[0][1].point}"
    switch = Advice.cluster_admin(
        f"Disable gang's veto ({point}: false); running gangs can then drop below minMember.",
        f"conf:plugins.gang.{point}=false",
    )
    if not costs:
        return (switch,)
    cheapest = min(costs, key=lambda cost: sum(cost.values()))  # exact: ints
    return (*(line for job, pods in cheapest.items() for line in _lower_minimum_advice(view, node, job, pods)), switch)


def _gang_cost(view: JobView, task: TaskInfo, node: NodeTry, allowed: Sequence[TaskKey]) -> dict[JobId, int] | None:
    """Job → number of its pods to evict, for jobs that gang protects; None if even all candidates make no room."""
    recording, protected = view.recording, [key for key in node.candidates if key not in allowed]
    # Allowed victims first: they are evicted before any pod whose gang would have to shrink.
    future, pods_by_job = idle_without(recording, node.first, node.node, ()), dict[JobId, int]()
    for key in (*allowed, *protected):
        if task.init_resreq.less_equal(future):
            break
        victim = task_of(recording, key)
        future.add(victim.resreq)
        pods_by_job[victim.job] = pods_by_job.get(victim.job, 0) + 1
    if not task.init_resreq.less_equal(future):
        return None
    protected_jobs = dict.fromkeys(task_of(recording, key).job for key in protected)
    return {job: pods for job, pods in pods_by_job.items() if job in protected_jobs}


def _lower_minimum_advice(view: JobView, node: NodeTry, job: JobId, evicted: int) -> Iterator[Advice]:
    """Advice to lower the job's minMember; none if its minimum already allows the evictions."""
    counts = view.recording.timeline.state_at(node.first - 1).job_counts(job)
    left = counts.ready_count - evicted
    if left <= 0:
        all_pods = "the only pod" if counts.ready_count == 1 else f"all {counts.ready_count} pods"
        yield Advice.queue_admin(f"Free room elsewhere: gang never allows evicting {all_pods} of {job}.")
    elif left < counts.min_available:
        edit = f"PodGroup/{job}:spec.minMember={left}"
        words = f"{job}: spec.minMember {counts.min_available} -> {left}, if it can run with {count_noun(left, 'pod')}."
        yield Advice.queue_admin(words, edit)


def group_order(
    moment: OrderMoment, left: JobInfo | SubJobInfo, right: JobInfo | SubJobInfo
) -> Iterator[OrderDifference]:
    """Yields the comparison that puts a job or sub job below its minimum first."""
    groups = (left, right)
    ready = [
        moment.state.job_counts(group.uid).is_ready
        if isinstance(group, JobInfo)
        else sub_job_before(moment.recording, group.uid, moment.seq + 1).is_ready()
        for group in groups
    ]
    yield OrderDifference("gang ready", ready[0], ready[1], unready_first(ready[0], ready[1]))


EXPLAINER = PluginExplainer(
    equations={
        hooks.JOB_VALID.upstream: job_valid,
        hooks.JOB_READY.upstream: ready_equation,
        hooks.JOB_PIPELINED.upstream: pipelined_equation,
        hooks.SUB_JOB_READY.upstream: ready_equation,
        hooks.SUB_JOB_PIPELINED.upstream: pipelined_equation,
        hooks.JOB_STARVING.upstream: job_starving,
        hooks.PREEMPTABLE.upstream: surplus_equation,
        hooks.RECLAIMABLE.upstream: surplus_equation,
        hooks.UNIFIED_EVICTABLE.upstream: all_candidates_equation,
    },
    comparators={hooks.JOB_ORDER.method: group_order, hooks.SUB_JOB_ORDER.method: group_order},
    explain_veto=explain_veto,
    victim_advice=_victim_advice,
)


def discarded_finding(view: JobView, action: str = ALLOCATE, blame: str = "") -> Finding | None:
    """The finding if the action's last statement for the job placed some tasks and was discarded; else None.

    `blame` says in a few words what stopped the first unplaced task.
    """
    ends = [visit for visit in view.visits_of(action) if visit.end is not None]
    if not ends or ends[-1].was_committed or not ends[-1].planned_tasks:
        return _unbound_finding(view) if action == ALLOCATE else None
    return _build_discarded(view, ends[-1], blame)


def _build_discarded(view: JobView, visit: JobVisit, blame: str) -> Finding:
    assert visit.end is not None
    seq, statement = visit.end
    job, planned = view.job, visit.planned_tasks
    before = view.recording.timeline.state_at(visit.first - 1).job_counts(job.uid)
    ready, needed = before.ready_count, job.min_available - before.ready_count - before.best_effort_pending
    missing, victims = max(needed - len(planned), 0), [task for kind, task, _ in statement.ops if kind == "evict"]
    # Without missing pods, roles with fewer placed pods than minTaskMember are why the plan was discarded.
    checked_roles = [] if missing else job_before(view.recording, job.uid, seq).pipelined_roles()
    roles = {role.name: role for role in checked_roles if not role.is_reached}
    failed = [tried for tried in visit.unplaced if view.tasks[tried.task].task_role in roles] or visit.unplaced
    shortage, facts = _total_shortage(view, visit, needed), list[str]()
    if shortage is not None:
        name, requested, available = shortage
        request, free = amount_text.format_amounts_apart(name, requested, available)
        gap = f"{free} is free on all nodes together ({amount_text.format_amount(name, requested - available)} short)"
        facts.append(f"The {count_noun(needed, 'pod')} ask {request} {name} in total; {gap}.")
    if roles:
        reason, advice = _role_words(list(roles.values()))
        met = [f"minMember {job.min_available} alone would be met by {count_noun(len(planned), 'pod')}."]
    else:
        found = f"{visit.action} found room for {len(planned)} of the {count_noun(needed, 'pod')} it needs at once"
        reason, advice = f"{found}{_room_by_role(view, planned, before)}", _gang_advice(view, failed, missing, shortage)
        met = []
    facts += filter(
        None,
        (" ".join(filter(None, (*met, _failure_fact(view, failed, visit, blame, is_short=shortage is not None)))),),
    )
    facts += [f"The plan would have evicted {count_noun(len(victims), 'pod')}; it was rolled back."] if victims else []
    took_room, order_advice = gang_takers(view, failed[0], visit) if failed and shortage is None else ([], ())
    facts[1:1] = took_room
    placed = {"pods.ready": ready, "pods.placed": len(planned), "pods.missing": missing, "pods.evicted": len(victims)}
    numbers = counts({"job.minAvailable": job.min_available, **placed})
    lines = [*operation_lines(statement)]
    for attempt in failed:
        searches = "; ".join(f"{len(names)} {why}" for why, names in search_reasons(view, attempt))
        lines += [f"{attempt.task}: {searches}"] if searches else []
    evidence, advice = _gang_evidence(visit, seq, failed), (*order_advice, *advice)
    return view.pending(Cause.GANG_DISCARD, reason, numbers, evidence, advice, tuple(lines), tuple(facts))


def _role_words(roles: Sequence[MinimumCount]) -> tuple[str, tuple[Advice, ...]]:
    """(reason, advice) about roles with fewer placed pods than minTaskMember."""
    rooms = (f"role {role.name} has room for {role.actual} of its {count_noun(role.minimum, 'pod')}" for role in roles)
    lower = [f"Lower minTaskMember of role {role.name} ({role.minimum})." for role in roles if role.minimum > 1]
    free = [f"Free room for one more pod of role {role.name}." for role in roles]
    advice = (*map(Advice.for_owner, lower), *map(Advice.queue_admin, free))
    return f"{join_names(rooms)} (minTaskMember)", advice


def _room_by_role(view: JobView, planned: Collection[TaskKey], before: JobCounts) -> str:
    """Pods per role that found room: ` (decode 0 of 3, prefill 2 of 4; 1 already running)`; or empty."""
    ready, idle = before.ready_count, before.best_effort_pending
    by_role = group_by_key((task.task_role, task.key) for task in view.unplaced_tasks if task.task_role)
    parts = (f"{role} {len([key for key in keys if key in planned])} of {len(keys)}" for role, keys in by_role.items())
    notes = [*([join_names(parts)] if len(by_role) > 1 else []), *([f"{ready} already running"] if ready else [])]
    notes += [f"{count_noun(idle, 'pod')} without requests {verb_for(idle, 'counts')} too"] if idle else []
    return f" ({'; '.join(notes)})" if notes else ""


def _total_shortage(view: JobView, visit: JobVisit, needed: int) -> tuple[str, float, float] | None:
    """(dimension, total request of the pods that the gang needs, free on all nodes) if the request is larger.

    None if no dimension is short, and for actions that evict, since evictions add to the free amounts.
    """
    requests = [task.init_resreq for task in view.unplaced_tasks]
    if len(requests) < needed or view.facts_of(visit.action).evicts:
        return None
    state = view.recording.timeline.state_at(visit.first - 1)
    free = sum_resources(state.nodes[name].future_idle() for name in view.session.nodes)
    for name in dict.fromkeys(name for request in requests for name in request.resource_names()):
        requested, available = sum_smallest(requests, name, needed), max(free.get(name), 0.0)
        if requested > available:
            return name, requested, available
    return None


def _gang_advice(
    view: JobView, failed: Sequence[TaskTry], missing: int, shortage: tuple[str, float, float] | None
) -> tuple[Advice, ...]:
    """Advice to lower minMember or make room; empty if the missing pods lack something else."""
    if failed and ineligible_reason(view, failed[0]) is not None:
        return ()
    new_minimum = view.job.min_available - missing
    edit = f"PodGroup/{view.job.uid}:spec.minMember={new_minimum}"
    if len({task.task_role for task in view.unplaced_tasks}) > 1:
        # With a smaller minMember the job would start without one of its roles, so that is not proposed.
        new_minimum = 0
    change = f"{view.job.uid}: spec.minMember {view.job.min_available} -> {new_minimum}."
    lower = (Advice.for_owner(change, edit),) if 0 < new_minimum else ()
    if shortage is not None:
        name, requested, available = shortage
        gap = amount_text.format_named_amount(name, requested - available)
        return (*lower, Advice.queue_admin(f"Free {gap}, or add a node that has it."))
    if not missing:
        return lower
    return (*lower, Advice.queue_admin(f"Free room for {count_noun(missing, 'more pod')} at the same time."))


NO_BEST_NODE: Final = "vcdebug.explain.pending.no_node:no_best_node_finding"
VOTES: Final = ("abstains", "permits", "rejects")
"""What a vote of 0, 1 or -1 does; the last one is at the index -1."""


def _gang_evidence(visit: JobVisit, seq: Seq, failed: Sequence[TaskTry]) -> tuple[Evidence, ...]:
    votes = visit.visit_calls(hooks.JOB_PIPELINED.upstream)[-1:]
    proof = [Evidence(s, f"JobPipelined: {e.plugin} {VOTES[e.result]}") for s, e in votes]
    for tried in failed[:1]:
        proof += [Evidence(s, f"no place for {tried.task}") for s, _ in tried.empty_passes[:1]]
        refusals = tried.refusals(hooks.ALLOCATABLE.upstream)
        proof += [Evidence(s, f"the queue has no quota left for {tried.task}") for s, _ in refusals]
    proof.append(Evidence(seq, f"{visit.action} rolls back {count_noun(len(visit.planned_tasks), 'placement')}"))
    return tuple(sorted(proof))


def operation_lines(statement: StatementEvent) -> tuple[str, ...]:
    """The operations of a statement, one line each: `plan: allocate ml/a-0 on n1`."""
    return tuple(f"plan: {kind} {task} on {node}" for kind, task, node in statement.ops)


def _failure_fact(view: JobView, failed: Sequence[TaskTry], visit: JobVisit, blame: str, *, is_short: bool) -> str:
    """A sentence about what stopped the first unplaced task; empty if unknown, or if the cluster's shortage says it."""
    if not failed:
        return ""
    attempt, name = failed[0], failed[0].task_name
    ineligible = ineligible_reason(view, attempt)
    if ineligible is not None:
        return f"{name} is not eligible to preempt: {ineligible}."
    if attempt.refusals(hooks.ALLOCATABLE.upstream):
        words = _beyond_limit_words(view, attempt)
        return "" if is_short and _WHOLE in words else f"Queue {view.queue.name} {QUOTA_USED_UP} {name}{words}."
    reasons = search_reasons(view, attempt)
    if reasons:
        counted = [(len(names), reason.rstrip(".")) for reason, names in reasons]
        text = counted[0][1] if len(counted) == 1 else ", ".join(f"{count} {reason}" for count, reason in counted)
        return f"{name} fits no node: {text}{nearest_node_words(view, attempt, visit)}."
    if attempt.nodes:
        return f"{name} fits no node: {blame or 'no node has enough allowed victims'}."
    if blame:
        return f"{name} was not placed: {blame}."
    # Nodes passed the predicates, and the chosen one refused the placement.
    refused = resolve_reference(NO_BEST_NODE)(view, view.tasks[attempt.task])
    return " ".join((f"{name} was not placed: {refused.headline.reason}.", *refused.facts)) if refused else ""


_WHOLE: Final = ", all that the cluster has"


def _beyond_limit_words(view: JobView, attempt: TaskTry) -> str:
    """By how much the task exceeds the limit of the queue or an ancestor: `: 1 over its capability 3 cpu`; or empty."""
    seq, event = attempt.refusals(hooks.ALLOCATABLE.upstream)[0]
    limit = room_limit(view, event.plugin, seq, view.tasks[attempt.task])
    if not limit.exceeded_dimensions:
        return ""
    owner = "its" if limit.queue == view.queue.name else f"queue {limit.queue}'s"
    name = limit.first_dimension
    whole_cluster = _WHOLE if is_whole_cluster(view, limit.check.limit, name) else ""
    limit_words = f"{limit.limit_kind(name)} of {limit.format_limit(name)} {name}"
    earlier = rolled_back_words(view, seq, limit)
    also = f"; {earlier}" if earlier else ""
    return f": {limit.format_excess(name)} over {owner} {limit_words}{whole_cluster}{also}"


def search_reasons(view: JobView, attempt: TaskTry) -> list[tuple[str, list[str]]]:
    """(reason, nodes) of the task's last pass of predicates without a feasible node."""
    return refusal_histogram(view.recording, attempt.empty_passes[-1][1]) if attempt.empty_passes else []


def schedulable_facts(view: JobView) -> tuple[str, ...]:
    """What "Schedulable" in the condition of a Pending pod means; empty if no stated condition says so."""
    conditions = ((task, one) for task in view.unplaced_tasks for one in object_list(task.pod.status.get("conditions")))
    task, condition = next(((task, one) for task, one in conditions if one.get("reason") == "Schedulable"), (None, {}))
    if task is None:
        return ()
    message = shorten_end(str(condition.get("message") or "Schedulable"), MAX_QUOTED)
    placed = {attempt.task for visit in view.job_visits for attempt in visit.tries if attempt.last_placement}
    # Of equal pods, another one may have had the place in this cycle.
    is_other = bool(placed) and task.key not in placed
    fits = "one pod fits, this or another one by cycle, and the" if is_other else "that pod alone fits, and its"
    quoted = f'The condition of {task.name} says "{message}"'
    return (f"{quoted}: {fits} placement is rolled back while other pods of the gang have none.",)


def _unbound_finding(view: JobView) -> Finding | None:
    """Tasks that were placed but never bound, since the statement was neither committed nor discarded."""
    places = {task.key: task.node_name for task in view.placed_tasks if task.status is TaskStatus.ALLOCATED}
    if not places or view.job.is_pipelined():
        return None
    unbound_words = "has a node but is not bound" if len(places) == 1 else "have a node but are not bound"
    ready = f"{view.job.ready_task_num()} ready of minMember {view.job.min_available}"
    reason = f"{count_noun(len(places), 'pod')} {unbound_words}; {ready}"
    numbers = counts({"job.minAvailable": view.job.min_available, "pods.placed": len(places)})
    tries = (attempt for visit in view.job_visits for attempt in visit.tries if attempt.task in places)
    placings = ((one.task, one.last_placement[0]) for one in tries if one.last_placement)
    evidence = tuple(Evidence(seq, f"{key} is placed on {places[key]}") for key, seq in placings)
    return view.pending(Cause.GANG_DISCARD, reason, numbers, evidence)
