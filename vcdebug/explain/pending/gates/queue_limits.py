"""A queue that may not allocate or reclaim for a task: the limit, the excess, and advice."""

from collections.abc import Iterator
from operator import le

from msgspec.structs import replace

from vcdebug import amount_text
from vcdebug.actions import ALLOCATE
from vcdebug.amount_text import count_noun, format_amount, format_amounts_apart, join_first_names, join_names, verb_for
from vcdebug.explain import queue_findings, queue_index
from vcdebug.explain.answer import Advice, Cause, CauseHeadline, Evidence, Finding, amount_numbers, counts
from vcdebug.explain.equation import QueueCheck, first_exceeded
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.framework import hooks
from vcdebug.framework.record import HookEvent
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.queue import OPEN
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import TaskInfo, is_allocated_status
from vcdebug.plugins import CAPACITY
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_resources
from vcdebug.releases.queues import CAPACITY_ADMISSION_LEAF_ONLY
from vcdebug.snapshot.edit_path import field_step


def _more_share_advice(view: JobView, plugin: str, limit: QueueCheck, seq: Seq) -> tuple[Advice, ...]:
    """Advice for a queue whose limit leaves no room for one more task."""
    name = limit.first_dimension
    if view.queue.state != OPEN:
        return queue_findings.open_queue_advice(view)
    if limit.is_capability:
        wait = (queue_findings.wait_advice(limit),) if _is_held_by_others(view, limit, seq) else ()
        return *wait, queue_findings.raise_capability_advice(limit)
    if not limit.exceeded_dimensions:
        check = f"Check the arguments of plugin {plugin} and queue {limit.queue}."
        return Advice.for_owner("Use another queue."), Advice.cluster_admin(check)
    if queue_findings.is_whole_cluster(view, limit.check.limit, name):
        if _is_held_by_others(view, limit, seq):
            return queue_findings.whole_cluster_advice(view, limit.queue, name)
        total = amount_text.format_named_amount(name, view.session.total_resource.get(name))
        reduce = f"Request less: the whole cluster has {total}, and no other job uses any of it."
        return Advice.for_owner(reduce), Advice.add_nodes()
    if guaranteed_queues := _unmet_guarantees(view, plugin, limit, seq):
        lower = f"Queue {join_names(guaranteed_queues)}: lower spec.guarantee."
        return Advice.queue_admin(lower), Advice.add_nodes()
    larger = queue_findings.quota_explainer(plugin).larger(view)
    return larger if plugin == CAPACITY or not view.queue.deserved else (*larger, _replacing_advice(plugin))


def _replacing_advice(plugin: str) -> Advice:
    """Advice where a queue states what only capacity reads."""
    return Advice.cluster_admin(f"Replace plugin {plugin} with {CAPACITY}, which uses spec.deserved.")


def overused_finding(view: JobView, action: str = ALLOCATE) -> Finding | None:
    """The finding if the action skipped the job because its queue is overused; else None."""
    if view.action_starts(action) is None or any(visit.tries for visit in view.visits_of(action)):
        return None
    calls = view.overused_during(action)
    return _build_overused(view, action, *calls[-1]) if calls else None


def _build_overused(view: JobView, action: str, seq: Seq, event: HookEvent) -> Finding:
    state, queue, plugin = view.recording.timeline.state_at(seq - 1), view.queue, event.plugin
    allocated, deserved = (state.plugin_amount(plugin, queue.name, figure) for figure in ("allocated", "deserved"))
    lines = tuple(
        f"{name}: allocated {used} of deserved {share}"
        for name in deserved.resource_names()
        for used, share in [format_amounts_apart(name, allocated.get(name), deserved.get(name))]
    )
    names = [name for name in deserved.resource_names() if name != PODS]
    by_weight = deserved.is_empty() and plugin != CAPACITY
    weight = f" (weight {queue.weight})" if by_weight else ""
    use = f"Queue {queue.name} uses {amount_text.format_resource(allocated, names or None)}"
    facts = (f"{use}; it deserves {amount_text.format_resource(deserved)}{weight}.",)
    numbers = {**amount_numbers("queue.allocated", allocated), **amount_numbers("queue.deserved", deserved)}
    evidence = (Evidence(seq, f"{plugin} calls queue {queue.name} overused"),)
    stated = (name for name, value in deserved.items() if value > 0)
    whole = next((name for name in stated if queue_findings.is_whole_cluster(view, deserved, name)), None)
    larger = queue_findings.quota_explainer(plugin).larger
    advice = queue_findings.whole_cluster_advice(view, queue.name, whole) if whole is not None else larger(view)
    reason = f"queue {queue.name} is overused, so {action} skips it"
    return view.pending(Cause.OVERUSED, reason, numbers, evidence, advice, lines, facts)


