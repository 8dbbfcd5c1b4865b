"""The panel Nodes, and the page of one node."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from vcdebug.amount_text import count_noun, format_amount, order_dimensions, short_name, short_text_without_pods
from vcdebug.explain.decisions.equations import equation_at, scores_before
from vcdebug.explain.decisions.victim_funnel import Refusal, node_refusals
from vcdebug.explain.predicate_reasons import candidates_without_room, reasons_text, refusal_reasons
from vcdebug.framework.record import BestEvent, NodeAmounts, PredicateEvent, ScoreEvent
from vcdebug.model.hyper_nodes import TOP_HYPER_NODE, HyperNodes
from vcdebug.model.names import JobId, NodeName, Seq, TaskKey
from vcdebug.model.node import NodeInfo
from vcdebug.model.resource import PODS, Resource
from vcdebug.recording.cluster_overview import RELEASING, REMARKS, offered_dimensions, optional_node_columns
from vcdebug.recording.event_index import NODE, TASK
from vcdebug.recording.input_problems import noteworthy_nodes, overfull_dimensions
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.recording.timeline import ClusterState
from vcdebug.recording.writes import devices_of_pods
from vcdebug.snapshot.manifest import bare_name
from vcdebug.views import pieces
from vcdebug.views.cell_figures import TASK_HEADS, figure_by_head, node_figure
from vcdebug.views.equation import equation_table
from vcdebug.views.headline import fit_piece
from vcdebug.views.inside import CHECK_COLUMNS, inside_table, node_checks
from vcdebug.views.table import MAX_CACHED_TABLES, Column, Row, RowsOnDemand, Table, embed_table, table_columns

BAR_WIDTH, MAX_BARS = 8, 4
IDLE, USED_BAR = "idle", "used"
"""Kinds of columns about one dimension, each showing the figure of this name."""
SELDOM_SCARCE: Final = (PODS, "ephemeral-storage", "attachable-volumes", "hugepages-")
"""Prefixes of dimensions without a bar, since they are rarely scarce."""
MAX_CACHED_ROWS = 8_192
MIN_REMARK_WIDTH = 24
"""The minimum width of remarks, enough for `dedicated=a:NoSchedule`."""


def nodes_table(recording: Recording, seq: Seq, current: str = "") -> Table:
    """Every node at an event: idle/allocatable per dimension, releasing and pipelined amounts, remarks."""
    heads = _node_heads(recording)
    columns = (Column("node", name=True), *map(_node_column, heads))
    rows = _node_rows(recording, recording.timeline.earliest_same_seq(seq))
    heads_by_title = {_head_title(head): head for head in heads}
    figures = partial(node_figure, heads_by_title, columns)
    head = pieces.muted_lines(f"idle/max  {pieces.LEGEND}")
    return Table("Nodes", columns, rows, header=head, current=current, figures=figures)


@per_recording()
def _node_heads(recording: Recording) -> Sequence[tuple[str, str]]:
    """(kind, dimension) of each column, most important first: contended dimensions, changing amounts, the rest."""
    barred, optional = bar_dimensions(recording), optional_node_columns(recording)
    return (
        *((kind, dim) for dim in barred for kind in (IDLE, USED_BAR)),
        *((title, "") for title in optional if title != REMARKS),
        *((IDLE, dim) for dim in node_dimensions(recording) if dim not in barred),
        *((title, "") for title in optional if title == REMARKS),
    )


def _head_title(head: tuple[str, str]) -> str:
    """`cpu` of idle amounts, `cpu used` of bars, else the kind."""
    kind, dim = head
    return short_name(dim) if kind == IDLE else f"{short_name(dim)} used" if kind == USED_BAR else kind


def _node_column(head: tuple[str, str]) -> Column:
    """The column of a head; remarks keep room for a whole taint, so that amounts are shortened first."""
    kind, dim = head
    if dim:
        return Column(_head_title(head), right=kind == IDLE)
    return Column(kind, flexible=True, min_width=MIN_REMARK_WIDTH if kind == REMARKS else 0)


@per_recording(most=MAX_CACHED_TABLES)
def _node_rows(recording: Recording, seq: Seq) -> RowsOnDemand:
    """The rows after the event `seq`; each row is cached by its node's last change."""
    # Keyed by a node's last change, as an event changes one node and a panel has thousands.
    names, changed = recording.node_names, recording.timeline.last_change
    return RowsOnDemand(names, lambda i: _node_row(recording, names[i], changed(NODE, names[i], seq) or 0))


@per_recording()
def node_dimensions(recording: Recording) -> Sequence[str]:
    """Dimensions of any node, pods last."""
    return sorted(order_dimensions(offered_dimensions(recording)), key=lambda dim: dim == PODS)


