"""A PodGroup that its queue or an ancestor does not admit: the limit, who counts against it, who holds it unplaced."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug import amount_text
from vcdebug.amount_text import join_names
from vcdebug.explain import amounts
from vcdebug.explain.answer import Advice, Evidence, Finding, cluster_admin_advice, owner_advice, queue_admin_advice
from vcdebug.explain.job_view import JobView
from vcdebug.explain.limits import QueueCheck, first_exceeded
from vcdebug.explain.queue_quota import (
    CAPACITY_PLUGIN,
    broken_tree_finding,
    is_whole_cluster,
    open_queue_advice,
    quota_explainer,
    sibling_holders_words,
    whole_cluster_advice,
)
from vcdebug.framework.record import HookEvent
from vcdebug.model.inqueue import ReservationForm, minimum_without_gated, reserved_resource
from vcdebug.model.job import JobInfo
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.podgroup import INQUEUE
from vcdebug.model.queue import OPEN
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.status import TaskStatus
from vcdebug.trace.state_before import sum_resources

QUOTA_CAUSE = "enqueue-queue-quota"
CAPABILITY_CAUSE = "queue-capability"
CLOSED_CAUSE = "queue-closed"
HELD_CAUSE = "enqueue-held-by-inqueue"


def explain_queue_rejection(view: JobView, seq: Seq, event: HookEvent) -> Finding:
    """The PodGroup's minimum is too much for its queue, or for an ancestor."""
    plugin, children = event.plugin, _child_queues(view)
    if view.queue.state != OPEN:
        return _closed_finding(view, seq, plugin)
    broken = broken_tree_finding(view, seq, plugin) if not children else None
    if broken is not None:
        return broken
    limit = first_exceeded(quota_explainer(plugin).admission(view.recording, seq, view.job))
    if not limit.exceeded_dimensions or (
        plugin == CAPACITY_PLUGIN and children and view.session.hierarchy_enabled(plugin)
    ):
        return _unspecified_finding(view, seq, plugin)
    stuck = stuck_jobs(view, seq, same_queue=True)
    if stuck and limit.check._replace(total=total_without(view, limit.check.total, stuck)).is_within_limit:
        return stuck_jobs_finding(view, seq, plugin, stuck, limit.arithmetic_lines(), limit.check.limit)
    name, minimum = limit.first_dimension, limit.check.request
    sentence = (
        f"{view.job.uid} is not admitted: queue {limit.queue} already counts {limit.format_taken(name)} of "
        f"{limit.format_limit(name)} ({_limit_source(view, plugin, limit)}), and minResources of "
        f"{limit.request_of(name)} more exceeds that by {limit.format_excess(name)}{limit.others_exceeded_words()}"
        f"{sibling_holders_words(view, seq, plugin, limit)}."
    )
    numbers = {**amounts.numbers("minResources", minimum, limit.exceeded_dimensions), **limit.limit_numbers()}
    advice = (owner_advice("ask for less in spec.minResources"), *_more_room_advice(view, limit))
    cause = CAPABILITY_CAUSE if plugin == CAPACITY_PLUGIN and limit.is_capability else QUOTA_CAUSE
    return Finding(cause, sentence, numbers, rejection_evidence(seq, plugin), advice, limit.arithmetic_lines())


def _closed_finding(view: JobView, seq: Seq, plugin: str) -> Finding:
    state = view.queue.state or "without a state"
    sentence = (
        f"{view.job.uid} is not admitted: its queue {view.queue.name} is {state}, "
        f"and {plugin} rejects every PodGroup of a queue that is not Open."
    )
    return Finding(CLOSED_CAUSE, sentence, {}, rejection_evidence(seq, plugin), open_queue_advice(view))


def _limit_source(view: JobView, plugin: str, limit: QueueCheck) -> str:
    """Whose limit it is."""
    if limit.is_capability:
        return "its capability"
    if view.session.total_resource.get(limit.first_dimension) <= 0:
        return "no node has any"
    parent = view.session.queues[limit.queue].parent if limit.queue in view.session.queues else ""
    if plugin == CAPACITY_PLUGIN and parent and view.session.hierarchy_enabled(plugin):
        return f"what its parent {parent} and the guarantees of others leave it"
    return "what the cluster and guarantees leave it"


