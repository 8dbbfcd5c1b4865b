"""The panel HyperNodes: the network topology as a tree of tiers and nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from vcdebug.model.hyper_nodes import TOP_HYPER_NODE, HyperNodes
from vcdebug.model.names import JobId, NodeName, Seq
from vcdebug.recording.recording import Recording, per_recording
from vcdebug.views.bars import STAYS
from vcdebug.views.headline import bare_name
from vcdebug.views.pieces import Line, Piece, make_line, muted_piece
from vcdebug.views.table import Column, Row, RowsOnDemand, Table

HYPERNODE_COLUMNS = (Column("hypernode", flexible=True, least=20), Column("tier"), Column("nodes", right=True))
MAX_DRAWN_PODS: Final = 24


class TopologyPlace(NamedTuple):
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
    found = recording.session.hyper_nodes
    roots = [name for name, info in found.by_name.items() if info.parent not in found.by_name]
    seen: dict[str, None] = {}
    return tuple(place for name in sorted(roots) for place in _iter_places_below(found, name, 0, seen))


def _iter_places_below(found: HyperNodes, name: str, depth: int, seen: dict[str, None]) -> Iterator[TopologyPlace]:
    """The HyperNode, its children, and its nodes outside of these children."""
    # Members come from the cluster: a HyperNode may have two parents, or be its own ancestor.
    if name in seen:
        return
    seen[name] = None
    yield TopologyPlace(depth, name)
    info = found.by_name[name]
    # real_nodes of a HyperNode include those of its descendants.
    held: dict[NodeName, None] = {}
    for child in sorted(info.children):
        held.update(found.real_nodes.get(child, {}))
        yield from _iter_places_below(found, child, depth + 1, seen)
    for node in found.real_nodes.get(name, {}):
        if node not in held:
            yield TopologyPlace(depth + 1, name, node)


def hypernodes_table(recording: Recording, node: NodeName = "", job: JobId = "", seq: Seq = 0) -> Table:
    """The whole tree; with a job, a column counts its pods at `seq`. The row of `node` is the current one."""
    found = recording.session.hyper_nodes
    # Every session has a virtual top HyperNode, also without any in the cluster.
    if all(name == TOP_HYPER_NODE for name in found.by_name):
        foot = (make_line(muted_piece("no HyperNodes in the snapshot: all nodes are equally near to each other")),)
        return Table("HyperNodes", HYPERNODE_COLUMNS, foot=foot)
    places = _topology_places(recording)
    keys = tuple(place.row_key for place in places)
    current = next((place.row_key for place in places if node and place.node == node), "")
    if job not in recording.session.jobs:
        rows = RowsOnDemand(keys, lambda i: _place_row(recording, places[i]))
        return Table("HyperNodes", HYPERNODE_COLUMNS, rows, tuple(_iter_problem_lines(found)), current=current)
    sits = _pods_by_node(recording, seq, job)
    columns = (*HYPERNODE_COLUMNS, Column(f"pods of {bare_name(job)}"))
    rows = RowsOnDemand(keys, lambda i: _with_pods(_place_row(recording, places[i]), found, places[i], sits))
    return Table("HyperNodes", columns, rows, tuple(_iter_problem_lines(found)), current=current)


def _pods_by_node(recording: Recording, seq: Seq, job: JobId) -> dict[NodeName, int]:
    """Node -> number of a job's pods at an event."""
    state = recording.timeline.state_at(seq)
    nodes = [state.tasks[task.key].node for task in recording.session.jobs[job].tasks.values()]
    return Counter(node for node in nodes if node)


def _with_pods(row: Row, found: HyperNodes, place: TopologyPlace, sits: dict[NodeName, int]) -> Row:
    """The row with the number of pods at or below its place."""
    nodes = (place.node,) if place.node else tuple(found.real_nodes.get(place.hyper_node, {}))
    pods = sum(sits.get(node, 0) for node in nodes)  # exact: ints
    words = f"{STAYS * min(pods, MAX_DRAWN_PODS)} {pods}" if pods else "–"
    return row._replace(cells=(*row.cells, Piece(words, "accent" if pods else "muted")))


def _iter_problem_lines(found: HyperNodes) -> Iterator[Line]:
    if not found.ready:
        yield make_line(Piece(f"! the topology is not ready: {found.problem}", "warn"))


def _place_row(recording: Recording, place: TopologyPlace) -> Row:
    indent = "  " * place.depth
    found = recording.session.hyper_nodes
    if place.node:
        known = place.node in recording.session.nodes
        name = Piece(f"{indent}{place.node}") if known else Piece(f"{indent}! {place.node} does not exist", "warn")
        return Row(place.row_key, (name, Piece(""), Piece("")), subject=("node", place.node if known else ""))
    info = found.by_name[place.hyper_node]
    tier = f"{info.tier} {info.tier_name}".rstrip()
    nodes = len(found.real_nodes.get(place.hyper_node, {}))
    return Row(place.row_key, (Piece(f"{indent}{place.hyper_node}", "strong"), Piece(tier), Piece(str(nodes))))
