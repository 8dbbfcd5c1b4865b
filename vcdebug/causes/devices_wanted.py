"""What stands behind a refusal for resource claims: how many devices of the kind there are, and how many are free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import listed, plural
from vcdebug.causes.wishes import Obstacle
from vcdebug.explain.answer import cluster, owner, sharers
from vcdebug.explain.node_fit import NodeFits
from vcdebug.kube.dynamic_resources import ClaimState, DynamicResources
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.plugins.predicates import Predicates
from vcdebug.plugins.predicates.volume_filters import DynamicResourcesFilter

if TYPE_CHECKING:
    from vcdebug.kube.devices.allocator import Candidates

UNSETTLED: Final = ("resource pool", "is invalid: duplicate device name")
"""What upstream says of pools that a driver is writing, or has written wrongly."""


def devices_wanted(room: NodeFits) -> Iterator[Obstacle]:
    """Each request of a claim that no node has enough free devices for, and the node that has most."""
    check, state = _asked(room)
    if check is None or state is None:
        return
    yield from (_obstacle(one, node, check.holders(one.busy)) for one, node in _short(room, check, state))


def devices_held(room: NodeFits) -> bool:
    """Whether some claim waits only for devices that others hold: they come back."""
    check, state = _asked(room)
    if check is None or state is None:
        return False
    short = _short(room, check, state)
    return bool(short) and all(one.matching >= _least(one) for one, _ in short)


def pools_unsettled(reasons: Iterable[str]) -> bool:
    """Whether some pool is not to be relied on now: its driver writes it again."""
    return any(words in reason for reason in reasons for words in UNSETTLED)


def _short(room: NodeFits, check: DynamicResources, state: ClaimState) -> list[tuple[Candidates, NodeName]]:
    """The requests that no node has enough free devices for, each with the node that has most."""
    best: dict[str, tuple[Candidates, NodeName]] = {}
    for node, one in _candidates(room, check, state):
        name = f"{one.claim} {one.request}"
        if name not in best or _more(one, best[name][0]):
            best[name] = one, node
    return [(one, node) for one, node in best.values() if one.free < _least(one)]


def _least(one: Candidates) -> int:
    return one.wanted or 1


def _more(one: Candidates, other: Candidates) -> bool:
    """A node that had enough if only they were free comes before one that never has."""
    return (one.matching >= _least(one), one.free, one.matching) > (
        other.matching >= _least(other),
        other.free,
        other.matching,
    )


def _obstacle(one: Candidates, node: NodeName, holders: Sequence[TaskKey]) -> Obstacle:
    many = "all devices" if one.wanted is None else plural(one.wanted, "device")
    asks = f"its claim {one.claim} asks for {many} (request {one.request})"
    if not one.matching:
        look = owner("look at the selectors of the claim and of its class, and at the ResourceSlices of the nodes")
        return Obstacle(f"{asks}: no node has a device of the kind", (look,))
    if one.matching < _least(one):
        most = f"no node has more than {one.matching} of the kind, as {node} has"
        fewer = owner(f"ask for {plural(one.matching, 'device')} at most, or for devices of another kind")
        return Obstacle(f"{asks}: {most}", (fewer, cluster(f"add devices of the kind to {node} or to another node")))
    rest = f" (the rest is held by {listed(holders)})" if holders else ""
    there = f"{one.free} of {one.matching} of the kind are free on {node}{rest}, and no node has more"
    by = f", held by {listed(holders)}" if holders else ""
    return Obstacle(f"{asks}: {there}", (sharers(f"free devices on {node}{by}"),))


def _asked(room: NodeFits) -> tuple[DynamicResources | None, ClaimState | None]:
    """What judges claims, and what it knows of the task's."""
    session = room.view.session
    plugin = session.plugins.get(Predicates.name)
    if not isinstance(plugin, Predicates) or not room.task.pod.spec.get("resourceClaims"):
        return None, None
    state = session.cycle_state(room.task).data.get(DynamicResourcesFilter.STATE)
    return plugin.claims, state if isinstance(state, ClaimState) else None


def _candidates(room: NodeFits, check: DynamicResources, state: ClaimState) -> Iterator[tuple[NodeName, Candidates]]:
    session = room.view.session
    for node in room.nodes:
        labels = session.nodes[node.name].labels
        yield from ((node.name, one) for one in check.candidates(state, labels, node.name))
