"""The network topology: HyperNodes as a tree, with their tiers and nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple

from vcdebug.model.hypernode import TOP_HYPER_NODE, HyperNodes
from vcdebug.model.names import JobId, NodeName, Seq
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording
from vcdebug.views.base import Column, Line, OnDemand, Piece, Row, Table, line, muted
from vcdebug.views.names import bare
from vcdebug.views.pictures import STAYS

COLUMNS = (Column("hypernode", flexible=True, least=20), Column("tier"), Column("nodes", right=True))


MOST_DRAWN: Final = 24


class Place(NamedTuple):
    """One line of the tree: a HyperNode, or a node directly in one."""

    depth: int
    hyper_node: str
    node: NodeName = ""

    @property
    def key(self) -> str:
        """The key of a row, by which the cursor finds it again at another event."""
        return f"{self.hyper_node} {self.node}".rstrip()


@per_recording()
def _tree(recording: Recording) -> tuple[Place, ...]:
    found = recording.session.hyper_nodes
    roots = [name for name, info in found.by_name.items() if info.parent not in found.by_name]
    seen: dict[str, None] = {}
    return tuple(place for name in sorted(roots) for place in _below(found, name, 0, seen))


def _below(found: HyperNodes, name: str, depth: int, seen: dict[str, None]) -> Iterator[Place]:
    """The HyperNode, its children, and the nodes that are in none of them."""
    if name in seen:
        return
    seen[name] = None
    yield Place(depth, name)
    info = found.by_name[name]
    held: dict[NodeName, None] = {}
    for child in sorted(info.children):
        held.update(found.real_nodes.get(child, {}))
        yield from _below(found, child, depth + 1, seen)
    for node in found.real_nodes.get(name, {}):
        if node not in held:
            yield Place(depth + 1, name, node)


def hypernodes(recording: Recording, node: NodeName = "", job: JobId = "", seq: Seq = 0) -> Table:
    """The whole tree, with where a job's pods sit; the present node's row is the current one."""
    found = recording.session.hyper_nodes
    if all(name == TOP_HYPER_NODE for name in found.by_name):
        foot = (line(muted("no HyperNodes in the snapshot: all nodes are equally near to each other")),)
        return Table("HyperNodes", COLUMNS, foot=foot)
    places = _tree(recording)
    keys = tuple(place.key for place in places)
    current = next((place.key for place in places if node and place.node == node), "")
    if job not in recording.session.jobs:
        rows = OnDemand(keys, lambda i: _row(recording, places[i]))
        return Table("HyperNodes", COLUMNS, rows, tuple(_trouble(found)), current=current)
    sits = _sits(recording, seq, job)
    columns = (*COLUMNS, Column(f"pods of {bare(job)}"))
    rows = OnDemand(keys, lambda i: _with_pods(_row(recording, places[i]), found, places[i], sits))
    return Table("HyperNodes", columns, rows, tuple(_trouble(found)), current=current)


def _sits(recording: Recording, seq: Seq, job: JobId) -> dict[NodeName, int]:
    """How many pods of a job each node holds at an event."""
    state = recording.timeline.state_at(seq)
    nodes = [state.tasks[task.key].node for task in recording.session.jobs[job].tasks.values()]
    return Counter(node for node in nodes if node)


def _with_pods(row: Row, found: HyperNodes, place: Place, sits: dict[NodeName, int]) -> Row:
    """A sign for each pod at or below this place."""
    nodes = (place.node,) if place.node else tuple(found.real_nodes.get(place.hyper_node, {}))
    pods = sum(sits.get(node, 0) for node in nodes)  # exact: ints
    words = f"{STAYS * min(pods, MOST_DRAWN)} {pods}" if pods else "–"
    return row._replace(cells=(*row.cells, Piece(words, "accent" if pods else "muted")))


def _trouble(found: HyperNodes) -> Iterator[Line]:
    if not found.ready:
        yield line(Piece(f"! the topology is not ready: {found.problem}", "warn"))


def _row(recording: Recording, place: Place) -> Row:
    indent = "  " * place.depth
    found = recording.session.hyper_nodes
    if place.node:
        known = place.node in recording.session.nodes
        name = Piece(f"{indent}{place.node}") if known else Piece(f"{indent}! {place.node} does not exist", "warn")
        return Row(place.key, (name, Piece(""), Piece("")), subject=("node", place.node if known else ""))
    info = found.by_name[place.hyper_node]
    tier = f"{info.tier} {info.tier_name}".rstrip()
    nodes = len(found.real_nodes.get(place.hyper_node, {}))
    return Row(place.key, (Piece(f"{indent}{place.hyper_node}", "strong"), Piece(tier), Piece(str(nodes))))
