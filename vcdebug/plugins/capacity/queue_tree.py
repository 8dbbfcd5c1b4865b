"""The queue tree: parents, sums of jobs at every level, and limits passed down from parent to child.

Upstream: plugins/capacity (buildHierarchicalQueueAttrs, buildQueueAttrs).
"""

from collections.abc import Iterable, Mapping

from vcdebug.model.job import JobInfo
from vcdebug.model.job_amounts import ReservationForm
from vcdebug.model.names import QueueName
from vcdebug.model.pod_claims import DeviceAmount, DeviceDemand, merge_task_dra
from vcdebug.model.queue import ROOT_QUEUE, QueueInfo, QueueLimit, flat_limit, queue_limit
from vcdebug.model.resource import INFINITY, MAX_INT64, ZERO, Resource
from vcdebug.plugins.capacity.devices import ClaimDemands, DeviceQuota, clone_demand
from vcdebug.plugins.capacity.queue_attr import NEWEST_FORM, Attrs, CapacityForm, CapacityQueueAttr, count_job_in

NO_PARENT = "queue {queue}, or an ancestor of it, names a parent that does not exist"
NOT_A_LEAF = "job {job} is in queue {queue}, which has children"
NO_ROOT = "there is no queue root"

QueueInfos = Mapping[QueueName, QueueInfo]


def build_tree(
    attrs: Attrs,
    queues: QueueInfos,
    jobs: Iterable[JobInfo],
    total: Resource,
    demands: ClaimDemands | None,
    form: CapacityForm = NEWEST_FORM,
) -> str | None:
    """Fill `attrs` with all queues. Returns None, or the reason why upstream stops; `attrs` is then incomplete.

    A queue whose parent is missing, a job in a queue that has children, or a missing root spoils the whole tree; in
    some releases a child with more than its parent too.
    Upstream: plugins/capacity.buildHierarchicalQueueAttrs.
    """
    for name in queues:
        if name not in attrs and not link_queue(attrs, queues, name, form):
            return NO_PARENT.format(queue=name)
    for job in jobs:
        if not count_job(attrs, job, demands, form.reserving):
            return NOT_A_LEAF.format(job=job.uid, queue=job.queue)
    root = attrs.get(ROOT_QUEUE)
    if root is None:
        return NO_ROOT
    fault = limit_from_root(root, total, form)
    if fault:
        return fault
    for attr in attrs.values():
        attr.update_share()
    return None


def link_queue(attrs: Attrs, queues: QueueInfos, name: QueueName, form: CapacityForm) -> bool:
    """Add a queue and its new ancestors to `attrs`; False if one of them names a parent that does not exist.

    A cycle of parents is not noticed: its queues hang under each other, and not under the root.
    Upstream: plugins/capacity.updateAncestors.
    """
    chain = [name]
    attrs[name] = CapacityQueueAttr.from_queue(queues[name], form)
    while chain[-1] != ROOT_QUEUE:
        parent = parent_of(queues[chain[-1]])
        if parent not in queues:
            return False
        if parent in attrs:
            attach_child(attrs[chain[-1]], attrs[parent])
            break
        attrs[parent] = CapacityQueueAttr.from_queue(queues[parent], form)
        chain.append(parent)
    for child, parent in zip(reversed(chain[:-1]), reversed(chain[1:]), strict=True):
        attach_child(attrs[child], attrs[parent])
    return True


def parent_of(queue: QueueInfo) -> QueueName:
    """The name of the queue's parent; the root if spec.parent is empty."""
    return queue.parent or ROOT_QUEUE


def attach_child(child: CapacityQueueAttr, parent: CapacityQueueAttr) -> None:
    """Make one queue the child of another."""
    parent.children[child.name] = child
    child.ancestors = parent.ancestors.append_name(parent.name)


def find_circle(attrs: Attrs) -> tuple[QueueName, ...]:
    """The first cycle of parents, from child to parent, else empty; upstream's copies of it never end."""
    parents = {child: attr.name for attr in attrs.values() for child in attr.children}
    passed: dict[QueueName, None] = {}
    for name in attrs:
        path: dict[QueueName, None] = {}
        ancestor: QueueName | None = name
        while ancestor is not None and ancestor not in passed:
            path[ancestor] = passed[ancestor] = None
            ancestor = parents.get(ancestor)
        if ancestor is not None and ancestor in path:
            names = list(path)
            return tuple(names[names.index(ancestor) :])
    return ()


