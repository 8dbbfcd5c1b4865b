"""One pass of predicates over nodes: the reasons, incompatible constraints of pod and node, and missing resources."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from msgspec import Struct

from vcdebug.explain.answer import Advice
from vcdebug.framework.record import Level, PredicateEvent
from vcdebug.grouping import Histogram, histogram
from vcdebug.kube.affinity_terms import AffinityTerm
from vcdebug.kube.dynamic_resources import IN_ALLOCATION
from vcdebug.kube.node_affinity import FieldRequirement, NodeConstraints, NodeTerm, parse_node_constraints
from vcdebug.kube.ports import NO_FREE_PORTS, host_ports
from vcdebug.kube.selector import Requirement, Selector
from vcdebug.kube.taints import first_untolerated, parse_taints, tolerates_cordon
from vcdebug.model.fit_errors import FitStatus
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.node import NodeInfo
from vcdebug.model.resource import at_most
from vcdebug.model.task import TaskInfo
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.state_before import state_before, task_of

CORDONED: Final = "node(s) were unschedulable"
TAINTED: Final = "node(s) had untolerated taint"
NOT_MATCHING: Final = "node(s) didn't match Pod's node affinity/selector"
ABSENT: Final = "has no such label"


class ConstraintKind(Enum):
    """The kind of constraint that a predicate checks; the value lists texts that occur in its reasons."""

    NODE_GROUP = ("node group", "node not satisfy")
    LABELS = ("node affinity/selector",)
    POD_AFFINITY = ("pod affinity rules", "anti-affinity rules")
    TAINT = ("taint",)
    CORDON = ("unschedulable",)
    NUMA = ("numa", "manager policy", "topology policy")
    LOAD = ("load of the node",)
    DEVICE_CLASS = ("device class",)
    DEVICE_POOL = ("resource pool", "is invalid: duplicate device name")
    VOLUME = ("volume", "PersistentVolume")
    RESERVED_CLAIM = (IN_ALLOCATION,)

    def is_about(self, reason: str) -> bool:
        return any(text in reason for text in self.value)


class ConstraintFailure(Struct, frozen=True):
    """One constraint that keeps the task off nodes, in a sentence with the names of the objects."""

    text: str
    advice: tuple[Advice, ...] = ()
    replaces: ConstraintKind | None = None
    """The kind of constraint whose general advice this failure's own advice replaces."""
    is_temporary: bool = False
    """Whether waiting may be enough, so that the task only currently fits no node."""


def reasons_text(statuses: Sequence[FitStatus]) -> str:
    """The reasons of the predicates against one node, joined by commas."""
    return ", ".join(status.reason for status in statuses if status.reason)


def iter_refusals(recording: Recording, event: PredicateEvent) -> Iterator[tuple[NodeName, tuple[FitStatus, ...]]]:
    """The nodes that the pass refused, and why."""
    names, statuses = recording.node_names, recording.reason_table.statuses_of
    for row, code in zip(event.failed.tolist(), event.codes.tolist(), strict=True):
        yield names[row], statuses(code)


def refusal_histogram(recording: Recording, event: PredicateEvent) -> Histogram[NodeName]:
    """Reason and its nodes, the most frequent first."""
    return histogram((node, reasons_text(statuses)) for node, statuses in iter_refusals(recording, event))


def refusal_reasons(recording: Recording, seq: Seq, event: PredicateEvent, node: NodeName) -> tuple[str, ...]:
    """The incompatible constraints of pod and node, per filter that refused the node in this pass."""
    statuses = dict(iter_refusals(recording, event)).get(node, ())
    return constraint_reasons(recording, seq, task_of(recording, event.task), node, statuses)


