"""A queue that may not allocate a task or reclaim for it: the limit, the excess, and what would help."""

from __future__ import annotations

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import count_noun, format_amount, format_amounts_apart, join_names
from vcdebug.explain import answer, queue_findings
from vcdebug.explain.equation import QueueCheck, first_exceeded
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.framework import hooks
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import Seq
from vcdebug.model.queue import OPEN
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import TaskInfo, is_allocated_status
from vcdebug.recording.state_before import sum_resources

NOT_ALLOCATABLE = "queue-not-allocatable"
OVERUSED = "overused"
PREEMPTIVE = "preemptive"


def _more_share_advice(view: JobView, plugin: str, limit: QueueCheck, seq: Seq) -> tuple[answer.Advice, ...]:
    """Advice for a queue whose limit leaves no room for one more task."""
    if view.queue.state != OPEN:
        return queue_findings.open_queue_advice(view)
    if limit.is_capability:
        wait = answer.owner_advice(f"wait until jobs of queue {limit.queue} end")
        raised = answer.queue_admin_advice(f"raise spec.capability of queue {limit.queue}")
        return (wait, raised) if _is_held_by_others(view, limit, seq) else (raised,)
    if not limit.exceeded_dimensions:
        return answer.owner_advice("use another queue"), answer.cluster_admin_advice(
            f"look at {plugin}'s arguments and at queue {limit.queue}"
        )
    if queue_findings.is_whole_cluster(view, limit.check.limit, limit.first_dimension):
        if _is_held_by_others(view, limit, seq):
            return queue_findings.whole_cluster_advice(view, limit.queue, limit.first_dimension)
        total = amount_text.format_named_amount(
            limit.first_dimension, view.session.total_resource.get(limit.first_dimension)
        )
        less = answer.owner_advice(f"ask for less: the whole cluster has {total}, and no other job holds any of it")
        return (less, answer.ADD_NODES_ADVICE)
    keepers = queue_findings.unmet_guarantees(view, plugin, limit, seq)
    if keepers:
        return (
            answer.queue_admin_advice(f"lower spec.guarantee of queue {join_names(keepers)}"),
            answer.ADD_NODES_ADVICE,
        )
    unread = plugin != queue_findings.CAPACITY_PLUGIN and view.queue.deserved
    other = (
        (
            answer.cluster_admin_advice(
                f"put {queue_findings.CAPACITY_PLUGIN} in the place of {plugin}: it reads spec.deserved"
            ),
        )
        if unread
        else ()
    )
    return (*queue_findings.quota_explainer(plugin).larger(view), *other)


def overused_finding(view: JobView, action: str) -> answer.Finding | None:
    """None unless the action passed the job by because its queue is overused."""
    if view.action_starts(action) is None or any(visit.tries for visit in view.visits_of(action)):
        return None
    asked = view.calls_during(action, hooks.OVERUSED.upstream, "queue", view.queue.name)
    answers = [(seq, event) for seq, event in asked if event.result]
    return _build_overused(view, action, *answers[-1]) if answers else None


def overused_in_allocate(view: JobView) -> answer.Finding | None:
    """Whether allocate passed the job by."""
    return overused_finding(view, ALLOCATE)


def _build_overused(view: JobView, action: str, seq: Seq, event: HookEvent) -> answer.Finding:
    state, queue = view.recording.timeline.state_at(seq - 1), view.queue
    allocated, deserved = (
        state.plugin_amount(event.plugin, queue.name, figure) for figure in ("allocated", "deserved")
    )
    lines = tuple(
        f"{name}: allocated {held} of deserved {least}"
        for name in deserved.resource_names()
        for held, least in [format_amounts_apart(name, allocated.get(name), deserved.get(name))]
    )
    names = [name for name in deserved.resource_names() if name != PODS]
    by_weight = deserved.is_empty() and event.plugin != queue_findings.CAPACITY_PLUGIN
    sentence = (
        f"{action} leaves {view.job.uid} out: its queue {queue.name} is overused, it holds "
        f"{amount_text.format_resource(allocated, names or None)} and deserves {amount_text.format_resource(deserved)}"
        f"{f' (its weight is {queue.weight})' if by_weight else ''}."
    )
    numbers = {**answer.numbers("queue.allocated", allocated), **answer.numbers("queue.deserved", deserved)}
    evidence = (answer.Evidence(seq, f"{event.plugin} calls queue {queue.name} overused"),)
    whole = [
        name for name, value in deserved.items() if value > 0 and queue_findings.is_whole_cluster(view, deserved, name)
    ]
    advice = (
        queue_findings.whole_cluster_advice(view, queue.name, whole[0])
        if whole
        else queue_findings.quota_explainer(event.plugin).larger(view)
    )
    return answer.Finding(OVERUSED, sentence, numbers, evidence, advice, lines)


