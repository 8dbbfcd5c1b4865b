"""A card that several pods share, and what becomes of it when they come and go.

Upstream: api/devices/nvidia/vgpu (device_info, sharing_factory, hamicore).
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from vcdebug.model.devices.mig_use import MigUse
from vcdebug.model.devices.vgpu_held import HeldCard
from vcdebug.model.devices.vgpu_request import pod_group_key
from vcdebug.model.pod import Pod
from vcdebug.snapshot.device_config import Geometries

HAMI_CORE = "hami-core"
_UINT = 1 << 64


class CardUsage:
    """What one pod holds of one card."""

    __slots__ = ("core", "group", "memory")

    def __init__(self, memory: int, core: int, group: str) -> None:
        self.memory = memory
        self.core = core
        self.group = group


class Card:
    """One physical card."""

    __slots__ = (
        "geometries",
        "kind",
        "memory",
        "mig",
        "number",
        "pods",
        "used_core",
        "used_memory",
        "used_number",
        "uuid",
    )

    def __init__(self, uuid: str, number: int, memory: int, kind: str, geometries: Geometries = ()) -> None:
        self.uuid = uuid
        self.number = number
        self.memory = memory
        self.kind = kind
        self.used_number = self.used_memory = self.used_core = 0
        self.pods: dict[str, CardUsage] = {}
        self.geometries = geometries
        """How it may be cut in MIG mode."""
        self.mig = MigUse()

    def change_usage(self, memory: int, core: int, sign: int = 1) -> None:
        """One user more or less."""
        self.used_number += sign
        self.used_memory += sign * memory
        self.used_core += sign * core

    def undo_charge(self, memory: int, core: int) -> None:
        """Take a charge back, at most what there is; a count that has wrapped around is a large one.
        Upstream: api/devices/nvidia/vgpu/utils.checkNodeGPUSharingPredicateAndScore.
        """
        self.used_number = max(self.used_number % _UINT - 1, 0)  # exact: ints
        self.used_memory = max(self.used_memory % _UINT - memory, 0)  # exact: ints
        self.used_core = max(self.used_core % _UINT - core, 0)  # exact: ints

    def add_pod_usage(self, pod: Pod, memory: int, core: int) -> None:
        """Note what the pod holds of the card, on top of what it held."""
        usage = self.pods.setdefault(pod.uid, CardUsage(0, 0, ""))
        usage.memory += memory
        usage.core += core
        usage.group = pod_group_key(pod)

    def clone(self) -> Card:
        copy = Card(self.uuid, self.number, self.memory, self.kind, self.geometries)
        copy.change_usage(self.used_memory, self.used_core)
        copy.used_number = self.used_number
        copy.pods = {uid: CardUsage(usage.memory, usage.core, usage.group) for uid, usage in self.pods.items()}
        copy.mig = self.mig.clone()
        return copy


Cards = dict[int, Card]


class CardPart(NamedTuple):
    """What a pod would get of a card."""

    name: str
    """By which its annotation says so."""
    memory: int
    """What the card is charged."""


class FreedMemory(NamedTuple):
    """Memory that a pod gives back as it leaves."""

    by_card: int
    by_pod: int
    """What is taken off the pod's own amount."""


class CardSharing(Protocol):
    """How the cards of a node are cut. Upstream: api/devices/nvidia/vgpu/sharing_factory (SharingFactory)."""

    mode: str
    counts_again: bool
    """Whether a pod that is on a card already is charged once more."""

    def try_add_pod(self, card: Card, memory: int) -> CardPart | None:
        """What serves a request for so much memory; None where nothing does."""

    def add_pod(self, card: Card, held: HeldCard) -> int | None:
        """The memory that an entry of a pod's annotation takes; None where it names no part of a card."""

    def sub_pod(self, card: Card, held: HeldCard) -> FreedMemory | None:
        """What the entry gives back; None where it names no part of a card."""


class HamiCore:
    """Cards are cut by HAMi-core, into any amounts. Upstream: api/devices/nvidia/vgpu/hamicore."""

    __slots__ = ("counts_again", "mode")

    def __init__(self, *, counts_again: bool) -> None:
        self.mode = HAMI_CORE
        self.counts_again = counts_again

    def try_add_pod(self, card: Card, memory: int) -> CardPart:
        """Any amount. Upstream: api/devices/nvidia/vgpu/hamicore.TryAddPod."""
        return CardPart(card.uuid, memory)

    def add_pod(self, card: Card, held: HeldCard) -> int:
        """Upstream: api/devices/nvidia/vgpu/hamicore.AddPod."""
        return held.memory

    def sub_pod(self, card: Card, held: HeldCard) -> FreedMemory:
        """Upstream: api/devices/nvidia/vgpu/hamicore.SubPod."""
        return FreedMemory(held.memory, held.memory)
