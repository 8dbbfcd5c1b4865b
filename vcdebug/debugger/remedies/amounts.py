"""Amounts of resources as edits write them: units, steps, and fields of resource lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vcdebug.debugger.remedies.lever import AmountRange, Unit, coarsest_step
from vcdebug.model.pod import Pod
from vcdebug.snapshot.quantity import milli_value, whole_value

_BYTES = ("memory", "ephemeral-storage", "storage")


def unit_of(resource: str) -> Unit:
    """How amounts of the resource are counted here."""
    name = resource.rpartition("requests.")[2].rpartition("limits.")[2]
    if name == "cpu":
        return "milli"
    return "bytes" if name in _BYTES or name.startswith("hugepages-") else "count"


def count_units(resource: str, quantity: object) -> int:
    """A Kubernetes quantity in these units."""
    return milli_value(quantity) if unit_of(resource) == "milli" else whole_value(quantity)


def field_step(resource: str) -> str:
    """The resource as a step of a path."""
    return f"[{resource}]" if "." in resource or "/" in resource else f".{resource}"


_LEAST: Mapping[Unit, tuple[int, ...]] = {"milli": (100, 10), "bytes": (256 << 20, 16 << 20), "count": (1,)}
"""The smallest requests that a pod is told to make do with, the usual one first: nobody is told to ask for nothing."""


def smaller_amount(resource: str, present: int) -> AmountRange | None:
    """From what is asked for down to very little; None where it is very little already."""
    unit = unit_of(resource)
    step = coarsest_step(unit, present)
    if step < present:
        return AmountRange(present, step, unit, step)
    least = next((one for one in _LEAST.get(unit, (1,)) if one < present), None)
    return None if least is None else AmountRange(present, least, unit, least)


def larger_amount(resource: str, present: int, request: int) -> AmountRange:
    """From what is granted up to far beyond it; `request` only sets how finely is searched."""
    unit = unit_of(resource)
    step = coarsest_step(unit, present, request)
    return AmountRange(present, present + max(1000 * step, 20 * request), unit, step)


def total_request(pods: Iterable[Pod], resource: str) -> int:
    """What containers of these pods ask for together."""
    return sum(one for pod in pods for one in container_requests(pod, resource))  # exact: ints


def container_requests(pod: Pod, resource: str) -> list[int]:
    """Each container's request; 0 where it names none."""
    found = []
    for container in pod.spec.get("containers") or ():
        stated = container.get("resources") or {}
        asked = (stated.get("requests") or {}).get(resource, (stated.get("limits") or {}).get(resource))
        found.append(0 if asked is None else count_units(resource, asked))
    return found


def resources_of(pods: Iterable[Pod]) -> list[str]:
    """Every resource that some container asks for, in order of appearance."""
    found: dict[str, None] = {}
    for pod in pods:
        for container in pod.spec.get("containers") or ():
            stated = container.get("resources") or {}
            found.update(dict.fromkeys((*(stated.get("requests") or ()), *(stated.get("limits") or ()))))
    return list(found)


def known_amounts(amounts: Mapping[str, object] | None) -> dict[str, int]:
    """A resource list in units."""
    return {name: count_units(name, quantity) for name, quantity in (amounts or {}).items()}
