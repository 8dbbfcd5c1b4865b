"""The values in which plugins are asked and answer.

Upstream: api (ValidateResult, EvictionContext).
"""

from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.job import JobInfo
from vcdebug.model.names import BoolArray, FloatArray, KeptScores
from vcdebug.model.node_table import zero_array
from vcdebug.model.task import TaskInfo

PERMIT = 1
ABSTAIN = 0
REJECT = -1

VictimAnswer = tuple[list[TaskInfo], int]
"""A victim hook's answer: the tasks that may be evicted, and the vote (0 abstains)."""


class ValidateResult(NamedTuple):
    """JobValid's answer."""

    passed: bool
    reason: str
    message: str


class PluginError(NamedTuple):
    """An error from PrePredicate; `statuses` where upstream returns a FitError."""

    text: str
    statuses: tuple[FitStatus, ...] = ()


class ScoreError(Exception):
    """A scoring function failed as a whole."""


class NodeScores(NamedTuple):
    """Scores aligned with the rows asked for.

    parts: trace keys below the plugin's own; failed: rows whose per-node function returned an error.
    """

    total: FloatArray
    parts: tuple[tuple[str, KeptScores], ...] = ()
    failed: BoolArray | None = None
    everywhere: bool = False
    """Whether the trace lists it for every node of the session, each with 0."""


@lru_cache(maxsize=256)
def zero_scores(size: int) -> NodeScores:
    """0.0 on each of so many nodes: the same object each time."""
    return NodeScores(zero_array(size))


class EvictionKind(IntEnum):
    """The action that asks UnifiedEvictable."""

    UNKNOWN = 0
    GANG_PREEMPT = 1
    GANG_RECLAIM = 2
    TASK_PREEMPT = 3
    TASK_RECLAIM = 4


class EvictionContext(NamedTuple):
    """The action, the job and the hypernode for which victims are searched."""

    kind: EvictionKind
    job: JobInfo
    hyper_node: str
