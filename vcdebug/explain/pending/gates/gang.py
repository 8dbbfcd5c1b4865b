"""All or nothing: some tasks found places, not enough of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import count_noun, join_names
from vcdebug.explain.amounts import count
from vcdebug.explain.answer import Advice, Evidence, Finding, owner_advice, queue_admin_advice
from vcdebug.explain.job_view import JobView
from vcdebug.explain.pending.gates.eviction.entitlement import ineligible_reason
from vcdebug.explain.pending.gates.queue_limits import room_limit
from vcdebug.explain.predicate_reasons import refusal_histogram
from vcdebug.explain.queue_findings import gang_request_words, guarantee_words
from vcdebug.framework.hooks import ALLOCATABLE, JOB_PIPELINED
from vcdebug.framework.record import StatementEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq
from vcdebug.model.sub_job import MinimumCount
from vcdebug.model.task import TaskStatus
from vcdebug.recording.state_before import job_before
from vcdebug.recording.visits import JobVisit, TaskTry

DISCARD_CAUSE = "gang-discard"


def discarded_finding(view: JobView, action: str, blame: str = "") -> Finding | None:
    """None unless the action's last statement for the job had places for some tasks and was discarded.

    `blame` says in a few words what stopped the first task without a place.
    """
    ends = [visit for visit in view.visits_of(action) if visit.end is not None]
    if not ends or ends[-1].was_committed or not ends[-1].planned_tasks:
        return _held_finding(view) if action == ALLOCATE else None
    return _build_discarded(view, ends[-1], blame)


def discarded_by_allocate(view: JobView) -> Finding | None:
    """Allocate's last statement for the job."""
    return discarded_finding(view, ALLOCATE)


def _build_discarded(view: JobView, visit: JobVisit, blame: str) -> Finding:
    assert visit.end is not None
    seq, statement = visit.end
    job, planned = view.job, visit.planned_tasks
    ready = view.recording.timeline.state_at(visit.first - 1).job_counts(job.uid).ready_count
    missing = max(job.min_available - ready - len(planned), 0)
    nodes = dict.fromkeys(node for kind, _, node in statement.ops if kind != "evict")
    victims = [task for kind, task, _ in statement.ops if kind == "evict"]
    failed = [attempt for attempt in visit.tries if attempt.task not in planned]
    cost = f" after {count_noun(len(victims), 'eviction')}" if victims else ""
    asked = [] if missing else job_before(view.recording, job.uid, seq).pipelined_roles()
    roles = {role.name: role for role in asked if not role.is_reached}
    failed = [one for one in failed if view.tasks[one.task].task_role in roles] or failed
    why = f"{_failure_words(view, failed, visit, blame)}, so its statement is discarded"
    sentence = (
        _format_short_roles(job, visit, roles.values(), f"{cost}{why}")
        if roles
        else f"{job.uid} needs {job.min_available} pods at once ({ready} already run): {visit.action} found places for "
        f"{len(planned)} ({join_names(nodes)}){cost}, {missing} too "
        f"few{why}{' and the victims stay' if victims else ''}."
    )
    numbers = {
        "job.minAvailable": count(job.min_available, "pods"),
        "pods.ready": count(ready, "pods"),
        "pods.placed": count(len(planned), "pods"),
        "pods.missing": count(missing, "pods"),
        "pods.evicted": count(len(victims), "pods"),
    }
    advice = _role_advice(roles.values()) if roles else _gang_advice(view, failed, missing)
    evidence, lines = _gang_evidence(visit, seq, failed), _gang_lines(view, statement, failed)
    return Finding(DISCARD_CAUSE, sentence, numbers, evidence, advice, lines)


def _format_short_roles(job: JobInfo, visit: JobVisit, roles: Iterable[MinimumCount], why: str) -> str:
    """Roles that have fewer places than minTaskMember asks for, as the plan stood before it was discarded."""
    short = join_names(f"role {role.name} has {role.have} of the {role.least}" for role in roles)
    return (
        f"{job.uid} is not whole: {visit.action} found places for {count_noun(len(visit.planned_tasks), 'pod')}, "
        "which would do "
        f"for minMember {job.min_available}, but {short} that minTaskMember asks for{why}."
    )


def _role_advice(roles: Collection[MinimumCount]) -> tuple[Advice, ...]:
    lower = (owner_advice(f"lower minTaskMember of role {one.name} ({one.least})") for one in roles if one.least > 1)
    return (*lower, *(queue_admin_advice(f"make room for one more pod of role {one.name}") for one in roles))


def _gang_advice(view: JobView, failed: Sequence[TaskTry], missing: int) -> tuple[Advice, ...]:
    """None where the missing pods do not wait for room."""
    if failed and ineligible_reason(view, failed[0]) is not None:
        return ()
    enough = view.job.min_available - missing
    edit = f"PodGroup/{view.job.uid}:spec.minMember={enough}"
    lower = (owner_advice(f"lower minMember to {enough}", edit),) if 0 < enough else ()
    return (*lower, queue_admin_advice(f"make room for {count_noun(missing, 'more pod')} at the same time"))


