"""Which dimension runs out where: for a pass over nodes, how many lack how much of what a task asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vcdebug.explain.state_before import before, task_of
from vcdebug.framework.record import PredicateEvent
from vcdebug.model.names import NodeName, Seq
from vcdebug.model.resource import at_most
from vcdebug.trace.memo import per_recording
from vcdebug.trace.recording import Recording


class Short(NamedTuple):
    """One node that lacks something of one dimension."""

    node: NodeName
    has: float
    """Future idle: idle + releasing - pipelined."""
    lacks: float


class Exhausted(NamedTuple):
    """One dimension over all nodes that were visited."""

    dimension: str
    request: float
    nodes: tuple[Short, ...]
    """Those that lack it, the one that lacks least first."""
    visited: int
    most: float
    """The most that any of them has."""

    def of(self, node: NodeName) -> Short | None:
        """What one node lacks."""
        return next((short for short in self.nodes if short.node == node), None)


def visited_rows(event: PredicateEvent) -> list[int]:
    """Rows that the pass looked at, ascending."""
    return sorted([*event.feasible.tolist(), *event.failed.tolist()])


@per_recording(most=16)
def exhausted(recording: Recording, seq: Seq) -> Sequence[Exhausted]:
    """Dimensions that some visited node lacks before the pass, the one that most of them lack first."""
    event = recording.event(seq)
    assert isinstance(event, PredicateEvent)
    state = before(recording, seq)
    names = [recording.node_names[row] for row in visited_rows(event)]
    futures = {name: state.nodes[name].future_idle() for name in names}
    found = []
    for dimension, request in task_of(recording, event.task).init_resreq.items():
        amounts = {name: future.get(dimension) for name, future in futures.items()}
        lacking = [Short(name, has, request - has) for name, has in amounts.items() if not at_most(request, has)]
        if lacking:
            nodes = tuple(sorted(lacking, key=lambda short: short.lacks))
            found.append(Exhausted(dimension, request, nodes, len(names), max(amounts.values())))
    return sorted(found, key=lambda each: -len(each.nodes))
