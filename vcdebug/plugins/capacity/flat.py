"""Queues without a tree: each within what the guarantees of all queues leave of the cluster.

Upstream: plugins/capacity (buildQueueAttrs).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcdebug.model.inqueue import NEWEST_FORM, Reserving
from vcdebug.model.job import JobInfo
from vcdebug.model.names import QueueName
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import INFINITY, MAX_FLOAT64, Resource, exceeded_part, resource_max
from vcdebug.plugins.capacity.attr import Attrs, QueueAttr, count_in
from vcdebug.plugins.capacity.devices import ClaimDemands


def build_flat(
    queues: Mapping[QueueName, QueueInfo],
    jobs: Iterable[JobInfo],
    total: Resource,
    demands: ClaimDemands | None,
    form: Reserving = NEWEST_FORM,
) -> Attrs:
    """The queues that have jobs. Upstream: plugins/capacity.buildQueueAttrs."""
    guaranteed = Resource()
    for queue in queues.values():
        guaranteed.add(Resource.from_list(queue.guarantee))
    unguaranteed = exceeded_part(total, guaranteed)
    attrs: Attrs = {}
    for job in jobs:
        if job.queue not in attrs:
            attrs[job.queue] = flat_attr(queues[job.queue], unguaranteed)
        count_in(attrs[job.queue], job, demands, form)
    for attr in attrs.values():
        attr.deserved.min_dimension_resource(attr.real_capability, INFINITY)
        attr.deserved = resource_max(attr.deserved, attr.guarantee)
        attr.update_share()
    return attrs


def flat_attr(queue: QueueInfo, unguaranteed: Resource) -> QueueAttr:
    """A queue's limits; a capability of 0 cpu or memory is no limit."""
    attr = QueueAttr.of(queue)
    attr.real_capability = unguaranteed.clone().add(attr.guarantee)
    if queue.capability:
        limit = attr.capability
        limit.milli_cpu = limit.milli_cpu if limit.milli_cpu > 0 else MAX_FLOAT64
        limit.memory = limit.memory if limit.memory > 0 else MAX_FLOAT64
        attr.real_capability.min_dimension_resource(limit, INFINITY)
    return attr
