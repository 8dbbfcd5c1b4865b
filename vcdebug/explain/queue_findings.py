"""Findings shared by all gates about queue limits: the plugin's checks, a broken queue tree, and advice."""

from collections.abc import Callable, Sequence

from vcdebug import amount_text
from vcdebug.amount_text import (
    capitalize_first,
    format_amount,
    format_amounts_apart,
    format_named_amount,
    join_names,
    join_ranked_amounts,
    verb_for,
)
from vcdebug.explain import answer, queue_index
from vcdebug.explain.equation import QueueCheck, first_exceeded
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugins import QuotaExplainer, VetoReason, explainer_for
from vcdebug.framework.quirks import QUEUE_TREE_BROKEN
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import ReservationForm, minimum_without_gated, reserved_resource
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.pod_group import INQUEUE
from vcdebug.model.queue import ELASTIC, OPEN, ROOT_QUEUE, circle_text
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import CAPACITY
from vcdebug.recording.input_problems import circle_of_queues
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_resources, sum_smallest


def guarantee_facts(view: JobView, plugin: str, limit: QueueCheck, seq: Seq) -> tuple[str, ...]:
    """Which queues' guarantees reserve what this queue lacks."""
    name = limit.first_dimension
    parts = [
        f"queue {queue} is guaranteed {more} and uses {less}"
        for queue, amounts in unmet_guarantees(view, plugin, limit, seq).items()
        for more, less in [format_amounts_apart(name, *amounts)]
    ]
    total = format_named_amount(name, view.session.total_resource.get(name))
    return (f"Of the cluster's {total}, {join_names(parts)}.",) if parts else ()


MAX_HOLDERS = 3


def holder_facts(view: JobView, seq: Seq, limit: QueueCheck) -> tuple[str, ...]:
    """Which jobs use what the limit counts, the largest first: one pod by its own name."""
    # Cached, since the explanations of many jobs ask at events between which no task changes.
    name, since = limit.first_dimension, view.recording.timeline.earliest_same_seq(seq - 1)
    held = queue_index.largest_holders(view.recording, since, limit.queue, name)
    if not held:
        return ()
    holders = join_ranked_amounts(name, held, MAX_HOLDERS, own={view.job.uid, *view.tasks})
    return (f"In use in queue {limit.queue} ({name}): {holders}.",)


def unmet_guarantees(view: JobView, plugin: str, limit: QueueCheck, seq: Seq) -> dict[QueueName, tuple[float, float]]:
    """Queues that hold less of what lacks than they are guaranteed: (guaranteed, held)."""
    found: dict[QueueName, tuple[float, float]] = {}
    if limit.is_capability or not limit.exceeded_dimensions:
        return found
    state, name = view.recording.timeline.state_at(seq - 1), limit.first_dimension
    for queue, guaranteed in queue_index.guaranteed_amounts(view.recording):
        kept = guaranteed.get(name)
        # A queue's own guarantee is room that it may use.
        if queue == limit.queue or kept <= 0:
            continue
        known = queue in state.books.get(plugin, {})
        held = state.plugin_amount(plugin, queue, "allocated").get(name) if known else 0.0
        if held < kept:
            found[queue] = (kept, held)
    return found


def gang_request_facts(view: JobView, limit: QueueCheck) -> tuple[str, ...]:
    """What the rest of the gang asks together, where even that is more than the limit."""
    job, name = view.job, limit.first_dimension
    lacks, waiting = job.min_available - job.ready_task_num(), unbound_tasks(view)
    if lacks < 2 or lacks > len(waiting) or not limit.exceeded_dimensions:
        return ()
    asked = sum_smallest((task.resreq for task in waiting), name, lacks)
    if asked <= limit.check.limit.get(name):
        return ()
    hard = f"; the queue's hard limit is {limit.format_limit(name)}" if limit.is_capability else ""
    return (f"The {lacks} pods still missing from the gang ask {format_named_amount(name, asked)} in total{hard}.",)