def allocatable_refusals(view: JobView) -> list[tuple[Seq, HookEvent]]:
    """Allocatable's refusals when allocate tried the job's tasks."""
    answers = (hook for attempt in view.placing_tries for hook in attempt.task_calls(hooks.ALLOCATABLE.upstream))
    return [(seq, event) for seq, event in answers if not event.result]


def room_limit(view: JobView, plugin: str, seq: Seq, request: Resource) -> QueueCheck:
    """The queue, or the ancestor, that does not hold a request; of a queue that is not Open nothing is exceeded."""
    limit = first_exceeded(queue_findings.quota_explainer(plugin).room(view.recording, seq, view.queue.name, request))
    return limit if view.queue.state == OPEN else limit.without_amounts()


def not_allocatable_finding(
    view: JobView, task: TaskInfo, fits: NodeFits, seq: Seq, event: HookEvent, *, after: str = ""
) -> answer.Finding:
    """The finding for a queue that may not allocate the task; `after` names the evictions that would make room."""
    broken = queue_findings.broken_tree_finding(view, seq, event.plugin)
    if broken is not None:
        return broken
    quota = queue_findings.quota_explainer(event.plugin)
    limit = room_limit(view, event.plugin, seq, task.resreq)
    alone = dimension_over_limit(view, limit)
    have = "has" if len(fits.free_nodes) == 1 else "have"
    free = f"{count_noun(len(fits.free_nodes), 'node')} {have} room for {task.name}, but " if fits.free_nodes else after
    numbers = {
        **answer.numbers("request", task.resreq),
        **answer.numbers("queue.allocated", limit.check.counted_already, limit.exceeded_dimensions),
        **answer.numbers(f"queue.{limit.figure}", limit.check.limit, limit.exceeded_dimensions),
        **limit.excess_numbers(),
        "nodes.free": answer.count(len(fits.free_nodes), "nodes"),
    }
    evidence = (answer.Evidence(seq, f"{event.plugin}: queue {view.queue.name} may not allocate {task.key}"),)
    holds = "then holds" if after and not fits.free_nodes else "holds"
    sentence = _refusal_sentence(view, task, free, event.plugin, limit, holds)
    sentence += queue_findings.sibling_holders_words(view, seq, event.plugin, limit) + queue_findings.guarantee_words(
        view, event.plugin, limit, seq
    )
    if gang := queue_findings.gang_request_words(view, limit):
        never = f", where {limit.format_limit(limit.first_dimension)} is all there may be"
        sentence += gang + (never if limit.is_capability and not alone else "")
    if alone:
        asks, has = limit.request_of(alone), limit.format_limit(alone)
        helps = "no waiting, no eviction and no node can help"
        sentence += f"; {task.name} alone asks {asks} where {has} is all there may be: {helps}"
    rounds = () if limit.is_capability else quota.derivation(view.recording, limit.queue, limit.first_dimension)
    advice = _larger_limit_advice(limit, alone) if alone else _more_share_advice(view, event.plugin, limit, seq)
    return answer.Finding(
        NOT_ALLOCATABLE, f"{sentence}.", numbers, evidence, advice, (*limit.arithmetic_lines(), *rounds)
    )


