"""May the job evict at all? Starving, preemption policy, Preemptive."""

from __future__ import annotations

from vcdebug.explain import amounts
from vcdebug.explain.amounts import count, plural
from vcdebug.explain.answer import Evidence, Finding
from vcdebug.explain.case import Case
from vcdebug.explain.gates.derivation import dealt_lines
from vcdebug.explain.gates.limits import TREE_PLUGIN, Limit, allocate_limit
from vcdebug.explain.gates.share import larger_entitlement, more_share, open_it
from vcdebug.explain.visits import Visit
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.model.queue import OPEN
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo

NOT_STARVING = "not-starving"
POLICY_NEVER = "preemption-policy-never"
PREEMPTIVE = "preemptive"


def not_starving(case: Case, action: str, task: TaskInfo) -> Finding:
    """The action's turn never came, because the job does not starve."""
    start, end = case.action_starts(action) or 0, case.action_ends(action)
    answers = [(s, e) for s, e in case.hooks("JobStarving") if s > start and (end is None or s < end) and not e.result]
    counts = case.recording.timeline.state_at(start).job(case.job.uid)
    evidence = tuple(Evidence(s, f"JobStarving: {e.plugin} says no") for s, e in answers[:1])
    who = answers[0][1].plugin if answers else "no plugin"
    reason = (
        f"{counts.ready} ready + {counts.waiting} waiting for room >= minMember {counts.min_available}"
        if answers
        else "no plugin with JobStarving is enabled, so no job ever starves"
    )
    sentence = (
        f"{case.job.uid} may not {action} for its {plural(len(case.left_over), 'pending pod')}: {who} "
        f"{'says that it does not starve' if answers else 'speaks for it'} ({reason}), and no node has room for "
        f"{task.name} ({amounts.resource(task.init_resreq)})."
    )
    numbers = {
        "pods.ready": count(counts.ready, "pods"),
        "pods.waiting": count(counts.waiting, "pods"),
        "pods.pending": count(len(case.left_over), "pods"),
        "job.minAvailable": count(counts.min_available, "pods"),
        **amounts.numbers("request", task.init_resreq),
    }
    if not answers:
        advice: tuple[str, ...] = ("enable gang or priority (enableJobStarving) in a tier of the configuration",)
        return Finding(NOT_STARVING, sentence, numbers, _start(case, action), advice)
    advice = (
        "wait for free room: pods beyond minMember never cost others theirs",
        f"or raise minMember above {counts.ready + counts.waiting}, so that the gang counts as incomplete",
    )
    lines = (f"starving = waiting {counts.waiting} + ready {counts.ready} < minMember {counts.min_available}: no",)
    return Finding(NOT_STARVING, sentence, numbers, evidence, advice, lines)


def _start(case: Case, action: str) -> tuple[Evidence, ...]:
    start = case.action_starts(action)
    return (Evidence(start, f"{action} starts, and never turns to the job"),) if start is not None else ()


def never(case: Case, visit: Visit, task: TaskInfo) -> Finding:
    """preemptionPolicy: Never."""
    name = task.pod.priority_class_name
    source = f" (priority class {name})" if name else ""
    candidates = plural(len([t for t in visit.tries if case.tasks[t.task].pod.preemption_policy == "Never"]), "pod")
    sentence = (
        f"{task.name} may not evict anybody: its preemptionPolicy is Never{source}, so {visit.action} skips it, and no "
        f"node has room for {amounts.resource(task.init_resreq)}."
    )
    attempt = next(one for one in visit.tries if one.task == task.key)
    evidence: tuple[Evidence, ...] = (
        Evidence(attempt.first - 1, f"{visit.action} takes up {task.key} and leaves it at once"),
    )
    if visit.end is not None:
        evidence = (
            *evidence,
            Evidence(visit.end[0], f"{visit.action} gives up: {candidates} tried, no victim looked at"),
        )
    advice = ("use a priority class whose preemptionPolicy is PreemptLowerPriority, or wait for free room",)
    return Finding(POLICY_NEVER, sentence, amounts.numbers("request", task.init_resreq), evidence, advice)