def allocatable_refusals(view: JobView) -> list[tuple[Seq, HookEvent]]:
    """Allocatable's refusals when allocate tried the job's tasks."""
    return [call for attempt in view.placing_tries for call in attempt.refusals(hooks.ALLOCATABLE.upstream)]


def room_limit(view: JobView, plugin: str, seq: Seq, task: TaskInfo) -> QueueCheck:
    """The check of the first queue, from the job's queue upward, without room for the task."""
    limit = _first_without_room(view.recording, plugin, seq, view.queue.name, task)
    # A queue that is not Open refuses whatever the amounts, so its check has an empty request.
    return limit if view.queue.state == OPEN else replace(limit, check=limit.check._replace(requested=Resource()))


# Several gates of a job ask about the same refusal.
@per_recording(most=8)
def _first_without_room(recording: Recording, plugin: str, seq: Seq, queue: QueueName, task: TaskInfo) -> QueueCheck:
    return first_exceeded(queue_findings.quota_explainer(plugin).room(recording, seq, queue, task.resreq))


def not_allocatable_finding(
    view: JobView, task: TaskInfo, fits: NodeFits, seq: Seq, event: HookEvent, *, after: str = ""
) -> Finding:
    """The finding for a queue that may not allocate the task; `after` is the fact that evictions would make room."""
    plugin = event.plugin
    tree_finding = queue_findings.broken_tree_finding(view, seq, plugin)
    if tree_finding is not None:
        return tree_finding
    quota, limit = queue_findings.quota_explainer(plugin), room_limit(view, plugin, seq, task)
    excess, evicts = dimension_over_limit(view, limit), bool(after) and not fits.free_nodes
    rolled_back = queue_index.rolled_back_words(view, seq, limit)
    reason = _rejection_reason(view, task, plugin, limit, evicts, excess, "used" if rolled_back else "uses")
    headline, also = CauseHeadline(view.job.uid, "is Pending", reason), tuple[str, ...]()
    advice = _more_share_advice(view, plugin, limit, seq)
    if excess:
        advice = _larger_limit_advice(limit, excess)
    elif limit.exceeded_dimensions:
        headline, also = queue_findings.excess_headline(headline, limit)
    if not view.detailed:
        return Finding(Cause.NOT_ALLOCATABLE, headline, advice=advice)
    numbers = {
        **amount_numbers("request", task.resreq),
        **amount_numbers("queue.allocated", limit.taken, limit.exceeded_dimensions),
        **amount_numbers(f"queue.{limit.figure}", limit.check.limit, limit.exceeded_dimensions),
        **limit.excess_numbers(),
        **counts({"nodes.free": len(fits.free_nodes)}),
    }
    evidence = (Evidence(seq, f"{plugin}: queue {view.queue.name} may not allocate {task.key}"),)
    by_amount = bool(limit.exceeded_dimensions) and not limit.is_capability
    derivation_lines = quota.derive_deserved(view.recording, limit.queue, limit.first_dimension) if by_amount else ()
    facts = [*_iter_limit_facts(view, plugin, limit, seq, excess)]
    free = [node.name for node in fits.free_nodes]
    nodes = join_names(free) if len(free) <= MAX_NAMED_NODES else count_noun(len(free), "node")
    more = ": more nodes would not help" if limit.is_capability else ""
    room = f"{nodes} {verb_for(len(free), 'has')} room for the pod{more}." if free else after
    facts += [*([room] if room else []), *also]
    lines = (*limit.arithmetic_lines(), *derivation_lines)
    return Finding(Cause.NOT_ALLOCATABLE, headline, numbers, evidence, advice, lines, tuple(facts))


def _larger_limit_advice(limit: QueueCheck, name: str) -> tuple[Advice, ...]:
    request = amount_text.format_named_amount(name, limit.check.request.get(name))
    if not limit.is_capability:
        reduce = f"Request less than {request} per pod; the cluster has less in total."
        return Advice.for_owner(reduce), Advice.add_nodes()
    raise_limit = Advice.queue_admin(f"Queue {limit.queue}: raise spec.capability to {request} or more.")
    return Advice.for_owner("Request less per pod, or use another queue."), raise_limit