def unbound_tasks(view: JobView) -> list[TaskInfo]:
    """Pods that are Pending or Pipelined when the cycle ends."""
    return [task for task in view.pending_at_open if task.status in (TaskStatus.PENDING, TaskStatus.PIPELINED)]


CAPACITY_PLUGIN = CAPACITY
BROKEN_TREE_ADVICE = (
    answer.queue_admin_advice(
        "Give every queue an existing parent and limits within its parent's; one error blocks every queue."
    ),
    answer.owner_advice("List what is missing: vcdebug inspect."),
)


def quota_explainer(plugin: str) -> QuotaExplainer:
    """The plugin's explainer of queue limits."""
    quota = explainer_for(plugin).quota
    assert quota is not None
    return quota


@per_recording()
def tree_fault(recording: Recording) -> str:
    """What is wrong with capacity's tree of queues; empty where it is in force."""
    return next((note.text for note in recording.notes if note.code == QUEUE_TREE_BROKEN), "")


def broken_tree_finding(view: JobView, seq: Seq, plugin: str) -> answer.Finding | None:
    """capacity gave up on its tree of queues: everything is refused. None where the tree is in force."""
    fault = tree_fault(view.recording)
    if not fault:
        return None
    circle = circle_of_queues(view.recording)
    facts = [f"{capitalize_first(text)}." for text in (fault, circle_text(circle) if circle else "") if text]
    if over := next(queue_index.oversized_capabilities(view.recording), None):
        stated, most = format_amounts_apart(over.resource, over.stated, over.most)
        has = f"the cluster has {most}" if over.above == ROOT_QUEUE else f"its parent {over.above} has {most}"
        facts = [f"Queue {over.queue} states capability {stated} {over.resource}, and {has}.", *facts]
    headline = answer.pending_headline(
        view.job.uid, f"{plugin} rejects every job because of an error in the queue tree"
    )
    evidence = (answer.Evidence(seq, f"{plugin} rejects it without comparing amounts"),)
    advice: tuple[answer.Advice, ...] = BROKEN_TREE_ADVICE
    if circle:
        edit = f"Queue/{circle[0]}:spec.parent={ROOT_QUEUE}"
        advice = (answer.queue_admin_advice(f"Queue {circle[0]}: set spec.parent to {ROOT_QUEUE}.", edit),)
    return answer.Finding(QUEUE_TREE_BROKEN, headline, {}, evidence, advice, facts=tuple(facts))


def open_queue_advice(view: JobView) -> tuple[answer.Advice, ...]:
    """For a queue that is not Open."""
    name = view.queue.name
    return (
        answer.queue_admin_advice(
            f"Open queue {name}: vcctl queue operate -a open -n {name}", f"Queue/{name}:status.state=Open"
        ),
        answer.owner_advice("Move the job to an open queue."),
    )


def is_whole_cluster(view: JobView, limit: Resource, name: str) -> bool:
    """Whether the limit is all that the nodes have: no setting of the queue can raise it."""
    return limit.get(name) >= view.session.total_resource.get(name)


def whole_cluster_advice(view: JobView, queue: QueueName, name: str) -> tuple[answer.Advice, ...]:
    """The advice where a queue may have the whole cluster already."""
    total = amount_text.format_named_amount(name, view.session.total_resource.get(name))
    return (
        answer.owner_advice(
            f"Wait until jobs in queue {queue} finish; it may already use the whole cluster ({total})."
        ),
        answer.add_nodes_advice(),
    )


