"""Changes that the API server, a quota or Volcano's webhooks would refuse.

Upstream: pkg/webhooks/admission/queues/validate (validateResourceQuantityOfQueue, validateHierarchicalQueueResources,
root queue protection); Kubernetes: apis/core/validation.ValidateResourceRequirements, quota admission of pods.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from vcdebug.explain.plugins.resourcequota import pod_quota_amounts
from vcdebug.model.names import QueueName
from vcdebug.model.pod import ENDED_PHASES, Pod
from vcdebug.model.queue import ROOT_QUEUE
from vcdebug.snapshot.manifest import metadata_of, name_of, spec_of, status_of
from vcdebug.snapshot.quantity import nano_value
from vcdebug.snapshot.snapshot import Manifest, Snapshot

Amounts = dict[str, int]
"""Resource → integer in 10^-9 units, so that quantities are compared exactly, as in Kubernetes."""
_LIMITS: Final = ("capability", "deserved", "guarantee")


class BrokenRule(NamedTuple):
    """A rule that an object violates."""

    place: str
    """The object, and the field of it."""
    reason: str

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


def find_refusal(before: Snapshot, after: Snapshot) -> BrokenRule | None:
    """The first rule that a change violates; None if the cluster would accept the change.

    Existing violations are ignored: the cluster accepted them, perhaps under an older webhook.
    """
    for rule in (_iter_container_faults, _iter_queue_faults):
        old_places = {fault.place for fault in rule(before, after)}
        for fault in rule(after, before):
            if fault.place not in old_places:
                return fault
    return next(_iter_quota_faults(before, after), None)


def _iter_container_faults(snapshot: Snapshot, other: Snapshot) -> Iterator[BrokenRule]:
    """Requests above limits, and extended resources whose request is not their limit, in pods that differ."""
    for pod in map(Pod, _changed_objects("Pod", snapshot, other)):
        for container in pod.spec.get("containers") or ():
            resources = container.get("resources") or {}
            requests, limits = _amounts_of(resources.get("requests")), _amounts_of(resources.get("limits"))
            for resource in requests.keys() & limits.keys():
                exceeds_limit = requests[resource] > limits[resource]
                if exceeds_limit or (is_never_overcommitted(resource) and requests[resource] != limits[resource]):
                    sign = ">" if exceeds_limit else "differs from"
                    yield BrokenRule(
                        f"Pod {pod.key}, container {container.get('name', '')}, {resource}", f"request {sign} limit"
                    )


def is_never_overcommitted(resource: str) -> bool:
    """Whether the API server requires that a request of the resource equals its limit."""
    return "/" in resource or resource.startswith("hugepages-")


def _iter_queue_faults(snapshot: Snapshot, other: Snapshot) -> Iterator[BrokenRule]:
    queues = {name_of(manifest): manifest for manifest in snapshot.objects_of("Queue")}
    for manifest in _changed_objects("Queue", snapshot, other):
        name = name_of(manifest)
        yield from _iter_amount_faults(manifest)
        if name != ROOT_QUEUE:
            yield from _iter_subtree_faults(queues, name)
            yield from _iter_ancestor_faults(queues, name)
            if parent := next(_iter_parents(queues, name), ""):
                yield from _iter_sum_faults(queues, parent)


def _iter_amount_faults(queue: Manifest) -> Iterator[BrokenRule]:
    capability, deserved, guarantee = (_limits_of(queue, field) for field in _LIMITS)
    name = name_of(queue)
    if name == ROOT_QUEUE:
        # The place contains the amounts, so that an unchanged root queue is a known fault.
        yield BrokenRule(f"Queue {name} {[capability, deserved, guarantee]}", "its limits cannot be changed")
        return
    for resource in (key for key in guarantee if deserved.get(key, -1) < guarantee[key]):
        yield BrokenRule(f"Queue {name}, deserved {resource}", "below its guarantee")
    for resource in (key for key in deserved if deserved[key] > capability.get(key, deserved[key])):
        yield BrokenRule(f"Queue {name}, deserved {resource}", "above its capability")


def _iter_ancestor_faults(queues: Mapping[QueueName, Manifest], name: QueueName) -> Iterator[BrokenRule]:
    for resource, amount in _limits_of(queues[name], "capability").items():
        capabilities = (
            (_limits_of(queues[above], "capability").get(resource, 0), above) for above in _iter_parents(queues, name)
        )
        upper, above = next((pair for pair in capabilities if pair[0]), (amount, ""))
        if amount > upper:
            yield BrokenRule(f"Queue {name}, capability {resource}", f"above that of queue {above}")


def _iter_subtree_faults(queues: Mapping[QueueName, Manifest], name: QueueName) -> Iterator[BrokenRule]:
    """Yields violations of the rule that a queue's limits are at least those of its children."""
    children = [child for child, queue in queues.items() if (spec_of(queue).get("parent") or ROOT_QUEUE) == name]
    if not children:
        return
    for resource, amount in _limits_of(queues[name], "capability").items():
        for child in children:
            if _largest_capability(queues, child, resource, (name,)) > amount:
                yield BrokenRule(f"Queue {name}, capability {resource}", f"below that of queue {child}")
    yield from _iter_sum_faults(queues, name)