@per_recording(most=MAX_CACHED_ROWS)
def _node_row(recording: Recording, name: NodeName, changed: Seq) -> Row:
    """A node's row after its last change: most events change one node, and the other rows come from the cache."""
    amounts = recording.timeline.state_at(changed).nodes[name]
    cells = (_node_piece(recording, kind, dim, name, amounts) for kind, dim in _node_heads(recording))
    return Row(name, (pieces.Piece(name, "strong"), *cells), subject=("node", name))


def _node_piece(recording: Recording, kind: str, dim: str, name: NodeName, amounts: NodeAmounts) -> pieces.Piece:
    node = recording.session.nodes[name]
    if kind == IDLE:
        return _idle_piece(dim, amounts.idle, node.allocatable)
    return _bar_piece(node, amounts, dim) if kind == USED_BAR else _optional_piece(recording, kind, name, amounts)


def _idle_piece(dim: str, idle: Resource, allocatable: Resource) -> pieces.Piece:
    if not allocatable.get(dim) and not idle.get(dim):
        return pieces.muted_piece("–")
    text = f"{format_amount(dim, idle.get(dim))}/{format_amount(dim, allocatable.get(dim))}"
    return pieces.Piece(text, "warn" if idle.get(dim) < 0 else "") if idle.get(dim) else pieces.muted_piece(text)


@per_recording()
def bar_dimensions(recording: Recording) -> Sequence[str]:
    """The dimensions that jobs compete for; pods only if no node offers anything else."""
    dims = node_dimensions(recording)
    contested = [dim for dim in dims if not dim.startswith(SELDOM_SCARCE)]
    return (contested or dims)[:MAX_BARS]


def _bar_piece(node: NodeInfo, amounts: NodeAmounts, dim: str) -> pieces.Piece:
    drawn = pieces.node_bar(amounts, node.allocatable, dim, BAR_WIDTH)
    return pieces.Piece(drawn, "accent") if drawn else pieces.muted_piece(pieces.SKIPPED)


def _optional_piece(recording: Recording, title: str, name: NodeName, amounts: NodeAmounts) -> pieces.Piece:
    if title == REMARKS:
        return pieces.Piece(", ".join(filter(None, (_overfull_text(amounts), node_remarks(recording, name)))), "warn")
    amount_text = short_text_without_pods(amounts.releasing if title == RELEASING else amounts.pipelined)
    return pieces.Piece(amount_text, "warn") if amount_text else pieces.muted_piece("–")


def node_remarks(recording: Recording, name: NodeName) -> str:
    """Cordon, taints and a Ready condition that is not True, in words; empty for an ordinary node."""
    ready = noteworthy_nodes(recording).get(name)
    if ready is None:
        return ""
    node = recording.session.nodes[name]
    parts = ["cordoned"] if node.is_unschedulable else []
    # The scheduler ignores the Ready condition itself; the node controller's taint keeps pods away.
    parts += [f"Ready is {ready}: only a taint keeps pods away"] if ready else []
    for taint in node.taints:
        value = f"={taint['value']}" if taint.get("value") else ""
        parts.append(f"{taint.get('key', '')}{value}:{taint.get('effect', '')}")
    return ", ".join(parts)


def _overfull_text(amounts: NodeAmounts) -> str:
    """Dimensions with negative idle, in which every request is refused."""
    below = [short_name(name) for name in overfull_dimensions(amounts.idle)]
    return f"idle below 0: {' '.join(below)}" if below else ""


NODE_TASK_COLUMNS = table_columns("task@", "status", "priority#", "requests~20")
PAGE_BAR_WIDTH = 24


def node_page(recording: Recording, seq: Seq, name: NodeName) -> Table:
    """One node at an event: bars, the event's verdict on it, its tasks, and the jobs that it refused."""
    state = recording.timeline.state_at(seq)
    tasks = [_task_row(recording, key, state, name) for key in state.tasks_on(name)]
    title = pieces.Piece("Tasks on it, and jobs that it refused", "title")
    head = [*_iter_bar_lines(recording, seq, name), *_iter_event_parts(recording, seq, name)]
    head.append(pieces.make_line(title, pieces.muted_piece(f"  {count_noun(len(tasks), 'task')}")))
    refused = [_refusal_row(refusal) for refusal in node_refusals(recording, name)]
    foot = () if refused else pieces.muted_lines("it refused no pod in this cycle")
    figures = partial(figure_by_head, TASK, TASK_HEADS, NODE_TASK_COLUMNS)
    return Table(f"Node {name}", NODE_TASK_COLUMNS, [*tasks, *refused], tuple(head), foot, figures=figures)


