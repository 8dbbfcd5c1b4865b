"""What would let a queue have more: its state, its capability, its weight, or a larger cluster."""

from __future__ import annotations

from vcdebug.explain import amounts
from vcdebug.explain.case import Case
from vcdebug.explain.gates.limits import TREE_PLUGIN, Limit
from vcdebug.model.names import QueueName
from vcdebug.model.queue import OPEN, QueueInfo
from vcdebug.model.resource import Resource


def open_it(queue: QueueInfo) -> tuple[str, ...]:
    """For a queue that is not Open."""
    return (f"open the queue: vcctl queue operate -a open -n {queue.name}", "or move the job to an open queue")


def more_share(case: Case, plugin: str, limit: Limit) -> tuple[str, ...]:
    """For a queue whose limit does not hold one more task."""
    if case.queue.state != OPEN:
        return open_it(case.queue)
    if limit.hard:
        return (f"raise spec.capability of queue {limit.queue}, or wait until its own jobs end",)
    if not limit.exceeded:
        return (f"look at {plugin}'s arguments and at queue {limit.queue}, or use another queue",)
    if whole_cluster(case, limit.limit, limit.first):
        return (all_taken(case, limit.queue, limit.first),)
    return (larger_entitlement(case, plugin), *_unread(case, plugin))


def _unread(case: Case, plugin: str) -> tuple[str, ...]:
    """For a queue that states what it deserves to a plugin that does not ask."""
    if plugin == TREE_PLUGIN or not case.queue.deserved:
        return ()
    return (f"or put {TREE_PLUGIN} in the place of {plugin}: it reads spec.deserved",)


def whole_cluster(case: Case, limit: Resource, name: str) -> bool:
    """Whether the limit is all that the nodes have: no setting of the queue can raise it."""
    return limit.get(name) >= case.session.total_resource.get(name)


def all_taken(case: Case, queue: QueueName, name: str) -> str:
    """The advice where a queue may have the whole cluster already."""
    total = amounts.named(name, case.session.total_resource.get(name))
    return f"queue {queue} may already have the whole cluster ({total}): wait until its jobs end, or add nodes"


def larger_entitlement(case: Case, plugin: str) -> str:
    """How a queue comes to deserve more under this plugin."""
    queue = case.queue
    if plugin == TREE_PLUGIN:
        return f"raise spec.deserved of queue {queue.name}, lower the others' guarantees, or use another queue"
    return f"raise spec.weight ({queue.weight}) of queue {queue.name}, lower the others', or use another queue"
