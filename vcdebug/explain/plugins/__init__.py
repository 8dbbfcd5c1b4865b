"""The explainer of each plugin: how it computes an answer, and why it refuses; imported on first use."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypeGuard, TypeVar

from vcdebug.explain.answer import Advice, ConstraintFailure, Finding, Number
from vcdebug.explain.equation import Equation, QueueCheck
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.framework.hooks import PREDICATE, SIMULATE_ADD_TASK, SIMULATE_PREDICATE, SIMULATE_REMOVE_TASK
from vcdebug.framework.record import Event, HookEvent, PredicateEvent, ScoreEvent
from vcdebug.framework.registry import resolve_reference
from vcdebug.framework.session import DryRunState, Plugin, Session
from vcdebug.kube.node_view import CycleState
from vcdebug.model.job import JobInfo
from vcdebug.model.names import NodeName, QueueName, Row, Seq, TaskKey
from vcdebug.model.node import NodeInfo
from vcdebug.model.node_table import NodeRows
from vcdebug.model.pod import Pod
from vcdebug.model.queue import QueueInfo
from vcdebug.model.resource import Resource
from vcdebug.model.task import TaskInfo
from vcdebug.plugins import PLUGINS
from vcdebug.recording.recording import Recording
from vcdebug.recording.replay import session_at_event
from vcdebug.recording.timeline import ClusterState
from vcdebug.recording.visits import NodeTry

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
    """Whether a recording keeps the compared figures."""


class OrderMoment(NamedTuple):
    """The recording and the event `seq` after which two elements are compared."""

    recording: Recording
    seq: Seq
    state: ClusterState


Comparator = Callable[[OrderMoment, E_contra, E_contra], Iterator[OrderDifference]]


def smaller_first(what: str, left: Sortable, right: Sortable) -> OrderDifference:
    """The smaller figure, or the earlier text, goes first."""
    return OrderDifference(what, left, right, (left > right) - (left < right))


LookedAt = tuple[str, OrderFigure, OrderFigure]
"""What was compared: name, left value, right value."""


def iter_differences(answer: int, looked: Iterable[LookedAt]) -> Iterator[OrderDifference]:
    """What a plugin compares, in order: the first that differs carries the plugin's own answer."""
    sign = (answer > 0) - (answer < 0)
    for what, left, right in looked:
        yield OrderDifference(what, left, right, sign if left != right else 0)
        if left != right:
            return


ExplainCall = Callable[[Recording, Seq, HookEvent], Equation]
ExplainRejection = Callable[[JobView, Seq, HookEvent], Finding | None]


class VetoReason(NamedTuple):
    """Why a plugin protects candidates from being evicted for a task."""

    text: str
    """Half a sentence."""
    numbers: Mapping[str, Number] = {}
    advice: tuple[Advice, ...] = ()
    lines: tuple[str, ...] = ()


CompareVictimQueues = Callable[[OrderMoment, QueueInfo, QueueInfo, QueueInfo], Iterator[OrderDifference]]
NodeAnswers = Sequence[tuple[NodeTry, Sequence[TaskKey]]]
"""The searched nodes, each with the candidates that the plugin allows there."""
ExplainVeto = Callable[[JobView, TaskInfo, Sequence[TaskKey], Seq], VetoReason | None]


@dataclass(frozen=True, slots=True)
class QuotaExplainer:
    """A plugin's checks of queue limits, replayed with the figures before an event."""

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
    """Everything that is said about one plugin; a field left out means that the plugin explains nothing there."""

    equations: Mapping[str, ExplainCall] = field(default_factory=dict)
    """Hook by upstream's name → its arithmetic."""
    comparators: Mapping[str, Comparator[Any]] = field(default_factory=dict)  # Any: the hook decides what is compared
    """Order hook by method → what it compares."""
    victim_queues: CompareVictimQueues | None = None
    """VictimQueueOrder: what two victims' queues are compared by for a third that asks."""
    kept: ExplainVeto | None = None
    """Why it protects candidates; None: the notes of its equation are used."""
    keeps_advice: Advice | None = None
    """What helps against its vote."""
    victim_advice: Callable[[JobView, TaskInfo, NodeAnswers], tuple[Advice, ...]] | None = None
    """What would make it allow enough victims, if `kept` gives no advice."""
    rejected: ExplainRejection | None = None
    """Why it does not admit a PodGroup."""
    quota: QuotaExplainer | None = None
    scores: ExplainScore | None = None
    """How a node's score is computed, by calling the plugin again in the session at that event."""
    refusals: ExplainRefusals | None = None
    """What its predicate compares on one node, asked once more too."""
    failures: Callable[[NodeFits], Iterator[ConstraintFailure]] | None = None
    """What its opaque refusals of nodes mean in this snapshot."""
    simulated: ExplainRefusals | None = None
    """What its SimulatePredicate compares on the copy that a dry run changes."""


