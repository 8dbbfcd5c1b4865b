"""The queue tree: who is whose parent, what jobs add to every level, and which limits hold further down.

Upstream: plugins/capacity (buildHierarchicalQueueAttrs).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcdebug.model.device_claims import Demand, DeviceAmount, merge
from vcdebug.model.inqueue import Reserving
from vcdebug.model.job import JobInfo
from vcdebug.model.names import QueueName
from vcdebug.model.queue import ROOT_QUEUE, QueueInfo
from vcdebug.model.queuelimit import QueueLimit, queue_limit
from vcdebug.model.resource import MAX_INT64, Resource
from vcdebug.plugins.capacity.attr import Attrs, QueueAttr, count_in
from vcdebug.plugins.capacity.devices import ClaimDemands, DeviceQuota, copied
from vcdebug.plugins.capacity.form import NEWEST_FORM, Form

NO_PARENT = "queue {queue}, or an ancestor of it, names a parent that does not exist"
NOT_A_LEAF = "job {job} is in queue {queue}, which has children"
NO_ROOT = "there is no queue root"

Queues = Mapping[QueueName, QueueInfo]


def build_tree(
    attrs: Attrs,
    queues: Queues,
    jobs: Iterable[JobInfo],
    total: Resource,
    demands: ClaimDemands | None,
    form: Form = NEWEST_FORM,
) -> str | None:
    """Fill `attrs` with all queues; where upstream gives up, why, with what there was until then.

    A queue whose parent is missing, a job in a queue that has children, or a missing root spoils the whole tree; in
    some releases a child with more than its parent too.
    Upstream: plugins/capacity.buildHierarchicalQueueAttrs.
    """
    for name in queues:
        if name not in attrs and not link(attrs, queues, name, form):
            return NO_PARENT.format(queue=name)
    for job in jobs:
        if not count_job(attrs, job, demands, form.reserving):
            return NOT_A_LEAF.format(job=job.uid, queue=job.queue)
    root = attrs.get(ROOT_QUEUE)
    if root is None:
        return NO_ROOT
    wrong = limit_from_root(root, total, form)
    if wrong:
        return wrong
    for attr in attrs.values():
        attr.update_share()
    return None


def link(attrs: Attrs, queues: Queues, name: QueueName, form: Form) -> bool:
    """Enter a queue and every ancestor that is new; False when one of them names a parent that does not exist.

    A cycle of parents is not noticed: its queues hang under each other, and not under the root.
    Upstream: plugins/capacity.updateAncestors.
    """
    chain = [name]
    attrs[name] = QueueAttr.of(queues[name], form)
    while chain[-1] != ROOT_QUEUE:
        parent = parent_of(queues[chain[-1]])
        if parent not in queues:
            return False
        if parent in attrs:
            hang(attrs[chain[-1]], attrs[parent])
            break
        attrs[parent] = QueueAttr.of(queues[parent], form)
        chain.append(parent)
    for child, parent in zip(reversed(chain[:-1]), reversed(chain[1:]), strict=True):
        hang(attrs[child], attrs[parent])
    return True


def parent_of(queue: QueueInfo) -> QueueName:
    """spec.parent, else the root."""
    return queue.parent or ROOT_QUEUE


def hang(child: QueueAttr, parent: QueueAttr) -> None:
    """Make one queue the child of another."""
    parent.children[child.name] = child
    child.ancestors = parent.ancestors.appended(parent.name)


def find_circle(attrs: Attrs) -> tuple[QueueName, ...]:
    """The first queues that are each other's parents, from child to parent; empty where there are none.

    Upstream's copies of such a tree never end.
    """
    parents = {child: attr.name for attr in attrs.values() for child in attr.children}
    passed: dict[QueueName, None] = {}
    for name in attrs:
        way: dict[QueueName, None] = {}
        above: QueueName | None = name
        while above is not None and above not in passed:
            way[above] = passed[above] = None
            above = parents.get(above)
        if above is not None and above in way:
            names = list(way)
            return tuple(names[names.index(above) :])
    return ()


def mistaken_parents(attrs: Attrs) -> dict[QueueName, QueueName]:
    """Queues whose last ancestor a cousin has overwritten, with the queue that stands there instead."""
    children = [(child, attr.name) for attr in attrs.values() for child in attr.children.values()]
    wrong = {child.name: child.nearest(1) for child, parent in children if child.nearest(1) != parent}
    return {name: other for name, other in sorted(wrong.items()) if other is not None}


def count_job(attrs: Attrs, job: JobInfo, demands: ClaimDemands | None, form: Reserving) -> bool:
    """Add a job to its queue and all ancestors; False when the queue has children."""
    attr = attrs[job.queue]
    if attr.children:
        return False
    before = [total.clone() for total in _sums(attr)]
    held = copied(attr.devices.allocated) if attr.devices is not None else {}
    count_in(attr, job, demands, form)
    added = [total.clone().sub(earlier) for total, earlier in zip(_sums(attr), before, strict=True)]
    for name in attr.ancestors:
        for total, more in zip(_sums(attrs[name]), added, strict=True):
            total.add(more)
        add_devices(attrs[name].devices, attr.devices, held)
    return True


def add_devices(upper: DeviceQuota | None, lower: DeviceQuota | None, before: Demand) -> None:
    """Add to an ancestor what its descendant's devices grew by, in the classes that the ancestor limits.

    The ancestor does not learn of the claims, so later events may count a shared claim again.
    """
    if upper is None or lower is None:
        return
    grown = {name: amount.less(before.get(name, DeviceAmount())) for name, amount in lower.allocated.items()}
    merge(upper.allocated, {name: amount for name, amount in grown.items() if name in upper.capability})


def _sums(attr: QueueAttr) -> tuple[Resource, Resource, Resource, Resource]:
    return attr.allocated, attr.request, attr.inqueue, attr.elastic


def limit_from_root(root: QueueAttr, total: Resource, form: Form = NEWEST_FORM) -> str:
    """Give every queue below the root what its parent leaves; what is wrong, where that is fatal."""
    if form.bounded:
        _bound(root, total, form)
    else:
        _unbound(root, total)
    return limit_below(root, form)


def _unbound(root: QueueAttr, total: Resource) -> None:
    """A root without capability is unlimited."""
    if root.capability.is_empty():
        root.capability = Resource.infinite()
        for name in total.scalars or ():
            root.capability.set_scalar(name, float(MAX_INT64))
    root.real_capability = root.capability


def _bound(root: QueueAttr, total: Resource, form: Form) -> None:
    """The root has what the cluster has, and deserves it unless it may state something else."""
    ignored = form.root_states_nothing
    root.capability = total.clone() if ignored or root.capability.is_empty() else root.capability
    root.deserved = total.clone() if ignored or root.deserved.is_empty() else root.deserved
    root.entitle(raised=False)
    root.confine(QueueLimit(total, Resource(), Resource(), total, None, total.clone()))


def limit_below(attr: QueueAttr, form: Form) -> str:
    """The queue's children and theirs, branch by branch. Upstream: plugins/capacity.checkHierarchicalQueue."""
    waiting = [attr]  # no recursion: a chain of queues can be longer than the stack
    while waiting:
        each = waiting.pop()
        wrong = limit_children(each, form)
        if wrong:
            return wrong
        waiting.extend(each.children[name] for name in sorted(each.children, reverse=True))
    return ""


