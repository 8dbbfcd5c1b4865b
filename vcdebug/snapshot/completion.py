"""Fill in hand-written manifests the defaults that the API server and Volcano's webhooks set.

Upstream: webhooks, and the API server's defaulting.
"""

import re
from collections.abc import Iterable, Mapping

from vcdebug.releases.queues import CAPACITY_TREE_ABSENT
from vcdebug.snapshot.gathered_objects import GatheredObjects
from vcdebug.snapshot.kinds import KIND_BY_NAME
from vcdebug.snapshot.manifest import (
    BIND_COMPLETED,
    HIERARCHY_KEY,
    HIERARCHY_WEIGHTS_KEY,
    QUEUE_ANNOTATION,
    annotations_of,
    name_of,
    spec_of,
    status_of,
)
from vcdebug.snapshot.snapshot import Manifest, SchedulerFlags

DEFAULT_NAMESPACE = "default"
ROOT_QUEUE = "root"
ADDED_FILE = "(completed)"
"""The file name of objects that completion adds."""
_TREE = re.compile(
    r"""\bname["']?:\s*["']?capacity\b(?:(?!\bname["']?:).)*?\benableHierarchy["']?:\s*["']?true""",
    re.DOTALL | re.IGNORECASE,
)
"""Matches enableHierarchy of plugin capacity, which makes queues a tree; drf's switch of this name needs no queue."""


def complete_objects(objects: dict[str, list[Manifest]], files: dict[str, list[str]], flags: SchedulerFlags) -> None:
    """Fill in the defaults in place; `objects` must be our own copy."""
    # Loaded objects share equal parts: a shared list or mapping may only get defaults that follow from itself.
    _complete_namespaces(objects)
    _complete_queues(objects, files, flags)
    annotations = {name_of(m): annotations_of(m) for m in objects.get("Namespace", ())}
    for pod_group in objects.get("PodGroup", ()):
        _complete_pod_group(pod_group, annotations)
    priorities = _PriorityAdmission(objects.get("PriorityClass", []))
    for pod in objects.get("Pod", ()):
        _complete_pod(pod, priorities)
    for claim in objects.get("PersistentVolumeClaim", ()):
        if spec_of(claim).get("volumeName") and status_of(claim).get("phase") == "Bound":
            # As the controller that binds the claim does; the scheduler takes a claim without it as unbound.
            claim["metadata"]["annotations"] = {BIND_COMPLETED: "yes", **annotations_of(claim)}
    for node in objects.get("Node", ()):
        status = _get_part(node, "status")
        if status.get("capacity") and status.get("allocatable") is None:
            status["allocatable"] = dict(status["capacity"])


class _PriorityAdmission:
    """The API server's priority admission plugin."""

    def __init__(self, classes: list[Manifest]) -> None:
        self._classes = {name_of(manifest): manifest for manifest in classes}
        self._default = next((m for m in classes if m.get("globalDefault")), None)

    def fill_priority(self, spec: Manifest) -> None:
        name = spec.get("priorityClassName")
        chosen = self._classes.get(name) if name else self._default
        if name and chosen is None:
            # The API server rejects such a pod, so that no priority would be right; object_checks adds a Problem.
            return
        if spec.get("priority") is None:
            spec["priority"] = (chosen or {}).get("value") or 0
        if chosen is not None:
            spec["priorityClassName"] = name_of(chosen)
            spec.setdefault("preemptionPolicy", chosen.get("preemptionPolicy") or "PreemptLowerPriority")


def _complete_namespaces(objects: dict[str, list[Manifest]]) -> None:
    for kind, manifests in objects.items():
        if KIND_BY_NAME[kind].namespaced:
            for manifest in manifests:
                if not manifest["metadata"].get("namespace"):
                    manifest["metadata"]["namespace"] = DEFAULT_NAMESPACE


def _complete_queues(objects: dict[str, list[Manifest]], files: dict[str, list[str]], flags: SchedulerFlags) -> None:
    """Fill in the defaults of queues, and add the two queues that the scheduler creates at its start."""
    for queue in objects.get("Queue", ()):
        _complete_queue(queue)
    for queue in missing_queues(objects.get("Queue", ()), flags):
        _add_queue(objects, files, queue)


def missing_queues(queues: Iterable[Manifest], flags: SchedulerFlags) -> list[Manifest]:
    """The scheduler's own two queues, without those in `queues`. Upstream: cache.newDefaultAndRootQueue."""
    present = [name_of(queue) for queue in queues]
    # The root queue belongs to the tree of queues: releases without trees do not create it.
    present += [ROOT_QUEUE] if flags.release.has_older_form(CAPACITY_TREE_ABSENT) else []
    created = (_new_queue(name, reclaimable=name != ROOT_QUEUE) for name in (ROOT_QUEUE, flags.default_queue))
    return [queue for queue in created if name_of(queue) not in present]