SIMULATION_POINTS: Final = tuple(
    hook.upstream for hook in (SIMULATE_PREDICATE, SIMULATE_ADD_TASK, SIMULATE_REMOVE_TASK)
)
AnyPlugin = TypeVar("AnyPlugin", bound=Plugin)


class AskedNode(NamedTuple):
    """One node among those that a task's question is about."""

    session: Session
    task: TaskInfo
    nodes: NodeRows
    """All that were asked about together."""
    row: Row
    """The node's row in the node table."""
    simulated: DryRunState | None = None
    """The dry run in which it is asked about."""
    away: tuple[TaskKey, ...] = ()
    """Tasks that a dry run has removed from the node."""

    @property
    def node(self) -> NodeInfo:
        """The node, or its copy in a dry run."""
        return self.session.node_table.nodes[self.row] if self.simulated is None else self.simulated.node

    @property
    def cycle_state(self) -> CycleState:
        """What PreFilter left for the task, or what a dry run made of it."""
        return self.session.cycle_state(self.task) if self.simulated is None else self.simulated.state

    @property
    def row_index(self) -> int:
        """The node's index among the nodes of the event."""
        places: list[Row] = self.nodes.rows.tolist()
        return places.index(self.row)

    @property
    def pod(self) -> Pod:
        """The task's pod."""
        return self.task.pod

    def plugin_of_kind(self, kind: type[AnyPlugin]) -> AnyPlugin:
        """The session's plugin that is asked."""
        found = self.session.plugins[kind.name]
        assert isinstance(found, kind)
        return found


def asked_node_at(recording: Recording, seq: Seq, node: NodeName) -> AskedNode | None:
    """A node in the scores, the pass or the one answer of predicates that an event is; None where the session cannot be
    had again.
    """
    event = recording.event_at(seq)
    row = recording.session.node_table.row_of.get(node)
    if row is None or not (isinstance(event, ScoreEvent | PredicateEvent) or is_filter(event)):
        return None
    session = session_at_event(recording, seq)
    return None if session is None else asked_node_in(session, event, row)


def is_simulation(event: Event) -> TypeGuard[HookEvent]:
    """Whether it is a plugin's answer about the copy of a node that a dry run changes."""
    return isinstance(event, HookEvent) and event.point in SIMULATION_POINTS


def is_filter(event: Event) -> TypeGuard[HookEvent]:
    """Whether it is a plugin's answer about one node, outside a search."""
    return isinstance(event, HookEvent) and event.point == PREDICATE.upstream


def asked_node_in(session: Session, event: ScoreEvent | PredicateEvent | HookEvent, row: Row) -> AskedNode | None:
    """The asked node in a given session; None if the session is not at that event."""
    task = session.seeking
    if task is None or task.key != event.task:
        return None
    alone = session.node_table.single_row(row)
    nodes = NodeRows(session.node_table, event.rows) if isinstance(event, ScoreEvent) else alone
    return AskedNode(session, task, nodes, row)


NO_EXPLAINER = PluginExplainer()


def explainer_for(plugin: str) -> PluginExplainer:
    """The explainer of a plugin, from the module of this room with its name; an empty one for an unknown plugin."""
    if plugin not in PLUGINS:
        return NO_EXPLAINER
    module = plugin.replace("-", "_")
    found: PluginExplainer = resolve_reference(f"vcdebug.explain.plugins.{module}:EXPLAINER")
    return found


def compared_by(comparison: str, explain: ExplainCall) -> ExplainCall:
    """The arithmetic of a hook with the comparison of resources that judges its lines, unless it states its own."""

    def explain_with_comparison(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
        found = explain(recording, seq, event)
        return found if found.compared else replace(found, compared=comparison)

    return explain_with_comparison
