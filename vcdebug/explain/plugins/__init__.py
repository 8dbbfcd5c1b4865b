"""The explainers of plugins, which derive answers and reasons of refusals; imported on first use."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pkgutil import iter_modules
from typing import Any, Final, NamedTuple, TypeGuard, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from vcdebug.explain.answer import Advice, Finding, Number
from vcdebug.explain.equation import Equation, QueueCheck
from vcdebug.explain.job_view import JobView
from vcdebug.explain.node_fit import NodeFits
from vcdebug.explain.predicate_reasons import ConstraintFailure
from vcdebug.framework.hooks import PREDICATE, SIMULATE_ADD_TASK, SIMULATE_PREDICATE, SIMULATE_REMOVE_TASK
from vcdebug.framework.record import Event, HookEvent, PredicateEvent, ScoreEvent
from vcdebug.framework.registry import resolve_reference
from vcdebug.framework.session import DryRunState, Session
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
    """One thing that two elements are compared by; -1 puts the left one first, 0: equal, so the next one decides."""

    label: str
    left: OrderFigure
    right: OrderFigure
    sign: int
    is_recorded: bool = True
    """Whether a recording keeps the compared figures."""
    remark: str = ""
    """A sentence about what being first by it does not mean; may be empty."""


class OrderMoment(Struct, frozen=True):
    """The recording and the event `seq` after which two elements are compared."""

    recording: Recording
    seq: Seq
    state: ClusterState


Comparator = Callable[[OrderMoment, E_contra, E_contra], Iterator[OrderDifference]]


def smaller_first(label: str, left: Sortable, right: Sortable) -> OrderDifference:
    """The difference of two figures or texts; the smaller one comes first."""
    return OrderDifference(label, left, right, (left > right) - (left < right))


ComparedValue = tuple[str, OrderFigure, OrderFigure]
"""One comparison: (name, left value, right value)."""


QUEUE_PRIORITY: Final = "queue priority"
"""Label of the comparison of two queues by their priorities."""


def iter_differences(answer: int, comparisons: Iterable[ComparedValue]) -> Iterator[OrderDifference]:
    """Yields what a plugin compares, up to the first difference, which carries the sign of the plugin's answer."""
    sign = (answer > 0) - (answer < 0)
    for label, left, right in comparisons:
        yield OrderDifference(label, left, right, sign if left != right else 0)
        if left != right:
            return


ExplainCall = Callable[[Recording, Seq, HookEvent], Equation]
ExplainRejection = Callable[[JobView, Seq, HookEvent], Finding | None]


class VetoReason(NamedTuple):
    """Why a plugin protects candidates from being evicted for a task."""

    text: str
    """The reason as a clause without a full stop."""
    numbers: Mapping[str, Number] = {}
    advice: tuple[Advice, ...] = ()
    lines: tuple[str, ...] = ()


CompareVictimQueues = Callable[[OrderMoment, QueueInfo, QueueInfo, QueueInfo], Iterator[OrderDifference]]
NodeAnswers = Sequence[tuple[NodeTry, Sequence[TaskKey]]]
"""The searched nodes, each with the candidates that the plugin allows there."""
ExplainVeto = Callable[[JobView, TaskInfo, Sequence[TaskKey], Seq], VetoReason | None]


class QuotaExplainer(Struct, frozen=True):
    """A plugin's checks of queue limits, replayed with the figures before an event."""

    admission: Callable[[Recording, Seq, JobInfo], list[QueueCheck]]
    """JobEnqueueable's checks, for the queue and its ancestors."""
    room: Callable[[Recording, Seq, QueueName, Resource], list[QueueCheck]]
    """Allocatable's checks, for the queue and its ancestors."""
    claim: Callable[[Recording, Seq, QueueName, Resource], QueueCheck]
    """Preemptive's check against the queue's deserved amount."""
    reclaims_within_limit: Callable[[Recording], bool]
    """Whether Preemptive also checks the queue's limit as Allocatable does, which depends on the release."""
    surplus_of: Callable[[Resource, Resource, str], float]
    """(deserved, allocated, dimension) → the amount allocated beyond deserved."""
    larger: Callable[[JobView], tuple[Advice, ...]]
    """Advice that raises the queue's deserved amount."""
    derive_deserved: Callable[[Recording, QueueName, str], tuple[str, ...]] = lambda *_: ()
    """Lines that derive a queue's deserved amount in one dimension."""


ExplainScore = Callable[["AskedNode", str], Equation | None]
"""Explains the named part of a node's score by an equation that results in the score; None if there is no more to
say than the score itself."""
ExplainRefusals = Callable[["AskedNode"], Iterator[Equation]]
"""Yields each check of a node in call order, up to the first that refuses it."""


