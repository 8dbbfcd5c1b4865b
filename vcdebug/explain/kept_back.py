"""What of the cluster is kept from a queue: by guarantees of others that they do not use."""

from __future__ import annotations

from vcdebug.explain.amounts import amount, listed, named
from vcdebug.explain.job_view import JobView
from vcdebug.explain.limits import QueueCheck
from vcdebug.model.names import Seq
from vcdebug.model.resource import Resource


def by_guarantees(view: JobView, plugin: str, limit: QueueCheck, seq: Seq) -> str:
    """Who is guaranteed more than it holds of what the queue lacks, to be said after the limit; empty for nobody."""
    if limit.hard or not limit.exceeded:
        return ""
    state, name = view.recording.timeline.state_at(seq - 1), limit.first
    parts = []
    for queue in view.session.queues.values():
        kept = Resource.from_list(queue.guarantee or {}).get(name)
        if queue.name == limit.queue or kept <= 0:
            continue
        known = queue.name in state.books.get(plugin, {})
        held = state.amount(plugin, queue.name, "allocated").get(name) if known else 0.0
        if held < kept:
            parts.append(f"{named(name, kept)} are guaranteed to queue {queue.name}, which holds {amount(name, held)}")
    total = named(name, view.session.total_resource.get(name))
    return f"; of the {total} of the cluster {listed(parts)}" if parts else ""


def gang_in_all(view: JobView, limit: QueueCheck) -> str:
    """What the rest of the gang asks together, where even that is more than the limit; empty otherwise."""
    job, name = view.job, limit.first
    lacks = job.min_available - job.ready_task_num() - job.waiting_task_num()
    if lacks < 2 or lacks > len(view.left_over) or not limit.exceeded:
        return ""
    asked = 0.0
    for value in sorted(task.resreq.get(name) for task in view.left_over)[:lacks]:
        asked += value
    if asked <= limit.check.limit.get(name):
        return ""
    return f"; the {lacks} pods that its gang lacks ask {named(name, asked)} in all"
