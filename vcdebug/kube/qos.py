"""A pod's quality-of-service class.

Upstream: k8s apis/core/v1/helper/qos.
"""

from __future__ import annotations

from collections.abc import Mapping

from vcdebug.model.pod import Pod
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.quantity import nano_value
from vcdebug.snapshot.snapshot import SchedulerFlags

GUARANTEED = "Guaranteed"
BURSTABLE = "Burstable"
BEST_EFFORT = "BestEffort"
COMPUTE_RESOURCES = ("cpu", "memory")


def pod_qos(pod: Pod, flags: SchedulerFlags) -> str:
    """The class that the status states, else what requests and limits of cpu and memory make of it."""
    stated: str = pod.status.get("qosClass") or ""
    if stated:
        return stated
    whole = pod.spec.get("resources")
    if flags.is_gate_on("PodLevelResources") and whole is not None:
        limits = whole.get("limits") or {}
        complete = not limits or len(_positive_amounts(limits)) == len(COMPUTE_RESOURCES)
        return _qos_class(_positive_amounts(whole.get("requests") or {}), _positive_amounts(limits), complete=complete)
    requests: dict[str, int] = {}
    limits = {}
    complete = True
    for container in (*(pod.spec.get("containers") or ()), *(pod.spec.get("initContainers") or ())):
        resources = container.get("resources") or {}
        own = _positive_amounts(resources.get("limits") or {})
        _sum_amounts(requests, _positive_amounts(resources.get("requests") or {}))
        _sum_amounts(limits, own)
        complete = complete and len(own) == len(COMPUTE_RESOURCES)
    return _qos_class(requests, limits, complete=complete)


def _qos_class(requests: Mapping[str, int], limits: Mapping[str, int], *, complete: bool) -> str:
    if not requests and not limits:
        return BEST_EFFORT
    return GUARANTEED if complete and requests == limits else BURSTABLE


def _positive_amounts(resources: JsonObject) -> dict[str, int]:
    amounts = {name: nano_value(resources[name]) for name in COMPUTE_RESOURCES if name in resources}
    return {name: amount for name, amount in amounts.items() if amount > 0}


def _sum_amounts(total: dict[str, int], amounts: Mapping[str, int]) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + amount
