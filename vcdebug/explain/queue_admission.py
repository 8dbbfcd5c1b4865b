"""A PodGroup that its queue or an ancestor does not admit: the limit, who counts against it, who holds it unplaced."""

from __future__ import annotations

from collections.abc import Sequence

from vcdebug import amount_text
from vcdebug.amount_text import listed
from vcdebug.explain import amounts
from vcdebug.explain.answer import Advice, Evidence, Finding, cluster, owner, sharers
from vcdebug.explain.job_view import JobView
from vcdebug.explain.limits import QueueCheck, first_exceeded
from vcdebug.explain.queue_quota import (
    TREE_PLUGIN,
    all_taken,
    broken_tree,
    open_it,
    quota_of,
    who_counts,
    whole_cluster,
)
from vcdebug.framework.record import HookEvent
from vcdebug.model.inqueue import Reserving, reserved_resource, whole_minimum
from vcdebug.model.job import JobInfo
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.podgroup import INQUEUE
from vcdebug.model.queue import OPEN
from vcdebug.model.resource import PODS, Resource
from vcdebug.model.status import TaskStatus
from vcdebug.trace.state_before import total

QUOTA = "enqueue-queue-quota"
CAPABILITY = "queue-capability"
CLOSED = "queue-closed"
HELD = "enqueue-held-by-inqueue"


def rejected(view: JobView, seq: Seq, event: HookEvent) -> Finding:
    """The PodGroup's minimum is too much for its queue, or for an ancestor."""
    plugin, children = event.plugin, _children(view)
    if view.queue.state != OPEN:
        return _closed(view, seq, plugin)
    broken = broken_tree(view, seq, plugin) if not children else None
    if broken is not None:
        return broken
    limit = first_exceeded(quota_of(plugin).admission(view.recording, seq, view.job))
    if not limit.exceeded or (plugin == TREE_PLUGIN and children and view.session.hierarchy_enabled(plugin)):
        return _unspecified(view, seq, plugin)
    stuck = stuck_jobs(view, seq, same_queue=True)
    if stuck and limit.check._replace(total=without(view, limit.check.total, stuck)).fits:
        return held_by_stuck(view, seq, plugin, stuck, limit.lines(), limit.check.limit)
    name, minimum = limit.first, limit.check.request
    sentence = (
        f"{view.job.uid} is not admitted: queue {limit.queue} already counts {limit.taken_of(name)} of "
        f"{limit.limit_of(name)} ({_source(view, plugin, limit)}), and minResources of "
        f"{limit.request_of(name)} more exceeds that by {limit.over(name)}{limit.beside()}"
        f"{who_counts(view, seq, plugin, limit)}."
    )
    numbers = {**amounts.numbers("minResources", minimum, limit.exceeded), **limit.numbers()}
    advice = (owner("ask for less in spec.minResources"), *_more_room(view, limit))
    cause = CAPABILITY if plugin == TREE_PLUGIN and limit.hard else QUOTA
    return Finding(cause, sentence, numbers, not_admitted(seq, plugin), advice, limit.lines())


def _closed(view: JobView, seq: Seq, plugin: str) -> Finding:
    state = view.queue.state or "without a state"
    sentence = (
        f"{view.job.uid} is not admitted: its queue {view.queue.name} is {state}, "
        f"and {plugin} rejects every PodGroup of a queue that is not Open."
    )
    return Finding(CLOSED, sentence, {}, not_admitted(seq, plugin), open_it(view))


def _source(view: JobView, plugin: str, limit: QueueCheck) -> str:
    """Whose limit it is."""
    if limit.hard:
        return "its capability"
    if view.session.total_resource.get(limit.first) <= 0:
        return "no node has any"
    parent = view.session.queues[limit.queue].parent if limit.queue in view.session.queues else ""
    if plugin == TREE_PLUGIN and parent and view.session.hierarchy_enabled(plugin):
        return f"what its parent {parent} and the guarantees of others leave it"
    return "what the cluster and guarantees leave it"


