"""The arithmetic behind an event or a node's score: the figures, the comparison and the result.

Upstream: util/scheduler_helper (PrioritizeNodes, SelectBestNodeAndScore).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan
from typing import Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from vcdebug.amount_text import count_noun, format_number, verb_for
from vcdebug.explain import equation
from vcdebug.explain.decisions.queue_figures import state_change_equation
from vcdebug.explain.orders import OrderComparison, OrderStep, comparisons_at, next_rival, order_at
from vcdebug.explain.plugins import AskedNode, asked_node_at, explainer_for
from vcdebug.explain.predicate_reasons import DimensionRoom, candidates_without_room, dimension_rooms
from vcdebug.framework import record
from vcdebug.framework.hooks import ALLOCATABLE, JOB_PIPELINED, JOB_READY, SUB_JOB_PIPELINED, SUB_JOB_READY
from vcdebug.model.names import NodeName, Seq, TaskKey
from vcdebug.model.resource import Resource, at_most
from vcdebug.model.task import TaskStatus
from vcdebug.plugins.nodeorder import NodeOrder, TwoKinds
from vcdebug.recording.effects import is_refused_placement, refused_words
from vcdebug.recording.recording import Recording
from vcdebug.recording.state_before import requested_together, state_before, task_of

ORDER_FORMULA = "the first difference decides"
ORDER_COLUMNS = ("goes first", "the next")
LATER_NOTE = (
    "the next would go first: it entered the queue later, or the heap had not been put in order since it changed"
)
GATE_POINTS = (
    JOB_PIPELINED.upstream,
    JOB_READY.upstream,
    SUB_JOB_PIPELINED.upstream,
    SUB_JOB_READY.upstream,
    ALLOCATABLE.upstream,
)
AmountChange = Mapping[str, int]
"""Amount of a node → -1, 0 or 1 times the task's request."""
OPERATION_CHANGES: Final[Mapping[str, AmountChange]] = {
    record.EVICT_OP: {"releasing": 1},
    record.UNEVICT_OP: {"releasing": -1},
    record.PIPELINE_OP: {"pipelined": 1},
    record.UNPIPELINE_OP: {"pipelined": -1},
    record.ALLOCATE_OP: {"idle": -1, "used": 1},
    record.UNALLOCATE_OP: {"idle": 1, "used": -1},
    record.BIND_OP: {},
}


def equation_at(recording: Recording, seq: Seq, node: NodeName | None = None) -> equation.Equation | None:
    """The equation of an event; for an event about many nodes that of `node` if given; None if there is none."""
    event = recording.event_at(seq)
    if isinstance(event, record.HookEvent):
        compute = explainer_for(event.plugin).equations.get(event.point, state_change_equation)
        return compute(recording, seq, event)
    if isinstance(event, record.PredicateEvent):
        return search_equation(recording, seq, event, node)
    if isinstance(event, record.ScoreEvent):
        return node_score(recording, seq, event, node)
    if isinstance(event, record.BestEvent):
        return best_node_equation(recording, seq, event)
    if isinstance(event, record.PopEvent):
        rival = next_rival(recording, seq)
        order = order_at(recording, seq, rival.name) if rival is not None else None
        return None if order is None else _order_equation(order)
    if isinstance(event, record.OpEvent):
        return operation_equation(recording, seq, event)
    if isinstance(event, record.StatementEvent):
        return _statement_equation(recording, seq, event)
    return None


def _statement_equation(recording: Recording, seq: Seq, event: record.StatementEvent) -> equation.Equation | None:
    """The equation of the call that a commit or discard depended on, else the room of a trial that was discarded."""
    if event.what not in ("commit", "discard"):
        return None
    guard = find_guarding_call(recording, seq)
    guard_equation = equation_at(recording, guard) if guard is not None else None
    if guard_equation is not None:
        return replace(guard_equation, title=f"{event.what}: {guard_equation.title}")
    task, node = (recording.span_tree.span_around(seq, level) for level in (record.Level.TASK, record.Level.NODE))
    if event.what != "discard" or task is None or node is None:
        return None
    # The task did not fit on the node after all evictions.
    room = room_equation(recording, seq, task.name, node.name)
    return replace(room, title=f"discarded: {room.title} after the evictions")


def find_guarding_call(recording: Recording, seq: Seq) -> Seq | None:
    """The gang or Allocatable call right before a commit or discard, on which it depended; None without one."""
    while seq > 1:
        seq -= 1
        event = recording.event_at(seq)
        if isinstance(event, record.OpEvent | record.StatementEvent):
            return None
        if isinstance(event, record.HookEvent):
            return seq if event.point in GATE_POINTS else None
    return None


