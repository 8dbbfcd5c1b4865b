"""Amounts that add up against a limit, judged dimension by dimension: what quota plugins answer from.

Upstream: api/resource_info (LessEqualWithDimensionAndResourcesName), plugins/proportion, plugins/capacity,
plugins/overcommit.
"""

from __future__ import annotations

from typing import NamedTuple

from vcdebug.model.resource import MIN_RESOURCE, PODS, Resource, judged_dimensions

ALLOCATED, INQUEUE, ELASTIC, RESERVED = "allocated", "inqueue", "elastic", "reserved"
REQUEST, MINIMUM = "request", "min resources"


class LimitCheck(NamedTuple):
    """A request beside what counts already, against a limit; a plugin answers with its verdict."""

    parts: tuple[tuple[str, Resource], ...]
    """What the total is made of, the request among them; what is elastic is taken off."""
    total: Resource
    limit: Resource
    request: Resource
    asked: Resource
    """What of the request is held against the limit."""

    @property
    def is_within_limit(self) -> bool:
        """Whether the limit holds the total."""
        return _limit_holds(self.limit, self.total, self.asked)

    @property
    def exceeded_dimensions(self) -> list[str]:
        """The dimensions in which it does not."""
        return self.total.less_equal_with_dimension_and_resources_name(self.limit, self.asked)[1]

    @property
    def judged_dimensions(self) -> list[str]:
        """The dimensions that count."""
        return judged_dimensions(self.asked)

    def is_empty_dimension(self, name: str) -> bool:
        """Whether there is nothing on either side."""
        return self.total.get(name) < MIN_RESOURCE and self.limit.get(name) < MIN_RESOURCE

    def excess_of(self, name: str) -> float:
        """By how much the total is more than the limit."""
        return self.total.get(name) - self.limit.get(name)

    @property
    def counted_already(self) -> Resource:
        """What counts already."""
        total = Resource()
        for name, amount in self.parts:
            if name == ELASTIC:
                total.sub_without_assert(amount)
            elif name not in (REQUEST, MINIMUM):
                total.add(amount)
        return total

    def figures_of(self, name: str) -> tuple[float, ...]:
        """Every part, the total and the limit in one dimension."""
        parts = (amount.get(name) for _, amount in self.parts)
        return (*parts, self.total.get(name), self.limit.get(name))


def _limit_holds(limit: Resource, total: Resource, asked: Resource) -> bool:
    """The verdict of less_equal_with_dimension_and_resources_name alone, without its list of names."""
    if asked.milli_cpu > 0 and total.milli_cpu > limit.milli_cpu:
        return False
    if asked.memory > 0 and total.memory > limit.memory:
        return False
    mine, other = total.scalars, limit.scalars or {}
    for name, amount in (asked.scalars or {}).items() if mine else ():
        if amount > 0 and name != PODS and mine is not None and mine.get(name, 0.0) > other.get(name, 0.0):
            return False
    return True


def check_request(
    allocated: Resource,
    request: Resource,
    limit: Resource,
    asked: Resource | None = None,
    reserved: Resource | None = None,
) -> LimitCheck:
    """What is allocated, what is kept for others where anything is, and the request."""
    total = allocated.clone()
    kept: tuple[tuple[str, Resource], ...] = ()
    if reserved is not None:
        total.add(reserved)
        kept = ((RESERVED, reserved),)
    total.add(request)
    parts = ((ALLOCATED, allocated), *kept, (REQUEST, request))
    return LimitCheck(parts, total, limit, request, request if asked is None else asked)


def request_fits(allocated: Resource, request: Resource, limit: Resource) -> bool:
    """The verdict of beside alone: only what is asked for is added up, and no amount is copied."""
    if request.milli_cpu > 0 and allocated.milli_cpu + request.milli_cpu > limit.milli_cpu:
        return False
    if request.memory > 0 and allocated.memory + request.memory > limit.memory:
        return False
    if not request.scalars:
        return True
    held, most = allocated.scalars or {}, limit.scalars or {}
    for name, amount in request.scalars.items():
        if amount > 0 and name != PODS and held.get(name, 0.0) + amount > most.get(name, 0.0):
            return False
    return True


def check_admission(
    minimum: Resource, allocated: Resource, inqueue: Resource, elastic: Resource, limit: Resource, asked: Resource
) -> LimitCheck:
    """A job's minimum beside what is not elastic; raises SchedulerPanic where more is elastic than counts."""
    total = minimum.clone().add(allocated).add(inqueue).sub(elastic)
    parts = ((MINIMUM, minimum), (ALLOCATED, allocated), (INQUEUE, inqueue), (ELASTIC, elastic))
    return LimitCheck(parts, total, limit, minimum, asked)
