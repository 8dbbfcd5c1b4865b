"""What can be said about one plugin, in the words of its file in explain/plugins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from vcdebug.explain.answer import Advice, Finding, Number
from vcdebug.explain.equation import Equation
from vcdebug.explain.job_view import JobView
from vcdebug.explain.limits import QueueCheck
from vcdebug.framework.record import HookEvent
from vcdebug.model.job import JobInfo
from vcdebug.model.names import QueueName, Seq, TaskKey
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.trace.recording import Recording
from vcdebug.trace.timeline import ClusterState

if TYPE_CHECKING:
    from vcdebug.explain.asked import AskedNode

OrderFigure = float | int | str | bool | None
Sortable = TypeVar("Sortable", float, str)
E_contra = TypeVar("E_contra", contravariant=True)


class OrderDifference(NamedTuple):
    """One thing that two elements are compared by; -1 puts the left one first, 0 asks the next thing."""

    what: str
    left: OrderFigure
    right: OrderFigure
    sign: int
    known: bool = True
    """Whether a recording keeps what is compared."""


class OrderMoment(NamedTuple):
    """A moment at which is compared: the state after event `seq`."""

    recording: Recording
    seq: Seq
    state: ClusterState


Comparator = Callable[[OrderMoment, E_contra, E_contra], Iterator[OrderDifference]]


def smaller_first(what: str, left: Sortable, right: Sortable) -> OrderDifference:
    """The smaller figure, or the earlier text, goes first."""
    return OrderDifference(what, left, right, (left > right) - (left < right))


LookedAt = tuple[str, OrderFigure, OrderFigure]
"""What was looked at, of the left one, of the right one."""


def iter_differences(answer: int, looked: Iterable[LookedAt]) -> Iterator[OrderDifference]:
    """What a plugin looks at one after the other: the first that differs carries the plugin's own answer."""
    sign = (answer > 0) - (answer < 0)
    for what, left, right in looked:
        yield OrderDifference(what, left, right, sign if left != right else 0)
        if left != right:
            return


ExplainCall = Callable[[Recording, Seq, HookEvent], Equation]
ExplainRejection = Callable[[JobView, Seq, HookEvent], Finding | None]


class VetoReason(NamedTuple):
    """Why a plugin keeps candidates from a task."""

    text: str
    """Half a sentence."""
    numbers: Mapping[str, Number] = {}
    advice: tuple[Advice, ...] = ()
    lines: tuple[str, ...] = ()


CompareVictimQueues = Callable[[OrderMoment, QueueInfo, QueueInfo, QueueInfo], Iterator[OrderDifference]]
ExplainVeto = Callable[[JobView, TaskInfo, Sequence[TaskKey], Seq], VetoReason | None]


@dataclass(frozen=True, slots=True)
class QuotaExplainer:
    """What a plugin says about the limits of queues, asked again with the figures of a moment."""

    admission: Callable[[Recording, Seq, JobInfo], list[QueueCheck]]
    """JobEnqueueable, for the queue and its ancestors."""
    room: Callable[[Recording, Seq, QueueName, Resource], list[QueueCheck]]
    """Allocatable."""
    claim: Callable[[Recording, Seq, QueueName, Resource], QueueCheck]
    """Preemptive: against what the queue deserves."""
    reclaims_within_limit: Callable[[Recording], bool]
    """Whether Preemptive asks Allocatable's question as well: the release decides."""
    surplus: Callable[[Resource, Resource, str], float]
    """(deserved, allocated, dimension) → what is held beyond what is deserved."""
    larger: Callable[[JobView], tuple[Advice, ...]]
    """What would make a queue deserve more."""
    smaller: Callable[[JobView, Sequence[QueueName]], Advice]
    """What would put the victims' queues above their share."""
    derivation: Callable[[Recording, QueueName, str], Iterable[str]] = lambda *_: ()
    """How what a queue deserves came about in one dimension."""


ExplainScore = Callable[["AskedNode", str], Equation | None]
"""Of one node's score in one part, by the part's name: the equation comes to the score; None where there is no more to
say than the score itself."""
ExplainRefusals = Callable[["AskedNode"], Iterator[Equation]]
"""Each check of a node in the order in which they are asked, up to the one that ends it."""


@dataclass(frozen=True, slots=True)
class PluginExplainer:
    """Everything that is said about one plugin."""

    equations: Mapping[str, ExplainCall] = field(default_factory=dict)
    """Hook by upstream's name → its arithmetic."""
    compared: Mapping[str, str] = field(default_factory=dict)
    """Hook by upstream's name → the comparison of resources that judges its lines, unless its arithmetic says it."""
    comparators: Mapping[str, Comparator[Any]] = field(default_factory=dict)  # Any: the hook decides what is compared
    """Order hook by method → what it compares."""
    victim_queues: CompareVictimQueues | None = None
    """VictimQueueOrder: what two victims' queues are compared by for a third that asks."""
    kept: ExplainVeto | None = None
    """Why it keeps candidates; where nothing is said, the notes of its arithmetic stand for it."""
    keeps_advice: Advice | None = None
    """What helps against its vote."""
    rejected: ExplainRejection | None = None
    """Why it does not admit a PodGroup."""
    quota: QuotaExplainer | None = None
    scores: ExplainScore | None = None
    """What a node's score is made of, asked of the plugin once more in the session of that moment."""
    refusals: ExplainRefusals | None = None
    """What its predicate compares on one node, asked once more too."""
    simulated: ExplainRefusals | None = None
    """What its SimulatePredicate compares on the copy that a dry run changes."""