def _iter_bar_lines(recording: Recording, seq: Seq, name: NodeName) -> Iterator[pieces.Line]:
    node, amounts = recording.session.nodes[name], recording.timeline.state_at(seq).nodes[name]
    future, dims = amounts.future_idle(), node_dimensions(recording)
    shown_dims = [dim for dim in dims if node.allocatable.get(dim) or amounts.used.get(dim)]
    width = max((len(short_name(dim)) for dim in shown_dims), default=0)
    for dim in shown_dims:
        drawn = pieces.node_bar(amounts, node.allocatable, dim, PAGE_BAR_WIDTH)
        words = f"{format_amount(dim, amounts.used.get(dim))} of {format_amount(dim, node.allocatable.get(dim))} used"
        yield pieces.make_line(f"{short_name(dim):<{width}}  ", pieces.Piece(drawn, "accent"), f"  {words}")
        if amounts.releasing.get(dim) or amounts.pipelined.get(dim):
            terms = (future, amounts.idle, amounts.releasing, amounts.pipelined)
            sums = "{} future idle = {} idle + {} releasing − {} pipelined"
            words = sums.format(*(format_amount(dim, term.get(dim)) for term in terms))
            yield pieces.make_line(pieces.muted_piece(f"{'':<{width}}  {words}"))
    yield pieces.make_line(pieces.muted_piece(pieces.LEGEND))
    if remarks := node_remarks(recording, name):
        yield pieces.make_line(pieces.Piece(f"! {remarks}", "warn"))
    yield ()


def _iter_event_parts(recording: Recording, seq: Seq, name: NodeName) -> Iterator[pieces.Line]:
    """The event's verdict on the node: checks of predicates, parts of scores."""
    event = recording.event_at(seq)
    if isinstance(event, BestEvent):
        scored = scores_before(recording, seq)
        if scored is not None:
            seq, event = scored
    if isinstance(event, PredicateEvent):
        yield _verdict_line(recording, seq, event, name)
        for reason in refusal_reasons(recording, seq, event, name):
            yield pieces.make_line(pieces.muted_piece(f"  {reason}"))
        yield from embed_table(Table("Checks", CHECK_COLUMNS, node_checks(recording, seq, name)))
        yield from _equation_part(recording, seq, name)
    elif isinstance(event, ScoreEvent):
        yield from _equation_part(recording, seq, name)
        yield from embed_table(inside_table(recording, seq, name))


def _equation_part(recording: Recording, seq: Seq, name: NodeName) -> list[pieces.Line]:
    equation = equation_at(recording, seq, name)
    return embed_table(equation_table(equation)) if equation is not None else []


def _verdict_line(recording: Recording, seq: Seq, event: PredicateEvent, name: NodeName) -> pieces.Line:
    row, lead = recording.session.node_table.row_of[name], f"predicates for {bare_name(event.task)}: "
    if row in event.feasible.tolist():
        verdict = fit_piece(name in candidates_without_room(recording, seq))
        return pieces.make_line(lead, pieces.Piece(f"{pieces.YES} {verdict.text}", verdict.style))
    failed = event.failed.tolist()
    if row not in failed:
        return pieces.make_line(lead, pieces.muted_piece(f"{pieces.SKIPPED} not tried"))
    statuses = recording.reason_table.statuses_of(int(event.codes[failed.index(row)]))
    return pieces.make_line(lead, pieces.Piece(f"{pieces.NO} {reasons_text(statuses)}", "bad"))


def _task_row(recording: Recording, key: TaskKey, state: ClusterState, node: NodeName) -> Row:
    task, devices = recording.timeline.tasks[key], devices_of_pods(recording).get((key, node), ())
    request = "; ".join((short_text_without_pods(task.resreq), *devices))
    words = (key, state.tasks[key].status.upstream_name, str(task.priority), request)
    return Row(key, tuple(map(pieces.Piece, words)), subject=("task", key))


def _refusal_row(refusal: Refusal) -> Row:
    tasks = pieces.muted_piece(count_noun(len(refusal.tasks), "task"))
    cells = (
        pieces.Piece(f"{pieces.NO} {refusal.job}", "bad"),
        pieces.Piece(refusal.action),
        tasks,
        pieces.Piece(f"{refusal.reason} (event {refusal.seq})"),
    )
    return Row(f"refused {refusal.seq} {refusal.reason}", cells, refusal.seq, ("job", refusal.job))


# The panel HyperNodes: the network topology as a tree of tiers and nodes.

HYPERNODE_COLUMNS = table_columns("hypernode~20", "tier", "nodes#")
MAX_DRAWN_PODS: Final = 24


class TopologyPlace(Struct, frozen=True):
    """One row of the tree: a HyperNode, or a node directly below one."""

    depth: int
    hyper_node: str
    node: NodeName = ""

    @property
    def row_key(self) -> str:
        """The row's key, the same at every event."""
        return f"{self.hyper_node} {self.node}".rstrip()


