"""deviceshare: the node's cards, what pods hold of them, and what the pod asks for.

Upstream: plugins/deviceshare, api/devices.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from vcdebug.amount_text import count_noun, format_number, join_names
from vcdebug.explain.answer import (
    AdviceHarm,
    ConstraintFailure,
    cluster_admin_advice,
    outside_advice,
    owner_advice,
    queue_admin_advice,
)
from vcdebug.explain.equation import Equation, Ratio, Term
from vcdebug.explain.node_fit import NodeFits, card_shortage, npu_parts_request
from vcdebug.explain.plugins import AskedNode, PluginExplainer
from vcdebug.grouping import group_by_key
from vcdebug.model.devices import DeviceLedger
from vcdebug.model.devices.card_states import PARTIAL_CARDS, CardOverview, CardState, card_overview
from vcdebug.model.devices.hami_ascend import HamiAscendLedger
from vcdebug.model.devices.vgpu import REGISTER_ANNOTATION
from vcdebug.model.devices.vgpu_annotations import MEMORY_SHORT
from vcdebug.model.node import NodeInfo
from vcdebug.plugins.deviceshare import Deviceshare
from vcdebug.snapshot.manifest import annotations_of

BAR_WIDTH: Final = 12


def cards_equation(asked: AskedNode, name: str, found: CardOverview, refusal: str | None) -> Equation:
    """One line per card."""
    terms = tuple(Term(card.name, _card_figures(card), card.suits, _holders_note(card)) for card in found.cards)
    title = f"{name} cards of {asked.node.name} for {asked.task.key}"
    columns = ("memory", "used", "of", "cores", "users", "at most")
    return Equation(title, f"asks for {found.asks}", columns, "check", terms, refusal is None, None, refusal or "")


def _card_figures(card: CardState) -> tuple[str, int, int, int | None, int, int | None]:
    """Memory as a bar and in figures; cores and the number of users where the card counts them."""
    filled = min(BAR_WIDTH, round(BAR_WIDTH * card.used_memory / card.memory)) if card.memory else 0
    bar = "█" * filled + "░" * (BAR_WIDTH - filled)
    virtual = card.most_users > 0
    cores, most = (card.used_cores, card.most_users) if virtual else (None, None)
    return bar, card.used_memory, card.memory, cores, card.users, most


def _holders_note(card: CardState) -> str:
    held = f"held by {', '.join(card.pods)}" if card.pods else ""
    return "; ".join(words for words in (card.why, held) if words)


FORMULA = "sum of what the ledgers score for the cards that they would give, rounded, × weight"


def score_equation(asked: AskedNode, part: str) -> Equation | None:
    """One line per kind of device; nothing for the scores that only Ascend devices get."""
    plugin = asked.plugin_of_kind(Deviceshare)
    if part.endswith("/batch"):
        return None
    ledgers = (
        {name: ledger.clone() for name, ledger in asked.node.devices.items()}
        if plugin.device_settings.weight > 0
        else {}
    )
    found = plugin.device_scores(asked.pod, ledgers)
    total = 0.0
    for _, score in found:
        total = total + score
    verdict = plugin.weighted_score(total) if found else 0.0
    terms = tuple(Term(name, (Ratio(score),), None, _score_note(ledgers[name])) for name, score in found)
    note = f"weight {plugin.device_settings.weight}: {format_number(verdict)}"
    return Equation(f"deviceshare on {asked.node.name}", FORMULA, ("score",), "check", terms, verdict, None, note)


def _score_note(ledger: DeviceLedger) -> str:
    npus = isinstance(ledger, HamiAscendLedger)
    return (
        "by the use of the first card of each container" if npus else "as the last pod that passed its filter left it"
    )


def check_equations(asked: AskedNode) -> Iterator[Equation]:
    """The cards of each ledger that the pod asks."""
    policy = asked.plugin_of_kind(Deviceshare).device_settings.policy
    for name, ledger in asked.node.devices.items():
        if ledger.has_device_request(asked.pod):
            # On a clone: the filter of some ledgers notes the pod on their cards.
            refusal = ledger.clone().filter_node(asked.pod, policy)
            yield cards_equation(asked, name, card_overview(ledger, asked.pod), refusal)
            if refusal is not None:
                return


CARD_REFUSALS: Final = ("hami-vgpuDeviceSharing error", "no ascend device available", "no enough gpu")
"""What ledgers say, whatever their cards lack."""


def find_card_shortages(room: NodeFits) -> Iterator[ConstraintFailure]:
    """Nodes with too few cards, requests for parts that no node provides, and nodes without a suitable card."""
    yield from _unregistered_cards(room)
    yield from _too_few_cards(room)
    yield from _parts_of_npus(room)
    yield from _unsuitable_cards(room)


NOT_INITIALIZED: Final = "node not initialized with device"
HAMI_PREFIX: Final = "hami.io/"


def _unregistered_cards(room: NodeFits) -> Iterator[ConstraintFailure]:
    """Nodes whose ledger has no card, since Volcano's device plugin wrote no annotation of it."""
    nodes = [room.view.session.nodes[node.name] for node in room.refused_for(NOT_INITIALIZED)]
    lacking = [node for node in nodes if REGISTER_ANNOTATION not in annotations_of(node.manifest)]
    for node in lacking:
        other = [key for key in annotations_of(node.manifest) if key.startswith(HAMI_PREFIX) and "register" in key]
        instead = f"; it has {join_names(other)}, which another device plugin writes" if other else ""
        yield ConstraintFailure(
            f"{node.name} lacks annotation {REGISTER_ANNOTATION}, which Volcano's own device plugin writes{instead}",
            (outside_advice(f"Run Volcano's own device plugin on {node.name}, and no other one.", AdviceHarm.CLUSTER),),
        )