def sibling_facts(view: JobView, seq: Seq, plugin: str, limit: QueueCheck) -> tuple[str, ...]:
    """Of an ancestor: what the queues below it use and deserve, and which of them are not reclaimable."""
    queues, name = view.session.queues, limit.first_dimension
    if limit.queue == view.queue.name or plugin != CAPACITY_PLUGIN:
        return ()
    state = view.recording.timeline.state_at(seq - 1)
    held = {
        queue: state.plugin_amount(plugin, queue, "allocated").get(name)
        for queue in queue_index.children_of(view.recording).get(limit.queue, ())
        if queue != view.queue.name
    }
    holders = [queue for queue, value in held.items() if value > 0]
    if not holders:
        return ()
    parts = [
        f"queue {queue} uses {taken} {name} and deserves {least}"
        for queue in holders
        for taken, least in [
            format_amounts_apart(name, held[queue], state.plugin_amount(plugin, queue, "deserved").get(name))
        ]
    ]
    kept = [queue for queue in holders if not queues[queue].reclaimable]
    have = f"{join_names(kept)} {verb_for(len(kept), 'has')} spec.reclaimable: false"
    closed = f"; {have}, so reclaim cannot evict pods there" if kept else ""
    return (f"{capitalize_first(join_names(parts))}{closed}.",)


def victim_queues(view: JobView, refused: Sequence[TaskKey]) -> list[QueueName]:
    """The queues of candidates."""
    owners = view.recording.owners.jobs
    return list(dict.fromkeys(view.session.jobs[owners[key]].queue for key in refused if key in owners))


def not_above_share(
    view: JobView,
    plugin: str,
    refused: Sequence[TaskKey],
    seq: Seq,
    smaller: Callable[[JobView, Sequence[QueueName]], answer.Advice],
) -> VetoReason:
    """The candidates' queues hold no more than they deserve."""
    state, queues = view.recording.timeline.state_at(seq - 1), victim_queues(view, refused)
    lines, parts, numbers = [], [], {}
    for queue in queues:
        allocated, deserved = (state.plugin_amount(plugin, queue, figure) for figure in ("allocated", "deserved"))
        lines += [
            f"queue {queue}, {n}: allocated {held} <= deserved {least}"
            for n in deserved.resource_names()
            for held, least in [format_amounts_apart(n, allocated.get(n), deserved.get(n))]
        ]
        use, share = (amount_text.format_resource(each, ("cpu", "memory")) for each in (allocated, deserved))
        parts.append(f"Queue {queue} uses {use}, not more than it deserves ({share})")
        numbers.update(answer.numbers(f"queue.{queue}.allocated", allocated))
        numbers.update(answer.numbers(f"queue.{queue}.deserved", deserved))
    sated = [
        q
        for q in queues
        if state.plugin_amount(plugin, q, "request").less_equal(state.plugin_amount(plugin, q, "deserved"))
    ]
    verb = "deserves all it requests" if len(queues) == 1 else "deserve all they request"
    enough = answer.queue_admin_advice(
        f"Free resources or add nodes; weights cannot help, since {join_names(queues)} {verb}."
    )
    advice = enough if len(sated) == len(queues) else smaller(view, queues)
    return VetoReason("; ".join(parts[:2]), numbers, (advice,), tuple(lines))


QUOTA_CAUSE = "enqueue-queue-quota"
CAPABILITY_CAUSE = "queue-capability"
CLOSED_CAUSE = "queue-closed"
HELD_CAUSE = "enqueue-held-by-inqueue"