def limit_children(attr: QueueAttr, form: Form = NEWEST_FORM) -> str:
    """Children inherit capability where they state none, and share what the guarantees of all of them leave."""
    children = [attr.children[name] for name in sorted(attr.children)]
    guaranteed, deserved = Resource(), Resource()
    for child in children:
        if not form.clamped:
            child.entitle(raised=not form.raw_deserved)
        deserved.add(child.deserved)
        guaranteed.add(child.guarantee)
        inherit(child.capability, attr.capability, scalars=form.scalars_inherited)
    if attr.name == ROOT_QUEUE:
        _sum_up(attr, guaranteed, deserved, form)
    for child in children:
        whole = attr.real_capability
        child.confine(queue_limit(whole, guaranteed, child.guarantee, child.capability, attr.name))
    if form.clamped:
        deserved = _clamped(children)
    return violation(attr, children, guaranteed, deserved) if form.fatal else ""


def _clamped(children: Iterable[QueueAttr]) -> Resource:
    """What the children deserve within their limits, in sum."""
    deserved = Resource()
    for child in children:
        child.entitle(child.real_capability)
        deserved.add(child.deserved)
    return deserved


def _sum_up(root: QueueAttr, guaranteed: Resource, deserved: Resource, form: Form) -> None:
    """The root has what its children have together; a bounded one only the guarantee, where it states none."""
    if not form.bounded:
        root.guarantee, root.deserved = guaranteed, deserved
    elif form.root_states_nothing or root.guarantee.is_empty():
        root.guarantee = guaranteed


def violation(attr: QueueAttr, children: Iterable[QueueAttr], guaranteed: Resource, deserved: Resource) -> str:
    """What the children have beyond their parent; a dimension that it does not state is beyond it too."""
    for child in children:
        if attr.capability.less_partly(child.capability):
            return (
                f"queue <{attr.name}> capability <{attr.capability}> is less than its child queue <{child.name}> "
                f"capability <{child.capability}>"
            )
    for what, own, summed in (("deserved", attr.deserved, deserved), ("guarantee", attr.guarantee, guaranteed)):
        if own.less_partly(summed):
            return (
                f"queue <{attr.name}> {what} resources <{own}> are less than the sum of its child queues' {what} "
                f"resources <{summed}>"
            )
    return ""


def inherit(capability: Resource, parent: Resource, *, scalars: bool = True) -> None:
    """Take over what is not stated: cpu and memory of 0 or less, and missing scalars."""
    capability.milli_cpu = capability.milli_cpu if capability.milli_cpu > 0 else parent.milli_cpu
    capability.memory = capability.memory if capability.memory > 0 else parent.memory
    for name, amount in (parent.scalars or {}).items() if scalars else ():
        if not capability.has(name):
            capability.set_scalar(name, amount)
