"""Where a queue's figures come from: its limits, what it deserves, its share; each from what the session held.

Upstream: plugins/proportion, plugins/capacity.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.framework.persistence import limiting_queues
from vcdebug.model.names import QueueName, Seq
from vcdebug.model.queue import ROOT_QUEUE
from vcdebug.model.resource import (
    CPU,
    INFINITY,
    MAX_INT64,
    MEMORY,
    MIN_RESOURCE,
    PODS,
    Resource,
    exceeded_part,
    resource_max,
)
from vcdebug.model.resource import share as fraction
from vcdebug.plugins.capacity import Capacity
from vcdebug.trace.recording import Recording

PROPORTION, CAPACITY = "proportion", "capacity"
SHARERS: Final = (PROPORTION, CAPACITY)
"""Plugins that keep figures of queues."""
ENDLESS: Final = float(MAX_INT64)


class Place(NamedTuple):
    """A queue at its place in the tree."""

    name: QueueName
    depth: int


def sharer(recording: Recording) -> str:
    """The plugin that shares out the cluster; empty where none is configured."""
    return next((name for name in SHARERS if name in recording.timeline.figures), "")


def capacity_tree(recording: Recording) -> Capacity | None:
    """The capacity plugin where its queues are a tree that is in force."""
    plugin = recording.session.plugins.get(CAPACITY)
    return plugin if isinstance(plugin, Capacity) and plugin.tree and plugin.ready and not plugin.endless else None


def spoilt(recording: Recording) -> bool:
    """Whether capacity gave up on its tree of queues: figures stay as they were then, and everything is refused."""
    plugin = recording.session.plugins.get(CAPACITY)
    return isinstance(plugin, Capacity) and plugin.tree and not plugin.ready


def places(recording: Recording) -> tuple[Place, ...]:
    """All queues, children below their parents where capacity knows a tree."""
    plugin = capacity_tree(recording)
    if plugin is None or ROOT_QUEUE not in plugin.queues:
        return tuple(Place(name, 0) for name in recording.session.queues)
    return tuple(_below(plugin, ROOT_QUEUE, 0))


def _below(plugin: Capacity, name: QueueName, depth: int) -> Iterator[Place]:
    yield Place(name, depth)
    for child in sorted(plugin.queues[name].children):
        yield from _below(plugin, child, depth + 1)


def parent_of(recording: Recording, queue: QueueName) -> QueueName | None:
    """The parent in capacity's tree."""
    ancestors = recording.timeline.state_at(0).figure(CAPACITY, queue, "ancestors")
    return ancestors[-1] if isinstance(ancestors, list) and ancestors else None


def dimensions_of(*resources: Resource) -> list[str]:
    """cpu, memory, and the scalars; without pods, volume counts, and what is 0 or endless everywhere."""
    scalars = dict.fromkeys(name for resource in resources for name in resource.scalars or ())
    told = sorted(name for name in scalars if name != PODS and not name.startswith("attachable-volumes"))
    return [CPU, MEMORY, *(name for name in told if any(0 < abs(each.get(name)) < ENDLESS for each in resources))]


# Share


def queue_share(recording: Recording, seq: Seq, queue: QueueName) -> Equation:
    """The share after an event, with the dimension that it comes from."""
    plugin, state = sharer(recording), recording.timeline.state_at(seq)
    deserved, allocated = (state.amount(plugin, queue, figure) for figure in ("deserved", "allocated"))
    names = _shared_names(plugin, deserved)
    parts = [(name, fraction(allocated.get(name), deserved.get(name))) for name in names]
    terms = tuple(Term(name, (allocated.get(name), deserved.get(name), Ratio(part)), None) for name, part in parts)
    value, deciding = 0.0, None
    for name, part in parts:
        if part > value:
            value, deciding = part, name
    if plugin == CAPACITY and deserved.is_empty():
        return Equation(f"share of queue {queue}", "share = 1, as it deserves nothing", (), "dimension", (), 1.0)
    recorded = state.figure(plugin, queue, "share")
    stale = "as it was when the session opened: events of its children do not bring it up to date"
    note = "" if recorded == value else stale
    columns = ("allocated", "deserved", "share")
    value = recorded if isinstance(recorded, float) else value
    formula = "share = the largest of allocated / deserved"
    return Equation(f"share of queue {queue}", formula, columns, "dimension", terms, value, deciding, note)


def _shared_names(plugin: str, deserved: Resource) -> list[str]:
    if plugin == CAPACITY:
        return deserved.resource_names()
    return [name for name, amount in deserved.items() if amount >= MIN_RESOURCE]


# Limits