def _more_room_advice(view: JobView, limit: QueueCheck) -> tuple[Advice, ...]:
    name = limit.first_dimension
    if limit.is_capability:
        more = amount_text.format_named_amount(name, limit.check.excess_of(name))
        return (
            owner_advice(f"wait until jobs of queue {limit.queue} end"),
            queue_admin_advice(f"raise the capability of queue {limit.queue} by {more}"),
        )
    if is_whole_cluster(view, limit.check.limit, name):
        return whole_cluster_advice(view, limit.queue, name)
    return (
        owner_advice(f"wait until jobs of queue {limit.queue} end"),
        queue_admin_advice("lower the guarantees of other queues"),
    )


def _unspecified_finding(view: JobView, seq: Seq, plugin: str) -> Finding:
    """Rejected without regard to amounts: a queue that is no leaf, devices, a tree that cannot be read."""
    children, written = _child_queues(view), view.plugin_message(seq)
    amounts_hold = f"none of its amounts is exceeded{f': {written}' if written else ''}"
    reason = f"it is no leaf (children: {join_names(children)})" if children else amounts_hold
    sentence = f"{view.job.uid} is not admitted: {plugin} rejects it in queue {view.queue.name}, and {reason}."
    advice = (
        (owner_advice("put the job into a leaf queue"),)
        if children
        else (cluster_admin_advice("look at the plugin's arguments and at devices"),)
    )
    return Finding(QUOTA_CAUSE, sentence, {}, rejection_evidence(seq, plugin), advice)


def _child_queues(view: JobView) -> list[QueueName]:
    return [queue.name for queue in view.session.queues.values() if queue.parent == view.queue.name]


# What Inqueue jobs hold without being placed


def rejection_evidence(seq: Seq, plugin: str) -> tuple[Evidence, ...]:
    """The proof of a rejection."""
    return (Evidence(seq, f"{plugin} rejects the PodGroup (JobEnqueueable -1)"),)


def stuck_jobs(view: JobView, seq: Seq, *, same_queue: bool) -> list[JobInfo]:
    """Other jobs that were Inqueue at this moment and end the cycle without a place."""
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
        result.sub_without_assert(_reserved_by(view, job))
    return result


def stuck_jobs_finding(
    view: JobView, seq: Seq, plugin: str, stuck: Sequence[JobInfo], lines: tuple[str, ...], limit: Resource
) -> Finding:
    """The job would fit without them."""
    minimum = view.job.get_min_resources()
    held = sum_resources(_reserved_by(view, job) for job in stuck)
    names = [name for name, value in minimum.items() if value > 0 and held.get(name) > 0 and name != PODS]
    who = amount_text.join_names(job.uid for job in stuck)
    holds, asked = "holds" if len(stuck) == 1 else "hold", amount_text.format_resource(minimum)
    sentence = (
        f"{view.job.uid} is not admitted: it asks {asked} as minResources and would fit, but {who} "
        f"{holds} {amount_text.format_resource(held, names)} as Inqueue without being placed, so {plugin} rejects."
    )
    numbers = {
        **amounts.numbers("minResources", minimum, names),
        **amounts.numbers("held", held, names),
        **amounts.numbers("limit", limit, names),
        "jobs.holding": amounts.count(len(stuck), "jobs"),
    }
    advice = (
        owner_advice(f"find out why {stuck[0].uid} cannot be placed (vcdebug explain)"),
        queue_admin_advice(
            f"delete {stuck[0].uid}: that gives back {amount_text.format_resource(_reserved_by(view, stuck[0]), names)}",
            f"PodGroup/{stuck[0].uid}:-",
        ),
    )
    more = tuple(
        f"{job.uid}: Inqueue, reserves {amount_text.format_resource(_reserved_by(view, job), names)}" for job in stuck
    )
    return Finding(HELD_CAUSE, sentence, numbers, rejection_evidence(seq, plugin), advice, (*lines, *more))
