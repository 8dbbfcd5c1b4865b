"""Queues without a tree: each within what the guarantees of all queues leave of the cluster.

Upstream: plugins/capacity (buildQueueAttrs).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcdebug.model.job import JobInfo
from vcdebug.model.names import QueueName
from vcdebug.model.queue import QueueInfo
from vcdebug.model.queuelimit import flat_limit
from vcdebug.model.resource import Resource
from vcdebug.plugins.capacity.attr import Attrs, CapacityQueueAttr, count_job_in
from vcdebug.plugins.capacity.devices import ClaimDemands
from vcdebug.plugins.capacity.form import NEWEST_FORM, CapacityForm


def build_flat(
    queues: Mapping[QueueName, QueueInfo],
    jobs: Iterable[JobInfo],
    total: Resource,
    demands: ClaimDemands | None,
    form: CapacityForm = NEWEST_FORM,
) -> Attrs:
    """The queues that have jobs. Upstream: plugins/capacity.buildQueueAttrs."""
    guaranteed = Resource()
    for queue in queues.values():
        guaranteed.add(Resource.from_list(queue.guarantee))
    attrs: Attrs = {}
    for job in jobs:
        if job.queue not in attrs:
            attrs[job.queue] = new_flat_attr(queues[job.queue], total, guaranteed, form)
        count_job_in(attrs[job.queue], job, demands, form.reserving)
    for attr in attrs.values():
        attr.set_deserved(within=attr.real_capability)
        attr.update_share()
    return attrs


def new_flat_attr(queue: QueueInfo, total: Resource, guaranteed: Resource, form: CapacityForm) -> CapacityQueueAttr:
    """A queue's limits."""
    attr = CapacityQueueAttr.from_queue(queue, form)
    attr.set_limit(flat_limit(queue, total, guaranteed))
    return attr