def not_preemptive(case: Case, task: TaskInfo, seq: Seq, event: HookEvent) -> Finding:
    """The queue asks for more than it deserves, or may hold."""
    asked = [case.tasks[key] for key in dict(event.subject).get("candidates", ()) if key in case.tasks] or [task]
    who = asked[0].name if len(asked) == 1 else f"{plural(len(asked), 'pod')} at once"
    request = Resource()
    for each in asked:
        request.add(each.resreq)
    evidence = (Evidence(seq, f"{event.plugin}: queue {case.queue.name} is not entitled to more (Preemptive false)"),)
    refused = f"Queue {case.queue.name} may not reclaim for {who}"
    if case.queue.state != OPEN:
        state = case.queue.state or "without a state"
        sentence = f"{refused}: it is {state}, and {event.plugin} lets only Open queues reclaim."
        return Finding(PREEMPTIVE, sentence, {}, evidence, open_it(case.queue))
    limit = allocate_limit(case, event.plugin, seq, request) if event.plugin == TREE_PLUGIN else None
    if limit is not None and limit.exceeded:
        return _beyond_capability(case, refused, limit, event, evidence)
    return _beyond_deserved(case, refused, request, seq, event, evidence)


def _beyond_capability(
    case: Case, refused: str, limit: Limit, event: HookEvent, evidence: tuple[Evidence, ...]
) -> Finding:
    """What the queue would hold is more than it may ever hold."""
    name = limit.first
    kind = "capability" if limit.hard else "real capability"
    above = "" if limit.queue == case.queue.name else f" of its ancestor {limit.queue}"
    then = amounts.amount(name, limit.taken.get(name) + limit.request.get(name))
    sentence = (
        f"{refused}: with that it would hold {then} of {amounts.named(name, limit.limit.get(name))} "
        f"({kind}{above}), so {event.plugin} says no{limit.beside()}."
    )
    return Finding(
        PREEMPTIVE, sentence, limit.numbers(), evidence, more_share(case, event.plugin, limit), limit.lines()
    )


def _beyond_deserved(
    case: Case, refused: str, request: Resource, seq: Seq, event: HookEvent, evidence: tuple[Evidence, ...]
) -> Finding:
    """What the queue would hold is more than it deserves."""
    state, queue = case.recording.timeline.state_at(seq - 1), case.queue
    allocated = state.amount(event.plugin, queue.name, "allocated")
    deserved = state.amount(event.plugin, queue.name, "deserved")
    names = allocated.clone().add(request).less_equal_with_dimension_and_resources_name(deserved, request)[1]
    lines = tuple(
        f"{n}: allocated {amounts.amount(n, allocated.get(n))} + request {amounts.amount(n, request.get(n))} > "
        f"deserved {amounts.amount(n, deserved.get(n))}"
        for n in names
    )
    over = ", ".join(
        f"{amounts.amount(n, allocated.get(n) + request.get(n))} of {amounts.named(n, deserved.get(n))}" for n in names
    )
    sentence = (
        f"{refused}: with that it would hold {over or 'too much'} that "
        f"it deserves{_weight(case, event.plugin)}, so {event.plugin} says no."
    )
    numbers = {
        **amounts.numbers("request", request),
        **amounts.numbers("queue.allocated", allocated, names),
        **amounts.numbers("queue.deserved", deserved, names),
        **{f"short.{n}": amounts.number(n, allocated.get(n) + request.get(n) - deserved.get(n)) for n in names},
        "queue.weight": count(queue.weight, ""),
    }
    advice = (larger_entitlement(case, event.plugin), "or ask for less at once")
    rounds = tuple(line for n in names[:1] for line in dealt_lines(case, event.plugin, queue.name, n))
    return Finding(PREEMPTIVE, sentence, numbers, evidence, advice, (*lines, *rounds))


def _weight(case: Case, plugin: str) -> str:
    """The queue's weight among the queues that have jobs: only they share the cluster."""
    if plugin == TREE_PLUGIN:
        return ""
    names = dict.fromkeys(job.queue for job in case.session.jobs.values())
    weights = [case.session.queues[name].weight for name in names]
    return f" (weight {case.queue.weight} of {sum(weights)})"
