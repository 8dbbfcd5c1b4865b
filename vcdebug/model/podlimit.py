"""What a pod is limited to: the twin of its request.

Upstream: api/pod_info (GetPodResourceLimit).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcdebug.model.pod import Pod
from vcdebug.model.podrequest import (
    StatedResources,
    amend_pod_level,
    is_pod_level_resource,
    largest_quantities,
    statuses_by_container,
)
from vcdebug.model.resource import Resource
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.snapshot import SchedulerFlags

Resized = Mapping[str, JsonObject]


def get_pod_resource_limit(pod: Pod, flags: SchedulerFlags) -> Resource:
    """Limits of all containers, init containers included; there is no limit of `pods`.
    Upstream: api/pod_info.GetPodResourceLimit.
    """
    in_place = flags.is_gate_on("InPlacePodVerticalScaling")
    limit = Resource()
    for container in pod.spec.get("containers") or ():
        limit.add(_container_limit(container, statuses_by_container(pod, "containerStatuses") if in_place else {}))
    init = pod.spec.get("initContainers") or ()
    highest, sidecars = _init_limits(init, statuses_by_container(pod, "initContainerStatuses") if in_place else {})
    limit.add(sidecars)
    limit.set_max_resource(highest)
    if flags.is_gate_on("PodLevelResources"):
        stated: StatedResources = (pod.spec.get("resources") or {}).get("limits") or {}
        amend_pod_level(limit, {name: amount for name, amount in stated.items() if is_pod_level_resource(name)})
    for name, amount in Resource.from_list(pod.spec.get("overhead")).items():
        _add_overhead(limit, name, amount)
    return limit


def _init_limits(containers: Iterable[JsonObject], resized: Resized) -> tuple[Resource, Resource]:
    """(maximum over the steps of initialisation, sum of the sidecars)."""
    highest, sidecars = Resource(), Resource()
    for container in containers:
        if container.get("restartPolicy") == "Always":
            sidecars.add(_container_limit(container, resized))
            highest.set_max_resource(sidecars)
        else:
            highest.set_max_resource(_container_limit(container, {}).add(sidecars))
    return highest, sidecars


def _container_limit(container: JsonObject, resized: Resized) -> Resource:
    stated: StatedResources = (container.get("resources") or {}).get("limits") or {}
    actual = resized.get(container.get("name", ""), {}).get("resources")
    if actual is None:
        return Resource.from_list(stated)
    return Resource.from_list(dict(largest_quantities([stated, actual.get("limits") or {}])))


def _add_overhead(limit: Resource, name: str, amount: float) -> None:
    """The pod's overhead counts only where there is a limit."""
    if limit.get(name) == 0:
        return
    if name == "cpu":
        limit.milli_cpu += amount
    elif name == "memory":
        limit.memory += amount
    else:
        limit.add_scalar(name, amount)
