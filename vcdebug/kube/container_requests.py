"""One container's requests in thousandths, an in-place resize considered.

Upstream: k8s component-helpers resource (PodRequests, determineContainerReqs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from vcdebug.model.pod import is_resize_infeasible
from vcdebug.snapshot.json_values import JsonObject
from vcdebug.snapshot.quantity import milli_value, whole_value

Amounts = dict[str, int]
_LARGE_AMOUNT = 2**43


class ResizedContainers(NamedTuple):
    """What the kubelet reports of a pod's containers, by container name."""

    statuses: Mapping[str, JsonObject]
    infeasible: bool


def parse_thousandths(quantity: object) -> int:
    """A quantity in thousandths; very large ones count as whole numbers."""
    whole = whole_value(quantity)
    return whole * 1000 if abs(whole) >= _LARGE_AMOUNT else milli_value(quantity)


def list_amounts(resource_list: Mapping[str, object]) -> Amounts:
    """A resource list in thousandths."""
    return {name: parse_thousandths(quantity) for name, quantity in resource_list.items()}


def resized_containers(status: JsonObject) -> ResizedContainers | None:
    """Statuses of containers that report resources; None when no container does."""
    reported = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    statuses = {s.get("name", ""): s for s in reported if s.get("resources") is not None}
    return ResizedContainers(statuses, is_resize_infeasible(status)) if statuses else None


def container_amounts(container: JsonObject, resized: ResizedContainers | None, defaults: Mapping[str, int]) -> Amounts:
    """The container's requests; `defaults` fill in resources that it does not name."""
    amounts = list_amounts((container.get("resources") or {}).get("requests") or {})
    status = resized.statuses.get(container.get("name", "")) if resized else None
    if resized and status is not None:
        amounts = _largest_amounts({} if resized.infeasible else amounts, status)
    for name, default in defaults.items():
        amounts.setdefault(name, default)
    return amounts


def _largest_amounts(spec: Amounts, status: JsonObject) -> Amounts:
    largest = dict(spec)
    reported = (status.get("resources") or {}).get("requests") or {}
    for source in (reported, status.get("allocatedResources") or {}):
        for name, reported_amount in list_amounts(source).items():
            largest[name] = max(largest.get(name, reported_amount), reported_amount)
    return largest