def _iter_limit_facts(view: JobView, plugin: str, limit: QueueCheck, seq: Seq, excess: str) -> Iterator[str]:
    """Yields sentences about a queue's limit, the strongest first; `excess`: where the pod alone exceeds it."""
    recording, uid = view.recording, view.job.uid
    if excess:
        # More nodes raise a limit that is the cluster's size, as the advice says.
        helps = "Waiting, evictions or more nodes" if limit.is_capability else "Waiting or evictions"
        yield f"{helps} cannot help, since the pod alone is too large."
    holders = queue_index.holder_facts(view, seq, limit)
    # Other jobs of the queue that have running and Pending pods as well.
    rejected = queue_index.started_rejected_jobs(recording, view.queue.name) if view.job.ready_task_num() else ()
    deadlocked = [other for other in rejected if other != uid]
    if deadlocked:
        both_jobs = f"{join_names(deadlocked)} and this job have running pods, and both have Pending pods"
        yield " ".join((f"Possible deadlock: {both_jobs}.", *holders))
    change, release = CAPACITY_ADMISSION_LEAF_ONLY, recording.snapshot.release
    if limit.queue != view.queue.name and release.has_older_form(change):
        later = f"asked at admission since {join_names(change.fixed_in)} ({change.pull})"
        own = f"{release.display_name()} admits jobs by their own queue alone"
        yield f"{own}; parents are {later}, where the job would get no pods yet."
    yield from _share_facts(view, plugin, limit)
    yield from () if deadlocked else _rejected_jobs_facts(view, limit)
    yield from queue_findings.gang_request_facts(view, limit)
    yield from queue_findings.sibling_facts(view, seq, plugin, limit)
    yield from () if deadlocked else holders
    yield from _guarantee_facts(view, plugin, limit, seq)


def _rejected_jobs_facts(view: JobView, limit: QueueCheck) -> tuple[str, ...]:
    """A sentence about rejected jobs of other queues while no pod of this queue uses its deserved amount; or empty."""
    is_unused = limit.figure == "deserved" and not limit.is_capability and not limit.taken.milli_cpu
    rejected, by_queue = queue_index.rejected_jobs(view.recording), queue_index.rejected_by_queue(view.recording)
    total = len(rejected) - len(by_queue.get(view.queue.name, ()))
    if not is_unused or not total:
        return ()
    other_jobs = join_first_names((job.uid for job in rejected if job.queue != view.queue.name), total)
    queues = [queue for queue in by_queue if queue != view.queue.name]
    of_them = f"queue {queues[0]}" if len(queues) == 1 else f"queues {join_names(queues)}"
    none = "neither queue" if len(queues) == 1 else "none of these queues"
    return (f"{other_jobs} in {of_them} {verb_for(total, 'is')} rejected as well: {none} uses what is free.",)


MAX_NAMED_NODES = 3


def is_limited_by_cluster(view: JobView, task: TaskInfo, seq: Seq, event: HookEvent) -> bool:
    """Whether the limit for which a queue was refused is the whole cluster in each dimension that it exceeds."""
    if queue_findings.tree_fault(view.recording):
        return False
    limit = room_limit(view, event.plugin, seq, task)
    names = limit.exceeded_dimensions
    return bool(names) and all(queue_findings.is_whole_cluster(view, limit.check.limit, name) for name in names)


def dimension_over_limit(view: JobView, limit: QueueCheck) -> str:
    """The first dimension in which the request alone exceeds a lasting limit of the queue; empty if none does."""
    for name in limit.dimensions_alone_exceeded:
        # A share changes with the jobs of other queues, so only a capability or the cluster's size is a lasting limit.
        if limit.is_capability or queue_findings.is_whole_cluster(view, limit.check.limit, name):
            return name
    return ""


def impossible_refusal(view: JobView) -> tuple[Seq, HookEvent] | None:
    """(event, call) that refused a pod which its queue can never hold and the gang needs; None without one."""
    ready_count, unbound = view.job.ready_task_num(), queue_findings.unbound_tasks(view)
    refusals = allocatable_refusals(view) if not queue_findings.tree_fault(view.recording) else []
    for seq, event in refusals:
        task = view.tasks.get(event.task)
        # The gang can start without this pod, so its refusal does not make the job impossible.
        if task is None or ready_count + len(unbound) - 1 >= view.job.min_available > ready_count:
            continue
        limit = room_limit(view, event.plugin, seq, task)
        if dimension_over_limit(view, limit) or (
            limit.is_capability and queue_findings.gang_request_facts(view, limit)
        ):
            return seq, event
    return None


