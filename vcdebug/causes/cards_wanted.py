"""What stands behind a refusal for shared cards: too few of them, or what each of them lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import count_noun, join_names
from vcdebug.causes.wishes import ConstraintFailure
from vcdebug.explain.answer import cluster_admin_advice, owner_advice, queue_admin_advice
from vcdebug.explain.node_fit import NodeFits, card_shortage, npu_parts_request
from vcdebug.grouping import group_by_key

if TYPE_CHECKING:
    from vcdebug.model.devices.drawn import CardOverview
    from vcdebug.model.node import NodeInfo

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
    from vcdebug.model.devices.drawn import card_overview

    pod = room.task.pod
    yield from (card_overview(ledger, pod) for ledger in node.devices.values() if ledger.has_device_request(pod))


def _has_suitable_card(drawing: CardOverview) -> bool:
    """Or they are not the obstacle: parts of several cards are told of apart."""
    from vcdebug.model.devices.drawn import PARTIAL_CARDS

    return not drawing.cards or any(card.suits or card.why == PARTIAL_CARDS for card in drawing.cards)


def _format_lacks(drawing: CardOverview) -> str:
    """How many cards lack what."""
    return "; ".join(
        f"{count_noun(number, 'card')}: {why}" for why, number in Counter(c.why for c in drawing.cards).items()
    )
