"""What of a message can be compared: upstream fills some of its parts from maps, in any order.

Upstream: api/unschedule_info (WrapInsufficientResourceReason), api/resource_info (LessEqualWithResourcesName).
"""

from __future__ import annotations

import re
from typing import Final

from vcdebug.model.resource import CPU, MEMORY

EXAMPLE_MARK: Final = " Origin reason is "
INSUFFICIENT: Final = re.compile(r"(\d+) Insufficient (\S*\w)")
MESSAGE_PARTS: Final = re.compile(r"[,:;] |\.(?= |$)")


def certain_part(message: str) -> str:
    """A message without the pod that is its example: any of those that failed, by the order of a map."""
    return message.partition(EXAMPLE_MARK)[0]


def is_alike(one: str, other: str) -> bool:
    """Whether two messages say the same, but for which resource they name of a node that lacks several.

    Cpu and memory come first; of the others, whichever the map has first is named.
    """
    return one == other or (INSUFFICIENT.search(one) is not None and _count_parts(one) == _count_parts(other))


def _count_parts(message: str) -> tuple[list[str], int]:
    """The parts in order, and how many nodes lack anything but cpu and memory."""
    others, short = [], 0
    for part in MESSAGE_PARTS.split(message):
        found = INSUFFICIENT.fullmatch(part)
        if found is not None and found[2] not in (CPU, MEMORY):
            short += int(found[1])
        else:
            others.append(part)
    return others, short