def _order_equation(order: OrderComparison) -> equation.Equation:
    """The comparison of two elements of a queue, up to the first difference."""
    terms, deciding_step = tuple(_order_term(step) for step in order.steps), order.deciding_step
    unknown = [step.plugin for step in order.steps if not step.difference.is_recorded]
    note = f"a recording does not keep what {', '.join(unknown)} compares" if unknown else ""
    note = LATER_NOTE if order.order_sign > 0 else note
    name = deciding_step.difference.label if deciding_step is not None else None
    title = f"why {order.left} goes before {order.right}"
    return equation.Equation(title, ORDER_FORMULA, ORDER_COLUMNS, "check", terms, order.order_sign, name, note)


def _order_term(step: OrderStep) -> equation.Term:
    holds = None if not step.order_sign else step.order_sign < 0
    return equation.Term(
        step.difference.label, (step.difference.left, step.difference.right), holds, format_asker(step)
    )


def format_asker(step: OrderStep) -> str:
    """The hook, tier and plugin of a comparison in words."""
    asker = f"{step.point} tier {step.tier} {step.plugin}" if step.point else "no plugin decides"
    return f"{asker}, reversed for victims" if step.reverse else asker


NO_ROOM_REQUIRED: Final = "room is not required yet"
"""Of a search for victims, which keeps nodes without room as candidates."""
FUTURE_IDLE_FORMULA: Final = "future idle = idle + releasing − pipelined"


def room_equation(
    recording: Recording, seq: Seq, task: TaskKey, node: NodeName, victims: Iterable[TaskKey] = ()
) -> equation.Equation:
    """Whether the node's future idle, plus the requests of victims, has room for the task before an event."""
    request, freed = task_of(recording, task).init_resreq, requested_together(recording, victims)
    amounts = state_before(recording, seq).nodes[node]
    future = amounts.future_idle().add(freed)
    parts = {"idle": amounts.idle, "releasing": amounts.releasing, "pipelined": amounts.pipelined}
    formula, title = FUTURE_IDLE_FORMULA, f"room for {task} on {node}"
    if freed.resource_names():
        parts["victims"] = freed
        formula, title = f"{formula} + victims", f"{title} without the victims"
    names = equation.all_dimensions(request, future)
    terms = tuple(_room_term(name, parts.values(), future, request) for name in names)
    columns = (*parts, "future idle", "request", "short")
    return equation.judged_equation(title, f"{formula} ≥ request", columns, terms, "", equation.LESS_EQUAL)


def _room_term(name: str, parts: Iterable[Resource], future: Resource, request: Resource) -> equation.Term:
    requested, available = request.get(name), future.get(name)
    figures = (*(part.get(name) for part in parts), available, requested)
    if not request.has_dimension(name):
        return equation.Term(name, (*figures, 0.0), None, equation.NOT_REQUESTED)
    holds = at_most(requested, available)
    note = "" if future.has_dimension(name) else equation.NOT_STATED
    if holds and requested > available:
        note = equation.tolerance_note(requested - available)
    return equation.Term(name, (*figures, 0.0 if holds else requested - available), holds, note)


def room_terms(request: Resource, future: Resource, parts: Sequence[Resource]) -> tuple[equation.Term, ...]:
    """One term per requested dimension: `parts`, future idle and request, compared as an action tests a node."""
    terms = (_room_term(name, parts, future, request) for name, _ in request.items())
    return tuple(replace(term, figures=term.figures[:-1]) for term in terms)


def search_equation(
    recording: Recording, seq: Seq, event: record.PredicateEvent, node: NodeName | None = None
) -> equation.Equation:
    """A pass of predicates over nodes: room on one node, or per dimension how many nodes have room."""
    roomless = candidates_without_room(recording, seq)
    if node is not None:
        room = room_equation(recording, seq, event.task, node)
        return replace(room, deciding_name=None, note=NO_ROOM_REQUIRED) if node in roomless else room
    rooms = dimension_rooms(recording, seq)
    names, terms = rooms[0].amounts, tuple(map(_spread_term, rooms))
    short_nodes = {shortage.node for room in rooms for shortage in room.nodes}
    with_room = tuple(name for name in names if name not in short_nodes)
    scarce = min(terms, key=lambda term: int(str(term.figures[3])))
    title = f"room for {event.task} on {count_noun(len(names), 'node')}"
    formula = "request ≤ future idle = idle + releasing − pipelined, per node"
    heads = ("request", "most on a node", "node", "nodes with room")
    # A search for victims passes nodes without room.
    deciding = scarce.name if not scarce.is_met and not len(event.feasible) else None
    have_room = f"{len(with_room)} of {count_noun(len(names), 'node')} {verb_for(len(with_room), 'has')} room"
    are_feasible = f"{len(event.feasible)} {verb_for(len(event.feasible), 'is')} feasible"
    victims_words = f": {NO_ROOM_REQUIRED}" if roomless else ""
    note = f"{have_room} in every dimension, {are_feasible}{victims_words}"
    return equation.Equation(title, formula, heads, "dimension", terms, with_room, deciding, note, equation.LESS_EQUAL)


