"""What stands behind a refusal for resource claims: how many devices of the kind there are, and how many are free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import count_noun, join_names
from vcdebug.causes.wishes import ConstraintFailure
from vcdebug.explain.answer import cluster_admin_advice, owner_advice, queue_admin_advice
from vcdebug.explain.node_fit import NodeFits
from vcdebug.kube.dynamic_resources import ClaimState, DynamicResources
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.plugins.predicates import Predicates
from vcdebug.plugins.predicates.volume_filters import DynamicResourcesFilter

if TYPE_CHECKING:
    from vcdebug.kube.devices.allocator import RequestCandidates

UNSETTLED_POOL_REASONS: Final = ("resource pool", "is invalid: duplicate device name")
"""What upstream says of pools that a driver is writing, or has written wrongly."""


def find_device_shortages(room: NodeFits) -> Iterator[ConstraintFailure]:
    """Each request of a claim that no node has enough free devices for, and the node that has most."""
    check, state = _claims_of_task(room)
    if check is None or state is None:
        return
    yield from (
        _device_failure(one, node, check.device_holders(one.busy_devices))
        for one, node in _unmet_requests(room, check, state)
    )


def are_devices_held(room: NodeFits) -> bool:
    """Whether some claim waits only for devices that others hold: they come back."""
    check, state = _claims_of_task(room)
    if check is None or state is None:
        return False
    short = _unmet_requests(room, check, state)
    return bool(short) and all(one.matching_count >= _required_count(one) for one, _ in short)


def is_pool_unsettled(reasons: Iterable[str]) -> bool:
    """Whether some pool is not to be relied on now: its driver writes it again."""
    return any(words in reason for reason in reasons for words in UNSETTLED_POOL_REASONS)


def _unmet_requests(
    room: NodeFits, check: DynamicResources, state: ClaimState
) -> list[tuple[RequestCandidates, NodeName]]:
    """The requests that no node has enough free devices for, each with the node that has most."""
    best: dict[str, tuple[RequestCandidates, NodeName]] = {}
    for node, one in _candidates_by_node(room, check, state):
        name = f"{one.claim} {one.request}"
        if name not in best or _is_better(one, best[name][0]):
            best[name] = one, node
    return [(one, node) for one, node in best.values() if one.free_count < _required_count(one)]


def _required_count(one: RequestCandidates) -> int:
    return one.wanted or 1


def _is_better(one: RequestCandidates, other: RequestCandidates) -> bool:
    """A node that had enough if only they were free comes before one that never has."""
    return (one.matching_count >= _required_count(one), one.free_count, one.matching_count) > (
        other.matching_count >= _required_count(other),
        other.free_count,
        other.matching_count,
    )


def _device_failure(one: RequestCandidates, node: NodeName, holders: Sequence[TaskKey]) -> ConstraintFailure:
    many = "all devices" if one.wanted is None else count_noun(one.wanted, "device")
    asks = f"its claim {one.claim} asks for {many} (request {one.request})"
    if not one.matching_count:
        look = owner_advice(
            "look at the selectors of the claim and of its class, and at the ResourceSlices of the nodes"
        )
        return ConstraintFailure(f"{asks}: no node has a device of the kind", (look,))
    if one.matching_count < _required_count(one):
        most = f"no node has more than {one.matching_count} of the kind, as {node} has"
        fewer = owner_advice(
            f"ask for {count_noun(one.matching_count, 'device')} at most, or for devices of another kind"
        )
        return ConstraintFailure(
            f"{asks}: {most}", (fewer, cluster_admin_advice(f"add devices of the kind to {node} or to another node"))
        )
    rest = f" (the rest is held by {join_names(holders)})" if holders else ""
    there = f"{one.free_count} of {one.matching_count} of the kind are free on {node}{rest}, and no node has more"
    by = f", held by {join_names(holders)}" if holders else ""
    return ConstraintFailure(f"{asks}: {there}", (queue_admin_advice(f"free devices on {node}{by}"),))


def _claims_of_task(room: NodeFits) -> tuple[DynamicResources | None, ClaimState | None]:
    """What judges claims, and what it knows of the task's."""
    session = room.view.session
    plugin = session.plugins.get(Predicates.name)
    if not isinstance(plugin, Predicates) or not room.task.pod.spec.get("resourceClaims"):
        return None, None
    state = session.cycle_state(room.task).data.get(DynamicResourcesFilter.STATE)
    return plugin.claim_filter, state if isinstance(state, ClaimState) else None


def _candidates_by_node(
    room: NodeFits, check: DynamicResources, state: ClaimState
) -> Iterator[tuple[NodeName, RequestCandidates]]:
    session = room.view.session
    for node in room.node_fits:
        labels = session.nodes[node.name].labels
        yield from ((node.name, one) for one in check.request_candidates(state, labels, node.name))
