"""The types of questions to plugins and of their answers. Upstream: api (ValidateResult, EvictionContext)."""

from enum import IntEnum
from functools import lru_cache

from msgspec import Struct

from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.job import JobInfo
from vcdebug.model.names import BoolArray, FloatArray, KeptScores
from vcdebug.model.node_table import zero_array
from vcdebug.model.task import TaskInfo

PERMIT = 1
ABSTAIN = 0
REJECT = -1

VictimAnswer = tuple[list[TaskInfo], int]
"""Answer of a victim hook: the tasks that may be evicted, and the vote (0 abstains)."""


class ValidateResult(Struct, frozen=True):
    """The answer of JobValid."""

    passed: bool
    reason: str
    message: str


class PluginError(Struct, frozen=True):
    """An error from PrePredicate; `statuses` is set if upstream returns a FitError."""

    text: str
    statuses: tuple[FitStatus, ...] = ()


class ScoreError(Exception):
    """Raised when a scoring function fails as a whole."""


class NodeScores(Struct, frozen=True):
    """Scores per requested row. parts: by trace key below the plugin's; failed: rows whose function failed."""

    total: FloatArray
    parts: tuple[tuple[str, KeptScores], ...] = ()
    failed_mask: BoolArray | None = None
    zero_everywhere: bool = False
    """Whether the trace lists the plugin with 0 for every node of the session."""


@lru_cache(maxsize=256)
def zero_scores(size: int) -> NodeScores:
    """Scores of 0.0 on `size` nodes; repeated calls return the same object."""
    return NodeScores(zero_array(size))


class EvictionKind(IntEnum):
    """The kind of action that asks UnifiedEvictable."""

    UNKNOWN = 0
    GANG_PREEMPT = 1
    GANG_RECLAIM = 2
    TASK_PREEMPT = 3
    TASK_RECLAIM = 4


class EvictionContext(Struct, frozen=True):
    """The action, job and hypernode for which victims are sought."""

    kind: EvictionKind
    job: JobInfo
    hyper_node: str
