"""What an amount has beyond another one.

Upstream: api/resource_info.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vcdebug.model.resource import Resource

_EMPTY_SCALARS: Final[Mapping[str, float]] = {}


def exceeded_part(left: Resource | None, right: Resource | None) -> Resource:
    """What `left` has beyond `right`; scalars that do not exceed disappear from the result.
    Upstream: api/resource_info.ExceededPart.
    """
    if left is None:
        return Resource()
    if right is None:
        return left
    result = Resource(max(left.milli_cpu - right.milli_cpu, 0.0), max(left.memory - right.memory, 0.0), {})
    mine, other = left.scalars or _EMPTY_SCALARS, right.scalars or _EMPTY_SCALARS
    for name in sorted({**mine, **other}):
        amount, least = mine.get(name, 0.0), other.get(name, 0.0)
        if amount == -1:
            result.set_scalar(name, -1)
        elif amount > least != -1:
            result.set_scalar(name, amount - least)
    return result
