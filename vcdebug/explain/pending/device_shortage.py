"""What stands behind a refusal for resource claims: how many devices of the kind there are, and how many are free."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import count_noun, join_names
from vcdebug.explain.answer import cluster_admin_advice, owner_advice, queue_admin_advice
from vcdebug.explain.node_fit import NodeFits, card_shortage, npu_parts_request
from vcdebug.explain.pending.placement_constraints import ConstraintFailure
from vcdebug.grouping import group_by_key
from vcdebug.kube.dynamic_resources import ClaimState, DynamicResources
from vcdebug.model.names import NodeName, TaskKey
from vcdebug.plugins.predicates import Predicates
from vcdebug.plugins.predicates.volume_filters import DynamicResourcesFilter

if TYPE_CHECKING:
    from vcdebug.kube.devices.allocator import RequestCandidates
    from vcdebug.model.devices.card_states import CardOverview
    from vcdebug.model.node import NodeInfo


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


# What stands behind a refusal for shared cards: too few of them, or what each of them lacks.

CARD_REFUSALS: Final = ("hami-vgpuDeviceSharing error", "no ascend device available", "no enough gpu")
"""What ledgers say, whatever their cards lack."""


def find_card_shortages(room: NodeFits) -> Iterator[ConstraintFailure]:
    """Nodes with too few cards, parts that nobody is given, and cards of which none would do."""
    yield from _too_few_cards(room)
    yield from _parts_of_npus(room)
    yield from _unsuitable_cards(room)


def _too_few_cards(room: NodeFits) -> Iterator[ConstraintFailure]:
    lacking = [(card_shortage(room.view.session.nodes[node.name], room.task), node.name) for node in room.node_fits]
    short = group_by_key((cards, name) for cards, name in lacking if cards is not None)
    for (have, asked, who), names in short.items():
        verb = "has" if len(names) == 1 else "have"
        per = (
            f"{count_noun(have, 'NPU')} per pod" if "NPU" in who else f"{count_noun(have, 'virtual GPU')} per container"
        )
        yield ConstraintFailure(
            f"{who} from another physical card: {join_names(names)} {verb} "
            f"{count_noun(have, 'card')}, {asked} asked, however many slices are free",
            (
                owner_advice(f"ask for {per}, with more memory or cores of it"),
                cluster_admin_advice(f"add a node with {count_noun(asked, 'card')}"),
            ),
        )


def _parts_of_npus(room: NodeFits) -> Iterator[ConstraintFailure]:
    parts = (npu_parts_request(room.view.session.nodes[node.name], room.task) for node in room.node_fits)
    for number, memory in dict.fromkeys(one for one in parts if one is not None):
        yield ConstraintFailure(
            f"a container asks for {number} NPUs and for a part of each (memory {memory}): parts are given of one only",
            (owner_advice("ask for one NPU per container, or for all of their memory"),),
        )


def _unsuitable_cards(room: NodeFits) -> Iterator[ConstraintFailure]:
    """Nodes where no card would do, as the cycle leaves them, by what their cards lack."""
    refused = dict.fromkeys(node.name for said in CARD_REFUSALS for node in room.refused_for(said))
    drawings = ((drawing, name) for name in refused for drawing in _draw_cards(room, room.view.session.nodes[name]))
    none_does = group_by_key(
        ((drawing.asks, _format_lacks(drawing)), name) for drawing, name in drawings if not _has_suitable_card(drawing)
    )
    for (asks, lacks), names in none_does.items():
        yield ConstraintFailure(
            f"asks for {asks}: none of the cards of {join_names(names)} would do ({lacks})",
            (
                queue_admin_advice(f"free a card of {join_names(names, 1)}"),
                owner_advice("ask for less of a card, or for another kind of cards"),
            ),
        )


def _draw_cards(room: NodeFits, node: NodeInfo) -> Iterator[CardOverview]:
    from vcdebug.model.devices.card_states import card_overview

    pod = room.task.pod
    yield from (card_overview(ledger, pod) for ledger in node.devices.values() if ledger.has_device_request(pod))


def _has_suitable_card(drawing: CardOverview) -> bool:
    """Or they are not the obstacle: parts of several cards are told of apart."""
    from vcdebug.model.devices.card_states import PARTIAL_CARDS

    return not drawing.cards or any(card.suits or card.why == PARTIAL_CARDS for card in drawing.cards)


def _format_lacks(drawing: CardOverview) -> str:
    """How many cards lack what."""
    return "; ".join(
        f"{count_noun(number, 'card')}: {why}" for why, number in Counter(c.why for c in drawing.cards).items()
    )
