"""The order of elements that no plugin distinguishes.

Upstream: framework/session_plugins (JobOrderFn, QueueOrderFn, TaskOrderFn, SubJobOrderFn).
"""

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct

from vcdebug.gomath import DECIMAL_INTEGER
from vcdebug.model.task import TaskInfo


class TieField(Struct, frozen=True):
    """A field that breaks ties: the element with the smaller value goes first."""

    description: str
    field: str


OLDER_FIRST: Final = TieField("created", "creation_timestamp")
QUEUE_TIES: Final = (OLDER_FIRST, TieField("name", "uid"))
JOB_TIES: Final = (OLDER_FIRST, TieField("uid", "uid"))
SUB_JOB_TIES: Final = (TieField("match index", "match_index"), TieField("uid", "uid"))
TASK_TIES: Final = (TieField("created", "pod.creation_timestamp"), TieField("uid", "uid"))
"""Tie-breaks of tasks, which apply after the indexes in the pods' names."""


def tie_key(ties: tuple[TieField, ...]) -> Callable[[Any], tuple[str | int, ...]]:  # Any: what the ties are of
    """A function that returns all tie-break fields of an element, for one comparison."""
    return attrgetter(*(tie.field for tie in ties))


def pod_indexes(left: TaskInfo, right: TaskInfo) -> tuple[int, int] | None:
    """The indexes in the two pods' names; None unless both names have one."""
    left_index, right_index = pod_index(left.name), pod_index(right.name)
    return None if left_index is None or right_index is None else (left_index, right_index)


@lru_cache(maxsize=4096)
def pod_index(name: str) -> int | None:
    """The integer after the last `-` of a pod name with at least three parts, else None."""
    # int() alone would also accept spaces, underscores and digits of other scripts, which Go's Atoi rejects.
    parts = name.split("-")
    if len(parts) < 3 or not DECIMAL_INTEGER.fullmatch(parts[-1]):
        return None
    return int(parts[-1])