def dimension_over_limit(view: JobView, limit: QueueCheck) -> str:
    """The dimension in which one request alone exceeds what the queue may ever have; empty where none does."""
    request, most = limit.check.request, limit.check.limit
    for name in limit.exceeded_dimensions:
        # A share moves with other queues' jobs, so only a capability or the whole cluster is a lasting limit.
        firm = limit.is_capability or queue_findings.is_whole_cluster(view, most, name)
        if firm and request.get(name) > most.get(name):
            return name
    return ""


def _larger_limit_advice(limit: QueueCheck, name: str) -> tuple[answer.Advice, ...]:
    wanted = amount_text.format_named_amount(name, limit.check.request.get(name))
    if not limit.is_capability:
        return answer.owner_advice(
            f"ask for less than {wanted} in one pod: the whole cluster has less"
        ), answer.ADD_NODES_ADVICE
    more = answer.queue_admin_advice(f"raise spec.capability of queue {limit.queue} to {wanted} or more")
    return answer.owner_advice("ask for less in one pod, or use another queue"), more


def impossible_refusal(view: JobView) -> tuple[Seq, HookEvent] | None:
    """The refusal of a pod that alone is more than its queue may ever have, and without which the gang is too small."""
    held, waiting = view.job.ready_task_num(), queue_findings.unbound_tasks(view)
    refused = allocatable_refusals(view) if not queue_findings.tree_fault(view.recording) else []
    for seq, event in refused:
        task = view.tasks.get(event.task)
        # The gang can start without this pod, so its refusal does not make the job impossible.
        if task is None or held + len(waiting) - 1 >= view.job.min_available > held:
            continue
        limit = room_limit(view, event.plugin, seq, task.resreq)
        if dimension_over_limit(view, limit) or (
            limit.is_capability and queue_findings.gang_request_words(view, limit)
        ):
            return seq, event
    return None


def _is_held_by_others(view: JobView, limit: QueueCheck, seq: Seq) -> bool:
    """Whether other jobs hold what the queue lacks, so that their end would help."""
    tasks = view.recording.timeline.state_at(seq - 1).tasks
    left = limit.check.counted_already.get(limit.first_dimension)
    for key, task in view.tasks.items():
        # The job's own pods cannot end before the job runs, so their share never comes back.
        left -= task.resreq.get(limit.first_dimension) if is_allocated_status(tasks[key].status) else 0.0
    return left > 0


def _refusal_sentence(view: JobView, task: TaskInfo, but: str, plugin: str, limit: QueueCheck, holds: str) -> str:
    where = f"{but}q" if but else "Q"
    if not limit.exceeded_dimensions:
        state = view.queue.state or "without a state"
        reason = "says no" if state == OPEN else "lets only Open queues allocate"
        return f"{where}ueue {view.queue.name} ({state}) may not allocate {task.name}: {plugin} {reason}"
    name = limit.first_dimension
    above = "" if limit.queue == view.queue.name else f": its ancestor {limit.queue}"
    return (
        f"{where}ueue {view.queue.name} may not allocate {task.name}{above or ': it'} {holds} "
        f"{limit.format_taken(name)} of {limit.format_limit(name)} ({_limit_kind(view, plugin, limit)}), and "
        f"{format_amount(name, task.resreq.get(name))} more is {limit.format_excess(name)} "
        f"over{limit.others_exceeded_words()}"
    )


def _limit_kind(view: JobView, plugin: str, limit: QueueCheck) -> str:
    """The kind of limit; for proportion with the value of spec.deserved, which it does not read."""
    if limit.is_capability:
        return "capability"
    if limit.figure != "deserved":
        return "real capability"
    name, stated = limit.first_dimension, Resource.from_list(view.queue.deserved or {})
    if plugin == queue_findings.CAPACITY_PLUGIN or stated.get(name) <= 0:
        return "deserved amount"
    return f"deserved by weight; {plugin} does not read spec.deserved, {format_amount(name, stated.get(name))}"