def constraint_reasons(
    recording: Recording, seq: Seq, task: TaskInfo, node: NodeName, statuses: Sequence[FitStatus]
) -> tuple[str, ...]:
    """The incompatible constraints of pod and node, per reason of a filter, before an event."""
    info = recording.session.nodes[node]
    constraints = parse_node_constraints(task.pod.spec)
    reasons: list[str] = []
    for status in statuses:
        if status.reason.startswith(CORDONED):
            if info.is_unschedulable and not tolerates_cordon(constraints.tolerations):
                reasons.append("the node is cordoned, and no toleration accepts node.kubernetes.io/unschedulable")
        elif status.reason.startswith(TAINTED):
            taint = first_untolerated(parse_taints(info.taints), constraints.tolerations)
            if taint is not None:
                accepted = _tolerations_words(constraints)
                reasons.append(f"taint {taint.key}={taint.value}:{taint.effect}; {accepted}")
        elif status.reason.startswith(NOT_MATCHING):
            reasons += _affinity_reasons(constraints, info)
        elif status.reason == NO_FREE_PORTS:
            reasons += _port_reasons(recording, seq, task, node)
    return tuple(reasons)


def _tolerations_words(constraints: NodeConstraints) -> str:
    tolerations = [f"{t.key or 'any key'} {t.operator or 'Equal'} {t.value}".rstrip() for t in constraints.tolerations]
    return f"tolerations: {', '.join(tolerations)}" if tolerations else "the pod has no toleration"


def _affinity_reasons(constraints: NodeConstraints, node: NodeInfo) -> Iterator[str]:
    for requirement in constraints.required.selector.requirements:
        if not requirement.matches_labels(node.labels):
            yield f"nodeSelector {_requirement_against(requirement, node)}"
    terms = constraints.required.terms
    if terms is None or any(term.matches_node(node.labels, node.name) for term in terms):
        return
    for number, term in enumerate(terms, start=1):
        labels = [one for one in term.labels.requirements if not one.matches_labels(node.labels)]
        fields = [one for one in term.fields if not one.matches_name(node.name)]
        failures = [
            *(_requirement_against(one, node) for one in labels),
            *(f"{f.field} is not {f.value}" for f in fields),
        ]
        yield f"affinity term {number}: {'; '.join(failures) or 'it never matches'}"


def _requirement_against(requirement: Requirement, node: NodeInfo) -> str:
    """`zone In (a, b), the node has zone=c`."""
    values = f" ({', '.join(requirement.values)})" if requirement.values else ""
    node_fact = f"has {requirement.key}={node.labels[requirement.key]}" if requirement.key in node.labels else ABSENT
    return f"{requirement.key} {requirement.operator}{values}, the node {node_fact}"


def _port_reasons(recording: Recording, seq: Seq, task: TaskInfo, node: NodeName) -> Iterator[str]:
    release = recording.snapshot.release
    ports = host_ports(task.pod.spec, release)
    for key in state_before(recording, seq).tasks_on(node) if ports else ():
        for used in host_ports(task_of(recording, key).pod.spec, release):
            if any(port.conflicts_with(used) for port in ports):
                yield f"host port {used.port}/{used.protocol} is taken by {key}"


class NodeShortage(NamedTuple):
    """One node without enough of one dimension."""

    node: NodeName
    available: float
    """The node's future idle: idle + releasing - pipelined."""
    shortage: float


class DimensionRoom(Struct, frozen=True):
    """How much of one requested dimension the visited nodes have."""

    dimension: str
    request: float
    nodes: tuple[NodeShortage, ...]
    """The nodes that lack the dimension, smallest lack first."""
    amounts: Mapping[NodeName, float]
    """The future idle of every visited node, in node order."""

    @property
    def most(self) -> tuple[float, NodeName] | tuple[None, None]:
        """The largest future idle, and the first node that has it; two times None if no node was visited."""
        node = max(self.amounts, key=self.amounts.__getitem__, default=None)
        return (None, None) if node is None else (self.amounts[node], node)

    def shortage_of(self, node: NodeName) -> NodeShortage | None:
        """The shortage of one node; None if it has enough."""
        return next((shortage for shortage in self.nodes if shortage.node == node), None)


