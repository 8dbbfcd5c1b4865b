"""What stands behind a refusal for shared cards: too few of them, or what each of them lacks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from vcdebug.amount_text import listed, plural
from vcdebug.causes.wishes import Obstacle
from vcdebug.explain.answer import cluster, owner, sharers
from vcdebug.explain.node_fit import NodeFits, cards_short, npu_parts
from vcdebug.grouping import by_key

if TYPE_CHECKING:
    from vcdebug.model.devices.drawn import Drawing
    from vcdebug.model.node import NodeInfo

REFUSALS: Final = ("hami-vgpuDeviceSharing error", "no ascend device available", "no enough gpu")
"""What ledgers say, whatever their cards lack."""


def cards_wanted(room: NodeFits) -> Iterator[Obstacle]:
    """Nodes with too few cards, parts that nobody is given, and cards of which none would do."""
    yield from _too_few(room)
    yield from _parts_of_npus(room)
    yield from _unsuitable(room)


def _too_few(room: NodeFits) -> Iterator[Obstacle]:
    lacking = [(cards_short(room.view.session.nodes[node.name], room.task), node.name) for node in room.nodes]
    short = by_key((cards, name) for cards, name in lacking if cards is not None)
    for (have, asked, who), names in short.items():
        verb = "has" if len(names) == 1 else "have"
        per = f"{plural(have, 'NPU')} per pod" if "NPU" in who else f"{plural(have, 'virtual GPU')} per container"
        yield Obstacle(
            f"{who} from another physical card: {listed(names)} {verb} "
            f"{plural(have, 'card')}, {asked} asked, however many slices are free",
            (
                owner(f"ask for {per}, with more memory or cores of it"),
                cluster(f"add a node with {plural(asked, 'card')}"),
            ),
        )


def _parts_of_npus(room: NodeFits) -> Iterator[Obstacle]:
    parts = (npu_parts(room.view.session.nodes[node.name], room.task) for node in room.nodes)
    for number, memory in dict.fromkeys(one for one in parts if one is not None):
        yield Obstacle(
            f"a container asks for {number} NPUs and for a part of each (memory {memory}): parts are given of one only",
            (owner("ask for one NPU per container, or for all of their memory"),),
        )


def _unsuitable(room: NodeFits) -> Iterator[Obstacle]:
    """Nodes where no card would do, as the cycle leaves them, by what their cards lack."""
    refused = dict.fromkeys(node.name for said in REFUSALS for node in room.refused_for(said))
    drawings = ((drawing, name) for name in refused for drawing in _drawn(room, room.view.session.nodes[name]))
    none_does = by_key(((drawing.asks, _lacks(drawing)), name) for drawing, name in drawings if not _one_does(drawing))
    for (asks, lacks), names in none_does.items():
        yield Obstacle(
            f"asks for {asks}: none of the cards of {listed(names)} would do ({lacks})",
            (
                sharers(f"free a card of {listed(names, 1)}"),
                owner("ask for less of a card, or for another kind of cards"),
            ),
        )


def _drawn(room: NodeFits, node: NodeInfo) -> Iterator[Drawing]:
    from vcdebug.model.devices.drawn import drawn

    pod = room.task.pod
    yield from (drawn(ledger, pod) for ledger in node.devices.values() if ledger.has_request(pod))


def _one_does(drawing: Drawing) -> bool:
    """Or they are not the obstacle: parts of several cards are told of apart."""
    from vcdebug.model.devices.drawn import PARTS

    return not drawing.cards or any(card.suits or card.why == PARTS for card in drawing.cards)


def _lacks(drawing: Drawing) -> str:
    """How many cards lack what."""
    return "; ".join(
        f"{plural(number, 'card')}: {why}" for why, number in Counter(c.why for c in drawing.cards).items()
    )