def _is_held_by_others(view: JobView, limit: QueueCheck, seq: Seq) -> bool:
    """Whether other jobs use some of the exceeded dimension, so that their end would help."""
    tasks = view.recording.timeline.state_at(seq - 1).tasks
    used_by_others = limit.taken.get(limit.first_dimension)
    for key, task in view.tasks.items():
        # The job's own pods do not end before the job runs, so their usage is not freed.
        used_by_others -= task.resreq.get(limit.first_dimension) if is_allocated_status(tasks[key].status) else 0.0
    return used_by_others > 0


def _rejection_reason(
    view: JobView, task: TaskInfo, plugin: str, limit: QueueCheck, evicts: bool, excess: str, uses: str
) -> str:
    """The pod's request against the limit; `evicts`: with what the queue would use after evictions; `uses`: the verb.

    `excess` is the dimension in which the pod's request alone exceeds the limit.
    """
    if not limit.exceeded_dimensions:
        is_open = view.queue.state == OPEN
        reason = f"{plugin} rejects {task.name}" if is_open else f"{plugin} places pods only for Open queues"
        return f"{queue_findings.queue_state_words(view)}, and {reason}"
    name = excess or limit.first_dimension
    relation = "parent" if view.queue.parent == limit.queue else "ancestor"
    queue_words = "its queue" if limit.queue == view.queue.name else f"{relation} queue"
    if excess:
        limit_words = f"{limit.limit_kind(name)} {limit.format_limit(name)} of {queue_words} {limit.queue}"
        return f"{task.name} alone asks {limit.request_of(name)} {name}, more than the {limit_words}"
    limit_words = f"its {limit.limit_kind(name)} {limit.format_limit(name)}{' after evictions' if evicts else ''}"
    use = f"{uses} {limit.format_usage(name)} of {limit_words}"
    return f"{task.name} asks {limit.request_of(name)} {name}; {queue_words} {limit.queue} {use}"


def _share_facts(view: JobView, plugin: str, limit: QueueCheck) -> tuple[str, ...]:
    """A sentence: proportion divides the cluster by weight and ignores spec.deserved; empty for capacity."""
    is_share_limit = limit.figure == "deserved" and limit.exceeded_dimensions and not limit.is_capability
    if not is_share_limit or plugin == CAPACITY:
        return ()
    name, deserved = limit.first_dimension, Resource.from_list(view.queue.deserved or {})
    total = amount_text.format_named_amount(name, view.session.total_resource.get(name))
    weight = (
        f"queue {view.queue.name} has weight {view.queue.weight} of {queue_index.weight_of_used_queues(view.recording)}"
    )
    share = f"{plugin} divides the {total} of the cluster by weight among queues with jobs; {weight}"
    unread = f"; it ignores spec.deserved ({format_amount(name, deserved.get(name))})" if deserved.get(name) > 0 else ""
    return (" ".join((f"{share}{unread}.", *queue_index.kept_share_facts(view, plugin, name))),)


def not_preemptive_finding(view: JobView, task: TaskInfo, seq: Seq, event: HookEvent) -> Finding:
    """The finding if the queue may not reclaim: it would exceed its deserved amount or its limit."""
    plugin, queue = event.plugin, view.queue.name
    tree_finding = queue_findings.broken_tree_finding(view, seq, plugin)
    if tree_finding is not None:
        return tree_finding
    tasks = [view.tasks[key] for key in event.candidates if key in view.tasks] or [task]
    pods_words = tasks[0].name if len(tasks) == 1 else f"{count_noun(len(tasks), 'pod')} at once"
    request = sum_resources(claimant.resreq for claimant in tasks)
    evidence = (Evidence(seq, f"{plugin}: queue {queue} is not entitled to more ({event.point} false)"),)
    if view.queue.state != OPEN:
        reason = f"{queue_findings.queue_state_words(view)}; {plugin} allows reclaim only for Open queues"
        return view.pending(Cause.PREEMPTIVE, reason, {}, evidence, queue_findings.open_queue_advice(view))
    quota = queue_findings.quota_explainer(plugin)
    # Only capacity, in newer releases, also requires room below the queue's capability.
    of_limit = event.point == hooks.ALLOCATABLE.upstream and plugin == CAPACITY
    within_limit = of_limit or quota.reclaims_within_limit(view.recording)
    levels = quota.room(view.recording, seq, queue, request) if within_limit else []
    if not levels or not levels[0].exceeded_dimensions:
        return _deserved_finding(view, pods_words, seq, request, event, evidence)
    limit, name = levels[0], levels[0].first_dimension
    use = f"{limit.total_of(name)} {name} of its {limit.limit_kind(name)} {limit.format_limit(name)}"
    reason, lines = _reclaim_reason(view, pods_words, use, event), limit.arithmetic_lines()
    advice, facts = _more_share_advice(view, plugin, limit, seq), queue_index.holder_facts(view, seq, limit)
    return view.pending(Cause.PREEMPTIVE, reason, limit.limit_numbers(), evidence, advice, lines, facts)