def explain_queue_rejection(view: JobView, seq: Seq, event: HookEvent) -> answer.Finding:
    """The PodGroup's minimum is too much for its queue, or for an ancestor."""
    plugin, children = event.plugin, _child_queues(view)
    if view.queue.state != OPEN:
        return _closed_finding(view, seq, plugin)
    # A queue with children is refused for that reason, even in a broken tree.
    broken = broken_tree_finding(view, seq, plugin) if not children else None
    if broken is not None:
        return broken
    # Asked first: a broken tree has no figures of the queue.
    if plugin == CAPACITY_PLUGIN and children and view.session.hierarchy_enabled(plugin):
        return _unspecified_finding(view, seq, plugin)
    limit = first_exceeded(quota_explainer(plugin).admission(view.recording, seq, view.job))
    if not limit.exceeded_dimensions:
        return _unspecified_finding(view, seq, plugin)
    stuck = stuck_jobs(view, seq, same_queue=True)
    # Only if they alone make the difference: otherwise their end would not admit the job.
    if stuck and limit.check._replace(total=total_without(view, limit.check.total, stuck)).is_within_limit:
        return stuck_jobs_finding(view, seq, plugin, stuck, limit.arithmetic_lines(), limit.check.limit)
    name, minimum = limit.first_dimension, limit.check.request
    figure, *source = _limit_source(view, plugin, limit)
    reason = (
        f"minResources asks {limit.request_of(name)} {name}; queue {limit.queue} has {limit.format_taken(name)} of its "
        f"{figure} {limit.format_limit(name)} allocated or reserved ({limit.excess_words()})"
    )
    siblings, holders = sibling_facts(view, seq, plugin, limit), holder_facts(view, seq, limit)
    alone = ("minResources alone exceeds that, so waiting cannot help.",) if _asks_too_much(limit) else ()
    facts = (*source, *alone, *siblings, *_elastic_facts(limit), *(_with_too_early(view, holders)))
    numbers = {**answer.numbers("minResources", minimum, limit.exceeded_dimensions), **limit.limit_numbers()}
    advice = (LESS_MINIMUM_ADVICE, *_more_room_advice(view, limit))
    cause = CAPABILITY_CAUSE if plugin == CAPACITY_PLUGIN and limit.is_capability else QUOTA_CAUSE
    headline, also = answer.shortened_headline(answer.rejected_headline(view.job.uid, reason))
    evidence, lines = rejection_evidence(seq, plugin), limit.arithmetic_lines()
    return answer.Finding(cause, headline, numbers, evidence, advice, lines, (*facts, *also))


def _asks_too_much(limit: QueueCheck) -> bool:
    """Whether an empty queue would not admit the job either."""
    asked, most = limit.check.request, limit.check.limit
    return any(asked.get(name) > most.get(name) for name in limit.exceeded_dimensions)


def _elastic_facts(limit: QueueCheck) -> tuple[str, ...]:
    """Why the queue counts less than its jobs use."""
    name = limit.first_dimension
    uncounted = next((amount.get(name) for part, amount in limit.check.parts if part == ELASTIC), 0.0)
    return (f"{format_named_amount(name, uncounted)} of pods above minMember is not counted.",) if uncounted > 0 else ()


LESS_MINIMUM_ADVICE = answer.owner_advice("Request less in spec.minResources.")


def too_early_words(view: JobView) -> str:
    """That evictions cannot help a job before it is admitted; empty where no action evicts."""
    evicting = [action for action in dict.fromkeys(view.actions) if view.facts_of(action).evicts]
    if len(evicting) > 1:
        return "no action evicts for a job that is not admitted."
    return f"{evicting[0]} considers only admitted jobs." if evicting else ""


def _with_too_early(view: JobView, facts: tuple[str, ...]) -> tuple[str, ...]:
    """The facts, and that evictions cannot help yet, where an action that evicts is configured."""
    too_early = too_early_words(view)
    if not too_early:
        return facts
    return (f"{facts[0].removesuffix('.')}; {too_early}",) if facts else (capitalize_first(too_early),)


def _closed_finding(view: JobView, seq: Seq, plugin: str) -> answer.Finding:
    state = view.queue.state or "without a state"
    headline = answer.rejected_headline(
        view.job.uid, f"queue {view.queue.name} is {state}; {plugin} admits only to Open queues"
    )
    return answer.Finding(CLOSED_CAUSE, headline, {}, rejection_evidence(seq, plugin), open_queue_advice(view))


def _limit_source(view: JobView, plugin: str, limit: QueueCheck) -> tuple[str, ...]:
    """The kind of limit in words, then the sentence that says where it comes from."""
    if limit.is_capability:
        return ("capability",)
    if view.session.total_resource.get(limit.first_dimension) <= 0:
        return "limit", f"No node provides {limit.first_dimension}."
    parent = view.session.queues[limit.queue].parent if limit.queue in view.session.queues else ""
    if plugin == CAPACITY_PLUGIN and parent and view.session.hierarchy_enabled(plugin):
        return "limit", f"The limit is what parent queue {parent} and other queues' guarantees leave."
    name = limit.first_dimension
    kept = [(queue, amount.get(name)) for queue, amount in queue_index.guaranteed_amounts(view.recording)]
    stated = join_names(f"queue {q} {format_amount(name, v)}" for q, v in kept if v > 0 and q != limit.queue)
    total = format_named_amount(name, view.session.total_resource.get(name))
    return "limit", f"The limit is the cluster's {total} minus the guarantees of other queues ({stated or 'none'})."


