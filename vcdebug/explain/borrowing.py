"""Queues that lack what they deserve, beside those that hold more than they deserve, dimension by dimension."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vcdebug.explain.queues import CAPACITY, capacity_tree, dimensions_of, sharer
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.resource import MIN_RESOURCE, Resource
from vcdebug.trace.recording import Recording
from vcdebug.trace.timeline import ClusterState


class Pair(NamedTuple):
    """A starved queue and one that holds too much of what it lacks."""

    starved: QueueName
    above: QueueName
    """Empty where nobody holds more than it deserves."""
    dimension: str
    lacks: float
    """Up to what it deserves, as far as it asks for it."""
    surplus: float
    """What the other one holds beyond what it deserves."""
    reclaimable: bool


def pairs(recording: Recording, seq: Seq) -> tuple[Pair, ...]:
    """Every pair after an event, the largest lack first within a queue's dimensions."""
    plugin, state = sharer(recording), recording.timeline.state_at(seq)
    names = [name for name in recording.timeline.figures.get(plugin, {}) if name and _is_leaf(recording, name)]
    return tuple(pair for name in names for pair in _of(recording, state, plugin, name, names))


def _is_leaf(recording: Recording, queue: QueueName) -> bool:
    tree = capacity_tree(recording)
    return tree is None or queue not in tree.queues or not tree.queues[queue].children


def _of(
    recording: Recording, state: ClusterState, plugin: str, queue: QueueName, names: list[QueueName]
) -> Iterator[Pair]:
    deserved, allocated, request = (
        state.amount(plugin, queue, figure) for figure in ("deserved", "allocated", "request")
    )
    for dimension in dimensions_of(deserved, request):
        wanted = min(deserved.get(dimension), request.get(dimension))
        lacks = wanted - allocated.get(dimension)
        if lacks < MIN_RESOURCE:
            continue
        rich = [(name, _surplus(state, plugin, name, dimension)) for name in names if name != queue]
        above = sorted(((name, more) for name, more in rich if more >= MIN_RESOURCE), key=lambda entry: -entry[1])
        for name, more in above:
            yield Pair(queue, name, dimension, lacks, more, recording.session.queues[name].reclaimable)
        if not above:
            yield Pair(queue, "", dimension, lacks, 0.0, reclaimable=False)


def _surplus(state: ClusterState, plugin: str, queue: QueueName, dimension: str) -> float:
    deserved, allocated = (state.amount(plugin, queue, figure) for figure in ("deserved", "allocated"))
    return surplus(plugin, deserved, allocated, dimension)


def surplus(plugin: str, deserved: Resource, allocated: Resource, dimension: str) -> float:
    """What is held beyond what is deserved; capacity passes over dimensions in which nothing is deserved."""
    if plugin == CAPACITY and not deserved.states(dimension):
        return 0.0
    return allocated.get(dimension) - deserved.get(dimension)
