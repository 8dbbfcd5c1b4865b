"""The limit that holds for a queue, part by part.

Upstream: plugins/proportion, plugins/capacity.
"""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.model.names import QueueName
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import INFINITY, MAX_FLOAT64, Resource
from vcdebug.model.surplus import exceeded_part


class QueueLimit(NamedTuple):
    """What guarantees leave of a whole, with the queue's own, within its capability."""

    whole: Resource
    guaranteed: Resource
    """What is set aside for all queues that share the whole."""
    own: Resource
    left: Resource
    capability: Resource | None
    """None where the queue states none."""
    limit: Resource
    parent: QueueName = ""
    """The queue whose limit the whole is; empty for the cluster."""


def queue_limit(
    whole: Resource, guaranteed: Resource, own: Resource, capability: Resource | None, parent: QueueName = ""
) -> QueueLimit:
    """The limit of one queue among those that share the whole."""
    left = exceeded_part(whole, guaranteed).add(own)
    limit = left.clone()
    if capability is not None:
        limit.min_dimension_resource(capability, INFINITY)
    return QueueLimit(whole, guaranteed, own, left, capability, limit, parent)


def flat_limit(queue: QueueInfo, whole: Resource, guaranteed: Resource) -> QueueLimit:
    """The limit of a queue that has no parent; a capability of 0 cpu or memory is no limit."""
    capability = Resource.from_list(queue.capability)
    if queue.capability:
        capability.milli_cpu = capability.milli_cpu if capability.milli_cpu > 0 else MAX_FLOAT64
        capability.memory = capability.memory if capability.memory > 0 else MAX_FLOAT64
    stated = capability if queue.capability else None
    return queue_limit(whole, guaranteed, Resource.from_list(queue.guarantee), stated)
