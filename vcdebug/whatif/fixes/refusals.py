"""What the API server, its quotas or Volcano's webhooks would refuse of a change.

Upstream: pkg/webhooks/admission/queues/validate (validateResourceQuantityOfQueue, validateHierarchicalQueueResources,
root queue protection); Kubernetes: apis/core/validation.ValidateResourceRequirements, quota admission of pods.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from vcdebug.explain.plugins.resourcequota import pod_quota_amounts
from vcdebug.model.names import QueueName
from vcdebug.model.pod import ENDED_PHASES, Pod
from vcdebug.model.queue import ROOT_QUEUE
from vcdebug.snapshot.manifest import metadata_of, name_of, spec_of, status_of
from vcdebug.snapshot.quantity import nano_value
from vcdebug.snapshot.snapshot import Manifest, Snapshot

Amounts = dict[str, int]
"""By resource, in 10^-9 units: quantities are compared exactly, as Kubernetes does."""
_LIMITS: Final = ("capability", "deserved", "guarantee")


def find_refusal(before: Snapshot, after: Snapshot) -> str:
    """The rule that forbids the change and what breaks it; empty where none does.

    What the snapshot broke before is left out: the cluster accepted it, perhaps under an older webhook.
    """
    for rule in (_iter_container_faults, _iter_queue_faults):
        known = {fault.partition(":")[0] for fault in rule(before, after)}
        for fault in rule(after, before):
            if fault.partition(":")[0] not in known:
                return fault
    return next(_iter_quota_faults(before, after), "")


def _iter_container_faults(snapshot: Snapshot, other: Snapshot) -> Iterator[str]:
    """Requests above limits, and extended resources whose request is not their limit, in pods that differ."""
    for pod in map(Pod, _changed_objects("Pod", snapshot, other)):
        for container in pod.spec.get("containers") or ():
            stated = container.get("resources") or {}
            requests, limits = _amounts_of(stated.get("requests")), _amounts_of(stated.get("limits"))
            for resource in requests.keys() & limits.keys():
                above = requests[resource] > limits[resource]
                if above or (is_never_overcommitted(resource) and requests[resource] != limits[resource]):
                    sign = ">" if above else "differs from"
                    yield f"Pod {pod.key}, container {container.get('name', '')}, {resource}: request {sign} limit"


def is_never_overcommitted(resource: str) -> bool:
    """Whether the API server wants a request of the resource to equal its limit."""
    return "/" in resource or resource.startswith("hugepages-")


def _iter_queue_faults(snapshot: Snapshot, other: Snapshot) -> Iterator[str]:
    queues = {name_of(manifest): manifest for manifest in snapshot.objects_of("Queue")}
    for manifest in _changed_objects("Queue", snapshot, other):
        name = name_of(manifest)
        yield from _iter_amount_faults(manifest)
        if name != ROOT_QUEUE:
            yield from _iter_subtree_faults(queues, name)
            yield from _iter_ancestor_faults(queues, name)
            if parent := next(_iter_parents(queues, name), ""):
                yield from _iter_sum_faults(queues, parent)


def _iter_amount_faults(queue: Manifest) -> Iterator[str]:
    capability, deserved, guarantee = (_limits_of(queue, field) for field in _LIMITS)
    name = name_of(queue)
    if name == ROOT_QUEUE:
        # With the amounts in the text before the colon, so that an unchanged root queue is known and passes.
        yield f"Queue {name} {[capability, deserved, guarantee]}: its limits cannot be changed"
        return
    for resource in (key for key in guarantee if deserved.get(key, -1) < guarantee[key]):
        yield f"Queue {name}, deserved {resource}: below its guarantee"
    for resource in (key for key in deserved if deserved[key] > capability.get(key, deserved[key])):
        yield f"Queue {name}, deserved {resource}: above its capability"


def _iter_ancestor_faults(queues: Mapping[QueueName, Manifest], name: QueueName) -> Iterator[str]:
    for resource, amount in _limits_of(queues[name], "capability").items():
        stated = (
            (_limits_of(queues[above], "capability").get(resource, 0), above) for above in _iter_parents(queues, name)
        )
        upper, above = next((one for one in stated if one[0]), (amount, ""))
        if amount > upper:
            yield f"Queue {name}, capability {resource}: above that of queue {above}"


def _iter_subtree_faults(queues: Mapping[QueueName, Manifest], name: QueueName) -> Iterator[str]:
    """A queue's limits must hold those of the queues below it."""
    children = [child for child, one in queues.items() if (spec_of(one).get("parent") or ROOT_QUEUE) == name]
    if not children:
        return
    for resource, amount in _limits_of(queues[name], "capability").items():
        for child in children:
            if _largest_capability(queues, child, resource, (name,)) > amount:
                yield f"Queue {name}, capability {resource}: below that of queue {child}"
    yield from _iter_sum_faults(queues, name)