def mistaken_parents(attrs: Attrs) -> dict[QueueName, QueueName]:
    """Queue → wrong parent, for queues whose last ancestor a cousin has overwritten."""
    children = [(child, attr.name) for attr in attrs.values() for child in attr.children.values()]
    mistaken = {
        child.name: child.ancestor_at_depth(1) for child, parent in children if child.ancestor_at_depth(1) != parent
    }
    return {name: other for name, other in sorted(mistaken.items()) if other is not None}


def count_job(attrs: Attrs, job: JobInfo, demands: ClaimDemands | None, form: ReservationForm) -> bool:
    """Add a job to its queue and all ancestors; False if the queue has children."""
    attr = attrs[job.queue]
    if attr.children:
        return False
    sums_before = [total.clone() for total in _job_sums(attr)]
    devices_before = clone_demand(attr.devices.allocated) if attr.devices is not None else {}
    count_job_in(attr, job, demands, form)
    added = [total.clone().sub(earlier) for total, earlier in zip(_job_sums(attr), sums_before, strict=True)]
    for name in attr.ancestors:
        for total, addition in zip(_job_sums(attrs[name]), added, strict=True):
            total.add(addition)
        add_devices(attrs[name].devices, attr.devices, devices_before)
    return True


def add_devices(upper: DeviceQuota | None, lower: DeviceQuota | None, before: DeviceDemand) -> None:
    """Add the growth of a descendant's devices to an ancestor, for the classes that the ancestor limits.

    The ancestor does not learn of the claims, so later events may count a shared claim again.
    """
    if upper is None or lower is None:
        return
    grown = {name: amount.difference_from(before.get(name, DeviceAmount())) for name, amount in lower.allocated.items()}
    merge_task_dra(upper.allocated, {name: amount for name, amount in grown.items() if name in upper.capability})


def _job_sums(attr: CapacityQueueAttr) -> tuple[Resource, Resource, Resource, Resource]:
    return attr.allocated, attr.request, attr.inqueue, attr.elastic


def limit_from_root(root: CapacityQueueAttr, total: Resource, form: CapacityForm = NEWEST_FORM) -> str:
    """Set the limits of all queues from the root down; returns the violation if it is fatal, else an empty text."""
    if form.root_limit_is_total:
        _limit_root(root, total, form)
    else:
        _unlimit_root(root, total)
    return limit_below(root, form)


def _unlimit_root(root: CapacityQueueAttr, total: Resource) -> None:
    """Make a root without capability unlimited."""
    if root.capability.is_empty():
        root.capability = Resource.infinite_resource()
        for name in total.scalars or ():
            root.capability.set_scalar(name, float(MAX_INT64))
    root.real_capability = root.capability


def _limit_root(root: CapacityQueueAttr, total: Resource, form: CapacityForm) -> None:
    """Limit the root to the cluster's total, which is also its deserved amount unless it may set its own."""
    ignored = form.ignores_root_fields
    root.capability = total.clone() if ignored or root.capability.is_empty() else root.capability
    root.deserved = total.clone() if ignored or root.deserved.is_empty() else root.deserved
    root.set_deserved(raised=False)
    root.set_limit(QueueLimit(total, Resource(), Resource(), total, None, total.clone()))


def limit_below(attr: CapacityQueueAttr, form: CapacityForm) -> str:
    """Limit the queue's descendants, branch by branch. Upstream: plugins/capacity.checkHierarchicalQueue."""
    queues = [attr]  # no recursion: a chain of queues can exceed the stack
    while queues:
        parent = queues.pop()
        violation = limit_children(parent, form)
        if violation:
            return violation
        queues.extend(parent.children[name] for name in sorted(parent.children, reverse=True))
    return ""