class PluginExplainer(Struct, frozen=True):
    """The functions that explain one plugin; an omitted field means that the plugin has no such explanation."""

    equations: Mapping[str, ExplainCall] = field(default_factory=dict)
    """Upstream's hook name → the function that builds the equation of a call."""
    comparators: Mapping[str, Comparator[Any]] = field(default_factory=dict)  # Any: the hook decides what is compared
    """Method of an order hook → the comparisons that it makes."""
    victim_queues: CompareVictimQueues | None = None
    """VictimQueueOrder's comparisons of two victims' queues, for a third queue that reclaims."""
    explain_veto: ExplainVeto | None = None
    """Why the plugin protects candidates; None to use the notes of its equation."""
    veto_advice: Advice | None = None
    """Advice that makes the plugin allow victims."""
    victim_advice: Callable[[JobView, TaskInfo, NodeAnswers], tuple[Advice, ...]] | None = None
    """Advice that makes the plugin allow enough victims, if `explain_veto` gives none."""
    rejected: ExplainRejection | None = None
    """The finding about the plugin's rejection of a PodGroup."""
    quota: QuotaExplainer | None = None
    scores: ExplainScore | None = None
    """The equation of a node's score, computed by calling the plugin in the session at that event."""
    refusals: ExplainRefusals | None = None
    """The checks of the plugin's predicate on one node, computed by calling it in the session at that event."""
    failures: Callable[[NodeFits], Iterator[ConstraintFailure]] | None = None
    """What the plugin's refusals of nodes mean in this snapshot."""
    simulated: ExplainRefusals | None = None
    """The checks of the plugin's SimulatePredicate on a dry run's copy of the node."""


SIMULATION_POINTS: Final = tuple(one.upstream for one in (SIMULATE_PREDICATE, SIMULATE_ADD_TASK, SIMULATE_REMOVE_TASK))


class AskedNode(Struct, frozen=True):
    """One node for which a plugin is called again, with the task and all nodes of that call."""

    session: Session
    task: TaskInfo
    nodes: NodeRows
    """All nodes of that call."""
    row: Row
    """The node's row in the node table."""
    simulated: DryRunState | None = None
    """The dry run in which a plugin answers about the node; None outside dry runs."""
    removed_tasks: tuple[TaskKey, ...] = ()
    """Tasks that a dry run has removed from the node."""

    @property
    def node(self) -> NodeInfo:
        """The node, or its copy in a dry run."""
        return self.session.node_table.nodes[self.row] if self.simulated is None else self.simulated.node

    @property
    def cycle_state(self) -> CycleState:
        """The task's CycleState after PreFilter, or the dry run's copy of it."""
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


def asked_node_at(recording: Recording, seq: Seq, node: NodeName) -> AskedNode | None:
    """The node at a score, predicate or filter event; None if the session cannot be rebuilt there."""
    event = recording.event_at(seq)
    row = recording.session.node_table.row_of.get(node)
    if row is None or not (isinstance(event, ScoreEvent | PredicateEvent) or is_filter(event)):
        return None
    session = session_at_event(recording, seq)
    return None if session is None else asked_node_in(session, event, row)


def is_simulation(event: Event) -> TypeGuard[HookEvent]:
    """Whether an event is a plugin's answer about a dry run's copy of a node."""
    return isinstance(event, HookEvent) and event.point in SIMULATION_POINTS


def is_filter(event: Event) -> TypeGuard[HookEvent]:
    """Whether an event is a plugin's predicate answer about one node, outside a pass over nodes."""
    return isinstance(event, HookEvent) and event.point == PREDICATE.upstream


def asked_node_in(session: Session, event: ScoreEvent | PredicateEvent | HookEvent, row: Row) -> AskedNode | None:
    """The asked node in a given session; None if the session is not at that event."""
    task = session.seeking
    if task is None or task.key != event.task:
        return None
    single_row = session.node_table.single_row(row)
    nodes = NodeRows(session.node_table, event.rows) if isinstance(event, ScoreEvent) else single_row
    return AskedNode(session, task, nodes, row)


NO_EXPLAINER = PluginExplainer()
_MODULES: Final = frozenset(f"{__name__}.{module.name}" for module in iter_modules(__path__))
"""Listed once, since a search for a module that does not exist reads folders each time."""


def explainer_for(plugin: str) -> PluginExplainer:
    """The explainer of a plugin, from the module of this room with its name; an empty one without such a module."""
    module = f"{__name__}.{plugin.replace('-', '_')}"
    if plugin not in PLUGINS or not (module in sys.modules or module in _MODULES):
        return NO_EXPLAINER
    explainer: PluginExplainer = resolve_reference(f"{module}:EXPLAINER")
    return explainer


def compared_by(comparison: str, explain: ExplainCall) -> ExplainCall:
    """The arithmetic of a hook with the comparison of resources that judges its lines, unless it states its own."""

    def explain_with_comparison(recording: Recording, seq: Seq, event: HookEvent) -> Equation:
        equation = explain(recording, seq, event)
        return equation if equation.comparison_name else replace(equation, comparison_name=comparison)

    return explain_with_comparison