def _largest_capability(
    queues: Mapping[QueueName, Manifest], name: QueueName, resource: str, above: tuple[QueueName, ...]
) -> int:
    """The capability of a queue, else the largest of its descendants; `above` guards against a circle of parents."""
    own = _limits_of(queues[name], "capability").get(resource, 0)
    if own or name in above:
        return own
    below = [child for child, one in queues.items() if spec_of(one).get("parent") == name]
    return max((_largest_capability(queues, child, resource, (*above, name)) for child in below), default=0)


def _iter_sum_faults(queues: Mapping[QueueName, Manifest], name: QueueName) -> Iterator[str]:
    children = [one for one in queues.values() if spec_of(one).get("parent") == name]
    for field in ("guarantee", "deserved"):
        own, total = _limits_of(queues[name], field), _sum_amounts(_limits_of(child, field) for child in children)
        for resource in (key for key in total if total[key] > own.get(key, 0)):
            yield f"Queue {name}, {field} {resource}: below the sum of its child queues"


def _iter_parents(queues: Mapping[QueueName, Manifest], name: QueueName) -> Iterator[QueueName]:
    """The queues above one, the nearest first, without the root queue; a circle of parents ends the list."""
    seen = [name]
    while (above := spec_of(queues[seen[-1]]).get("parent") or ROOT_QUEUE) in queues:
        if above == ROOT_QUEUE or above in seen:
            return
        seen.append(above)
        yield above


def _iter_quota_faults(before: Snapshot, after: Snapshot) -> Iterator[str]:
    """Pods that are added or grow beyond what a quota of their namespace leaves."""
    more = _added_amounts(before, after)
    for manifest in after.objects_of("ResourceQuota"):
        spec, status, wanted = (
            spec_of(manifest),
            status_of(manifest),
            more.get(metadata_of(manifest).get("namespace", ""), {}),
        )
        # A quota with scopes counts some pods only, and which ones is not known of every pod.
        if spec.get("scopes") or spec.get("scopeSelector"):
            continue
        hard, used = _amounts_of(spec.get("hard") or status.get("hard")), _amounts_of(status.get("used"))
        for name in (key for key in hard if wanted.get(key, 0) > 0):
            if used.get(name, 0) + wanted[name] > hard[name]:
                yield f"ResourceQuota {name_of(manifest)}: {name} has no room for the pods"


def _added_amounts(before: Snapshot, after: Snapshot) -> dict[str, Amounts]:
    """By namespace, what quotas count more than before."""
    more: dict[str, Amounts] = {}
    for sign, snapshot, other in ((1, after, before), (-1, before, after)):
        for pod in map(Pod, _changed_objects("Pod", snapshot, other)):
            counted = more.setdefault(pod.namespace, {})
            for name, amount in () if pod.phase in ENDED_PHASES else pod_quota_amounts(pod).items():
                counted[name] = counted.get(name, 0) + sign * amount
    return more


def _changed_objects(kind: str, snapshot: Snapshot, other: Snapshot) -> Iterator[Manifest]:
    """Objects of a snapshot that are not the same in the other; edits share unchanged manifests."""
    shared = {id(manifest) for manifest in other.objects_of(kind)}
    return (manifest for manifest in snapshot.objects_of(kind) if id(manifest) not in shared)


def _limits_of(queue: Manifest, field: str) -> Amounts:
    stated = spec_of(queue).get(field) or {}
    return _amounts_of(stated.get("resource") if field == "guarantee" else stated)


def _amounts_of(stated: Mapping[str, object] | None) -> Amounts:
    return {name: nano_value(quantity) for name, quantity in (stated or {}).items()}


def _sum_amounts(lists: Iterable[Amounts]) -> Amounts:
    total: Amounts = {}
    for amounts in lists:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total
