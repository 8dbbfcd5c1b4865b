"""All or nothing: some tasks found places, not enough of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import listed, plural
from vcdebug.causes.gates.eviction.entitlement import ineligible
from vcdebug.causes.gates.queue_limits import room_limit
from vcdebug.explain.amounts import count
from vcdebug.explain.answer import Advice, Evidence, Finding, owner, sharers
from vcdebug.explain.job_view import JobView
from vcdebug.explain.queue_quota import by_guarantees, gang_in_all
from vcdebug.explain.searches import told
from vcdebug.framework.hooks import ALLOCATABLE, JOB_PIPELINED
from vcdebug.framework.record import StatementEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import Seq
from vcdebug.model.status import TaskStatus
from vcdebug.model.taskset import Least
from vcdebug.trace.state_before import job_before
from vcdebug.trace.visits import TaskTry, Visit

DISCARD = "gang-discard"


def discarded(view: JobView, action: str, blame: str = "") -> Finding | None:
    """None unless the action's last statement for the job had places for some tasks and was discarded.

    `blame` says in a few words what stopped the first task without a place.
    """
    ends = [visit for visit in view.visits_of(action) if visit.end is not None]
    if not ends or ends[-1].committed or not ends[-1].planned:
        return _held(view) if action == ALLOCATE else None
    return _discarded(view, ends[-1], blame)


def discarded_by_allocate(view: JobView) -> Finding | None:
    """Allocate's last statement for the job."""
    return discarded(view, ALLOCATE)


def _discarded(view: JobView, visit: Visit, blame: str) -> Finding:
    assert visit.end is not None
    seq, statement = visit.end
    job, planned = view.job, visit.planned
    ready = view.recording.timeline.state_at(visit.first - 1).job(job.uid).ready
    missing = max(job.min_available - ready - len(planned), 0)
    nodes = dict.fromkeys(node for kind, _, node in statement.ops if kind != "evict")
    victims = [task for kind, task, _ in statement.ops if kind == "evict"]
    failed = [attempt for attempt in visit.tries if attempt.task not in planned]
    cost = f" after {plural(len(victims), 'eviction')}" if victims else ""
    asked = [] if missing else job_before(view.recording, job.uid, seq).pipelined_roles()
    roles = {role.name: role for role in asked if not role.holds}
    failed = [one for one in failed if view.tasks[one.task].task_role in roles] or failed
    why = f"{_why(view, failed, visit, blame)}, so its statement is discarded"
    sentence = (
        _by_role(job, visit, roles.values(), f"{cost}{why}")
        if roles
        else f"{job.uid} needs {job.min_available} pods at once ({ready} already run): {visit.action} found places for "
        f"{len(planned)} ({listed(nodes)}){cost}, {missing} too few{why}{' and the victims stay' if victims else ''}."
    )
    numbers = {
        "job.minAvailable": count(job.min_available, "pods"),
        "pods.ready": count(ready, "pods"),
        "pods.placed": count(len(planned), "pods"),
        "pods.missing": count(missing, "pods"),
        "pods.evicted": count(len(victims), "pods"),
    }
    advice = _role_advice(roles.values()) if roles else _advice(view, failed, missing)
    evidence, lines = _evidence(visit, seq, failed), _lines(view, statement, failed)
    return Finding(DISCARD, sentence, numbers, evidence, advice, lines)


def _by_role(job: JobInfo, visit: Visit, roles: Iterable[Least], why: str) -> str:
    """Roles that have fewer places than minTaskMember asks for, as the plan stood before it was discarded."""
    short = listed(f"role {role.name} has {role.have} of the {role.least}" for role in roles)
    return (
        f"{job.uid} is not whole: {visit.action} found places for {plural(len(visit.planned), 'pod')}, which would do "
        f"for minMember {job.min_available}, but {short} that minTaskMember asks for{why}."
    )


def _role_advice(roles: Collection[Least]) -> tuple[Advice, ...]:
    lower = (owner(f"lower minTaskMember of role {one.name} ({one.least})") for one in roles if one.least > 1)
    return (*lower, *(sharers(f"make room for one more pod of role {one.name}") for one in roles))


def _advice(view: JobView, failed: Sequence[TaskTry], missing: int) -> tuple[Advice, ...]:
    """None where the missing pods do not wait for room."""
    if failed and ineligible(view, failed[0]) is not None:
        return ()
    enough = view.job.min_available - missing
    edit = f"PodGroup/{view.job.uid}:spec.minMember={enough}"
    lower = (owner(f"lower minMember to {enough}", edit),) if 0 < enough else ()
    return (*lower, sharers(f"make room for {plural(missing, 'more pod')} at the same time"))