def limit_children(attr: CapacityQueueAttr, form: CapacityForm = NEWEST_FORM) -> str:
    """Children inherit unset capabilities and share what their parent's limit leaves after all guarantees."""
    children = [attr.children[name] for name in sorted(attr.children)]
    guaranteed, deserved = Resource(), Resource()
    for child in children:
        if not form.clamps_deserved:
            child.set_deserved(raised=not form.raw_deserved)
        deserved.add(child.deserved)
        guaranteed.add(child.guarantee)
        inherit_capability(child.capability, attr.capability, scalars=form.scalars_inherited)
    if attr.name == ROOT_QUEUE:
        _sum_up(attr, guaranteed, deserved, form)
    if form.asserts_remaining_guarantee and children:
        attr.real_capability.clone().sub(guaranteed)
    for child in children:
        limit = attr.real_capability
        child.set_limit(queue_limit(limit, guaranteed, child.guarantee, child.capability, attr.name))
    if form.clamps_deserved:
        deserved = _clamp_deserved(children, form)
    return find_violation(attr, children, guaranteed, deserved) if form.fatal else ""


def _clamp_deserved(children: Iterable[CapacityQueueAttr], form: CapacityForm) -> Resource:
    """Limit the children's deserved amounts; returns their sum."""
    deserved = Resource()
    for child in children:
        child.set_deserved(child.real_capability, unasked=ZERO if form.within_request else None)
        deserved.add(child.deserved)
    return deserved


def _sum_up(root: CapacityQueueAttr, guaranteed: Resource, deserved: Resource, form: CapacityForm) -> None:
    """Give the root the sums of its children; with `bounded` only an unset guarantee."""
    if not form.root_limit_is_total:
        root.guarantee, root.deserved = guaranteed, deserved
    elif form.ignores_root_fields or root.guarantee.is_empty():
        root.guarantee = guaranteed


def find_violation(
    attr: CapacityQueueAttr, children: Iterable[CapacityQueueAttr], guaranteed: Resource, deserved: Resource
) -> str:
    """How the children exceed their parent, in words, even where the parent sets no amount; empty if they do not."""
    for child in children:
        if attr.capability.less_partly(child.capability):
            return (
                f"queue <{attr.name}> capability <{attr.capability}> is less than its child queue <{child.name}> "
                f"capability <{child.capability}>"
            )
    for kind, amount, summed in (("deserved", attr.deserved, deserved), ("guarantee", attr.guarantee, guaranteed)):
        if amount.less_partly(summed):
            return (
                f"queue <{attr.name}> {kind} resources <{amount}> are less than the sum of its child queues' {kind} "
                f"resources <{summed}>"
            )
    return ""


def inherit_capability(capability: Resource, parent: Resource, *, scalars: bool = True) -> None:
    """Inherit cpu and memory of 0 or less, and unset scalars, from the parent."""
    capability.milli_cpu = capability.milli_cpu if capability.milli_cpu > 0 else parent.milli_cpu
    capability.memory = capability.memory if capability.memory > 0 else parent.memory
    for name, amount in (parent.scalars or {}).items() if scalars else ():
        if not capability.has_dimension(name):
            capability.set_scalar(name, amount)


# Queues without a tree: each may use what the guarantees of the other queues leave of the cluster.


def build_flat(
    queues: Mapping[QueueName, QueueInfo],
    jobs: Iterable[JobInfo],
    total: Resource,
    demands: ClaimDemands | None,
    form: CapacityForm = NEWEST_FORM,
) -> Attrs:
    """The attributes of all queues with jobs. Upstream: plugins/capacity.buildQueueAttrs."""
    guaranteed = Resource().add_all(Resource.from_list(queue.guarantee) for queue in queues.values())
    attrs: Attrs = {}
    for job in jobs:
        if form.asserts_total:
            total.clone().sub(guaranteed)
        if job.queue not in attrs:
            attr = attrs[job.queue] = CapacityQueueAttr.from_queue(queues[job.queue], form)
            attr.set_limit(flat_limit(queues[job.queue], total, guaranteed))
        count_job_in(attrs[job.queue], job, demands, form.reserving)
    for attr in attrs.values():
        attr.set_deserved(within=attr.real_capability, unasked=INFINITY if form.within_request else None)
        attr.update_share()
    return attrs
