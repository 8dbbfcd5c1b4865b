"""What a plugin is: a name, arguments, and methods named like rows of the hook table.

Upstream: framework/interface (Plugin), framework/event.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from vcdebug.framework.accounts import Accounts
from vcdebug.framework.arguments import Arguments
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.names import BoolArray, Codes, FloatArray, KeptScores
from vcdebug.model.node_table import zero_array
from vcdebug.model.task import TaskInfo
from vcdebug.releases.change import Change
from vcdebug.snapshot.problems import Problem
from vcdebug.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from vcdebug.framework.session import Session

PERMIT = 1
ABSTAIN = 0
REJECT = -1

VictimAnswer = tuple[list[TaskInfo], int]
"""A victim hook's answer: who may go, and the vote (0 abstains)."""


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


class Event:
    """What an event handler is told, and may answer with `err`."""

    __slots__ = ("err", "task")

    def __init__(self, task: TaskInfo) -> None:
        self.task = task
        self.err: str | None = None


class Plugin:
    """Base of all plugins. Other methods named like a row of framework/hooks.py are hooks.

    `allocate_func(event)` and `deallocate_func(event)`, where defined, are event handlers.
    """

    name: ClassVar[str]
    later_methods: ClassVar[Mapping[str, Change]] = {}
    """Hooks and event handlers that a release does not have while the older form of the change is in force."""
    later_arguments: ClassVar[Mapping[str, Change]] = {}
    """Arguments that it does not read then."""
    remembers_rows = False
    """Whether `predicate` remembers the rows it was asked about, so that a search must not look ahead."""
    judges_by_pod: ClassVar[bool] = False
    """Whether it judges and scores nodes by the pod and by what is on the nodes, and by nothing else that an edit of
    queues, PodGroups and waiting pods could change: framework/past.py takes such answers from an earlier cycle."""

    accounts: ClassVar[tuple[Accounts, ...]] = ()
    """What the plugin keeps about queues, jobs and itself; the framework reads it, the plugin never writes it down."""

    problems: tuple[Problem, ...] = ()
    """Inputs that the plugin needs and the snapshot lacks, known once the session is open."""

    def __init__(self, arguments: Arguments) -> None:
        self.arguments = arguments

    @staticmethod
    def ignored_resources(_arguments: Arguments, _snapshot: Snapshot, /) -> tuple[str, ...]:
        """Resources that the scheduler no longer reads, wherever amounts are stated, where the plugin is configured."""
        return ()

    def on_session_open(self, ssn: Session) -> None:
        """Build this session's state; `ssn.withdraw` leaves hooks out that upstream registers on a condition."""

    def standing_codes(self, task: TaskInfo) -> Codes | None:
        """What `predicate` answers about every node of the session, where it is known without looking at the nodes
        that a search visits: no notes, nothing remembered. None: it has to be asked. Do not write to it; what is read
        only stays as it is for the session.
        """
        return None

    def on_session_close(self, ssn: Session) -> None:
        """Write what upstream writes when the session closes."""