@per_recording(most=16)
def dimension_rooms(recording: Recording, seq: Seq) -> Sequence[DimensionRoom]:
    """Every requested dimension before a pass of predicates, on the nodes that the pass visited."""
    event = recording.event_at(seq)
    assert isinstance(event, PredicateEvent)
    nodes, rows = state_before(recording, seq).nodes, sorted([*event.feasible.tolist(), *event.failed.tolist()])
    futures = {name: nodes[name].future_idle() for name in (recording.node_names[row] for row in rows)}
    rooms = []
    for dimension, request in task_of(recording, event.task).init_resreq.items():
        amounts = {name: future.get(dimension) for name, future in futures.items()}
        lacking = [NodeShortage(name, has, request - has) for name, has in amounts.items() if not at_most(request, has)]
        shortages = tuple(sorted(lacking, key=lambda shortage: shortage.shortage))
        rooms.append(DimensionRoom(dimension, request, shortages, amounts))
    return rooms


def exhausted_dimensions(recording: Recording, seq: Seq) -> Sequence[DimensionRoom]:
    """Dimensions that some visited node lacks before the pass, the one that most of them lack first."""
    exhausted = [room for room in dimension_rooms(recording, seq) if room.nodes]
    return sorted(exhausted, key=lambda exhausted_dimension: -len(exhausted_dimension.nodes))


def seeks_victims(recording: Recording, seq: Seq) -> bool:
    """Whether the action at an event seeks victims pod by pod; its search for nodes requires no free room.

    Upstream: framework/session.PredicateForPreemptAction, which tests no resources.
    """
    action = recording.span_tree.span_around(seq, Level.ACTION)
    return action is not None and recording.conf.facts_of(action.name).evicts_by_pod


def candidates_without_room(recording: Recording, seq: Seq) -> frozenset[NodeName]:
    """The nodes that a search for victims keeps although they have no room now."""
    event = recording.event_at(seq)
    if not isinstance(event, PredicateEvent) or not seeks_victims(recording, seq):
        return frozenset()
    kept = frozenset(recording.node_names[row] for row in event.feasible.tolist())
    return kept.intersection(first_shortages(recording, seq))


@per_recording(most=16)
def first_shortages(recording: Recording, seq: Seq) -> Mapping[NodeName, tuple[str, float, float]]:
    """Node without room -> (the first dimension that it lacks, its future idle, the request), in upstream's order."""
    shortages: dict[NodeName, tuple[str, float, float]] = {}
    for room in dimension_rooms(recording, seq):
        for shortage in room.nodes:
            shortages.setdefault(shortage.node, (room.dimension, shortage.available, room.request))
    return shortages


def format_requirement(requirement: Requirement) -> str:
    """`zone=a`, `zone In (a, b)`, `zone Exists`."""
    if requirement.operator == "In" and len(requirement.values) == 1:
        return f"{requirement.key}={requirement.values[0]}"
    values = f" ({', '.join(requirement.values)})" if requirement.values else ""
    return f"{requirement.key} {requirement.operator}{values}"


def format_selector(selector: Selector) -> str:
    """The requirements of a selector in words; `no pod` for a missing one, empty for one that matches every pod."""
    if selector.matches_nothing:
        return "no pod"
    return ", ".join(format_requirement(requirement) for requirement in selector.requirements)


def format_field(field: FieldRequirement) -> str:
    """`metadata.name=n1`."""
    return f"{field.field}{'≠' if field.negated else '='}{field.value}"


def format_node_term(term: NodeTerm) -> str:
    """A term of node affinity."""
    if term.matches_nothing:
        return "a term that never matches"
    texts = [format_requirement(requirement) for requirement in term.labels.requirements] + [
        format_field(requirement) for requirement in term.fields
    ]
    return ", ".join(texts) or "any node"


def format_affinity_term(term: AffinityTerm) -> str:
    """A term of affinity between pods: which pods, and in which domain."""
    return f"{format_selector(term.selector) or 'any pod'} by {term.topology_key}"