def _spread_term(room: DimensionRoom) -> equation.Term:
    """One dimension over all nodes: the request, the most on one node, that node, and how many nodes have room."""
    holding = len(room.amounts) - len(room.nodes)
    return equation.Term(room.dimension, (room.request, *room.most, holding), bool(holding))


def operation_equation(recording: Recording, seq: Seq, event: record.OpEvent) -> equation.Equation | None:
    """The amounts that an operation changes on its node; None if the event records no amounts."""
    if event.after is None:
        return None
    state, request = state_before(recording, seq), task_of(recording, event.task).resreq
    refused = is_refused_placement(recording, seq, event)
    change = {**({} if refused else OPERATION_CHANGES[event.op]), **_reservation_change(recording, seq, event)}
    terms = tuple(_change_terms(state.nodes[event.node], event.after, change, request))
    signs = {1: "+ request", -1: "− request"}
    formula = ", ".join(f"{field} {signs[sign]}" for field, sign in change.items()) or "nothing changes on the node"
    note = refused_words(recording, seq, event) if refused else ""
    title = f"{event.op} {event.task} on {event.node}"
    columns = ("before", "change", "after")
    return equation.Equation(title, formula, columns, "dimension", terms, equation.all_hold(terms), None, note)


def _reservation_change(recording: Recording, seq: Seq, event: record.OpEvent) -> AmountChange:
    """What an operation changes for a task that is pipelined to this node: allocating it uses its reservation, undoing
    that restores it, and a refused placement ends it.
    """
    before, after = (recording.timeline.state_at(at_seq).tasks[event.task] for at_seq in (seq - 1, seq))
    was, becomes = (state == (TaskStatus.PIPELINED, event.node) for state in (before, after))
    is_placement = event.op in (record.ALLOCATE_OP, record.UNALLOCATE_OP)
    return {"pipelined": becomes - was} if is_placement and was != becomes else {}


def _change_terms(
    before_it: record.NodeAmounts, after: record.NodeAmounts, change: AmountChange, request: Resource
) -> Iterable[equation.Term]:
    """Yields a term per node amount that an operation should change or did change: before, change, after."""
    for field in record.NodeAmounts._fields:
        old, new = getattr(before_it, field), getattr(after, field)
        for name in equation.all_dimensions(old, new, request):
            step = change.get(field, 0) * request.get(name)
            old_value, new_value = old.get(name), new.get(name)
            if step or old_value != new_value:
                yield equation.Term(f"{field} {name}", (old_value, step, new_value), old_value + step == new_value)


BATCH_SUFFIX = "/batch"
SCORE_COLUMNS = ("raw", "normalised", "weight", "weighted")
SCORE_FORMULA = "weighted = normalised × weight; the total is the sum of them"
BEST_FORMULA = "the highest total is best; of equal ones the real scheduler picks one at random, the replay the first"
HYPER_NODE_FORMULA = "the highest sum of what plugins score; of equal ones upstream takes any, the replay the first"
EVENTS_LOOKED_BACK: Final = 4
"""Events to look back from a choice for its scores: a tie records events in between."""


class ScoreSummand(Struct, frozen=True):
    """One named part of a node's score."""

    name: str
    value: float
    """NaN where the node has no entry."""
    is_term: bool
    """Whether the summand is a term of the total; False for a detail of the term above."""
    batch: bool


def summands_of(event: record.ScoreEvent, index: int) -> list[ScoreSummand]:
    """Every summand of one node's score, in call order."""
    return [_build_summand(name, float(values[index])) for name, values in event.parts]


def _build_summand(name: str, value: float) -> ScoreSummand:
    plugin, _, detail = name.partition("/")
    top = not detail or name == plugin + BATCH_SUFFIX
    return ScoreSummand(name, value, top, name.endswith(BATCH_SUFFIX) or BATCH_SUFFIX + "/" in name)