def real_capability(recording: Recording, queue: QueueName) -> Equation | None:
    """The limit that holds: what guarantees leave of the cluster, or of the parent, within the queue's capability."""
    state, plugin = recording.timeline.state_at(0), sharer(recording)
    if (plugin, queue, "realCapability") not in recording.timeline.opening_books or spoilt(recording):
        return None
    own, capability = (state.amount(plugin, queue, figure) for figure in ("guarantee", "capability"))
    if capacity_tree(recording) is not None and queue == ROOT_QUEUE:
        return _root_capability(capability)
    whole, reserved, source = _above(recording, plugin, queue)
    limited = bool(recording.session.queues[queue].capability) or source != "total"
    within = exceeded_part(whole, reserved).add(own)
    found = within.clone()
    if limited:
        found.min_dimension_resource(capability, INFINITY)
    terms = tuple(
        _limit(name, (whole, reserved, own, within), capability if limited else None, found)
        for name in dimensions_of(whole, found)
    )
    columns = (source, "− guaranteed", "+ own", "= left", "capability", "limit")
    formula = "limit = the smaller of capability and what the guarantees of all leave, with its own"
    title = f"limit of queue {queue} (real capability)"
    return Equation(title, formula, columns, "dimension", terms, found)


def _root_capability(capability: Resource) -> Equation:
    terms = tuple(Term(name, (capability.get(name),), None) for name in dimensions_of(capability))
    formula = "limit = capability; endless where none is stated"
    return Equation("limit of queue root (real capability)", formula, ("limit",), "dimension", terms, capability)


def _above(recording: Recording, plugin: str, queue: QueueName) -> tuple[Resource, Resource, str]:
    """(what is shared out, the guarantees in it, what it is called)."""
    state, tree = recording.timeline.state_at(0), capacity_tree(recording)
    parent = parent_of(recording, queue) if tree is not None else None
    reserved = Resource()
    if tree is None or parent is None:
        for each in recording.session.queues.values():
            reserved.add(Resource.from_list(each.guarantee))
        return state.amount(plugin, "", "total"), reserved, "total"
    for child in sorted(tree.queues[parent].children):
        reserved.add(state.amount(plugin, child, "guarantee"))
    return state.amount(plugin, parent, "realCapability"), reserved, f"{parent}'s"


def _limit(
    name: str, parts: tuple[Resource, Resource, Resource, Resource], capability: Resource | None, found: Resource
) -> Term:
    figures = tuple(part.get(name) for part in parts)
    stated = capability.get(name) if capability is not None and capability.has(name) else None
    if not found.has(name):
        return Term(name, (*figures, stated, None), None, "nothing is left of it")
    by = "capability decides" if stated is not None and stated < figures[-1] else "what is left decides"
    return Term(name, (*figures, stated, found.get(name)), None, by)


# Deserved, as capacity has it


def stated_deserved(recording: Recording, queue: QueueName) -> Equation | None:
    """capacity: what the queue states, within its limit and at least its guarantee."""
    state = recording.timeline.state_at(0)
    if (CAPACITY, queue, "deserved") not in recording.timeline.opening_books or spoilt(recording):
        return None
    tree, title = capacity_tree(recording), f"what queue {queue} deserves"
    if tree is not None and queue == ROOT_QUEUE:
        return _sum_of_children(recording, tree, title)
    stated = Resource.from_list(limiting_queues(recording.session)[queue].deserved)
    limit, guarantee = (state.amount(CAPACITY, queue, figure) for figure in ("realCapability", "guarantee"))
    bounded = stated.clone()
    if tree is None:
        bounded.min_dimension_resource(limit, INFINITY)
    found = resource_max(bounded, guarantee)
    parts = (stated, limit, guarantee, found) if tree is None else (stated, guarantee, found)
    names = dimensions_of(*parts[:1], guarantee, found)
    terms = tuple(Term(name, tuple(part.get(name) for part in parts), None, _raised(name, parts)) for name in names)
    capped = "min(stated, limit)" if tree is None else "stated"
    columns = ("stated", *(("limit",) if tree is None else ()), "guarantee", "deserved")
    return Equation(title, f"deserved = max({capped}, guarantee)", columns, "dimension", terms, found)


def _raised(name: str, parts: tuple[Resource, ...]) -> str:
    stated, guarantee, found = parts[0].get(name), parts[-2].get(name), parts[-1].get(name)
    if found == stated:
        return "as stated"
    return "the guarantee decides" if found == guarantee else "the limit decides"


def _sum_of_children(recording: Recording, tree: Capacity, title: str) -> Equation:
    state, total = recording.timeline.state_at(0), Resource()
    children = sorted(tree.queues[ROOT_QUEUE].children)
    for child in children:
        total.add(state.amount(CAPACITY, child, "deserved"))
    terms = tuple(
        Term(
            name, (*(state.amount(CAPACITY, child, "deserved").get(name) for child in children), total.get(name)), None
        )
        for name in dimensions_of(total)
    )
    return Equation(title, "deserved = the sum of its children's", (*children, "deserved"), "dimension", terms, total)