def _reclaim_reason(view: JobView, pods_words: str, use: str, event: HookEvent) -> str:
    """The reason of a refused reclaim; `use` states the usage with the pods against the limit."""
    return f"queue {view.queue.name} may not reclaim for {pods_words}: it would use {use} ({event.plugin})"


def _deserved_finding(
    view: JobView, pods_words: str, seq: Seq, request: Resource, event: HookEvent, evidence: tuple[Evidence, ...]
) -> Finding:
    """The finding if reclaim would take the queue beyond its deserved amount."""
    quota, queue, plugin = queue_findings.quota_explainer(event.plugin), view.queue, event.plugin
    claim = quota.claim(view.recording, seq, queue.name, request)
    names, allocated, deserved = claim.exceeded_dimensions, claim.check.sum_without_request, claim.check.limit
    lines = [
        f"{n}: allocated {used} + request {requested} > deserved {share}"
        for n in names
        for used, requested, share in [format_amounts_apart(n, allocated.get(n), request.get(n), deserved.get(n))]
    ]
    excess_words = "more than it deserves"
    if names:
        excess_words = f"{claim.total_of(names[0])} {names[0]} and deserves {claim.format_limit(names[0])}"
        lines += quota.derive_deserved(view.recording, queue.name, names[0])
    reason = _reclaim_reason(view, pods_words, f"{excess_words}{_format_weight(view, plugin)}", event)
    numbers = {
        **amount_numbers("request", request),
        **amount_numbers("queue.allocated", allocated, names),
        **amount_numbers("queue.deserved", deserved, names),
        **claim.excess_numbers(),
        **counts({"queue.weight": queue.weight}),
    }
    unnamed_fact, unnamed_advice = _unnamed_deserved(view, plugin, claim)
    facts = [*unnamed_fact, *([f"Also over: {join_names(names[1:])}."] if names[1:] else [])]
    facts = [*_shares_kept(view, plugin, seq, names[0]), *facts] if names and view.detailed else facts
    facts += queue_index.holder_facts(view, seq, claim) if names else ()
    advice = (*unnamed_advice, Advice.for_owner("Request less at a time."), *quota.larger(view))
    return view.pending(Cause.PREEMPTIVE, reason, numbers, evidence, advice, tuple(lines), tuple(facts))


def _shares_kept(view: JobView, plugin: str, seq: Seq, name: str) -> Iterator[str]:
    """Yields a sentence if no other queue uses more of a resource than it deserves: then none gives any back."""
    state = view.recording.timeline.state_at(seq - 1)
    others = [one for one in state.books.get(plugin, ()) if one != view.queue.name]
    used, deserved = ([state.plugin_amount(plugin, one, kind).get(name) for one in others] for kind in _FIGURES)
    if any(used) and all(map(le, used, deserved)):
        yield f"No other queue uses more {name} than it deserves either."


_FIGURES = ("allocated", "deserved")


