"""The order of elements that no plugin tells apart.

Upstream: framework/session_plugins (JobOrderFn, QueueOrderFn, TaskOrderFn, SubJobOrderFn).
"""

import re
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, NamedTuple

from vcdebug.model.task import TaskInfo

_ATOI: Final = re.compile(r"[+-]?[0-9]+")


class TieField(NamedTuple):
    """One field of two elements that are equal so far: the smaller goes first."""

    words: str
    field: str


OLDER_FIRST: Final = TieField("created", "creation_timestamp")
QUEUE_TIES: Final = (OLDER_FIRST, TieField("name", "uid"))
JOB_TIES: Final = (OLDER_FIRST, TieField("uid", "uid"))
SUB_JOB_TIES: Final = (TieField("match index", "match_index"), TieField("uid", "uid"))
TASK_TIES: Final = (TieField("created", "pod.creation_timestamp"), TieField("uid", "uid"))
"""These decide where the indexes in the pods' names do not."""


def tie_key(ties: tuple[TieField, ...]) -> Callable[[Any], tuple[str | int, ...]]:  # Any: what the ties are of
    """All fields of an element, to be compared at once."""
    return attrgetter(*(tie.field for tie in ties))


def pod_indexes(left: TaskInfo, right: TaskInfo) -> tuple[int, int] | None:
    """The indexes in two pods' names; None unless both have one."""
    left_index, right_index = pod_index(left.name), pod_index(right.name)
    return None if left_index is None or right_index is None else (left_index, right_index)


@lru_cache(maxsize=4096)
def pod_index(name: str) -> int | None:
    """The integer after the last `-` of a pod name of at least three parts."""
    # int() alone would also take spaces, underscores and digits of other scripts, which Go's Atoi refuses.
    parts = name.split("-")
    if len(parts) < 3 or not _ATOI.fullmatch(parts[-1]):
        return None
    return int(parts[-1])