def _largest_capability(
    queues: Mapping[QueueName, Manifest], name: QueueName, resource: str, ancestors: tuple[QueueName, ...]
) -> int:
    """The capability of a queue, else the largest of its descendants; `ancestors` ends a circle of parents."""
    capability = _limits_of(queues[name], "capability").get(resource, 0)
    if capability or name in ancestors:
        return capability
    children = [child for child, queue in queues.items() if spec_of(queue).get("parent") == name]
    return max((_largest_capability(queues, child, resource, (*ancestors, name)) for child in children), default=0)


def _iter_sum_faults(queues: Mapping[QueueName, Manifest], name: QueueName) -> Iterator[BrokenRule]:
    children = [queue for queue in queues.values() if spec_of(queue).get("parent") == name]
    for field in ("guarantee", "deserved"):
        amounts, total = _limits_of(queues[name], field), _sum_amounts(_limits_of(child, field) for child in children)
        for resource in (key for key in total if total[key] > amounts.get(key, 0)):
            yield BrokenRule(f"Queue {name}, {field} {resource}", "below the sum of its child queues")


def _iter_parents(queues: Mapping[QueueName, Manifest], name: QueueName) -> Iterator[QueueName]:
    """The queues above one, the nearest first, without the root queue; a circle of parents ends the list."""
    path = [name]
    while (parent := spec_of(queues[path[-1]]).get("parent") or ROOT_QUEUE) in queues:
        if parent == ROOT_QUEUE or parent in path:
            return
        path.append(parent)
        yield parent


def _iter_quota_faults(before: Snapshot, after: Snapshot) -> Iterator[BrokenRule]:
    """Yields quotas that added or enlarged pods would exceed."""
    added_by_namespace = _added_amounts(before, after)
    for manifest in after.objects_of("ResourceQuota"):
        spec, status = spec_of(manifest), status_of(manifest)
        added_amounts = added_by_namespace.get(metadata_of(manifest).get("namespace", ""), {})
        # A quota with scopes counts some pods only, and which ones is not known of every pod.
        if spec.get("scopes") or spec.get("scopeSelector"):
            continue
        hard, used = _amounts_of(spec.get("hard") or status.get("hard")), _amounts_of(status.get("used"))
        for name in (key for key in hard if added_amounts.get(key, 0) > 0):
            if used.get(name, 0) + added_amounts[name] > hard[name]:
                yield BrokenRule(f"ResourceQuota {name_of(manifest)}", f"{name} has no room for the pods")


def _added_amounts(before: Snapshot, after: Snapshot) -> dict[str, Amounts]:
    """Namespace → resource → how much more its quotas count after the change."""
    added: dict[str, Amounts] = {}
    for sign, snapshot, other in ((1, after, before), (-1, before, after)):
        for pod in map(Pod, _changed_objects("Pod", snapshot, other)):
            amounts = added.setdefault(pod.namespace, {})
            for name, amount in () if pod.phase in ENDED_PHASES else pod_quota_amounts(pod).items():
                amounts[name] = amounts.get(name, 0) + sign * amount
    return added


def _changed_objects(kind: str, snapshot: Snapshot, other: Snapshot) -> Iterator[Manifest]:
    """Yields objects of a snapshot that the other does not share; edits keep unchanged manifests as they are."""
    shared = {id(manifest) for manifest in other.objects_of(kind)}
    return (manifest for manifest in snapshot.objects_of(kind) if id(manifest) not in shared)


def _limits_of(queue: Manifest, field: str) -> Amounts:
    amounts = spec_of(queue).get(field) or {}
    return _amounts_of(amounts.get("resource") if field == "guarantee" else amounts)


def _amounts_of(quantities: Mapping[str, object] | None) -> Amounts:
    return {name: nano_value(quantity) for name, quantity in (quantities or {}).items()}


def _sum_amounts(lists: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for amounts in lists:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total
