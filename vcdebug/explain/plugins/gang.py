"""gang: a job's tasks against its minimum, the victims that it allows, and discarded statements.

Upstream: plugins/gang.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import count_noun, join_names
from vcdebug.explain import answer
from vcdebug.explain.equation import JOB_NOT_IN_SESSION, Equation, Term, all_hold, first_failing, victim_equation
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import room_by_node
from vcdebug.explain.pending.gates.eviction.entitlement import ineligible_reason
from vcdebug.explain.pending.gates.queue_limits import room_limit
from vcdebug.explain.plugins import NodeAnswers, OrderDifference, OrderMoment, PluginExplainer, VetoReason
from vcdebug.explain.predicate_reasons import refusal_histogram
from vcdebug.explain.queue_findings import is_whole_cluster
from vcdebug.framework import hooks
from vcdebug.framework.plugin_answers import PERMIT, REJECT
from vcdebug.framework.record import HookEvent, Level, StatementEvent
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
from vcdebug.recording.visits import JobVisit, NodeTry, TaskTry

READY_FORMULA = "ready + best-effort pending ≥ min available"
PIPELINED_FORMULA = "ready + waiting + best-effort pending ≥ min available"
STARVING_FORMULA = "ready + waiting < min available"
VALID_FORMULA = "valid tasks ≥ min available"
COUNT_COLUMNS = ("have", "min")


def job_valid(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Can the job's pods make a gang at all?"""
    job = job_before(recording, event.job, seq)
    valid = _least_term(MinimumCount("valid tasks", job.valid_task_num(), job.min_available))
    terms = (*_gang_terms(job.valid_roles(), job.valid_sub_jobs()), valid)
    return _counted_equation(f"gang: can {job.uid} make a gang?", VALID_FORMULA, terms, all_hold(terms), job)