def _unnamed_deserved(view: JobView, plugin: str, claim: QueueCheck) -> tuple[tuple[str, ...], tuple[Advice, ...]]:
    """A sentence and advice about dimensions that capacity takes for 0, since spec.deserved states only others; or
    about amounts there that another plugin does not read.
    """
    queue, stated = view.queue, view.queue.deserved or {}
    named = Resource.from_list(stated)
    unread = [amount_text.format_named_amount(n, named.get(n)) for n in claim.exceeded_dimensions if named.get(n)]
    if unread and plugin != CAPACITY:
        ignored = f"{plugin} ignores spec.deserved of queue {queue.name} ({join_names(unread)})"
        return (f"{ignored}: it shares by weight.",), (_replacing_advice(plugin),)
    unnamed = [name for name in claim.exceeded_dimensions if not named.get(name)]
    if not stated or not unnamed or plugin != CAPACITY:
        return (), ()
    amounts = " and ".join(amount_text.format_named_amount(name, claim.check.total.get(name)) for name in unnamed)
    parents = dict(_parents_to_raise(view, unnamed, claim.check.total))
    also = f" (and to that of {join_names(parents)})" if parents else ""
    add = f"Queue {queue.name}: add {amounts} to spec.deserved{also}, or upgrade Volcano."
    edits = (*claim.raised_limit_edits("deserved"), *(edit for some in parents.values() for edit in some))
    only = f"spec.deserved of queue {queue.name} names only {join_names(stated)}"
    counted = f"a resource that it does not name ({join_names(unnamed)}) counts as 0"
    release = view.recording.snapshot.release.display_name()
    return (f"{only}; in {release} {counted}.",), (Advice.queue_admin(add, *edits),)


def _parents_to_raise(view: JobView, names: list[str], total: Resource) -> Iterator[tuple[QueueName, list[str]]]:
    """Yields (parent, edits) where a parent states less as deserved than its children would: capacity rejects that."""
    child = view.queue
    carried = {name: total.get(name) for name in names}
    for parent in queue_index.queue_and_ancestors(view.recording, child)[1:]:
        stated, edits = Resource.from_list(parent.deserved or {}), list[str]()
        own, siblings = Resource.from_list(child.deserved or {}), _deserved_by_children(view.recording, parent.name)
        for name in names if parent.deserved else ():
            carried[name] += max(siblings.get(name) - own.get(name), 0.0)
            if stated.get(name) < carried[name]:
                amount = amount_text.quantity_text(name, carried[name])
                edits.append(f"Queue/{parent.name}:spec.deserved{field_step(name)}={amount}")
        if edits:
            yield parent.name, edits
        child = parent


@per_recording()
def _deserved_by_children(recording: Recording, queue: QueueName) -> Resource:
    """What the children of a queue state as deserved, together."""
    children = (recording.session.queues[name] for name in queue_index.children_of(recording, queue))
    return sum_resources(Resource.from_list(child.deserved) for child in children if child.deserved)


def _format_weight(view: JobView, plugin: str) -> str:
    """The queue's weight among the queues that have jobs: only they share the cluster."""
    if plugin == CAPACITY:
        return ""
    # proportion divides the cluster among the queues with jobs only.
    return f" by weight {view.queue.weight} of {queue_index.weight_of_used_queues(view.recording)}"


def _guarantee_facts(view: JobView, plugin: str, limit: QueueCheck, seq: Seq) -> tuple[str, ...]:
    """A sentence about queues whose unused guarantees reserve what this queue lacks; empty for none."""
    name = limit.first_dimension
    parts = [
        f"queue {queue} is guaranteed {guaranteed} and uses {used}"
        for queue, amounts in _unmet_guarantees(view, plugin, limit, seq).items()
        for guaranteed, used in [format_amounts_apart(name, *amounts)]
    ]
    total = amount_text.format_named_amount(name, view.session.total_resource.get(name))
    return (f"Of the cluster's {total}, {join_names(parts)}.",) if parts else ()


def _unmet_guarantees(view: JobView, plugin: str, limit: QueueCheck, seq: Seq) -> dict[QueueName, tuple[float, float]]:
    """Other queue → (guaranteed, allocated) in the exceeded dimension, for queues below their guarantee."""
    if limit.is_capability or not limit.exceeded_dimensions:
        return {}
    state, name = view.recording.timeline.state_at(seq - 1), limit.first_dimension
    unmet: dict[QueueName, tuple[float, float]] = {}
    for queue, guaranteed in queue_index.guaranteed_amounts(view.recording):
        has_figures = queue in state.books.get(plugin, {})
        allocated = state.plugin_amount(plugin, queue, "allocated").get(name) if has_figures else 0.0
        # The queue's own guarantee is available to the queue.
        if queue != limit.queue and guaranteed.get(name) > max(allocated, 0.0):
            unmet[queue] = (guaranteed.get(name), allocated)
    return unmet
