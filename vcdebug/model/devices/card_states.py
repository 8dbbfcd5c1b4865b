"""The current state of a node's cards, and which of them could serve a pod.

Upstream: none.
"""

from collections.abc import Iterator
from typing import NamedTuple

from vcdebug.model.devices import DeviceLedger
from vcdebug.model.devices.cards import Card, CardSharing
from vcdebug.model.devices.gpu_exclusive import ExclusiveLedger
from vcdebug.model.devices.gpushare import GpuShareLedger
from vcdebug.model.devices.hami_ascend import HamiAscendLedger
from vcdebug.model.devices.vgpu import VgpuLedger, misfit_reason
from vcdebug.model.devices.vgpu_annotations import MEMORY_SHORT, WHOLE_CARD, CardFilter, ContainerRequest, requests_of
from vcdebug.model.pod import Pod

PARTIAL_CARDS = "no pod gets parts of several cards"
NO_CARD = "the pod's annotations do not accept it"
NO_INSTANCE = "no instance of that size is left"


class CardState(NamedTuple):
    """One card."""

    name: str
    memory: int
    used_memory: int
    used_cores: int
    users: int
    most_users: int
    pods: tuple[str, ...]
    """Keys or UIDs of the pods on the card."""
    suits: bool
    """Whether the card could serve the pod's first container."""
    refusal: str
    """The reason why it could not; empty if it could."""


class CardOverview(NamedTuple):
    """A pod's request for a kind of cards, and the state of the cards."""

    request: str
    cards: tuple[CardState, ...]


def card_overview(ledger: DeviceLedger, pod: Pod) -> CardOverview:
    """The pod's request and the cards of one ledger."""
    if isinstance(ledger, GpuShareLedger):
        memory, number = ledger.asked_amounts(pod)
        asks = [f"{memory} memory of one card"] if memory else []
        asks += [f"{number} cards of its own"] if number else []
        return CardOverview(" and ".join(asks), tuple(_shared_cards(ledger, memory, number)))
    if isinstance(ledger, ExclusiveLedger):
        return _vgpu_overview(ledger.capped_copy(pod), pod)
    if isinstance(ledger, HamiAscendLedger):
        return CardOverview(*_npu_states(ledger, pod))
    return _vgpu_overview(ledger, pod) if isinstance(ledger, VgpuLedger) else CardOverview("", ())


def _shared_cards(ledger: GpuShareLedger, memory: int, number: int) -> Iterator[CardState]:
    for index in ledger.card_indexes:
        free, pods = ledger.free_memory(index), tuple(ledger.pods_on(index))
        misfit = MEMORY_SHORT if free < memory else "a pod uses it" if number and pods else ""
        used = max(ledger.card_memory - free, 0)
        yield CardState(f"card {index}", ledger.card_memory, used, 0, len(pods), 0, pods, not misfit, misfit)


def _vgpu_overview(ledger: VgpuLedger, pod: Pod) -> CardOverview:
    criteria = CardFilter.of_pod(pod, ledger.rules)
    asks = ", then ".join(map(_format_request, requests_of(pod, ledger.rules.names)))
    first = next(ledger.resource_reqs(pod, ledger.cards), ContainerRequest(0, 0, 0))
    states = tuple(_card_state(card, first, criteria, ledger.sharing) for card in ledger.cards.values())
    return CardOverview(asks, states)


def _npu_states(ledger: HamiAscendLedger, pod: Pod) -> tuple[str, tuple[CardState, ...]]:
    cards = list(ledger.cards.values())
    requests = ledger.resource_reqs(pod, cards[0])
    first = requests[0] if requests else ContainerRequest(0, 0, 0)
    states = []
    for card in cards:
        misfit = PARTIAL_CARDS if ledger.asks_for_parts(pod, first) else ledger.misfit_reason(card, first, pod)
        users = (card.used_number, card.registered.users)
        usage = (card.used_memory, card.used_cores, *users)
        states.append(CardState(card.uuid, card.registered.memory, *usage, tuple(card.pods), not misfit, misfit))
    return ", then ".join(map(_format_request, requests)), tuple(states)


def _format_request(request: ContainerRequest) -> str:
    memory = f"{request.memory} memory" if request.percentage is None else f"{request.percentage}% of its memory"
    memory = "all of its memory" if request.percentage == WHOLE_CARD else memory
    cores = f" and {request.cores} cores" if request.cores else ""
    return f"{request.number} {'card' if request.number == 1 else 'cards'} with {memory}{cores}"


def _card_state(card: Card, request: ContainerRequest, criteria: CardFilter, sharing: CardSharing) -> CardState:
    misfit = _card_misfit(card, request, criteria, sharing)
    name = f"{card.uuid} {card.kind}".strip()
    users = (card.used_number, card.number)
    return CardState(name, card.memory, card.used_memory, card.used_core, *users, tuple(card.pods), not misfit, misfit)


def _card_misfit(card: Card, request: ContainerRequest, criteria: CardFilter, sharing: CardSharing) -> str:
    if not criteria.accepts_card(card.uuid, card.kind):
        return NO_CARD
    memory = request.memory_on(card.memory)
    shortage = "" if sharing.try_add_pod(card, memory) is not None else NO_INSTANCE
    return misfit_reason(card, request, memory, criteria.group) or shortage