def not_preemptive_finding(view: JobView, task: TaskInfo, seq: Seq, event: HookEvent) -> answer.Finding:
    """The queue asks for more than it deserves, or may hold."""
    broken = queue_findings.broken_tree_finding(view, seq, event.plugin)
    if broken is not None:
        return broken
    asked = [view.tasks[key] for key in event.candidates if key in view.tasks] or [task]
    who = asked[0].name if len(asked) == 1 else f"{count_noun(len(asked), 'pod')} at once"
    request = sum_resources(each.resreq for each in asked)
    evidence = (
        answer.Evidence(seq, f"{event.plugin}: queue {view.queue.name} is not entitled to more (Preemptive false)"),
    )
    refused = f"Queue {view.queue.name} may not reclaim for {who}"
    if view.queue.state != OPEN:
        state = view.queue.state or "without a state"
        sentence = f"{refused}: it is {state}, and {event.plugin} lets only Open queues reclaim."
        return answer.Finding(PREEMPTIVE, sentence, {}, evidence, queue_findings.open_queue_advice(view))
    quota = queue_findings.quota_explainer(event.plugin)
    # Only capacity, in newer releases, also requires room below the queue's capability.
    limited = quota.reclaims_within_limit(view.recording)
    levels = quota.room(view.recording, seq, view.queue.name, request) if limited else []
    if levels and levels[0].exceeded_dimensions:
        return _beyond_capability(view, refused, levels[0], event, evidence)
    return _beyond_deserved(view, refused, seq, request, event, evidence)


def _beyond_capability(
    view: JobView, refused: str, limit: QueueCheck, event: HookEvent, evidence: tuple[answer.Evidence, ...]
) -> answer.Finding:
    """What the queue would hold is more than it may ever hold."""
    name = limit.first_dimension
    then = limit.total_of(name)
    sentence = (
        f"{refused}: with that it would hold {then} of {limit.format_limit(name)} "
        f"({_limit_kind(view, event.plugin, limit)}), so {event.plugin} says no{limit.others_exceeded_words()}."
    )
    advice = _more_share_advice(view, event.plugin, limit, evidence[0].seq)
    return answer.Finding(PREEMPTIVE, sentence, limit.limit_numbers(), evidence, advice, limit.arithmetic_lines())


def _beyond_deserved(
    view: JobView, refused: str, seq: Seq, request: Resource, event: HookEvent, evidence: tuple[answer.Evidence, ...]
) -> answer.Finding:
    """What the queue would hold is more than it deserves."""
    quota, queue = queue_findings.quota_explainer(event.plugin), view.queue
    claim = quota.claim(view.recording, seq, queue.name, request)
    names, taken, deserved = claim.exceeded_dimensions, claim.check.counted_already, claim.check.limit
    lines = tuple(
        f"{n}: allocated {held} + request {asked} > deserved {least}"
        for n in names
        for held, asked, least in [format_amounts_apart(n, taken.get(n), request.get(n), deserved.get(n))]
    )
    over = ", ".join(f"{claim.total_of(n)} of {claim.format_limit(n)}" for n in names)
    sentence = (
        f"{refused}: with that it would hold {over or 'too much'} that "
        f"it deserves{_format_weight(view, event.plugin)}, so {event.plugin} says no."
    )
    numbers = {
        **answer.numbers("request", request),
        **answer.numbers("queue.allocated", taken, names),
        **answer.numbers("queue.deserved", deserved, names),
        **claim.excess_numbers(),
        "queue.weight": answer.count(queue.weight, ""),
    }
    advice = (answer.owner_advice("ask for less at once"), *quota.larger(view))
    rounds = tuple(line for n in names[:1] for line in quota.derivation(view.recording, queue.name, n))
    return answer.Finding(PREEMPTIVE, sentence, numbers, evidence, advice, (*lines, *rounds))


def _format_weight(view: JobView, plugin: str) -> str:
    """The queue's weight among the queues that have jobs: only they share the cluster."""
    if plugin == queue_findings.CAPACITY_PLUGIN:
        return ""
    # proportion divides the cluster among the queues with jobs only.
    names = dict.fromkeys(job.queue for job in view.session.jobs.values())
    weights = [view.session.queues[name].weight for name in names]
    return f" (weight {view.queue.weight} of {sum(weights)})"