def complete_needed_queues(gathered: GatheredObjects, conf: str | None, flags: SchedulerFlags) -> None:
    """Add missing queues of the scheduler itself that a PodGroup or the tree of queues needs, each with a Problem."""
    queues = gathered.objects.get("Queue", [])
    parents = {(queue.get("spec") or {}).get("parent") for queue in queues}
    needed = {
        (group.get("spec") or {}).get("queue") or flags.default_queue for group in gathered.objects.get("PodGroup", ())
    }
    if ROOT_QUEUE in parents or _TREE.search(conf or ""):
        needed.add(ROOT_QUEUE)
    # Only needed queues are added: a recorded cluster had only the queues that it lists.
    for queue in missing_queues(queues, flags) if queues else ():
        if name_of(queue) in needed:
            _add_queue(gathered.objects, gathered.files, queue)
            fault = "is not in the snapshot, and the scheduler creates it at its start"
            gathered.report.add_problem(fault, "added as the scheduler creates it", object=f"Queue {name_of(queue)}")


def _add_queue(objects: dict[str, list[Manifest]], files: dict[str, list[str]], queue: Manifest) -> None:
    objects.setdefault("Queue", []).append(queue)
    files.setdefault("Queue", []).append(ADDED_FILE)


def _complete_queue(queue: Manifest) -> None:
    spec = _get_part(queue, "spec")
    spec["weight"] = spec.get("weight") or 1
    _set_default(spec, "reclaimable", True)
    _set_default(spec, "dequeueStrategy", "traverse")
    status = _get_part(queue, "status")
    status["state"] = status.get("state") or "Open"
    annotations = annotations_of(queue)
    hierarchy, weights = annotations.get(HIERARCHY_KEY), annotations.get(HIERARCHY_WEIGHTS_KEY)
    if hierarchy and weights and not hierarchy.startswith(ROOT_QUEUE):
        below = {HIERARCHY_KEY: f"{ROOT_QUEUE}/{hierarchy}", HIERARCHY_WEIGHTS_KEY: f"1/{weights}"}
        queue["metadata"]["annotations"] = {**annotations, **below}


def _new_queue(name: str, *, reclaimable: bool) -> Manifest:
    return {
        "apiVersion": KIND_BY_NAME["Queue"].api_version,
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1, "reclaimable": reclaimable, "dequeueStrategy": "traverse"},
        "status": {"state": "Open"},
    }


def _complete_pod_group(pod_group: Manifest, namespaces: Mapping[str, Mapping[str, str]]) -> None:
    spec = _get_part(pod_group, "spec")
    spec["queue"] = spec.get("queue") or DEFAULT_NAMESPACE
    if spec["queue"] == "default":
        queue = namespaces.get(pod_group["metadata"]["namespace"], {}).get(QUEUE_ANNOTATION)
        # The namespace's annotation replaces only the default queue, as in Volcano's webhook.
        spec["queue"] = queue or spec["queue"]
    status = _get_part(pod_group, "status")
    status["phase"] = status.get("phase") or "Pending"
    _complete_topology(spec)
    for policy in spec.get("subGroupPolicy") or ():
        _complete_topology(policy)
        _set_default(policy, "subGroupSize", 1)
        _set_default(policy, "minSubGroups", 0)


def _complete_topology(part: Manifest) -> None:
    topology = part.get("networkTopology")
    if topology is not None:
        topology["mode"] = topology.get("mode") or "hard"


def _complete_pod(pod: Manifest, priorities: _PriorityAdmission) -> None:
    metadata, spec, status = pod["metadata"], _get_part(pod, "spec"), _get_part(pod, "status")
    metadata["uid"] = metadata.get("uid") or f"{metadata['namespace']}-{metadata['name']}"
    # A new mapping: pods of one template share their status.
    pod["status"] = {**status, "phase": status.get("phase") or "Pending"}
    spec["schedulerName"] = spec.get("schedulerName") or "default-scheduler"
    priorities.fill_priority(spec)
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        _complete_requests(container.get("resources") or {})
    _complete_requests(spec.get("resources") or {})


def _complete_requests(resources: Manifest) -> None:
    """Set the request to the limit for resources that state only a limit."""
    limits = resources.get("limits")
    if limits:
        resources["requests"] = {**limits, **(resources.get("requests") or {})}


def _get_part(manifest: Manifest, key: str) -> Manifest:
    part: Manifest = manifest.setdefault(key, {})
    return part


def _set_default(part: Manifest, key: str, value: object) -> None:
    if part.get(key) is None:
        part[key] = value
