"""Findings shared by all gates about queue limits: the plugin's checks, a broken queue tree, and advice."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vcdebug import amount_text
from vcdebug.amount_text import format_amounts_apart, format_named_amount, join_names
from vcdebug.explain import answer
from vcdebug.explain.equation import QueueCheck, first_exceeded
from vcdebug.explain.job_view import JobView
from vcdebug.explain.plugins import QuotaExplainer, VetoReason, explainer_for
from vcdebug.framework.quirks import QUEUE_TREE_BROKEN
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import ReservationForm, minimum_without_gated, reserved_resource
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.pod_group import INQUEUE
from vcdebug.model.queue import OPEN, ROOT_QUEUE, circle_text
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.task import TaskInfo, TaskStatus
from vcdebug.plugins import CAPACITY
from vcdebug.recording.input_problems import circle_of_queues
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import sum_resources


def guarantee_words(view: JobView, plugin: str, limit: QueueCheck, seq: Seq) -> str:
    """Queues whose guarantee reserves what this queue lacks, appended to the limit; empty if there are none."""
    name = limit.first_dimension
    parts = [
        f"{more} {name} are guaranteed to queue {queue}, which holds {less}"
        for queue, amounts in unmet_guarantees(view, plugin, limit, seq).items()
        for more, less in [format_amounts_apart(name, *amounts)]
    ]
    total = format_named_amount(name, view.session.total_resource.get(name))
    return f"; of the {total} of the cluster {join_names(parts)}" if parts else ""


def unmet_guarantees(view: JobView, plugin: str, limit: QueueCheck, seq: Seq) -> dict[QueueName, tuple[float, float]]:
    """Queues that hold less of what lacks than they are guaranteed: (guaranteed, held)."""
    found: dict[QueueName, tuple[float, float]] = {}
    if limit.is_capability or not limit.exceeded_dimensions:
        return found
    state, name = view.recording.timeline.state_at(seq - 1), limit.first_dimension
    for queue in view.session.queues.values():
        kept = Resource.from_list(queue.guarantee or {}).get(name)
        # A queue's own guarantee is room that it may use.
        if queue.name == limit.queue or kept <= 0:
            continue
        known = queue.name in state.books.get(plugin, {})
        held = state.plugin_amount(plugin, queue.name, "allocated").get(name) if known else 0.0
        if held < kept:
            found[queue.name] = (kept, held)
    return found


def gang_request_words(view: JobView, limit: QueueCheck) -> str:
    """What the rest of the gang asks together, where even that is more than the limit; empty otherwise."""
    job, name = view.job, limit.first_dimension
    lacks, waiting = job.min_available - job.ready_task_num(), unbound_tasks(view)
    if lacks < 2 or lacks > len(waiting) or not limit.exceeded_dimensions:
        return ""
    asked = 0.0
    # The smallest pods: if even these exceed the limit, no choice of pods fits. A loop, as Go adds, not sum().
    for value in sorted(task.resreq.get(name) for task in waiting)[:lacks]:
        asked += value
    if asked <= limit.check.limit.get(name):
        return ""
    return f"; the {lacks} pods that its gang lacks ask {format_named_amount(name, asked)} in all"


def unbound_tasks(view: JobView) -> list[TaskInfo]:
    """Pods that are Pending or Pipelined when the cycle ends."""
    return [task for task in view.pending_at_open if task.status in (TaskStatus.PENDING, TaskStatus.PIPELINED)]


CAPACITY_PLUGIN = CAPACITY
BROKEN_TREE_ADVICE = (
    answer.owner_advice("see vcdebug inspect for what is missing"),
    answer.queue_admin_advice(
        "give the queue an existing parent, and limits within its parent's, or move the job to a leaf queue: one fault "
        "stops every queue"
    ),
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
    names = f"; {circle_text(circle)}" if circle else ""
    sentence = f"{view.job.uid} is refused like every other: {fault}{names}."
    evidence = (answer.Evidence(seq, f"{plugin} refuses without looking at amounts"),)
    advice: tuple[answer.Advice, ...] = BROKEN_TREE_ADVICE
    if circle:
        edit = f"Queue/{circle[0]}:spec.parent={ROOT_QUEUE}"
        advice = (answer.queue_admin_advice(f"give queue {circle[0]} another spec.parent, say {ROOT_QUEUE}", edit),)
    return answer.Finding(QUEUE_TREE_BROKEN, sentence, {}, evidence, advice)


def open_queue_advice(view: JobView) -> tuple[answer.Advice, ...]:
    """For a queue that is not Open."""
    name = view.queue.name
    return (
        answer.owner_advice("move the job to an open queue"),
        answer.queue_admin_advice(
            f"open the queue: vcctl queue operate -a open -n {name}", f"Queue/{name}:status.state=Open"
        ),
    )


def is_whole_cluster(view: JobView, limit: Resource, name: str) -> bool:
    """Whether the limit is all that the nodes have: no setting of the queue can raise it."""
    return limit.get(name) >= view.session.total_resource.get(name)


def whole_cluster_advice(view: JobView, queue: QueueName, name: str) -> tuple[answer.Advice, ...]:
    """The advice where a queue may have the whole cluster already."""
    total = amount_text.format_named_amount(name, view.session.total_resource.get(name))
    return (
        answer.owner_advice(f"wait until jobs of queue {queue} end: it may already have the whole cluster ({total})"),
        answer.ADD_NODES_ADVICE,
    )


def sibling_holders_words(view: JobView, seq: Seq, plugin: str, limit: QueueCheck) -> str:
    """Of an ancestor: which of the queues below it hold the most, and whether they could be made to give it back."""
    queues, name = view.session.queues, limit.first_dimension
    if limit.queue == view.queue.name or plugin != CAPACITY_PLUGIN:
        return ""
    state = view.recording.timeline.state_at(seq - 1)
    held = {
        queue.name: state.plugin_amount(plugin, queue.name, "allocated").get(name)
        for queue in queues.values()
        if queue.parent == limit.queue and queue.name != view.queue.name
    }
    holders = [queue for queue, value in held.items() if value > 0]
    if not holders:
        return ""
    parts = [
        f"{queue} holds {taken} {name} of it and deserves {least}"
        for queue in holders
        for taken, least in [
            format_amounts_apart(name, held[queue], state.plugin_amount(plugin, queue, "deserved").get(name))
        ]
    ]
    kept = [queue for queue in holders if not queues[queue].reclaimable]
    verb = "says" if len(kept) == 1 else "say"
    closed = f"; {join_names(kept)} {verb} reclaimable: false, so nothing can be taken back from there" if kept else ""
    return f"; {join_names(parts)}{closed}"


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
        parts.append(
            f"queue {queue} holds {amount_text.format_resource(allocated, ('cpu', 'memory'))} and deserves "
            f"{amount_text.format_resource(deserved, ('cpu', 'memory'))}"
        )
        numbers.update(answer.numbers(f"queue.{queue}.allocated", allocated))
        numbers.update(answer.numbers(f"queue.{queue}.deserved", deserved))
    sated = [
        q
        for q in queues
        if state.plugin_amount(plugin, q, "request").less_equal(state.plugin_amount(plugin, q, "deserved"))
    ]
    verb = "deserves all it asks for" if len(queues) == 1 else "deserve all they ask for"
    enough = answer.queue_admin_advice(
        f"free room that others hold, or add nodes: {join_names(queues)} {verb}, no weight changes that"
    )
    advice = enough if len(sated) == len(queues) else smaller(view, queues)
    return VetoReason(f"{'; '.join(parts[:2])}: not above its share", numbers, (advice,), tuple(lines))


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
    limit = first_exceeded(quota_explainer(plugin).admission(view.recording, seq, view.job))
    if not limit.exceeded_dimensions or (
        plugin == CAPACITY_PLUGIN and children and view.session.hierarchy_enabled(plugin)
    ):
        return _unspecified_finding(view, seq, plugin)
    stuck = stuck_jobs(view, seq, same_queue=True)
    # Only if they alone make the difference: otherwise their end would not admit the job.
    if stuck and limit.check._replace(total=total_without(view, limit.check.total, stuck)).is_within_limit:
        return stuck_jobs_finding(view, seq, plugin, stuck, limit.arithmetic_lines(), limit.check.limit)
    name, minimum = limit.first_dimension, limit.check.request
    sentence = (
        f"{view.job.uid} is not admitted: queue {limit.queue} already counts {limit.format_taken(name)} of "
        f"{limit.format_limit(name)} ({_limit_source(view, plugin, limit)}), and minResources of "
        f"{limit.request_of(name)} more exceeds that by {limit.format_excess(name)}{limit.others_exceeded_words()}"
        f"{sibling_holders_words(view, seq, plugin, limit)}."
    )
    numbers = {**answer.numbers("minResources", minimum, limit.exceeded_dimensions), **limit.limit_numbers()}
    advice = (answer.owner_advice("ask for less in spec.minResources"), *_more_room_advice(view, limit))
    cause = CAPABILITY_CAUSE if plugin == CAPACITY_PLUGIN and limit.is_capability else QUOTA_CAUSE
    return answer.Finding(cause, sentence, numbers, rejection_evidence(seq, plugin), advice, limit.arithmetic_lines())


def _closed_finding(view: JobView, seq: Seq, plugin: str) -> answer.Finding:
    state = view.queue.state or "without a state"
    sentence = (
        f"{view.job.uid} is not admitted: its queue {view.queue.name} is {state}, "
        f"and {plugin} rejects every PodGroup of a queue that is not Open."
    )
    return answer.Finding(CLOSED_CAUSE, sentence, {}, rejection_evidence(seq, plugin), open_queue_advice(view))


def _limit_source(view: JobView, plugin: str, limit: QueueCheck) -> str:
    """Which queue or cluster figure the limit is, in words."""
    if limit.is_capability:
        return "its capability"
    if view.session.total_resource.get(limit.first_dimension) <= 0:
        return "no node has any"
    parent = view.session.queues[limit.queue].parent if limit.queue in view.session.queues else ""
    if plugin == CAPACITY_PLUGIN and parent and view.session.hierarchy_enabled(plugin):
        return f"what its parent {parent} and the guarantees of others leave it"
    return "what the cluster and guarantees leave it"


def _more_room_advice(view: JobView, limit: QueueCheck) -> tuple[answer.Advice, ...]:
    name = limit.first_dimension
    if limit.is_capability:
        more = amount_text.format_named_amount(name, limit.check.excess_of(name))
        return (
            answer.owner_advice(f"wait until jobs of queue {limit.queue} end"),
            answer.queue_admin_advice(f"raise the capability of queue {limit.queue} by {more}"),
        )
    if is_whole_cluster(view, limit.check.limit, name):
        return whole_cluster_advice(view, limit.queue, name)
    return (
        answer.owner_advice(f"wait until jobs of queue {limit.queue} end"),
        answer.queue_admin_advice("lower the guarantees of other queues"),
    )


def _unspecified_finding(view: JobView, seq: Seq, plugin: str) -> answer.Finding:
    """Rejected without regard to amounts: a queue that is no leaf, devices, a tree that cannot be read."""
    children, written = _child_queues(view), view.plugin_message(seq)
    amounts_hold = f"none of its amounts is exceeded{f': {written}' if written else ''}"
    reason = f"it is no leaf (children: {join_names(children)})" if children else amounts_hold
    sentence = f"{view.job.uid} is not admitted: {plugin} rejects it in queue {view.queue.name}, and {reason}."
    advice = (
        (answer.owner_advice("put the job into a leaf queue"),)
        if children
        else (answer.cluster_admin_advice("look at the plugin's arguments and at devices"),)
    )
    return answer.Finding(QUOTA_CAUSE, sentence, {}, rejection_evidence(seq, plugin), advice)


def _child_queues(view: JobView) -> list[QueueName]:
    return [queue.name for queue in view.session.queues.values() if queue.parent == view.queue.name]


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
        and not job.is_ready()
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


def stuck_jobs_finding(
    view: JobView, seq: Seq, plugin: str, stuck: Sequence[JobInfo], lines: tuple[str, ...], limit: Resource
) -> answer.Finding:
    """The job would fit without them."""
    minimum = view.job.get_min_resources()
    held = sum_resources(_reserved_by(view, job) for job in stuck)
    # Without pods: nearly every minimum counts them, and the sentence is about amounts.
    names = [name for name, value in minimum.items() if value > 0 and held.get(name) > 0 and name != PODS]
    who = amount_text.join_names(job.uid for job in stuck)
    holds, asked = "holds" if len(stuck) == 1 else "hold", amount_text.format_resource(minimum)
    sentence = (
        f"{view.job.uid} is not admitted: it asks {asked} as minResources and would fit, but {who} "
        f"{holds} {amount_text.format_resource(held, names)} as Inqueue without being placed, so {plugin} rejects."
    )
    numbers = {
        **answer.numbers("minResources", minimum, names),
        **answer.numbers("held", held, names),
        **answer.numbers("limit", limit, names),
        "jobs.holding": answer.count(len(stuck), "jobs"),
    }
    advice = (
        answer.owner_advice(f"find out why {stuck[0].uid} cannot be placed (vcdebug explain)"),
        answer.queue_admin_advice(
            f"delete {stuck[0].uid}: that gives back "
            f"{amount_text.format_resource(_reserved_by(view, stuck[0]), names)}",
            f"PodGroup/{stuck[0].uid}:-",
        ),
    )
    more = tuple(
        f"{job.uid}: Inqueue, reserves {amount_text.format_resource(_reserved_by(view, job), names)}" for job in stuck
    )
    return answer.Finding(HELD_CAUSE, sentence, numbers, rejection_evidence(seq, plugin), advice, (*lines, *more))