def _too_few_cards(room: NodeFits) -> Iterator[ConstraintFailure]:
    lacking = [(card_shortage(room.view.session.nodes[node.name], room.task), node.name) for node in room.node_fits]
    short = group_by_key((cards, name) for cards, name in lacking if cards is not None)
    for (have, asked, who), names in short.items():
        verb = "has" if len(names) == 1 else "have"
        per = (
            f"{count_noun(have, 'NPU')} per pod" if "NPU" in who else f"{count_noun(have, 'virtual GPU')} per container"
        )
        yield ConstraintFailure(
            f"{who} from another physical card: {asked} asked, {join_names(names)} {verb} {count_noun(have, 'card')}; "
            "free slices on the same card do not help",
            (
                owner_advice(f"Request {per}, with more memory or cores of it."),
                cluster_admin_advice(f"Add a node with {count_noun(asked, 'card')}."),
            ),
        )


def _parts_of_npus(room: NodeFits) -> Iterator[ConstraintFailure]:
    parts = (npu_parts_request(room.view.session.nodes[node.name], room.task) for node in room.node_fits)
    for number, memory in dict.fromkeys(one for one in parts if one is not None):
        yield ConstraintFailure(
            f"A container asks {number} NPUs with partial memory ({memory}); partial NPUs are allocated only one per "
            "container",
            (owner_advice("Request one NPU per container, or all of their memory."),),
        )


def _unsuitable_cards(room: NodeFits) -> Iterator[ConstraintFailure]:
    """Nodes where no card is suitable when the cycle ends, by what their cards lack."""
    refused = dict.fromkeys(node.name for said in CARD_REFUSALS for node in room.refused_for(said))
    drawings = ((drawing, name) for name in refused for drawing in _draw_cards(room, room.view.session.nodes[name]))
    none_does = group_by_key(
        ((drawing.asks, _format_lacks(drawing)), name) for drawing, name in drawings if not _has_suitable_card(drawing)
    )
    for (asks, lacks), names in none_does.items():
        yield ConstraintFailure(
            f"The pod asks {asks}; no card of {join_names(names)} qualifies ({lacks})",
            (
                queue_admin_advice(f"Free a card on {join_names(names, 1)}."),
                owner_advice("Request less of the card, or another card type."),
            ),
        )


def _draw_cards(room: NodeFits, node: NodeInfo) -> Iterator[CardOverview]:
    pod = room.task.pod
    yield from (card_overview(ledger, pod) for ledger in node.devices.values() if ledger.has_device_request(pod))


def _has_suitable_card(drawing: CardOverview) -> bool:
    """Whether a card is suitable; True as well for parts of several cards, which have their own failure."""
    return not drawing.cards or any(card.suits or card.why == PARTIAL_CARDS for card in drawing.cards)


def _format_lacks(drawing: CardOverview) -> str:
    lacks = Counter(
        f"{card.why}, {card.memory - card.used_memory} of {card.memory} free" if card.why == MEMORY_SHORT else card.why
        for card in drawing.cards
    )
    return "; ".join(f"{count_noun(number, 'card')}: {why}" for why, number in lacks.items())


EXPLAINER = PluginExplainer(scores=score_equation, refusals=check_equations, failures=find_card_shortages)