def _evidence(visit: Visit, seq: Seq, failed: Sequence[TaskTry]) -> tuple[Evidence, ...]:
    found = [
        Evidence(s, f"JobPipelined: {e.plugin} answers {e.result}") for s, e in visit.hooks(JOB_PIPELINED.upstream)[-1:]
    ]
    for one in failed[:1]:
        found += [Evidence(s, f"no place for {one.task}") for s, e in one.searches if not len(e.feasible)][:1]
        refused = [s for s, e in one.hooks(ALLOCATABLE.upstream) if not e.result]
        found += [Evidence(s, f"the queue may not take {one.task}") for s in refused]
    found.append(Evidence(seq, f"{visit.action} discards {plural(len(visit.planned), 'placement')}"))
    return tuple(sorted(found))


def _lines(view: JobView, statement: StatementEvent, failed: Sequence[TaskTry]) -> tuple[str, ...]:
    tried = ((attempt.task, search_reasons(view, attempt)) for attempt in failed)
    told = ((task, "; ".join(f"{len(names)} {reason}" for reason, names in reasons)) for task, reasons in tried)
    return (*operation_lines(statement), *(f"{task}: {text}" for task, text in told if text))


def operation_lines(statement: StatementEvent) -> tuple[str, ...]:
    """What a statement planned, operation by operation."""
    return tuple(f"{kind} {task} @ {node}" for kind, task, node in statement.ops)


def _why(view: JobView, failed: Sequence[TaskTry], visit: Visit, blame: str) -> str:
    if not failed:
        return ""
    attempt, name = failed[0], failed[0].name
    left_out = ineligible(view, attempt)
    if left_out is not None:
        return f" ({name} may not preempt: {left_out})"
    if any(not event.result for _, event in attempt.hooks(ALLOCATABLE.upstream)):
        return f" (queue {view.queue.name} may not allocate {name}{_beyond(view, attempt)})"
    reasons = search_reasons(view, attempt)
    if reasons:
        text = ", ".join(f"{len(names)} {reason}" for reason, names in reasons)
        return f" ({name}: {text}{_nearest(view, attempt, visit)})"
    if attempt.nodes:
        return f" ({name}: {blame or 'no node whose victims make room'})"
    return f" ({name}: {blame})" if blame else f" ({name} found none)"


def _beyond(view: JobView, attempt: TaskTry) -> str:
    """What the queue, or an ancestor, lacks for it."""
    seq, event = next((s, e) for s, e in attempt.hooks(ALLOCATABLE.upstream) if not e.result)
    limit = room_limit(view, event.plugin, seq, view.tasks[attempt.task].resreq)
    if not limit.exceeded:
        return ""
    whose = "" if limit.queue == view.queue.name else f" of its ancestor {limit.queue}"
    kept = by_guarantees(view, event.plugin, limit, seq)
    return f": {limit.over(limit.first)} over the {limit.limit_of(limit.first)}{whose}{gang_in_all(view, limit)}{kept}"


def _nearest(view: JobView, attempt: TaskTry, visit: Visit) -> str:
    """How near the best node came, as it stood after the pods that were placed before."""
    seq = next((seq for seq, event in attempt.searches if not len(event.feasible)), visit.first)
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
    asked = amount_text.amount(dimension, task.init_resreq.get(dimension))
    return f"; it asks {asked}, at most {amount_text.named(dimension, max(free, 0.0))} is left, on {node_name}"


def search_reasons(view: JobView, attempt: TaskTry) -> list[tuple[str, list[str]]]:
    """Reason and nodes of the task's last pass of predicates that left nothing."""
    empty = [event for _, event in attempt.searches if not len(event.feasible)]
    return told(view.recording, empty[-1]) if empty else []


def _held(view: JobView) -> Finding | None:
    """Tasks that were placed but never bound, since the statement was neither committed nor discarded."""
    held = [task for task in view.placed if task.status is TaskStatus.ALLOCATED]
    if not held or view.job.is_pipelined():
        return None
    sentence = (
        f"{plural(len(held), 'pod')} of {view.job.uid} got a node but {'is' if len(held) == 1 else 'are'} not bound: "
        f"{view.job.ready_task_num()} of {view.job.min_available} pods are ready."
    )
    numbers = {"job.minAvailable": count(view.job.min_available, "pods"), "pods.placed": count(len(held), "pods")}
    places = {task.key: task.node_name for task in held}
    tries = [one for visit in view.visits for one in visit.tries if one.task in places]
    evidence = tuple(Evidence(one.place[0], f"{one.task} gets {places[one.task]}") for one in tries if one.place)
    return Finding(DISCARD, sentence, numbers, evidence)