def job_ready(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Are enough tasks placed?"""
    job = job_before(recording, event.job, seq)
    return _ready_equation(job, *_gang_terms(job.ready_roles(), job.ready_sub_jobs()))


def job_pipelined(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Are enough tasks placed or pipelined?"""
    job = job_before(recording, event.job, seq)
    return _pipelined_equation(job, *_gang_terms(job.pipelined_roles(), job.pipelined_sub_jobs()))


def sub_job_ready(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Are enough tasks of the sub job placed?"""
    return _ready_equation(sub_job_before(recording, event.sub_job, seq))


def sub_job_pipelined(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Are enough tasks of the sub job placed or pipelined?"""
    return _pipelined_equation(sub_job_before(recording, event.sub_job, seq))


def _ready_equation(group: JobInfo | SubJobInfo, *parts: Term) -> Equation:
    note = f"{group.ready_task_num()} ready, {group.pending_best_effort_task_num()} best-effort pending"
    tasks = Term("tasks", (group.settled_task_num(), group.min_available), group.is_ready(), note)
    terms = (*parts, tasks)
    return _counted_equation(f"gang: is {group.uid} ready?", READY_FORMULA, terms, all_hold(terms), group)


def _pipelined_equation(group: JobInfo | SubJobInfo, *parts: Term) -> Equation:
    note = f"{format_placed(group)}, {group.pending_best_effort_task_num()} best-effort pending"
    have = group.waiting_task_num() + group.settled_task_num()
    terms = (*parts, Term("tasks", (have, group.min_available), group.is_pipelined(), note))
    verdict = PERMIT if all_hold(terms) else REJECT
    return _counted_equation(f"gang: would {group.uid} be complete?", PIPELINED_FORMULA, terms, verdict, group)


def job_starving(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """Is the job below its minimum?"""
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


def _least_term(each: MinimumCount, name: str = "") -> Term:
    return Term(name or each.name, (each.have, each.least), each.is_reached)


def _gang_terms(roles: Iterable[MinimumCount], sub_jobs: Iterable[MinimumCount]) -> Iterator[Term]:
    """One line per role and per policy of sub jobs with a minimum."""
    for role in roles:
        yield _least_term(role, f"role {role.name}")
    for policy in sub_jobs:
        yield _least_term(policy, f"sub jobs of {policy.name}")


def format_placed(tasks: TaskSet) -> str:
    """What counts as placed."""
    return f"{tasks.ready_task_num()} ready, {tasks.waiting_task_num()} waiting"


def surplus_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """As many as the job has beyond its minimum, first come first served."""
    judged = gang_members(jobs_before(recording, seq), tasks_of(recording, event.candidates))
    title = f"gang: candidates for {event.task} that break no gang"
    formula = "ready > min available, without victims already chosen"
    return victim_equation(title, formula, ("ready", "min"), [_member_term(each) for each in judged])


def _member_term(each: GangMember) -> Term:
    if each.job is None:
        return Term(each.task.key, (None, None), False, JOB_NOT_IN_SESSION)
    least = each.job.min_available
    note = "" if each.is_spare else f"{each.job.name} has {each.ready} ready and needs {least}: it would break the gang"
    return Term(each.task.key, (each.ready, least), each.is_spare, note)


def everybody_equation(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
    """gang allows all candidates, since the action itself evicts whole gangs."""
    span = recording.span_tree.span_around(seq, Level.JOB)
    terms = [Term(key, (), True) for key in event.candidates]
    return victim_equation(
        f"gang: candidates that can be evicted for {span.name if span is not None else ''}",
        "every candidate",
        (),
        terms,
    )


def explain_veto(view: JobView, task: TaskInfo, refused: Sequence[TaskKey], seq: Seq) -> VetoReason | None:
    """Gangs at their minimum, without advice, which needs the nodes; None if no candidate has a job."""
    owners = view.recording.owners.jobs
    jobs = [job_before(view.recording, uid, seq) for uid in dict.fromkeys(owners[k] for k in refused if k in owners)]
    if not jobs:
        return None
    spares = {job.uid: job.ready_task_num() - job.min_available for job in jobs}
    lines = tuple(
        f"{job.uid}: {job.ready_task_num()} ready, minMember {job.min_available}, {spares[job.uid]} to spare"
        for job in jobs
    )
    example = next((job for job in jobs if spares[job.uid] <= 0), jobs[0])
    ready, spare = example.ready_task_num(), spares[example.uid]
    alike = [uid for uid, each in spares.items() if uid != example.uid and (each <= 0) == (spare <= 0)]
    more = f"; the same holds for {join_names(alike)}" if alike else ""
    below = f"below minMember {example.min_available} ({ready} ready)"
    text = (
        f"{example.uid} can lose {count_noun(spare, 'pod')} before it falls {below}{more}"
        if spare > 0
        else f"Evicting one pod would leave {example.uid} {below}{more}"
    )
    numbers = {
        "victim.ready": answer.count(ready, "pods"),
        "victim.minAvailable": answer.count(example.min_available, "pods"),
    }
    return VetoReason(text, numbers, (), lines)


def _victim_advice(view: JobView, task: TaskInfo, answers: NodeAnswers) -> tuple[answer.Advice, ...]:
    """How gang would allow enough victims, on the node where that costs the fewest pods."""
    node = answers[0][0]
    costs = [cost for node, allowed in answers if (cost := _gang_cost(view, task, node, allowed)) is not None]
    point = f"enable{node.victim_votes[0][1].point}"
    switch = answer.cluster_admin_advice(
        f"Disable gang's veto ({point}: false); running gangs can then drop below minMember.",
        f"conf:plugins.gang.{point}=false",
    )
    if not costs:
        return (switch,)
    cheapest = min(costs, key=lambda cost: sum(cost.values()))  # exact: ints
    return (*(line for job, gone in cheapest.items() for line in _lower_minimum_advice(view, node, job, gone)), switch)


def _gang_cost(view: JobView, task: TaskInfo, node: NodeTry, offered: Sequence[TaskKey]) -> dict[JobId, int] | None:
    """Job → number of its pods to evict beyond what gang allows; None if even all candidates make no room."""
    recording, refused = view.recording, [key for key in node.candidates if key not in offered]
    # Allowed victims first: they are evicted before any pod whose gang would have to shrink.
    future, gone = idle_without(recording, node.first, node.node, ()), dict[JobId, int]()
    for key in (*offered, *refused):
        if task.init_resreq.less_equal(future):
            break
        victim = task_of(recording, key)
        future.add(victim.resreq)
        gone[victim.job] = gone.get(victim.job, 0) + 1
    if not task.init_resreq.less_equal(future):
        return None
    broken = dict.fromkeys(task_of(recording, key).job for key in refused)
    return {job: pods for job, pods in gone.items() if job in broken}


def _lower_minimum_advice(view: JobView, node: NodeTry, job: JobId, gone: int) -> Iterator[answer.Advice]:
    """Advice to lower the job's minMember; none if its minimum already allows the evictions."""
    counts = view.recording.timeline.state_at(node.first - 1).job_counts(job)
    left = counts.ready_count - gone
    if left <= 0:
        whole = "the only pod" if counts.ready_count == 1 else f"all {counts.ready_count} pods"
        yield answer.queue_admin_advice(f"Free room elsewhere: gang never allows evicting {whole} of {job}.")
    elif left < counts.min_available:
        edit = f"PodGroup/{job}:spec.minMember={left}"
        words = f"{job}: spec.minMember {counts.min_available} -> {left}, if it can run with {count_noun(left, 'pod')}."
        yield answer.queue_admin_advice(words, edit)


def job_order(then: OrderMoment, left: JobInfo, right: JobInfo) -> Iterator[OrderDifference]:
    """A job that misses tasks of its minimum goes before one that does not."""
    yield _unready_difference(*(job_before(then.recording, job.uid, then.seq + 1) for job in (left, right)))


def sub_job_order(then: OrderMoment, left: SubJobInfo, right: SubJobInfo) -> Iterator[OrderDifference]:
    """As for jobs."""
    yield _unready_difference(*(sub_job_before(then.recording, group.uid, then.seq + 1) for group in (left, right)))


def _unready_difference(left: JobInfo | SubJobInfo, right: JobInfo | SubJobInfo) -> OrderDifference:
    mine, other = left.is_ready(), right.is_ready()
    return OrderDifference("gang ready", mine, other, unready_first(mine, other))


EXPLAINER = PluginExplainer(
    equations={
        hooks.JOB_VALID.upstream: job_valid,
        hooks.JOB_READY.upstream: job_ready,
        hooks.JOB_PIPELINED.upstream: job_pipelined,
        hooks.SUB_JOB_READY.upstream: sub_job_ready,
        hooks.SUB_JOB_PIPELINED.upstream: sub_job_pipelined,
        hooks.JOB_STARVING.upstream: job_starving,
        hooks.PREEMPTABLE.upstream: surplus_equation,
        hooks.RECLAIMABLE.upstream: surplus_equation,
        hooks.UNIFIED_EVICTABLE.upstream: everybody_equation,
    },
    comparators={hooks.JOB_ORDER.method: job_order, hooks.SUB_JOB_ORDER.method: sub_job_order},
    kept=explain_veto,
    victim_advice=_victim_advice,
)


DISCARD_CAUSE = "gang-discard"


def discarded_finding(view: JobView, action: str, blame: str = "") -> answer.Finding | None:
    """None unless the action's last statement for the job had places for some tasks and was discarded.

    `blame` says in a few words what stopped the first unplaced task.
    """
    ends = [visit for visit in view.visits_of(action) if visit.end is not None]
    if not ends or ends[-1].was_committed or not ends[-1].planned_tasks:
        return _held_finding(view) if action == ALLOCATE else None
    return _build_discarded(view, ends[-1], blame)


def discarded_by_allocate(view: JobView) -> answer.Finding | None:
    """The finding about allocate's last statement for the job, if it was discarded."""
    return discarded_finding(view, ALLOCATE)


def _build_discarded(view: JobView, visit: JobVisit, blame: str) -> answer.Finding:
    assert visit.end is not None
    seq, statement = visit.end
    job, planned = view.job, visit.planned_tasks
    ready = view.recording.timeline.state_at(visit.first - 1).job_counts(job.uid).ready_count
    missing = max(job.min_available - ready - len(planned), 0)
    victims = [task for kind, task, _ in statement.ops if kind == "evict"]
    failed = [attempt for attempt in visit.tries if attempt.task not in planned]
    asked = [] if missing else job_before(view.recording, job.uid, seq).pipelined_roles()
    roles = {role.name: role for role in asked if not role.is_reached}
    failed = [one for one in failed if view.tasks[one.task].task_role in roles] or failed
    reason = (
        _short_roles_reason(roles.values())
        if roles
        else _found_room_reason(visit, job.min_available - ready, _room_by_role(view, planned, ready))
    )
    need = job.min_available - ready
    short = _total_shortage(view, visit, need)
    rolled_back = f"The plan would have evicted {count_noun(len(victims), 'pod')}; it was rolled back."
    met = [f"minMember {job.min_available} alone would be met by {count_noun(len(planned), 'pod')}."] if roles else []
    failures = _failure_facts(view, failed, visit, blame)
    met_and_failed = " ".join((*met, *failures[:1]))
    facts = (
        *([_format_shortage(need, *short)] if short is not None else []),
        *([met_and_failed] if met_and_failed else []),
        *failures[1:],
        *([rolled_back] if victims else []),
    )
    numbers = {
        "job.minAvailable": answer.count(job.min_available, "pods"),
        "pods.ready": answer.count(ready, "pods"),
        "pods.placed": answer.count(len(planned), "pods"),
        "pods.missing": answer.count(missing, "pods"),
        "pods.evicted": answer.count(len(victims), "pods"),
    }
    advice = _role_advice(roles.values()) if roles else _gang_advice(view, failed, missing, short)
    evidence, lines = _gang_evidence(visit, seq, failed), _gang_lines(view, statement, failed)
    headline = answer.pending_headline(job.uid, reason)
    return answer.Finding(DISCARD_CAUSE, headline, numbers, evidence, advice, lines, facts)


def _found_room_reason(visit: JobVisit, need: int, more: str) -> str:
    found = len(visit.planned_tasks)
    return f"{visit.action} found room for {found} of the {count_noun(need, 'pod')} it needs at once{more}"


def _room_by_role(view: JobView, planned: Collection[TaskKey], ready: int) -> str:
    """` (decode 0 of 3, prefill 2 of 4; 1 already running)`: how many pods of each role found room."""
    waiting = group_by_key((task.task_role, task.key) for task in view.left_over if task.task_role)
    parts = (f"{role} {len([key for key in keys if key in planned])} of {len(keys)}" for role, keys in waiting.items())
    notes = [*([join_names(parts)] if len(waiting) > 1 else []), *([f"{ready} already running"] if ready else [])]
    return f" ({'; '.join(notes)})" if notes else ""


def _short_roles_reason(roles: Iterable[MinimumCount]) -> str:
    """Roles with fewer places than minTaskMember, in the plan before it was discarded."""
    parts = (f"role {role.name} has room for {role.have} of its {count_noun(role.least, 'pod')}" for role in roles)
    return f"{join_names(parts)} (minTaskMember)"


def _total_shortage(view: JobView, visit: JobVisit, need: int) -> tuple[str, float, float] | None:
    """(dimension, what the pods that the gang needs ask together, what all nodes have free), where that is less.

    None where it is enough, and for actions that evict, which count on more than what is free.
    """
    if len(view.left_over) < need or view.facts_of(visit.action).evicts:
        return None
    state = view.recording.timeline.state_at(visit.first - 1)
    free = sum_resources(state.nodes[name].future_idle() for name in view.session.nodes)
    for name in dict.fromkeys(name for task in view.left_over for name in task.init_resreq.resource_names()):
        asked, left = sum_smallest((task.init_resreq for task in view.left_over), name, need), max(free.get(name), 0.0)
        if asked > left:
            return name, asked, left
    return None


def _format_shortage(need: int, name: str, asked: float, left: float) -> str:
    most, least = amount_text.format_amounts_apart(name, asked, left)
    short = amount_text.format_amount(name, asked - left)
    return f"The {count_noun(need, 'pod')} ask {most} {name} in total; {least} is free on all nodes ({short} short)."


def _role_advice(roles: Collection[MinimumCount]) -> tuple[answer.Advice, ...]:
    lower = (
        answer.owner_advice(f"Lower minTaskMember of role {one.name} ({one.least}).") for one in roles if one.least > 1
    )
    return (*lower, *(answer.queue_admin_advice(f"Free room for one more pod of role {one.name}.") for one in roles))


def _gang_advice(
    view: JobView, failed: Sequence[TaskTry], missing: int, short: tuple[str, float, float] | None
) -> tuple[answer.Advice, ...]:
    """Advice to lower minMember or make room; empty if the missing pods lack something else."""
    if failed and ineligible_reason(view, failed[0]) is not None:
        return ()
    enough = view.job.min_available - missing
    edit = f"PodGroup/{view.job.uid}:spec.minMember={enough}"
    if len({task.task_role for task in view.left_over}) > 1:
        # A smaller minMember would start the job without one of its roles.
        enough = 0
    change = f"{view.job.uid}: spec.minMember {view.job.min_available} -> {enough}."
    lower = (answer.owner_advice(change, edit),) if 0 < enough else ()
    if short is not None:
        name, asked, left = short
        gap = amount_text.format_named_amount(name, asked - left)
        return (*lower, answer.queue_admin_advice(f"Free {gap}, or add a node that has it."))
    if not missing:
        return lower
    return (*lower, answer.queue_admin_advice(f"Free room for {count_noun(missing, 'more pod')} at the same time."))


def _gang_evidence(visit: JobVisit, seq: Seq, failed: Sequence[TaskTry]) -> tuple[answer.Evidence, ...]:
    found = [
        answer.Evidence(s, f"JobPipelined: {e.plugin} answers {e.result}")
        for s, e in visit.visit_calls(hooks.JOB_PIPELINED.upstream)[-1:]
    ]
    for one in failed[:1]:
        found += [answer.Evidence(s, f"no place for {one.task}") for s, _ in one.empty_passes[:1]]
        refused = one.refusals(hooks.ALLOCATABLE.upstream)
        found += [answer.Evidence(s, f"the queue has no quota left for {one.task}") for s, _ in refused]
    found.append(answer.Evidence(seq, f"{visit.action} rolls back {count_noun(len(visit.planned_tasks), 'placement')}"))
    return tuple(sorted(found))


def _gang_lines(view: JobView, statement: StatementEvent, failed: Sequence[TaskTry]) -> tuple[str, ...]:
    tried = ((attempt.task, search_reasons(view, attempt)) for attempt in failed)
    by_task = ((task, "; ".join(f"{len(names)} {reason}" for reason, names in reasons)) for task, reasons in tried)
    return (*operation_lines(statement), *(f"{task}: {text}" for task, text in by_task if text))


def operation_lines(statement: StatementEvent) -> tuple[str, ...]:
    """What a statement planned, operation by operation."""
    return tuple(f"{kind} {task} @ {node}" for kind, task, node in statement.ops)


def _failure_facts(view: JobView, failed: Sequence[TaskTry], visit: JobVisit, blame: str) -> list[str]:
    """What stopped the first task without a place."""
    if not failed:
        return []
    attempt, name = failed[0], failed[0].task_name
    left_out = ineligible_reason(view, attempt)
    if left_out is not None:
        return [f"{name} is not eligible to preempt: {left_out}."]
    if attempt.refusals(hooks.ALLOCATABLE.upstream):
        return [f"Queue {view.queue.name} has no quota left for {name}{_beyond_limit_words(view, attempt)}."]
    reasons = search_reasons(view, attempt)
    if reasons:
        text = reasons[0][0] if len(reasons) == 1 else ", ".join(f"{len(names)} {reason}" for reason, names in reasons)
        return [f"{name} fits no node: {text}.", *_nearest_node_facts(view, attempt, visit)]
    if attempt.nodes:
        return [f"{name} fits no node: {blame or 'no node has enough allowed victims'}."]
    return [f"{name} was not placed: {blame}."] if blame else []


def _beyond_limit_words(view: JobView, attempt: TaskTry) -> str:
    """`: 1 over its capability 3 cpu`: what the queue or an ancestor lacks for the task."""
    seq, event = attempt.refusals(hooks.ALLOCATABLE.upstream)[0]
    limit = room_limit(view, event.plugin, seq, view.tasks[attempt.task].resreq)
    if not limit.exceeded_dimensions:
        return ""
    whose = "its" if limit.queue == view.queue.name else f"queue {limit.queue}'s"
    name = limit.first_dimension
    all_there_is = ", all that the cluster has" if is_whole_cluster(view, limit.check.limit, name) else ""
    most = f"{limit.limit_kind(name)} of {limit.format_limit(name)} {name}"
    return f": {limit.format_excess(name)} over {whose} {most}{all_there_is}"


def _nearest_node_facts(view: JobView, attempt: TaskTry, visit: JobVisit) -> list[str]:
    """How near the best node came, after the tasks that were placed before this one."""
    seq = next((seq for seq, _ in attempt.empty_passes), visit.first)
    request, since = view.tasks[attempt.task].init_resreq, view.recording.timeline.earliest_same_seq(seq)
    rooms = [(node, room.future) for node, room in room_by_node(view.recording, since).items()]
    lacking = [(node, free, request.less_equal_with_resources_name(free)[1]) for node, free in rooms]
    near = [(free.get(short[0]), node, short[0]) for node, free, short in lacking if len(short) == 1]
    if not near:
        return []
    free, node, name = max(near, key=lambda one: one[0])
    left = amount_text.format_amount(name, max(free, 0.0))
    return [f"It asks {amount_text.format_named_amount(name, request.get(name))}; {node} has the most left, {left}."]


def search_reasons(view: JobView, attempt: TaskTry) -> list[tuple[str, list[str]]]:
    """Reason and nodes of the task's last pass of predicates that left nothing."""
    return refusal_histogram(view.recording, attempt.empty_passes[-1][1]) if attempt.empty_passes else []


def _held_finding(view: JobView) -> answer.Finding | None:
    """Tasks that were placed but never bound, since the statement was neither committed nor discarded."""
    held = [task for task in view.placed_tasks if task.status is TaskStatus.ALLOCATED]
    if not held or view.job.is_pipelined():
        return None
    have = "has a node but is not bound" if len(held) == 1 else "have a node but are not bound"
    ready = f"{view.job.ready_task_num()} of minMember {view.job.min_available} pods are ready"
    headline = answer.pending_headline(view.job.uid, f"{count_noun(len(held), 'pod')} {have}; {ready}")
    numbers = {
        "job.minAvailable": answer.count(view.job.min_available, "pods"),
        "pods.placed": answer.count(len(held), "pods"),
    }
    places = {task.key: task.node_name for task in held}
    tries = [one for visit in view.job_visits for one in visit.tries if one.task in places]
    evidence = tuple(
        answer.Evidence(one.last_placement[0], f"{one.task} is placed on {places[one.task]}")
        for one in tries
        if one.last_placement
    )
    return answer.Finding(DISCARD_CAUSE, headline, numbers, evidence)