def _more_room_advice(view: JobView, limit: QueueCheck) -> tuple[answer.Advice, ...]:
    enough = () if _asks_too_much(limit) else (f"Wait until jobs in queue {limit.queue} finish.",)
    wait = tuple(map(answer.owner_advice, enough))
    if limit.is_capability:
        return *wait, raise_capability_advice(limit)
    if is_whole_cluster(view, limit.check.limit, limit.first_dimension):
        return whole_cluster_advice(view, limit.queue, limit.first_dimension)
    return *wait, answer.queue_admin_advice("Lower spec.guarantee of other queues.")


def raise_capability_advice(limit: QueueCheck) -> answer.Advice:
    """Raise the queue's capability by what is missing, in every exceeded dimension."""
    words = f"Queue {limit.queue}: raise spec.capability by {limit.missing_amounts()}."
    return answer.queue_admin_advice(words, *limit.raised_limit_edits("capability"))


def _unspecified_finding(view: JobView, seq: Seq, plugin: str) -> answer.Finding:
    """Rejected without regard to amounts: a queue that is no leaf, devices, a tree that cannot be read."""
    children, written = _child_queues(view), view.plugin_message(seq)
    reason = f"{plugin} rejects it in queue {view.queue.name}, although no limit is exceeded"
    advice = answer.cluster_admin_advice(f"Check the arguments of plugin {plugin}, and the devices of the nodes.")
    if children:
        reason = (
            f"queue {view.queue.name} has child queues ({join_names(children)}); {plugin} admits only to leaf queues"
        )
        advice = answer.owner_advice(f"Set the job's queue to a leaf queue: {join_names(children)}.")
    facts = (f'Scheduler message: "{written}".',) if written else ()
    headline, evidence = answer.rejected_headline(view.job.uid, reason), rejection_evidence(seq, plugin)
    return answer.Finding(QUOTA_CAUSE, headline, {}, evidence, (advice,), facts=facts)


def _child_queues(view: JobView) -> list[QueueName]:
    return list(queue_index.children_of(view.recording).get(view.queue.name, ()))


# What Inqueue jobs hold without being placed


def rejection_evidence(seq: Seq, plugin: str) -> tuple[answer.Evidence, ...]:
    """The proof of a rejection."""
    return (answer.Evidence(seq, f"{plugin} rejects the PodGroup (JobEnqueueable -1)"),)


def stuck_jobs(view: JobView, seq: Seq, *, same_queue: bool) -> list[JobInfo]:
    """Other jobs that were Inqueue before the event and end the cycle without a place."""
    phases = view.recording.timeline.state_at(seq).phases
    return [
        job
        for uid, job in view.session.jobs.items()
        if uid != view.job.uid
        and phases[uid] == INQUEUE
        and job.pod_group.min_resources is not None
        and (not same_queue or job.queue == view.job.queue)
        and not job.count_tasks(TaskStatus.BINDING, TaskStatus.PIPELINED)
        and (not job.is_ready() or job.count_tasks(*queue_index.ENDED_STATUSES) == len(job.tasks))
    ]


def _reserved_by(view: JobView, job: JobInfo) -> Resource:
    reserved = reserved_resource(job, ReservationForm.for_release(view.recording.snapshot.release))
    return reserved if reserved is not None else minimum_without_gated(job)


def total_without(view: JobView, total: Resource, stuck: Sequence[JobInfo]) -> Resource:
    """What would count if they were gone."""
    result = total.clone()
    for job in stuck:
        # Upstream's Sub panics on a negative rest, which rounding can give.
        result.sub_without_assert(_reserved_by(view, job))
    return result