def total_score(parts: list[ScoreSummand]) -> float:
    """A node's total: the sum of per-node scores plus the sum of batch scores, in upstream's order of additions."""
    sums = [0.0, 0.0]
    for part in parts:
        if part.is_term and not isnan(part.value):
            sums[part.batch] = sums[part.batch] + part.value
    return sums[0] + sums[1]


def scored_row(recording: Recording, event: record.ScoreEvent, node: NodeName) -> int | None:
    """The index of a node among the scored nodes; None if it was not scored."""
    rows = event.rows.tolist()
    row = recording.session.node_table.row_of.get(node)
    return rows.index(row) if row in rows else None


def order_by_total(event: record.ScoreEvent) -> list[int]:
    """Indexes of the scored nodes: the highest total first, equal totals in the session's order, NaN last."""
    return list(np.argsort(-event.total, kind="stable").tolist())


def best_scored_row(event: record.ScoreEvent, other_than: int | None = None) -> int | None:
    """The index of the first node with the highest total, or of the best one beside another; None without a total."""
    best = (index for index in order_by_total(event)[:2] if index != other_than)
    return next((index for index in best if not isnan(event.total[index])), None)


def node_score(
    recording: Recording, seq: Seq, event: record.ScoreEvent, node: NodeName | None = None
) -> equation.Equation | None:
    """The equation of one node's score, by default of the best node."""
    index = best_scored_row(event) if node is None else scored_row(recording, event, node)
    if index is None:
        return None
    name, parts = recording.node_names[int(event.rows[index])], summands_of(event, index)
    total, recorded = total_score(parts), float(event.total[index])
    loss_note = ""
    if total != recorded:
        # Upstream drops all per-node scores of a node when one of them fails, and keeps the batch scores.
        total = total_score([part for part in parts if part.batch])
        loss_note = "; a per-node score failed here, and the node keeps none of them"
    terms = tuple(_score_terms(recording, name, event.task, parts))
    title = f"score of {name} for {event.task}"
    return equation.Equation(
        title, SCORE_FORMULA, SCORE_COLUMNS, "check", terms, total, None, f"total {format_number(total)}{loss_note}"
    )


def _score_terms(
    recording: Recording, node: NodeName, task: TaskKey, parts: list[ScoreSummand]
) -> Iterator[equation.Term]:
    """Yields a term per summand; the details of a sum follow the sum, and a single detail replaces it."""
    for index, part in enumerate(parts):
        details = inner_parts(parts, index)
        if part.is_term and len(details) == 1:
            continue
        if isnan(part.value):
            yield equation.Term(part.name, (None, None, None, None), None, "no entry: a function failed on this node")
            continue
        raw, scaled, weight = _scorer_origin(recording, node, task, part) if not details else (None, None, None)
        yield equation.Term(part.name, (raw, scaled, weight, part.value), None, "sum of those below" if details else "")


def inner_parts(parts: list[ScoreSummand], index: int) -> list[ScoreSummand]:
    """The details that follow a sum, up to the next sum."""
    details: list[ScoreSummand] = []
    for part in parts[index + 1 :] if parts[index].is_term else ():
        if part.is_term:
            break
        details.append(part)
    return details


def _scorer_origin(
    recording: Recording, node: NodeName, task: TaskKey, part: ScoreSummand
) -> tuple[float | None, float | None, int | None]:
    """(raw score, normalised score, weight) of a nodeorder scorer; None for what the plugin no longer has."""
    plugin, origin = recording.session.plugins.get(NodeOrder.name), None
    if isinstance(plugin, NodeOrder | TwoKinds) and part.name.startswith(f"{NodeOrder.name}/"):
        row, pod = recording.session.node_table.row_of[node], task_of(recording, task).pod
        origin = plugin.scorers.score_origin(part.name, part.value, pod, row)
    return origin or (None, None, None)


def scores_before(recording: Recording, seq: Seq) -> tuple[Seq, record.ScoreEvent] | None:
    """(event, scores) on which a choice of node was based; None if none were recorded."""
    first = max(1, seq - EVENTS_LOOKED_BACK + 1)
    return next(recording.events_before(record.ScoreEvent, seq, first), None)


class ScoreLead(Struct, frozen=True):
    """One summand in the scores of two nodes; a sum with details is left out, since its details are listed."""

    name: str
    value: float
    runner_up_score: float

    @property
    def lead(self) -> float:
        return self.value - self.runner_up_score


def compare_summands(scores: record.ScoreEvent, index: int, other: int) -> list[ScoreLead]:
    """The summands of two scored nodes in call order; summands that one of the nodes lacks are left out."""
    parts, rival_parts = summands_of(scores, index), summands_of(scores, other)
    return [
        ScoreLead(part.name, part.value, rival.value)
        for part_index, (part, rival) in enumerate(zip(parts, rival_parts, strict=True))
        if not inner_parts(parts, part_index) and not isnan(part.value) and not isnan(rival.value)
    ]