def _more_room(view: JobView, limit: QueueCheck) -> tuple[Advice, ...]:
    name = limit.first
    if limit.hard:
        more = amount_text.named(name, limit.check.over(name))
        return (
            owner(f"wait until jobs of queue {limit.queue} end"),
            sharers(f"raise the capability of queue {limit.queue} by {more}"),
        )
    if whole_cluster(view, limit.check.limit, name):
        return all_taken(view, limit.queue, name)
    return (
        owner(f"wait until jobs of queue {limit.queue} end"),
        sharers("lower the guarantees of other queues"),
    )


def _unspecified(view: JobView, seq: Seq, plugin: str) -> Finding:
    """Rejected without regard to amounts: a queue that is no leaf, devices, a tree that cannot be read."""
    children, written = _children(view), view.written(seq)
    amounts_hold = f"none of its amounts is exceeded{f': {written}' if written else ''}"
    reason = f"it is no leaf (children: {listed(children)})" if children else amounts_hold
    sentence = f"{view.job.uid} is not admitted: {plugin} rejects it in queue {view.queue.name}, and {reason}."
    advice = (
        (owner("put the job into a leaf queue"),)
        if children
        else (cluster("look at the plugin's arguments and at devices"),)
    )
    return Finding(QUOTA, sentence, {}, not_admitted(seq, plugin), advice)


def _children(view: JobView) -> list[QueueName]:
    return [queue.name for queue in view.session.queues.values() if queue.parent == view.queue.name]


# What Inqueue jobs hold without being placed


def not_admitted(seq: Seq, plugin: str) -> tuple[Evidence, ...]:
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
        and not job.count(TaskStatus.BINDING, TaskStatus.PIPELINED)
        and not job.is_ready()
    ]


def _reserved(view: JobView, job: JobInfo) -> Resource:
    reserved = reserved_resource(job, Reserving.of(view.recording.snapshot.release))
    return reserved if reserved is not None else whole_minimum(job)


def without(view: JobView, total: Resource, stuck: Sequence[JobInfo]) -> Resource:
    """What would count if they were gone."""
    result = total.clone()
    for job in stuck:
        result.sub_without_assert(_reserved(view, job))
    return result


def held_by_stuck(
    view: JobView, seq: Seq, plugin: str, stuck: Sequence[JobInfo], lines: tuple[str, ...], limit: Resource
) -> Finding:
    """The job would fit without them."""
    minimum = view.job.get_min_resources()
    held = total(_reserved(view, job) for job in stuck)
    names = [name for name, value in minimum.items() if value > 0 and held.get(name) > 0 and name != PODS]
    who = amount_text.listed(job.uid for job in stuck)
    holds, asked = "holds" if len(stuck) == 1 else "hold", amount_text.resource(minimum)
    sentence = (
        f"{view.job.uid} is not admitted: it asks {asked} as minResources and would fit, but {who} "
        f"{holds} {amount_text.resource(held, names)} as Inqueue without being placed, so {plugin} rejects."
    )
    numbers = {
        **amounts.numbers("minResources", minimum, names),
        **amounts.numbers("held", held, names),
        **amounts.numbers("limit", limit, names),
        "jobs.holding": amounts.count(len(stuck), "jobs"),
    }
    advice = (
        owner(f"find out why {stuck[0].uid} cannot be placed (vcdebug explain)"),
        sharers(
            f"delete {stuck[0].uid}: that gives back {amount_text.resource(_reserved(view, stuck[0]), names)}",
            f"PodGroup/{stuck[0].uid}:-",
        ),
    )
    more = tuple(f"{job.uid}: Inqueue, reserves {amount_text.resource(_reserved(view, job), names)}" for job in stuck)
    return Finding(HELD, sentence, numbers, not_admitted(seq, plugin), advice, (*lines, *more))