def _first_stuck_advice(view: JobView, stuck: Sequence[JobInfo]) -> answer.Advice:
    left, empty = queue_index.find_left_behind(view.recording, stuck), [job.uid for job in stuck if not job.tasks]
    left |= queue_index.suspended_owners(view.recording, stuck)
    if left:
        return answer.queue_admin_advice(f"Delete Inqueue PodGroups without pods: {join_names(left)}.")
    if empty:
        whose = f"the controllers of {join_names(empty)}"
        return answer.outside_advice(f"Find out why {whose} created no pods yet (quota, webhook, controller log).")
    first = stuck[0].uid
    if stuck[0].count_tasks(*queue_index.ENDED_STATUSES) == len(stuck[0].tasks):
        return answer.queue_admin_advice(f"Delete PodGroup {first} or its owner, which has ended.")
    return answer.outside_advice(f"Find out why {first} is not placed: vcdebug explain SNAPSHOT {first}.")


def _left_behind_facts(view: JobView, stuck: Sequence[JobInfo]) -> tuple[str, ...]:
    left = queue_index.find_left_behind(view.recording, stuck)
    if not left:
        idle = queue_index.suspended_owners(view.recording, stuck)
        return tuple(f"{job} belongs to {owner}, which is suspended." for job, owner in list(idle.items())[:1])
    belongs = "belongs to a ReplicaSet that wants" if len(left) == 1 else "belong to ReplicaSets that want"
    who = "They" if 1 < len(left) == len(stuck) else join_names(left)
    return (f"{who} {belongs} 0 replicas: {join_names(left.values())}.",)


def stuck_jobs_finding(
    view: JobView, seq: Seq, plugin: str, stuck: Sequence[JobInfo], lines: tuple[str, ...], limit: Resource
) -> answer.Finding:
    """The job would fit without them."""
    minimum = view.job.get_min_resources()
    held = sum_resources(_reserved_by(view, job) for job in stuck)
    # Without pods: nearly every minimum counts them, and the sentence is about amounts.
    names = [name for name, value in minimum.items() if value > 0 and held.get(name) > 0 and name != PODS]
    who = amount_text.join_names(job.uid for job in stuck)
    verbs = ("is", "reserves", "it") if len(stuck) == 1 else ("are", "reserve", "them")
    empty = [job for job in stuck if not job.tasks]
    ended = [job for job in stuck if job.tasks and job.count_tasks(*queue_index.ENDED_STATUSES) == len(job.tasks)]
    placed = "Inqueue but not placed" if len(empty) < len(stuck) else "Inqueue without pods"
    placed = "Inqueue, but all pods have ended" if len(ended) == len(stuck) else placed
    headline = answer.rejected_headline(
        view.job.uid, f"{who} {verbs[0]} {placed}, and {verbs[1]} {amount_text.format_resource(held, names)}"
    )
    without = f"Without {verbs[2]}, {plugin} would admit its minResources of {amount_text.format_resource(minimum)}."
    why = queue_index.hopeless_facts(view, stuck) or queue_index.hopeless_facts(view, stuck, lasting=False)
    facts = (*why, *_left_behind_facts(view, stuck), without)
    numbers = {
        **answer.numbers("minResources", minimum, names),
        **answer.numbers("held", held, names),
        **answer.numbers("limit", limit, names),
        "jobs.holding": answer.count(len(stuck), "jobs"),
    }
    advice = (
        _first_stuck_advice(view, stuck),
        answer.queue_admin_advice(
            f"Delete PodGroup {stuck[0].uid}; this releases "
            f"{amount_text.format_resource(_reserved_by(view, stuck[0]), names)}.",
            f"PodGroup/{stuck[0].uid}:-",
        ),
    )
    more = tuple(
        f"{job.uid}: Inqueue, reserves {amount_text.format_resource(_reserved_by(view, job), names)}" for job in stuck
    )
    return answer.Finding(
        HELD_CAUSE, headline, numbers, rejection_evidence(seq, plugin), advice, (*lines, *more), facts
    )