def runner_up(recording: Recording, scores: record.ScoreEvent, node: NodeName) -> NodeName | None:
    """The best node other than `node`; None if only one was scored."""
    index = scored_row(recording, scores, node)
    rival_row = best_scored_row(scores, index) if index is not None else None
    return None if rival_row is None else recording.node_names[int(scores.rows[rival_row])]


def best_node_equation(recording: Recording, seq: Seq, event: record.BestEvent) -> equation.Equation | None:
    """Why one node is best: each summand compared with the runner-up's."""
    if event.kind != "node":
        return _best_hyper_node(recording, seq, event)
    scored = scores_before(recording, seq)
    index = scored_row(recording, scored[1], event.name) if scored is not None else None
    if scored is None or index is None:
        return None
    scores = scored[1]
    rival_row = best_scored_row(scores, index)
    if rival_row is None:
        return node_score(recording, scored[0], scores, event.name)
    rival = recording.node_names[int(scores.rows[rival_row])]
    leads = compare_summands(scores, index, rival_row)
    terms = tuple(equation.Term(lead.name, (lead.value, lead.runner_up_score, lead.lead), None) for lead in leads)
    largest_lead = max(leads, key=lambda lead: abs(lead.lead), default=None)
    deciding = largest_lead.name if largest_lead is not None and largest_lead.lead else None
    margin = float(scores.total[index]) - float(scores.total[rival_row])
    words = "the totals are equal" if not margin else f"{event.name} leads by {format_number(margin)}"
    title = f"why {event.name} and not {rival}"
    columns = (event.name, rival, "difference")
    return equation.Equation(title, BEST_FORMULA, columns, "check", terms, event.score, deciding, words)


def _best_hyper_node(recording: Recording, seq: Seq, event: record.BestEvent) -> equation.Equation:
    """The choice of a HyperNode: one term per HyperNode with each plugin's score of it."""
    by_plugin: dict[str, Mapping[str, float]] = {}
    for earlier in range(seq - 1, 0, -1):
        call = recording.event_at(earlier)
        if not isinstance(call, record.HookEvent) or not isinstance(call.result, Mapping):
            break
        by_plugin[call.plugin] = call.result
    names = dict.fromkeys(name for scores in by_plugin.values() for name in scores)
    terms = tuple(
        equation.Term(name, tuple(scores.get(name) for scores in by_plugin.values()), name == event.name)
        for name in names or (event.name,)
    )
    title = f"the best HyperNode is {event.name}"
    return equation.Equation(title, HYPER_NODE_FORMULA, tuple(by_plugin), "check", terms, event.score, event.name)


class ScorePart(Struct, frozen=True):
    """One summand of a node's score."""

    name: str
    recorded: float
    """NaN where the node has no entry."""
    equation: equation.Equation | None
    """How the summand was computed; None if the plugin does not explain it."""


def score_parts(recording: Recording, seq: Seq, node: NodeName) -> tuple[ScorePart, ...]:
    """Every summand of a node's score with its arithmetic, in call order."""
    event, asked_node = recording.event_at(seq), asked_node_at(recording, seq, node)
    index = scored_row(recording, event, node) if isinstance(event, record.ScoreEvent) else None
    if not isinstance(event, record.ScoreEvent) or index is None or asked_node is None:
        return ()
    return tuple(score_parts_in(asked_node, event, index))


def equation_inside(recording: Recording, seq: Seq, number: int) -> equation.Equation | None:
    """The arithmetic of one comparison of a pop, or of one part of the best node's score."""
    scores = recording.event_at(seq)
    if not isinstance(scores, record.ScoreEvent):
        compared = comparisons_at(recording, seq)[number - 1 : number]
        return _order_equation(compared[0]) if compared else None
    index = best_scored_row(scores)
    parts = score_parts(recording, seq, recording.node_names[int(scores.rows[index])]) if index is not None else ()
    return next((part.equation for part in parts[number - 1 : number]), None)


def score_parts_in(asked_node: AskedNode, event: record.ScoreEvent, index: int) -> Iterator[ScorePart]:
    """As score_parts, of a node in the given session."""
    with asked_node.session.record.silence_recording():
        for name, values in event.parts:
            recorded = float(values[index])
            derive = explainer_for(name.partition("/")[0]).scores
            yield ScorePart(name, recorded, None if derive is None or isnan(recorded) else derive(asked_node, name))