@per_recording()
def _topology_places(recording: Recording) -> tuple[TopologyPlace, ...]:
    hyper_nodes = recording.session.hyper_nodes
    roots = [name for name, info in hyper_nodes.by_name.items() if info.parent not in hyper_nodes.by_name]
    visited: dict[str, None] = {}
    return tuple(place for name in sorted(roots) for place in _iter_places_below(hyper_nodes, name, 0, visited))


def _iter_places_below(
    hyper_nodes: HyperNodes, name: str, depth: int, visited: dict[str, None]
) -> Iterator[TopologyPlace]:
    """The HyperNode, its children, and the nodes that belong to no child, depth first."""
    # Members come from the cluster: a HyperNode may have two parents, or be its own ancestor.
    if name in visited:
        return
    visited[name] = None
    yield TopologyPlace(depth, name)
    info = hyper_nodes.by_name[name]
    # real_nodes of a HyperNode include those of its descendants.
    nodes_of_children: dict[NodeName, None] = {}
    for child in sorted(info.children):
        nodes_of_children.update(hyper_nodes.real_nodes.get(child, {}))
        yield from _iter_places_below(hyper_nodes, child, depth + 1, visited)
    for node in hyper_nodes.real_nodes.get(name, {}):
        if node not in nodes_of_children:
            yield TopologyPlace(depth + 1, name, node)


def hypernodes_table(recording: Recording, node: NodeName = "", job: JobId = "", seq: Seq = 0) -> Table:
    """The whole tree; with a job, a column counts its pods at `seq`. The row of `node` is the current one."""
    hyper_nodes = recording.session.hyper_nodes
    # Every session has a virtual top HyperNode, also without any in the cluster.
    if all(name == TOP_HYPER_NODE for name in hyper_nodes.by_name):
        foot = pieces.muted_lines("no HyperNodes in the snapshot: all nodes are equally near to each other")
        return Table("HyperNodes", HYPERNODE_COLUMNS, footer=foot)
    places = _topology_places(recording)
    keys = tuple(place.row_key for place in places)
    current = next((place.row_key for place in places if node and place.node == node), "")
    if job not in recording.session.jobs:
        rows = RowsOnDemand(keys, lambda i: _place_row(recording, places[i]))
        return Table("HyperNodes", HYPERNODE_COLUMNS, rows, tuple(_iter_problem_lines(hyper_nodes)), current=current)
    sits = _pods_by_node(recording, seq, job)
    columns = (*HYPERNODE_COLUMNS, Column(f"pods of {bare_name(job)}"))
    rows = RowsOnDemand(keys, lambda i: _with_pods(_place_row(recording, places[i]), hyper_nodes, places[i], sits))
    return Table("HyperNodes", columns, rows, tuple(_iter_problem_lines(hyper_nodes)), current=current)


def _pods_by_node(recording: Recording, seq: Seq, job: JobId) -> dict[NodeName, int]:
    """Node -> number of a job's pods at an event."""
    state = recording.timeline.state_at(seq)
    nodes = [state.tasks[task.key].node for task in recording.session.jobs[job].tasks.values()]
    return Counter(node for node in nodes if node)


def _with_pods(row: Row, hyper_nodes: HyperNodes, place: TopologyPlace, sits: dict[NodeName, int]) -> Row:
    """The row with the number of the job's pods at or below this place of the tree."""
    nodes = (place.node,) if place.node else tuple(hyper_nodes.real_nodes.get(place.hyper_node, {}))
    pods = sum(sits.get(node, 0) for node in nodes)  # exact: ints
    words = f"{pieces.USED * min(pods, MAX_DRAWN_PODS)} {pods}" if pods else "–"
    return row._replace(cells=(*row.cells, pieces.Piece(words, "accent" if pods else "muted")))


def _iter_problem_lines(hyper_nodes: HyperNodes) -> Iterator[pieces.Line]:
    if not hyper_nodes.ready:
        yield pieces.make_line(pieces.Piece(f"! the topology is not ready: {hyper_nodes.problem}", "warn"))


def _place_row(recording: Recording, place: TopologyPlace) -> Row:
    indent = "  " * place.depth
    hyper_nodes = recording.session.hyper_nodes
    if place.node:
        exists = place.node in recording.session.nodes
        name = (
            pieces.Piece(f"{indent}{place.node}")
            if exists
            else pieces.Piece(f"{indent}! {place.node} does not exist", "warn")
        )
        return Row(
            place.row_key, (name, pieces.Piece(""), pieces.Piece("")), subject=("node", place.node if exists else "")
        )
    info = hyper_nodes.by_name[place.hyper_node]
    tier = f"{info.tier} {info.tier_name}".rstrip()
    nodes = len(hyper_nodes.real_nodes.get(place.hyper_node, {}))
    return Row(
        place.row_key,
        (pieces.Piece(f"{indent}{place.hyper_node}", "strong"), pieces.Piece(tier), pieces.Piece(str(nodes))),
    )