def _gang_evidence(visit: JobVisit, seq: Seq, failed: Sequence[TaskTry]) -> tuple[Evidence, ...]:
    found = [
        Evidence(s, f"JobPipelined: {e.plugin} answers {e.result}")
        for s, e in visit.visit_calls(JOB_PIPELINED.upstream)[-1:]
    ]
    for one in failed[:1]:
        found += [Evidence(s, f"no place for {one.task}") for s, e in one.predicate_passes if not len(e.feasible)][:1]
        refused = [s for s, e in one.task_calls(ALLOCATABLE.upstream) if not e.result]
        found += [Evidence(s, f"the queue may not take {one.task}") for s in refused]
    found.append(Evidence(seq, f"{visit.action} discards {count_noun(len(visit.planned_tasks), 'placement')}"))
    return tuple(sorted(found))


def _gang_lines(view: JobView, statement: StatementEvent, failed: Sequence[TaskTry]) -> tuple[str, ...]:
    tried = ((attempt.task, search_reasons(view, attempt)) for attempt in failed)
    told = ((task, "; ".join(f"{len(names)} {reason}" for reason, names in reasons)) for task, reasons in tried)
    return (*operation_lines(statement), *(f"{task}: {text}" for task, text in told if text))


def operation_lines(statement: StatementEvent) -> tuple[str, ...]:
    """What a statement planned, operation by operation."""
    return tuple(f"{kind} {task} @ {node}" for kind, task, node in statement.ops)


def _failure_words(view: JobView, failed: Sequence[TaskTry], visit: JobVisit, blame: str) -> str:
    if not failed:
        return ""
    attempt, name = failed[0], failed[0].task_name
    left_out = ineligible_reason(view, attempt)
    if left_out is not None:
        return f" ({name} may not preempt: {left_out})"
    if any(not event.result for _, event in attempt.task_calls(ALLOCATABLE.upstream)):
        return f" (queue {view.queue.name} may not allocate {name}{_beyond_limit_words(view, attempt)})"
    reasons = search_reasons(view, attempt)
    if reasons:
        text = ", ".join(f"{len(names)} {reason}" for reason, names in reasons)
        return f" ({name}: {text}{_nearest_node_words(view, attempt, visit)})"
    if attempt.nodes:
        return f" ({name}: {blame or 'no node whose victims make room'})"
    return f" ({name}: {blame})" if blame else f" ({name} found none)"


def _beyond_limit_words(view: JobView, attempt: TaskTry) -> str:
    """What the queue, or an ancestor, lacks for it."""
    seq, event = next((s, e) for s, e in attempt.task_calls(ALLOCATABLE.upstream) if not e.result)
    limit = room_limit(view, event.plugin, seq, view.tasks[attempt.task].resreq)
    if not limit.exceeded_dimensions:
        return ""
    whose = "" if limit.queue == view.queue.name else f" of its ancestor {limit.queue}"
    kept = guarantee_words(view, event.plugin, limit, seq)
    return (
        f": {limit.format_excess(limit.first_dimension)} over the "
        f"{limit.format_limit(limit.first_dimension)}{whose}{gang_request_words(view, limit)}{kept}"
    )


def _nearest_node_words(view: JobView, attempt: TaskTry, visit: JobVisit) -> str:
    """How near the best node came, as it stood after the pods that were placed before."""
    seq = next((seq for seq, event in attempt.predicate_passes if not len(event.feasible)), visit.first)
    task = view.tasks[attempt.task]
    state = view.recording.timeline.state_at(seq)
    best: tuple[float, str, str] | None = None
    for name in view.session.nodes:
        node = state.nodes[name]
        future = node.future_idle()
        _, short = task.init_resreq.less_equal_with_resources_name(future)
        if len(short) == 1 and (best is None or future.get(short[0]) > best[0]):
            best = (future.get(short[0]), name, short[0])
    if best is None:
        return ""
    free, node_name, dimension = best
    asked = amount_text.format_amount(dimension, task.init_resreq.get(dimension))
    return (
        f"; it asks {asked}, at most {amount_text.format_named_amount(dimension, max(free, 0.0))} is left, on "
        f"{node_name}"
    )


def search_reasons(view: JobView, attempt: TaskTry) -> list[tuple[str, list[str]]]:
    """Reason and nodes of the task's last pass of predicates that left nothing."""
    empty = [event for _, event in attempt.predicate_passes if not len(event.feasible)]
    return refusal_histogram(view.recording, empty[-1]) if empty else []


def _held_finding(view: JobView) -> Finding | None:
    """Tasks that were placed but never bound, since the statement was neither committed nor discarded."""
    held = [task for task in view.placed_tasks if task.status is TaskStatus.ALLOCATED]
    if not held or view.job.is_pipelined():
        return None
    sentence = (
        f"{count_noun(len(held), 'pod')} of {view.job.uid} got a node but {'is' if len(held) == 1 else 'are'} not "
        "bound: "
        f"{view.job.ready_task_num()} of {view.job.min_available} pods are ready."
    )
    numbers = {"job.minAvailable": count(view.job.min_available, "pods"), "pods.placed": count(len(held), "pods")}
    places = {task.key: task.node_name for task in held}
    tries = [one for visit in view.job_visits for one in visit.tries if one.task in places]
    evidence = tuple(
        Evidence(one.last_placement[0], f"{one.task} gets {places[one.task]}") for one in tries if one.last_placement
    )
    return Finding(DISCARD_CAUSE, sentence, numbers, evidence)
